// The base of the tests of stream.js: a socket on which a test writes frame by frame, also what no hub would send.
// No network, no real time: a test that waits an hour takes as long as one that does not.

import { Stream } from "../src/stream.js";
import { ManualClock } from "../src/testing.js";

/** One client against a scripted hub. `random` is 1, so that each wait is its ceiling. */
export class Script {
  constructor(options = {}) {
    const script = this;
    this.clock = new ManualClock();
    this.sockets = [];
    this.states = [];
    this.seen = [];
    class ScriptedSocket {
      constructor(url, protocols) {
        this.url = url;
        this.protocols = protocols;
        this.sent = [];
        script.sockets.push(this);
      }
      send(text) {
        this.sent.push(JSON.parse(text));
      }
      close(code) {
        this.closedWith = code;
      }
    }
    this.stream = new Stream("ws://hub/stream/v1", {
      key: "K",
      WebSocket: ScriptedSocket,
      clock: this.clock,
      random: () => 1,
      onState: (state) => this.states.push(state.phase),
      ...options,
    });
  }

  get socket() {
    return this.sockets.at(-1);
  }

  /** The hub sends `frame` (an object, or text as it is). */
  say(...frames) {
    for (const frame of frames) {
      this.socket.onmessage({ data: typeof frame === "string" ? frame : JSON.stringify(frame) });
    }
    return this;
  }

  hello(more = {}) {
    const limits = { channels: 1000, command_bytes: 16384 };
    return this.say({ type: "hello", conn: "c1", now: this.clock.now() * 1000, beat_ms: 5000, limits, ...more });
  }

  hangUp(code = 1006, reason = "") {
    this.socket.onclose({ code, reason });
    return this;
  }

  /** Lets time pass with a beat every five seconds, as a healthy hub sends them. */
  beats(ms, heads = {}) {
    for (let passed = 0; passed < ms; passed += 5000) {
      this.clock.pass(Math.min(5000, ms - passed));
      this.say({ type: "beat", now: this.clock.now() * 1000, heads });
    }
    return this;
  }

  follow(ch, params) {
    return this.stream.subscribe(ch, (channel, change) => this.seen.push([channel.name, change]), params);
  }

  /** Commands sent on the current socket, without pings. */
  commands(op) {
    return this.socket.sent.filter((c) => (op ? c.op === op : c.op !== "ping"));
  }

  lastId() {
    return this.commands("subscribe").at(-1).id;
  }

  /** Answers the last subscribe. */
  subscribed(more) {
    const { id, ch } = this.commands("subscribe").at(-1);
    return this.say({ type: "subscribed", id, ch, every_ms: 0, on_slow: "merge", ...more });
  }

  image(ch, seq, data = {}, epoch = "e1") {
    return this.say({ type: "image", ch, epoch, seq, at: {}, data: { life: "live", feed: "live", stale_after_ms: 10_000, ...data } });
  }

  update(ch, prev, seq, patch, events, more = {}) {
    return this.say({ type: "update", ch, prev, seq, at: {}, patch, events, ...more });
  }

  events() {
    return this.seen.flatMap(([, change]) => change.events.map((event) => event.eid));
  }

  healths() {
    return this.seen.filter(([, change]) => change.kind === "health").length;
  }
}

/** A client that follows football/1 and stands at sequence 10 of epoch e1. */
export function following(data, params) {
  const script = new Script();
  script.follow("football/1", params);
  script.hello().subscribed({ epoch: "e1", seq: 10, resumed: false });
  script.image("football/1", 10, data);
  script.channel = script.stream.channel("football/1");
  return script;
}
