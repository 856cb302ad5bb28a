// What the trader's page computes: which prices may be used and why others may not, the best of them, margins, movement,
// ladders, and how far this page is behind the hub. No DOM and no clock: `now` is an argument.

import { compareDecimals } from "./odds.js";
import { nameOf, plain, span } from "./view.js";

const KIND_NAMES = {
  match_winner: "Match winner", over_under: "Over/under", both_teams_to_score: "Both teams to score", draw_no_bet: "Draw no bet",
  double_chance: "Double chance", asian_handicap: "Handicap", total_games: "Total games", set_winner: "Set winner",
  over_under_corners: "Corners",
};
const KIND_ORDER = Object.keys(KIND_NAMES);
const OUTCOME_ORDER = ["home", "p1", "over", "yes", "draw", "under", "no", "away", "p2"];
const OUTCOME_NAMES = { draw: "Draw", over: "Over", under: "Under", yes: "Yes", no: "No" };
// Kinds of events after which the score is another one, or may be, and the parts of a match's document that have it.
const SCORE_KINDS = new Set(["goal", "retract", "correct", "score", "shootout", "point", "game", "set", "match"]);
const SCORE_PARTS = ["score.home", "score.away", "score.pens", "periods", "sets", "game", "points"];

/** The key of a market, the same with every bookmaker and as in the consensus: `over_under@2.5`. */
export function marketKey({ kind, period, line }) {
  return `${kind}${period ? `:${period}` : ""}${line ? `@${line}` : ""}`;
}

/** `Over/under 2.5 · first half` */
export function marketName({ kind, name, period, line }) {
  const words = KIND_NAMES[kind] ?? name ?? plain(kind);
  const known = line && words.split(" ").includes(line) ? undefined : line;
  return [[words, known].filter(Boolean).join(" "), period && plain(period).toLowerCase()].filter(Boolean).join(" · ");
}

/** The markets of a book by key. Of several with one key, the first that is open counts. */
export function marketsOf(data) {
  const found = new Map();
  for (const market of Object.values(data?.markets ?? {})) {
    const key = marketKey(market);
    if (!found.has(key) || (found.get(key).status !== "open" && market.status === "open")) found.set(key, market);
  }
  return found;
}

/** The markets of all books, in the order of the tabs: pairs of key and a market that has its words. */
export function tabsOf(documents) {
  const all = new Map();
  for (const data of documents) for (const [key, market] of marketsOf(data)) if (!all.has(key)) all.set(key, market);
  const rank = ({ kind }) => (KIND_ORDER.includes(kind) ? KIND_ORDER.indexOf(kind) : KIND_ORDER.length);
  return [...all].sort(([a, x], [b, y]) =>
    rank(x) - rank(y) || x.kind.localeCompare(y.kind) || compareDecimals(x.line ?? "0", y.line ?? "0") || a.localeCompare(b));
}

/** The selections of a market by outcome; a source's own id where it does not say what it means. */
export function selectionsOf(market) {
  return new Map(Object.entries(market?.selections ?? {}).map(([id, selection]) => [selection.outcome ?? id, selection]));
}

/** The outcomes of a market over all books, the first side first; pairs of outcome and a selection that may have a name. */
export function outcomesOf(markets) {
  const all = new Map();
  for (const market of markets) for (const [outcome, selection] of selectionsOf(market)) if (!all.get(outcome)?.name) all.set(outcome, selection);
  const place = (outcome) => (OUTCOME_ORDER.includes(outcome) ? OUTCOME_ORDER.indexOf(outcome) : OUTCOME_ORDER.length);
  return [...all].sort(([a], [b]) => place(a) - place(b));
}

export function outcomeName(outcome, selection, match) {
  const own = nameOf(match?.[outcome]);
  return own || OUTCOME_NAMES[outcome] || selection?.name || plain(outcome);
}

const HEALTH_WORDS = {
  lost: "No connection", stale: "Stale", late: "Feed late", down: "Feed down", recovering: "Feed recovering",
  catching_up: "Catching up", waiting: "Waiting", refused: "Not available", ended: "Ended",
};
const HOLD_WORDS = { feed: "Held: feed", goal: "Held: goal", red_card: "Held: red card", var: "Held: VAR" };

/** The greatest age of a book in play, in microseconds: whatever its source says, prices that nobody has changed for so long are not used. */
const AGE_MAX = 300e6;

/**
 * Why nothing of a book may be used; undefined if it may. `hold` is the reason of the hub's own hold, if it was seen. `now` is the time of
 * the hub, in microseconds.
 */
