// The client as programs use it, against the hub in memory.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";

import { ClosedError, RefusedError, connect } from "../src/index.js";
import { TestHub } from "../src/testing.js";

const FOOTBALL = { sport: "football", status: "first_half", score: { home: 0, away: 0 } };
const goal = (eid) => ({ kind: "goal", eid, side: "home" });
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A hub with a match, and a client of it. */
async function connected(options) {
  const hub = new TestHub();
  hub.publish("football/1", FOOTBALL);
  const client = connect("https://hub.example.org", hub.options(options));
  await hub.open();
  return { hub, client };
}

describe("follow", () => {
  test("the document, its health, and each event once, by its kind", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    const seen = [];
    match.on("goal", (event, ch) => seen.push([event.eid, ch]));
    match.on("event", (event) => seen.push(event.kind));
    assert.deepEqual([match.data.score.home, match.health], [0, "live"]);
    hub.publish("football/1", { score: { home: 1 } }, [goal("g1")]);
    hub.publish("football/1", { score: { home: 0 } }, [{ kind: "retract", eid: "r1", of: "g1" }]);
    assert.deepEqual(seen, [["g1", "football/1"], "goal", "retract"]);
    assert.equal(match.data.score.home, 0);
    client.close();
  });

  test("a change says what changed, by path", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    const changes = [];
    match.on("change", (change) => changes.push(change));
    await settled();
    assert.equal(changes.length, 1, "what is known comes by itself");
    assert.ok(changes[0].changed("score"));
    hub.publish("football/1", { score: { home: 0 }, ball: { x: 1 } });
    const [, change] = changes;
    assert.deepEqual(["score", "score.home", "ball", "ball.x", ["ball", "y"], "none"].map((path) => change.changed(path)), [
      false, false, true, true, false, false,
    ]);
    assert.deepEqual(change.patch, { score: { home: 0 }, ball: { x: 1 } });
    client.close();
  });

  test("a handler that comes later gets what is known, and the others nothing again", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    const seen = [];
    match.on("change", ({ data }) => seen.push(["first", data.score.home]));
    await settled();
    match.on("change", ({ data, changed }) => seen.push(["second", data.score.home, changed("score")]));
    await settled();
    hub.publish("football/1", { score: { home: 1 } });
    assert.deepEqual(seen, [["first", 0], ["second", 0, true], ["first", 1], ["second", 1, true]]);
    client.close();
  });

  for (const rate of [0, "frame"]) {
    test(`all of a document is new to a handler that comes while a change of it is on its way, rate ${rate}`, async () => {
      const { hub, client } = await connected();
      const match = client.follow("football/1", { rate });
      const drawn = () => settled().then(() => client.timers.pass(100));
      match.on("change", () => {});
      await drawn();
      if (rate === "frame") hub.publish("football/1", { ball: { x: 1 } });
      const changes = [];
      match.on("change", (change) => changes.push(change));
      if (rate === 0) hub.publish("football/1", { ball: { x: 1 } });
      await drawn();
      hub.publish("football/1", { ball: { x: 2 } });
      await drawn();
      assert.deepEqual(changes.map(({ changed }) => ["score", "score.home", "ball", "none"].map(changed)), [
        [true, true, true, false],
        [false, false, true, false],
      ]);
      assert.deepEqual(changes.map(({ patch }) => patch), [undefined, { ball: { x: 2 } }]);
      client.close();
    });
  }

  test("each of two handlers of one tick gets what is known once, a removed one and a closed reader nothing", async () => {
    const { client } = await connected();
    for (const rate of [0, "frame"]) {
      const match = client.follow("football/1", { rate });
      const seen = [];
      match.on("change", () => seen.push("removed"))();
      match.on("change", () => seen.push("first"));
      match.on("change", () => seen.push("second"));
      await settled();
      client.timers.pass(16);
      match.on("change", () => seen.push("removed"))();
      await settled();
      match.on("change", () => seen.push("closed"));
      match.close();
      await settled();
      assert.deepEqual(seen, ["first", "second"], `rate ${rate}`);
    }
    client.close();
  });

  test("a change that comes before what is known is not given twice", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    const seen = [];
    match.on("change", ({ data }) => seen.push(data.score.home));
    hub.publish("football/1", { score: { home: 1 } });
    await settled();
    assert.deepEqual(seen, [1]);
    client.close();
  });

  test("a pattern brings each channel under its name, those that open later too", async () => {
    const { hub, client } = await connected();
    const all = client.follow("football/*");
    const seen = [];
    all.on("change", ({ ch, data }) => seen.push([ch, data.status]));
    hub.publish("football/2", { status: "half_time" });
    await settled();
    assert.deepEqual([...all.channels.keys()], ["football/1", "football/2"]);
    assert.deepEqual(seen, [["football/2", undefined], ["football/2", "half_time"], ["football/1", "first_half"]]);
    hub.end("football/2");
    assert.deepEqual([...all.channels.keys()], ["football/1"]);
    client.close();
  });

  test("the clock ticks from its anchor by the hub's clock, and counts stoppage time", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    assert.equal(match.clock(), "");
    hub.publish("football/1", { clock: { at: hub.clock.now() * 1000, s: 1078, running: true } });
    assert.equal(match.clock(), "17:58");
    hub.pass(2000);
    assert.equal(match.clock(), "18:00");
    hub.publish("football/1", { status: "second_half", clock: { at: hub.clock.now() * 1000, s: 5530, running: false } });
    hub.pass(2000);
    assert.deepEqual([match.clock(), match.clockSecond()], ["90+2:10", 5530]);
    client.close();
  });

  test("readers share a subscription, which lingers after the last has left", async () => {
    const { hub, client } = await connected();
    const [first, second] = [client.follow("football/1"), client.follow("football/1")];
    first.close();
    second.close();
    second.close();
    hub.pass(1999);
    const third = client.follow("football/1");
    hub.pass(10_000);
    assert.deepEqual(hub.commands.map(({ op }) => op), ["subscribe"]);
    third.close();
    hub.pass(2000);
    assert.deepEqual(hub.commands.map(({ op }) => op), ["subscribe", "unsubscribe"]);
    client.close();
  });

  test("the fastest reader decides the rate", async () => {
    const { hub, client } = await connected();
    client.follow("football/1", { rate: 1000 });
    const fast = client.follow("football/1", { rate: 250 });
    fast.close();
    assert.deepEqual(hub.commands.map(({ op, every_ms }) => [op, every_ms]), [["subscribe", 1000], ["set", 250], ["set", 1000]]);
    client.close();
  });

  test("a rate of a frame gives one change a frame, and events at once", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1", { rate: "frame" });
    const [changes, events] = [[], []];
    match.on("change", ({ data, events: all }) => changes.push([data.score.home, all.length]));
    match.on("goal", ({ eid }) => events.push(eid));
    hub.pass(200);
    await settled();
    hub.pass(200);
    changes.length = 0;
    hub.publish("football/1", { score: { home: 1 } }, [goal("a")]);
    hub.publish("football/1", { score: { home: 2 } }, [goal("b")]);
    assert.deepEqual([changes, events], [[], ["a", "b"]]);
    hub.pass(16);
    assert.deepEqual(changes, [[2, 2]]);
    client.close();
  });

  test("a handler that throws is reported, and costs neither the position nor the other handlers", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    const [errors, seen] = [[], []];
    client.on("error", (error) => errors.push(error.message));
    match.on("goal", () => {
      throw new Error("broken view");
    });
    match.on("goal", ({ eid }) => seen.push(eid));
    match.on("change", () => {
      throw new Error("broken too");
    });
    await settled();
    hub.publish("football/1", undefined, [goal("g1")]);
    hub.publish("football/1", undefined, [goal("g2")]);
    assert.deepEqual(seen, ["g1", "g2"]);
    assert.deepEqual(errors.slice(-2), ["broken view", "broken too"]);
    client.close();
  });

  test("a handler of errors that throws is reported once, and not to itself", async (t) => {
    const thrown = [];
    t.mock.method(console, "error", (error) => thrown.push(error.message));
    const { client } = await connected();
    client.on("error", () => {
      throw new Error("broken report");
    });
    client.report(new Error("broken view"));
    assert.deepEqual(thrown, ["broken report"]);
    client.close();
  });

  test("what is closed leaves nothing behind at its signal", async () => {
    const { signal } = new AbortController();
    const { client } = await connected({ signal });
    const hooks = () => getEventListeners(signal, "abort").length;
    const [match, other] = [client.follow("football/1", { signal }), client.follow("football/1", { signal })];
    match.changes({ signal });
    other.on("change", () => {}, { signal })();
    match.close();
    assert.equal(hooks(), 2, "the client and the other reader");
    client.close();
    assert.equal(hooks(), 0);
  });

  test("a signal removes a handler, and ends a reader", async () => {
    const { hub, client } = await connected();
    const [handler, reader] = [new AbortController(), new AbortController()];
    const match = client.follow("football/1", { signal: reader.signal });
    const seen = [];
    match.on("goal", ({ eid }) => seen.push(eid), { signal: handler.signal });
    match.on("event", ({ eid }) => seen.push(eid));
    handler.abort();
    hub.publish("football/1", undefined, [goal("g1")]);
    reader.abort();
    hub.publish("football/1", undefined, [goal("g2")]);
    assert.deepEqual(seen, ["g1"]);
    client.close();
  });
});

