// One client of documents that this program holds: the hub's side of the protocol, as far as a `Stream` uses it. A hub in memory
// has it (testing.js), and a worker that shares one connection among tabs (worker.js).

/** @import { Clock, HubEvent } from "./types.d.ts" */

// Of a channel: updates from which a client can resume, and characters of their JSON.
const TAIL_MAX = 1000;
const TAIL_CHARACTERS_MAX = 1 << 20;

/**
 * @typedef {object} ServedUpdate
 * @property {number} seq
 * @property {any} patch
 * @property {HubEvent[] | undefined} events
 */

/** A channel that is served: its document, and the updates that led to it. */
export class Served {
  /** @type {(ServedUpdate & { size: number })[]} */
  tail = [];
  #tailSize = 0;

  /**
   * @param {string} name
   * @param {string} epoch
   * @param {number} seq
   * @param {any} data
   */
  constructor(name, epoch, seq, data) {
    this.name = name;
    this.epoch = epoch;
    this.seq = seq;
    this.data = data;
    /** The lowest sequence from which the tail leads on. */
    this.oldest = seq;
  }

  /** @param {ServedUpdate & { data: any }} update */
  update({ seq, data, patch, events }) {
    this.seq = seq;
    this.data = data;
    const { length: size } = JSON.stringify([patch, events]);
    this.tail.push({ seq, patch, events, size });
    this.#tailSize += size;
    while (this.tail.length > TAIL_MAX || this.#tailSize > TAIL_CHARACTERS_MAX) {
      this.oldest = this.tail[0].seq;
      this.#tailSize -= this.tail[0].size;
      this.tail.shift();
    }
  }

  /**
   * @param {string} epoch
   * @param {number} seq
   * @param {any} data
   */
  replace(epoch, seq, data) {
    Object.assign(this, { epoch, seq, data, oldest: seq, tail: [] });
    this.#tailSize = 0;
  }

  /**
   * Why a client cannot resume from a position; undefined if it can.
   *
   * @param {any} from
   */
  canResume(from) {
    if (from.epoch !== this.epoch) return "epoch";
    if (from.seq > this.seq) return "ahead";
    return from.seq < this.oldest ? "window" : undefined;
  }
}

/**
 * What holds the documents.
 *
 * @typedef {object} Host
 * @property {Clock} clock
 * @property {number} beatMs
 * @property {Map<string, Served>} channels
 * @property {(ch: string, answer: (frame: any) => void) => void} hash
 * @property {() => number} [now] its clock in microseconds, if that is not `clock`
 * @property {(session: Session, ch: string, everyMs: number) => void} [subscribed] somebody wants it, at this rate
 * @property {(session: Session, ch: string) => void} [unsubscribed]
 * @property {(session: Session, command: any) => void} [awaits] gives the command again when its channel is there; without it, the
 *   channel is refused
 * @property {(ch: string) => boolean} [isFresh] whether a beat may say that the channel has not changed
 *
 * The line to the client.
 *
 * @typedef {object} Line
 * @property {(frame: any) => void} send
 * @property {(code: number, reason: string) => void} close
 * @property {() => void} ended
 */

/** One connection: what it is subscribed to, and how far each channel was delivered. */
export class Session {
  #hub;
  #line;
  /** @type {Map<string, number>} */
  #subscriptions = new Map();
  /** @type {Map<string, { seq: number, everyMs: number, sentAt: number, timer: unknown }>} */
  #sent = new Map();
  isOpen = false;
  #ended = false;

  /**
   * @param {Host} hub
   * @param {Line} line
   */
  constructor(hub, line) {
    this.#hub = hub;
    this.#line = line;
  }

