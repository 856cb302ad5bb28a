// The client against a running hub, over connections that are cut, stalled and slow.
//
//   HUB_BIN=../../target/debug/matchwire node --test tests/hub/
//
// TEST_CUTS is the number of cuts, 100 by default.

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { after, before, describe, test } from "node:test";

import { connect } from "../../src/index.js";
import { Proxy, Record, WebSocket, startHub, until, within } from "./support.js";

const CUTS = Number(process.env.TEST_CUTS ?? 100);
// Far more than the tests take, each of whose waits has a bound of its own.
const ALL_MS = 300_000 + 4000 * CUTS;
const PATTERNS = ["tennis/*", "basketball/*", "*/*/odds", "football/*/odds/*", "football", "feeds"];
let hub;

before(async () => {
  hub = await startHub();
});

// Clients that a failed test has left open would reconnect for ever.
const clients = [];

after(() => {
  for (const client of clients) client.close();
  return hub?.stop();
});

async function image(ch, { address, key } = hub) {
  const answer = await fetch(`http://${address}/stream/v1/channels/${ch}`, { headers: { authorization: `Token ${key}` } });
  return answer.status === 200 ? answer.json() : undefined;
}

/** A proxy before a hub, until the test has ended. */
async function proxied(t, { address } = hub) {
  const proxy = await Proxy.before(address);
  t.after(() => proxy.close());
  return proxy;
}

function open(url, options = { key: hub.key }) {
  const client = connect(url, { ...options, WebSocket });
  clients.push(client);
  return client;
}

/** The names of the football matches, followed one by one. */
async function footballNames() {
  let names = [];
  await until("there are matches", async () => {
    const { data } = (await image("football")) ?? {};
    names = Object.keys(data?.matches ?? {}).map((id) => `football/${id}`);
    return names.length > 0;
  });
  return names;
}

/** Each channel is, at some sequence, exactly what the hub answers over HTTP. */
async function checkDocuments(record, from) {
  for (const name of record.channels.keys()) {
    let found = "never at the same sequence";
    await until(`${name} is equal to the hub's`, async () => {
      const truth = await image(name, from);
      const channel = record.channels.get(name);
      // It has ended.
      if (truth === undefined || truth.epoch !== channel.epoch) return ((found = undefined), true);
      await until(`${name} is at ${truth.seq}`, () => channel.seq >= truth.seq);
      if (!channel.documents.has(truth.seq)) return false;
      found = isDeepStrictEqual(channel.documents.get(truth.seq), truth.data) ? undefined : truth;
      return true;
    });
    assert.equal(typeof found, "undefined", `${name}: ${JSON.stringify(found)}`);
  }
}

/** Each event of the reference that happened while the other followed, once and in order. */
function checkEvents(record, reference) {
  let checked = 0;
  for (const [name, { first, epoch, seq, events, faults }] of record.channels) {
    const other = reference.channels.get(name);
    assert.deepEqual([faults, other?.faults ?? []], [[], []], name);
    if (!other) continue;
    // From where both followed it, which may have been at different moments.
    const from = Math.max(first.seq, other.first.seq);
    const isComparable = first.epoch === epoch && other.first.epoch === epoch;
    const isWithin = (event) => isComparable && event.epoch === epoch && event.seq > from && event.seq <= seq;
    const all = other.events.filter(isWithin).map(({ eid }) => eid);
    assert.deepEqual(events.filter(isWithin).map(({ eid }) => eid), all, name);
    checked += all.length;
  }
  return checked;
}

