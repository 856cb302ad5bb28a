// What a client does with the hub's MCP servers: lists, calls every tool with good and bad arguments, reads resources,
// follows live matches through a goal and a suspension of prices, and meets 401, 402 and the quota. A library is
// `{name, version, open(url, key)}`; what a connection can do is in modern.js.

import { parseArgs } from "node:util";
import Ajv2020 from "ajv/dist/2020.js";
import { brief, differs, Report } from "../../clients/javascript/report.js";
import { allFields, allText, bytesMax, firstField, resolve, TABLE } from "./table.js";

/** An id that no match, team or player has. */
const UNKNOWN_ID = 2_147_480_001;
/** The kind of event that each thing to wait for is reported as. */
const KINDS = { goal: "goal", suspension: "suspend" };
/** How many live matches are waited on at once until one of them has a goal. */
const WAITED_MAX = 8;
/**
 * How long one call of `wait_for_change` waits, since clients give up after 60 s; how often each is repeated; and how
 * often others are chosen then: those that were live may have ended without a goal.
 */
const WAIT_S = 25;
const WAITS_MAX = 2;
const CHOICES_MAX = 8;
/** How many listed resources each client reads. */
const READ_MAX = 6;
/** Far more than a coalesced notification of a live match takes. */
const NOTIFIED_MS_MAX = 60_000;
/** Far more calls than the quota of the hub under test. */
const CALLS_MAX = 200;
const FEED_STATES = ["live", "late", "down", "recovering", "archived"];
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/;
// Control characters and those that change the direction of text.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

export async function main(library) {
  const options = Object.fromEntries(["url", "key", "key-without-addon"].map((name) => [name, { type: "string" }]));
  const { values } = parseArgs({ options });
  const hub = { url: values.url.replace(/\/$/, ""), key: values.key, freeKey: values["key-without-addon"] };
  const report = new Report();
  await new Scenario(library, hub, report).run();
  process.exit(report.finish());
}

export class Scenario {
  constructor(library, hub, report) {
    Object.assign(this, { library, hub, report });
    this.ajv = new Ajv2020({ strict: false, validateFormats: false });
  }

  async run() {
    const { report } = this;
    await Promise.all([
      ...Object.keys(TABLE.servers).map((name) => report.chapter(name, () => this.server(name))),
      report.chapter("follow", () => this.follow()),
      report.chapter("listen", () => this.listen()),
      report.chapter("refusals", () => this.refusals()),
      report.chapter("quota", () => this.quota()),
    ]);
  }

  open(server, key = this.hub.key) {
    return this.library.open(this.hub.url + TABLE.servers[server].path, key);
  }

  // ---------------------------------------------------------------------------------- one server

  async server(name) {
    const connection = await this.open(name);
    const { report } = this;
    // The inspector does not say which one it speaks.
    if (connection.version) report.equal(`${name}: the version`, connection.version(), this.library.version);
    const tools = await connection.tools();
    this.checkTools(name, tools);
    const ids = await this.findIds(name, connection);
    for (const tool of tools) {
      const entry = TABLE.servers[name].tools[tool.name];
      if (!entry) continue;
      const args = resolve(entry.arguments, ids);
      if (!args) {
        report.skip(`${name} ${tool.name}`, `the demo has no ${JSON.stringify(entry.arguments)} now`);
        continue;
      }
      await report.chapter(`${name} ${tool.name}: good arguments`, () => this.callWell(name, connection, tool, entry, args));
      // The names of arguments that agents were written with.
      for (const also of entry.also ?? []) {
        const given = JSON.stringify(also);
        await report.chapter(`${name} ${tool.name} ${given}`, () => this.callWell(name, connection, tool, {}, resolve(also, ids), given));
      }
      await report.chapter(`${name} ${tool.name}: bad arguments`, () => this.callBadly(name, connection, tool, entry, args));
    }
    await report.chapter(`${name}: an unknown tool`, () => this.callUnknown(name, connection));
    await report.chapter(`${name}: resources`, () => this.resources(name, connection));
    await report.chapter(`${name}: prompts`, () => this.prompts(name, connection, ids));
    await connection.close();
  }

