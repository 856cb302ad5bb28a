// One tennis match: sets, games, points, who serves, and the run of the last points.

import { KeyedList, el, nameOf, plain, setAttribute, setText, timeOfDay } from "./view.js";

const STATUS = { not_started: "Not started", live: "In play", finished: "Finished", retired: "Retired" };
export const TENNIS_LIVE = new Set(["live", "interrupted"]);
export const TENNIS_OVER = new Set(["finished", "retired", "walkover", "cancelled"]);

// What fits beside each other on a telephone.
const RUN = 24;

export function tennisStatus(status) {
  return STATUS[status] ?? plain(status);
}

/** `6-4 3-2` from the first player's side, as boards write it. */
export function setsText(sets) {
  return inOrder(sets).map(([, set]) => `${set.p1}-${set.p2}`).join(" ");
}

function inOrder(sets) {
  return Object.entries(sets ?? {}).sort((a, b) => a[0] - b[0]);
}

/** The side that has won the set as it stands, or 0. A set may go on for ever or end in a tie-break. */
export function setWinner(set) {
  const [high, low] = [Math.max(set.p1, set.p2), Math.min(set.p1, set.p2)];
  const won = (high >= 6 && high - low >= 2) || (high === 7 && low === 6);
  if (!won) return 0;
  return set.p1 > set.p2 ? 1 : 2;
}

export class TennisView {
  #competition = el("p", { class: "competition" });
  #players = [new PlayerRow(1), new PlayerRow(2)];
  #heads;
  #state = el("p", { class: "further" });
  #run = el("div", { class: "run", role: "img" });
  #runs = [];
  #doc;

  constructor(card, place) {
    const heads = el("tr");
    const corner = el("th", { scope: "col" }, el("span", { class: "unseen" }, "Player"));
    const makeHead = (key) => (key === "who" ? { node: corner, show() {} } : new Cell("th", { scope: "col" }, key));
    this.#heads = new KeyedList(heads, makeHead);
    place.append(
      el("div", { class: "body" },
        this.#competition,
        el("table", { class: "sets" },
          el("thead", {}, heads),
          el("tbody", {}, ...this.#players.map((row) => row.node))),
        this.#state,
        this.#run),
    );
    this.card = card;
  }

  show(doc) {
    if (doc === this.#doc) return;
    if (this.#doc?.id !== doc.id) this.#runs = [];
    this.#doc = doc;
    const when = doc.start && doc.status === "not_started" ? `from ${timeOfDay(doc.start)}` : "";
    setText(this.#competition, [nameOf(doc.competition), when].filter(Boolean).join(", "));
    const sets = inOrder(doc.sets);
    this.#heads.show([["who"], ...sets.map(([n]) => [`s${n}`, n]), ["game", "Points"]]);
    for (const row of this.#players) row.show(doc, sets);
    setText(this.#state, this.#standing(doc, sets));
    this.#showRun();
  }

  tick() {}

  /** Points arrive as events: the document alone does not say who won the one before the last. */
  note(event) {
    if (event.kind === "retract") {
      this.#runs = this.#runs.filter((point) => point.eid !== event.of);
    } else if (event.kind === "point") {
      this.#runs = [...this.#runs, { eid: event.eid, winner: event.winner }].slice(-RUN);
    }
    this.#showRun();
  }

  say(event) {
    if (event.kind === "set") return `Set. ${nameOf(this.#doc?.p1)} against ${nameOf(this.#doc?.p2)}: ${setsText(this.#doc?.sets)}.`;
    if (event.kind === "match") return `Match over: ${setsText(this.#doc?.sets)}.`;
    // A point taken back takes back the game or set that it won: named `point:game`, announced together.
    if (event.kind === "retract" && !event.of.includes(":")) return `Point retracted: ${event.why}.`;
    return undefined;
  }

  #standing(doc, sets) {
    const parts = [tennisStatus(doc.status)];
    const last = sets.at(-1)?.[1];
    if (doc.status === "live" && last) {
      if (inTieBreak(last)) parts.push("tie-break");
      else if (breakPoint(doc)) parts.push("break point");
    }
    if (doc.winner) parts.push(`${nameOf(doc[`p${doc.winner}`])} won`);
    if (doc.points !== undefined) parts.push(`${doc.points} points played`);
    return parts.join(" · ");
  }

  #showRun() {
    const won = [1, 2].map((p) => this.#runs.filter((point) => point.winner === p).length);
    setAttribute(this.#run, "aria-label", `Last ${this.#runs.length} points: ${won[0]} to ${nameOf(this.#doc?.p1)}, ${won[1]} to ${nameOf(this.#doc?.p2)}`);
    const marks = this.#runs.map((point, i) => {
      const mark = el("i", { "data-winner": point.winner });
      mark.style.gridColumn = String(i + 1);
      return mark;
    });
    this.#run.replaceChildren(...marks);
    this.#run.hidden = this.#runs.length === 0;
  }
}

function inTieBreak(set) {
  return set.tb !== undefined && setWinner(set) === 0;
}

function breakPoint(doc) {
  const [serving, receiving] = doc.server === 1 ? ["p1", "p2"] : ["p2", "p1"];
  const { [serving]: own, [receiving]: other } = doc.game ?? {};
  return doc.server !== undefined && (other === "A" || (other === "40" && ["0", "15", "30"].includes(own)));
}

class PlayerRow {
  #n;
  #name = el("span");
  #serves = el("i", { class: "serves", title: "Serving" }, el("span", { class: "unseen" }, "serving"));
  #cells;
  #head;

  constructor(n) {
    this.#n = n;
    this.#head = el("th", { scope: "row" }, this.#serves, this.#name);
    this.node = el("tr");
    const make = (key) => (key === "who" ? { node: this.#head, show() {} } : new Cell("td", {}, key));
    this.#cells = new KeyedList(this.node, make);
  }

  show(doc, sets) {
    const own = `p${this.#n}`;
    setText(this.#name, nameOf(doc[own]) || `Player ${this.#n}`);
    this.#serves.hidden = doc.server !== this.#n || !TENNIS_LIVE.has(doc.status);
    setAttribute(this.node, "data-won", doc.winner === this.#n ? "yes" : undefined);
    const cells = sets.map(([n, set], i) => {
      const winner = setWinner(set);
      const state = winner === this.#n ? "won" : i === sets.length - 1 && winner === 0 ? "now" : undefined;
      return [`s${n}`, { text: set[own], raised: set.tb?.[own], state }];
    });
    const points = TENNIS_LIVE.has(doc.status) ? (doc.game?.[own] ?? "0") : "";
    this.#cells.show([["who"], ...cells, ["game", { text: points, state: "points" }]]);
  }
}

class Cell {
  #text = el("span");
  #raised = el("sup");

  constructor(tag, attributes, key) {
    this.node = el(tag, { ...attributes, "data-column": key }, this.#text, this.#raised);
  }

  show(value) {
    const { text, raised, state } = typeof value === "object" ? value : { text: value };
    setText(this.#text, text);
    setText(this.#raised, raised);
    setAttribute(this.node, "data-state", state);
  }
}
