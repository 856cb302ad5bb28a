// Changes that wait for a reader: one merged value for each channel and a bounded list of events, never a queue of values.
//
// A reader that takes long gets fewer and larger changes, as the protocol does it for slow sockets. After 250 ms it also asks the
// hub for fewer, so that neither side works for nothing, and it takes that back by itself once the reader keeps up.

import { onAbort } from "./abort.js";
import { at, equal } from "./compare.js";

/** @import { Change, ChannelChange, HubEvent, Merged, Missed, Path, Rate } from "./types.d.ts" */
/** @import { Channel } from "./channel.js" */

// Of one reader, over all its channels. Past it the oldest are dropped, and `missed` says how many.
const EVENTS_MAX = 10_000;
const SLOW_AFTER_MS = 250;
/** @type {Rate[]} */
const RATES = [0, 100, 250, 500, 1000, 2000, 5000];
// Rounds in a row that a reader must keep up before the hub is asked for more again.
const PROMPT_ROUNDS = 2;

/** The changes of one channel that were not taken yet, as one. */
class Pending {
  /** @type {HubEvent[]} */
  events = [];
  /** @type {any} */
  patch = undefined;
  /** @type {Missed | undefined} */
  missed;
  /** @type {string | undefined} */
  #why;
  #frames = 0;
  #n = 0;

  /**
   * @param {Channel} channel
   * @param {any} before the document that the reader had
   */
  constructor(channel, before) {
    this.channel = channel;
    this.before = before;
  }

  /** @param {ChannelChange} change */
  add(change) {
    const { missed } = change;
    this.events.push(...change.events);
    if (missed) this.missed = { ...missed, from: this.missed?.from ?? missed.from };
    if (change.kind === "health") return;
    this.#frames += 1;
    this.#n += change.merged?.n ?? 1;
    this.#why = this.#frames > 1 ? "reader" : change.merged?.why;
    this.patch = this.#frames === 1 ? change.patch : undefined;
  }

  /** Drops the oldest event, and says so. */
  drop() {
    const { seq = 0 } = this.channel;
    this.events.shift();
    const { from = seq, why = "reader", events = 0 } = this.missed ?? {};
    this.missed = { from, to: seq, why, events: events + 1 };
  }

  /** @returns {Change} */
  take() {
    const { channel, before, events, patch, missed } = this;
    const { name: ch, data, health, epoch, seq, at: moments } = channel;
    /** @type {Merged | undefined} */
    const merged = this.#n > 1 ? { n: this.#n, why: this.#why ?? "reader" } : undefined;
    const changed = (/** @type {Path} */ path) => !equal(at(before, path), at(data, path));
    return { ch, data, health, epoch, seq, at: moments, events, patch, missed, merged, changed };
  }
}

/** What waits for one reader. */
export class Backlog {
  /** @type {Map<string, Pending>} */
  #pending = new Map();
  /**
   * The documents that the reader has.
   * @type {Map<string, any>}
   */
  #taken = new Map();
  #events = 0;

  get isEmpty() {
    return this.#pending.size === 0;
  }

  /**
   * Whether a change of the channel waits.
   *
   * @param {string} name
   */
  has(name) {
    return this.#pending.has(name);
  }

  /**
   * @param {Channel} channel
   * @param {ChannelChange} change
   */
  add(channel, change) {
    let pending = this.#pending.get(channel.name);
    if (pending === undefined) {
      pending = new Pending(channel, this.#taken.get(channel.name));
      this.#pending.set(channel.name, pending);
    }
    // A channel that has ended and opened again is another one.
    pending.channel = channel;
    pending.add(change);
    this.#events += change.events.length;
    while (this.#events > EVENTS_MAX) this.#dropOldest();
  }

  /**
   * The change of the channel that has waited longest.
   *
   * @returns {Change | undefined}
   */
  take() {
    for (const [name, pending] of this.#pending) {
      this.#pending.delete(name);
      const change = pending.take();
      this.#events -= change.events.length;
      if (change.health === "refused") this.#taken.delete(name);
      else this.#taken.set(name, change.data);
      return change;
    }
    return undefined;
  }

  #dropOldest() {
    for (const pending of this.#pending.values()) {
      if (pending.events.length === 0) continue;
      pending.drop();
      this.#events -= 1;
      return;
    }
  }
}

/**
 * An iterator over changes. It ends with `end`: after what waits, it is done, or throws.
 *
 * @template Value
 * @implements {AsyncIterableIterator<Value>}
 */
export class Changes {
  #backlog = new Backlog();
  #present;
  #clock;
  #slow;
  #leave;
  #unhook = () => {};
  /** @type {((result: IteratorResult<Value, undefined>) => void) | undefined} */
  #resolve;
  /** @type {((reason: unknown) => void) | undefined} */
  #reject;
  // When the value was taken that the reader is busy with.
  /** @type {number | undefined} */
  #busySince = undefined;
  /** @type {unknown} */
  #timer = undefined;
  /** @type {Rate} */
  #everyMs = 0;
  #promptRounds = 0;
  #ended = false;
  /** @type {{ error: unknown } | undefined} */
  #failure;

