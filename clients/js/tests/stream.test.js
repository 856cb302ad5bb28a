// The stream client as a state machine: frames and time in, documents, events and commands out.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { mergePatch } from "../src/merge.js";
import { following, Script } from "./script.js";

describe("merge patch", () => {
  // The table of RFC 7396, appendix A: original, patch, result.
  const cases = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [["a", "b"], ["c", "d"], ["c", "d"]],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, result] of cases) {
    test(`${JSON.stringify(target)} with ${JSON.stringify(patch)}`, () => {
      assert.deepEqual(mergePatch(target, patch), result);
    });
  }

  test("leaves the original unchanged and shares untouched branches", () => {
    const before = { score: { home: 0 }, stats: { home: {} } };
    const after = mergePatch(before, { score: { home: 1 } });
    assert.equal(before.score.home, 0);
    assert.notEqual(after.score, before.score);
    assert.equal(after.stats, before.stats);
  });

  test("a key named __proto__ is only a key", () => {
    const after = mergePatch({}, JSON.parse('{"__proto__":{"admin":true}}'));
    assert.equal(after.admin, undefined);
    assert.equal({}.admin, undefined);
    assert.deepEqual(Object.keys(after), ["__proto__"]);
  });
});

describe("connecting", () => {
  test("the key travels as a subprotocol, never in the address", () => {
    const script = new Script();
    assert.deepEqual(script.socket.protocols, ["matchwire.v1", "token", "K"]);
    assert.equal(script.socket.url, "ws://hub/stream/v1");
  });

  test("subscribes only after hello", () => {
    const script = new Script();
    script.follow("football/1");
    script.follow("tennis");
    assert.equal(script.socket.sent.length, 0);
    script.hello();
    assert.deepEqual(script.commands().map((c) => [c.op, c.ch]), [["subscribe", "football/1"], ["subscribe", "tennis"]]);
  });

  test("protocols may be created for each connection", async () => {
    let bought = 0;
    const script = new Script({ protocols: async () => ["matchwire.v1", "ticket", `T${++bought}`] });
    await new Promise((resolve) => setImmediate(resolve));
    script.hangUp();
    script.clock.pass(500);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(script.sockets.map((s) => s.protocols[2]), ["T1", "T2"]);
  });

  test("a name followed twice is one subscription on the wire, which ends with the last listener", () => {
    const script = new Script();
    const first = script.follow("football/1");
    script.hello().subscribed({ epoch: "e1", seq: 10, resumed: false }).image("football/1", 10);
    const second = script.follow("football/1");
    assert.equal(script.seen.length, 2, "the second has its image at once");
    first();
    assert.equal(script.commands("unsubscribe").length, 0);
    second();
    second();
    assert.equal(script.commands("unsubscribe").length, 1);
    script.update("football/1", 10, 11, { x: 1 });
    assert.equal(script.stream.channel("football/1"), undefined);
  });

  test("frames of an unknown type are ignored", () => {
    const script = following();
    script.say({ type: "aurora" }).update("football/1", 10, 11, { x: 1 });
    assert.equal(script.channel.data.x, 1);
  });

  test("a frame that is not JSON ends the connection", () => {
    const script = following().say("<html>");
    assert.equal(script.stream.state.phase, "waiting");
  });

  test("a listener that throws costs neither the position nor the other listeners", (t) => {
    const thrown = [];
    t.mock.method(console, "error", (error) => thrown.push(error.message));
    const script = following();
    script.stream.subscribe("football/1", (_, change) => {
      if (change.kind === "update") throw new Error("broken view");
    });
    script.follow("football/1");
    script.update("football/1", 10, 11, { x: 1 });
    assert.equal(script.channel.seq, 11);
    assert.equal(script.seen.at(-1)[1].kind, "update");
    assert.deepEqual(thrown, ["broken view"]);
  });
});

