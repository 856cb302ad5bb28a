// A client of the hub's stream protocol (docs/PROTOCOL.md): documents that keep themselves current.
//
//   const stream = new Stream("ws://127.0.0.1:8080/stream/v1", { key });
//   stream.subscribe("football/204849", (channel, change) => {
//     show(channel.data, channel.health);           // the whole document, and whether to trust it
//     for (const event of change.events) handle(event); // each one exactly once
//   });
//
// A recording is played beside them, with documents of its own:
//
//   const replay = stream.replay(["football/204849"], { speed: 16, onChange: (channel, change) => show(channel.data) });
//   replay.seek(micros); replay.pause(); replay.resume(); replay.close();
//
// It owns positions (epoch and sequence), documents, reconnecting and the judgement of freshness.
// It knows neither sports nor the DOM: the socket class, the clock and chance are passed in, so
// that it runs in a browser, in Node and under a test that moves the clock by hand.
//
// Invariant: a document is always exactly what the hub had at (epoch, seq), or `health` says why not.

/** Closed for a reason that another attempt cannot change. Every other code is tried again. */
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
// For a document that does not say: two beats and a margin.
const DEFAULT_STALE_AFTER_MS = 15_000;

/**
 * RFC 7396. Returns the patched document and leaves `target` as it was: branches that the patch
 * does not touch are the same objects as before, so that a view can see by `===` what changed.
 */
export function mergePatch(target, patch) {
  if (!isObject(patch)) return patch;
  const merged = isObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    if (patch[key] === null) {
      delete merged[key];
    } else {
      const own = Object.hasOwn(merged, key) ? merged[key] : undefined;
      // Not by assignment: that would run the setter of a key named `__proto__`.
      Object.defineProperty(merged, key, {
        value: mergePatch(own, patch[key]),
        configurable: true,
        enumerable: true,
        writable: true,
      });
    }
  }
  return merged;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const systemClock = {
  // Not a monotonic clock: that one may stand still while a laptop sleeps, and a document from
  // before the lid was closed would look fresh. A step of the wall clock errs on the safe side.
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer),
};

/** One document, the position it stands at, and how far it can be trusted. */
export class Channel {
  constructor(name) {
    this.name = name;
    /** The document; undefined before the first image. Treat it as read-only. */
    this.data = undefined;
    this.epoch = undefined;
    this.seq = undefined;
    /** `{src, in, pub}` of the newest frame: when it happened, came in and went out. */
    this.at = undefined;
    /** Local milliseconds of the last proof that the document is the newest: a frame or a beat. */
    this.heard = undefined;
    /**
     * `live`, `ended`; `late`, `down`, `recovering` (the source, as the hub sees it); `stale`
     * (nothing heard for `stale_after_ms`); `lost` (no connection); `catching_up` (connected, the
     * position not confirmed yet); `waiting` (no document yet); `refused` (see `error`).
     */
    this.health = "waiting";
    /** The hub's error frame when it refused the subscription. */
    this.error = undefined;

    // Whether this connection has confirmed the position, and whether an image was announced.
    this.synced = false;
    this.imageDue = undefined;
    // The highest sequence of this epoch whose events were handed out.
    this.delivered = -1;
    // What the last beat showed to be on its way: {seq, by}.
    this.owed = undefined;
    // Consecutive resume requests without a result.
    this.doubts = 0;
  }

  get staleAfterMs() {
    return this.data?.stale_after_ms ?? DEFAULT_STALE_AFTER_MS;
  }

  judge(open, now) {
    if (this.error) return "refused";
    if (this.data === undefined) return "waiting";
    if (!open) return "lost";
    if (!this.synced) return "catching_up";
    if (this.data.life === "ended") return "ended";
    if (now - this.heard >= this.staleAfterMs) return "stale";
    const feed = this.data.feed;
    return feed === undefined || feed === "live" ? "live" : feed;
  }

  position() {
    return this.epoch === undefined ? undefined : { epoch: this.epoch, seq: this.seq };
  }
}

/** Waits that double, each with its own jitter, so that clients lost together do not return together. */
class Backoff {
  #attempt = 0;
  #random;

  constructor(random) {
    this.#random = random;
  }

  get attempt() {
    return this.#attempt;
  }

