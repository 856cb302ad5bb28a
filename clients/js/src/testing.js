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
import { Served, Session } from "./session.js";

/** @import { Clock, HubEvent, StreamOptions } from "./types.d.ts" */

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
 * @typedef {object} Step
 * @property {number} [after] milliseconds after the step before
 * @property {string} [ch]
 * @property {any} [patch]
 * @property {HubEvent[]} [events]
 * @property {(hub: TestHub) => void} [run] anything else, such as `(hub) => hub.cut()`
 */

export class TestHub {
  /** @type {Map<string, Served>} */
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
        const command = JSON.parse(text);
        if (command.op !== "ping") hub.commands.push(command);
        this.session.command(command);
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
    const data = patch === undefined ? channel.data : mergePatch(channel.data, patch);
    channel.update({ seq: channel.seq + 1, data, patch, events });
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
      channel.replace(this.#newEpoch(), channel.seq, channel.data);
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

  /**
   * The hash of a document, for the session.
   *
   * @param {string} ch
   * @param {(answer: any) => void} answer
   */
  async hash(ch, answer) {
    const channel = /** @type {Served} */ (this.channels.get(ch));
    for (;;) {
      const { epoch, seq, data } = channel;
      const hash = await sha256(data);
      // It may have changed meanwhile.
      if (data === channel.data) return answer({ type: "hash", ch, epoch, seq, sha256: hash });
    }
  }

  /** @param {any} socket */
  #accept(socket) {
    const session = new Session(this, {
      send: (frame) => socket.onmessage({ data: JSON.stringify(frame) }),
      close: (code, reason) => socket.onclose({ code, reason }),
      ended: () => (this.#sessions = this.#sessions.filter((it) => it !== session)),
    });
    // Not at once: the client has to set its handlers first.
    queueMicrotask(() => {
      if (this.#refusal) {
        const { code, error } = this.#refusal;
        session.say({ type: "error", code: error, message: error, retry: false });
        session.close(code, error);
        return;
      }
      const { features } = this;
      this.#sessions.push(session);
      session.hello("test", features);
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
      channel = new Served(name, this.#newEpoch(), 0, { life: "live", feed: "live", stale_after_ms: 15_000 });
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
