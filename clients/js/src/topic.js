// A channel or pattern that is followed: one subscription for all its readers, at the rate of the fastest of them. It stays for
// a moment after the last has left, so that a view that is taken down and put up again costs nothing.

/** @import { ChannelChange } from "./types.d.ts" */
/** @import { Channel } from "./channel.js" */
/** @import { Follow } from "./follow.js" */
/** @import { Hub } from "./client.js" */

export class Topic {
  #hub;
  #isPattern;
  /** @type {Set<Follow<any, any>>} */
  #readers = new Set();
  /** @type {(() => void) | undefined} */
  #unsubscribe;
  #everyMs = 0;
  /** @type {unknown} */
  #linger;
  /**
   * The channels that were heard of.
   * @type {Map<string, Channel>}
   */
  channels = new Map();

  /**
   * @param {Hub} hub
   * @param {string} ch
   */
  constructor(hub, ch) {
    this.#hub = hub;
    this.#isPattern = ch.includes("*");
    this.ch = ch;
  }

  /** @param {Follow<any, any>} reader */
  add(reader) {
    this.#hub.timers.clearTimeout(this.#linger);
    this.#readers.add(reader);
    if (this.#unsubscribe) return this.retune();
    this.#everyMs = reader.everyMs;
    const listener = (/** @type {Channel} */ channel, /** @type {ChannelChange} */ change) => this.#receive(channel, change);
    this.#unsubscribe = this.#hub.stream.subscribe(this.ch, listener, { every_ms: this.#everyMs });
    const channel = this.#hub.stream.channel(this.ch);
    if (channel && !this.#isPattern) this.channels.set(this.ch, channel);
  }

  /** @param {Follow<any, any>} reader */
  remove(reader) {
    if (!this.#readers.delete(reader)) return;
    if (this.#readers.size > 0) return this.retune();
    this.#linger = this.#hub.timers.setTimeout(() => this.close(), this.#hub.lingerMs);
  }

  /** The readers' needs have changed. */
  retune() {
    if (this.#readers.size === 0) return;
    const everyMs = Math.min(...[...this.#readers].map((reader) => reader.everyMs));
    if (everyMs === this.#everyMs) return;
    this.#everyMs = everyMs;
    this.#hub.stream.set(this.ch, { every_ms: everyMs });
  }

  /** @param {{ error: unknown }} [failure] */
  end(failure) {
    for (const reader of [...this.#readers]) reader.end(failure);
  }

  close() {
    this.#hub.timers.clearTimeout(this.#linger);
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#hub.forget(this);
  }

  /**
   * @param {Channel} channel
   * @param {ChannelChange} change
   */
  #receive(channel, change) {
    // The pattern as a whole is none of its channels.
    if (this.#isPattern && channel.name === this.ch) {
      for (const reader of [...this.#readers]) reader.judged(channel);
      return;
    }
    this.channels.set(channel.name, channel);
    for (const reader of [...this.#readers]) reader.receive(channel, change);
    // A pattern drops a channel that has ended.
    if (channel.error && channel.name !== this.ch) this.channels.delete(channel.name);
  }
}
