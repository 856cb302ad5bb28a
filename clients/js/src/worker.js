// One connection for all tabs of a page's origin, in a SharedWorker. In the worker's script:
//
//   import { serve } from "matchwire/worker";
//   serve(self, "wss://hub.example.org", { ticket });
//
// and in each tab, where everything else is as without it:
//
//   import { connectWorker } from "matchwire/worker";
//   const hub = connectWorker(new SharedWorker("/hub-worker.js", { type: "module" }));
//
// The worker holds the documents and speaks the hub's protocol to its tabs, so each tab has positions, rates and health of its
// own: a tab that was frozen resumes, and is told what it missed.

import { Hub } from "./client.js";
import { systemClock } from "./clock.js";
import { Served, Session } from "./session.js";
import { Stream } from "./stream.js";

/** @import { ChannelChange, ConnectOptions, StreamState } from "./types.d.ts" */
/** @import { Channel } from "./channel.js" */

const BEAT_MS = 5000;
// A tab pings each 30 s. One that was closed without a word is forgotten after this.
const IDLE_MS = 90_000;
// Documents of a channel that no tab follows any more, as `lingerMs` of a hub.
const LINGER_MS = 2000;

/**
 * Serves tabs in a SharedWorker. Returns the relay, for tests.
 *
 * @param {any} scope `self` of the worker
 * @param {string | URL} url as of `connect`
 * @param {ConnectOptions} [options] as of `connect`
 */
export function serve(scope, url, options = {}) {
  const relay = new Relay(url, options);
  scope.onconnect = (/** @type {any} */ event) => {
    const [tab] = event.ports;
    // Each connection of a tab has a port of its own.
    tab.onmessage = (/** @type {any} */ message) => relay.accept(message.ports?.[0] ?? message.data);
  };
  return relay;
}

/**
 * A hub by way of a SharedWorker in which `serve` runs.
 *
 * @param {{ port: MessagePort }} worker
 * @param {Omit<ConnectOptions, "key" | "ticket" | "protocols">} [options]
 */
export function connectWorker({ port }, options = {}) {
  class PortSocket {
    /** @type {(message: { data: string }) => void} */
    onmessage = () => {};
    /** @type {(close: { code: number, reason: string }) => void} */
    onclose = () => {};
    onerror = () => {};
    #port;

    constructor() {
      const channel = new MessageChannel();
      this.#port = channel.port1;
      channel.port1.onmessage = ({ data }) => {
        if (data.close) this.#end(data.close);
        else this.onmessage(data);
      };
      port.postMessage(channel.port2, [channel.port2]);
    }

    /** @param {string} data */
    send(data) {
      this.#port.postMessage({ data });
    }

    close() {
      this.#port.postMessage({ close: true });
      this.#port.close();
    }

    /** @param {{ code: number, reason: string }} close */
    #end(close) {
      this.#port.close();
      this.onclose(close);
    }
  }
  const hub = new Hub("ws://worker/", { ...options, WebSocket: PortSocket });
  // A tab that is closed says so; it does not come back.
  globalThis.addEventListener?.("pagehide", (event) => /** @type {any} */ (event).persisted || hub.close(), { once: true });
  return hub;
}

/** What a tab wants of a channel or pattern. */
class Upstream {
  /** @type {Map<Session, number>} */
  rates = new Map();
  /** @type {{ session: Session, command: any }[]} */
  waiting = [];
  /** @type {() => void} */
  unsubscribe = () => {};
  everyMs = 0;
  /** @type {unknown} */
  linger = undefined;
}

/** What a session needs of the hub, from the one connection. */
class Relay {
  /** @type {Map<string, Served>} */
  channels = new Map();
  beatMs = BEAT_MS;
  /** @type {Map<string, Upstream>} */
  #upstreams = new Map();
  /** @type {Set<Session>} */
  #sessions = new Set();
  #stream;

