// A hub as a program sees it: documents to follow, events, and a connection that looks after itself.
//
//   const hub = connect("wss://hub.example.org", { ticket });
//   const match = hub.follow("football/204849", { rate: "frame" });
//   match.on("change", ({ data, health }) => show(data, health));
//   match.on("goal", (goal) => flash(goal.side));

import { onAbort } from "./abort.js";
import { Board } from "./board.js";
import { systemClock } from "./clock.js";
import { ClosedError } from "./errors.js";
import { Emitter } from "./emitter.js";
import { Follow } from "./follow.js";
import { isLocal, isVisible, nextFrame, watchPage } from "./page.js";
import { Odds } from "./odds.js";
import { Replay } from "./replay.js";
import { report } from "./report.js";
import { Stream } from "./stream.js";
import { Topic } from "./topic.js";

/** @import { BoardOptions, ConnectOptions, DocumentOf, EventOf, FollowOptions, OddsOptions, Proof, ReplayOptions, StreamState } from "./types.d.ts" */

const LINGER_MS = 2000;

/**
 * Connects to a hub, for ever: it reconnects and resumes until it is closed, or the hub says that no attempt can succeed.
 *
 * @param {string | URL} url of the hub: `wss://hub.example.org`, or with `https`; a path other than `/` is kept
 * @param {ConnectOptions} [options]
 */
export function connect(url, options) {
  return new Hub(url, options);
}

export class Hub {
  // A handler of errors that throws is not asked about its own.
  #emitter = new Emitter((error, name) => (name === "error" ? report(error) : this.report(error)));
  /** @type {Map<string, Topic>} */
  #topics = new Map();
  /** @type {Set<() => void>} */
  #drawing = new Set();
  #unwatch;
  #unhook;

