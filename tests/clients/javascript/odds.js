// Odds: SERVICE.md 3 and 2.2. Every price against every other place that has the same one, digit for digit.

import { differs } from "./report.js";
import { any, count } from "./shape.js";
import * as shapes from "./shapes/odds.js";

const ODDS = "/api/v2/odds/";
/** The place of a market of the consensus among the rows: its outcome and its name there. */
const CONSENSUS = {
  home_win: ["1x2", "HOME"], draw: ["1x2", "DRAW"], away_win: ["1x2", "AWAY"],
  over_15_goals: ["over_under_15", "over"], under_15_goals: ["over_under_15", "under"],
  over_25_goals: ["over_under_25", "over"], under_25_goals: ["over_under_25", "under"],
  over_35_goals: ["over_under_35", "over"], under_35_goals: ["over_under_35", "under"],
  btts_yes: ["btts", "yes"], btts_no: ["btts", "no"],
};
/** Where version 1 has another name for a price of the consensus than `odds_` and the name without `_goals`. */
const OLDER = { home_win: "odds_home", away_win: "odds_away" };

export async function odds(walker) {
  const { report, client } = walker;
  const rows = await walker.list(ODDS, shapes.row);
  await walker.document(`${ODDS}${rows[0].id}/`, shapes.row);
  await walker.refused(`${ODDS}1/`, 404, { why: "for an id that is none" });
  const bookmakers = await walker.list("/api/v2/bookmakers/", shapes.bookmaker);
  const coming = (await client.get("/api/v2/events/", { status: "notstarted", limit: 200, date_from: today() })).results;
  const next = coming.find(startsLater) ?? coming.at(-1);
  await report.chapter("odds: rows", () => everyRow(walker, bookmakers));
  await report.chapter("odds: one match", () => oneMatch(walker, next));
  await report.chapter("odds: best", () => best(walker));
  await report.chapter("odds: filters", () => filters(walker, next, bookmakers));
  await report.chapter("odds: errors", () => errors(walker, bookmakers));
  await report.chapter("odds: the add-on", () => addon(walker));
}

const today = () => new Date().toISOString().slice(0, 10);

/** Its prices are not suspended by its kick-off meanwhile. */
const startsLater = ({ event_date: starts }) => Date.parse(starts) > Date.now() + 3_600_000;

/** What must hold of each row by itself: its market, outcome, line, name, probability and movement. */
async function everyRow(walker, bookmakers) {
  const { report } = walker;
  const rows = await walker.toTheEnd(ODDS, { query: { limit: 200 } });
  const names = new Map(bookmakers.map((row) => [row.slug, row.name]));
  const rules = {
    "an outcome of its market": (row) => shapes.MARKETS[row.market].outcomes.includes(row.outcome),
    "a line where its market has one": (row) => lineHolds(row),
    "1/price to four decimals as implied_probability": (row) => Math.abs(row.implied_probability - 1 / row.decimal_odds) <= 0.00005001,
    "a movement from its previous price": (row) => movementHolds(row),
    "a bookmaker that /bookmakers/ names": (row) => row.bookmaker_slug.endsWith("consensus") || names.get(row.bookmaker_slug) === row.bookmaker_name,
    "an updated_at that is no time to come": (row) => Date.parse(row.updated_at) <= Date.now() + 5000,
    "an outcome_name of its own": (row) => nameHolds(row),
  };
  for (const [what, holds] of Object.entries(rules)) {
    const odd = rows.filter((row) => !holds(row));
    report.that(`odds: each of all rows has ${what}`, !odd.length, "all", `${odd.length} of ${rows.length} not: ${JSON.stringify(odd[0])}`);
  }
  const twice = rows.length - new Set(rows.map((row) => [row.event_id, row.market, row.outcome, row.line, row.bookmaker_slug].join())).size;
  report.equal("odds: one row for event, market, outcome, line and bookmaker", twice, 0);
}

function lineHolds({ market, line }) {
  const { line: expected } = shapes.MARKETS[market];
  return expected === "any" ? typeof line === "number" : line === (expected ?? null);
}

function movementHolds({ movement, previous_decimal_odds: previous, decimal_odds: price }) {
  if (previous === null || previous === price) return movement === "";
  return movement === (price < previous ? "SHORTENING" : "DRIFTING");
}

/** "Home", "Over 2.50", "Home or Draw". */
function nameHolds({ outcome, outcome_name: name, line, market }) {
  const sides = { HOME: "Home", DRAW: "Draw", AWAY: "Away", "1X": "Home or Draw", 12: "Home or Away", X2: "Draw or Away" };
  if (market === "asian_handicap") return name.startsWith(sides[outcome]);
  if (outcome in sides) return name === sides[outcome] || (outcome === "X2" && name === "Away or Draw");
  if (["over", "under"].includes(outcome)) return name === `${outcome === "over" ? "Over" : "Under"} ${line.toFixed(2)}`;
  return name === (outcome === "yes" ? "Yes" : "No");
}