describe("a hub that plays", { concurrency: true, timeout: ALL_MS }, () => {
  test(`${CUTS} cuts: no gap, no repetition, and the documents of the hub`, async (t) => {
    const names = await footballNames();
    const proxy = await proxied(t);
    const [straight, cut] = [open(`ws://${hub.address}`), open(proxy.url)];
    const reference = new Record(straight, [...PATTERNS, "football/*"]);
    await until("the reference follows", () => reference.channels.size > names.length + 20);
    const record = new Record(cut, [...PATTERNS, ...names]);
    await until("the other follows", () => names.every((name) => record.channels.has(name)) && record.channels.size > names.length + 20);
    // At once: the waits between attempts are for hubs, and tested elsewhere.
    cut.on("state", ({ phase }) => phase === "waiting" && setTimeout(() => cut.wake(), 5));

    let seed = 1;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    while (proxy.cuts < CUTS) {
      await until("it dials", () => !proxy.isIdle);
      const before = proxy.cuts;
      const how = random();
      // At once, also before `hello`; within the next frames; while it catches up; after a while.
      if (how < 0.2) proxy.cut();
      else proxy.cut(Math.ceil(random() * (how < 0.6 ? 2_000 : 60_000)));
      await until("the connection is cut", () => proxy.cuts > before);
      if (random() < 0.7) await within("it is connected again", cut.open());
    }
    await within("it is connected after the last cut", cut.open());
    // Football matches that began since are followed by the reference alone.
    const isFollowed = (name) => names.includes(name) || !/^football\/\d+$/.test(name);
    await until("it has caught up", () => record.lacking(reference, isFollowed).length === 0).catch(({ message }) => {
      assert.fail(`${message}: ${record.lacking(reference, isFollowed)}`);
    });
    await until("every document is live", () => record.follows.every(({ channels }) => {
      return [...channels.values()].every(({ health }) => !["lost", "catching_up", "stale"].includes(health));
    }));
    await checkDocuments(record);
    cut.close();
    await until("the reference is as far", () => [...record.channels].every(([name, { epoch, seq }]) => {
      const other = reference.channels.get(name);
      return !other || other.epoch !== epoch || other.seq >= seq;
    }));
    straight.close();
    const checked = checkEvents(record, reference);
    assert.ok(checked > 50, `only ${checked} events happened`);
    t.diagnostic(`${proxy.cuts} cuts, ${record.channels.size} channels, ${checked} events`);
  });

  test("a connection that says nothing is given up after three beats, and resumed", async (t) => {
    const proxy = await proxied(t);
    const client = open(proxy.url);
    const record = new Record(client, ["tennis/*"]);
    await until("it follows", () => record.channels.size > 3);
    const conn = client.stream.conn;
    const phases = [];
    client.on("state", ({ phase, message }) => phases.push(message ?? phase));
    proxy.stalled = true;
    await until("it notices", () => phases.length > 0);
    assert.equal(phases[0], "the connection fell silent");
    proxy.release();
    await within("it is connected again", client.open());
    assert.notEqual(client.stream.conn, conn);
    await until("it is live", () => [...record.follows[0].channels.values()].every(({ health }) => health === "live" || health === "ended"));
    for (const { faults } of record.channels.values()) assert.deepEqual(faults, []);
    client.close();
  });

  test("a slow line is merged, never closed, and ends with the same documents", async (t) => {
    // The kernel queues some MB for a line that is slow, so it takes more than a demo.
    const steady = await startHub("--bench-rate", "3000", "--bench-channels", "20");
    t.after(() => steady.stop());
    const proxy = await proxied(t, steady);
    const client = open(proxy.url, { key: steady.key });
    const whys = new Set();
    const record = new Record(client, ["football/*/odds/steady"], { lossless: true });
    record.follows[0].on("change", ({ merged }) => whys.add(merged?.why));
    await until("it follows", () => record.channels.size === 20);
    proxy.bytesPerSecond = 8_000;
    const conn = client.stream.conn;
    await until("the hub finds the line slow", async () => {
      const metrics = await (await fetch(`http://${steady.address}/metrics`)).text();
      return /^matchwire_behind_total [1-9]/m.test(metrics);
    });
    proxy.bytesPerSecond = undefined;
    await until("values are merged", () => whys.has("slow"));
    assert.deepEqual([client.state.phase, client.stream.conn], ["open", conn]);
    await checkDocuments(record, steady);
    for (const { faults } of record.channels.values()) assert.deepEqual(faults, []);
    client.close();
  });

  // What it asks for after which pauses is tested with a clock moved by hand (client.test.js).
  test("a program that sleeps asks for less, gets every event and the documents, and asks for more when it is awake", async () => {
    const [straight, sleepy] = [open(`ws://${hub.address}`), open(`ws://${hub.address}`)];
    const reference = new Record(straight, ["tennis/*"]);
    await until("the reference follows", () => reference.channels.size > 3);
    const sent = [];
    const { request } = sleepy.stream;
    sleepy.stream.request = (command, receive) => {
      if (command.op === "set") sent.push(command.every_ms);
      return request.call(sleepy.stream, command, receive);
    };
    const channels = new Map();
    const changes = sleepy.follow("tennis/*").changes();
    const take = async () => {
      const { ch, epoch, seq, data, events, missed } = (await within("a change comes", changes.next())).value;
      const known = channels.get(ch);
      const channel = known ?? { first: { epoch, seq }, events: [], faults: [] };
      channels.set(ch, Object.assign(channel, { epoch, seq, data }));
      // The first may be the image and what came after it, as one.
      for (const { eid } of known ? events : []) channel.events.push({ epoch, seq, eid });
      if (missed) channel.faults.push(missed);
      return ch;
    };
    while (channels.size < 4) await take();
    const before = reference.events;
    await until("it asks for less", () => sent.includes(500));
    await until("events happen while it sleeps", () => reference.events > before + 3);
    await until("it asks for more", async () => {
      await take();
      return sent.at(-1) === 0;
    });
    let compared = 0;
    await until("both have seen a document at the same sequence", async () => {
      const name = await take();
      const { epoch, seq, data } = channels.get(name);
      const isThere = () => reference.channels.get(name)?.epoch !== epoch || reference.channels.get(name).seq >= seq;
      await until(`the reference is at ${seq} of ${name}`, isThere);
      const other = reference.channels.get(name);
      if (other.epoch !== epoch || !other.documents.has(seq)) return false;
      assert.deepEqual(data, other.documents.get(seq), name);
      compared += 1;
      return compared > 10;
    });
    assert.equal(sleepy.state.phase, "open");
    sleepy.close();
    // Of each channel up to where it was read, when the other reader is there too.
    await until("the reference is as far", () => [...channels].every(([name, { epoch, seq }]) => {
      const other = reference.channels.get(name);
      return !other || other.epoch !== epoch || other.seq >= seq;
    }));
    straight.close();
    assert.ok(checkEvents({ channels }, reference) > 0, "no event could be compared");
  });

  test("verifies what it has, if the hub offers it", async (t) => {
    const client = await within("it is connected", open(`ws://${hub.address}`).open());
    const [name] = await footballNames();
    // At a rate of its own: what is held back comes before the hash.
    const readers = ["football", "tennis", "feeds", name, `${name}/odds`].map((ch) => client.follow(ch, { rate: 1000 }));
    await within("there are documents", Promise.all(readers.map((reader) => reader.ready())));
    if (client.features.includes("hash")) {
      for (const proof of await Promise.all(readers.map((reader) => reader.verify()))) assert.ok(proof.ok, JSON.stringify(proof));
      readers[0].channel.data = { ...readers[0].data, forged: true };
      assert.equal((await readers[0].verify()).ok, false);
    } else {
      await assert.rejects(readers[0].verify(), /offers no hashes/);
      t.diagnostic("this hub offers no hashes");
    }
    client.close();
  });
});

describe("what the hub closes for good", { timeout: ALL_MS }, () => {
  test("a wrong key ends iterators with a typed error", async () => {
    const client = open(`ws://${hub.address}`, { key: "mw_wrong" });
    await assert.rejects(client.follow("football").ready(), { name: "ClosedError", code: 4401 });
  });

  test("a channel name that cannot be ends its reader alone", async () => {
    const client = open(`http://${hub.address}`);
    await assert.rejects(client.follow("no spaces/1").ready(), { name: "RefusedError", code: "bad_channel" });
    assert.ok((await client.follow("football").ready()).matches);
    client.close();
  });
});