export function bookProblem({ health, data, at }, { scoreSeq = 0, hold, now = 0 } = {}) {
  if (health !== "live") return HEALTH_WORDS[health] ?? plain(health);
  if (data.life === "ended") return "Ended";
  if (data.suspended) return HOLD_WORDS[hold] ?? "Suspended";
  if ((data.match_seq ?? Infinity) < scoreSeq) return "Before the score";
  const isInPlay = Object.values(data.markets ?? {}).some((market) => market.in_play && market.status === "open");
  if (isInPlay && now - (at?.in ?? at?.pub ?? now) > AGE_MAX) return "Too old";
  return undefined;
}

/** Why the price of a selection may not be used; undefined if it may. */
export function priceProblem(problem, market, selection) {
  if (problem) return problem;
  if (market === undefined) return "No market";
  if (market.status !== "open") return plain(market.status);
  if (selection === undefined || selection.price === undefined) return "No price";
  if (selection.status !== "active") return plain(selection.status);
  return undefined;
}

/**
 * The best of the prices that may be used, for each outcome: `{price, books}`. `rows`: `{book, cells}` with, by outcome,
 * `{price, problem}`.
 */
export function bestOf(rows, outcomes) {
  const best = new Map();
  for (const outcome of outcomes) {
    for (const { book, cells } of rows) {
      const { price, problem } = cells.get(outcome) ?? { problem: "No market" };
      if (problem || price === undefined) continue;
      const known = best.get(outcome);
      const order = known === undefined ? 1 : compareDecimals(price, known.price);
      if (order > 0) best.set(outcome, { price, books: [book] });
      else if (order === 0) known.books.push(book);
    }
  }
  return best;
}

/** How far prices exceed a fair book: the sum of 1/price, less 1. Undefined unless each has one. */
export function overround(prices) {
  if (prices.length < 2 || prices.some((price) => !(Number(price) > 0))) return undefined;
  return prices.reduce((sum, price) => sum + 1 / Number(price), -1);
}

/** `2.13 %`, with a real minus sign. */
export function percent(share, places = 2) {
  if (share === undefined || Number.isNaN(share)) return "";
  return `${(share * 100).toFixed(places).replace("-", "−")} %`;
}

/** The last prices of one selection. */
export class PriceHistory {
  static POINTS_MAX = 120;
  #points = [];

  /** `prev`: what the document itself says about the price before the first one. */
  constructor(prev) {
    this.move = 0;
    this.prev = prev;
    /** When the newest price came, in microseconds; undefined if that was before this page was opened. */
    this.since = undefined;
    /** When the first document came that had it. */
    this.seen = undefined;
  }

  get points() {
    return this.#points;
  }

  get last() {
    return this.#points.at(-1)?.text;
  }

  /** Adds what a document has at a moment; returns whether the price differs from the last one. */
  add(at, text) {
    if (text === undefined || text === this.last) return false;
    const before = this.last ?? this.prev;
    const isFirst = this.#points.length === 0;
    if (before !== undefined) this.move = compareDecimals(text, before) || this.move;
    if (!isFirst) this.prev = this.last;
    if (isFirst) this.seen = at;
    else this.since = at;
    this.#points.push({ at, text });
    if (this.#points.length > PriceHistory.POINTS_MAX) this.#points.shift();
    return !isFirst;
  }

  /** `12 s`; `≥ 40 s` if it has not changed since this page was opened. */
  age(now) {
    if (this.since !== undefined) return span((now - this.since) / 1000);
    return this.seen === undefined ? "" : `≥ ${span((now - this.seen) / 1000)}`;
  }
}

/**
 * A line of steps through the points of the last `window` microseconds, for a box of this size; through fewer, but at least a
 * sixth of it, while fewer are known.
 */
export function sparkPath(points, { now, window: longest, width, height }) {
  const window = Math.min(longest, Math.max(longest / 6, now - (points[0]?.at ?? now)));
  const from = now - window;
  const first = Math.max(0, points.findLastIndex(({ at }) => at <= from));
  const shown = points.slice(first);
  if (shown.length === 0) return "";
  const values = shown.map(({ text }) => Number(text));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (at) => Math.max(0, Math.min(1, (at - from) / window)) * width;
  const y = (value) => (high === low ? height / 2 : height - ((value - low) / (high - low)) * height);
  const round = (value) => Math.round(value * 10) / 10;
  let path = `M${round(x(shown[0].at))} ${round(y(values[0]))}`;
  for (let i = 1; i < shown.length; i += 1) path += `H${round(x(shown[i].at))}V${round(y(values[i]))}`;
  return `${path}H${width}`;
}

/** How far this page is behind the hub, and what was merged for it. */
export class LagMeter {
  static SAMPLES_MAX = 240;
  static WINDOW_MS = 10_000;
  #samples = [];
  #recent = [];
  updates = 0;
  changes = 0;
  /** Changes that came as part of another, by reason. */
  merged = new Map();