describe("sequence", () => {
  test("updates apply in order", () => {
    const script = following({ score: { home: 0, away: 0 } });
    script.update("football/1", 10, 11, { score: { home: 1 } }).update("football/1", 11, 12, { score: { away: 1 } });
    assert.deepEqual(script.channel.data.score, { home: 1, away: 1 });
    assert.equal(script.channel.seq, 12);
  });

  test("an update at or below our own position is skipped, with its events", () => {
    const script = following({ x: 0 });
    script.update("football/1", 8, 9, { x: 9 }, [{ eid: "a" }]).update("football/1", 9, 10, { x: 9 }, [{ eid: "b" }]);
    assert.equal(script.channel.data.x, 0);
    assert.deepEqual(script.events(), []);
  });

  test("an update that starts before our position applies, because its values are absolute", () => {
    const script = following({ x: 0 });
    script.update("football/1", 7, 12, { x: 5 }, undefined, { n: 5, why: "rate" });
    assert.equal(script.channel.data.x, 5);
    assert.equal(script.channel.seq, 12);
    assert.deepEqual(script.seen.at(-1)[1].merged, { n: 5, why: "rate" });
  });

  test("a gap resumes once from our position, and nothing applies until the answer", () => {
    const script = following({ x: 0 });
    script.update("football/1", 11, 12, { x: 12 }).update("football/1", 12, 13, { x: 13 });
    assert.equal(script.channel.data.x, 0);
    assert.equal(script.channel.health, "catching_up");
    assert.equal(script.commands("subscribe").length, 2);
    assert.deepEqual(script.commands("subscribe")[1].from, { epoch: "e1", seq: 10 });

    script.subscribed({ epoch: "e1", seq: 10, resumed: true });
    script.update("football/1", 10, 13, { x: 13 }, [{ eid: "g" }], { n: 3, why: "resume" });
    assert.equal(script.channel.data.x, 13);
    assert.equal(script.channel.health, "live");
    assert.deepEqual(script.events(), ["g"]);
  });

  test("a gap that a resume does not close requests the image", () => {
    const script = following();
    script.update("football/1", 11, 12, {}).subscribed({ epoch: "e1", seq: 10, resumed: true });
    script.update("football/1", 11, 12, {});
    assert.equal(script.commands("subscribe").at(-1).from, undefined);
  });

  test("updates before any image are ignored", () => {
    const script = new Script();
    script.follow("football/1");
    script.hello().update("football/1", 3, 4, { x: 1 });
    assert.equal(script.stream.channel("football/1").data, undefined);
    assert.equal(script.commands("subscribe").length, 1);
  });
});

describe("images and resync", () => {
  test("an image in mid-stream replaces the document", () => {
    const script = following({ old: true });
    script.image("football/1", 14, { x: 1 });
    assert.equal(script.channel.data.old, undefined);
    assert.deepEqual(script.seen.at(-1)[1].missed, { from: 10, to: 14, why: "image" });
  });

  test("the first image misses nothing", () => {
    const script = following();
    assert.equal(script.seen[0][1].missed, undefined);
  });

  test("resync gives a reason, holds updates until the image, and reports to the listener what it missed", () => {
    const script = following({ x: 0 });
    script.say({ type: "resync", ch: "football/1", why: "slow", from: 10, to: 50 });
    assert.equal(script.channel.health, "catching_up");
    script.update("football/1", 10, 11, { x: 11 }, [{ eid: "early" }]);
    assert.equal(script.channel.data.x, 0);
    script.image("football/1", 50, { x: 50 });
    assert.deepEqual(script.seen.at(-1)[1].missed, { from: 10, to: 50, why: "slow" });
    script.update("football/1", 50, 51, { x: 51 });
    assert.equal(script.channel.data.x, 51);
    assert.equal(script.channel.health, "live");
  });

  test("a new epoch restarts the sequence, even at a lower number", () => {
    const script = following({ x: 0 });
    script.say({ type: "resync", ch: "football/1", why: "epoch", from: 10, to: 2 }).image("football/1", 2, { x: 2 }, "e2");
    script.update("football/1", 2, 3, { x: 3 }, [{ eid: "n" }]);
    assert.equal(script.channel.data.x, 3);
    assert.deepEqual(script.events(), ["n"]);
    assert.equal(script.seen.at(-2)[1].missed.why, "epoch");
    script.hangUp().clock.pass(500);
    script.hello();
    assert.deepEqual(script.commands("subscribe")[0].from, { epoch: "e2", seq: 3 });
  });

  test("an older image of the same epoch does not repeat known events", () => {
    const script = following();
    script.update("football/1", 10, 11, { x: 11 }, [{ eid: "g1" }]);
    script.image("football/1", 10).update("football/1", 10, 11, { x: 11 }, [{ eid: "g1" }]);
    script.update("football/1", 11, 12, { x: 12 }, [{ eid: "g2" }]);
    assert.equal(script.channel.data.x, 12);
    assert.deepEqual(script.events(), ["g1", "g2"]);
  });
});