  checkTools(server, tools) {
    const { report } = this;
    const expected = Object.keys(TABLE.servers[server].tools).sort();
    report.equal(`${server}: the names of the tools`, tools.map((tool) => tool.name).sort(), expected);
    const wrong = tools.flatMap(({ name, description, inputSchema, outputSchema, annotations = {} }) => {
      const { readOnlyHint, idempotentHint, openWorldHint } = annotations;
      return [
        [`no description`, Boolean(description)],
        [`inputSchema is no object`, inputSchema.type === "object"],
        [`no outputSchema of an object`, outputSchema?.type === "object"],
        [`annotations ${JSON.stringify(annotations)}`, readOnlyHint === true && idempotentHint === true && openWorldHint === false],
      ].filter(([, holds]) => !holds).map(([what]) => `${name}: ${what}`);
    });
    report.equal(`${server}: each tool is described`, wrong, []);
  }

  /** The ids that the arguments of other calls need, each from the answer to a call. */
  async findIds(server, connection) {
    const ids = {};
    for (const [name, { tool, arguments: args = {}, field, last }] of Object.entries(TABLE.servers[server].ids)) {
      const known = resolve(args, ids);
      const answer = known && (await connection.call(tool, known));
      // The last row of matches is far from its end, after which some of what is known is no longer told.
      const document = answer?.structuredContent;
      ids[name] = (last ? allFields(document, field).at(-1) : firstField(document ?? {}, field)) ?? null;
    }
    return ids;
  }

  async callWell(server, connection, tool, entry, args, given = "good arguments") {
    const name = `${server} ${tool.name}: ${given}`;
    const result = await connection.call(tool.name, args);
    if (result.isError && entry.may_be_refused_with) {
      return this.report.that(name, refusal(result).code === entry.may_be_refused_with, entry.may_be_refused_with, result);
    }
    this.report.check(name, this.wrongResult(tool, entry, result));
    if (entry.continues) await this.continue(server, connection, tool, args, result.structuredContent);
  }

  /** What was cut is said, and the cursor continues behind it. */
  async continue(server, connection, tool, args, { data, truncated }) {
    const name = `${server} ${tool.name}: the rest of the list`;
    if (!truncated) return this.report.check(name, `nothing was cut: ${brief(data)}`);
    const next = (await connection.call(tool.name, { ...args, cursor: truncated[0].cursor })).structuredContent;
    const [shown, after] = [data, next.data].map((page) => page.results.map(({ id }) => id));
    const holds = shown.length === truncated[0].shown && after.length > 0 && !after.some((id) => shown.includes(id));
    this.report.that(name, holds, `other rows than ${shown}`, after);
  }

  /** What is wrong with a result that must be an answer; empty if nothing is. */
  wrongResult(tool, entry, result) {
    if (result.isError) return `refused: ${brief(result.content)}`;
    const document = result.structuredContent;
    if (!document) return `no structuredContent: ${brief(result)}`;
    if (!tool.outputSchema) return "no outputSchema";
    const json = JSON.stringify(document);
    const bytes = Buffer.byteLength(json);
    const validate = this.ajv.compile(tool.outputSchema);
    const wrong = [
      validate(document) ? "" : `not of its schema: ${this.ajv.errorsText(validate.errors)}`,
      bytes <= bytesMax(entry) ? "" : `${bytes} bytes, at most ${bytesMax(entry)}`,
      differs(JSON.parse(textOf(result)), document) && "the text is not the same JSON",
      TIME.test(document.as_of) ? "" : `as_of is ${document.as_of}`,
      FEED_STATES.includes(document.feed) ? "" : `feed is ${document.feed}`,
      /^https?:\/\//.test(document.url) ? "" : `url is ${document.url}`,
      document.cite?.includes(tool.name) ? "" : `cite is ${document.cite}`,
      HIDDEN.test(allText(document)) ? "it has control characters" : "",
    ];
    return wrong.filter(Boolean).join("; ");
  }

