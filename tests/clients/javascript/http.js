// HTTP itself: keys, errors, caching, methods, slashes, compression, and a browser's preflight. SERVICE.md 0, 1.4, 6.

import { request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { differs } from "./report.js";
import { any, filled, oneOf } from "./shape.js";

/** Paths that need the sports add-on, and those of the odds add-on, which a free key does not have. */
const GATED = [
  "/tennis/api/v2/matches/", "/tennis/api/v2/players/", "/csgo/api/v2/matches/", "/darts/api/v2/matches/", "/hockey/api/v2/matches/",
  "/basketball/api/v2/events/", "/horseracing/api/v2/races/", "/tennis/api/predictions/",
];
const ODDS = ["/odds/api/", "/odds/api/sports/", "/odds/api/events/"];
const FREE = ["/api/v2/events/", "/api/events/", "/api/", "/api/v2/leagues/", "/api/v2/odds/", "/signals/api/"];

const unauthorized = {
  error: filled, code: oneOf("authentication_required"), register: (value) => (/^https?:\/\/.*\/register\/$/.test(value) ? "" : `no register URL but ${value}`),
  detail: (value) => (/Authorization/.test(value) ? "" : `no word of the Authorization header: ${value}`),
};
const pricing = (value) => (/^https?:\/\/.*\/pricing\/$/.test(value) ? "" : `no pricing URL but ${value}`);
const sportsAddon = {
  error: oneOf("Sports Addon required"), code: oneOf("addon_required"), pricing_url: pricing,
  detail: (value) => (["tennis", "CS2", "darts", "hockey", "basketball", "horse racing", "$5/mo"].every((word) => value.includes(word)) ? "" : `not all sports and the price: ${value}`),
};
const oddsAddon = { error: filled, code: oneOf("addon_required"), pricing_url: pricing, detail: filled };

export async function http(walker) {
  const { report } = walker;
  await report.chapter("keys", () => keys(walker));
  await report.chapter("add-ons", () => addons(walker));
  await report.chapter("unknown parameters and bad values", () => parameters(walker));
  await report.chapter("caching", () => caching(walker));
  await report.chapter("methods and slashes", () => methods(walker));
  await report.chapter("compression", () => compression(walker));
  await report.chapter("browsers", () => browsers(walker));
  await report.chapter("images", () => images(walker));
  await report.chapter("signals", () => signals(walker));
  await report.chapter("pages", () => pages(walker));
}

async function keys(walker) {
  const { report, client, keys: { full } } = walker;
  const path = "/api/v2/leagues/";
  for (const [how, headers, query] of [
    ["Authorization: Token", { authorization: `Token ${full}` }, {}],
    ["Authorization: Bearer", { authorization: `Bearer ${full}` }, {}],
    ["?token=", {}, { token: full }],
    ["?token= and ?format=json, which are no filters", {}, { token: full, format: "json" }],
  ]) {
    const answer = await client.ask(path, { key: "", headers, query });
    report.that(`a key as ${how} is taken`, answer.status === 200, 200, `${answer.status} ${answer.text}`);
  }
  const page = await client.ask(path, { key: "", query: { token: full, limit: 1 } });
  const next = page.json?.next;
  report.that("next repeats no key", !next?.includes(full), "no token", next);
  for (const missing of [...FREE, ...GATED, ...ODDS]) await walker.refused(missing, 401, { key: "", shape: unauthorized, why: "without a key" });
  await walker.refused(path, 401, { key: "wrong", shape: unauthorized, why: "with a wrong key" });
  await walker.refused(path, 401, { key: "", query: { token: "wrong" }, shape: unauthorized, why: "with a wrong key in the query" });
  await walker.refused(path, 401, { key: "", headers: { authorization: "Bearer wrong" }, shape: unauthorized, why: "with a wrong Bearer" });
}

async function addons(walker) {
  const { report, client, keys: { free } } = walker;
  for (const path of GATED) await walker.refused(path, 402, { key: free, shape: sportsAddon, why: "without the sports add-on" });
  for (const path of ODDS) await walker.refused(path, 402, { key: free, shape: oddsAddon, why: "without the odds add-on" });
  for (const path of FREE) {
    const answer = await client.ask(path, { key: free });
    report.equal(`${path} is free`, answer.status, 200);
  }
}

async function parameters(walker) {
  const { client, report } = walker;
  const accepted = ["date_from", "date_to", "h2h", "ids", "include", "last", "league_id", "limit", "next", "offset", "round", "season_id", "sort", "stage", "status", "team_id", "team_name", "timezone", "updated_since"];
  const shape = { detail: oneOf("Unknown query parameter(s): foo."), accepted_parameters: [filled] };
  const events = await walker.refused("/api/v2/events/", 400, { query: { foo: 1 }, shape, why: "for an unknown parameter" });
  report.equal("events/ says what it accepts", events?.accepted_parameters, accepted);
  for (const path of ["leagues/", "teams/", "players/", "managers/", "referees/", "venues/", "predictions/", "odds/", "odds/best/", "bookmakers/", "events/live/", "coverage/"]) {
    const body = await walker.refused(`/api/v2/${path}`, 400, { query: { foo: 1 }, shape: { detail: filled, accepted_parameters: [filled] }, why: "for an unknown parameter" });
    const names = body?.accepted_parameters ?? [];
    report.equal(`/api/v2/${path} sorts what it accepts`, names, [...names].sort());
  }
  const two = await walker.refused("/api/v2/events/", 400, { query: { foo: 1, bar: 2 }, shape: { detail: filled }, why: "for two unknown parameters" });
  report.that("both unknown parameters are named", /foo/.test(two?.detail) && /bar/.test(two?.detail), "foo and bar", two?.detail);
  const number = { shape: { detail: any }, why: "for no number" };
  for (const query of [{ limit: "many" }, { offset: "-1" }, { league_id: "x" }, { date_from: "yesterday" }]) await walker.refused("/api/v2/events/", 400, { query, ...number });
  const zero = await client.ask("/api/v2/events/", { query: { offset: 10_000_000 } });
  report.equal("an offset behind the end is an empty page", [zero.status, zero.json?.results, zero.json?.next], [200, [], null]);
}

async function caching(walker) {
  const { report, client } = walker;
  for (const path of ["/api/v2/leagues/", "/api/v2/events/?date_to=2026-08-02", "/tennis/api/v2/tournaments/"]) {
    const first = await client.ask(path);
    const etag = first.headers.get("etag");
    report.that(`${path} has an ETag`, etag !== null, "an ETag", [...first.headers.keys()]);
    if (!etag) continue;
    const again = await client.ask(path, { headers: { "if-none-match": etag } });
    const unchanged = again.status === 304 ? again.bytes.length === 0 : again.headers.get("etag") !== etag;
    report.that(`${path} is 304 without a body where it has not changed`, unchanged, "304, no body", `${again.status} ${again.text}`);
    const other = await client.ask(path, { headers: { "if-none-match": '"other"' } });
    report.equal(`${path} is 200 for another ETag`, other.status, 200);
  }
  for (const path of ["/api/v2/events/", "/api/v2/leagues/", "/api/v2/teams/", "/tennis/api/v2/tournaments/"]) {
    const seen = (await client.ask(path)).headers.get("x-cache-status");
    report.that(`${path} has X-Cache-Status`, ["HIT", "MISS", "STALE"].includes(seen), "HIT, MISS or STALE", seen);
  }
  const headers = (await client.ask("/api/v2/leagues/")).headers;
  report.that("no X-RateLimit-* header", ![...headers.keys()].some((name) => name.startsWith("x-ratelimit")), "none", [...headers.keys()]);
  const free = (await client.ask("/api/v2/leagues/", { key: walker.keys.free })).headers;
  for (const [name, shape] of [["ratelimit-policy", /^"[a-z]+";q=\d+;w=86400$/], ["ratelimit", /^"[a-z]+";r=\d+;t=\d+$/]]) {
    const value = free.get(name);
    report.that(`${name} is a structured field, or absent: no quota`, value === null || shape.test(value), shape.source, value);
  }
}

async function methods(walker) {
  const { report, client } = walker;
  for (const path of ["/api/v2/leagues/", "/api/events/", "/tennis/api/v2/matches/"]) {
    const [get, head] = [await client.ask(path), await client.ask(path, { method: "HEAD" })];
    report.equal(`HEAD ${path} is a GET without a body`, [head.status, head.type, head.bytes.length], [get.status, get.type, 0]);
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const answer = await client.ask(path, { method });
      report.equal(`${method} ${path} is 405 as JSON`, [answer.status, answer.type], [405, "application/json"]);
      const allowed = answer.headers.get("allow") ?? "";
      report.that(`${method} ${path} has an Allow header`, allowed.includes("GET"), "GET", allowed);
    }
    const bare = await client.ask(path.slice(0, -1));
    const redirected = [301, 307, 308].includes(bare.status) && new URL(bare.headers.get("location"), client.base).pathname === path;
    report.that(`${path} without its slash is found`, bare.status === 200 || redirected, "200 or a redirect", `${bare.status} ${bare.text}`);
    const followed = await fetch(new URL(`${path.slice(0, -1)}?limit=1`, client.base), { headers: { authorization: `Token ${client.key}` } });
    const { results } = await followed.json();
    report.equal(`${path} without its slash keeps its query`, results?.length, 1);
  }
  for (const path of ["/nothing/", "/api/nothing/", "/api/v2/nothing/", "/tennis/api/v2/nothing/"]) {
    const body = await walker.refused(path, 404);
    report.equal(`${path} is not found as it was observed`, body, { error: true, status: 404, detail: "Not found" });
  }
}