  next() {
    const ceiling = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** this.#attempt);
    this.#attempt += 1;
    return Math.round(ceiling * (0.5 + 0.5 * this.#random()));
  }

  reset() {
    this.#attempt = 0;
  }
}

/** A subscription of the program: one name or pattern, its parameters and its listeners. */
class Subscription {
  constructor(ch, params) {
    this.ch = ch;
    this.params = params;
    this.listeners = new Set();
    this.pattern = ch.includes("*") ? ch.split("/") : undefined;
    // The id of the command under way, and when it was sent.
    this.pending = undefined;
    this.requestedAt = 0;
  }

  covers(name) {
    if (this.pattern === undefined) return this.ch === name;
    const segments = name.split("/");
    return (
      segments.length === this.pattern.length &&
      this.pattern.every((part, i) => part === "*" || part === segments[i])
    );
  }
}

/**
 * A recording that plays, or has ended. `channel(name)`, `serverNow()` and `clockOffset()` are those of a
 * [`Stream`], so that a view shows it as it shows what is live. Its clock is the recorded time.
 */
export class Replay {
  #wire;
  #chs;
  #from;
  #onChange;
  #onState;
  #channels = new Map();
  // The recorded time that was reached at the local time `#since`.
  #at;
  #since;
  // The id of the last command that moves it: until its answer, frames belong to the old position.
  #moving;
  // The hub's `pause`, `speed` and `seek` that wait for the first answer.
  #waiting = {};

  /** Made by [`Stream.replay`]. `wire`: `{send(command), now(), forget()}`. */
  constructor(wire, chs, { from = "start", speed = 1, onChange = () => {}, onState = () => {} } = {}) {
    this.#wire = wire;
    this.#chs = chs;
    this.#onChange = onChange;
    this.#onState = onState;
    /** `starting`, `playing`, `lost` (no connection), `ended` (see `why`), `refused` (see `error`), `closed`. */
    this.phase = "starting";
    /** A number, or `max`. */
    this.speed = speed;
    this.paused = false;
    /** The name on this connection. */
    this.name = undefined;
    /** `{first, last}`: the recorded times of the first and the last frame, in microseconds. */
    this.span = undefined;
    this.why = undefined;
    this.error = undefined;
    this.#from = from;
    this.#begin(from);
  }

  channel(name) {
    return this.#channels.get(name);
  }

  /** The recorded time that is played now, in microseconds. */
  serverNow() {
    if (this.#at === undefined) return this.span?.first ?? 0;
    if (this.phase !== "playing" || this.paused || this.speed === "max") return this.#at;
    return this.#at + (this.#wire.now() - this.#since) * 1000 * this.speed;
  }

  /** What to add to local microseconds: of no use here, because its time is not that of any clock. */
  clockOffset() {
    return 0;
  }

  pause() {
    this.#change({ pause: true });
  }

  resume() {
    this.#change({ pause: false });
  }

  setSpeed(speed) {
    this.#change({ speed });
  }

  /** Moves it to a recorded time, in microseconds. One that has ended plays again from there. */
  seek(at) {
    if (this.phase === "ended") {
      this.#hold(at);
      this.#begin({ at });
    } else {
      this.#change({ seek: { at: Math.round(at) } });
    }
  }

  close() {
    if (this.name !== undefined) this.#wire.send({ op: "unsubscribe", replay: this.name });
    this.#wire.forget();
    this.#enter("closed");
  }

  #begin(from) {
    const at = from === "start" ? from : { at: Math.round(from.at) };
    this.phase = "starting";
    this.name = undefined;
    this.#moving = this.#wire.send({ op: "subscribe", chs: this.#chs, replay: { from: at, speed: this.speed } });
    if (this.paused) this.#waiting.pause = true;
  }

  #change(change) {
    const now = this.serverNow();
    this.paused = change.pause ?? this.paused;
    this.speed = change.speed ?? this.speed;
    this.#hold(change.seek?.at ?? now);
    if (this.phase === "starting" || this.phase === "lost") {
      Object.assign(this.#waiting, change);
    } else if (this.phase === "playing") {
      const id = this.#wire.send({ op: "replay", replay: this.name, ...change });
      if (change.seek) this.#moving = id;
    }
    this.#onState(this);
  }

  #hold(at) {
    this.#at = at;
    this.#since = this.#wire.now();
  }

  #enter(phase) {
    this.phase = phase;
    this.#onState(this);
  }

  /** The connection was lost: it goes on from here on the next one. */
  lost() {
    if (this.phase === "ended") return;
    if (this.span) this.#hold(this.serverNow());
    this.name = undefined;
    this.#moving = undefined;
    this.#enter("lost");
  }

  /** There is a connection. */
  connected() {
    if (this.phase === "lost") this.#begin(this.span ? { at: this.#at } : this.#from);
  }

