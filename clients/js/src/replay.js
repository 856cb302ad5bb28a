// A recording that is played over a stream's connection, beside what is live.
//
//   const replay = new Replay(stream, ["football/204849"], { speed: 16, onChange: (channel, change) => show(channel.data) });
//   replay.seek(micros); replay.pause(); replay.resume(); replay.close();

import { Channel } from "./channel.js";
import { mergePatch } from "./merge.js";
import { report } from "./report.js";

/** @import { ChannelChange, Health, HubError, Listener, ReplayOptions, ReplayPhase } from "./types.d.ts" */
/** @import { Stream } from "./stream.js" */

/**
 * A recording that plays, or has ended. `channel(name)`, `serverNow()` and `clockOffset()` are those of a
 * [`Stream`], so that a view shows it as it shows what is live. Its clock is the recorded time.
 */
export class Replay {
  /** @type {ReturnType<Stream["attach"]>} */
  #wire;
  /** @type {string[]} */
  #chs;
  /** @type {"start" | { at: number }} */
  #from;
  /** @type {Listener} */
  #onChange;
  /** @type {(replay: Replay) => void} */
  #onState;
  /** @type {Map<string, Channel>} */
  #channels = new Map();
  /**
   * The recorded time that was reached at the local time `#since`.
   * @type {number | undefined}
   */
  #at;
  #since = 0;
  /**
   * The id of the last command that moves it: until its answer, frames belong to the old position.
   * @type {number | undefined}
   */
  #moving;
  /**
   * The hub's `pause`, `speed` and `seek` that wait for the first answer.
   * @type {{ pause?: boolean, speed?: number | "max", seek?: { at: number } }}
   */
  #waiting = {};

  /**
   * @param {Pick<Stream, "attach">} stream of a hub that lists `replay` in its features
   * @param {string[]} chs
   * @param {ReplayOptions} [options]
   */
  constructor(stream, chs, { from = "start", speed = 1, onChange = () => {}, onState = () => {} } = {}) {
    this.#chs = chs;
    this.#onChange = onChange;
    this.#onState = onState;
    /**
     * `starting`, `playing`, `lost` (no connection), `ended` (see `why`), `refused` (see `error`), `closed`.
     * @type {ReplayPhase}
     */
    this.phase = "starting";
    /** A number, or `max`. */
    this.speed = speed;
    this.paused = false;
    /**
     * The name on this connection.
     * @type {string | undefined}
     */
    this.name = undefined;
    /**
     * The recorded times of the first and the last frame, in microseconds.
     * @type {{ first: number, last: number } | undefined}
     */
    this.span = undefined;
    /** @type {string | undefined} */
    this.why = undefined;
    /** @type {HubError | undefined} */
    this.error = undefined;
    this.#from = from;
    this.#wire = stream.attach(this);
    if (/** @type {ReplayPhase} */ (this.phase) !== "lost") this.#begin(from);
  }

  /** @param {string} name */
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

  /** @param {number | "max"} speed */
  setSpeed(speed) {
    this.#change({ speed });
  }

  /**
   * Moves it to a recorded time, in microseconds. One that has ended plays again from there.
   *
   * @param {number} at
   */
  seek(at) {
    if (this.phase === "ended") {
      this.#hold(at);
      this.#begin({ at });
      this.#announce();
    } else {
      this.#change({ seek: { at: Math.round(at) } });
    }
  }

  close() {
    if (this.name !== undefined) this.#wire.send({ op: "unsubscribe", replay: this.name });
    this.#wire.forget();
    this.#enter("closed");
  }

  /** @param {"start" | { at: number }} from */
  #begin(from) {
    const at = from === "start" ? from : { at: Math.round(from.at) };
    this.name = undefined;
    this.#moving = this.#wire.send({ op: "subscribe", chs: this.#chs, replay: { from: at, speed: this.speed } });
    // Without a connection it begins on the next one.
    this.phase = this.#moving === undefined ? "lost" : "starting";
    if (this.paused) this.#waiting.pause = true;
  }

  /** @param {{ pause?: boolean, speed?: number | "max", seek?: { at: number } }} change */
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
    this.#announce();
  }

  /** @param {number} at */
  #hold(at) {
    this.#at = at;
    this.#since = this.#wire.now();
  }

  /** @param {ReplayPhase} phase */
  #enter(phase) {
    this.phase = phase;
    this.#announce();
  }

  #announce() {
    try {
      this.#onState(this);
    } catch (error) {
      report(error);
    }
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
    if (this.phase === "lost") this.#begin(this.span && this.#at !== undefined ? { at: this.#at } : this.#from);
  }

  /** @param {any} frame */
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

  /** @param {any} frame */
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
      this.#announce();
    }
    return undefined;
  }

  /**
   * It is elsewhere: channels that are not open there have no document.
   *
   * @param {Record<string, any>} chs
   */
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

  /**
   * A command was refused. One that changes it has no effect; the one that starts it is the end.
   *
   * @param {any} frame
   */
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

  /** @param {any} frame */
  #end(frame) {
    this.name = undefined;
    this.#moving = undefined;
    if (frame.why === "unsubscribed" && this.phase === "closed") return;
    if (this.span) this.#hold(Math.max(this.#at ?? 0, frame.why === "end" ? this.span.last : 0));
    this.why = frame.why;
    this.#enter("ended");
  }

  /** @param {any} frame */
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
      if (at && this.span && at > this.span.last) this.span.last = at;
      if (at && this.speed === "max") this.#hold(at);
    }
    channel.health = judgeRecorded(channel);
    try {
      this.#onChange(channel, { kind: type === "unsubscribed" ? "health" : type, patch: frame.patch, events: frame.events ?? [] });
    } catch (error) {
      report(error);
    }
  }
}

/**
 * `replay`, or what was wrong with the source when it was recorded.
 *
 * @param {Channel} channel
 * @returns {Health}
 */
function judgeRecorded({ error, data }) {
  if (error) return "refused";
  if (data === undefined) return "waiting";
  const { feed } = data;
  return data.life === "ended" || feed === undefined || feed === "live" ? "replay" : feed;
}