describe("resume", () => {
  test("every connection resumes from the position reached", () => {
    const script = following();
    script.update("football/1", 10, 11, {}, [{ eid: "a" }]).hangUp();
    assert.equal(script.channel.health, "lost");
    script.clock.pass(500);
    script.hello();
    assert.deepEqual(script.commands("subscribe")[0].from, { epoch: "e1", seq: 11 });
    assert.equal(script.channel.health, "catching_up");
    script.subscribed({ epoch: "e1", seq: 11, resumed: true });
    script.update("football/1", 11, 12, {}, [{ eid: "b" }]).update("football/1", 12, 13, {}, [{ eid: "c" }]);
    assert.equal(script.channel.health, "live");
    assert.deepEqual(script.events(), ["a", "b", "c"]);
  });

  test("outside the window the image replaces the document and is marked", () => {
    const script = following();
    script.hangUp().clock.pass(500);
    script.hello().subscribed({ epoch: "e1", seq: 99, resumed: false, why: "window" });
    script.update("football/1", 98, 99, {}, [{ eid: "late" }]).image("football/1", 99);
    assert.deepEqual(script.seen.at(-1)[1].missed, { from: 10, to: 99, why: "window" });
    assert.deepEqual(script.events(), []);
  });

  test("disconnected after every frame, each event arrives exactly once and the document ends correct", () => {
    const script = following({ x: 0 });
    const hub = [];
    for (let seq = 11; seq <= 40; seq += 1) hub.push({ prev: seq - 1, seq, patch: { x: seq }, events: [{ eid: `e${seq}` }] });
    for (let round = 0; round < hub.length; round += 1) {
      // One update arrives, some are in flight when the line breaks, some were seen before it.
      const at = script.channel.seq;
      for (const u of hub.slice(Math.max(0, at - 12), at - 10 + 1)) script.update("football/1", u.prev, u.seq, u.patch, u.events);
      script.hangUp();
      script.clock.pass(script.stream.state.retryAt - script.clock.now());
      script.hello().subscribed({ epoch: "e1", seq: script.channel.seq, resumed: true });
    }
    assert.equal(script.channel.data.x, 40);
    assert.deepEqual(script.events(), hub.map((u) => u.events[0].eid));
  });

  test("frames on a discarded socket are ignored", () => {
    const script = following({ x: 0 });
    const old = script.socket;
    script.say("not JSON");
    old.onmessage({ data: JSON.stringify({ type: "update", ch: "football/1", prev: 10, seq: 11, patch: { x: 1 } }) });
    old.onclose({ code: 4401 });
    assert.equal(script.channel.data.x, 0);
    assert.equal(script.stream.state.phase, "waiting");
  });
});

