// The connection to a hub: documents that keep themselves current, over the stream protocol (docs/PROTOCOL.md).
//
//   const stream = new Stream("ws://127.0.0.1:8080/stream/v1", { key });
//   stream.subscribe("football/204849", (channel, change) => {
//     show(channel.data, channel.health);           // the whole document, and whether to trust it
//     for (const event of change.events) handle(event); // each one exactly once
//   });
//
// It owns positions (epoch and sequence), documents, reconnecting and the judgement of freshness. It knows neither sports nor
// the DOM: the socket class, the clock and chance are passed in, so that it runs in a browser, in Node and under a test that
// moves the clock by hand. `connect` (client.js) is the comfortable way to use it.
//
// Invariant: a document is always exactly what the hub had at (epoch, seq), or `health` says why not.

import { Channel } from "./channel.js";
import { systemClock } from "./clock.js";
import { mergePatch } from "./merge.js";
import { report } from "./report.js";

/** @import { ChannelChange, Clock, HubError, Listener, Phase, StreamOptions, StreamState, SubscribeParams } from "./types.d.ts" */

/**
 * Closed for a reason that another attempt cannot change. Every other code is tried again.
 *
 * @type {ReadonlyMap<number, string>}
 */
export const FINAL_CODES = new Map([
  [4401, "the key is missing or wrong"],
  [4402, "the WebSocket add-on is missing"],
  [4404, "there is no such socket"],
  [4410, "the key was regenerated or revoked"],
  [4413, "a command was too large, or there were too many"],
]);

// The first wait is short because most losses are a blip; the last is long because a hub that has
// been away for a minute does not need all clients back in the same second.
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 30_000;
// A connection that opens and dies at once must not reset the back-off, or a flapping hub is
// stormed. A minute is long enough to distinguish a working hub from a crash loop.
const HEALTHY_AFTER_MS = 60_000;
// From opening the socket to `hello`.
const CONNECT_TIMEOUT_MS = 15_000;
// Measures the clock offset again: laptops drift by milliseconds a minute, and are corrected in steps.
const PING_EVERY_MS = 30_000;
const OFFSET_SAMPLES = 8;
// Until `hello` brings the real ones.
const DEFAULT_BEAT_MS = 5_000;
const DEFAULT_COMMAND_BYTES = 16_384;
const DEFAULT_CHANNELS = 1000;
// Of a channel that the hub does not have: a match that is over never comes back.
const ASK_AGAIN_MAX_MS = 60_000;
// A refused ticket may have been used or be too old, so a new one is worth a few attempts.
const TICKET_RETRIES_MAX = 3;

/** @param {unknown} value */
const bytes = (value) => new TextEncoder().encode(JSON.stringify(value)).length;

/** A subscription of the program: one name or pattern, its parameters and its listeners. */
class Subscription {
  /**
   * @param {string} ch
   * @param {SubscribeParams} params
   */
  constructor(ch, params) {
    this.ch = ch;
    this.params = params;
    /** @type {Set<Listener>} */
    this.listeners = new Set();
    this.segments = ch.split("/");
    // Of a pattern: what the hub says of all of it.
    this.own = ch.includes("*") ? new Channel(ch) : undefined;
    /**
     * The id of the command under way.
     * @type {number | undefined}
     */
    this.pending = undefined;
    // When it was sent.
    this.requestedAt = 0;
    // Refusals in a row that may be temporary.
    this.refusals = 0;
    /** @type {unknown} */
    this.retryTimer = undefined;
  }

  /** @param {string} name */
  covers(name) {
    const segments = name.split("/");
    return segments.length === this.segments.length && this.segments.every((part, i) => part === "*" || part === segments[i]);
  }
}

/**
 * What shares the connection and is no subscription: a replay.
 *
 * @typedef {object} Part
 * @property {string | undefined} name by which its frames are known
 * @property {(frame: any) => void} receive
 * @property {() => void} lost the connection was lost
 * @property {() => void} connected there is a connection
 */

export class Stream {
  /** @type {string} */
  #url;
  /** @type {StreamOptions["protocols"]} */
  #protocols;
  /** @type {any} */
  #Socket;
  /** @type {Clock} */
  #clock;
  /** @type {(state: StreamState) => void} */
  #onState;

  /** @type {any} */
  #socket;
  /** @type {Phase} */
  #phase = "connecting";
  /** @type {Partial<StreamState>} */
  #detail = {};
  // Refused in a row.
  #refusedTickets = 0;
  /** @type {number | undefined} */
  #openedAt;
  #lastFrameAt = 0;
  #lastPingAt = 0;
  /** @type {any} */
  #bye;
  /** @type {any} */
  #refusal;
  // Connections lost in a row.
  #attempt = 0;
  #random;
  /** @type {unknown} */
  #retryTimer;
  /** @type {unknown} */
  #reviewTimer;
  #reviewAt = Infinity;