  /**
   * @param {string | URL} url
   * @param {ConnectOptions} [options]
   */
  constructor(url, { ticket, signal, lingerMs = LINGER_MS, ...options } = {}) {
    if (options.key && !isLocal()) {
      console.warn("matchwire: this page shows its key to everyone who opens it; use a ticket (see the option `ticket`)");
    }
    // With tickets it would be asked for again and again.
    if (!(options.WebSocket ?? globalThis.WebSocket)) throw new TypeError("there is no WebSocket here: pass one as the option `WebSocket`");
    const tickets = ticket && (async () => ["matchwire.v1", "ticket", await ticket()]);
    this.timers = options.clock ?? systemClock;
    this.lingerMs = lingerMs;
    this.isVisible = isVisible();
    /**
     * Set when it is closed; `failure` unless this program closed it.
     * @type {{ failure?: { error: ClosedError } } | undefined}
     */
    this.ended = undefined;
    // The state is announced before the constructor returns.
    let isReady = false;
    /** The connection: documents, positions, the hub's clock. */
    this.stream = new Stream(socketUrl(url), {
      protocols: tickets,
      ...options,
      onState: (state) => {
        if (isReady) this.#entered(state);
        // A handler may have closed it.
        options.onState?.(isReady ? this.state : state);
      },
    });
    isReady = true;
    this.#unwatch = watchPage({
      wake: () => this.wake(),
      sleep: () => this.stream.sleep(),
      look: () => this.#look(),
    });
    this.#unhook = onAbort(signal, () => void this.close());
  }

  /** @returns {StreamState} */
  get state() {
    return this.stream.state;
  }

  /** What the hub offers, such as `replay` and `hash`. */
  get features() {
    return this.stream.features;
  }

  /** The hub's clock now, in microseconds since the Unix epoch. */
  serverNow() {
    return this.stream.serverNow();
  }

  /**
   * `state` (a `StreamState`) and `error` (what a handler has thrown; without a handler it is reported as an uncaught error).
   *
   * @param {"state" | "error"} name
   * @param {(value: any) => void} handler
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {() => void} removes the handler
   */
  on(name, handler, options) {
    // The newest state, also if a handler before this one has closed it.
    return this.#emitter.on(name, name === "state" ? () => handler(this.state) : handler, options);
  }

  /**
   * Resolves when it is connected.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<this>}
   */
  open({ signal } = {}) {
    return new Promise((resolve, reject) => {
      const off = this.on("state", () => check());
      const done = (/** @type {() => void} */ settle) => {
        off();
        signal?.removeEventListener("abort", check);
        settle();
      };
      const check = () => {
        if (signal?.aborted) done(() => reject(signal.reason));
        else if (this.ended) done(() => reject(this.ended?.failure?.error ?? new ClosedError(this.state)));
        else if (this.state.phase === "open") done(() => resolve(this));
      };
      signal?.addEventListener("abort", check);
      check();
    });
  }

  /**
   * Follows a channel, or all that a pattern such as `football/*` covers, now and later. Readers of the same name share one
   * subscription, at the rate of the fastest.
   *
   * @template {string} Ch
   * @param {Ch} ch
   * @param {FollowOptions} [options]
   * @returns {Follow<DocumentOf<Ch>, EventOf<Ch>>}
   */
  follow(ch, options = {}) {
    let topic = this.#topics.get(ch);
    if (topic === undefined) {
      topic = new Topic(this, ch);
      this.#topics.set(ch, topic);
    }
    return new Follow(this, topic, options);
  }

  /**
   * The day's matches of a sport, as rows.
   *
   * @param {string} sport
   * @param {BoardOptions} [options]
   */
  board(sport, options) {
    return new Board(this, sport, options);
  }

  /**
   * The odds of a match: the consensus, and the books of the bookmakers that are named.
   *
   * @param {string} ch the match: `football/204849`
   * @param {OddsOptions} [options]
   */
  odds(ch, options) {
    return new Odds(this, ch, options);
  }

  /**
   * Plays the recording of channels, if the hub has `replay` among its features.
   *
   * @param {string[]} chs
   * @param {ReplayOptions} [options]
   */
  replay(chs, options) {
    return new Replay(this.stream, chs, options);
  }

  /**
   * Asks the hub for the hash of a channel that is followed, and compares it with that of the document here.
   *
   * @param {string} ch
   * @returns {Promise<Proof>}
   */
  async verify(ch) {
    const { verify } = await import("./verify.js");
    return verify(this.stream, ch);
  }

  /** Tries to connect at once, unless the hub itself has named the time. */
  wake() {
    this.stream.wake();
  }

  /** Closes the connection; iterators end. */
  close() {
    this.stream.close();
    for (const topic of [...this.#topics.values()]) topic.close();
    return Promise.resolve();
  }

  [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    return this.close();
  }

  // ------------------------------------------------------------------------------- for its readers

  /** @param {Topic} topic */
  forget(topic) {
    if (this.#topics.get(topic.ch) === topic) this.#topics.delete(topic.ch);
  }

  /**
   * Something that the program itself did wrong: never in the way of the stream.
   *
   * @param {unknown} error
   */
  report(error) {
    if (this.#emitter.has("error")) this.#emitter.emit("error", error);
    else report(error);
  }

  /**
   * Runs before the next frame of the screen, once however often it was asked for.
   *
   * @param {() => void} run
   */
  onFrame(run) {
    const isAsked = this.#drawing.size > 0;
    this.#drawing.add(run);
    if (isAsked) return;
    nextFrame(() => {
      const due = [...this.#drawing];
      this.#drawing.clear();
      for (const draw of due) draw();
    }, this.timers);
  }

  /** @param {StreamState} state */
  #entered(state) {
    if (state.phase === "closed" && !this.ended) {
      const failure = state.why === "asked" && state.code === undefined ? undefined : { error: new ClosedError(state) };
      this.ended = { failure };
      this.#unwatch();
      this.#unhook?.();
      for (const topic of this.#topics.values()) topic.end(failure);
    }
    this.#emitter.emit("state");
  }

  #look() {
    this.isVisible = isVisible();
    if (this.isVisible) this.wake();
    for (const topic of this.#topics.values()) topic.retune();
  }
}

/** @param {string | URL} url */
function socketUrl(url) {
  const found = new URL(url, globalThis.location?.href);
  found.protocol = found.protocol.replace(/^http/, "ws");
  if (found.pathname === "/") found.pathname = "/stream/v1";
  return found.href;
}