/** Rows, comparison, best price and consensus of one match, requested until all four are of one moment. */
async function oneMatch(walker, match) {
  const { report, client } = walker;
  const path = `/api/v2/events/${match.id}/odds`;
  await walker.document(`${path}/`, shapes.consensus);
  await walker.document(`${path}/comparison/`, shapes.comparison);
  await walker.refused("/api/v2/events/1/odds/comparison/", 404);
  await walker.refused("/api/v2/events/1/odds/", 404);
  const all = () => client.rows(ODDS, { event_id: match.id, limit: 200 });
  const [rows, [comparison, consensus]] = await walker.atOneMoment(all, async () => [await client.get(`${path}/comparison/`), await client.get(`${path}/`)]);
  const named = rows.filter((row) => !row.bookmaker_slug.endsWith("consensus"));

  const compared = new Map();
  for (const [market, keys] of Object.entries(comparison.markets)) {
    for (const [key, entry] of Object.entries(keys)) {
      const name = entry.line === null || key === entry.outcome ? entry.outcome : `${entry.outcome}@${entry.line}`;
      if (key !== name) report.check(`${path}/comparison/ keys`, differs(key, name));
      const prices = Object.values(entry.bookmakers).map((price) => price.decimal_odds);
      const [slug] = Object.entries(entry.bookmakers).find(([, price]) => price.decimal_odds === Math.max(...prices));
      const best = entry.bookmakers[entry.best_bookmaker_slug]?.decimal_odds;
      if (best !== Math.max(...prices) || entry.best_odds !== best) report.check(`${path}/comparison/ best of ${market} ${key}`, differs(entry, slug));
      for (const [bookmaker, price] of Object.entries(entry.bookmakers)) compared.set(`${market}/${key}/${bookmaker}`, price);
    }
  }
  const places = (list) => [...list].sort();
  const place = (row) => `${row.market}/${Object.keys(comparison.markets[row.market] ?? {}).find((key) => key === row.outcome || key === `${row.outcome}@${row.line}`)}/${row.bookmaker_slug}`;
  report.equal(`${path}/comparison/ has the prices of /odds/ and no others`, places(compared.keys()), places(named.map(place)));
  const unequal = named.filter((row) => compared.get(place(row))?.decimal_odds !== row.decimal_odds);
  report.equal(`${path}/comparison/ has the numbers of /odds/`, unequal.map((row) => [place(row), row.decimal_odds]), []);
  report.equal(`${path}/comparison/ counts`, [comparison.total_odds, comparison.bookmakers_count], [compared.size, new Set(named.map((row) => row.bookmaker_slug)).size]);

  const maxima = named.filter((row) => row.is_max_quote !== (row.decimal_odds === Math.max(...named.filter((other) => same(row, other)).map((other) => other.decimal_odds))));
  report.equal(`${path}: is_max_quote marks the highest prices`, maxima.map((row) => row.id), []);

  for (const [name, [market, outcome]] of Object.entries(CONSENSUS)) {
    const prices = named.filter((row) => row.market === market && row.outcome === outcome).map((row) => row.decimal_odds);
    const price = consensus.odds[name];
    const within = prices.length ? price >= Math.min(...prices) && price <= Math.max(...prices) : price === null;
    report.that(`${path}/: ${name} lies within the bookmakers' prices`, within, prices, price);
  }
  const older = await client.get(`/api/events/${match.id}/`);
  if (!differs((await client.get(`${path}/`)).odds, consensus.odds)) {
    const names = Object.keys(consensus.odds).map((name) => [name, OLDER[name] ?? `odds_${name.replace("_goals", "")}`]);
    const pair = (of, at) => Object.fromEntries(names.map((name) => [name[0], of[name[at]]]));
    report.equal(`/api/events/${match.id}/ has the consensus among its fields`, pair(older, 1), pair(consensus.odds, 0));
  }
  const row = rows.find((other) => other.bookmaker_slug === "consensus" && other.market === "1x2" && other.outcome === "HOME");
  if (row) report.equal(`${path}/: home_win is the row of consensus`, consensus.odds.home_win, row.decimal_odds);
}

const same = (a, b) => a.market === b.market && a.outcome === b.outcome && a.line === b.line;