  #nextId = 1;
  /** @type {Map<string, Subscription>} */
  #subscriptions = new Map();
  /**
   * Those of them that are patterns.
   * @type {Set<Subscription>}
   */
  #patterns = new Set();
  /**
   * What each command under way asks for, by its id.
   * @type {Map<number, Subscription[]>}
   */
  #asked = new Map();
  /** @type {Map<string, Channel>} */
  #channels = new Map();
  /** @type {Map<number, number>} */
  #pings = new Map();
  /** @type {{ offset: number, rtt: number }[]} */
  #offsets = [];
  // As of the offsets.
  #jumped = 0;
  #beatMs = DEFAULT_BEAT_MS;
  // Of a command with the positions of many channels, and their number.
  #fromBytes = DEFAULT_COMMAND_BYTES;
  #channelsMax = DEFAULT_CHANNELS;
  /**
   * Commands under way that resume a pattern's channel by its name, by id.
   * @type {Map<number, string>}
   */
  #resuming = new Map();
  /** @type {Set<Part>} */
  #parts = new Set();
  /**
   * Who waits for the answer to a command, by its id. Undefined means that the connection was lost before.
   * @type {Map<number, (frame: any) => void>}
   */
  #answers = new Map();

  /**
   * @param {string} url `ws://host/stream/v1`
   * @param {StreamOptions} [options]
   */
  constructor(url, options = {}) {
    this.#url = url;
    this.#protocols =
      options.protocols ?? (options.key ? ["matchwire.v1", "token", options.key] : ["matchwire.v1"]);
    this.#Socket = options.WebSocket ?? globalThis.WebSocket;
    this.#clock = options.clock ?? systemClock;
    this.#onState = options.onState ?? (() => {});
    this.#random = options.random ?? Math.random;
    this.#jumped = this.#clock.jumped ?? 0;
    /**
     * Of the newest `lag` frame: what this connection is behind by; undefined when it is not.
     * @type {any}
     */
    this.lag = undefined;
    /**
     * The hub's error frame while channels of a pattern are left out: there are too many for a socket.
     * @type {HubError | undefined}
     */
    this.limited = undefined;
    /** Frames received on all connections so far. */
    this.frames = 0;
    /**
     * What the hub offers in addition, such as `replay`.
     * @type {string[]}
     */
    this.features = [];
    /**
     * The name of the current connection, to report to the hub's operator.
     * @type {string | undefined}
     */
    this.conn = undefined;
    /** @type {string | undefined} */
    this.server = undefined;
    this.#connect();
  }