/** `fetch` decompresses, so this reads the compressed bytes below it. */
async function compression({ report, client }) {
  const ask = async () => (await client.ask("/api/v2/venues/")).json;
  for (const [encoding, unpack] of [["gzip", gunzipSync], ["br", brotliDecompressSync]]) {
    let plain, headers, body;
    // The hub may have learned of a match between two answers: then both are requested again.
    do {
      plain = await ask();
      ({ headers, body } = await packed(client, "/api/v2/venues/", encoding));
    } while (JSON.stringify(plain) !== JSON.stringify(await ask()));
    if (encoding === "br" && !headers["content-encoding"]) continue;
    report.equal(`${encoding} is sent if requested`, headers["content-encoding"], encoding);
    if (headers["content-encoding"] === encoding) report.check(`${encoding} unpacks to the same`, differs(JSON.parse(unpack(body)), plain));
    report.that(`${encoding}: Vary names it`, /accept-encoding/i.test(headers.vary ?? ""), "accept-encoding", headers.vary);
  }
}

function packed(client, path, encoding) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Token ${client.key}`, "accept-encoding": encoding };
    const sent = request(new URL(path, client.base), { headers }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => resolve({ headers: answer.headers, body: Buffer.concat(parts) }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** A page of another origin sends a preflight for the Authorization header. */
async function browsers({ report, client, keys: { full } }) {
  const origin = "https://dashboard.example";
  for (const path of ["/api/v2/events/", "/api/events/", "/tennis/api/v2/matches/", "/odds/api/events/"]) {
    const preflight = await client.ask(path, {
      method: "OPTIONS", key: "",
      headers: { origin, "access-control-request-method": "GET", "access-control-request-headers": "authorization" },
    });
    const allows = (name) => (preflight.headers.get(`access-control-allow-${name}`) ?? "").toLowerCase();
    const granted = [200, 204].includes(preflight.status) && ["*", origin].includes(allows("origin")) && allows("headers").includes("authorization");
    report.that(`${path}: a preflight is granted`, granted, "2xx with origin and header", [preflight.status, ...preflight.headers]);
    report.that(`${path}: GET is allowed`, !allows("methods") || allows("methods").includes("get") || allows("methods") === "*", "GET", allows("methods"));
    for (const key of [full, "wrong", ""]) {
      const answer = await client.ask(path, { key, headers: { origin } });
      report.that(`${path}: a page may read the answer of status ${answer.status}`, ["*", origin].includes(answer.headers.get("access-control-allow-origin")), "its origin", [...answer.headers]);
    }
  }
}

async function images(walker) {
  const { report, client } = walker;
  const first = async (path) => (await client.get(path)).results[0].id;
  const types = { team: "/api/v2/teams/", league: "/api/v2/leagues/", player: "/api/v2/players/", manager: "/api/v2/managers/", venue: "/api/v2/venues/",
    "tennis-player": "/tennis/api/v2/players/", "csgo-team": "/csgo/api/v2/teams/", "csgo-tournament": "/csgo/api/v2/tournaments/",
    "basketball/team": "/basketball/api/v2/teams/", "hockey/team": "/hockey/api/v2/teams/", "csgo/team": "/csgo/api/v2/teams/" };
  for (const [type, list] of Object.entries(types)) {
    const path = `/img/${type}/${await first(list)}/`;
    for (const query of [{}, { bg: "transparent" }, ...(type === "player" ? [{ sor: "true" }, { sor: "true", bg: "transparent" }] : [])]) {
      const answer = await client.ask(path, { key: "", query, headers: { origin: "https://dashboard.example" } });
      const name = `${path}?${new URLSearchParams(query)}`;
      if (answer.status === 204) report.that(`${name} is an id without an image`, answer.bytes.length === 0, "no body", answer.bytes.length);
      else report.that(`${name} is an image`, answer.status === 200 && ["image/png", "image/webp"].includes(answer.type) && pictured(answer), "200 PNG or WebP", `${answer.status} ${answer.type}`);
      if (answer.status !== 200) continue;
      const cached = answer.headers.get("cache-control") ?? "";
      report.that(`${name} is cacheable for long`, /public/.test(cached) && Number(/max-age=(\d+)/.exec(cached)?.[1]) >= 86_400, "public, max-age of days", cached);
      if (query.bg) report.equal(`${name} is PNG`, answer.type, "image/png");
    }
  }
  const unknown = await client.ask("/img/nothing/1/", { key: "" });
  report.equal("an image of an unknown type is 404", unknown.status, 404);
}

function pictured({ bytes, type }) {
  const text = Buffer.from(bytes.slice(0, 12)).toString("latin1");
  return type === "image/png" ? text.startsWith("\x89PNG") : text.startsWith("RIFF") && text.endsWith("WEBP");
}

async function signals(walker) {
  const { report, client } = walker;
  const rows = await walker.list("/signals/api/", { id: any });
  report.that("signals have ids", rows.every((row) => row.id), "ids", rows[0]);
  const paged = await client.get("/signals/api/", { limit: 5 });
  report.equal("signals/?limit=5", paged.results.length, Math.min(5, paged.count));
  for (const path of ["/tipsters/api/tips/", "/tipsters/api/slips/", "/wom/api/coverage/", "/wom/api/events/", "/wom/api/markets/", "/wom/api/movers/"]) await walker.absent(path);
}

/** Pages of the website that SPEC.md names, and the OpenAPI and AsyncAPI documents. */
async function pages({ report, client }) {
  for (const path of ["/register/", "/pricing/", "/docs/", "/api/docs/"]) {
    const answer = await client.ask(path, { key: "" });
    report.equal(`${path} is a page`, [answer.status, answer.type], [200, "text/html"]);
  }
  for (const path of ["/dashboard/", "/addons/", "/api/redoc/"]) {
    const answer = await client.ask(path, { key: "" });
    report.that(`${path} is a page, or leads to one`, answer.status === 200 || (answer.status >= 301 && answer.status <= 308), "200 or 3xx", answer.status);
  }
  const schema = await client.ask("/api/schema/", { query: { format: "json" }, key: "" });
  report.that("/api/schema/?format=json is OpenAPI", Boolean(schema.json?.openapi && schema.json?.paths?.["/api/v2/events/"]), "openapi and paths", Object.keys(schema.json ?? {}));
}
