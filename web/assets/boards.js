// The day's matches to choose from: one list per sport. The caller handles the choice.

import { FOOTBALL_LIVE, FOOTBALL_OVER, footballStatus, minuteText } from "./football.js";
import { TENNIS_LIVE, TENNIS_OVER, setsText, tennisStatus } from "./tennis.js";
import { KeyedList, el, matchSecond, nameOf, setAttribute, setText, timeOfDay, trustedUntil } from "./view.js";

const SPORTS = {
  football: { live: FOOTBALL_LIVE, over: FOOTBALL_OVER, sides: ["home", "away"] },
  tennis: { live: TENNIS_LIVE, over: TENNIS_OVER, sides: ["p1", "p2"] },
};

/** Live matches first, then those to come, then those over; within each the earliest start first. */
export function inOrder(sport, matches) {
  const { live, over } = SPORTS[sport];
  const rank = ({ status }) => (live.has(status) ? 0 : over.has(status) ? 2 : 1);
  return Object.entries(matches ?? {}).sort(
    ([a, x], [b, y]) => rank(x) - rank(y) || (x.start ?? 0) - (y.start ?? 0) || a.localeCompare(b),
  );
}

/** Whether the board says that this match is being played. */
export function isLive(sport, match) {
  return SPORTS[sport].live.has(match?.status);
}

/** The default match to follow: one in play, else the next, never `except`. */
export function suggestion(sport, matches, except) {
  const candidates = inOrder(sport, matches).filter(([id, match]) => id !== except && !SPORTS[sport].over.has(match.status));
  return candidates[0]?.[0];
}

/** `Ashby Town – Calder Vale` */
export function pairing(sport, match) {
  return SPORTS[sport].sides.map((side) => nameOf(match?.[side])).join(" – ");
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
    const { live, over, sides } = SPORTS[this.#sport];
    setAttribute(this.#button, "aria-current", chosen ? "true" : undefined);
    setAttribute(this.node, "data-state", live.has(match.status) ? "live" : over.has(match.status) ? "over" : "next");
    sides.forEach((side, i) => {
      setText(this.#sides[i], nameOf(match[side]));
      setText(this.#scores[i], this.#scoreOf(match, side));
      const serving = this.#sport === "tennis" && live.has(match.status) && match.server === i + 1;
      setAttribute(this.#sides[i], "data-serving", serving ? "yes" : undefined);
    });
    this.tick();
  }

  tick(now) {
    const { status, clock, start, sets } = this.#match;
    const playing = SPORTS[this.#sport].live.has(status);
    if (playing && clock?.running) {
      // The board changed between two ticks: the next one brings the minute.
      if (now !== undefined) setText(this.#when, minuteText(status, matchSecond(clock, now)));
    } else if (status === "not_started") {
      setText(this.#when, start ? timeOfDay(start) : "Upcoming");
    } else if (status === "live") {
      setText(this.#when, `Set ${Math.max(1, Object.keys(sets ?? {}).length)}`);
    } else {
      setText(this.#when, this.#sport === "football" ? footballStatus(status) : tennisStatus(status));
    }
  }

  #scoreOf(match, side) {
    if (match.status === "not_started") return "";
    if (this.#sport === "football") return match.score?.[side] ?? "";
    const games = setsText(match.sets).split(" ").filter(Boolean).map((set) => set.split("-")[side === "p1" ? 0 : 1]);
    return games.join(" ");
  }
}