describe("wildcards", () => {
  function followingAll() {
    const script = new Script();
    script.follow("football/*");
    script.hello().subscribed({ ch: "football/*", channels: 2 });
    return script.image("football/1", 5, { n: 1 }).image("football/2", 7, { n: 2 }, "e7");
  }

  test("each channel has its own name and sequence", () => {
    const script = followingAll();
    script.update("football/2", 7, 8, { n: 3 });
    assert.deepEqual(script.seen.map(([name]) => name), ["football/1", "football/2", "football/2"]);
    assert.equal(script.stream.channel("football/2").data.n, 3);
    assert.equal(script.stream.channel("football/1").data.n, 1);
  });

  test("a star matches one segment", () => {
    const script = followingAll();
    script.image("football/1/odds", 1).image("tennis/1", 1);
    assert.equal(script.stream.channel("football/1/odds"), undefined);
    assert.equal(script.stream.channel("tennis/1"), undefined);
  });

  test("resumes all channels by name, and a beat confirms those that were quiet", () => {
    const script = followingAll();
    script.hangUp().clock.pass(500);
    script.hello();
    assert.deepEqual(script.commands("subscribe")[0].from, {
      "football/1": { epoch: "e1", seq: 5 },
      "football/2": { epoch: "e7", seq: 7 },
    });
    script.subscribed({ channels: 2 });
    assert.equal(script.stream.channel("football/1").health, "catching_up");
    script.say({ type: "beat", now: 0, heads: { "football/1": 5, "football/2": 7 } });
    assert.equal(script.stream.channel("football/1").health, "live");
  });

  /** A client of 2,000 channels that has reconnected to a hub with these limits. */
  function cutOff(limits) {
    const script = new Script();
    script.follow("football/*");
    script.hello({ limits });
    for (let id = 1; id <= 2000; id += 1) script.image(`football/${id}`, id);
    script.hangUp().clock.pass(500);
    return script.hello({ limits });
  }

  for (const limits of [{ command_bytes: 16_384 }, { command_bytes: 16_384, from_bytes: 32_768 }, { command_bytes: 400 }]) {
    test(`2,000 channels all resume with any command limit: ${JSON.stringify(limits)}`, () => {
      const script = cutOff(limits);
      const positions = new Map();
      const after = [];
      let pattern;
      for (const command of script.commands()) {
        const size = JSON.stringify(command).length;
        if (command.ch === "football/*") {
          assert.ok(size <= (limits.from_bytes ?? limits.command_bytes), `${size} bytes`);
          for (const [name, { seq }] of Object.entries(command.from)) positions.set(name, seq);
          pattern = command;
        } else if (command.op === "subscribe") {
          assert.equal(pattern, undefined, "by name before the pattern, which would bring its image");
          assert.ok(size <= limits.command_bytes);
          positions.set(command.ch, command.from.seq);
        } else {
          assert.ok(pattern, "given back only when the pattern covers it");
          after.push(command.ch);
        }
      }
      assert.equal(positions.size, 2000);
      for (const [name, seq] of positions) assert.equal(name, `football/${seq}`);
      assert.equal(after.length, 2000 - Object.keys(pattern.from).length);
    });
  }

  test("answers by name change nothing, and the updates after them bring every event", () => {
    const script = cutOff({ command_bytes: 400 });
    const byName = script.commands("subscribe").filter((command) => command.ch !== "football/*");
    const [resumed, refused, ended] = byName;
    script.say({ type: "subscribed", id: resumed.id, ch: resumed.ch, epoch: "e1", seq: resumed.from.seq + 1, resumed: true });
    script.update(resumed.ch, resumed.from.seq, resumed.from.seq + 1, {}, [{ eid: "g1" }]);
    assert.deepEqual(script.events(), ["g1"]);
    assert.equal(script.stream.channel(resumed.ch).health, "live");
    script.say({ type: "subscribed", id: refused.id, ch: refused.ch, epoch: "e2", seq: 3, resumed: false, why: "epoch" });
    script.image(refused.ch, 3, {}, "e2");
    assert.equal(script.seen.at(-1)[1].missed.why, "epoch");
    script.say({ type: "error", id: ended.id, ch: ended.ch, code: "not_tracked", message: "no", retry: true });
    assert.equal(script.stream.channel(ended.ch), undefined);
    assert.equal(script.stream.state.phase, "open");
  });

  test("channels left out by the limit are reported once, and are no failure", () => {
    const script = followingAll();
    script.say({ type: "error", ch: "football/*", code: "limit", message: "too many", retry: false });
    assert.equal(script.stream.limited.code, "limit");
    assert.equal(script.stream.channel("football/1").health, "live");
    script.hangUp();
    assert.equal(script.stream.state.message, undefined, "the cut has another reason");
  });

  for (const features of [[], ["batch"]]) {
    test(`names are resumed before patterns, ${features[0] ?? "one by one"}`, () => {
      const script = new Script();
      script.follow("football/*");
      script.follow("football/1");
      script.follow("football/2", { every_ms: 250 });
      script.hello({ features });
      script.image("football/1", 5).image("football/2", 6).image("football/3", 7);
      script.hangUp().clock.pass(500);
      script.hello({ features });
      const asked = script.commands("subscribe").map(({ ch, chs, from }) => [ch ?? chs[0].ch, from ?? chs[0].from]);
      const at = (seq) => ({ epoch: "e1", seq });
      assert.deepEqual(asked, [["football/1", at(5)], ["football/2", at(6)], ["football/*", { "football/3": at(7) }]]);
    });
  }

  test("a match that a beat names but that never arrives is requested", () => {
    const script = followingAll();
    script.beats(15_000, { "football/1": 5, "football/2": 7, "football/3": 1 });
    assert.deepEqual(script.commands().map((c) => [c.op, c.ch]), [
      ["subscribe", "football/*"],
      ["unsubscribe", "football/*"],
      ["subscribe", "football/*"],
    ]);
    assert.equal(script.commands().at(-1).from["football/2"].seq, 7);
  });

  test("a match that the hub ends is reported once and removed, and may come back", () => {
    const script = followingAll();
    script.say({ type: "unsubscribed", ch: "football/1", why: "gone" });
    assert.equal(script.seen.at(-1)[1].kind, "health");
    assert.equal(script.stream.channel("football/1"), undefined);
    assert.equal(script.stream.channel("football/2").health, "live");
    script.image("football/1", 0, { n: 9 }, "e9");
    assert.equal(script.stream.channel("football/1").data.n, 9);
  });
});

