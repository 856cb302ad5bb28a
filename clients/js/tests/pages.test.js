// What the hub's own pages say of a lost connection and of a quiet document: by the clock of the client, which never goes back.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { test } from "node:test";

import { JSDOM } from "jsdom";

import { Stream } from "../src/stream.js";
import { TestHub } from "../src/testing.js";

// In place of what a hub serves: the module of the client.
const module = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
const client = module("export const FINAL_CODES = new Map();");
register(module(`export const resolve = (specifier, context, next) =>
  specifier === "/client/v1/matchwire.js" ? { url: "${client}", shortCircuit: true } : next(specifier, context);`));

const html = readFileSync(new URL("../../../crates/web/templates/live.html", import.meta.url), "utf8");
const { window } = new JSDOM(`<meta name="matchwire-key" content="K">${html}<div id="desk"></div>`, { url: "https://hub.example.org/" });
const { document, location, sessionStorage } = window;
Object.assign(globalThis, { document, location, sessionStorage, addEventListener: () => {} });
const { Connection } = await import("../../../crates/web/assets/connection.js");
const { healthReason } = await import("../../../crates/web/assets/view.js");

/** A connected stream of a page, half an hour before what `Date.now` says. */
async function connected(entered = () => {}) {
  const hub = new TestHub();
  hub.clock.time = Date.now() - 30 * 60_000;
  hub.publish("football/1", { stale_after_ms: 15_000 });
  const stream = new Stream("ws://hub", hub.options({ onState: entered }));
  stream.subscribe("football/1", () => {});
  await hub.open();
  return { hub, stream, channel: stream.channel("football/1") };
}

test("the banner counts down to the next attempt, and its button makes it at once", async () => {
  let opened;
  const connection = new Connection(() => opened.stream, { say: () => {} });
  opened = await connected((state) => connection.entered(state));
  const { hub, stream } = opened;
  connection.start();
  hub.cut();
  connection.tick(stream);
  const { textContent } = document.getElementById("banner-text");
  assert.equal(textContent, "Connection lost. Nothing on this page is current. Trying again in 1 s.");
  document.getElementById("banner-button").click();
  assert.equal(stream.state.phase, "connecting");
  stream.close();
});

test("a reason says how long a document has been quiet", async () => {
  const { hub, stream, channel } = await connected();
  assert.equal(healthReason(channel, stream), undefined);
  hub.cut();
  hub.clock.time += 40_000;
  assert.equal(channel.health, "lost");
  assert.equal(healthReason(channel, stream), "No connection to the hub. Last updated 40 s ago.");
  stream.close();
});

test("a document of which the hub itself hears nothing has been quiet for a while", async () => {
  const { hub, stream, channel } = await connected();
  hub.stale();
  assert.equal(channel.health, "stale");
  assert.equal(healthReason(channel, stream), "No news for a while, although the connection is open.");
  stream.close();
});