  receive(frame) {
    switch (frame.type) {
      case "subscribed":
        return this.#subscribed(frame);
      case "error":
        return this.#refused(frame);
      case "replay_end":
        return this.#end(frame);
      case "image":
      case "update":
      case "unsubscribed":
        return this.#moving === undefined ? this.#data(frame) : undefined;
      default:
        return undefined;
    }
  }

  #subscribed(frame) {
    // Closed while it was starting.
    if (this.phase === "closed") return this.#wire.send({ op: "unsubscribe", replay: frame.replay });
    const moved = frame.id === this.#moving;
    // An answer to a command before the newest move says nothing about where it is.
    if (this.#moving !== undefined && !moved) return undefined;
    this.name = frame.replay;
    this.span = { first: frame.span.first, last: Math.max(frame.span.last, this.span?.last ?? 0) };
    this.#hold(frame.at);
    if (moved) this.#move(frame.chs);
    const waiting = this.#waiting;
    this.#waiting = {};
    this.phase = "playing";
    if (Object.keys(waiting).length > 0) {
      this.#change(waiting);
    } else {
      this.paused = frame.paused;
      this.speed = frame.speed;
      this.#onState(this);
    }
    return undefined;
  }

  /** It is elsewhere: channels that are not open there have no document. */
  #move(chs) {
    this.#moving = undefined;
    for (const [name, position] of Object.entries(chs)) {
      let channel = this.#channels.get(name);
      if (channel === undefined) {
        channel = new Channel(name);
        this.#channels.set(name, channel);
      }
      if (position.error) channel.error = { code: position.error, message: "there is no recording of it" };
      if (position.epoch === undefined) channel.data = undefined;
      channel.health = judgeRecorded(channel);
    }
  }

  /** A command was refused. One that changes it has no effect; the one that starts it is the end. */
  #refused(frame) {
    if (this.phase === "closed") return;
    if (this.phase === "starting") {
      this.error = frame;
      this.#wire.forget();
      this.#enter("refused");
    } else if (frame.id === this.#moving) {
      this.#moving = undefined;
    }
  }

  #end(frame) {
    this.name = undefined;
    this.#moving = undefined;
    if (frame.why === "unsubscribed" && this.phase === "closed") return;
    if (this.span) this.#hold(Math.max(this.#at, frame.why === "end" ? this.span.last : 0));
    this.why = frame.why;
    this.#enter("ended");
  }

  #data(frame) {
    const channel = this.#channels.get(frame.ch);
    if (channel === undefined) return;
    const { type } = frame;
    if (type === "update") {
      if (channel.data === undefined) return;
      if (frame.patch !== undefined) channel.data = mergePatch(channel.data, frame.patch);
    } else {
      channel.data = frame.data;
      channel.epoch = frame.epoch;
    }
    if (type !== "unsubscribed") {
      channel.seq = frame.seq;
      channel.delivered = frame.seq;
      channel.at = frame.at;
      channel.heard = this.#wire.now();
      const at = frame.at?.pub;
      if (at && at > this.span.last) this.span.last = at;
      if (at && this.speed === "max") this.#hold(at);
    }
    channel.health = judgeRecorded(channel);
    this.#onChange(channel, { kind: type === "unsubscribed" ? "health" : type, patch: frame.patch, events: frame.events ?? [] });
  }
}

/** `replay`, or what was wrong with the source when it was recorded. */
function judgeRecorded({ error, data }) {
  if (error) return "refused";
  if (data === undefined) return "waiting";
  const { feed } = data;
  return data.life === "ended" || feed === undefined || feed === "live" ? "replay" : feed;
}

export class Stream {
  #url;
  #protocols;
  #Socket;
  #clock;
  #onState;

  #socket;
  #phase = "connecting";
  #detail = {};
  #openedAt;
  #lastFrameAt = 0;
  #lastPingAt = 0;
  #bye;
  #refusal;
  #backoff;
  #retryTimer;
  #reviewTimer;
  #reviewAt = Infinity;

  #nextId = 1;
  #subscriptions = new Map();
  #channels = new Map();
  #pings = new Map();
  #offsets = [];
  #beatMs = DEFAULT_BEAT_MS;
  // Of a command with the positions of a pattern's channels.
  #fromBytes = DEFAULT_COMMAND_BYTES;
  // Commands under way that resume a pattern's channel by its name, by id.
  #resuming = new Map();
  #replays = new Set();
  // The replay that a command concerns, by the command's id.
  #replayCommands = new Map();