describe("beats", () => {
  test("a head at our position keeps a quiet channel fresh", () => {
    const script = following();
    script.beats(60_000, { "football/1": 10 });
    assert.equal(script.channel.health, "live");
    assert.equal(script.commands("subscribe").length, 1);
  });

  test("one beat ahead of its values is not a loss", () => {
    const script = following();
    script.beats(5000, { "football/1": 11 }).update("football/1", 10, 11, { x: 1 }).beats(5000, { "football/1": 11 });
    assert.equal(script.commands("subscribe").length, 1);
  });

  test("a beat brings a pick to its head", () => {
    const script = new Script();
    script.follow("football/1", { pick: ["/score"], events: ["goal"] });
    script.hello().subscribed().image("football/1", 10);
    assert.deepEqual(script.commands("subscribe")[0].pick, ["/score"]);
    script.beats(30_000, { "football/1": 17 });
    assert.deepEqual([script.stream.channel("football/1").seq, script.stream.channel("football/1").health], [17, "live"], "the changes between had nothing of it");
    script.update("football/1", 10, 18, { score: 1 });
    assert.equal(script.stream.channel("football/1").data.score, 1);
    script.beats(10_000, { "football/1": 19 });
    assert.equal(script.commands("subscribe").length, 1);
    assert.equal(script.stream.channel("football/1").seq, 19);
  });

  test("still behind at the next beat, the client resumes from its position", () => {
    const script = following();
    script.beats(10_000, { "football/1": 12 });
    assert.deepEqual(script.commands("subscribe")[1].from, { epoch: "e1", seq: 10 });
  });

  test("a rate limit of the subscription is taken into account", () => {
    const script = following({}, { every_ms: 5000 });
    assert.equal(script.commands("subscribe")[0].every_ms, 5000);
    script.beats(10_000, { "football/1": 12 });
    assert.equal(script.commands("subscribe").length, 1);
    script.beats(5000, { "football/1": 12 });
    assert.equal(script.commands("subscribe").length, 2);
  });

  test("an announced image that does not arrive is requested", () => {
    const script = following();
    script.say({ type: "resync", ch: "football/1", why: "slow", from: 10, to: 20 });
    script.beats(10_000, { "football/1": 20 });
    assert.equal(script.commands("subscribe").length, 2);
  });
});

describe("freshness", () => {
  test("stale_after_ms counts from the last frame or beat", () => {
    const script = following();
    script.clock.pass(6000);
    script.say({ type: "beat", now: 0, heads: { "football/1": 10 } });
    script.clock.pass(9000);
    // Other channels' frames keep the socket alive, but prove nothing about this one.
    script.say({ type: "beat", now: 0, heads: {} });
    assert.equal(script.channel.health, "live");
    script.clock.pass(999);
    assert.equal(script.channel.health, "live");
    script.clock.pass(1);
    assert.equal(script.channel.health, "stale");
    assert.equal(script.stream.state.phase, "open");
    script.update("football/1", 10, 11, {});
    assert.equal(script.channel.health, "live");
  });

  test("a beat that shows us behind does not make us fresh", () => {
    const script = following();
    script.clock.pass(5000);
    script.say({ type: "beat", now: 0, heads: { "football/1": 11 } });
    script.clock.pass(5000);
    assert.equal(script.channel.health, "stale");
  });

  test("a document may set its own limit by update", () => {
    const script = following();
    script.update("football/1", 10, 11, { stale_after_ms: 2000 });
    script.clock.pass(2000);
    assert.equal(script.channel.health, "stale");
  });

  test("the state of the feed is the health of the channel", () => {
    const script = following();
    for (const [i, feed] of ["late", "down", "recovering", "live"].entries()) {
      script.update("football/1", 10 + i, 11 + i, { feed });
      assert.equal(script.channel.health, feed);
    }
  });

  test("an ended match does not become stale, but is lost with the connection", () => {
    const script = following({ life: "ended" });
    script.beats(10_000).beats(10_000);
    assert.equal(script.channel.health, "ended");
    script.hangUp();
    assert.equal(script.channel.health, "lost");
  });

  test("each change of health is reported once", () => {
    const script = following();
    script.beats(20_000);
    assert.equal(script.healths(), 1);
  });
});