  /**
   * @param {string | URL} url
   * @param {ConnectOptions} options
   */
  constructor(url, options) {
    this.clock = options.clock ?? systemClock;
    // A Hub for its address, tickets and page events; its stream is what the tabs share.
    const hub = new Hub(url, { ...options, onState: undefined });
    this.hub = hub;
    this.#stream = hub.stream;
    hub.on("state", (state) => this.#entered(state));
    this.#beat();
  }

  // No `batch`: a channel that is not here yet is waited for, and commands within a machine cost nothing.
  get features() {
    return this.#stream.features.filter((it) => it === "hash");
  }

  /** The hub's clock. */
  now() {
    return this.#stream.serverNow();
  }

  /** @param {MessagePort} port */
  accept(port) {
    let heard = this.clock.now();
    /** @type {unknown} */
    let timer;
    const session = new Session(this, {
      send: (frame) => port.postMessage({ data: JSON.stringify(frame) }),
      close: (code, reason) => port.postMessage({ close: { code, reason } }),
      ended: () => {
        this.clock.clearTimeout(timer);
        this.#sessions.delete(session);
        port.onmessage = null;
      },
    });
    const check = () => {
      const left = heard + IDLE_MS - this.clock.now();
      if (left <= 0) session.end();
      else timer = this.clock.setTimeout(check, left);
    };
    check();
    port.onmessage = ({ data: message }) => {
      heard = this.clock.now();
      if (message.close) session.end();
      else session.command(JSON.parse(message.data));
    };
    this.#sessions.add(session);
    this.#greet(session);
  }

  /** @param {Session} session */
  #greet(session) {
    const { state } = this.#stream;
    if (state.phase === "open") session.hello("worker", this.features);
    // Until there is a connection the tab waits for its `hello`, as for a hub that is slow.
    else if (state.phase === "closed") this.#dismiss(session, state);
  }

  /** @param {StreamState} state */
  #entered(state) {
    for (const session of [...this.#sessions]) {
      if (state.phase === "open") this.#greet(session);
      else if (state.phase === "closed") this.#dismiss(session, state);
      else if (session.isOpen) session.close(1006, "the worker has lost its connection");
    }
  }

