// One reader of a channel or a pattern. Readers of the same name share a topic, and so one subscription.

import { onAbort } from "./abort.js";
import { Backlog, Changes } from "./changes.js";
import { at } from "./compare.js";
import { clockSecond, clockText } from "./match-clock.js";
import { Emitter } from "./emitter.js";
import { RefusedError } from "./errors.js";

/** @import { Change, ChannelChange, FollowOptions, Health, Heard, HubEvent, Path, Rate } from "./types.d.ts" */
/** @import { Channel } from "./channel.js" */
/** @import { Hub } from "./client.js" */
/** @import { Topic } from "./topic.js" */

// Faster than anyone reads, and a tenth of the frames of a busy book; events do not wait for it.
const VISIBLE_MS = 100;
// Nobody looks; often enough that the page is not far behind when it is shown again.
const HIDDEN_MS = 5000;
// A document that a new reader finds.
/** @type {ChannelChange} */
const KNOWN = { kind: "image", events: [] };

/**
 * @template [Data=any]
 * @template [Happened=HubEvent]
 */
export class Follow {
  #hub;
  #topic;
  #rate;
  #lossless;
  #emitter;
  /** @type {Set<Changes<any>>} */
  #iterators = new Set();
  // For handlers of `change`, until the next frame of the screen.
  #backlog = new Backlog();
  // Whether the backlog has been given the documents that were known before the first handler.
  #isPrimed = false;
  /** @type {Map<Changes<any>, Rate>} */
  #slowed = new Map();
  #closed = false;
  #unhook;
  // Of each channel, as the handlers know it.
  /** @type {Map<string, Health>} */
  #healths = new Map();

  /**
   * Made by `hub.follow`.
   *
   * @param {Hub} hub
   * @param {Topic} topic
   * @param {FollowOptions} options
   */
  constructor(hub, topic, { rate = 0, lossless = false, signal }) {
    this.#hub = hub;
    this.#topic = topic;
    this.#rate = lossless ? 0 : rate;
    this.#lossless = lossless;
    this.#emitter = new Emitter((error) => hub.report(error));
    /** The channel or pattern. */
    this.ch = topic.ch;
    topic.add(this);
    for (const { name, health } of topic.channels.values()) this.#healths.set(name, health);
    this.#unhook = onAbort(signal, () => this.close());
  }

  /** The channel with its position; of a pattern, one without a document. */
  get channel() {
    return this.#hub.stream.channel(this.ch);
  }

  /**
   * The document; undefined before the first image. Read-only.
   *
   * @returns {Data | undefined}
   */
  get data() {
    return this.channel?.data;
  }

  /** @returns {Health} */
  get health() {
    return this.channel?.health ?? "waiting";
  }

  /** Why the hub refuses the channel or the pattern, if it does. */
  get error() {
    return this.channel?.error;
  }

  /** Of a pattern: channels for which the socket had no room when it was subscribed to. */
  get leftOut() {
    return this.channel?.answer?.left_out ?? 0;
  }

  /** Of a pattern: channels that need an add-on that the account lacks. */
  get notEntitled() {
    return this.channel?.answer?.not_entitled ?? 0;
  }

  /** The channels that it covers now, by name: one, or those of a pattern. */
  get channels() {
    return this.#topic.channels;
  }