  /**
   * `url`: `ws://host/stream/v1`. Options:
   * - `key`, or `protocols`: the list to offer, or a function that makes one for each connection
   *   (a promise of one will do: a ticket works once, so each attempt must buy its own);
   * - `onState(state)`: called when `stream.state` changes;
   * - `WebSocket`, `clock: {now, setTimeout, clearTimeout}`, `random`: replaced by tests, and by
   *   programs whose platform has no `WebSocket`.
   */
  constructor(url, options = {}) {
    this.#url = url;
    this.#protocols =
      options.protocols ?? (options.key ? ["matchwire.v1", "token", options.key] : ["matchwire.v1"]);
    this.#Socket = options.WebSocket ?? globalThis.WebSocket;
    this.#clock = options.clock ?? systemClock;
    this.#onState = options.onState ?? (() => {});
    this.#backoff = new Backoff(options.random ?? Math.random);
    /** Of the newest `lag` frame: what this connection is behind by; undefined when it is not. */
    this.lag = undefined;
    /** The hub's error frame while channels of a pattern are left out: there are too many for a socket. */
    this.limited = undefined;
    /** Frames received on all connections so far. */
    this.frames = 0;
    /** What the hub offers in addition, such as `replay`. */
    this.features = [];
    /** The name of the current connection, to report to the hub's operator. */
    this.conn = undefined;
    this.#connect();
  }