/** The highest price of each outcome of the matches to come, against the comparison of each. */
async function best(walker) {
  const { report, client } = walker;
  const rows = await walker.list(`${ODDS}best/`, shapes.best);
  report.that("odds/best/ is of 1x2 by default", rows.every((row) => row.market === "1x2"), "1x2", rows.find((row) => row.market !== "1x2"));
  const dates = rows.map((row) => Date.parse(row.event_date)).filter((at) => at < Date.now() - 60_000 || at > Date.now() + 7 * 86_400_000);
  report.equal("odds/best/ is of the next seven days", dates, []);
  await walker.filter(`${ODDS}best/`, { market: "btts" }, (row) => row.market === "btts");
  await walker.filter(`${ODDS}best/`, { league_id: rows[0].league_id }, (row) => row.league_id === rows[0].league_id);
  const row = rows.find(startsLater) ?? rows.at(-1);
  const team = row.home_team_id;
  await walker.filter(`${ODDS}best/`, { team_id: team }, (row) => [row.home_team_id, row.away_team_id].includes(team));
  await walker.toTheEnd(`${ODDS}best/`, { query: { market: "1x2", limit: 10 }, key: (row) => `${row.event_id}/${row.outcome}/${row.line}` });
  const id = row.event_id;
  const of = (page) => Object.fromEntries(page.results.filter((row) => row.event_id === id).map((row) => [row.outcome, row.best_odds]));
  const ask = async () => of(await client.get(`${ODDS}best/`, { team_id: team }));
  const [best, comparison] = await walker.atOneMoment(ask, () => client.get(`/api/v2/events/${id}/odds/comparison/`));
  const expected = Object.fromEntries(Object.values(comparison.markets["1x2"]).map((entry) => [entry.outcome, entry.best_odds]));
  report.equal("odds/best/ is the best of the comparison", best, expected);
}

async function filters(walker, match, bookmakers) {
  const { report, client } = walker;
  const event = { event_id: match.id };
  const ofMatch = (row) => row.event_id === match.id;
  await walker.filter(ODDS, event, ofMatch);
  const slug = bookmakers[0].slug;
  await walker.filter(ODDS, { ...event, bookmaker_slug: slug }, (row) => ofMatch(row) && row.bookmaker_slug === slug);
  await walker.filter(ODDS, { bookmaker_slug: "consensus" }, (row) => row.bookmaker_slug === "consensus");
  await walker.filter(ODDS, { ...event, market: "1x2", outcome: "DRAW" }, (row) => row.market === "1x2" && row.outcome === "DRAW");
  await walker.filter(ODDS, { min_decimal_odds: 3.3 }, (row) => row.decimal_odds >= 3.3);
  await walker.filter(ODDS, { max_decimal_odds: 1.5 }, (row) => row.decimal_odds <= 1.5);
  await walker.filter(ODDS, { is_max_quote: "true" }, (row) => row.is_max_quote);
  for (const movement of ["SHORTENING", "DRIFTING"]) await walker.filter(ODDS, { movement }, (row) => row.movement === movement);
  const since = new Date(Date.now() - 120_000).toISOString();
  await walker.filter(ODDS, { updated_after: since }, (row) => row.updated_at >= since.slice(0, 19), { some: false });
  for (const scope of [{ league_id: match.league_id }, { season_id: match.season_id }, { team_id: match.home_team_id }]) {
    const ids = new Set((await client.rows("/api/v2/events/", { ...scope, limit: 200 })).map((row) => row.id));
    const rows = await walker.filter(ODDS, { ...scope, updated_after: today(), limit: 200 }, (row) => ids.has(row.event_id));
    report.that(`odds/ of ${Object.keys(scope)} are of more than one bookmaker`, new Set(rows?.map((row) => row.bookmaker_slug)).size > 1, "several", rows?.length);
  }
  for (const [market, { outcomes }] of Object.entries(shapes.MARKETS)) {
    const page = await client.ask(ODDS, { query: { ...event, market } });
    const row = page.json?.results?.find((other) => other.market !== market || !outcomes.includes(other.outcome));
    // Refused earlier and listed later: both are correct.
    const known = page.status === 200 || (market === "over_under_05" && page.status === 400);
    report.that(`odds/?market=${market} is known, and filters`, known && !row, market, row ?? page.text);
  }
  const ids = (page) => page.results.map((row) => row.id);
  report.equal("odds/: page_size is limit", ids(await client.get(ODDS, { ...event, page_size: 3 })), ids(await client.get(ODDS, { ...event, limit: 3 })));
  const page = await client.get(ODDS, { ...event, limit: 2 });
  const next = new URL(page.next);
  report.equal("next keeps the filter, and has limit and offset", Object.fromEntries(next.searchParams), { event_id: String(match.id), limit: "2", offset: "2" });
}