describe("iterating", () => {
  test("merges while the reader is busy, and keeps every event in order", async () => {
    const { hub, client } = await connected();
    const changes = client.follow("football/1").changes();
    const first = (await changes.next()).value;
    assert.equal(first.data.score.home, 0);
    for (let n = 1; n <= 50; n += 1) hub.publish("football/1", { score: { home: n } }, n % 10 === 0 ? [goal(`g${n}`)] : undefined);
    const { value } = await changes.next();
    assert.equal(value.data.score.home, 50);
    assert.deepEqual(value.events.map(({ eid }) => eid), ["g10", "g20", "g30", "g40", "g50"]);
    assert.deepEqual(value.merged, { n: 50, why: "reader" });
    assert.ok(value.changed("score.home"));
    assert.equal(value.changed("status"), false);
    client.close();
  });

  test("is woken by the next change", async () => {
    const { hub, client } = await connected();
    const changes = client.follow("football/1").changes();
    await changes.next();
    const next = changes.next();
    await assert.rejects(changes.next(), /before the last one/);
    hub.publish("football/1", { score: { home: 1 } });
    assert.equal((await next).value.merged, undefined);
    client.close();
  });

  test("a slow reader lowers its rate at the hub, and raises it again when it keeps up", async () => {
    const { hub, client } = await connected();
    const changes = client.follow("football/1").changes();
    await changes.next();
    const rates = () => hub.commands.filter(({ op }) => op === "set").map(({ every_ms }) => every_ms);
    hub.publish("football/1", { n: 1 });
    hub.pass(249);
    assert.deepEqual(rates(), []);
    hub.pass(1);
    assert.deepEqual(rates(), [250]);
    hub.pass(800);
    assert.deepEqual(rates(), [250, 500, 1000]);
    for (let n = 2; n < 5; n += 1) {
      await changes.next();
      hub.publish("football/1", { n });
      hub.pass(1000);
    }
    // Each of these rounds took a second, so nothing was given back.
    assert.ok(!rates().includes(0));
    for (let n = 5; n < 8; n += 1) {
      await changes.next();
      hub.publish("football/1", { n });
      hub.pass(100);
    }
    await changes.next();
    assert.equal(rates().at(-1), 0);
    client.close();
  });

  // After each change the reader is busy for the next of the pauses, and then for no time at all; the hub has news every 50 ms.
  for (const [pauses, rates] of [
    [[], []],
    [[100, 240, 100], []],
    [[300], [250, 0]],
    [[700], [250, 500, 0]],
    [[700, 700, 700], [250, 500, 0]],
    [[700, 0, 0, 0, 700], [250, 500, 0, 250, 500, 0]],
    [[700, 0, 700, 0, 700, 0], [250, 500, 0]],
    [[6000], [250, 500, 1000, 2000, 5000, 0]],
  ]) {
    test(`a reader that is busy for ${pauses.join(", ") || "no"} ms asks for ${rates.join(", ") || "nothing"}, and gets all`, async () => {
      const hub = new TestHub();
      const names = [1, 2, 3, 4].map((n) => `football/${n}`);
      for (const name of names) hub.publish(name, FOOTBALL);
      const client = connect("https://hub.example.org", hub.options());
      await hub.open();
      const changes = client.follow("football/*").changes();
      const happened = [];
      let round = 0;
      const pass = (ms) => {
        for (let passed = 0; passed < ms; passed += 50) {
          round += 1;
          const name = names[round % 4];
          const events = round % 3 === 0 ? [goal(`g${round}`)] : undefined;
          if (events) happened.push([name, `g${round}`]);
          hub.publish(name, { n: round }, events).pass(Math.min(50, ms - passed));
        }
      };
      const got = [];
      let merged = 0;
      const documents = new Map();
      const take = async () => {
        let change;
        void changes.next().then(({ value }) => (change = value));
        await settled();
        for (let waited = 0; change === undefined && waited < 10_000; waited += 50) {
          pass(50);
          await settled();
        }
        assert.ok(change, "no change within 10 s");
        assert.equal(change.missed, undefined);
        got.push(...change.events.map(({ eid }) => [change.ch, eid]));
        merged += change.merged?.why === "reader" ? 1 : 0;
        documents.set(change.ch, change.data);
      };
      for (const pause of pauses) {
        await take();
        pass(pause);
      }
      const asked = () => hub.commands.filter(({ op }) => op === "set").map(({ every_ms }) => every_ms);
      for (let n = 0; n < 100; n += 1) await take();
      assert.deepEqual(asked(), rates);
      assert.equal(merged > 0, rates.length > 0 || pauses.length > 0);
      for (const name of names) {
        const eids = (all) => all.filter(([ch]) => ch === name).map(([, eid]) => eid);
        const [all, own] = [eids(happened), eids(got)];
        assert.deepEqual(own, all.slice(0, own.length));
        assert.ok(all.length - own.length <= 1, `${all.length - own.length} events are late`);
        assert.deepEqual(documents.get(name), hub.channels.get(name).data);
      }
      client.close();
    });
  }

  test("a lossless reader is merged, told so, and never lowers its rate", async () => {
    const { hub, client } = await connected();
    const changes = client.follow("football/1", { lossless: true, rate: 1000 }).changes();
    await changes.next();
    hub.publish("football/1", { n: 1 }).publish("football/1", { n: 2 });
    hub.pass(4000);
    assert.deepEqual((await changes.next()).value.merged, { n: 2, why: "reader" });
    assert.deepEqual(hub.commands.map(({ op, every_ms }) => [op, every_ms]), [["subscribe", 0]]);
    client.close();
  });

  test("past ten thousand events the oldest are dropped, and counted", async () => {
    const { hub, client } = await connected();
    const changes = client.follow("football/1").changes();
    await changes.next();
    for (let n = 0; n < 10_003; n += 1) hub.publish("football/1", undefined, [goal(`g${n}`)]);
    const { value } = await changes.next();
    assert.equal(value.events.length, 10_000);
    assert.equal(value.events[0].eid, "g3");
    assert.equal(value.missed.events, 3);
    client.close();
  });

  test("ends with the client, after what waits", async () => {
    const { hub, client } = await connected();
    const seen = [];
    const reading = (async () => {
      for await (const { data } of client.follow("football/1")) seen.push(data.score.home);
    })();
    await settled();
    hub.publish("football/1", { score: { home: 1 } });
    client.close();
    await reading;
    assert.deepEqual(seen, [0, 1]);
    assert.equal(hub.clock.timers.size, 1, "only the hub's own beat is left");
  });

  test("throws a typed error when the hub closes for good", async () => {
    const { hub, client } = await connected();
    const reading = (async () => {
      for await (const _ of client.follow("football/1"));
    })();
    await settled();
    hub.cut(4410, "revoked");
    await assert.rejects(reading, (error) => error instanceof ClosedError && error.code === 4410);
    await assert.rejects(client.open(), ClosedError);
    await assert.rejects(client.follow("football/2").changes().next(), ClosedError);
  });

  test("throws a typed error when the hub refuses the channel for good, and waits where it may come", async () => {
    const { hub, client } = await connected();
    const waiting = client.follow("football/9").ready();
    const refused = client.follow("darts/1");
    const reading = refused.ready();
    // The hub in memory knows no add-ons.
    client.stream.channel("darts/1").error = { code: "not_entitled", message: "needs an add-on", retry: false };
    await assert.rejects(refused.changes().next(), (error) => error instanceof RefusedError && error.code === "not_entitled");
    await assert.rejects(reading, RefusedError);
    hub.publish("football/9", FOOTBALL);
    hub.pass(60_000);
    assert.equal((await waiting).sport, "football");
    client.close();
  });

  test("throws a typed error when the hub refuses for good what it did not have for now", async () => {
    const hub = new TestHub();
    const isEntitled = { "football/1/odds/a": true, "football/9": true };
    class Answering extends hub.WebSocket {
      send(text) {
        const { op, id, ch } = JSON.parse(text);
        const refusal = { type: "error", id, ch, code: "not_entitled", message: "needs an add-on", retry: false };
        if (op === "subscribe" && isEntitled[ch] === false) this.onmessage({ data: JSON.stringify(refusal) });
        else super.send(text);
      }
    }
    hub.publish("football/1/odds/a", { markets: {} });
    const client = connect("ws://hub", hub.options({ WebSocket: Answering }));
    await hub.open();
    const book = client.follow("football/1/odds/a");
    const reading = (async () => {
      for await (const _ of book);
    })();
    const waiting = client.follow("football/9").ready();
    const failure = (it) => it.then(() => "ended", ({ name, code }) => [name, code]);
    const ends = Promise.all([reading, waiting].map(failure));
    hub.end("football/1/odds/a");
    await settled();
    assert.equal(book.error.retry, true);
    for (const ch of Object.keys(isEntitled)) isEntitled[ch] = false;
    hub.pass(5000);
    const patient = settled().then(settled).then(() => "nothing");
    assert.deepEqual(await Promise.race([ends, patient]), Array(2).fill(["RefusedError", "not_entitled"]));
    client.close();
  });

  test("a signal ends it with its reason, and leaving the loop ends it too", async () => {
    const { hub, client } = await connected();
    const ending = new AbortController();
    const match = client.follow("football/1");
    const changes = match.changes({ signal: ending.signal });
    await changes.next();
    const next = changes.next();
    ending.abort();
    await assert.rejects(next, { name: "AbortError" });
    assert.equal((await changes.next()).done, true);
    for await (const _ of match) break;
    hub.publish("football/1", { n: 1 });
    client.close();
  });

  test("a signal that was aborted before ends it at once with its reason", async () => {
    const { hub, client } = await connected();
    const signal = AbortSignal.abort(new Error("given up"));
    const match = client.follow("football/1");
    await assert.rejects(match.changes({ signal }).next(), /given up/);
    await assert.rejects(match.ready({ signal }), /given up/);
    await assert.rejects(client.follow("football/1", { signal }).changes({ signal }).next(), /given up/);
    assert.equal((await client.follow("football/1", { signal }).changes().next()).done, true);
    // One that has ended keeps up with nothing.
    const changes = match.changes();
    await changes.next();
    hub.publish("football/1", { n: 1 });
    hub.pass(250);
    assert.deepEqual(hub.commands.map(({ op, every_ms }) => [op, every_ms]), [["subscribe", 0], ["set", 250]]);
    client.close();
  });

  test("a reader that asked for less than the hub remembers gets the image, and is told", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1", { rate: 5000 });
    const missed = [];
    match.on("change", (change) => change.missed && missed.push(change.missed.why));
    hub.publish("football/1", { n: 0 });
    for (let n = 1; n <= 1500; n += 1) hub.publish("football/1", { n });
    hub.pass(5000);
    assert.deepEqual([missed, match.data.n, match.health], [["slow"], 1500, "live"]);
    client.close();
  });

  test("a match of a pattern that ends and opens again while a change waits is the new one", async () => {
    const { hub, client } = await connected();
    const changes = client.follow("football/*").changes();
    await changes.next();
    hub.publish("football/1", { n: 1 });
    hub.end("football/1");
    hub.publish("football/1", { ...FOOTBALL, status: "half_time" });
    const { data, health, epoch } = (await changes.next()).value;
    assert.deepEqual([data.status, health, epoch], ["half_time", "live", "t2"]);
    client.close();
  });

  /** A client of a hub that answers patterns as the test says. */
  function withPatterns(answer) {
    const hub = new TestHub();
    class Answering extends hub.WebSocket {
      send(text) {
        const { op, id, ch } = JSON.parse(text);
        if (op === "subscribe" && ch?.includes("*")) this.onmessage({ data: JSON.stringify({ id, ch, ...answer() }) });
        else super.send(text);
      }
    }
    const client = connect("ws://hub", hub.options({ WebSocket: Answering }));
    return { hub, client };
  }

  test("throws a typed error when the hub refuses a pattern for good", async () => {
    const { hub, client } = withPatterns(() => ({ type: "error", code: "bad_channel", message: "no such sport", retry: false }));
    const all = client.follow("chess/*");
    const healths = [];
    all.on("health", (health, ch) => healths.push([health, ch]));
    const reading = all.changes().next();
    await hub.open();
    await assert.rejects(reading, (error) => error instanceof RefusedError && error.ch === "chess/*" && error.code === "bad_channel");
    await assert.rejects(all.changes().next(), RefusedError);
    await assert.rejects(client.follow("chess/*").changes().next(), RefusedError);
    assert.deepEqual([healths, all.health, all.error.code, all.channels.size], [[["refused", "chess/*"]], "refused", "bad_channel", 0]);
    client.close();
  });

  test("a pattern that is refused for now is asked for again, and says what it leaves out", async () => {
    const answers = [
      { type: "error", code: "limit", message: "too many patterns", retry: true },
      { type: "subscribed", channels: 3, not_entitled: 37, left_out: 2 },
    ];
    const { hub, client } = withPatterns(() => answers.shift());
    const all = client.follow("football/*");
    assert.deepEqual([all.leftOut, all.notEntitled], [0, 0]);
    const healths = [];
    all.on("health", (health) => healths.push(health));
    all.changes().next().catch((error) => healths.push(error));
    await hub.open();
    hub.pass(5000);
    await settled();
    assert.deepEqual([healths, all.error, all.leftOut, all.notEntitled], [["refused", "waiting"], undefined, 2, 37]);
    client.close();
  });

  test("a match that ends and opens again goes on", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    const healths = [];
    match.on("health", (health) => healths.push(health));
    hub.end("football/1");
    hub.publish("football/1", { ...FOOTBALL, status: "half_time" });
    hub.pass(5000);
    assert.equal(match.data.status, "half_time");
    assert.deepEqual(healths, ["refused", "live"]);
    assert.equal(match.health, "live");
    client.close();
  });
});