  async callBadly(server, connection, tool, entry, args) {
    const properties = Object.keys(tool.inputSchema.properties ?? {});
    const typed = properties.find((name) => tool.inputSchema.properties[name].type) ?? properties[0];
    const cases = [["an unknown argument", { ...args, no_such_argument: 1 }, /no_such_argument/]];
    if (entry.id) cases.push(["an unknown id", { ...args, [entry.id]: UNKNOWN_ID }, /\w{3}/]);
    if (typed) cases.push(["a wrong type", { ...args, [typed]: { no: "such type" } }, new RegExp(typed)]);
    const wrong = [];
    for (const [what, bad, said] of cases) {
      const result = await connection.call(tool.name, bad);
      const { code, text } = refusal(result);
      if (!result.isError) wrong.push(`${what} is accepted: ${brief(text)}`);
      else if (!code || !said.test(text)) wrong.push(`${what}: ${brief(text)}`);
      else if (what === "an unknown argument" && properties.length > 0 && !properties.some((name) => text.includes(name))) {
        wrong.push(`${what}: no word of what is accepted: ${brief(text)}`);
      }
    }
    this.report.check(`${server} ${tool.name}: bad arguments`, wrong.join("; "));
  }

  async callUnknown(server, connection) {
    if (connection.looksUp) return;
    const error = await failure(connection.call("no_such_tool", {}));
    this.report.that(`${server}: an unknown tool`, error?.code === -32602, "the error -32602", error);
  }

  // ---------------------------------------------------------------------- resources and prompts

  async resources(server, connection) {
    const { report } = this;
    const [listed, templates] = [await connection.resources(), await connection.templates()];
    report.that(`${server}: the list of resources`, listed.length > 0 && listed.length <= 100, "1 to 100", listed.length);
    report.that(`${server}: the list of templates`, templates.length > 0, "some", templates);
    const uris = listed.map(({ uri }) => uri);
    // Matches and documentation alike.
    const chosen = [...uris.slice(0, READ_MAX / 2), ...uris.slice(-READ_MAX / 2)];
    for (const uri of new Set(chosen)) await report.chapter(`${server}: read ${uri}`, () => this.read(server, connection, uri));
    const template = templates.map(({ uriTemplate }) => uriTemplate).find((it) => /\{id\}$/.test(it));
    if (!report.that(`${server}: a template of matches`, template, "one that ends with {id}", templates)) return;
    const ref = { type: "ref/resource", uri: template };
    // The inspector completes nothing.
    const ids = connection.complete ? await connection.complete(ref, "id", "") : uris.flatMap((uri) => /\/(\d+)$/.exec(uri)?.[1] ?? []);
    if (!connection.complete && ids.length === 0) return report.skip(`${server}: the ids of ${template}`, "no match is listed now");
    if (!report.that(`${server}: the ids of ${template}`, ids.length > 0 && ids.length <= 100, "1 to 100", ids)) return;
    await report.chapter(`${server}: read a template`, () => this.read(server, connection, template.replace("{id}", ids[0])));
    const error = await failure(connection.read(template.replace("{id}", UNKNOWN_ID)));
    // Until 2025-11-25 the protocol had a code of its own for it.
    const code = /^2025/.test(connection.version?.()) ? -32002 : -32602;
    report.that(`${server}: an unknown resource`, error?.code === code, `the error ${code}`, error);
  }

  async read(server, connection, uri) {
    const [content, ...more] = await connection.read(uri);
    const wrong = [
      more.length > 0 && "more than one content",
      content?.uri !== uri && `the uri ${content?.uri}`,
      !content?.mimeType && "no mimeType",
      !content?.text && "no text",
      content?.mimeType === "application/json" && !TIME.test(JSON.parse(content.text).as_of) && "no as_of",
      HIDDEN.test(content?.text) && "control characters",
    ];
    this.report.check(`${server}: read ${uri}`, wrong.filter(Boolean).join("; "));
  }

