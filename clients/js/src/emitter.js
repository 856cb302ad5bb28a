// Handlers by name. One that throws is reported, and costs nothing else.

/** @typedef {(...args: any[]) => void} Handler */

export class Emitter {
  /** @type {Map<string, Set<Handler>>} */
  #handlers = new Map();
  #report;

  /** @param {(error: unknown, name: string) => void} report `name`: what the handler was for */
  constructor(report) {
    this.#report = report;
  }

  /**
   * Returns what removes the handler; so does the signal.
   *
   * @param {string} name
   * @param {Handler} handler
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {() => void}
   */
  on(name, handler, { signal } = {}) {
    // Wrapped, so that the same function can be added twice.
    const added = (/** @type {any[]} */ ...args) => handler(...args);
    const off = () => {
      signal?.removeEventListener("abort", off);
      this.#handlers.get(name)?.delete(added);
    };
    if (signal?.aborted) return off;
    signal?.addEventListener("abort", off);
    const handlers = this.#handlers.get(name) ?? new Set();
    this.#handlers.set(name, handlers.add(added));
    return off;
  }

  /** @param {string} name */
  has(name) {
    return (this.#handlers.get(name)?.size ?? 0) > 0;
  }

  /**
   * @param {string} name
   * @param {any[]} args
   */
  emit(name, ...args) {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      try {
        handler(...args);
      } catch (error) {
        this.#report(error, name);
      }
    }
  }
}
