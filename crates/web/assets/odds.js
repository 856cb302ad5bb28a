// The odds of one match: the best price of all bookmakers, or one bookmaker's own book.
//
// Prices stay the decimal text that the hub sent; they are compared as decimals, never as floats.

import { KeyedList, current, el, nameOf, plain, setAttribute, setText, span } from "./view.js";

const KINDS = {
  match_winner: "Match winner",
  over_under: "Goals, over or under",
  total_games: "Games, over or under",
  both_teams_to_score: "Both teams to score",
  asian_handicap: "Handicap",
  set_winner: "Set winner",
};
const KIND_ORDER = Object.keys(KINDS);
const OUTCOME_ORDER = ["home", "p1", "over", "yes", "draw", "under", "no", "away", "p2"];
const OUTCOMES = { draw: "Draw", over: "Over", under: "Under", yes: "Yes", no: "No" };

// An exchange may list two hundred markets of a match; a reader wants the first few at once.
const MARKETS_AT_FIRST = 8;

/** -1, 0 or 1, exactly, for decimals as text. */
export function compareDecimals(a, b) {
  const [left, right] = scaled(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

function scaled(...texts) {
  const parts = texts.map((text) => {
    const [, sign, whole, fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [undefined, "", "0", ""];
    return { sign, whole, fraction };
  });
  const places = Math.max(...parts.map((part) => part.fraction.length));
  return parts.map(({ sign, whole, fraction }) => BigInt(sign + whole + fraction.padEnd(places, "0")));
}

/** `Goals, over or under · 2.5`: what a market is about. */
export function marketTitle(market) {
  const kind = market.name ?? KINDS[market.kind] ?? plain(market.kind);
  // A bookmaker's own name of a market may hold its line.
  const line = kind.split(" ").includes(market.line) ? undefined : market.line;
  return [kind, line, market.period && plain(market.period).toLowerCase()].filter(Boolean).join(" · ");
}

/** Where an outcome stands among those of its market: the first side first. */
export function outcomeOrder(outcome) {
  return OUTCOME_ORDER.indexOf(outcome);
}

/** The name of an outcome that means the same with every bookmaker; `names` has those of the sides. */
export function outcomeTitle(outcome, { home, away, p1, p2 }) {
  return { home, away, p1, p2 }[outcome] || OUTCOMES[outcome] || plain(outcome);
}

/** The names of the sides by outcome, and both together as `title`. */
export function sideNames(match) {
  const home = nameOf(match?.home ?? match?.p1);
  const away = nameOf(match?.away ?? match?.p2);
  return { home, away, p1: home, p2: away, title: home ? `${home} – ${away}` : "" };
}

export class OddsView {
  #title = el("p", { class: "competition" });
  #stop = el("p", { class: "stop", hidden: true });
  #none = el("p", { class: "faint empty" });
  #more = el("button", { type: "button", class: "more", hidden: true });
  #markets;
  #all = false;
  #channel;

  constructor(card, place) {
    const markets = el("div", { class: "markets" });
    this.#markets = new KeyedList(markets, () => new Market());
    this.#more.addEventListener("click", () => {
      this.#all = !this.#all;
      this.#render();
    });
    place.append(el("div", { class: "body" }, this.#title, this.#stop, markets, this.#none, this.#more));
    this.card = card;
  }

  show(channel, match) {
    if (channel?.name !== this.#channel?.name) this.#all = false;
    this.#channel = channel;
    this.names = sideNames(match);
    setText(this.#title, this.names.title);
    this.#render();
  }

  #render() {
    const doc = this.#channel?.data;
    const markets = Object.entries(doc?.markets ?? {}).sort(byKindAndLine);
    const shown = this.#all ? markets : markets.slice(0, MARKETS_AT_FIRST);
    const context = { suspended: Boolean(doc?.suspended), names: this.names };
    this.#markets.show(shown.map(([id, market]) => [`${this.#channel.name} ${id}`, { market, context }]));

    this.#stop.hidden = !doc?.suspended;
    setText(this.#stop, doc?.suspended ? "All markets suspended" : "");
    setAttribute(this.card, "data-suspended", doc?.suspended ? "yes" : undefined);
    this.#more.hidden = markets.length <= MARKETS_AT_FIRST;
    setText(this.#more, this.#all ? "Show fewer markets" : `Show all ${markets.length} markets`);
    setText(this.#none, markets.length > 0 ? "" : this.#absence(doc));
    this.#none.hidden = markets.length > 0;
  }

  #absence(doc) {
    if (this.#channel?.error) return `No odds: ${this.#channel.error.message}`;
    return doc ? "No markets." : "Waiting for prices.";
  }

  /** The age of the oldest price in a best price, which may exceed that of the document. */
  tick(channel, stream) {
    const now = stream.serverNow();
    for (const market of this.#markets.rows()) market.tick(now, current(channel));
  }

  say() {
    return undefined;
  }
}

function byKindAndLine([, a], [, b]) {
  const order = (market) => {
    const at = KIND_ORDER.indexOf(market.kind);
    return at < 0 ? KIND_ORDER.length : at;
  };
  return (
    order(a) - order(b) ||
    String(a.kind).localeCompare(String(b.kind)) ||
    String(a.period ?? "").localeCompare(String(b.period ?? "")) ||
    compareDecimals(a.line ?? "0", b.line ?? "0") ||
    String(a.name ?? "").localeCompare(String(b.name ?? ""))
  );
}

class Market {
  #name = el("h3");
  #state = el("span", { class: "chip" });
  #selections;

  constructor() {
    const list = el("ul", { class: "selections" });
    this.#selections = new KeyedList(list, (id) => new Selection(id));
    this.node = el("section", { class: "market" }, el("header", {}, this.#name, this.#state), list);
  }

  show({ market, context }) {
    setText(this.#name, marketTitle(market));
    const status = context.suspended && market.status === "open" ? "suspended" : market.status;
    setAttribute(this.node, "data-status", status);
    setText(this.#state, status === "open" ? (market.in_play ? "In play" : "Open") : plain(status));
    const open = status === "open";
    const entries = Object.entries(market.selections ?? {}).sort(byOutcome);
    this.#selections.show(entries.map(([id, selection]) => [id, { selection, open, names: context.names }]));
  }

  tick(now, live) {
    for (const selection of this.#selections.rows()) selection.tick(now, live);
  }
}

/** The first side first; a bookmaker's own ids say nothing, but may name the outcome beside them. */
function byOutcome([a, x], [b, y]) {
  return outcomeOrder(x.outcome ?? a) - outcomeOrder(y.outcome ?? b);
}

class Selection {
  #id;
  #name = el("span", { class: "name" });
  #best = el("span", { class: "best", title: "Bookmaker with this price" });
  #arrow = el("i", { class: "arrow", "aria-hidden": "true" });
  #price = el("b", { class: "price" });
  #beside = el("span", { class: "beside" });
  #detail = el("span", { class: "detail" });
  #old = el("span", { class: "oldest", title: "Age of the oldest of these prices" });
  #value;

  constructor(id) {
    this.#id = id;
    this.node = el("li", { class: "selection" },
      el("span", { class: "line" }, this.#name, this.#best),
      el("span", { class: "quote" }, this.#price, this.#arrow, this.#beside),
      el("span", { class: "line" }, this.#detail, this.#old));
  }

  show({ selection, open, names }) {
    const before = this.#value;
    this.#value = selection;
    setText(this.#name, this.#label(selection, names));
    setText(this.#price, selection.price ?? "–");
    setText(this.#best, selection.best);
    setText(this.#beside, selection.lay ? `lay ${selection.lay}` : selection.median ? `median ${selection.median}` : "");
    setText(this.#detail, detail(selection));
    setAttribute(this.node, "data-status", selection.status);
    if (selection === before) return;

    const from = before === undefined ? selection.prev : before.price;
    const move = from && selection.price ? compareDecimals(selection.price, from) : 0;
    if (move !== 0 || before === undefined) {
      setAttribute(this.node, "data-move", move > 0 ? "up" : move < 0 ? "down" : undefined);
    }
    // A price that moves while its market is suspended is not actionable.
    if (before !== undefined && move !== 0 && open) this.#flash(move);
  }

  tick(now, live) {
    const oldest = this.#value?.oldest;
    setText(this.#old, live && oldest ? span((now - oldest) / 1000) : "");
  }

  #label(selection, names) {
    const [outcome, handicap] = this.#id.split("@");
    const name = selection.name ?? outcomeTitle(selection.outcome ?? outcome, names);
    return handicap ? `${name} ${handicap}` : name;
  }

  #flash(move) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const colour = move > 0 ? "var(--up-flash)" : "var(--down-flash)";
    this.node.animate({ backgroundColor: [colour, "transparent"] }, { duration: 1100, easing: "ease-out" });
  }
}

function detail(selection) {
  const parts = [];
  if (selection.status !== "active") parts.push(plain(selection.status));
  if (selection.bookmakers) parts.push(selection.bookmakers === 1 ? "1 book" : `${selection.bookmakers} books`);
  const size = selection.back?.[selection.price];
  if (size) parts.push(`${size} to back`);
  if (selection.last) parts.push(`last ${selection.last}`);
  if (selection.volume) parts.push(`${selection.volume} traded`);
  return parts.join(" · ");
}
