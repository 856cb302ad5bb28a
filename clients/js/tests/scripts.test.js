// The corpus of frame scripts (tools/conformance/README.md), against the stream with a clock moved by hand.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { sha256 } from "../src/hash.js";
import { Script } from "./script.js";

const FOLDER = new URL("../../../tools/conformance/scripts/", import.meta.url);
// How long the client may take to connect, to ask, or to give up a silent connection.
const PATIENCE_MS = 60_000;

/** One script. What the hub does goes in, what the script expects is compared. */
class Play {
  opened = 0;
  endedAt = 0;
  // Commands of this connection that are handled.
  handled = 0;
  muted = false;

  constructor(text) {
    [this.head, ...this.steps] = text.trim().split("\n").map((line) => JSON.parse(line));
    this.client = new Script();
    for (const ch of this.head.follow) this.client.follow(ch);
  }

  async run() {
    for (const [index, { after_ms, beyond, ...step }] of this.steps.entries()) {
      const [[kind, value]] = Object.entries(step);
      try {
        await this[kind](value, after_ms);
      } catch (error) {
        throw new Error(`line ${index + 2}, ${kind}: ${error.message}`, { cause: error });
      }
    }
  }

  /** Moves the clock from timer to timer. */
  passUntil(holds, what) {
    const { clock } = this.client;
    const until = clock.now() + PATIENCE_MS;
    while (!holds()) {
      const next = Math.min(...[...clock.timers.values()].map(({ at }) => at));
      if (!(next <= until)) assert.fail(what);
      clock.pass(Math.max(0, next - clock.now()));
      this.pong();
    }
  }

  pong() {
    if (this.muted) return;
    const { socket, clock } = this.client;
    for (const ping of socket.sent.filter(({ op, answered }) => op === "ping" && !answered)) {
      ping.answered = true;
      this.client.say({ type: "pong", id: ping.id, now: clock.now() * 1000 });
    }
  }

  open(hello, afterMs) {
    const { client } = this;
    if (this.opened) this.passUntil(() => client.sockets.length > this.opened, "the client does not come back");
    if (afterMs !== undefined) assert.ok(client.clock.now() >= this.endedAt + afterMs, "the client comes back too early");
    Object.assign(this, { opened: client.sockets.length, handled: 0, muted: false, hello });
    client.say(hello);
    this.pong();
  }

  subscribe(wanted) {
    const left = new Map(Object.entries(wanted));
    this.passUntil(() => this.#answer(left), `the client does not ask for ${Object.keys(wanted)}`);
  }

  #answer(left) {
    const { client, hello } = this;
    while (this.handled < client.socket.sent.length && left.size > 0) {
      const command = client.socket.sent[this.handled];
      this.handled += 1;
      if (command.op !== "subscribe" && command.op !== "unsubscribe") continue;
      const entries = (command.chs ?? [command]).map((it) => (typeof it === "string" ? { ch: it } : it));
      const size = Buffer.byteLength(JSON.stringify(command));
      const isLong = command.chs || entries.some(({ ch }) => ch.includes("*"));
      assert.ok(size <= hello.limits[isLong ? "from_bytes" : "command_bytes"], `a command of ${size} bytes`);
      assert.ok(!command.chs || hello.features.includes("batch"), "`chs` without the feature `batch`");
      if (command.op === "unsubscribe") {
        client.say({ type: "unsubscribed", id: command.id, ch: command.ch });
        continue;
      }
      const answers = {};
      for (const { ch, from = null } of entries) {
        const want = left.get(ch);
        assert.ok(want, `nobody expects a subscription to ${ch}`);
        left.delete(ch);
        assert.deepEqual(from, want.from, `${ch} from another position`);
        answers[ch] = want.answer;
      }
      client.say(answered(command, answers));
    }
    return left.size === 0;
  }

  send(frame) {
    this.client.say(frame);
  }

  close({ code, reason }) {
    this.endedAt = this.client.clock.now();
    this.client.hangUp(code, reason);
  }

  cut() {
    this.endedAt = this.client.clock.now();
    this.client.hangUp();
  }

  mute() {
    this.muted = true;
  }

  wait_ms(ms) {
    this.client.clock.pass(ms);
    this.pong();
  }

  async expect({ ch, epoch, seq, events, health, gone, sha256: expected }) {
    const { client } = this;
    const isOf = ([name]) => name === ch;
    const seen = client.seen.filter(isOf).flatMap(([, change]) => change.events.map(({ eid }) => eid));
    assert.deepEqual(seen, events, `events of ${ch}`);
    client.seen = client.seen.filter((it) => !isOf(it));
    const channel = client.stream.channel(ch);
    if (gone) return assert.ok(channel === undefined || channel.health === "refused", `${ch} is still there`);
    assert.ok(channel, `${ch} is not there`);
    assert.deepEqual([channel.epoch, channel.seq, channel.health], [epoch, seq, health]);
    return assert.equal(await sha256(channel.data), expected, JSON.stringify(channel.data));
  }
}

/** The hub's answer to a `subscribe`. */
function answered({ id, chs, every_ms = 0 }, answers) {
  const options = { every_ms, on_slow: "merge" };
  if (chs) return { type: "subscribed", id, chs: answers, ...options };
  const [[ch, { error, addons, ...answer }]] = Object.entries(answers);
  if (error) return { type: "error", id, ch, code: error, message: "refused", addons, retry: error === "not_tracked" };
  return { type: "subscribed", id, ch, ...options, ...answer };
}

const scripts = readdirSync(FOLDER).filter((name) => name.endsWith(".jsonl"));

test("there are scripts", () => assert.ok(scripts.length > 30));

for (const name of scripts) {
  test(`script ${name}`, () => new Play(readFileSync(new URL(name, FOLDER), "utf8")).run());
}

test("a wrong hash is found", async () => {
  const play = new Play(readFileSync(new URL("patches.jsonl", FOLDER), "utf8"));
  play.steps.find((step) => step.expect).expect.sha256 = "0";
  await assert.rejects(play.run(), /line 5, expect/);
});
