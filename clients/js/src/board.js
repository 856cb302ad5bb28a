// The day's matches of a sport, as rows in the order of their start.

import { equal } from "./compare.js";

/** @import { BoardOptions, BoardRow, Change } from "./types.d.ts" */
/** @import { Hub } from "./client.js" */

export class Board {
  #follow;
  #where;

  /**
   * Made by `hub.board`.
   *
   * @param {Hub} hub
   * @param {string} sport
   * @param {BoardOptions} [options]
   */
  constructor(hub, sport, { where = () => true, ...options } = {}) {
    this.#follow = hub.follow(sport, { rate: 500, ...options });
    this.#where = where;
  }

  get health() {
    return this.#follow.health;
  }

  /** Those for which `where` holds, by start, then by id. Rows that did not change are equal to those before. */
  get rows() {
    return this.#rowsOf(this.#follow.data);
  }

  /**
   * `change` gives the rows, when a row that is shown has changed; `health` as of `follow`.
   *
   * @param {"change" | "health"} name
   * @param {(value: any) => void} handler
   * @param {{ signal?: AbortSignal }} [options]
   */
  on(name, handler, options) {
    if (name !== "change") return this.#follow.on(name, handler, options);
    /** @type {BoardRow[] | undefined} */
    let shown;
    return this.#follow.on(
      "change",
      (/** @type {Change} */ { data }) => {
        const rows = this.#rowsOf(data);
        if (shown && equal(shown, rows)) return;
        shown = rows;
        handler(rows);
      },
      options,
    );
  }

  /**
   * The rows after each change, merged while the program is busy.
   *
   * @param {{ signal?: AbortSignal }} [options]
   */
  changes(options) {
    return this.#follow.iterate(({ data }) => this.#rowsOf(data), options);
  }

  [Symbol.asyncIterator]() {
    return this.changes();
  }

  close() {
    this.#follow.close();
  }

  /**
   * @param {any} data
   * @returns {BoardRow[]}
   */
  #rowsOf(data) {
    /** @type {[string, any][]} */
    const matches = Object.entries(data?.matches ?? {});
    return matches
      .map(([id, match]) => ({ ...match, id }))
      .filter(this.#where)
      .sort((a, b) => (a.start ?? 0) - (b.start ?? 0) || Number(a.id) - Number(b.id));
  }
}
