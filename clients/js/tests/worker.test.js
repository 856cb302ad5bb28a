// Tabs that share one connection, over message ports, with the hub in memory behind the worker.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";

import { Served } from "../src/session.js";
import { TestHub } from "../src/testing.js";
import { connectWorker, serve } from "../src/worker.js";

const FOOTBALL = { score: { home: 0, away: 0 } };
const goal = (eid) => ({ kind: "goal", eid });
let hub, relay, scope, ports, tabs;

/** Until messages between ports have arrived, also those that answer others. */
async function settled() {
  for (let n = 0; n < 20; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

async function tab() {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  scope.onconnect({ ports: [port2] });
  const client = connectWorker({ port: port1 }, { clock: hub.clock, random: () => 1 });
  tabs.push(client);
  await settled();
  return client;
}

beforeEach(async () => {
  [ports, tabs, scope] = [[], [], {}];
  hub = new TestHub();
  hub.publish("football/1", FOOTBALL);
  relay = serve(scope, "ws://hub", hub.options());
  await hub.open();
});

afterEach(async () => {
  for (const client of tabs) client.close();
  relay.hub.close();
  await settled();
  for (const port of ports) port.close();
});

describe("a worker", () => {
  test("ten tabs are one connection and one subscription, and each has every event", async () => {
    const events = [];
    for (let n = 0; n < 10; n += 1) {
      const client = await tab();
      client.follow("football/1").on("goal", ({ eid }) => events.push(`${n}${eid}`));
    }
    await settled();
    assert.deepEqual(hub.commands.map(({ op, ch }) => [op, ch]), [["subscribe", "football/1"]]);
    hub.publish("football/1", { score: { home: 1 } }, [goal("a")]);
    await settled();
    assert.deepEqual(events.sort(), Array.from({ length: 10 }, (_, n) => `${n}a`));
    for (const client of tabs) {
      const { data, health } = client.follow("football/1");
      assert.deepEqual([data.score.home, health], [1, "live"]);
    }
  });

  test("follows as fast as the fastest tab, and stops after the last", async () => {
    const [first, second] = [await tab(), await tab()];
    first.follow("football/1", { rate: 1000 });
    await settled();
    const fast = second.follow("football/1", { rate: 250 });
    await settled();
    fast.close();
    hub.pass(2000);
    await settled();
    first.close();
    await settled();
    hub.pass(2000);
    await settled();
    assert.deepEqual(hub.commands.map(({ op, every_ms }) => [op, every_ms]), [
      ["subscribe", 1000], ["set", 250], ["set", 1000], ["unsubscribe", undefined],
    ]);
  });

  test("a line that breaks is lost in every tab, and resumed without a gap", async () => {
    const client = await tab();
    const match = client.follow("football/1");
    const [events, missed] = [[], []];
    match.on("change", (change) => change.missed && missed.push(change.missed));
    match.on("goal", ({ eid }) => events.push(eid));
    await settled();
    hub.cut();
    await settled();
    assert.deepEqual([client.state.phase, match.health], ["waiting", "lost"]);
    for (const eid of ["a", "b"]) hub.publish("football/1", { score: { home: 1 } }, [goal(eid)]);
    hub.pass(500);
    await settled();
    hub.pass(500);
    await settled();
    assert.deepEqual([events, missed, match.health], [["a", "b"], [], "live"]);
  });

  test("a tab that was frozen resumes from its position", async () => {
    const client = await tab();
    const events = [];
    const match = client.follow("football/1");
    match.on("goal", ({ eid }) => events.push(eid));
    const other = await tab();
    other.follow("football/1");
    await settled();
    client.stream.sleep();
    hub.publish("football/1", undefined, [goal("a")]);
    await settled();
    client.wake();
    await settled();
    assert.deepEqual([events, match.health], [["a"], "live"]);
  });

  test("a match that one tab follows by name and another by a pattern misses nothing", async () => {
    const [first, second] = [await tab(), await tab()];
    const seen = [];
    const note = ({ missed, events }) => seen.push(...events.map(({ eid }) => eid), ...(missed ? ["missed"] : []));
    first.follow("football/*").on("change", note);
    await settled();
    const { frames } = first.stream;
    second.follow("football/1").on("change", note);
    await settled();
    assert.equal(first.stream.frames, frames, "what one tab does is nothing to another");
    hub.publish("football/1", { score: { home: 1 } }, [goal("a")]);
    await settled();
    assert.deepEqual(seen, ["a", "a"]);
  });

  test("patterns, refusals, ends and new epochs are the hub's", async () => {
    const client = await tab();
    const all = client.follow("football/*");
    const none = client.follow("tennis/9");
    await settled();
    hub.publish("football/2", FOOTBALL);
    await settled();
    assert.deepEqual([...all.channels.keys()], ["football/1", "football/2"]);
    assert.equal(none.error.code, "not_tracked");
    hub.publish("tennis/9", { points: 1 });
    for (let n = 0; n < 3; n += 1) {
      hub.pass(5000);
      await settled();
    }
    assert.equal(none.data.points, 1);
    hub.end("football/2");
    await settled();
    assert.deepEqual([...all.channels.keys()], ["football/1"]);
    const missed = [];
    all.on("change", (change) => change.missed && missed.push(change.missed.why));
    hub.restart();
    for (let n = 0; n < 3; n += 1) {
      hub.pass(500);
      await settled();
    }
    assert.deepEqual(missed, ["epoch"]);
  });

  test("what is stale there is stale here, and what is not is not", async () => {
    const client = await tab();
    hub.publish("football/2", { ...FOOTBALL, stale_after_ms: 1000 });
    const [long, short] = [client.follow("football/1"), client.follow("football/2")];
    await settled();
    hub.pass(1000);
    await settled();
    assert.deepEqual([long.health, short.health], ["live", "stale"]);
    hub.pass(4000);
    await settled();
    assert.deepEqual([long.health, short.health], ["live", "live"]);
  });

  test("a key that is refused ends every tab with the hub's code", async () => {
    const client = await tab();
    const reading = client.follow("football/1").changes();
    await reading.next();
    const ended = assert.rejects(reading.next(), { name: "ClosedError", code: 4410 });
    hub.cut(4410, "token_revoked");
    await ended;
    const late = await tab();
    await assert.rejects(late.open(), { name: "ClosedError", code: 4410 });
  });

  test("proves its documents through the worker", async () => {
    const client = await tab();
    const match = client.follow("football/1");
    await settled();
    hub.publish("football/1", { score: { home: 3 } });
    assert.equal((await match.verify()).ok, true);
  });

  /** A worker whose commands of one channel wait until the test sends them. */
  async function holding(ch) {
    relay.hub.close();
    const held = [];
    class Slow extends hub.WebSocket {
      send(text) {
        const command = JSON.parse(text);
        if (command.ch === ch) held.push({ command, send: () => super.send(text) });
        else super.send(text);
      }
    }
    relay = serve(scope, "ws://hub", hub.options({ WebSocket: Slow }));
    await hub.open();
    const ops = () => held.splice(0).map(({ command: { op, every_ms } }) => [op, every_ms]);
    return { held, ops };
  }

  test("a channel that is awaited is given up with its last tab", async () => {
    const { ops } = await holding("tennis/5");
    const [first, second] = [await tab(), await tab()];
    const slow = first.follow("tennis/5", { rate: 1000 });
    second.follow("tennis/5", { rate: 100 });
    await settled();
    assert.deepEqual(ops(), [["subscribe", 1000], ["set", 100]]);
    second.close();
    await settled();
    assert.deepEqual(ops(), [["set", 1000]]);
    slow.close();
    hub.pass(2000);
    await settled();
    hub.pass(2000);
    assert.deepEqual(ops(), [["unsubscribe", undefined]]);
  });

  test("a channel that is awaited comes at the rate that its tab has asked for last", async () => {
    const { held, ops } = await holding("tennis/5");
    const client = await tab();
    const match = client.follow("tennis/5", { rate: 1000 });
    await settled();
    client.follow("tennis/5", { rate: 100 });
    await settled();
    hub.publish("tennis/5", FOOTBALL);
    held[0].send();
    await settled();
    assert.deepEqual([match.health, ops()], ["live", [["subscribe", 1000], ["set", 100]]]);
  });

  test("a channel that a tab has left twice, and wants again, stays", () => {
    const session = {};
    relay.subscribed(session, "football/1", 0);
    relay.unsubscribed(session, "football/1");
    hub.pass(1000);
    relay.unsubscribed(session, "football/1");
    relay.subscribed(session, "football/1", 0);
    hub.pass(60_000);
    assert.deepEqual(hub.commands.map(({ op }) => op), ["subscribe"]);
  });

  test("a pattern that is refused is refused in every tab, also in one that comes later", async () => {
    relay.hub.close();
    class Refusing extends hub.WebSocket {
      send(text) {
        const { op, id, ch } = JSON.parse(text);
        if (op !== "subscribe" || ch !== "chess/*") return super.send(text);
        queueMicrotask(() => this.onmessage({ data: JSON.stringify({ type: "error", id, ch, code: "bad_channel", message: "no such sport", retry: false }) }));
      }
    }
    relay = serve(scope, "ws://hub", hub.options({ WebSocket: Refusing }));
    await hub.open();
    for (let n = 0; n < 2; n += 1) {
      const client = await tab();
      await assert.rejects(client.follow("chess/*").changes().next(), { name: "RefusedError", code: "bad_channel" });
    }
  });

  test("what tabs can resume from is bounded", () => {
    const served = new Served("football/1", "e1", 0, {});
    const text = "x".repeat(100_000);
    for (let seq = 1; seq <= 100; seq += 1) served.update({ seq, data: {}, patch: { text }, events: undefined });
    assert.equal(served.tail.length, 10);
    assert.equal(served.canResume({ epoch: "e1", seq: 89 }), "window");
    assert.equal(served.canResume({ epoch: "e1", seq: 90 }), undefined);
    served.replace("e2", 0, {});
    for (let seq = 1; seq <= 2000; seq += 1) served.update({ seq, data: {}, patch: { n: seq }, events: undefined });
    assert.equal(served.tail.length, 1000);
  });

  test("a tab that says nothing any more is forgotten", async () => {
    const { port1, port2 } = new MessageChannel();
    ports.push(port1, port2);
    relay.accept(port2);
    port1.postMessage({ data: JSON.stringify({ op: "subscribe", id: 1, ch: "football/1" }) });
    await settled();
    hub.pass(89_000);
    assert.deepEqual(hub.commands.map(({ op }) => op), ["subscribe"]);
    hub.pass(3_000);
    assert.deepEqual(hub.commands.map(({ op }) => op), ["subscribe", "unsubscribe"]);
  });
});