describe("liveness of the socket", () => {
  test("a silent connection is pinged, then closed", () => {
    const script = following();
    script.beats(5000);
    script.say({ type: "pong", id: script.socket.sent.find((c) => c.op === "ping").id, now: 0 });
    const pings = () => script.socket.sent.filter((c) => c.op === "ping").length;
    const before = pings();
    script.clock.pass(10_000);
    assert.equal(pings(), before + 1);
    assert.equal(script.stream.state.phase, "open");
    script.clock.pass(5000);
    assert.equal(script.stream.state.phase, "waiting");
    assert.equal(script.socket.closedWith, 1000);
  });

  test("a socket that opens without hello is closed", () => {
    const script = new Script();
    script.clock.pass(15_000);
    assert.equal(script.stream.state.phase, "waiting");
    script.clock.pass(500);
    assert.equal(script.sockets.length, 2);
  });

  test("the hub's clock comes from hello, then from the quickest pong", () => {
    const script = new Script();
    script.hello({ now: script.clock.now() * 1000 + 7_000_000 });
    assert.equal(script.stream.clockOffset(), 7_000_000);
    const { id } = script.socket.sent.find((c) => c.op === "ping");
    script.clock.pass(100);
    script.say({ type: "pong", id, now: (script.clock.now() - 50) * 1000 + 6_900_000 });
    assert.equal(script.stream.clockOffset(), 6_900_000);
    assert.equal(script.stream.roundTripMs(), 100);
    assert.equal(script.stream.serverNow(), script.clock.now() * 1000 + 6_900_000);
  });

  // What passed for the hub in a jump of this clock: nothing if somebody has set it, and all of it if the machine has slept.
  for (const [what, slept] of [["was set", 0], ["stood still in a sleep of the machine", 9000]]) {
    test(`the hub's clock goes on when this one jumps because it ${what}, and is right after a round trip`, () => {
      const script = following();
      let hubNow = script.clock.now() * 1000 + 7_000_000;
      const pass = (ms) => {
        hubNow += ms * 1000;
        script.clock.pass(ms);
      };
      const answer = () => {
        for (const { id } of script.socket.sent.splice(0).filter((it) => it.op === "ping")) script.say({ type: "pong", id, now: hubNow });
      };
      answer();
      assert.equal(script.stream.serverNow(), hubNow);
      // Until it pings again. That ping is before the jump: its answer says nothing about the time after it.
      for (let beats = 0; beats < 6; beats += 1) {
        pass(5000);
        script.say({ type: "beat", heads: {} });
      }
      const before = script.stream.serverNow();
      assert.equal(before, hubNow);
      assert.equal(script.socket.sent.filter((it) => it.op === "ping").length, 1);
      script.clock.time += 9000;
      script.clock.jumped = 9000;
      hubNow += slept * 1000;
      assert.equal(script.stream.serverNow(), before, "it neither jumps nor goes back");
      const pings = script.socket.sent.filter((it) => it.op === "ping");
      assert.equal(pings.length, 2, "it asks at once");
      script.say({ type: "pong", id: pings[0].id, now: hubNow - 20_000_000 });
      assert.equal(script.stream.serverNow(), before);
      pass(40);
      answer();
      assert.ok(Math.abs(script.stream.serverNow() - hubNow) <= 20_000, `${script.stream.serverNow() - hubNow} us`);
      assert.equal(script.stream.state.phase, "open");
    });
  }
});