  /** `pub`: when the hub published the newest change, in microseconds; undefined for an image. */
  add(nowMs, serverNow, { pub, merged }) {
    this.updates += 1;
    this.changes += merged?.n ?? 1;
    this.#recent.push({ at: nowMs, n: merged?.n ?? 1 });
    while (this.#recent.length > 0 && this.#recent[0].at < nowMs - LagMeter.WINDOW_MS) this.#recent.shift();
    if (merged) this.merged.set(merged.why, (this.merged.get(merged.why) ?? 0) + merged.n - 1);
    if (!pub) return;
    this.#samples.push(Math.max(0, (serverNow - pub) / 1000));
    if (this.#samples.length > LagMeter.SAMPLES_MAX) this.#samples.shift();
  }

  /** Milliseconds, oldest first. */
  get samples() {
    return this.#samples;
  }

  get last() {
    return this.#samples.at(-1);
  }

  /** The share-th part of the newest samples is at most this. */
  quantile(share) {
    const sorted = [...this.#samples].sort((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  }

  /** Updates and changes a second over the last ten seconds. */
  rates(nowMs) {
    const recent = this.#recent.filter(({ at }) => at >= nowMs - LagMeter.WINDOW_MS);
    const seconds = LagMeter.WINDOW_MS / 1000;
    return { updates: recent.length / seconds, changes: recent.reduce((sum, { n }) => sum + n, 0) / seconds };
  }

  reset() {
    this.#samples = [];
    this.merged.clear();
    this.updates = 0;
    this.changes = 0;
    this.#recent = [];
  }
}

/** The largest seq of the match's channel at which the score changed. */
export class ScoreWatch {
  #epoch;
  seq = 0;

  note({ events, epoch, seq = 0, changed }) {
    const isNew = this.#epoch === undefined;
    if (epoch !== this.#epoch) this.seq = 0;
    this.#epoch = epoch;
    // The first document is consistent with its prices. Not every source tells changes of the score as events.
    const isChanged = !isNew && SCORE_PARTS.some((part) => changed(part));
    if (isChanged || events.some(({ kind }) => SCORE_KINDS.has(kind))) this.seq = seq;
  }
}

/** Whether a selection has the depth of an exchange. */
export function hasDepth(selection) {
  return Object.keys(selection?.back ?? {}).length > 0 || Object.keys(selection?.lays ?? {}).length > 0;
}

/**
 * The rungs around the best prices, the highest price first: `{price, back, lay, traded, isLast, depth}`. `depth` is the share
 * of the largest size among them. At most `levels` on each side.
 */
export function ladderOf(selection, levels = 5) {
  const falling = (a, b) => compareDecimals(b, a);
  const back = Object.keys(selection.back ?? {}).sort(falling).slice(0, levels);
  const lays = Object.keys(selection.lays ?? {}).sort(falling).slice(-levels);
  const prices = [...new Set([...lays, ...back])].sort(falling);
  const rungs = prices.map((price) => ({
    price,
    back: back.includes(price) ? selection.back[price] : undefined,
    lay: lays.includes(price) ? selection.lays[price] : undefined,
    traded: selection.traded?.[price],
    isLast: selection.last !== undefined && compareDecimals(selection.last, price) === 0,
  }));
  const largest = Math.max(1e-9, ...rungs.map(({ back, lay }) => Math.max(Number(back ?? 0), Number(lay ?? 0))));
  return rungs.map((rung) => ({ ...rung, depth: Math.max(Number(rung.back ?? 0), Number(rung.lay ?? 0)) / largest }));
}

/** `1,234`: sizes are for reading, so without pennies. */
export function sizeText(size) {
  return size === undefined ? "" : Math.round(Number(size)).toLocaleString("en-GB");
}

/** A signal in words: `{what, numbers}`. */
export function signalText(signal, match) {
  const side = (outcome) => outcomeName(outcome, undefined, match);
  const less = (commission) => (commission === undefined ? "" : ` less ${percent(Number(commission), 1)} commission`);
  const on = [signal.market && marketWords(signal.market), signal.outcome && side(signal.outcome)].filter(Boolean).join(", ");
  switch (signal.kind) {
    case "arbitrage":
      return { what: `Arbitrage ${percent(Number(signal.profit))}: ${on}`,
        numbers: (signal.legs ?? []).map((leg) => `${side(leg.outcome)} ${leg.price} at ${leg.bookmaker}${less(leg.commission)}, ${percent(Number(leg.stake), 1)} of the stake`) };
    case "price_gap":
      return { what: `Price gap ${percent(Number(signal.gap), 1)}: ${on}`,
        numbers: [`${signal.bookmaker} ${signal.price}${less(signal.commission)}, next ${signal.next_bookmaker} ${signal.next_price}${less(signal.next_commission)}`] };
    case "value":
      return { what: `Value ${percent(Number(signal.value), 1)}: ${on}`,
        numbers: [`${signal.bookmaker} ${signal.price}${less(signal.commission)}, fair ${signal.fair_price} of ${signal.bookmakers} books`] };
    case "steam":
      return { what: `Steam ${percent(Number(signal.change), 1)}: ${on} ${signal.direction ?? ""}`.trim(), numbers: [(signal.moved ?? []).join(", ")] };
    case "suspended":
      return { what: `Suspended by ${signal.bookmaker ?? "one"}: ${on}`,
        numbers: [`${signal.open_bookmakers} trade, ${signal.suspended_bookmakers} do not`] };
    case "momentum": {
      const [first, second] = match?.p1 ? ["p1", "p2"] : ["home", "away"];
      return { what: `Momentum ${percent(Number(signal.share), 0)}: ${side(signal.side === "first" ? first : second)}`, numbers: [] };
    }
    default:
      return { what: `${plain(signal.kind)}: ${on}`, numbers: [] };
  }
}

/** The words of a consensus market key: `over_under:h1@2.5`. */
function marketWords(key) {
  const [head, line] = key.split("@");
  const [kind, period] = head.split(":");
  return marketName({ kind, period, line });
}

const EVENT_WORDS = { open: "opens", suspend: "suspends", resume: "resumes", in_play: "goes in play", settle: "settles", correct: "corrects" };
const HOLD_CAUSES = { feed: "the feed", goal: "a goal", red_card: "a red card", var: "a VAR check" };

/** An event of a book, or of the match (`book` undefined), as a line of the tape; undefined if it is none for traders. */
export function tapeText(event, book, { match, markets } = {}) {
  if (book !== undefined) {
    if (event.market === undefined) {
      if (event.kind === "suspend") return `${book}: held by the hub after ${HOLD_CAUSES[event.why] ?? plain(event.why)}`;
      return event.kind === "resume" ? `${book}: hold ended` : undefined;
    }
    const market = markets?.[event.market];
    return EVENT_WORDS[event.kind] && `${book} ${EVENT_WORDS[event.kind]} ${market ? marketName(market) : event.market}`;
  }
  const who = event.side ? nameOf(match?.[event.side]) : "";
  const minute = event.minute ? ` ${event.minute}′` : "";
  const score = event.score ? ` ${event.score.home ?? 0}–${event.score.away ?? 0}` : "";
  switch (event.kind) {
    case "goal": return `Goal${minute} ${who}${score}`;
    case "card": return event.card === "yellow" ? undefined : `Red card${minute} ${who}`;
    case "var": return `VAR ${plain(event.decision ?? "check").toLowerCase()}${minute}`;
    case "retract": return `Retracted${event.why ? `: ${event.why}` : ""}${score}`;
    case "period": return `${plain(event.status ?? "period")}${score}`;
    case "set": return `Set ${event.set} to ${nameOf(match?.[`p${event.winner}`])}`;
    case "score": return `Score${score}`;
    case "finish": case "match": return "The match is over";
    default: return undefined;
  }
}

/** The score of a match in a few characters. */
export function scoreText(match) {
  if (match?.score) return `${match.score.home ?? 0}–${match.score.away ?? 0}`;
  if (match?.sets) {
    const sets = Object.keys(match.sets).sort((a, b) => a - b).map((set) => `${match.sets[set].p1}-${match.sets[set].p2}`);
    const game = match.game ? ` (${match.game.p1}-${match.game.p2})` : "";
    return sets.join(" ") + game;
  }
  return "";
}

/** `Ashby Town – Calder Vale`, or the name of a race. */
export function pairText(match) {
  const [first, second] = [match?.home ?? match?.p1, match?.away ?? match?.p2].map(nameOf);
  return first || second ? `${first} – ${second}` : [match?.name, match?.course].map(nameOf).filter(Boolean).join(", ");
}
