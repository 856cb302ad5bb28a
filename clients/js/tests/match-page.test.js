// The page of a match reads the recording of what happened before it was opened: only while there is a connection.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { test } from "node:test";

import { JSDOM } from "jsdom";

// In place of what a hub serves: the module of the client.
const module = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const client = module("export const FINAL_CODES = new Map(); export const connect = () => globalThis.hub;");
register(module(`export const resolve = (specifier, context, next) =>
  specifier === "/client/v1/matchwire.js" ? { url: "${client}", shortCircuit: true } : next(specifier, context);`));

const template = (name) => readFileSync(new URL(`../../../crates/web/templates/${name}`, import.meta.url), "utf8").replaceAll("{{ sport }}", "tennis").replaceAll("{{ id }}", "7");

test("the recording is read again when there is a connection", async (t) => {
  const html = `<meta name="matchwire-key" content="K">${template("live.html")}${template("match.html")}`;
  const { window } = new JSDOM(html, { url: "https://hub.example.org/", pretendToBeVisual: true });
  const { document, location, sessionStorage } = window;
  const page = { document, location, sessionStorage, Node: window.Node, addEventListener: () => {}, requestAnimationFrame: () => 0 };
  for (const [name, value] of Object.entries(page)) Object.defineProperty(globalThis, name, { value, configurable: true });
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout", "Date"], now: 1_800_000_000_000 });
  t.mock.method(globalThis, "fetch", async () => ({ ok: false }));

  const data = { status: "live", life: "live", p1: { name: "A" }, p2: { name: "B" }, markets: {} };
  const replays = [];
  const follow = (ch) => ({ ch, data, health: "live", channel: { data, health: "live", seq: 1 }, channels: new Map(), on: () => {} });
  const hub = (globalThis.hub = {
    state: { phase: "open" },
    features: ["replay"],
    stream: { roundTripMs: () => 1, serverNow: () => Date.now() * 1000, clockOffset: () => 0 },
    follow,
    close: () => {},
    serverNow: () => Date.now() * 1000,
    replay(chs, { onState }) {
      replays.push(chs);
      // As a replay does that starts without a connection.
      onState({ phase: "lost" });
    },
  });
  await import("../../../crates/web/assets/match.js");
  t.mock.timers.tick(250);
  assert.deepEqual(replays, [["tennis/7"]]);
  hub.state = { phase: "waiting" };
  t.mock.timers.tick(20_000);
  assert.equal(replays.length, 1, "there is no connection");
  hub.state = { phase: "open" };
  t.mock.timers.tick(250);
  assert.equal(replays.length, 2);
  t.mock.timers.tick(60_000);
  assert.equal(replays.length, 2, "twice is enough");
});