  async prompts(server, connection, ids) {
    const { report } = this;
    const prompts = await connection.prompts();
    report.that(`${server}: the list of prompts`, prompts.length > 0, "some", prompts);
    const known = { match: String(ids.match ?? ids.race), date: new Date().toISOString().slice(0, 10), market: "1x2", since: "0" };
    for (const prompt of prompts) {
      const args = (prompt.arguments ?? []).filter(({ required }) => required).map(({ name }) => [name, known[name] ?? "1"]);
      const messages = await connection.prompt(prompt.name, Object.fromEntries(args));
      const text = messages.map(({ content }) => content.text).join("\n");
      const holds = /as_of/.test(text) && /feed/.test(text);
      report.that(`${server}: the prompt ${prompt.name}`, holds, "words on as_of and feed", text);
    }
    const prompt = prompts.find(({ arguments: args = [] }) => args.some(({ name }) => name === "match"));
    if (!prompt || !connection.complete) return;
    const values = await connection.complete({ type: "ref/prompt", name: prompt.name }, "match", "");
    report.that(`${server}: the matches for ${prompt.name}`, values.length > 0 && values.length <= 100, "1 to 100", values);
  }

  // ------------------------------------------------------------------------------- live matches

  async follow() {
    const connection = await this.open("football");
    await connection.tools();
    await Promise.all(["goal", "suspension"].map((until) => this.report.chapter(until, () => this.waitFor(connection, until))));
    await connection.close();
  }

  /** Waits on several live matches at once, and checks the answer of the first one in which it happens. */
  async waitFor(connection, until) {
    const { report } = this;
    const { match, before, data } = await changeOfAny(connection, until);
    const { events, positions, reason } = data;
    const happened = events.filter(({ kind }) => kind === KINDS[until]);
    report.that(`${until}: the events`, happened.length > 0 && reason === until, `one of the kind ${KINDS[until]}`, data);
    if (until !== "goal") return;
    const position = positions[`football/${match}`] ?? {};
    report.that("goal: the position", position.epoch === before.epoch && position.seq > before.seq, `behind ${brief(before)}`, position);
    // The position is the whole state: the same question again is answered at once.
    const again = await connection.call("wait_for_change", { match_id: match, until: [until], timeout_s: 1, since: before });
    const seen = happened.map(({ eid }) => eid);
    const repeated = again.structuredContent.data.events.map(({ eid }) => eid);
    report.that("goal: from the same position again", seen.every((eid) => repeated.includes(eid)), seen, repeated);
  }

  async listen() {
    const connection = await this.open("football");
    if (!connection.listen) return connection.close();
    const { report } = this;
    const live = (await connection.resources()).map(({ uri }) => uri).filter((uri) => /^matchwire:\/\/football\/\d+$/.test(uri));
    // The board too: after a match its own document rests.
    const uris = ["matchwire://football", ...live.slice(0, WAITED_MAX)];
    let subscription;
    const notified = new Promise((done, failed) => {
      setTimeout(() => failed(new Error("no notification")), NOTIFIED_MS_MAX);
      connection.listen(uris, done).then((opened) => (subscription = opened), failed);
    });
    const { uri, _meta: meta } = await notified;
    report.equal("listen: what is honored", subscription.honored.toSorted(), uris.toSorted());
    report.that("listen: the notification", uris.includes(uri) && Number.isInteger(meta["org.matchwire/seq"]), "a uri and its seq", meta);
    const [{ text }] = await connection.read(uri);
    const { position } = JSON.parse(text);
    report.that("listen: what is read then", position.seq >= meta["org.matchwire/seq"], meta, position);
    report.equal("listen: how it ends", await subscription.close(), "local");
    await connection.close();
  }

  // ----------------------------------------------------------------------------------- refusals