describe("reconnecting", () => {
  /** The waits of `n` losses in a row, each after `upMs` of an open connection. */
  function waits(script, n, upMs) {
    const found = [];
    for (let i = 0; i < n; i += 1) {
      if (upMs !== undefined) {
        script.hello();
        script.beats(upMs);
      }
      script.hangUp();
      found.push(script.stream.state.retryAt - script.clock.now());
      script.clock.pass(found.at(-1));
    }
    return found;
  }

  test("waits double up to half a minute", () => {
    assert.deepEqual(waits(new Script(), 8), [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  test("jitter takes up to half of it", () => {
    assert.deepEqual(waits(new Script({ random: () => 0 }), 3), [250, 500, 1000]);
  });

  test("a hub that accepts and dies does not reset the waits", () => {
    assert.deepEqual(waits(new Script(), 4, 10_000), [500, 1000, 2000, 4000]);
  });

  test("a minute of health resets the waits", () => {
    assert.deepEqual(waits(new Script(), 3, 60_000), [500, 500, 500]);
  });

  test("bye sets the time of the reconnect, and wake does not shorten it", () => {
    const script = following();
    script.say({ type: "bye", why: "drain", reconnect_after_ms: 7300 }).hangUp(4503);
    assert.equal(script.stream.state.why, "drain");
    script.stream.wake();
    script.clock.pass(7299);
    assert.equal(script.sockets.length, 1);
    script.clock.pass(1);
    assert.equal(script.sockets.length, 2);
  });

  test("wake shortens the client's own wait", () => {
    const script = following().hangUp();
    script.stream.wake();
    assert.equal(script.sockets.length, 2);
    script.clock.pass(10_000);
    assert.equal(script.sockets.length, 2, "the old timer does not dial as well");
  });

  for (const code of [4401, 4402, 4404, 4410, 4413]) {
    test(`close ${code} is final`, () => {
      const script = following();
      script.say({ type: "error", code: "auth_failed", message: "in the hub's words", retry: false }).hangUp(code);
      const { phase, code: got, message } = script.stream.state;
      assert.deepEqual([phase, got, message], ["closed", code, "in the hub's words"]);
      script.clock.pass(3_600_000);
      script.stream.wake();
      assert.equal(script.sockets.length, 1);
      assert.equal(script.channel.health, "lost");
      assert.equal(script.clock.timers.size, 0);
    });
  }

  for (const code of [1000, 1001, 1006, 1011, 4408, 4429, 4503, 4508]) {
    test(`close ${code} is retried`, () => {
      const script = following().hangUp(code);
      script.clock.pass(500);
      assert.equal(script.sockets.length, 2);
    });
  }

  test("a handler of the state may close it, whatever the state", () => {
    for (const phase of ["waiting", "connecting"]) {
      const script = new Script({ onState: (state) => state.attempt > 0 && state.phase === phase && script.stream.close() });
      script.hello().hangUp();
      script.clock.pass(3_600_000);
      assert.deepEqual([script.sockets.length, script.stream.state.phase, script.clock.timers.size], [1, "closed", 0], phase);
    }
  });

  test("a handler of the state may wake it, which opens one connection", () => {
    const script = new Script({ onState: ({ phase }) => phase === "waiting" && script.stream.wake() });
    script.hello().hangUp();
    assert.deepEqual([script.sockets.length, script.stream.state.phase], [2, "connecting"]);
    script.hello();
    script.beats(60_000);
    assert.equal(script.sockets.length, 2);
  });

  test("a part that closes it when the connection is lost is told of no other state", () => {
    const script = new Script();
    script.hello();
    script.stream.attach({ name: undefined, receive() {}, connected() {}, lost: () => script.stream.close() });
    script.hangUp();
    assert.deepEqual(script.states.slice(-2), ["open", "closed"]);
  });

  test("what the last connection said does not count for the next", async () => {
    const tickets = [() => ["matchwire.v1"], () => Promise.reject(new Error("no ticket"))];
    const script = new Script({ protocols: () => tickets.shift()() });
    await new Promise((resolve) => setImmediate(resolve));
    script.hello().say({ type: "bye", why: "drain", reconnect_after_ms: 7300 }).hangUp(4503);
    script.clock.pass(7300);
    await new Promise((resolve) => setImmediate(resolve));
    const { why, isFixed, message } = script.stream.state;
    assert.deepEqual([why, isFixed, message], [undefined, false, "Error: no ticket"]);
  });

  test("sleeping does not shorten the time that the hub has named", () => {
    const script = following();
    script.say({ type: "bye", why: "drain", reconnect_after_ms: 7300 }).hangUp(4503);
    script.clock.pass(1000);
    script.stream.sleep();
    script.clock.pass(2000);
    script.stream.wake();
    script.clock.pass(4299);
    assert.equal(script.sockets.length, 1);
    script.clock.pass(1);
    assert.equal(script.sockets.length, 2);
    script.hangUp();
    script.stream.sleep();
    script.clock.pass(60_000);
    assert.equal(script.sockets.length, 2);
    script.stream.wake();
    assert.equal(script.sockets.length, 3);
  });

  test("a stream closed by the program stays closed", () => {
    const script = following();
    script.stream.close();
    script.clock.pass(3_600_000);
    assert.equal(script.sockets.length, 1);
    assert.equal(script.socket.closedWith, 1000);
    assert.equal(script.clock.timers.size, 0);
  });
});

describe("refusals", () => {
  test("an unknown channel is refused by name, and the others continue", () => {
    const script = following();
    script.follow("football/9");
    script.say({ type: "error", id: script.lastId(), code: "not_tracked", message: "no such match", retry: false });
    assert.equal(script.stream.channel("football/9").health, "refused");
    assert.equal(script.stream.channel("football/9").error.code, "not_tracked");
    assert.equal(script.channel.health, "live");
    assert.equal(script.stream.state.phase, "open");
    script.clock.pass(4000);
    assert.equal(script.commands("subscribe").length, 2);
  });

  test("a temporary refusal is retried", () => {
    const script = following();
    script.follow("football/9");
    script.say({ type: "error", id: script.lastId(), code: "limit", message: "busy", retry: true });
    script.beats(5000);
    assert.equal(script.commands("subscribe").length, 3);
    script.subscribed({ epoch: "e1", seq: 1, resumed: false }).image("football/9", 1);
    assert.equal(script.stream.channel("football/9").health, "live");
  });

  test("a temporary refusal is asked again once, however often the connection is lost, and not after the end", () => {
    const script = new Script();
    script.follow("football/9");
    const refuse = () => script.say({ type: "error", id: script.lastId(), code: "not_tracked", message: "no", retry: true });
    script.hello();
    refuse();
    for (let n = 0; n < 4; n += 1) {
      script.hangUp().clock.pass(script.stream.state.retryAt - script.clock.now());
      script.hello();
      refuse();
    }
    const timers = script.clock.timers.size;
    const end = script.follow("football/8");
    refuse();
    assert.equal(script.clock.timers.size, timers + 1);
    end();
    assert.equal(script.clock.timers.size, timers);
    script.beats(60_000);
    assert.equal(script.commands("subscribe").filter(({ ch }) => ch === "football/9").length, 2);
    refuse();
    script.stream.close();
    assert.equal(script.clock.timers.size, 0);
  });

  test("a pattern that is refused is a channel without a document, until it is accepted", () => {
    const script = new Script();
    script.follow("*/*");
    script.follow("football/*");
    script.hello();
    const { id } = script.commands("subscribe")[1];
    script.say({ type: "error", id, ch: "football/*", code: "limit", message: "too many patterns", retry: true });
    const { health, error } = script.stream.channel("football/*");
    assert.deepEqual([health, error.code], ["refused", "limit"]);
    script.beats(5000);
    script.say({ type: "subscribed", id: script.lastId(), ch: "football/*", channels: 3, not_entitled: 37, left_out: 2 });
    assert.deepEqual(script.seen.map(([name, { kind }]) => [name, kind]), [["football/*", "health"], ["football/*", "health"]]);
    const channel = script.stream.channel("football/*");
    assert.deepEqual([channel.health, channel.error, channel.answer.not_entitled, channel.answer.left_out], ["waiting", undefined, 37, 2]);
    script.say({ type: "beat", now: 0, heads: {} });
    script.hangUp();
    assert.equal(script.seen.length, 2);
  });

  test("what is refused for now and then for good is reported both times", () => {
    const refusals = [
      (script) => script.say({ type: "error", id: script.lastId(), ch: "football/1", code: "not_entitled", message: "no", retry: false }),
      (script) => script.say({ type: "entitlement", ended: ["football/1"] }),
    ];
    for (const refuse of refusals) {
      const script = following();
      script.say({ type: "unsubscribed", ch: "football/1", why: "gone" });
      script.beats(5000);
      refuse(script);
      assert.deepEqual([script.channel.error.code, script.healths()], ["not_entitled", 2]);
      refuse(script);
      assert.equal(script.healths(), 2, "once is enough");
    }
  });

  test("a name that a pattern covers as well is refused for good once it has ended, and by its own answer alone", () => {
    const script = following();
    script.follow("football/*");
    const patternId = script.lastId();
    script.say({ type: "unsubscribed", ch: "football/1", why: "gone" });
    script.say({ type: "error", id: patternId, ch: "football/*", code: "limit", message: "too many patterns", retry: false });
    assert.equal(script.channel.error.code, "not_tracked");
    script.beats(5000);
    script.say({ type: "error", id: script.lastId(), ch: "football/1", code: "not_entitled", message: "no", retry: false });
    assert.equal(script.channel.error.code, "not_entitled");
  });

  /** Two channels of which the hub says in one answer that it does not have them, and a handler of the first. */
  function twoRefused(act) {
    const script = new Script();
    script.stream.subscribe("football/8", () => act?.(script));
    script.end = script.follow("football/9");
    script.hello({ features: ["batch"] });
    const { id, chs } = script.commands("subscribe")[0];
    assert.deepEqual(chs, ["football/8", "football/9"]);
    return script.say({ type: "subscribed", id, chs: Object.fromEntries(chs.map((ch) => [ch, { error: "not_tracked" }])) });
  }

  test("what a handler ends while an answer is read is not asked for again", () => {
    assert.deepEqual(twoRefused().beats(5000).commands("subscribe").slice(1).map(({ ch }) => ch), ["football/8", "football/9"]);
    const script = twoRefused(({ end }) => end());
    script.beats(60_000);
    assert.ok(!script.commands("subscribe").slice(1).some(({ ch }) => ch === "football/9"));
    assert.deepEqual(script.seen, []);
  });

  test("what a pattern still covers is not refused after a handler has ended the subscription by name", () => {
    const script = twoRefused((it) => {
      it.end();
      it.follow("football/*");
      it.image("football/9", 1);
    });
    assert.equal(script.stream.channel("football/9").health, "live");
  });

  test("a handler that closes the stream, or puts it to sleep, while an answer is read leaves no timer", () => {
    assert.equal(twoRefused(({ stream }) => stream.close()).clock.timers.size, 0);
    const script = twoRefused(({ stream }) => stream.sleep());
    script.clock.pass(600_000);
    assert.equal(script.clock.timers.size, 0);
  });

  test("a match followed by name that the hub ends keeps its last document, marked as refused", () => {
    const script = following({ x: 1 });
    script.say({ type: "unsubscribed", ch: "football/1", why: "gone" });
    assert.equal(script.channel.health, "refused");
    assert.equal(script.channel.error.code, "not_tracked");
    assert.equal(script.channel.data.x, 1);
  });

  test("lag is available while it lasts", () => {
    const script = following();
    script.say({ type: "lag", queued_bytes: 4096, oldest_ms: 900, merged: 3 });
    assert.equal(script.stream.lag.oldest_ms, 900);
    script.say({ type: "lag", queued_bytes: 0, oldest_ms: 0, merged: 0 });
    assert.equal(script.stream.lag, undefined);
  });
});