  /** The match clock as scoreboards show it, now: `17:58`, `90+2:10`; empty if there is none. */
  clock() {
    return clockText(this.data, this.#hub.serverNow());
  }

  /** The match clock in seconds; undefined if there is none. */
  clockSecond() {
    return clockSecond(this.data, this.#hub.serverNow());
  }

  /**
   * `change` gives a `Change`, with `rate: "frame"` at most once a frame of the screen; `health` gives the new health. The kind of
   * an event (`goal`, `retract`, ...), or `event` for all, gives the event at once, each exactly once. The channel's name is second.
   *
   * @template {string} Name
   * @param {Name} name
   * @param {(value: Heard<Name, Data, Happened>, ch: string) => void} handler
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {() => void} removes the handler
   */
  on(name, handler, options) {
    if (name !== "change") return this.#emitter.on(name, handler, options);
    // Nobody has taken what changed since the last handler was removed.
    if (!this.#emitter.has(name)) {
      this.#backlog = new Backlog();
      this.#isPrimed = false;
    }
    // The channels of which it has the document.
    /** @type {Set<string>} */
    const given = new Set();
    const give = (/** @type {any} */ change, /** @type {string} */ ch) => {
      // Of its first change all is new, also if handlers before it know the document.
      if (!given.has(ch)) change = { ...change, patch: undefined, changed: (/** @type {Path} */ path) => at(change.data, path) !== undefined };
      if (change.health === "refused") given.delete(ch);
      else given.add(ch);
      handler(change, ch);
    };
    let isOff = false;
    const off = this.#emitter.on(name, give, options);
    // What is known already; later, so that the program has the handle.
    queueMicrotask(() => {
      if (isOff || options?.signal?.aborted) return;
      const isFirst = !this.#isPrimed;
      this.#isPrimed = true;
      for (const channel of this.channels.values()) {
        if (this.#closed) return;
        if (channel.data === undefined || given.has(channel.name) || this.#backlog.has(channel.name)) continue;
        if (isFirst) this.#queue(channel, KNOWN);
        else this.#show(channel, give);
      }
    });
    return () => {
      isOff = true;
      off();
    };
  }

  /**
   * Resolves with the first document.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<Data>}
   */
  async ready(options) {
    for await (const { data } of this.changes(options)) {
      if (data !== undefined) return data;
    }
    throw new Error(`${this.ch}: closed before its first document`);
  }

  /**
   * Changes one by one, merged while the program is busy with the last one. It ends when the reader or the hub is closed by this
   * program, and throws a `ClosedError` or `RefusedError` when the hub ends it, or the signal's reason.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Changes<Change<Data, Happened>>}
   */
  changes(options = {}) {
    return this.iterate((change) => /** @type {Change<any, any>} */ (change), options);
  }

  [Symbol.asyncIterator]() {
    return this.changes();
  }

  /**
   * Like `changes`, with what `present` makes of each.
   *
   * @template Value
   * @param {(change: Change) => Value} present
   * @param {{ signal?: AbortSignal }} [options]
   */
  iterate(present, { signal } = {}) {
    /** @type {Changes<Value>} */
    const changes = new Changes({
      present,
      clock: this.#hub.timers,
      slow: (everyMs) => this.#slow(changes, everyMs),
      leave: () => this.#iterators.delete(changes),
    });
    this.#iterators.add(changes);
    changes.endWith(signal);
    if (this.#closed) changes.end();
    for (const channel of this.channels.values()) {
      if (channel.data !== undefined) changes.add(channel, KNOWN);
    }
    if (this.channel) this.#checkRefusal(this.channel);
    const ended = this.#hub.ended;
    if (ended) changes.end(ended.failure);
    return changes;
  }

  /** Asks the hub to prove that this program has what it has, at the same position. */
  verify() {
    return this.#hub.verify(this.ch);
  }

  /** Ends this reader: its iterators, and the subscription if it was the last reader. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.end();
    this.#topic.remove(this);
  }

  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.close();
  }

  // ------------------------------------------------------------------------------- for the topic

  /**
   * How many milliseconds of values the hub may merge for this reader.
   *
   * @returns {number}
   */
  get everyMs() {
    const own = this.#rate === "frame" ? (this.#hub.isVisible ? VISIBLE_MS : HIDDEN_MS) : this.#rate;
    // As fast as the fastest of them needs it.
    const needs = [...this.#iterators].map((it) => this.#slowed.get(it) ?? 0);
    const slowest = needs.length > 0 && !this.#emitter.has("change") ? Math.min(...needs) : 0;
    return Math.max(own, slowest);
  }

  /**
   * @param {Channel} channel
   * @param {ChannelChange} change
   */
  receive(channel, change) {
    if (this.#closed) return;
    for (const event of change.events) this.#emit(event, channel.name);
    for (const iterator of [...this.#iterators]) iterator.add(channel, change);
    if (this.#emitter.has("change")) this.#queue(channel, change);
    this.judged(channel);
  }

  /**
   * Of a channel, or of the pattern as a whole.
   *
   * @param {Channel} channel
   */
  judged(channel) {
    const { name, health } = channel;
    // One that was refused for now may be refused for good, with the same health.
    this.#checkRefusal(channel);
    if (health === this.#healths.get(name)) return;
    this.#healths.set(name, health);
    this.#emitter.emit("health", health, name);
    if (health === "refused" && name !== this.ch) this.#healths.delete(name);
  }

  /**
   * Ends its iterators; the connection has ended, or the reader.
   *
   * @param {{ error: unknown }} [failure]
   */
  end(failure) {
    this.#unhook?.();
    this.#endIterators(failure);
  }

  /** @param {{ error: unknown }} [failure] */
  #endIterators(failure) {
    for (const iterator of [...this.#iterators]) iterator.end(failure);
  }

  /**
   * @param {HubEvent} event
   * @param {string} ch
   */
  #emit(event, ch) {
    this.#emitter.emit(event.kind, event, ch);
    this.#emitter.emit("event", event, ch);
  }

  /**
   * @param {Channel} channel
   * @param {ChannelChange} change
   */
  #queue(channel, change) {
    this.#backlog.add(channel, change);
    if (this.#rate === "frame") this.#hub.onFrame(this.#flush);
    else this.#flush();
  }

  /**
   * Gives a handler what others have already.
   *
   * @param {Channel} channel
   * @param {(value: any, ch: string) => void} handler
   */
  #show(channel, handler) {
    const backlog = new Backlog();
    backlog.add(channel, KNOWN);
    const once = new Emitter((error) => this.#hub.report(error));
    once.on("change", handler);
    once.emit("change", backlog.take(), channel.name);
  }

  #flush = () => {
    while (!this.#closed) {
      const change = this.#backlog.take();
      if (change === undefined) return;
      this.#emitter.emit("change", change, change.ch);
    }
  };

  /** @param {Channel} channel */
  #checkRefusal(channel) {
    const { error, name } = channel;
    if (error && !error.retry && name === this.ch) this.#endIterators({ error: new RefusedError(name, error) });
  }

  /**
   * @param {Changes<any>} changes
   * @param {Rate} everyMs
   */
  #slow(changes, everyMs) {
    if (this.#lossless) return;
    if (everyMs > 0) this.#slowed.set(changes, everyMs);
    else this.#slowed.delete(changes);
    this.#topic.retune();
  }
}