  /**
   * @param {string} server
   * @param {string[]} features
   */
  hello(server, features) {
    if (this.#ended) return;
    this.isOpen = true;
    const { beatMs } = this.#hub;
    const limits = { channels: 10_000, command_bytes: 16_384, from_bytes: 262_144 };
    this.say({ type: "hello", conn: server, server, now: this.#now(), beat_ms: beatMs, limits, features });
  }

  #now() {
    return this.#hub.now?.() ?? this.#hub.clock.now() * 1000;
  }

  /** @param {any} frame */
  say(frame) {
    if (!this.#ended) this.#line.send(frame);
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  close(code, reason) {
    if (this.#ended) return;
    this.end();
    this.#line.close(code, reason);
  }

  end() {
    if (this.#ended) return;
    this.#ended = true;
    this.isOpen = false;
    for (const { timer } of this.#sent.values()) this.#hub.clock.clearTimeout(timer);
    for (const ch of this.#subscriptions.keys()) this.#hub.unsubscribed?.(this, ch);
    this.#line.ended();
  }

  beat() {
    if (this.#subscriptions.size === 0) return;
    const fresh = [...this.#sent].filter(([name]) => this.#hub.isFresh?.(name) ?? true);
    const heads = Object.fromEntries(fresh.map(([name, { seq }]) => [name, seq]));
    this.say({ type: "beat", now: this.#now(), heads });
  }

  /** @param {any} command */
  command(command) {
    if (this.#ended) return undefined;
    const { op, id, ch, chs } = command;
    if (op === "ping") return this.say({ type: "pong", id, t: command.t, now: this.#now() });
    switch (op) {
      case "subscribe":
        return chs ? this.#subscribeAll(command) : this.#subscribe(command);
      case "set":
        return this.#set(command);
      case "unsubscribe":
        for (const name of chs ?? [ch]) this.#unsubscribe(name);
        return this.say({ type: "unsubscribed", id, ch });
      case "hash":
        return this.#hash(id, ch);
      default:
        return this.say({ type: "error", id, code: "bad_command", message: `no such command: ${op}`, retry: false });
    }
  }

  /** @param {any} command */
  #subscribe(command) {
    const { id, ch, from, every_ms = 0 } = command;
    const head = { type: "subscribed", id, ch, every_ms, on_slow: "merge" };
    if (ch.includes("*")) {
      const names = [...this.#hub.channels.keys()].filter((name) => matches(ch, name));
      this.say({ ...head, channels: names.length });
      this.#want(ch, every_ms);
      // It may have been refused at once.
      if (!this.#subscriptions.has(ch)) return undefined;
      for (const name of names) if (!this.#sent.has(name)) this.#join(name, from?.[name], every_ms, true);
      return this.beat();
    }
    const channel = this.#hub.channels.get(ch);
    if (channel === undefined && !this.#hub.awaits) {
      return this.say({ type: "error", id, ch, code: "not_tracked", message: "no such channel now", retry: true });
    }
    this.#want(ch, every_ms);
    if (channel === undefined) return this.#hub.awaits?.(this, command);
    const why = from && channel.canResume(from);
    this.say({ ...head, epoch: channel.epoch, seq: channel.seq, resumed: Boolean(from && !why), why });
    return this.#join(ch, from, every_ms, false);
  }

  /**
   * @param {string} ch
   * @param {number} everyMs
   */
  #want(ch, everyMs) {
    this.#subscriptions.set(ch, everyMs);
    this.#hub.subscribed?.(this, ch, everyMs);
  }

  /** @param {any} command */
  #subscribeAll({ id, chs, every_ms = 0 }) {
    /** @type {Record<string, any>} */
    const answer = {};
    const joins = [];
    for (const entry of chs) {
      const { ch, from } = typeof entry === "string" ? { ch: entry, from: undefined } : entry;
      const channel = this.#hub.channels.get(ch);
      if (channel === undefined) {
        answer[ch] = { error: "not_tracked" };
        continue;
      }
      const why = from && channel.canResume(from);
      answer[ch] = { epoch: channel.epoch, seq: channel.seq, resumed: Boolean(from && !why), why };
      this.#want(ch, every_ms);
      joins.push(() => this.#join(ch, from, every_ms, false));
    }
    this.say({ type: "subscribed", id, every_ms, on_slow: "merge", chs: answer });
    for (const join of joins) join();
  }

  /**
   * @param {string} name
   * @param {any} from
   * @param {number} everyMs
   * @param {boolean} byPattern
   */
  #join(name, from, everyMs, byPattern) {
    const channel = this.#hub.channels.get(name);
    if (channel === undefined) return;
    const why = from && channel.canResume(from);
    const state = { seq: from?.seq ?? 0, everyMs, sentAt: -Infinity, timer: undefined };
    this.#sent.set(name, state);
    if (from && !why) return this.#flush(channel, "resume");
    if (why && byPattern) this.say({ type: "resync", ch: name, why: why === "epoch" ? "epoch" : "gap", from: from.seq, to: channel.seq });
    state.seq = channel.seq;
    this.say({ type: "image", ch: name, epoch: channel.epoch, seq: channel.seq, at: this.#at(), data: channel.data });
  }

  #at() {
    return { src: this.#now(), in: this.#now(), pub: this.#now() };
  }

  /** @param {any} command */
  #set({ id, ch, every_ms }) {
    if (!this.#subscriptions.has(ch)) {
      return this.say({ type: "error", id, ch, code: "bad_channel", message: "not subscribed to", retry: false });
    }
    if (every_ms !== undefined) this.#want(ch, every_ms);
    for (const [name, state] of this.#sent) {
      if (!matches(ch, name)) continue;
      state.everyMs = every_ms ?? state.everyMs;
      const channel = this.#hub.channels.get(name);
      if (channel) this.#flush(channel, "rate");
    }
    return this.say({ type: "subscribed", id, ch, every_ms, on_slow: "merge", resumed: true });
  }

  /** @param {string} ch */
  #unsubscribe(ch) {
    if (this.#subscriptions.delete(ch)) this.#hub.unsubscribed?.(this, ch);
    for (const name of [...this.#sent.keys()]) {
      if (![...this.#subscriptions.keys()].some((it) => matches(it, name))) this.#sent.delete(name);
    }
  }

  /**
   * @param {number} id
   * @param {string} ch
   */
  #hash(id, ch) {
    const channel = this.#hub.channels.get(ch);
    if (channel === undefined || !this.#sent.has(ch)) {
      return this.say({ type: "error", id, ch, code: "bad_channel", message: "not subscribed to", retry: false });
    }
    return this.#hub.hash(ch, (answer) => {
      // The hash is that of the document after everything so far.
      this.#flush(channel, "rate");
      this.say({ ...answer, id });
    });
  }

  /**
   * What it was waiting for, or a pattern, is refused.
   *
   * @param {string} ch
   * @param {any} frame
   */
  refused(ch, frame) {
    this.#unsubscribe(ch);
    this.say({ ...frame, ch });
  }

  /**
   * A channel is there now.
   *
   * @param {Served} channel
   */
  opened(channel) {
    const pattern = [...this.#subscriptions].find(([ch]) => ch.includes("*") && matches(ch, channel.name));
    if (pattern) this.#join(channel.name, undefined, pattern[1], false);
  }

  /**
   * The document was replaced: what was between is not known.
   *
   * @param {Served} channel
   * @param {string} why
   */
  replaced(channel, why) {
    const state = this.#sent.get(channel.name);
    if (state === undefined) return;
    this.say({ type: "resync", ch: channel.name, why, from: state.seq, to: channel.seq });
    this.#hub.clock.clearTimeout(state.timer);
    this.#join(channel.name, undefined, state.everyMs, false);
  }

  /**
   * @param {Served} channel
   * @param {boolean} isEvent
   */
  changed(channel, isEvent) {
    const state = this.#sent.get(channel.name);
    if (state === undefined) return;
    const due = state.sentAt + state.everyMs;
    const now = this.#hub.clock.now();
    if (isEvent || now >= due) return this.#flush(channel, "rate");
    state.timer ??= this.#hub.clock.setTimeout(() => this.#flush(channel, "rate"), due - now);
  }

  /** @param {string} name */
  gone(name) {
    if (!this.#sent.delete(name)) return;
    if (this.#subscriptions.delete(name)) this.#hub.unsubscribed?.(this, name);
    this.say({ type: "unsubscribed", ch: name, why: "gone" });
  }

  /**
   * Sends what is new: events one by one, all values between two of them as one.
   *
   * @param {Served} channel
   * @param {string} why
   */
  #flush(channel, why) {
    const state = this.#sent.get(channel.name);
    if (state === undefined) return;
    if (state.seq < channel.oldest) return this.replaced(channel, "slow");
    this.#hub.clock.clearTimeout(state.timer);
    state.timer = undefined;
    /** @type {ServedUpdate | undefined} */
    let merged;
    const send = (/** @type {ServedUpdate} */ { seq, patch, events }) => {
      const n = seq - state.seq;
      const more = n > 1 ? { n, why } : {};
      this.say({ type: "update", ch: channel.name, seq, prev: state.seq, ...more, at: this.#at(), patch, events });
      Object.assign(state, { seq, sentAt: this.#hub.clock.now() });
    };
    for (const update of channel.tail.filter(({ seq }) => seq > state.seq)) {
      const both = merged && !update.events ? composed(merged.patch, update.patch) : undefined;
      if (merged && both === undefined) send(merged);
      merged = both === undefined ? update : { ...update, patch: both };
      if (update.events) {
        send(update);
        merged = undefined;
      }
    }
    if (merged) send(merged);
  }
}

/**
 * @param {string} pattern
 * @param {string} name
 */
function matches(pattern, name) {
  const [parts, segments] = [pattern.split("/"), name.split("/")];
  return parts.length === segments.length && parts.every((part, i) => part === "*" || part === segments[i]);
}

/**
 * One patch in place of two; undefined if there is none, because something deleted is created again.
 *
 * @param {any} first
 * @param {any} second
 * @returns {any}
 */
function composed(first, second) {
  const isObject = (/** @type {any} */ it) => typeof it === "object" && it !== null && !Array.isArray(it);
  if (!isObject(second)) return second;
  if (!isObject(first)) return undefined;
  const both = { ...first };
  for (const [key, value] of Object.entries(second)) {
    both[key] = Object.hasOwn(first, key) ? composed(first[key], value) : value;
    if (both[key] === undefined) return undefined;
  }
  return both;
}