describe("the connection", () => {
  test("resumes everything with one command, and nothing is lost or repeated", async () => {
    const { hub, client } = await connected();
    for (const id of [2, 3]) hub.publish(`football/${id}`, FOOTBALL);
    const events = [];
    const matches = [1, 2, 3].map((id) => client.follow(`football/${id}`));
    for (const match of matches) match.on("goal", ({ eid }) => events.push(eid));
    hub.publish("football/1", { score: { home: 1 } }, [goal("1a")]);
    hub.cut();
    assert.equal(matches[0].health, "lost");
    hub.publish("football/1", { score: { home: 2 } }, [goal("1b")]);
    hub.publish("football/3", { score: { home: 1 } }, [goal("3a")]);
    hub.commands.length = 0;
    hub.pass(500);
    await hub.open();
    assert.deepEqual(events, ["1a", "1b", "3a"]);
    assert.deepEqual(matches.map(({ data }) => data.score.home), [2, 0, 1]);
    assert.deepEqual(matches.map(({ health }) => health), ["live", "live", "live"]);
    assert.deepEqual(hub.commands.map(({ op, chs }) => [op, chs.map(({ ch, from }) => [ch, from.seq])]), [
      ["subscribe", [["football/1", 2], ["football/2", 1], ["football/3", 1]]],
    ]);
    client.close();
  });

  for (const features of [["batch"], []]) {
    test(`what is followed by a pattern and by name resumes with every event, ${features[0] ?? "without batches"}`, async () => {
      const hub = new TestHub({ features });
      hub.publish("football/1", FOOTBALL);
      const client = connect("ws://hub", hub.options());
      client.follow("football/*");
      const events = [];
      const match = client.follow("football/1");
      match.on("goal", ({ eid }) => events.push(eid));
      await hub.open();
      hub.cut();
      hub.publish("football/1", { score: { home: 1 } }, [goal("g1")]);
      hub.pass(500);
      await hub.open();
      assert.deepEqual([events, match.data.score.home, match.health], [["g1"], 1, "live"]);
      client.close();
    });
  }

  test("without batches it resumes one by one", async () => {
    const hub = new TestHub({ features: [] });
    for (const id of [1, 2]) hub.publish(`football/${id}`, FOOTBALL);
    const client = connect("ws://hub", hub.options());
    for (const id of [1, 2]) client.follow(`football/${id}`);
    await hub.open();
    assert.deepEqual(hub.commands.map(({ op, ch }) => [op, ch]), [["subscribe", "football/1"], ["subscribe", "football/2"]]);
    client.close();
  });

  test("a batch keeps to the limits of a command, and each refusal is the channel's own", async () => {
    const hub = new TestHub();
    hub.publish("football/1", FOOTBALL);
    const client = connect("ws://hub", hub.options());
    const names = Array.from({ length: 12_000 }, (_, n) => `football/${n + 1}`);
    for (const name of names) client.follow(name);
    await hub.open();
    const batches = hub.commands.filter(({ op }) => op === "subscribe");
    assert.deepEqual(batches.flatMap(({ chs }) => chs), names);
    for (const batch of batches) {
      assert.ok(batch.chs.length <= 10_000);
      assert.ok(JSON.stringify(batch).length <= 262_144);
    }
    assert.equal(client.follow("football/1").health, "live");
    assert.equal(client.follow("football/2").error.code, "not_tracked");
    client.close();
  });

  test("after an interruption beyond the hub's tail the change says what it misses", async () => {
    const { hub, client } = await connected();
    const changes = client.follow("football/1").changes();
    await changes.next();
    hub.restart();
    hub.pass(500);
    await hub.open();
    const seen = [];
    for (let n = 0; n < 1; n += 1) seen.push((await changes.next()).value);
    assert.equal(seen.at(-1).missed.why, "epoch");
    client.close();
  });

  test("a ticket is bought for each connection", async () => {
    let bought = 0;
    const hub = new TestHub();
    const sockets = [];
    class Seen extends hub.WebSocket {
      constructor(url, protocols) {
        super(url, protocols);
        sockets.push([url, protocols]);
      }
    }
    const client = connect("https://hub.example.org/", { ...hub.options({ key: undefined, WebSocket: Seen }), ticket: async () => `T${++bought}` });
    await hub.open();
    hub.cut();
    hub.pass(500);
    await hub.open();
    assert.deepEqual(sockets, [1, 2].map((n) => ["wss://hub.example.org/stream/v1", ["matchwire.v1", "ticket", `T${n}`]]));
    client.close();
  });

  test("a ticket that cannot be bought, or never comes, is asked for again", async () => {
    const hub = new TestHub();
    const answers = [() => Promise.reject(new Error("no")), () => new Promise(() => {}), () => "T"];
    const client = connect("ws://hub", { ...hub.options({ key: undefined }), ticket: () => answers.shift()() });
    await settled();
    assert.match(client.state.message, /no/);
    hub.pass(500);
    await settled();
    assert.equal(client.state.phase, "connecting");
    hub.pass(15_000);
    assert.equal(client.state.message, "no answer");
    hub.pass(1000);
    await hub.open();
    assert.equal(client.state.phase, "open");
    client.close();
  });

  test("a ticket that no socket accepts is asked for again", async () => {
    const hub = new TestHub();
    class Strict extends hub.WebSocket {
      constructor(url, protocols) {
        if (protocols.some((it) => /[^\w.-]/.test(it))) throw new SyntaxError("an invalid subprotocol");
        super(url, protocols);
      }
    }
    const answers = ["Bad Gateway", "T"];
    const client = connect("ws://hub", { ...hub.options({ key: undefined, WebSocket: Strict }), ticket: () => answers.shift() });
    await settled();
    assert.deepEqual([client.state.phase, client.state.message], ["waiting", "SyntaxError: an invalid subprotocol"]);
    hub.pass(500);
    await hub.open();
    assert.equal(client.state.phase, "open");
    client.close();
  });

  test("a platform without sockets is an error at once, also with tickets", () => {
    const { WebSocket } = globalThis;
    delete globalThis.WebSocket;
    try {
      assert.throws(() => connect("ws://hub", { ticket: () => "T" }), /there is no WebSocket here/);
    } finally {
      if (WebSocket) globalThis.WebSocket = WebSocket;
    }
  });

  test("a ticket that is refused is bought again three times, and again after a connection", async () => {
    const hub = new TestHub();
    let bought = 0;
    const client = connect("ws://hub", { ...hub.options({ key: undefined }), ticket: () => `T${++bought}` });
    const attempts = async (ms) => {
      for (let n = 0; n < ms / 1000; n += 1) {
        hub.pass(1000);
        await settled();
      }
      return [bought, client.state.phase];
    };
    hub.refuse({ code: 4401, error: "auth_failed" });
    await settled();
    assert.deepEqual([client.state.phase, client.state.code, client.state.message], ["waiting", 4401, "auth_failed"]);
    assert.deepEqual(await attempts(2000), [3, "waiting"]);
    hub.refuse();
    assert.deepEqual(await attempts(10_000), [4, "open"]);
    hub.refuse({ code: 4401, error: "auth_failed" });
    hub.cut();
    assert.deepEqual(await attempts(120_000), [8, "closed"]);
    await assert.rejects(client.open(), (error) => error instanceof ClosedError && error.code === 4401);
  });

  test("a handler that closes it is the last word for all", async () => {
    const hub = new TestHub();
    const seen = [];
    const client = connect("ws://hub", hub.options({ onState: ({ phase }) => seen.push(phase) }));
    client.on("state", ({ phase }) => phase === "waiting" && client.close());
    client.on("state", ({ phase }) => seen.push(phase));
    await hub.open();
    hub.cut();
    hub.pass(60_000);
    assert.deepEqual([seen.filter((phase) => phase === "waiting"), seen.at(-1), hub.clock.timers.size], [[], "closed", 1]);
  });

  test("a ticket that comes after its attempt was given up opens nothing", async () => {
    const hub = new TestHub();
    const tickets = [];
    let sockets = 0;
    class Counted extends hub.WebSocket {
      constructor(url, protocols) {
        super(url, protocols);
        sockets += 1;
      }
    }
    const client = connect("ws://hub", {
      ...hub.options({ key: undefined, WebSocket: Counted }),
      ticket: () => new Promise((resolve) => tickets.push(resolve)),
    });
    await settled();
    client.stream.sleep();
    client.wake();
    await settled();
    for (const give of tickets) give("T");
    await hub.open();
    assert.deepEqual([tickets.length, sockets, client.state.phase], [2, 1, "open"]);
    client.close();
  });

  test("asks again for a channel that is not there, less and less often, and afresh after it was there", async () => {
    const { hub, client } = await connected();
    client.follow("football/9");
    const asked = (ms) => {
      hub.commands.length = 0;
      hub.pass(ms);
      return hub.commands.length;
    };
    assert.deepEqual([5000, 5000, 5000, 20_000, 300_000].map(asked), [1, 0, 1, 1, 5]);
    hub.publish("football/9", FOOTBALL);
    hub.pass(60_000);
    assert.equal(client.follow("football/9").health, "live");
    hub.end("football/9");
    assert.equal(asked(5000), 1);
    client.close();
  });

  test("closed, it asks for no channel that was not there, and holds no timer", async () => {
    const { hub, client } = await connected();
    client.follow("football/9");
    for (let n = 0; n < 5; n += 1) {
      hub.cut();
      hub.pass(client.state.retryAt - hub.clock.now());
      await hub.open();
    }
    hub.commands.length = 0;
    hub.pass(60_000);
    assert.equal(hub.commands.length, 1);
    client.close();
    assert.equal(hub.clock.timers.size, 1, "only the hub's own beat is left");
  });

  test("states are events, and a signal closes it", async () => {
    const hub = new TestHub();
    const ending = new AbortController();
    const client = connect("ws://hub", { ...hub.options(), signal: ending.signal });
    const phases = [];
    client.on("state", ({ phase }) => phases.push(phase));
    await client.open();
    hub.cut(4503, "drain");
    hub.pass(500);
    await client.open();
    ending.abort();
    assert.deepEqual(phases, ["open", "waiting", "connecting", "open", "closed"]);
    const late = new AbortController();
    late.abort(new Error("given up"));
    await assert.rejects(connect("ws://hub", hub.options()).open({ signal: late.signal }), /given up/);
  });

  test("while the hub says that it cannot know, documents are stale", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    const sockets = [];
    client.stream.request({ op: "ping" }, () => {});
    match.on("health", (health) => sockets.push(health));
    hub.stale();
    assert.equal(match.health, "stale");
    hub.pass(5000);
    assert.equal(match.health, "live");
    assert.deepEqual(sockets, ["stale", "live"]);
    client.close();
  });
});

describe("verify", () => {
  test("proves that the document is the hub's", async () => {
    const { hub, client } = await connected();
    const match = client.follow("football/1");
    hub.publish("football/1", { home: { name: "Ülverwick \"R\"" }, ball: { x: 1e21, y: 0.1 }, list: [1, null, "a"] });
    const proof = await match.verify();
    assert.equal(proof.ok, true);
    assert.equal(proof.sha256.length, 64);
    // A fault of the client, or of the line.
    client.stream.channel("football/1").data = { ...match.data, score: { home: 9, away: 0 } };
    assert.equal((await client.verify("football/1")).ok, false);
    await assert.rejects(client.verify("tennis/1"), /not subscribed/);
    client.close();
    await assert.rejects(client.verify("football/1"), /no connection/);
  });

  test("is not possible where the hub does not offer it", async () => {
    const hub = new TestHub({ features: [] });
    const client = connect("ws://hub", hub.options());
    await hub.open();
    await assert.rejects(client.verify("football/1"), /offers no hashes/);
    client.close();
  });
});