  /**
   * `phase` is `connecting`, `open`, `waiting` (then `retryAt`, local milliseconds, and `isFixed` if
   * the hub named that time) or `closed` (for good). `code`, `why` and `message` say how the last connection ended.
   */
  get state() {
    return { phase: this.#phase, attempt: this.#backoff.attempt, ...this.#detail };
  }

  /** The hub's clock now, in microseconds since the Unix epoch. */
  serverNow() {
    return this.#clock.now() * 1000 + this.clockOffset();
  }

  /** What to add to local microseconds: from the sample with the shortest round trip. */
  clockOffset() {
    return this.#bestOffset()?.offset ?? 0;
  }

  /** The shortest recent round trip in milliseconds; undefined before the first pong. */
  roundTripMs() {
    const rtt = this.#bestOffset()?.rtt;
    return Number.isFinite(rtt) ? rtt : undefined;
  }

  channel(name) {
    return this.#channels.get(name);
  }

  /**
   * Follows `ch`, which may hold `*` for a segment. `onChange(channel, change)` is called after each
   * frame and each change of health; `change` is `{kind, events, patch, missed, merged}`:
   * `kind` is `image`, `update` or `health`; `missed` is set on an image that replaced a document
   * across something not delivered one by one (`{from, to, why}`), `merged` on an update that stands
   * for several (`{n, why}`). Parameters as in the protocol: `every_ms`, `on_slow`, `lag`; the first
   * to subscribe to a name decides them. `known` is a channel with a document, such as that of a replay,
   * from whose position it goes on. Returns a function that ends it.
   */
  subscribe(ch, onChange, params = {}, known = undefined) {
    let subscription = this.#subscriptions.get(ch);
    if (subscription === undefined) {
      subscription = new Subscription(ch, params);
      this.#subscriptions.set(ch, subscription);
      if (!subscription.pattern) this.#open(ch, known);
      if (this.#phase === "open") this.#ask(subscription);
    }
    // Wrapped, so that the same function subscribed twice is two subscriptions.
    const listener = (channel, change) => onChange(channel, change);
    subscription.listeners.add(listener);
    for (const channel of this.#covered(subscription)) {
      if (channel.data !== undefined) this.#call(listener, channel, { kind: "image", events: [] });
    }
    return () => this.#drop(subscription, listener);
  }

  /**
   * Plays the recording of channels. Options: `from` (`start`, or `{at}` in microseconds), `speed` (a
   * number, or `max`), `onChange(channel, change)` as of `subscribe`, and `onState(replay)`, called when
   * its phase or position changes other than by time.
   */
  replay(chs, options) {
    let replay;
    const wire = {
      now: () => this.#clock.now(),
      forget: () => this.#replays.delete(replay),
      send: (command) => {
        const id = this.#nextId++;
        queueMicrotask(() => {
          if (this.#phase !== "open") return;
          this.#replayCommands.set(id, replay);
          this.#send({ ...command, id });
        });
        return id;
      },
    };
    replay = new Replay(wire, chs, options);
    this.#replays.add(replay);
    if (this.#phase !== "open") replay.lost();
    return replay;
  }

  /**
   * Tries at once instead of at the end of the wait, because the caller knows better (the network
   * came back, a person pressed the button). Not when the hub itself named the time: its delays are
   * spread so that clients do not return all together.
   */
  wake() {
    if (this.#phase !== "waiting" || this.#detail.isFixed) return;
    this.#clock.clearTimeout(this.#retryTimer);
    this.#connect();
  }

  close() {
    this.#discard(1000);
    this.#clock.clearTimeout(this.#retryTimer);
    this.#enter("closed", { why: "asked" });
  }

  // ------------------------------------------------------------------------------- connection

  #connect() {
    this.#enter("connecting", {});
    if (typeof this.#protocols !== "function") return this.#dial(this.#protocols);
    Promise.resolve()
      .then(this.#protocols)
      .then(
        (protocols) => this.#phase === "connecting" && this.#dial(protocols),
        (error) => this.#phase === "connecting" && this.#lost({ message: String(error) }),
      );
  }

  #dial(protocols) {
    const socket = new this.#Socket(this.#url, protocols);
    this.#socket = socket;
    this.#openedAt = undefined;
    this.#bye = undefined;
    this.#refusal = undefined;
    this.#lastFrameAt = this.#clock.now();
    // Handlers check that the socket is the current one: a discarded one may send for minutes.
    socket.onmessage = (message) => socket === this.#socket && this.#receive(message.data);
    socket.onclose = (close) =>
      socket === this.#socket && this.#lost({ code: close.code, why: close.reason });
    socket.onerror = () => {};
    this.#reviewBy(this.#clock.now() + CONNECT_TIMEOUT_MS);
  }

  #discard(code) {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    try {
      socket.close(code);
    } catch {
      // A socket that is not open yet may throw; its events are ignored either way.
    }
  }

  #lost({ code, why, message }) {
    const now = this.#clock.now();
    const healthy = this.#openedAt !== undefined && now - this.#openedAt >= HEALTHY_AFTER_MS;
    if (healthy) this.#backoff.reset();
    this.#discard(1000);
    this.#pings.clear();
    this.lag = undefined;

    const said = this.#refusal?.message ?? message;
    if (FINAL_CODES.has(code)) {
      this.#enter("closed", { code, why: this.#bye?.why ?? why, message: said ?? FINAL_CODES.get(code) });
      return;
    }
    // Counted even when the hub names the time, so that a refusal after it waits longer.
    const own = this.#backoff.next();
    const isFixed = Number.isFinite(this.#bye?.reconnect_after_ms);
    const wait = isFixed ? Math.max(0, this.#bye.reconnect_after_ms) : own;
    this.#enter("waiting", { code, why: this.#bye?.why ?? why, message: said, isFixed, retryAt: now + wait });
    this.#retryTimer = this.#clock.setTimeout(() => this.#connect(), wait);
  }

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
      for (const subscription of this.#subscriptions.values()) subscription.pending = undefined;
      this.#resuming.clear();
      this.#replayCommands.clear();
      for (const replay of this.#replays) replay.lost();
    }
    this.#onState(this.state);
    this.#review();
  }

  #send(command) {
    this.#socket.send(JSON.stringify(command));
  }

  // ------------------------------------------------------------------------------------ frames

  #receive(text) {
    let frame;
    try {
      frame = JSON.parse(text);
    } catch {
      // The peer does not follow the protocol, so its later frames cannot be trusted either.
      return this.#lost({ message: "a frame was not JSON" });
    }
    this.#lastFrameAt = this.#clock.now();
    this.frames += 1;
    if (frame.replay !== undefined || this.#replayCommands.has(frame.id)) return this.#replayed(frame);
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
        return this.#unsubscribed(frame);
      case "entitlement":
        return this.#entitlement(frame);
      case "error":
        return this.#error(frame);
      case "pong":
        return this.#pong(frame);
      case "lag":
        this.lag = frame.queued_bytes > 0 ? frame : undefined;
        return this.#onState(this.state);
      case "bye":
        this.#bye = frame;
        return undefined;
      default:
        // A later hub may send more; a client that does not know it loses nothing.
        return undefined;
    }
  }

  #hello(frame) {
    if (this.#phase !== "connecting") return;
    const now = this.#clock.now();
    this.#openedAt = now;
    this.#lastPingAt = now;
    this.conn = frame.conn;
    this.server = frame.server;
    this.features = frame.features ?? [];
    this.#beatMs = frame.beat_ms ?? DEFAULT_BEAT_MS;
    const { command_bytes, from_bytes } = frame.limits ?? {};
    this.#fromBytes = from_bytes ?? command_bytes ?? DEFAULT_COMMAND_BYTES;
    this.limited = undefined;
    // Samples of an earlier connection may come from before a sleep or a step of the clock.
    this.#offsets = [{ offset: frame.now - now * 1000, rtt: Infinity }];
    this.#enter("open", {});
    for (const subscription of this.#subscriptions.values()) this.#ask(subscription);
    for (const replay of this.#replays) replay.connected();
    this.#ping();
    this.#reviewBy(now + this.#beatMs);
  }

  #replayed(frame) {
    const asked = this.#replayCommands.get(frame.id);
    this.#replayCommands.delete(frame.id);
    // The answer to a subscription brings the name by which its frames are known.
    const named = () => [...this.#replays].find((replay) => replay.name === frame.replay);
    (asked ?? named())?.receive(frame);
  }

  #subscribed(frame) {
    const subscription = this.#answered(frame);
    if (subscription?.pattern) return;
    const channel = this.#channels.get(subscription?.ch ?? this.#resumed(frame));
    if (channel === undefined) return;
    channel.error = undefined;
    if (frame.resumed) {
      channel.synced = true;
      channel.heard = this.#clock.now();
    } else {
      channel.imageDue = frame.why ?? "subscribed";
    }
    this.#judge(channel);
  }

  #image(frame) {
    const channel = this.#open(frame.ch);
    if (channel === undefined) return;
    const continues = channel.epoch === frame.epoch && channel.imageDue !== "ahead";
    const known = channel.data !== undefined;
    const missed =
      known && !(continues && frame.seq <= channel.seq)
        ? { from: channel.seq, to: frame.seq, why: channel.imageDue ?? (continues ? "image" : "epoch") }
        : undefined;

    channel.data = frame.data;
    channel.epoch = frame.epoch;
    channel.seq = frame.seq;
    channel.at = frame.at;
    // An image may be older than what we had and be overtaken again by updates we already know:
    // their values are due, their events are not.
    channel.delivered = continues ? Math.max(channel.delivered, frame.seq) : frame.seq;
    this.#current(channel);
    this.#notify(channel, { kind: "image", events: [], missed });
  }

  #update(frame) {
    const channel = this.#channels.get(frame.ch);
    // Updates that were on their way when an image was announced belong to a document we give up.
    if (channel === undefined || channel.data === undefined || channel.imageDue) return;
    if (frame.seq <= channel.seq) return;
    if (frame.prev > channel.seq) return this.#missing(channel);

    if (frame.patch !== undefined) channel.data = mergePatch(channel.data, frame.patch);
    const events = frame.seq > channel.delivered ? (frame.events ?? []) : [];
    channel.delivered = Math.max(channel.delivered, frame.seq);
    channel.seq = frame.seq;
    channel.at = frame.at;
    this.#current(channel);
    const merged = frame.n > 1 ? { n: frame.n, why: frame.why } : undefined;
    this.#notify(channel, { kind: "update", patch: frame.patch, events, merged });
  }

  #resync(frame) {
    const channel = this.#channels.get(frame.ch);
    if (channel === undefined) return;
    channel.imageDue = frame.why ?? "resync";
    channel.synced = false;
    this.#judge(channel);
  }

