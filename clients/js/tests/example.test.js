// examples/react-dashboard, built as its page says, with React in jsdom.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { JSDOM } from "jsdom";
import { bundle } from "../build.js";
import { TestHub } from "../src/testing.js";

const { window } = new JSDOM("<!doctype html>", { url: "http://localhost/" });
const top = new URL("../", import.meta.url).pathname;
const settled = () => new Promise((resolve) => setImmediate(resolve));
let folder, example, hub;

before(async () => {
  for (const [name, value] of Object.entries({ window, document: window.document, location: window.location, navigator: window.navigator })) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  globalThis.requestAnimationFrame = (run) => hub.clock.setTimeout(run, 16);
  globalThis.IS_REACT_ACT_ENVIRONMENT = true;
  const contents = `
    export { Dashboard } from "../../examples/react-dashboard/dashboard.jsx";
    export { MatchwireProvider } from "matchwire/react";
    export { connect } from "matchwire";`;
  const text = await bundle(undefined, {
    entryPoints: undefined,
    stdin: { contents, resolveDir: top },
    jsx: "automatic",
    external: ["react", "react/jsx-runtime"],
    alias: { matchwire: join(top, "src/index.js"), "matchwire/react": join(top, "src/react.js") },
  });
  // Where Node finds React.
  folder = await mkdtemp(join(top, "node_modules", "example-"));
  await writeFile(join(folder, "example.mjs"), text);
  example = await import(join(folder, "example.mjs"));
});

after(() => rm(folder, { recursive: true, force: true }));

test("shows the matches in play, and the first of them in full", async () => {
  const { act, createElement: h } = await import("react");
  const { createRoot } = await import("react-dom/client");
  hub = new TestHub();
  const sides = { home: { id: 1, name: "Bears" }, away: { id: 2, name: "Wolves" }, score: { home: 0, away: 0 } };
  hub.publish("football", { matches: { 7: { ...sides, life: "live" }, 8: { ...sides, life: "prematch" } } });
  hub.publish("football/7", { ...sides, clock: { at: 0, s: 61, running: false } });
  hub.publish("football/7/odds", { suspended: false, markets: { match_winner: { selections: { home: { price: "2.10" }, draw: {} } } } });
  const client = example.connect("ws://hub", hub.options());
  await hub.open();

  const place = window.document.createElement("div");
  const root = createRoot(place);
  const text = (selector) => place.querySelector(selector)?.textContent;
  const pass = () => act(async () => {
    await settled();
    hub.pass(600);
  });
  await act(async () => root.render(h(example.MatchwireProvider, { hub: client }, h(example.Dashboard))));
  await pass();
  await pass();
  assert.deepEqual([...place.querySelectorAll("li")].map((it) => it.textContent), ["Bears 0–0 Wolves"]);
  assert.deepEqual([text("h1"), text("p")], ["Bears 0–0 Wolves", "home 2.10 · draw –"]);

  const goal = { kind: "goal", eid: "g1", minute: 5, side: "home", player: { id: 3, name: "A. Bear" } };
  await act(async () => hub.publish("football/7", { score: { home: 1 } }, [goal]).publish("football/7/odds", { suspended: true }));
  await pass();
  assert.deepEqual([text("h1"), text("p"), text("ol")], ["Bears 1–0 Wolves", "suspended", "5′ A. Bear"]);
  await act(async () => hub.publish("football/7", { score: { home: 0 } }, [{ kind: "retract", eid: "r1", of: "g1", why: "offside" }]));
  await pass();
  assert.deepEqual([text("h1"), text("ol")], ["Bears 0–0 Wolves", ""]);
  await act(async () => root.unmount());
  client.close();
});