  /**
   * `phase` is `connecting`, `open`, `waiting` (then `retryAt`, milliseconds by `now`, and `isFixed` if
   * the hub named that time; after `sleep` only then) or `closed` (for good). `code`, `why` and `message` say how the last connection ended.
   *
   * @returns {StreamState}
   */
  get state() {
    return { phase: this.#phase, attempt: this.#attempt, ...this.#detail };
  }

  /** Local milliseconds, by the clock that it was given. */
  now() {
    const now = this.#clock.now();
    const { jumped = 0 } = this.#clock;
    if (jumped !== this.#jumped) {
      // Until the hub answers, its clock goes on: perhaps somebody has set this one.
      this.#offsets = [{ offset: this.clockOffset() - (jumped - this.#jumped) * 1000, rtt: Infinity }];
      this.#jumped = jumped;
      this.#pings.clear();
      if (this.#phase === "open") this.#ping();
    }
    return now;
  }

  /** The hub's clock now, in microseconds since the Unix epoch. */
  serverNow() {
    return this.now() * 1000 + this.clockOffset();
  }

  /** What to add to local microseconds: from the sample with the shortest round trip. */
  clockOffset() {
    return this.#bestOffset()?.offset ?? 0;
  }

  /**
   * The shortest recent round trip in milliseconds; undefined before the first pong.
   *
   * @returns {number | undefined}
   */
  roundTripMs() {
    const { rtt = Infinity } = this.#bestOffset() ?? {};
    return rtt < Infinity ? rtt : undefined;
  }

  /**
   * Of a pattern, one without a document: with the hub's `answer`, or its `error`.
   *
   * @param {string} name
   */
  channel(name) {
    return this.#channels.get(name) ?? this.#subscriptions.get(name)?.own;
  }

  /**
   * Follows `ch`, which may hold `*` for a segment. `onChange(channel, change)` is called after each
   * frame and each change of health; `change` is `{kind, events, patch, missed, merged}`:
   * `kind` is `image`, `update` or `health`; `missed` is set on an image that replaced a document
   * across something not delivered one by one (`{from, to, why}`), `merged` on an update that stands
   * for several (`{n, why}`). If the hub refuses a pattern, the channel is one with the pattern's name. Parameters as in the protocol: `every_ms`, `on_slow`, `lag`, `pick`, `events`; the first
   * to subscribe to a name decides them. `known` is a channel with a document, such as that of a replay,
   * from whose position it goes on. Returns a function that ends it.
   *
   * @param {string} ch
   * @param {Listener} onChange
   * @param {SubscribeParams} [params]
   * @param {Channel} [known]
   * @returns {() => void}
   */
  subscribe(ch, onChange, params = {}, known = undefined) {
    let subscription = this.#subscriptions.get(ch);
    if (subscription === undefined) {
      subscription = new Subscription(ch, params);
      this.#subscriptions.set(ch, subscription);
      if (subscription.own) this.#patterns.add(subscription);
      else this.#open(ch, known);
      if (this.#phase === "open") this.#ask(subscription);
    }
    const followed = subscription;
    // Wrapped, so that the same function subscribed twice is two subscriptions.
    /** @type {Listener} */
    const listener = (channel, change) => onChange(channel, change);
    followed.listeners.add(listener);
    for (const channel of this.#covered(followed)) {
      if (channel.data !== undefined) this.#call(listener, channel, { kind: "image", events: [] });
    }
    return () => this.#drop(followed, listener);
  }

  /**
   * Changes parameters of a subscription, without a gap, and without an image unless it picks something else;
   * later connections keep them.
   *
   * @param {string} ch as it was subscribed
   * @param {SubscribeParams} params
   */
  set(ch, params) {
    const subscription = this.#subscriptions.get(ch);
    if (subscription === undefined) return;
    subscription.params = { ...subscription.params, ...params };
    // A refusal means that the hub does not have the channel now: the next `subscribe` brings the parameters.
    this.request({ op: "set", ch, ...params }, () => {});
  }

  /**
   * Sends a command, and hands over the frame that answers it; undefined if there is no connection, or it is lost before. Returns the
   * command's id, if it was sent.
   *
   * @param {Record<string, unknown>} command
   * @param {(frame: any) => void} receive
   * @returns {number | undefined}
   */
  request(command, receive) {
    if (this.#phase !== "open") return void receive(undefined);
    const id = this.#nextId++;
    this.#answers.set(id, receive);
    this.#send({ ...command, id });
    return id;
  }

  /**
   * Lets a replay share the connection. Returns how it sends commands, as `request`, and how it leaves.
   *
   * @param {Part} part
   */
  attach(part) {
    this.#parts.add(part);
    if (this.#phase !== "open") part.lost();
    return {
      now: () => this.now(),
      forget: () => this.#parts.delete(part),
      /** @param {Record<string, unknown>} command */
      send: (command) => this.request(command, (frame) => frame && part.receive(frame)),
    };
  }

  /**
   * Tries at once instead of at the end of the wait, because the caller knows better (the network
   * came back, a person pressed the button). Not when the hub itself named the time: its delays are
   * spread so that clients do not return all together.
   */
  wake() {
    // After a sleep of the machine, an open socket may be long dead, and the timers that would find out are late.
    if (this.#phase === "open") this.#review();
    if (this.#phase !== "waiting") return;
    const { isFixed, retryAt = 0 } = this.#detail;
    this.#clock.clearTimeout(this.#retryTimer);
    // After a sleep there is no timer.
    if (isFixed) this.#connectIn(retryAt - this.now());
    else this.#connect();
  }

  /** Gives up the connection until `wake`, and keeps documents and positions: for a page that is put aside. */
  sleep() {
    this.#leave("waiting", this.#detail.isFixed ? this.#detail : { why: "asleep" });
  }

  close() {
    this.#leave("closed", { why: "asked" });
  }

  // ------------------------------------------------------------------------------- connection

  #connect() {
    const protocols = this.#protocols;
    const attempt = {};
    this.#openedAt = this.#bye = this.#refusal = undefined;
    this.#lastFrameAt = this.now();
    this.#enter("connecting", attempt);
    // A handler of the state may have closed it.
    const isCurrent = () => this.#detail === attempt;
    if (!isCurrent()) return;
    if (typeof protocols !== "function") this.#dial(protocols);
    else {
      Promise.resolve()
        .then(protocols)
        .then((made) => isCurrent() && this.#dial(made))
        .catch((error) => isCurrent() && this.#lost({ message: String(error) }));
    }
  }

  /** @param {number} ms */
  #connectIn(ms) {
    this.#retryTimer = this.#clock.setTimeout(() => this.#connect(), ms);
  }

  /** @param {string[] | undefined} protocols */
  #dial(protocols) {
    const socket = new this.#Socket(this.#url, protocols);
    this.#socket = socket;
    this.#lastFrameAt = this.now();
    // Handlers check that the socket is the current one: a discarded one may send for minutes.
    socket.onmessage = (/** @type {any} */ message) => socket === this.#socket && this.#receive(message.data);
    socket.onclose = (/** @type {any} */ close) =>
      socket === this.#socket && this.#lost({ code: close.code, why: close.reason });
    socket.onerror = () => {};
  }

  /**
   * Ends the connection on this side.
   *
   * @param {Phase} phase
   * @param {Partial<StreamState>} detail
   */
  #leave(phase, detail) {
    if (this.#phase === "closed") return;
    this.#discard();
    this.#clock.clearTimeout(this.#retryTimer);
    this.#enter(phase, detail);
  }

  #discard() {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    try {
      socket.close(1000);
    } catch {
      // A socket that is not open yet may throw; its events are ignored either way.
    }
  }

  /** @param {{ code?: number, why?: string, message?: string }} how */
  #lost({ code, why, message }) {
    const now = this.now();
    const healthy = this.#openedAt !== undefined && now - this.#openedAt >= HEALTHY_AFTER_MS;
    if (healthy) this.#attempt = 0;
    this.#discard();
    this.#pings.clear();
    this.lag = undefined;

    const final = FINAL_CODES.get(code ?? 0);
    const how = { code, why: this.#bye?.why ?? why, message: this.#refusal?.message ?? message ?? final };
    const isTicket = code === 4401 && typeof this.#protocols === "function";
    if (final && !(isTicket && this.#refusedTickets++ < TICKET_RETRIES_MAX)) return this.#enter("closed", how);
    // Doubles, with jitter, so that clients lost together do not return together. Counted even when the hub names the time, so
    // that a refusal after it waits longer.
    const longest = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** this.#attempt++);
    const isFixed = Number.isFinite(this.#bye?.reconnect_after_ms);
    const wait = isFixed ? Math.max(0, this.#bye.reconnect_after_ms) : Math.round(longest * (0.5 + 0.5 * this.#random()));
    // First, so that a handler of the state can close it, or wake it.
    this.#connectIn(wait);
    return this.#enter("waiting", { ...how, isFixed, retryAt: now + wait });
  }

  /**
   * @param {Phase} phase
   * @param {Partial<StreamState>} detail
   */
  #enter(phase, detail) {
    const before = this.#phase;
    this.#phase = phase;
    this.#detail = detail;
    if (before === "open" && phase !== "open") {
      for (const channel of this.#channels.values()) {
        channel.synced = false;
        channel.imageDue = undefined;
        channel.owed = undefined;
      }
      for (const subscription of this.#subscriptions.values()) {
        subscription.pending = undefined;
        this.#clock.clearTimeout(subscription.retryTimer);
      }
      this.#asked.clear();
      this.#resuming.clear();
      const answers = [...this.#answers.values()];
      this.#answers.clear();
      for (const receive of answers) receive(undefined);
      for (const part of this.#parts) part.lost();
    }
    // A handler of a part may have entered another one.
    if (this.#detail !== detail) return;
    this.#announce();
    if (this.#phase === "closed") this.#clock.clearTimeout(this.#reviewTimer);
    this.#review();
  }

  #announce() {
    try {
      this.#onState(this.state);
    } catch (error) {
      report(error);
    }
  }

  /** @param {Record<string, unknown>} command */
  #send(command) {
    this.#socket?.send(JSON.stringify(command));
  }

  // ------------------------------------------------------------------------------------ frames

  /** @param {string} text */
  #receive(text) {
    /** @type {any} */
    let frame;
    try {
      frame = JSON.parse(text);
    } catch {
      // The peer does not follow the protocol, so its later frames cannot be trusted either.
      return this.#lost({ message: "a frame was not JSON" });
    }
    this.#lastFrameAt = this.now();
    this.frames += 1;
    const answer = this.#answers.get(frame.id);
    this.#answers.delete(frame.id);
    if (answer) return answer(frame);
    if (frame.replay !== undefined) return [...this.#parts].find((part) => part.name === frame.replay)?.receive(frame);
    switch (frame.type) {
      case "hello":
        return this.#hello(frame);
      case "subscribed":
        return this.#subscribed(frame);
      case "image":
        return this.#image(frame);
      case "update":
        return this.#update(frame);
      case "resync":
        return this.#resync(frame);
      case "beat":
        return this.#beat(frame);
      case "unsubscribed":
        // With an id it is an answer; without one the hub has ended a channel on its own.
        return frame.id ? undefined : this.#gone(frame);
      case "entitlement":
        return this.#entitlement(frame);
      case "error":
        return this.#error(frame);
      case "pong":
        return this.#pong(frame);
      case "lag":
        this.lag = frame.queued_bytes > 0 ? frame : undefined;
        return this.#announce();
      case "stale":
        return this.#stale();
      case "bye":
        this.#bye = frame;
        return undefined;
      default:
        // A later hub may send more; a client that does not know it loses nothing.
        return undefined;
    }
  }

  /** @param {any} frame */
  #hello(frame) {
    if (this.#phase !== "connecting") return;
    const now = this.now();
    this.#openedAt = now;
    this.#lastPingAt = now;
    this.conn = frame.conn;
    this.server = frame.server;
    this.features = frame.features ?? [];
    this.#beatMs = frame.beat_ms ?? DEFAULT_BEAT_MS;
    const { command_bytes, from_bytes, channels } = frame.limits ?? {};
    this.#fromBytes = from_bytes ?? command_bytes ?? DEFAULT_COMMAND_BYTES;
    this.#channelsMax = channels ?? DEFAULT_CHANNELS;
    this.limited = undefined;
    this.#refusedTickets = 0;
    // Samples of an earlier connection may come from before a sleep or a step of the clock.
    this.#offsets = [{ offset: frame.now - now * 1000, rtt: Infinity }];
    this.#enter("open", {});
    // A handler of the state may have closed it.
    if (/** @type {Phase} */ (this.#phase) !== "open") return;
    this.#askEverything();
    for (const part of this.#parts) part.connected();
    this.#ping();
  }

  /** @param {any} frame */
  #subscribed(frame) {
    const answered = this.#answered(frame);
    if (frame.chs) {
      for (const subscription of answered) {
        const { error, ...position } = frame.chs[subscription.ch] ?? { error: "not_tracked" };
        const message = "the hub refused it";
        if (error) this.#refuse(subscription, { code: error, message, retry: error === "not_tracked", ch: subscription.ch, ...position });
        else this.#confirmed(subscription.ch, position);
      }
      return;
    }
    const [only] = answered;
    this.#confirmed(only?.ch ?? this.#resumed(frame), frame);
  }

  /**
   * @param {string | undefined} name
   * @param {any} answer the hub's
   */
  #confirmed(name, answer) {
    const channel = name === undefined ? undefined : this.channel(name);
    if (channel === undefined) return;
    const subscription = this.#subscriptions.get(channel.name);
    if (subscription) subscription.refusals = 0;
    channel.answer = answer;
    channel.error = undefined;
    if (answer.resumed) {
      channel.synced = true;
      channel.heard = this.now();
    } else {
      channel.imageDue = answer.why ?? "subscribed";
    }
    this.#judge(channel);
  }

  /** @param {any} frame */
  #image(frame) {
    const channel = this.#open(frame.ch);
    if (channel === undefined) return;
    const continues = channel.epoch === frame.epoch && channel.imageDue !== "ahead";
    const known = channel.data !== undefined;
    const seq = channel.seq ?? -1;
    const missed =
      known && !(continues && frame.seq <= seq)
        ? { from: seq, to: frame.seq, why: channel.imageDue ?? (continues ? "image" : "epoch") }
        : undefined;

    channel.data = frame.data;
    channel.epoch = frame.epoch;
    channel.seq = frame.seq;
    channel.at = frame.at;
    // An image may be older than what we had and be overtaken again by updates we already know:
    // their values are due, their events are not.
    channel.delivered = continues ? Math.max(channel.delivered, frame.seq) : frame.seq;
    this.#current(channel);
    this.#judge(channel, { kind: "image", events: [], missed });
  }

  /** @param {any} frame */
  #update(frame) {
    const channel = this.#channels.get(frame.ch);
    // Updates that were on their way when an image was announced belong to a document we give up.
    if (channel === undefined || channel.data === undefined || channel.imageDue) return undefined;
    const seq = channel.seq ?? -1;
    if (frame.seq <= seq) return undefined;
    if (frame.prev > seq) return this.#missing(channel);

    if (frame.patch !== undefined) channel.data = mergePatch(channel.data, frame.patch);
    const events = frame.seq > channel.delivered ? (frame.events ?? []) : [];
    channel.delivered = Math.max(channel.delivered, frame.seq);
    channel.seq = frame.seq;
    channel.at = frame.at;
    this.#current(channel);
    const merged = frame.n > 1 ? { n: frame.n, why: frame.why } : undefined;
    return this.#judge(channel, { kind: "update", patch: frame.patch, events, merged });
  }

  /** @param {any} frame */
  #resync(frame) {
    const channel = this.#channels.get(frame.ch);
    if (channel === undefined) return;
    channel.imageDue = frame.why ?? "resync";
    channel.synced = false;
    this.#judge(channel);
  }

  /**
   * The document is the newest as of now: it was just written.
   *
   * @param {Channel} channel
   */
  #current(channel) {
    channel.imageDue = undefined;
    channel.synced = true;
    channel.error = undefined;
    channel.heard = this.now();
    channel.doubts = 0;
    if (channel.owed && (channel.seq ?? -1) >= channel.owed.seq) channel.owed = undefined;
    this.#reviewBy(channel.heard + channel.staleAfterMs);
  }

  /** @param {any} frame */
  #beat(frame) {
    const now = this.now();
    for (const [name, head] of Object.entries(/** @type {Record<string, number>} */ (frame.heads ?? {}))) {
      const channel = this.#open(name);
      if (channel === undefined) continue;
      const isWhole = channel.data !== undefined && !channel.imageDue;
      // What a pick leaves out has no update.
      if (isWhole && this.picks(name)) channel.seq = Math.max(channel.seq ?? 0, head);
      if (isWhole && head <= (channel.seq ?? -1)) {
        channel.heard = now;
        channel.synced = true;
        channel.owed = undefined;
      } else {
        this.#compare(channel, head, now);
      }
      this.#judge(channel);
    }
  }

  /**
   * A beat may overtake values that are queued or held back by our own rate, so being behind once is
   * no loss. Still lacking, past a grace, what an earlier beat showed, is.
   *
   * @param {Channel} channel
   * @param {number} head
   * @param {number} now
   */
  #compare(channel, head, now) {
    if (channel.owed === undefined) {
      const rate = Math.max(0, ...this.#covering(channel.name).map((s) => s.params.every_ms ?? 0));
      channel.owed = { seq: head, by: now + rate + this.#beatMs / 2 };
    } else if (now >= channel.owed.by) {
      channel.owed = undefined;
      this.#missing(channel);
    }
  }

  /**
   * Whether the subscriptions to a channel pick a part of its documents or events.
   *
   * @param {string} name
   */
  picks(name) {
    return this.#covering(name).some(({ params }) => (params.pick ?? params.events) !== undefined);
  }

  /** The hub cannot know whether anything has changed: no document is fresh until its next frame or beat. */
  #stale() {
    for (const channel of this.#channels.values()) {
      channel.heard = -Infinity;
      this.#judge(channel);
    }
  }

  /**
   * Something is missing. Requests it from the current position; if that has failed, requests the image.
   *
   * @param {Channel} channel
   */
  #missing(channel) {
    channel.synced = false;
    // One answer is enough: with two subscriptions, the exact one provides it.
    const covering = this.#covering(channel.name);
    const subscription = covering.find((s) => !s.own) ?? covering[0];
    // While a request is pending, more such updates are expected: they cross it on the wire.
    const patience = 3 * this.#beatMs;
    if (subscription.pending && this.now() - subscription.requestedAt < patience) return;
    channel.doubts += 1;
    // Subscribing to a pattern again covers nothing new: unsubscribe before starting elsewhere.
    if (subscription.own) this.#send({ op: "unsubscribe", id: this.#nextId++, ch: subscription.ch });
    this.#ask(subscription);
    this.#judge(channel);
  }

  /**
   * The hub has ended a channel. A subscription by name keeps the last document, marked as such, and asks for it again: a book
   * comes back when another source provides it. A pattern drops it.
   *
   * @param {any} frame
   */
  #gone(frame) {
    const channel = this.channel(frame.ch);
    if (channel === undefined) return;
    const subscription = this.#subscriptions.get(frame.ch);
    const error = { code: "not_tracked", message: "the hub no longer follows it", retry: true, ...frame };
    if (subscription && error.retry) this.#askLater(subscription);
    this.#blame(channel, error);
    if (!subscription) this.#channels.delete(frame.ch);
  }

  /**
   * An add-on has begun or ended. Ended channels count as refused; the hub sends new channels itself.
   *
   * @param {any} frame
   */
  #entitlement(frame) {
    const message = "an add-on that it needs has ended";
    for (const name of frame.ended) {
      const channel = this.#channels.get(name);
      if (channel === undefined) continue;
      this.#blame(channel, { code: "not_entitled", message, ch: name, retry: false });
      if (!this.#subscriptions.has(name)) this.#channels.delete(name);
    }
  }

  /** @param {any} frame */
  #error(frame) {
    let isAnswer = false;
    for (const subscription of this.#answered(frame)) {
      isAnswer = true;
      this.#refuse(subscription, frame);
    }
    if (isAnswer) return undefined;
    const resumed = this.#resumed(frame);
    // It ended while we were away.
    if (resumed !== undefined) return frame.code === "not_tracked" ? this.#gone({ ...frame, ch: resumed }) : undefined;
    if (frame.code === "limit" && this.#subscriptions.has(frame.ch)) {
      this.limited = frame;
      return this.#announce();
    }
    this.#refusal = frame;
    return undefined;
  }

  /**
   * @param {Subscription} subscription
   * @param {HubError} error
   */
  #refuse(subscription, error) {
    if (error.retry) this.#askLater(subscription);
    for (const channel of this.#covered(subscription)) {
      // What another subscription covers goes on, unless it has ended already.
      if ((channel.error && !subscription.own) || this.#covering(channel.name).length < 2) this.#blame(channel, error);
    }
  }

  /**
   * The channel is refused. That it is so for good is news, even of one that was refused for now.
   *
   * @param {Channel} channel
   * @param {HubError} error
   */
  #blame(channel, error) {
    const isNews = channel.error?.retry && !error.retry;
    channel.error = error;
    this.#judge(channel, isNews ? { kind: "health", events: [] } : undefined);
  }

  /** @param {Subscription} subscription */
  #askLater(subscription) {
    const wait = Math.min(ASK_AGAIN_MAX_MS, this.#beatMs * 2 ** subscription.refusals++);
    this.#clock.clearTimeout(subscription.retryTimer);
    subscription.retryTimer = this.#clock.setTimeout(() => this.#ask(subscription), wait);
  }

  // ----------------------------------------------------------------------- clock and liveness

  #ping() {
    const id = this.#nextId++;
    this.#lastPingAt = this.now();
    this.#pings.set(id, this.#lastPingAt);
    this.#send({ op: "ping", id });
  }

