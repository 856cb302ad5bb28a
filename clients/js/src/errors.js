// What ends an iterator or a wait.

/** The hub has closed the connection for good: `code` is in the table of docs/PROTOCOL.md, Closing. */
export class ClosedError extends Error {
  /** @param {import("./types.d.ts").StreamState} state */
  constructor({ code, why, message }) {
    super(message ?? why ?? "the client was closed");
    this.name = "ClosedError";
    this.code = code;
    this.why = why;
  }
}

/** The hub refuses a channel, and asking again would not help: `code` and `addons` are the hub's. */
export class RefusedError extends Error {
  /**
   * @param {string} ch
   * @param {import("./types.d.ts").HubError} error
   */
  constructor(ch, error) {
    super(`${ch}: ${error.message ?? error.code}`);
    this.name = "RefusedError";
    this.ch = ch;
    this.code = error.code;
    this.error = error;
  }
}
