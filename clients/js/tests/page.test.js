// What the client does with the page that it runs in.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";

import { JSDOM } from "jsdom";
import { TestHub } from "../src/testing.js";

const dom = new JSDOM("<!doctype html>", { url: "https://club.example.org/", pretendToBeVisual: false });
const { window } = dom;
const settled = () => new Promise((resolve) => setImmediate(resolve));
let connect, hub, client, match, frames, warnings;

before(async () => {
  const page = { document: window.document, location: window.location, addEventListener: window.addEventListener.bind(window) };
  for (const [name, value] of Object.entries(page)) Object.defineProperty(globalThis, name, { value, configurable: true });
  // Its signals are of another world than those of Node.
  globalThis.AbortController = window.AbortController;
  globalThis.requestAnimationFrame = (run) => frames.push(run);
  ({ connect } = await import("../src/index.js"));
});

beforeEach(async (t) => {
  frames = [];
  warnings = [];
  console.warn = (text) => warnings.push(text);
  show("visible");
  hub = new TestHub();
  hub.publish("football/1", { score: { home: 0 } });
  client = connect("https://hub.example.org", hub.options({ key: undefined, protocols: ["matchwire.v1"] }));
  match = client.follow("football/1", { rate: "frame" });
  await hub.open();
});

after(() => window.close());

function show(state) {
  Object.defineProperty(window.document, "visibilityState", { value: state, configurable: true });
  window.document.dispatchEvent(new window.Event("visibilitychange"));
}

function transition(name, persisted) {
  window.dispatchEvent(new window.PageTransitionEvent(name, { persisted }));
}

function draw() {
  for (const run of frames.splice(0)) run();
}

test("a rate of a frame follows the screen, and asks for little while nobody looks", () => {
  show("hidden");
  show("visible");
  assert.deepEqual(hub.commands.map(({ op, every_ms }) => [op, every_ms]), [["subscribe", 100], ["set", 5000], ["set", 100]]);
  client.close();
});

test("all readers draw with one frame, each once", async () => {
  const seen = [];
  match.on("change", ({ data }) => seen.push(data.score.home));
  const other = client.follow("football/1", { rate: "frame" });
  other.on("change", () => seen.push("other"));
  await settled();
  draw();
  seen.length = 0;
  for (const home of [1, 2, 3]) {
    hub.publish("football/1", { score: { home } });
    hub.pass(100);
  }
  assert.equal(frames.length, 1);
  draw();
  assert.deepEqual(seen, [3, "other"]);
  client.close();
});

test("a page that is put aside gives up its socket, and resumes from its position", async () => {
  const events = [];
  match.on("goal", ({ eid }) => events.push(eid));
  transition("pagehide", true);
  assert.deepEqual([client.state.phase, match.health], ["waiting", "lost"]);
  hub.publish("football/1", { score: { home: 1 } }, [{ kind: "goal", eid: "g1" }]);
  hub.pass(600_000);
  assert.equal(client.state.phase, "waiting", "it does not come back by itself");
  transition("pageshow", true);
  await hub.open();
  assert.deepEqual([events, match.health], [["g1"], "live"]);
  client.close();
});

test("a page that is left for good is no reason to close", () => {
  transition("pagehide", false);
  assert.equal(client.state.phase, "open");
  client.close();
});

for (const [name, happens] of [
  ["the network is back", () => window.dispatchEvent(new window.Event("online"))],
  ["the page is shown again", () => show("visible")],
]) {
  test(`connects at once when ${name}`, async () => {
    for (let n = 0; n < 5; n += 1) {
      hub.cut();
      if (n < 4) hub.pass(60_000);
      await settled();
    }
    assert.equal(client.state.phase, "waiting");
    happens();
    assert.equal(client.state.phase, "connecting");
    await hub.open();
    client.close();
  });
}

test("after the machine has slept, a socket that says nothing is given up at once", async () => {
  // The timers are late: only the clock has moved.
  hub.clock.time += 3_600_000;
  show("visible");
  assert.equal(client.state.phase, "connecting");
  await hub.open();
  assert.equal(client.state.phase, "open");
  client.close();
});

test("a key in a page that others can read is warned of, a ticket is not", () => {
  client.close();
  assert.equal(warnings.length, 0);
  connect("wss://hub.example.org", hub.options({ key: "mw_secret" })).close();
  assert.equal(warnings.length, 1);
  assert.ok(!warnings[0].includes("mw_secret"));
});

test("a relative address is that of the page's own host", () => {
  client.close();
  const urls = [];
  class Seen extends hub.WebSocket {
    constructor(url, protocols) {
      super(url, protocols);
      urls.push(url);
    }
  }
  connect("/", hub.options({ WebSocket: Seen, key: undefined })).close();
  assert.deepEqual(urls, ["wss://club.example.org/stream/v1"]);
});

test("closed, it listens to the page no more", () => {
  client.close();
  transition("pageshow", true);
  assert.equal(client.state.phase, "closed");
});
