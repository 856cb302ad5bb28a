// A card of a match page that fills with what REST knows, and the requests for it.

import { el } from "./view.js";

/** A card with a title; hidden until it has something to show. */
export class Panel {
  constructor(id, title, { wide = false } = {}) {
    this.body = el("div", { class: "body" });
    this.title = el("h2", { id: `${id}-title` }, title);
    this.node = el("section", { class: wide ? "card panel wide" : "card panel", id, "aria-labelledby": `${id}-title`, hidden: true },
      el("header", { class: "head" }, this.title), this.body);
  }

  reveal() {
    this.node.hidden = false;
  }
}

/** A table with a head: `columns` are titles, or pairs of an abbreviation and what it means; an empty one has no head. */
export function table(className, columns) {
  const heads = columns.map((column) => {
    const [short, long] = Array.isArray(column) ? column : [column];
    if (short === "") return el("td");
    return el("th", { scope: "col" }, long ? el("abbr", { title: long }, short) : short);
  });
  const rows = el("tbody");
  return { node: el("table", { class: className }, el("thead", {}, el("tr", {}, ...heads)), rows), rows };
}

/** A region that scrolls sideways or down, and can be reached with the keyboard. */
export function scroller(label, ...children) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

/** `26 Nov 2026` from `2026-11-26T…`. */
export function day(iso) {
  return new Date(iso).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

/** Requests over REST with the key of a tab. It asks nothing that the account may not read: a refused request is noise in every log. */
export class Rest {
  #key;
  #isOnline;
  #addons;

  /** `key` gives the key of this tab, if it has one; `isOnline` says whether the hub answers at present. */
  constructor(key, isOnline) {
    this.#key = key;
    this.#isOnline = isOnline;
  }

  get hasKey() {
    return this.#key() !== undefined;
  }

  /** Another key was entered. */
  restart() {
    this.#addons = undefined;
  }

  /** Whether the account has an add-on; `false` without a key. */
  async has(addon) {
    this.#addons ??= this.get("/api/v2/account/").then((account) => {
      if (account === undefined) this.#addons = undefined;
      return new Set((account?.addons ?? []).filter(({ active }) => active).map((it) => it.addon));
    });
    return (await this.#addons).has(addon);
  }

  /** The answer, or nothing if there is none: without a key, without a connection, or when the hub does not know it. */
  async get(path) {
    if (!this.hasKey || !this.#isOnline()) return undefined;
    try {
      const answer = await fetch(path, { headers: { authorization: `Token ${this.#key()}` } });
      return answer.ok ? await answer.json() : undefined;
    } catch {
      // The hub is restarting; whoever asks again gets it.
      return undefined;
    }
  }
}
