// A hub in memory, and a clock moved by hand, for tests of programs that use this package: no network and no waiting.
//
//   const hub = new TestHub();
//   const client = connect("ws://hub", hub.options());
//   hub.publish("football/1", { score: { home: 0, away: 0 } });
//   await hub.open();
//   hub.publish("football/1", { score: { home: 1 } }, [{ kind: "goal", eid: "g1", side: "home" }]);
//   hub.pass(16);                       // one frame of the screen later
//   hub.cut(); hub.pass(1000); await hub.open();
//
// It keeps the promises of docs/PROTOCOL.md: numbers, epochs, resuming, rates, beats, hashes. It does not know sports, keys or
// replays, and its sockets are never slow.

import { sha256 } from "./hash.js";
import { mergePatch } from "./merge.js";

/** @import { Clock, HubEvent, StreamOptions } from "./types.d.ts" */

// Updates of a channel from which a client can resume.
const TAIL_MAX = 1000;

/**
 * A clock that moves when told, with timers.
 *
 * @implements {Clock}
 */
export class ManualClock {
  /** @type {Map<number, { run: () => void, at: number }>} */
  timers = new Map();
  #nextTimer = 1;

  /** @param {number} [now] milliseconds */
  constructor(now = 1_000_000) {
    this.time = now;
  }

  now = () => this.time;

  /** @type {Clock["setTimeout"]} */
  setTimeout = (run, ms) => {
    const timer = this.#nextTimer++;
    this.timers.set(timer, { run, at: this.time + ms });
    return timer;
  };

  /** @type {Clock["clearTimeout"]} */
  clearTimeout = (timer) => void this.timers.delete(/** @type {number} */ (timer));

  /**
   * Moves on, running what falls due in order and at its own time.
   *
   * @param {number} ms
   */
  pass(ms) {
    const end = this.time + ms;
    for (;;) {
      const [timer, due] = [...this.timers].filter(([, it]) => it.at <= end).sort((a, b) => a[1].at - b[1].at)[0] ?? [];
      if (timer === undefined || due === undefined) break;
      this.timers.delete(timer);
      this.time = Math.max(this.time, due.at);
      due.run();
    }
    this.time = end;
  }
}

/**
 * @typedef {object} TestUpdate
 * @property {number} seq
 * @property {any} patch
 * @property {HubEvent[] | undefined} events
 *
 * @typedef {object} Step
 * @property {number} [after] milliseconds after the step before
 * @property {string} [ch]
 * @property {any} [patch]
 * @property {HubEvent[]} [events]
 * @property {(hub: TestHub) => void} [run] anything else, such as `(hub) => hub.cut()`
 */

class TestChannel {
  /**
   * @param {string} name
   * @param {string} epoch
   */
  constructor(name, epoch) {
    this.name = name;
    this.epoch = epoch;
    this.seq = 0;
    /** @type {any} */
    this.data = { life: "live", feed: "live", stale_after_ms: 15_000 };
    /** @type {TestUpdate[]} */
    this.tail = [];
  }

  /** @param {any} from */
  canResume(from) {
    const oldest = this.seq - this.tail.length;
    if (from.epoch !== this.epoch) return "epoch";
    if (from.seq > this.seq) return "ahead";
    return from.seq < oldest ? "window" : undefined;
  }
}

export class TestHub {
  /** @type {Map<string, TestChannel>} */
  channels = new Map();
  /** @type {Session[]} */
  #sessions = [];
  /** @type {Set<() => void>} */
  #openings = new Set();
  #epochs = 0;
  /** @type {{ code: number, error: string } | undefined} */
  #refusal;
  /** Every command of all connections, in order, but `ping`. */
  commands = /** @type {any[]} */ ([]);

  /**
   * @param {object} [options]
   * @param {ManualClock} [options.clock]
   * @param {number} [options.beatMs]
   * @param {string[]} [options.features]
   */
  constructor({ clock = new ManualClock(), beatMs = 5000, features = ["batch", "hash"] } = {}) {
    this.clock = clock;
    this.beatMs = beatMs;
    this.features = features;
    const hub = this;
    this.WebSocket = class {
      /** @type {(message: { data: string }) => void} */
      onmessage = () => {};
      /** @type {(close: { code: number, reason: string }) => void} */
      onclose = () => {};
      onerror = () => {};

      /**
       * @param {string} url
       * @param {string[]} protocols
       */
      constructor(url, protocols) {
        this.url = url;
        this.protocols = protocols;
        this.session = hub.#accept(this);
      }

      /** @param {string} text */
      send(text) {
        this.session.command(JSON.parse(text));
      }

      close() {
        this.session.end();
      }
    };
    this.#beat();
  }