  /**
   * @param {Session} session
   * @param {StreamState} state
   */
  #dismiss(session, { code = 1000, why = "", message = "" }) {
    session.say({ type: "error", code: why, message, retry: false });
    session.close(code, why);
  }

  #beat() {
    this.clock.setTimeout(() => {
      for (const session of this.#sessions) if (session.isOpen) session.beat();
      this.#beat();
    }, BEAT_MS);
  }

  // ------------------------------------------------------------------------------- for sessions

  /** @param {string} ch */
  isFresh(ch) {
    const health = this.#stream.channel(ch)?.health ?? "lost";
    return !["stale", "lost", "catching_up", "waiting", "refused"].includes(health);
  }

  /**
   * @param {string} ch
   * @param {(frame: any) => void} answer
   */
  hash(ch, answer) {
    this.#stream.request({ op: "hash", ch }, (frame) => {
      answer(frame ?? { type: "error", ch, code: "bad_command", message: "the connection was lost", retry: true });
    });
  }

  /**
   * @param {Session} session
   * @param {any} command
   */
  awaits(session, command) {
    const { ch } = command;
    this.#upstreams.get(ch)?.waiting.push({ session, command });
    // Both may be known at once.
    const channel = this.#stream.channel(ch);
    if (this.channels.has(ch)) this.#answer(ch);
    else if (channel?.error) this.#refused(ch, channel);
  }

  /**
   * @param {Session} session
   * @param {string} ch
   * @param {number} everyMs
   */
  subscribed(session, ch, everyMs) {
    this.#upstream(session, ch, everyMs);
    const channel = this.#stream.channel(ch);
    if (ch.includes("*") && channel?.error) this.#refused(ch, channel);
  }

  /**
   * @param {Session} session
   * @param {string} ch
   */
  unsubscribed(session, ch) {
    const upstream = this.#upstreams.get(ch);
    if (!upstream?.rates.delete(session)) return;
    upstream.waiting = upstream.waiting.filter((it) => it.session !== session);
    if (upstream.rates.size > 0) return this.#retune(ch, upstream);
    upstream.linger = this.clock.setTimeout(() => this.#drop(ch, upstream), LINGER_MS);
  }

  // ------------------------------------------------------------------------------- upstream

  /**
   * @param {Session} session
   * @param {string} ch
   * @param {number} everyMs
   */
  #upstream(session, ch, everyMs) {
    let upstream = this.#upstreams.get(ch);
    if (upstream === undefined) {
      upstream = new Upstream();
      upstream.everyMs = everyMs;
      this.#upstreams.set(ch, upstream);
      const listener = (/** @type {Channel} */ channel, /** @type {ChannelChange} */ change) => this.#receive(ch, channel, change);
      upstream.unsubscribe = this.#stream.subscribe(ch, listener, { every_ms: everyMs });
    }
    this.clock.clearTimeout(upstream.linger);
    upstream.rates.set(session, everyMs);
    this.#retune(ch, upstream);
    return upstream;
  }

  /**
   * @param {string} ch
   * @param {Upstream} upstream
   */
  #retune(ch, upstream) {
    const everyMs = Math.min(...upstream.rates.values());
    if (everyMs === upstream.everyMs) return;
    upstream.everyMs = everyMs;
    this.#stream.set(ch, { every_ms: everyMs });
  }

  /**
   * @param {string} ch
   * @param {Upstream} upstream
   */
  #drop(ch, upstream) {
    this.#upstreams.delete(ch);
    upstream.unsubscribe();
    for (const name of this.channels.keys()) {
      if (this.#stream.channel(name) === undefined) this.channels.delete(name);
    }
  }

  /**
   * @param {string} ch the name or pattern by which it is followed
   * @param {Channel} channel
   * @param {ChannelChange} change
   */
  #receive(ch, channel, change) {
    const { name, epoch = "", seq = 0, data, error } = channel;
    const served = this.channels.get(name);
    if (error) return this.#refused(ch, channel);
    if (change.kind === "health") return channel.health === "stale" ? this.#stale() : undefined;
    // A channel that a name and a pattern cover comes twice.
    if (served && served.epoch === epoch && served.seq === seq) return undefined;
    if (served === undefined) {
      const opened = new Served(name, epoch, seq, data);
      this.channels.set(name, opened);
      for (const session of this.#sessions) session.opened(opened);
      return this.#answer(name);
    }
    if (change.kind === "image") {
      served.replace(epoch, seq, data);
      for (const session of this.#sessions) session.replaced(served, change.missed?.why ?? "gap");
    } else {
      const events = change.events.length > 0 ? change.events : undefined;
      served.update({ seq, data, patch: change.patch, events });
      for (const session of this.#sessions) session.changed(served, events !== undefined);
    }
    return undefined;
  }

  /** @param {string} name */
  #answer(name) {
    const upstream = this.#upstreams.get(name);
    for (const { session, command } of upstream?.waiting.splice(0) ?? []) {
      // The rate may have been changed meanwhile.
      session.command({ ...command, every_ms: upstream?.rates.get(session) });
    }
  }

  /**
   * @param {string} ch
   * @param {Channel} channel
   */
  #refused(ch, { name, error }) {
    if (this.channels.delete(name)) for (const session of this.#sessions) session.gone(name);
    const upstream = this.#upstreams.get(ch);
    for (const { session, command } of upstream?.waiting.splice(0) ?? []) {
      session.refused(ch, { ...error, type: "error", id: command.id });
    }
    // A pattern as a whole, which was answered to the tabs before the hub's answer.
    if (name !== ch || !ch.includes("*")) return;
    for (const session of [...(upstream?.rates.keys() ?? [])]) session.refused(ch, { ...error, type: "unsubscribed", id: undefined });
  }

  /** A document here is stale. Those that are not are confirmed at once. */
  #stale() {
    for (const session of this.#sessions) {
      if (!session.isOpen) continue;
      session.say({ type: "stale", since: this.now() });
      session.beat();
    }
  }
}
