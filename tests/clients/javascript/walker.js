// What every chapter does with an endpoint: reads it, checks it, follows it to its end, or reports that it is absent.

import { brief, differs } from "./report.js";
import { differences, rowDifferences } from "./shape.js";
import { envelope, failure } from "./shapes/football.js";

/** How often a list that changes while it is read is read again. */
const READS_MAX = 4;
/** Attempts to find a moment at which several answers do not change. */
const MOMENTS_MAX = 20;

export class Walker {
  constructor(report, client, keys) {
    this.report = report;
    this.client = client;
    this.keys = keys;
  }

  /** Reads one document: status 200, JSON, and the shape. The body is given where it is JSON. */
  async document(path, shape, { query = {}, name = shown(path, query) } = {}) {
    const answer = await this.client.ask(path, { query });
    this.report.check(name, wrongAnswer(answer, 200) || differences(answer.json, shape).slice(0, 12).join("; "));
    return answer.status === 200 ? answer.json : undefined;
  }

  /** Reads a list's first page: envelope, default page, and the shape of every row. */
  async list(path, row, { query = {}, empty = "", limit = 50 } = {}) {
    const name = shown(path, query);
    const answer = await this.client.ask(path, { query });
    const page = answer.json;
    const wrong = wrongAnswer(answer, 200) || differences(page, envelope(() => "")).join("; ");
    if (!this.report.check(name, wrong)) return [];
    const rows = page.results;
    this.report.that(`${name}: a page of ${limit}`, rows.length === Math.min(limit, page.count), `${Math.min(limit, page.count)} rows`, rows.length);
    if (rows.length) this.report.check(`${name}: fields of ${rows.length} rows`, rowDifferences(rows, row));
    else this.report.skip(`${name}: fields of its rows`, empty || "the list is empty");
    return rows;
  }

  /** Reads a bare array, whose rows have a shape. */
  async array(path, row) {
    const answer = await this.client.ask(path);
    const wrong = wrongAnswer(answer, 200) || (Array.isArray(answer.json) ? "" : `no bare array but ${brief(answer.text)}`);
    if (!this.report.check(`${path} is a bare array`, wrong)) return [];
    if (answer.json.length) this.report.check(`${path}: fields of ${answer.json.length} rows`, rowDifferences(answer.json, row));
    else this.report.skip(`${path}: fields of its rows`, "the list is empty");
    return answer.json;
  }

  /**
   * Follows `next` to the end: `count` is right, no row comes twice, each page links to the one before, and the
   * filters stay. A list that changed meanwhile is read again, as a client would; `key` names a row.
   */
  async toTheEnd(path, { query = {}, key = (row) => row.id, previous = true } = {}) {
    const name = `${shown(path, query)} to its end`;
    let wrong = "";
    let rows = [];
    for (let read = 0; read < READS_MAX; read += 1) {
      const pages = await this.client.pages(path, query);
      rows = pages.flatMap((page) => page.results);
      const repeated = rows.length - new Set(rows.map(key)).size;
      const unlinked = pages.findIndex((page, at) => previous && (at === 0) !== (page.previous === null));
      const kept = (next) => Object.entries(query).every(([name, value]) => new URL(next).searchParams.get(name) === String(value));
      const lost = pages.slice(0, -1).find((page) => !kept(page.next));
      wrong = "";
      if (rows.length !== pages.at(-1).count) wrong = `${pages.at(-1).count} rows are counted, ${rows.length} came on ${pages.length} pages`;
      if (repeated) wrong = `${repeated} of ${rows.length} rows came twice`;
      if (unlinked >= 0) wrong = `page ${unlinked + 1} of ${pages.length} has previous ${pages[unlinked].previous}`;
      if (lost) wrong = `next loses a filter: ${lost.next}`;
      if (!wrong) break;
    }
    this.report.check(name, wrong);
    return rows;
  }

  /** Checks that each row of a filtered list passes the filter, and that the filter excludes something. */
  async filter(path, query, holds, { some = true } = {}) {
    const answer = await this.client.ask(path, { query });
    const rows = answer.json?.results ?? answer.json?.events;
    const name = `${shown(path, query)} filters`;
    if (!rows) return this.report.check(name, wrongAnswer(answer, 200) || "no list came");
    if (some && !rows.length) return this.report.check(name, "expected rows, none came");
    const unexpected = rows.find((row) => !holds(row));
    this.report.check(name, unexpected ? `a row that the filter excludes: ${brief(unexpected)}` : "");
    return rows;
  }

  /**
   * Requests something between two equal answers of `around`, so that all are of one moment; retries what changes in
   * between, and uses the last try if it always changes.
   */
  async atOneMoment(around, ask) {
    for (let tries = 1; ; tries += 1) {
      const before = await around();
      const between = await ask();
      const after = await around();
      if (!differs(before, after) || tries === MOMENTS_MAX) return [after, between];
    }
  }

  /** An endpoint of SERVICE.md that this hub reports as absent. */
  async absent(path) {
    const answer = await this.client.ask(path);
    const wrong = wrongAnswer(answer, 404) || differences(answer.json, failure).join("; ");
    if (wrong) this.report.check(`${path} is absent as one who is not there is`, wrong);
    else this.report.skip(path, "the hub has not this endpoint (404)");
  }

  /** An error: its status, the general envelope or a shape of its own, and the content type. */
  async refused(path, status, { shape = failure, ...request } = {}) {
    const answer = await this.client.ask(path, request);
    const name = `${request.method ?? "GET"} ${shown(path, request.query ?? {})} is ${status}${request.why ? ` ${request.why}` : ""}`;
    this.report.check(name, wrongAnswer(answer, status) || differences(answer.json, shape).join("; "));
    return answer.json;
  }
}

/** What is wrong with status and content type of an answer that should be JSON. */
function wrongAnswer(answer, status) {
  if (answer.status !== status) return `expected ${status}, came ${answer.status} ${brief(answer.text)}`;
  if (answer.type !== "application/json") return `expected application/json, came ${answer.type}`;
  return answer.json === undefined ? `no JSON: ${brief(answer.text)}` : "";
}

function shown(path, query) {
  const text = decodeURIComponent(new URLSearchParams(query).toString());
  return text ? `${path}?${text}` : path;
}
