// The day's matches to choose from: one list per sport. The caller handles the choice.

import { SPORTS, hasRunningClock, isLive, namesOf, scoreOf, stateOf, whenText } from "./sports.js";
import { KeyedList, el, setAttribute, setText, trustedUntil } from "./view.js";

const RANKS = { live: 0, next: 1, over: 2 };

/** Live matches first, then those to come, then those over; within each the earliest start first. */
export function inOrder(sport, matches) {
  const rank = (match) => RANKS[stateOf(sport, match)];
  return Object.entries(matches ?? {}).sort(
    ([a, x], [b, y]) => rank(x) - rank(y) || (x.start ?? 0) - (y.start ?? 0) || a.localeCompare(b),
  );
}

/** The default match to follow: one in play, else the next, never `except`. */
export function suggestion(sport, matches, except) {
  const candidates = inOrder(sport, matches).filter(([id, match]) => id !== except && stateOf(sport, match) !== "over");
  return candidates[0]?.[0];
}

export class Board {
  #sport;
  #list;
  #count = el("span", { class: "count-live" });
  #none = el("p", { class: "faint empty" }, "Loading matches.");
  #rows;
  #chosen;

  constructor(sport, card, place, choose) {
    this.#sport = sport;
    this.#list = el("ul", { class: "matches" });
    this.#rows = new KeyedList(this.#list, (id) => new Row(sport, () => choose(id)));
    place.append(el("div", { class: "body" }, this.#list, this.#none));
    card.querySelector("h2").append(this.#count);
  }

  /** `chosen` is the id of the match followed. */
  show(doc, chosen) {
    this.#chosen = chosen;
    const entries = inOrder(this.#sport, doc?.matches);
    this.#rows.show(entries.map(([id, match]) => [id, { match, chosen: id === this.#chosen }]));
    const live = entries.filter(([, match]) => isLive(this.#sport, match)).length;
    setText(this.#count, live > 0 ? ` ${live} live` : "");
    this.#none.hidden = entries.length > 0;
    if (doc !== undefined) setText(this.#none, "No matches today.");
  }

  tick(channel, stream) {
    const now = trustedUntil(channel, stream);
    for (const row of this.#rows.rows()) row.tick(now);
  }
}

class Row {
  #sport;
  #when = el("span", { class: "when" });
  #sides = [el("span", { class: "name" }), el("span", { class: "name" })];
  #scores = [el("b"), el("b")];
  #button;
  #match;

  constructor(sport, choose) {
    this.#sport = sport;
    this.#button = el("button", { type: "button" }, this.#when,
      el("span", { class: "pair" }, this.#sides[0], this.#scores[0], this.#sides[1], this.#scores[1]));
    this.#button.addEventListener("click", choose);
    this.node = el("li", {}, this.#button);
  }

  show({ match, chosen }) {
    this.#match = match;
    setAttribute(this.#button, "aria-current", chosen ? "true" : undefined);
    setAttribute(this.node, "data-state", stateOf(this.#sport, match));
    const names = namesOf(this.#sport, match);
    const score = scoreOf(this.#sport, match);
    SPORTS[this.#sport].sides.forEach((_, i) => {
      setText(this.#sides[i], names[i]);
      setText(this.#scores[i], score && (this.#sport === "tennis" ? score[i].parts.join(" ") : score[i].total));
      const serving = this.#sport === "tennis" && isLive(this.#sport, match) && match.server === i + 1;
      setAttribute(this.#sides[i], "data-serving", serving ? "yes" : undefined);
    });
    this.tick();
  }

  tick(now) {
    // The board changed between two ticks: the next one brings the minute.
    if (now === undefined && hasRunningClock(this.#match)) return;
    setText(this.#when, whenText(this.#sport, this.#match, now));
  }
}