  /** @param {any} frame */
  #pong(frame) {
    const sent = this.#pings.get(frame.id);
    if (sent === undefined) return;
    this.#pings.delete(frame.id);
    const now = this.now();
    // The hub read its clock somewhere between the two; the middle errs by half the round trip at most.
    this.#offsets.push({ offset: frame.now - ((sent + now) / 2) * 1000, rtt: now - sent });
    if (this.#offsets.length > OFFSET_SAMPLES) this.#offsets.shift();
  }

  #bestOffset() {
    /** @type {{ offset: number, rtt: number } | undefined} */
    let best;
    for (const sample of this.#offsets) {
      if (best === undefined || sample.rtt <= best.rtt) best = sample;
    }
    return best;
  }

  /** Handles what depends on time: a silent socket, a stale document. */
  #review() {
    const now = this.now();
    let next = Infinity;
    if (this.#phase === "connecting") {
      next = this.#lastFrameAt + CONNECT_TIMEOUT_MS;
      if (now >= next) return this.#lost({ message: "no answer" });
    }
    if (this.#phase === "open") {
      // A half-open connection never closes by itself: ask after two beats, give up after three.
      const silent = now - this.#lastFrameAt;
      if (silent >= 3 * this.#beatMs) return this.#lost({ message: "the connection fell silent" });
      const overdue = silent >= 2 * this.#beatMs && this.#pings.size === 0;
      if (overdue || now - this.#lastPingAt >= PING_EVERY_MS) this.#ping();
      next = now + this.#beatMs;
    }
    for (const channel of [...this.#channels.values()]) {
      this.#judge(channel);
      if (channel.health === "live") next = Math.min(next, (channel.heard ?? 0) + channel.staleAfterMs);
    }
    this.#reviewBy(next);
    return undefined;
  }

  /**
   * One timer for all deadlines. Frames only move them later, so that it may come early, never late.
   *
   * @param {number} at
   */
  #reviewBy(at) {
    if (at >= this.#reviewAt || this.#phase === "closed") return;
    this.#clock.clearTimeout(this.#reviewTimer);
    this.#reviewAt = at;
    this.#reviewTimer = this.#clock.setTimeout(
      () => {
        this.#reviewAt = Infinity;
        this.#review();
      },
      Math.max(0, at - this.now()),
    );
  }

  /**
   * Notifies listeners of a change, in one call with the change of health that it causes; without one, of the health if it has
   * changed.
   *
   * @param {Channel} channel
   * @param {ChannelChange} [change]
   */
  #judge(channel, change) {
    const health = channel.judge(this.#phase === "open", this.now());
    if (health === channel.health && !change) return;
    channel.health = health;
    for (const subscription of this.#covering(channel.name)) {
      for (const listener of [...subscription.listeners]) this.#call(listener, channel, change ?? { kind: "health", events: [] });
    }
  }

  // ---------------------------------------------------------------- subscriptions and channels

  /**
   * Everything that is subscribed to, on a new connection: names in one command if the hub can, and before the patterns, which
   * bring the image of each channel that is not followed yet.
   */
  #askEverything() {
    /** @type {Map<string, Subscription[]>} */
    const batches = new Map();
    for (const subscription of this.#subscriptions.values()) {
      const key = JSON.stringify(subscription.params);
      if (subscription.own) continue;
      if (this.features.includes("batch")) batches.set(key, [...(batches.get(key) ?? []), subscription]);
      else this.#ask(subscription);
    }
    for (const subscriptions of batches.values()) this.#askBatch(subscriptions);
    for (const pattern of this.#patterns) this.#ask(pattern);
  }

  /**
   * Names with the same parameters, in as few commands as their limits allow.
   *
   * @param {Subscription[]} subscriptions
   */
  #askBatch(subscriptions) {
    /** @type {unknown[]} */
    let chs = [];
    /** @type {Subscription[]} */
    let asked = [];
    let size = 0;
    const command = { op: "subscribe", ...subscriptions[0].params };
    // No id will have more digits.
    const room = this.#fromBytes - bytes({ ...command, id: 1e15, chs });
    const send = () => {
      const id = this.#nextId++;
      this.#await(id, asked);
      this.#send({ ...command, id, chs });
    };
    for (const subscription of subscriptions) {
      const from = this.#position(subscription.ch);
      const entry = from ? { ch: subscription.ch, from } : subscription.ch;
      const more = bytes(entry) + 1;
      if (chs.length >= this.#channelsMax || size + more > room) {
        send();
        [chs, asked, size] = [[], [], 0];
      }
      chs.push(entry);
      asked.push(subscription);
      size += more;
    }
    send();
  }

  /**
   * @param {number} id of the command that asks for them
   * @param {Subscription[]} subscriptions
   */
  #await(id, subscriptions) {
    this.#asked.set(id, subscriptions);
    for (const subscription of subscriptions) {
      subscription.pending = id;
      subscription.requestedAt = this.now();
      this.#clock.clearTimeout(subscription.retryTimer);
    }
  }

  /** @param {Subscription} subscription */
  #ask(subscription) {
    const id = this.#nextId++;
    this.#await(id, [subscription]);
    const command = { op: "subscribe", id, ch: subscription.ch, ...subscription.params };
    if (subscription.own) return this.#askAll(subscription, command);
    const from = this.#position(subscription.ch);
    return this.#send(from ? { ...command, from } : command);
  }

  /**
   * Resumes all channels of a pattern. Those whose positions find no room in the command are resumed by
   * name before it, and given back to the pattern behind it, so that no event is lost however many
   * there are.
   *
   * @param {Subscription} subscription
   * @param {Record<string, unknown>} command
   */
  #askAll(subscription, command) {
    const [whole, rest] = this.#fromAll(subscription, command);
    for (const channel of rest) {
      const id = this.#nextId++;
      this.#resuming.set(id, channel.name);
      this.#send({ op: "subscribe", id, ch: channel.name, ...subscription.params, from: channel.position() });
    }
    this.#send(whole);
    for (const channel of rest) this.#send({ op: "unsubscribe", id: this.#nextId++, ch: channel.name });
  }

  /**
   * The name of the channel that a frame answers for, where it was resumed by name for a pattern.
   *
   * @param {any} frame
   */
  #resumed(frame) {
    const name = this.#resuming.get(frame.id);
    this.#resuming.delete(frame.id);
    return name;
  }

  /**
   * From where a channel resumes, unless resuming has failed.
   *
   * @param {string} name
   */
  #position(name) {
    const channel = this.#channels.get(name);
    return channel && channel.doubts < 2 ? channel.position() : undefined;
  }

  /**
   * A command with as many positions as it may carry, and the channels whose positions it has no room for.
   *
   * @param {Subscription} subscription
   * @param {Record<string, unknown>} command
   * @returns {[Record<string, unknown>, Channel[]]}
   */
  #fromAll(subscription, command) {
    /** @type {Record<string, unknown>} */
    const from = {};
    const rest = [];
    let size = bytes({ ...command, from });
    for (const channel of this.#covered(subscription)) {
      const position = this.#position(channel.name);
      // One that is followed by name as well resumes by its own command.
      if (position === undefined || this.#subscriptions.has(channel.name)) continue;
      size += bytes({ [channel.name]: position });
      if (size > this.#fromBytes) rest.push(channel);
      else from[channel.name] = position;
    }
    return [Object.keys(from).length > 0 ? { ...command, from } : command, rest];
  }

  /**
   * The subscriptions that a frame answers, now no longer pending: several if they were one command. One by one, because a handler
   * of the first may end the others, or the connection.
   *
   * @param {any} frame
   */
  *#answered(frame) {
    const asked = this.#asked.get(frame.id) ?? [];
    this.#asked.delete(frame.id);
    // One that was asked for again since waits for the newer answer.
    for (const subscription of asked) {
      if (subscription.pending !== frame.id) continue;
      subscription.pending = undefined;
      yield subscription;
    }
  }

  /**
   * @param {Subscription} subscription
   * @param {Listener} listener
   */
  #drop(subscription, listener) {
    if (!subscription.listeners.delete(listener) || subscription.listeners.size > 0) return;
    this.#clock.clearTimeout(subscription.retryTimer);
    this.#subscriptions.delete(subscription.ch);
    this.#patterns.delete(subscription);
    subscription.pending = undefined;
    for (const channel of this.#covered(subscription)) {
      if (this.#covering(channel.name).length === 0) this.#channels.delete(channel.name);
    }
    if (this.#phase === "open") this.#send({ op: "unsubscribe", id: this.#nextId++, ch: subscription.ch });
  }

  /**
   * The channel of this name, made if a subscription covers it; else undefined: it was given up.
   *
   * @param {string} name
   * @param {Channel} [known]
   */
  #open(name, known) {
    let channel = this.#channels.get(name);
    if (channel === undefined && this.#covering(name).length > 0) {
      channel = new Channel(name);
      if (known?.data !== undefined) {
        const { data, epoch, seq, at, heard, delivered } = known;
        Object.assign(channel, { data, epoch, seq, at, heard, delivered });
      }
      channel.health = channel.judge(this.#phase === "open", this.now());
      this.#channels.set(name, channel);
    }
    return channel;
  }

  /** @param {string} name */
  #covering(name) {
    const exact = this.#subscriptions.get(name);
    if (exact?.own) return [exact];
    const patterns = [...this.#patterns].filter((subscription) => subscription.covers(name));
    return exact ? [exact, ...patterns] : patterns;
  }

  /** @param {Subscription} subscription */
  #covered(subscription) {
    const { own } = subscription;
    if (own) return [...this.#channels.values(), own].filter(({ name }) => subscription.covers(name));
    const channel = this.#channels.get(subscription.ch);
    return channel ? [channel] : [];
  }

  /**
   * @param {Listener} listener
   * @param {Channel} channel
   * @param {ChannelChange} change
   */
  #call(listener, channel, change) {
    try {
      listener(channel, change);
    } catch (error) {
      // A view that fails must not cost the position.
      report(error);
    }
  }
}