  /**
   * What to give to `connect` or `Stream`.
   *
   * @param {StreamOptions} [more]
   * @returns {StreamOptions}
   */
  options(more = {}) {
    return { key: "test", WebSocket: this.WebSocket, clock: this.clock, random: () => 1, ...more };
  }

  /**
   * Changes a channel, which begins with its first change, and delivers the change.
   *
   * @param {string} ch
   * @param {any} patch as in an update; undefined if only events happen
   * @param {HubEvent[]} [events]
   */
  publish(ch, patch, events) {
    const channel = this.#open(ch);
    if (patch !== undefined) channel.data = mergePatch(channel.data, patch);
    channel.seq += 1;
    channel.tail.push({ seq: channel.seq, patch, events });
    if (channel.tail.length > TAIL_MAX) channel.tail.shift();
    for (const session of this.#sessions) session.changed(channel, events !== undefined);
    return this;
  }

  /**
   * Plays steps by the clock, each after the one before.
   *
   * @param {Step[]} steps
   */
  play(steps) {
    let due = 0;
    for (const { after = 0, ch, patch, events, run } of steps) {
      due += after;
      this.clock.setTimeout(() => {
        run?.(this);
        if (ch !== undefined) this.publish(ch, patch, events);
      }, due);
    }
    return this;
  }

  /**
   * Ends a channel, as a match that ended long ago.
   *
   * @param {string} ch
   */
  end(ch) {
    this.channels.delete(ch);
    for (const session of this.#sessions) session.gone(ch);
  }

  /** The hub cannot know whether anything has changed, until its next beat. */
  stale() {
    for (const session of this.#sessions) session.say({ type: "stale", since: this.clock.now() * 1000 });
  }

  /** The hub cannot prove continuity: every channel begins a new epoch, and clients get images. */
  restart() {
    for (const channel of this.channels.values()) {
      Object.assign(channel, { epoch: this.#newEpoch(), tail: [] });
    }
    this.cut();
  }

  /**
   * Ends all connections: by default like a broken network.
   *
   * @param {number} [code]
   * @param {string} [reason]
   */
  cut(code = 1006, reason = "") {
    for (const session of [...this.#sessions]) session.close(code, reason);
  }

  /**
   * Connections from now on are refused, with an `error` frame and a close code; undefined accepts them again.
   *
   * @param {{ code: number, error: string }} [refusal]
   */
  refuse(refusal) {
    this.#refusal = refusal;
  }

  /**
   * Lets time pass, with beats.
   *
   * @param {number} ms
   */
  pass(ms) {
    this.clock.pass(ms);
    return this;
  }

  /** Resolves when a client is connected and has sent its first commands; at once if one is. */
  async open() {
    if (!this.#sessions.some((session) => session.isOpen)) {
      await new Promise((resolve) => this.#openings.add(() => resolve(undefined)));
    }
    return this;
  }

  /** @param {any} socket */
  #accept(socket) {
    const session = new Session(this, socket, () => {
      this.#sessions = this.#sessions.filter((it) => it !== session);
    });
    // Not at once: the client has to set its handlers first.
    queueMicrotask(() => {
      if (this.#refusal) {
        const { code, error } = this.#refusal;
        session.say({ type: "error", code: error, message: error, retry: false });
        session.close(code, error);
        return;
      }
      this.#sessions.push(session);
      session.hello();
      for (const opened of this.#openings) opened();
      this.#openings.clear();
    });
    return session;
  }

  #beat() {
    this.clock.setTimeout(() => {
      for (const session of this.#sessions) session.beat();
      this.#beat();
    }, this.beatMs);
  }

  /** @param {string} name */
  #open(name) {
    let channel = this.channels.get(name);
    if (channel === undefined) {
      channel = new TestChannel(name, this.#newEpoch());
      this.channels.set(name, channel);
      for (const session of this.#sessions) session.opened(channel);
    }
    return channel;
  }

  #newEpoch() {
    this.#epochs += 1;
    return `t${this.#epochs}`;
  }
}

/** One connection: what it is subscribed to, and how far each channel was delivered. */
class Session {
  #hub;
  #socket;
  #leave;
  /** @type {Map<string, number>} */
  #subscriptions = new Map();
  /** @type {Map<string, { seq: number, everyMs: number, sentAt: number, timer: unknown }>} */
  #sent = new Map();
  isOpen = false;
  #ended = false;

  /**
   * @param {TestHub} hub
   * @param {any} socket
   * @param {() => void} leave
   */
  constructor(hub, socket, leave) {
    this.#hub = hub;
    this.#socket = socket;
    this.#leave = leave;
  }

  hello() {
    if (this.#ended) return;
    this.isOpen = true;
    const { beatMs, features } = this.#hub;
    const limits = { channels: 10_000, command_bytes: 16_384, from_bytes: 262_144 };
    this.say({ type: "hello", conn: "test", server: "test", now: this.#now(), beat_ms: beatMs, limits, features });
  }

  #now() {
    return this.#hub.clock.now() * 1000;
  }

  /** @param {any} frame */
  say(frame) {
    if (!this.#ended) this.#socket.onmessage({ data: JSON.stringify(frame) });
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  close(code, reason) {
    if (this.#ended) return;
    this.end();
    this.#socket.onclose({ code, reason });
  }

  end() {
    this.#ended = true;
    this.isOpen = false;
    for (const { timer } of this.#sent.values()) this.#hub.clock.clearTimeout(timer);
    this.#leave();
  }

  beat() {
    if (this.#subscriptions.size === 0) return;
    const heads = Object.fromEntries([...this.#sent].map(([name, { seq }]) => [name, seq]));
    this.say({ type: "beat", now: this.#now(), heads });
  }

  /** @param {any} command */
  command(command) {
    if (this.#ended) return undefined;
    const { op, id, ch, chs } = command;
    if (op === "ping") return this.say({ type: "pong", id, t: command.t, now: this.#now() });
    this.#hub.commands.push(command);
    switch (op) {
      case "subscribe":
        return chs ? this.#subscribeAll(command) : this.#subscribe(command);
      case "set":
        return this.#set(command);
      case "unsubscribe":
        for (const name of chs ?? [ch]) this.#unsubscribe(name);
        return this.say({ type: "unsubscribed", id, ch });
      case "hash":
        return void this.#hash(id, ch);
      default:
        return this.say({ type: "error", id, code: "bad_command", message: `no such command: ${op}`, retry: false });
    }
  }

  /** @param {any} command */
  #subscribe({ id, ch, from, every_ms = 0 }) {
    const head = { type: "subscribed", id, ch, every_ms, on_slow: "merge" };
    if (ch.includes("*")) {
      const names = [...this.#hub.channels.keys()].filter((name) => matches(ch, name));
      this.#subscriptions.set(ch, every_ms);
      this.say({ ...head, channels: names.length });
      for (const name of names) if (!this.#sent.has(name)) this.#join(name, from?.[name], every_ms, true);
      return this.beat();
    }
    const channel = this.#hub.channels.get(ch);
    if (channel === undefined) {
      return this.say({ type: "error", id, ch, code: "not_tracked", message: "no such channel now", retry: true });
    }
    this.#subscriptions.set(ch, every_ms);
    const why = from && channel.canResume(from);
    this.say({ ...head, epoch: channel.epoch, seq: channel.seq, resumed: Boolean(from && !why), why });
    return this.#join(ch, from, every_ms, false);
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
      this.#subscriptions.set(ch, every_ms);
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
    this.#subscriptions.delete(ch);
    for (const name of [...this.#sent.keys()]) {
      if (![...this.#subscriptions.keys()].some((it) => matches(it, name))) this.#sent.delete(name);
    }
  }

  /**
   * @param {number} id
   * @param {string} ch
   */
  async #hash(id, ch) {
    const channel = this.#hub.channels.get(ch);
    if (channel === undefined || !this.#sent.has(ch)) {
      return this.say({ type: "error", id, ch, code: "bad_channel", message: "not subscribed to", retry: false });
    }
    this.#flush(channel, "rate");
    const { epoch, seq, data } = channel;
    const hash = await sha256(data);
    return this.say({ type: "hash", id, ch, epoch, seq, sha256: hash });
  }

  /** @param {TestChannel} channel */
  opened(channel) {
    const pattern = [...this.#subscriptions].find(([ch]) => ch.includes("*") && matches(ch, channel.name));
    if (pattern) this.#join(channel.name, undefined, pattern[1], false);
  }

  /**
   * @param {TestChannel} channel
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
    this.#subscriptions.delete(name);
    this.say({ type: "unsubscribed", ch: name, why: "gone" });
  }

  /**
   * Sends what is new: events one by one, all values between two of them as one.
   *
   * @param {TestChannel} channel
   * @param {string} why
   */
  #flush(channel, why) {
    const state = this.#sent.get(channel.name);
    if (state === undefined) return;
    this.#hub.clock.clearTimeout(state.timer);
    state.timer = undefined;
    /** @type {TestUpdate | undefined} */
    let merged;
    const send = (/** @type {TestUpdate} */ { seq, patch, events }) => {
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
