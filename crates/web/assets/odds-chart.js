// The movement of the consensus of a match: the past from REST, the rest from the stream. Prices are numbers here for drawing alone;
// whoever wants to compare or to bet reads the text of the document.

import { Line, LineChart } from "./charts.js";
import { marketTitle, outcomeOrder, outcomeTitle } from "./odds.js";
import { el, setAttribute } from "./view.js";

const HISTORY_ROWS = 200;
const HISTORY_PAGES_MAX = 10;
// A chart of less would be a chart of nothing.
const SPAN_MIN_US = 60_000_000;

/** The drawable price of a selection: its median while the market is open. */
export function priceOf(market, selection) {
  if (market.status !== "open" || selection?.status !== "active" || selection.median === undefined) return null;
  return Number(selection.median);
}

/** Rows of the history as lines by outcome: microseconds and prices, oldest first. */
export function linesOf(rows) {
  const lines = {};
  for (const { outcome, received_at: at, price } of rows) {
    (lines[outcome] ??= []).push([Date.parse(at) * 1000, price === null ? null : Number(price)]);
  }
  return lines;
}

export class OddsChart {
  #rest;
  #id;
  #choice = el("select", { "aria-label": "Market" });
  #chart = new LineChart("Odds movement", {
    axis: "price", height: 210, format: (price) => (price < 10 ? price.toFixed(2) : price < 100 ? price.toFixed(1) : price.toFixed(0)),
    formatX: (at) => new Date(at / 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hour12: false }),
  });
  #market = "match_winner";
  #options = "";
  /** The lines of each market that was seen, by outcome. */
  #lines = new Map();
  /** Markets whose past was asked for. */
  #asked = new Set();
  #marks = [];
  #doc;
  #names = {};
  #state = "";

  constructor(rest, id) {
    this.#rest = rest;
    this.#id = id;
    this.#choice.addEventListener("change", () => {
      this.#market = this.#choice.value;
      this.#state = "";
      this.show(this.#doc, this.#names);
    });
    this.node = el("div", { class: "odds-chart", hidden: true }, el("div", { class: "controls" }, this.#choice), this.#chart.node, el("p", { class: "faint" }, "Median of all bookmakers"));
  }

  /** A goal, or whatever else moves prices, at the hub's time in microseconds. */
  mark(at, label, side) {
    this.#marks = [...this.#marks, { at, label, side }].slice(-30);
    this.#state = "";
  }

  /** Adds the prices of this moment. */
  take(doc, at) {
    for (const [id, market] of Object.entries(doc?.markets ?? {})) {
      const lines = this.#linesOf(id);
      for (const [outcome, selection] of Object.entries(market.selections ?? {})) {
        const line = (lines[outcome] ??= new Line());
        const price = priceOf(market, selection);
        if (price !== null || line.last !== undefined) line.add(at, price);
      }
    }
  }

  show(doc, names, now) {
    this.#doc = doc;
    this.#names = names;
    const markets = Object.entries(doc?.markets ?? {});
    this.node.hidden = markets.length === 0;
    if (markets.length === 0) return;
    this.#showChoice(markets);
    const market = doc.markets[this.#market];
    const lines = Object.entries(this.#linesOf(this.#market)).filter(([, { points }]) => points.some(([, price]) => price !== null));
    lines.sort(([a], [b]) => outcomeOrder(a) - outcomeOrder(b));
    const until = Math.max(now ?? 0, ...lines.map(([, { points }]) => points.at(-1)[0]));
    // Once a second is enough for a line that grows to the right.
    const state = `${this.#market} ${Math.floor(until / 1_000_000)} ${lines.map(([, { points }]) => points.length)}`;
    if (state === this.#state || lines.length === 0) return;
    this.#state = state;
    const from = Math.min(until - SPAN_MIN_US, ...lines.map(([, { points }]) => points[0][0]));
    const shown = lines.map(([outcome, { points }]) => ({ key: outcome, name: outcomeTitle(outcome, names), points }));
    const label = `Odds movement, ${market ? marketTitle(market) : this.#market}: ${lines.map(([outcome, line]) => `${outcomeTitle(outcome, names)} ${line.last ?? "suspended"}`).join(", ")}`;
    this.#chart.show({ lines: shown, from, to: until, marks: this.#marks.filter(({ at }) => at >= from), label });
  }

  /** Fetches the past of the market that is shown, once. */
  async refresh() {
    const market = this.#doc?.markets[this.#market];
    const key = this.#market;
    if (market === undefined || this.#asked.has(key)) return;
    this.#asked.add(key);
    if (!(await this.#rest.has("odds"))) {
      // Without a key now; one may be entered later.
      if (!this.#rest.hasKey) this.#asked.delete(key);
      return;
    }
    const rows = await this.#past(market);
    const lines = this.#linesOf(key);
    for (const [outcome, points] of Object.entries(linesOf(rows))) (lines[outcome] ??= new Line()).prepend(points);
    this.#state = "";
  }

  async #past(market) {
    const words = new URLSearchParams({ bookmaker: "consensus", market: market.kind, limit: HISTORY_ROWS });
    if (market.line !== undefined) words.set("line", market.line);
    if (market.period !== undefined) words.set("period", market.period);
    const rows = [];
    for (let page = 0; page < HISTORY_PAGES_MAX; page += 1) {
      words.set("offset", rows.length);
      const answer = await this.#rest.get(`/odds/api/events/${this.#id}/history/?${words}`);
      // Other periods of the same market come with it if none was asked for.
      rows.push(...(answer?.results ?? []));
      if (!answer?.next) break;
    }
    return rows.filter(({ period }) => (period ?? undefined) === market.period);
  }

  #linesOf(market) {
    if (!this.#lines.has(market)) this.#lines.set(market, {});
    return this.#lines.get(market);
  }

  #showChoice(markets) {
    const options = markets.map(([id, market]) => [id, marketTitle(market)]);
    const text = JSON.stringify(options);
    if (text === this.#options) return;
    this.#options = text;
    if (!markets.some(([id]) => id === this.#market)) this.#market = markets[0][0];
    this.#choice.replaceChildren(...options.map(([id, title]) => el("option", { value: id }, title)));
    this.#choice.value = this.#market;
    setAttribute(this.#choice, "disabled", markets.length < 2);
  }
}