async function errors(walker, bookmakers) {
  const shape = { detail: any };
  await walker.refused(ODDS, 400, { query: { market: "1x2", outcome: "over" }, shape, why: "for an outcome of another market" });
  await walker.refused(ODDS, 400, { query: { bookmaker_slug: bookmakers[0].name }, shape, why: "for a bookmaker's display name" });
  await walker.refused(ODDS, 400, { query: { is_best: 1 }, shape: { detail: any, accepted_parameters: [any] }, why: "for an unknown parameter" });
  const free = { key: walker.keys.free };
  const match = (await walker.client.get(`${ODDS}best/`)).results[0].event_id;
  const entitled = { shape: { detail: any, code: (value) => differs(value, "bookmakers_not_entitled") } };
  await walker.refused(`${ODDS}best/`, 403, { ...free, ...entitled, why: "without an entitlement" });
  await walker.refused(`/api/v2/events/${match}/odds/comparison/`, 403, { ...free, ...entitled, why: "without an entitlement" });
  await walker.refused(ODDS, 403, { ...free, ...entitled, query: { bookmaker_slug: bookmakers[0].slug }, why: "for a bookmaker without an entitlement" });
  const rows = await walker.client.with(walker.keys.free).get(ODDS);
  const named = rows.results.find((row) => row.bookmaker_slug !== "consensus");
  walker.report.that("odds/ of a free key is of consensus alone", rows.results.length > 0 && !named, "consensus", named ?? rows.count);
  const consensus = await walker.client.with(walker.keys.free).ask(`/api/v2/events/${match}/odds/`);
  walker.report.equal("the consensus of a match is free", consensus.status, 200);
}

/** What SERVICE.md 3.5 leaves open is read as the rest of the page is: an envelope, ids, prices as numbers. */
async function addon(walker) {
  const { report, client } = walker;
  await walker.document("/odds/api/", any);
  const sports = await walker.list("/odds/api/sports/", shapes.addon.sport);
  report.that("the add-on has 7 sports or more", sports.length >= 7, 7, sports.map((row) => row.sport));
  const events = await walker.list("/odds/api/events/", shapes.addon.event);
  await walker.document(`/odds/api/events/${events[0].event_id}/`, { event_id: count });
  await walker.refused("/odds/api/events/1/", 404, { why: "for an id that is none" });
  for (const sport of ["tennis", "basketball"]) {
    const rows = await walker.filter("/odds/api/events/", { sport, status: "live" }, (row) => row.sport === sport);
    if (rows?.[0]) await live(walker, rows[0]);
  }
  await twice(walker, "tennis", "matches", "match_date", ["odds_player1", "odds_player2"]);
  await twice(walker, "basketball", "events", "event_date", ["odds_home", "odds_away"]);
  await twice(walker, "hockey", "matches", "match_date", ["odds_home", "odds_draw", "odds_away"]);
  await twice(walker, "darts", "matches", "match_date", ["odds_home", "odds_away"]);
  await twice(walker, "csgo", "matches", "start_time", ["odds_home", "odds_away"]);
}

/** The prices of one match in play: all numbers above 1. */
async function live(walker, { event_id: id, sport }) {
  const path = `/odds/api/events/${id}/`;
  const body = await walker.document(path, { event_id: count });
  const prices = quoted(body).map((quote) => quote.price);
  const odd = prices.find((price) => price !== null && !(typeof price === "number" && price > 1));
  walker.report.that(`${path} (${sport}) has prices, all numbers`, prices.length > 0 && !odd, "numbers above 1", odd ?? prices.length);
}

/** Every price of the add-on's document, at any depth, with its bookmaker. */
function quoted(value) {
  if (value === null || typeof value !== "object") return [];
  const price = value.price ?? value.decimal_odds;
  const own = value.bookmaker_slug && price !== undefined ? [{ slug: value.bookmaker_slug, price }] : [];
  return [...own, ...Object.values(value).flatMap(quoted)];
}

/** A match to come has the same prices in the add-on and in the API of its sport. */
async function twice(walker, sport, matches, at, names) {
  const { report, client } = walker;
  const status = sport === "csgo" ? "notstarted" : "scheduled";
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  const rows = await client.rows(`/${sport}/api/v2/${matches}/`, { status, date_from: today(), date_to: tomorrow, limit: 200 });
  const [match] = rows.sort((a, b) => (a[at] < b[at] ? -1 : 1));
  if (!match) return report.skip(`${sport}: prices in both odds APIs`, "no match to come");
  const ask = async () => (await client.get(`/${sport}/api/v2/${matches}/${match.id}/odds/`)).bookmakers;
  const [bookmakers, addon] = await walker.atOneMoment(ask, () => client.get(`/odds/api/events/${match.id}/`));
  const held = new Set(quoted(addon).map(({ slug, price }) => `${slug} ${price}`));
  const prices = bookmakers.flatMap((row) => names.map((name) => [row.bookmaker_slug, row[name]])).filter(([, price]) => price !== null);
  const missing = prices.filter(([slug, price]) => !held.has(`${slug} ${price}`));
  return report.that(`${sport}: ${prices.length} prices are the same in both odds APIs`, prices.length > 0 && !missing.length, "all", missing);
}