  /**
   * @param {object} parts
   * @param {(change: Change) => Value} parts.present what the reader gets
   * @param {import("./types.d.ts").Clock} parts.clock
   * @param {(everyMs: Rate) => void} parts.slow asks for fewer values; 0 takes it back
   * @param {() => void} parts.leave called once, when it ends
   */
  constructor({ present, clock, slow, leave }) {
    this.#present = present;
    this.#clock = clock;
    this.#slow = slow;
    this.#leave = leave;
  }

  /**
   * Ends it with the signal's reason. Not part of the constructor, because `leave` may need what that returns.
   *
   * @param {AbortSignal | undefined} signal
   */
  endWith(signal) {
    this.#unhook = onAbort(signal, () => this.end({ error: signal?.reason }, true));
  }

  /**
   * @param {Channel} channel
   * @param {ChannelChange} change
   */
  add(channel, change) {
    if (this.#ended) return;
    this.#backlog.add(channel, change);
    if (this.#resolve) this.#settle();
    else this.#watch();
  }

  /**
   * No more follow.
   *
   * @param {{ error: unknown }} [failure] undefined for a normal end
   * @param {boolean} [now] without what waits
   */
  end(failure, now = false) {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    if (now) this.#backlog = new Backlog();
    this.#clock.clearTimeout(this.#timer);
    if (this.#everyMs > 0) this.#slow(0);
    this.#unhook();
    this.#leave();
    if (this.#resolve) this.#settle();
  }

  /** @returns {Promise<IteratorResult<Value, undefined>>} */
  next() {
    if (this.#resolve) return Promise.reject(new Error("next() was called before the last one was settled"));
    this.#rested();
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (!this.#backlog.isEmpty || this.#ended) this.#settle();
    });
  }

  /** @returns {Promise<IteratorResult<Value, undefined>>} */
  async return() {
    this.end(undefined, true);
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  #settle() {
    const [resolve, reject] = [this.#resolve, this.#reject];
    this.#resolve = this.#reject = undefined;
    const change = this.#backlog.take();
    if (change !== undefined) {
      this.#busySince = this.#clock.now();
      if (!this.#backlog.isEmpty) this.#watch();
      try {
        resolve?.({ done: false, value: this.#present(change) });
      } catch (error) {
        this.end(undefined, true);
        reject?.(error);
      }
    } else if (this.#failure) {
      const { error } = this.#failure;
      this.#failure = undefined;
      reject?.(error);
    } else {
      resolve?.({ done: true, value: undefined });
    }
  }

  /** The reader is busy while something waits: asks for fewer, the longer it takes. */
  #watch() {
    if (this.#timer !== undefined || this.#busySince === undefined || this.#ended) return;
    const next = RATES.find((rate) => rate >= SLOW_AFTER_MS && rate > this.#everyMs);
    if (next === undefined) return;
    this.#timer = this.#clock.setTimeout(
      () => {
        this.#timer = undefined;
        this.#everyMs = next;
        this.#slow(next);
        this.#watch();
      },
      Math.max(0, this.#busySince + next - this.#clock.now()),
    );
  }

  /** The reader is back. */
  #rested() {
    if (this.#busySince === undefined) return;
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#promptRounds = this.#clock.now() - this.#busySince < SLOW_AFTER_MS ? this.#promptRounds + 1 : 0;
    this.#busySince = undefined;
    if (this.#everyMs > 0 && this.#promptRounds >= PROMPT_ROUNDS) {
      this.#everyMs = 0;
      this.#slow(0);
    }
  }
}
