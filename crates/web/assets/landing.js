// The boards of the day on the front page, for visitors without a key: fetched every ten seconds while
// the page is visible. The live page follows the stream instead.

import { inOrder } from "./boards.js";
import { isLive, pairing, scoreText, whenText } from "./sports.js";
import { KeyedList, el, setAttribute, setText } from "./view.js";

const EVERY_MS = 10_000;
const LINES = 10;

class Line {
  #when = el("span", { class: "when" });
  #who = el("span", { class: "who" });
  #score = el("span", { class: "score" });

  constructor() {
    this.node = el("li", {}, this.#when, this.#who, this.#score);
  }

  show({ sport, match }) {
    setAttribute(this.node, "data-live", isLive(sport, match) ? "yes" : undefined);
    setText(this.#when, whenText(sport, match, Date.now() * 1000));
    setText(this.#who, pairing(sport, match));
    setText(this.#score, scoreText(sport, match));
  }
}

class PublicBoard {
  #sport;
  #state;
  #lines;

  constructor(card) {
    this.#sport = card.dataset.sport;
    this.#state = card.querySelector("[data-state]");
    this.#lines = new KeyedList(card.querySelector("ul"), () => new Line());
  }

  async refresh() {
    try {
      const answer = await fetch(`/watch/boards/${this.#sport}/`);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const { data } = await answer.json();
      const entries = inOrder(this.#sport, data.matches);
      this.#lines.show(entries.slice(0, LINES).map(([id, match]) => [id, { sport: this.#sport, match }]));
      const live = entries.filter(([, match]) => isLive(this.#sport, match)).length;
      setText(this.#state, entries.length === 0 ? "No matches today." : `${live} live, ${entries.length} in total. Up to 15 seconds old.`);
    } catch {
      setText(this.#state, "Could not load the matches. Trying again.");
    }
  }
}

if (typeof document !== "undefined") {
  const boards = [...document.querySelectorAll("[data-sport]")].map((card) => new PublicBoard(card));
  const refresh = () => document.hidden || boards.forEach((board) => board.refresh());
  refresh();
  setInterval(refresh, EVERY_MS);
  document.addEventListener("visibilitychange", refresh);
}