  /** The document is the newest as of now: it was just written. */
  #current(channel) {
    channel.imageDue = undefined;
    channel.synced = true;
    channel.error = undefined;
    channel.heard = this.#clock.now();
    channel.doubts = 0;
    if (channel.owed && channel.seq >= channel.owed.seq) channel.owed = undefined;
    this.#reviewBy(channel.heard + channel.staleAfterMs);
  }

  #beat(frame) {
    const now = this.#clock.now();
    for (const [name, head] of Object.entries(frame.heads ?? {})) {
      const channel = this.#open(name);
      if (channel === undefined) continue;
      if (channel.data !== undefined && !channel.imageDue && head <= channel.seq) {
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

  /** Something is missing. Requests it from the current position; if that has failed, requests the image. */
  #missing(channel) {
    channel.synced = false;
    // One answer is enough: with two subscriptions, the exact one provides it.
    const covering = this.#covering(channel.name);
    const subscription = covering.find((s) => !s.pattern) ?? covering[0];
    // While a request is pending, more such updates are expected: they cross it on the wire.
    const patience = 3 * this.#beatMs;
    if (subscription.pending && this.#clock.now() - subscription.requestedAt < patience) return;
    channel.doubts += 1;
    // Subscribing to a pattern again covers nothing new: unsubscribe before starting elsewhere.
    if (subscription.pattern) this.#send({ op: "unsubscribe", id: this.#nextId++, ch: subscription.ch });
    this.#ask(subscription);
    this.#judge(channel);
  }

  #unsubscribed(frame) {
    if (frame.id !== undefined && frame.id !== null) return;
    this.#gone(frame);
  }

  /**
   * The hub has ended a channel on its own. A subscription by name keeps the last document, marked
   * as such; a pattern drops it.
   */
  #gone(frame) {
    const channel = this.#channels.get(frame.ch);
    if (channel === undefined) return;
    channel.error = { code: "not_tracked", message: "the hub no longer follows it", ...frame, retry: false };
    this.#judge(channel);
    if (!this.#subscriptions.has(frame.ch)) this.#channels.delete(frame.ch);
  }

  /** An add-on has begun or ended. Ended channels count as refused; the hub sends new channels itself. */
  #entitlement(frame) {
    const message = "an add-on that it needs has ended";
    for (const name of frame.ended) {
      const channel = this.#channels.get(name);
      if (channel === undefined) continue;
      channel.error = { code: "not_entitled", message, ch: name, retry: false };
      this.#judge(channel);
      if (!this.#subscriptions.has(name)) this.#channels.delete(name);
    }
  }

  #error(frame) {
    const subscription = this.#answered(frame);
    if (subscription) return this.#refuse(subscription, frame);
    const resumed = this.#resumed(frame);
    // It ended while we were away.
    if (resumed !== undefined) return frame.code === "not_tracked" ? this.#gone({ ...frame, ch: resumed }) : undefined;
    if (frame.code === "limit" && this.#subscriptions.has(frame.ch)) {
      this.limited = frame;
      return this.#onState(this.state);
    }
    this.#refusal = frame;
    return undefined;
  }

  #refuse(subscription, error) {
    for (const channel of this.#covered(subscription)) {
      if (this.#covering(channel.name).length > 1) continue;
      channel.error = error;
      this.#judge(channel);
    }
    if (error.retry) {
      const again = () => {
        const wanted = this.#subscriptions.get(subscription.ch) === subscription;
        if (wanted && this.#phase === "open" && !subscription.pending) this.#ask(subscription);
      };
      this.#clock.setTimeout(again, this.#beatMs);
    }
  }

  // ----------------------------------------------------------------------- clock and liveness

  #ping() {
    const id = this.#nextId++;
    this.#lastPingAt = this.#clock.now();
    this.#pings.set(id, this.#lastPingAt);
    this.#send({ op: "ping", id });
  }

  #pong(frame) {
    const sent = this.#pings.get(frame.id);
    if (sent === undefined) return;
    this.#pings.delete(frame.id);
    const now = this.#clock.now();
    // The hub read its clock somewhere between the two; the middle errs by half the round trip at most.
    this.#offsets.push({ offset: frame.now - ((sent + now) / 2) * 1000, rtt: now - sent });
    if (this.#offsets.length > OFFSET_SAMPLES) this.#offsets.shift();
  }

  #bestOffset() {
    let best;
    for (const sample of this.#offsets) {
      if (best === undefined || sample.rtt <= best.rtt) best = sample;
    }
    return best;
  }

  /** Handles what depends on time: a silent socket, a stale document. */
  #review() {
    const now = this.#clock.now();
    if (this.#phase === "connecting" && this.#socket) {
      if (now - this.#lastFrameAt >= CONNECT_TIMEOUT_MS) return this.#lost({ message: "no answer" });
    }
    if (this.#phase === "open") {
      // A half-open connection never closes by itself: ask after two beats, give up after three.
      const silent = now - this.#lastFrameAt;
      if (silent >= 3 * this.#beatMs) return this.#lost({ message: "the connection fell silent" });
      const overdue = silent >= 2 * this.#beatMs && this.#pings.size === 0;
      if (overdue || now - this.#lastPingAt >= PING_EVERY_MS) this.#ping();
    }
    let next = this.#phase === "open" ? now + this.#beatMs : Infinity;
    if (this.#phase === "connecting") next = this.#lastFrameAt + CONNECT_TIMEOUT_MS;
    for (const channel of [...this.#channels.values()]) {
      this.#judge(channel);
      if (channel.health === "live") next = Math.min(next, channel.heard + channel.staleAfterMs);
    }
    this.#reviewBy(next);
    return undefined;
  }

  /** One timer for all deadlines. Frames only move them later, so that it may come early, never late. */
  #reviewBy(at) {
    if (at >= this.#reviewAt || this.#phase === "closed") return;
    this.#clock.clearTimeout(this.#reviewTimer);
    this.#reviewAt = at;
    this.#reviewTimer = this.#clock.setTimeout(
      () => {
        this.#reviewAt = Infinity;
        this.#review();
      },
      Math.max(0, at - this.#clock.now()),
    );
  }

  #judge(channel) {
    const health = channel.judge(this.#phase === "open", this.#clock.now());
    if (health === channel.health) return;
    channel.health = health;
    this.#emit(channel, { kind: "health", events: [] });
  }

  // ---------------------------------------------------------------- subscriptions and channels

  #ask(subscription) {
    subscription.pending = this.#nextId++;
    subscription.requestedAt = this.#clock.now();
    const command = { op: "subscribe", id: subscription.pending, ch: subscription.ch, ...subscription.params };
    if (subscription.pattern) this.#askAll(subscription, command);
    else this.#send(this.#fromOne(command));
  }

  /**
   * Resumes all channels of a pattern. Those whose positions find no room in the command are resumed by
   * name before it, and given back to the pattern behind it, so that no event is lost however many
   * there are.
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

  /** The name of the channel that a frame answers for, where it was resumed by name for a pattern. */
  #resumed(frame) {
    const name = this.#resuming.get(frame.id);
    this.#resuming.delete(frame.id);
    return name;
  }

  #fromOne(command) {
    const channel = this.#channels.get(command.ch);
    const from = channel.doubts < 2 ? channel.position() : undefined;
    return from ? { ...command, from } : command;
  }

  /** A command with as many positions as it may carry, and the channels whose positions it has no room for. */
  #fromAll(subscription, command) {
    const from = {};
    const rest = [];
    const encoder = new TextEncoder();
    const bytes = (value) => encoder.encode(JSON.stringify(value)).length;
    let size = bytes({ ...command, from });
    for (const channel of this.#covered(subscription)) {
      const position = channel.doubts < 2 ? channel.position() : undefined;
      // One that is followed by name as well resumes by its own command.
      if (position === undefined || this.#subscriptions.has(channel.name)) continue;
      size += bytes({ [channel.name]: position });
      if (size > this.#fromBytes) rest.push(channel);
      else from[channel.name] = position;
    }
    return [Object.keys(from).length > 0 ? { ...command, from } : command, rest];
  }

  /** The subscription that a frame answers, now no longer pending. */
  #answered(frame) {
    if (frame.id === undefined || frame.id === null) return undefined;
    for (const subscription of this.#subscriptions.values()) {
      if (subscription.pending !== frame.id) continue;
      subscription.pending = undefined;
      return subscription;
    }
    return undefined;
  }

  #drop(subscription, listener) {
    if (!subscription.listeners.delete(listener) || subscription.listeners.size > 0) return;
    this.#subscriptions.delete(subscription.ch);
    for (const channel of this.#covered(subscription)) {
      if (this.#covering(channel.name).length === 0) this.#channels.delete(channel.name);
    }
    if (this.#phase === "open") this.#send({ op: "unsubscribe", id: this.#nextId++, ch: subscription.ch });
  }

  /** The channel of this name, made if a subscription covers it; else undefined: it was given up. */
  #open(name, known) {
    let channel = this.#channels.get(name);
    if (channel === undefined && this.#covering(name).length > 0) {
      channel = new Channel(name);
      if (known?.data !== undefined) {
        const { data, epoch, seq, at, heard, delivered } = known;
        Object.assign(channel, { data, epoch, seq, at, heard, delivered });
      }
      channel.health = channel.judge(this.#phase === "open", this.#clock.now());
      this.#channels.set(name, channel);
    }
    return channel;
  }

  #covering(name) {
    return [...this.#subscriptions.values()].filter((subscription) => subscription.covers(name));
  }

  #covered(subscription) {
    return [...this.#channels.values()].filter((channel) => subscription.covers(channel.name));
  }

  /** Notifies listeners of a frame, in one call with the change of health that it causes. */
  #notify(channel, change) {
    channel.health = channel.judge(this.#phase === "open", this.#clock.now());
    this.#emit(channel, change);
  }

  #emit(channel, change) {
    for (const subscription of this.#covering(channel.name)) {
      for (const listener of [...subscription.listeners]) this.#call(listener, channel, change);
    }
  }

  #call(listener, channel, change) {
    try {
      listener(channel, change);
    } catch (error) {
      // A view that fails must not cost the position; it is reported like an uncaught error.
      if (globalThis.reportError) globalThis.reportError(error);
      else console.error(error);
    }
  }
}