  async refusals() {
    const { report } = this;
    const cases = [
      ["a wrong key", "football", `mw_${"0".repeat(48)}`, 401, "authentication_required"],
      ["no add-on", "tennis", this.hub.freeKey, 402, "addon_required"],
    ];
    for (const [name, server, key, status, code] of cases) {
      const error = await failure(this.open(server, key));
      const { status: answered, body } = error?.wire ?? {};
      const said = body === undefined || body.includes(`"${code}"`);
      report.that(`${name}: ${status}`, answered === status && said, `${status} ${code}`, body ?? error?.message);
    }
  }

  /** The quota of a free account: tools count, lists do not, and a model can read that it is used up. */
  async quota() {
    const { report } = this;
    const connection = await this.open("football", this.hub.freeKey);
    await connection.tools();
    const left = async () => {
      const result = await connection.call("get_feeds", {});
      return { result, left: result._meta?.["org.matchwire/usage"]?.left };
    };
    const first = await left();
    report.that("quota: what is left", Number.isInteger(first.left), "a number", first.result._meta);
    await connection.tools();
    await connection.prompts();
    let last = await left();
    report.equal("quota: lists are free", last.left, first.left - 1);
    for (let calls = 0; !last.result.isError && calls < CALLS_MAX; calls += 1) last = await left();
    const { code, document, text } = refusal(last.result);
    const readable = code === "taster_exhausted" && document.retry_after_s > 0;
    report.that("quota: used up", readable, "taster_exhausted with retry_after_s", text);
    const error = await failure(connection.read("matchwire://feeds"));
    const said = `${error?.message} ${JSON.stringify(error?.data)}`;
    const refused = connection.wire?.status === 429 || /\b429\b|taster_exhausted/.test(said);
    report.that("quota: a read is refused", error && refused, "429 or taster_exhausted", error ? said : "an answer");
    await connection.close();
  }
}

/** The live match in which it happens first, the position before that, and the answer. */
async function changeOfAny(connection, until) {
  for (let choices = 0; choices < CHOICES_MAX; choices += 1) {
    const board = (await connection.call("get_live_scores", { limit: 50 })).structuredContent;
    const matches = [...new Set(allFields(board, TABLE.servers.football.ids.match.field))].slice(0, WAITED_MAX);
    if (matches.length === 0) throw new Error(`no live matches: ${brief(board)}`);
    const found = await firstChange(connection, matches, until);
    if (found) return found;
  }
  throw new Error(`no ${until} for ${WAIT_S * WAITS_MAX * CHOICES_MAX} s`);
}

/** The same of these matches; null if it happens in none. The other calls are cancelled. */
async function firstChange(connection, matches, until) {
  const first = new AbortController();
  const wait = async (match) => {
    const detail = await connection.call("get_match_detail", { match_id: match });
    // It has ended since it was listed.
    if (detail.isError) return null;
    const before = detail.structuredContent.position;
    let since = until === "goal" ? { since: before } : {};
    for (let waits = 0; waits < WAITS_MAX; waits += 1) {
      const args = { match_id: match, until: [until], timeout_s: WAIT_S, ...since };
      const result = await connection.call("wait_for_change", args, { signal: first.signal, timeout: 60_000 });
      if (refusal(result).code === "ended") return null;
      const { data } = result.structuredContent;
      if (data.reason) return { match, before, data };
      since = { since: data.positions };
    }
    return null;
  };
  const waiting = matches.map(wait);
  const nothing = new Error("nothing happened");
  try {
    return await Promise.any(waiting.map(async (found) => (await found) ?? Promise.reject(nothing)));
  } catch ({ errors }) {
    const failed = errors.find((error) => error !== nothing);
    if (failed) throw failed;
    return null;
  } finally {
    first.abort();
    await Promise.allSettled(waiting);
  }
}

/** The error with which a promise fails; null if it does not. */
async function failure(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return error;
  }
}

function textOf(result) {
  return result.content.find(({ type }) => type === "text")?.text ?? "";
}

/** What a model reads of an error: its code and its text. */
function refusal(result) {
  const text = textOf(result);
  try {
    const document = result.structuredContent ?? JSON.parse(text);
    return { code: document.code, document, text };
  } catch {
    return { text };
  }
}
