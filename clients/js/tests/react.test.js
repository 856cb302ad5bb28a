// The hooks, with React itself in jsdom, and the store beneath them.

import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";

import { JSDOM } from "jsdom";
import { TestHub } from "../src/testing.js";

const { window } = new JSDOM("<!doctype html><div id=root></div>", { url: "http://localhost/" });
const settled = () => new Promise((resolve) => setImmediate(resolve));
let React, createRoot, renderToString, connect, hooks, createStore;
let hub, client, root, place;

before(async () => {
  for (const [name, value] of Object.entries({ window, document: window.document, location: window.location, navigator: window.navigator })) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  globalThis.requestAnimationFrame = (run) => hub.clock.setTimeout(run, 16);
  globalThis.IS_REACT_ACT_ENVIRONMENT = true;
  React = await import("react");
  ({ createRoot } = await import("react-dom/client"));
  ({ renderToString } = await import("react-dom/server"));
  ({ connect } = await import("../src/index.js"));
  hooks = await import("../src/react.js");
  ({ createStore } = await import("../src/store.js"));
});

beforeEach(async () => {
  hub = new TestHub();
  hub.publish("football/1", { score: { home: 0, away: 0 }, ball: { x: 1 } });
  client = connect("ws://hub", hub.options());
  await hub.open();
  place = window.document.createElement("div");
  root = undefined;
});

const h = (...parameters) => React.createElement(...parameters);

async function render(element, { strict = true } = {}) {
  root ??= createRoot(place);
  const provided = h(hooks.MatchwireProvider, { hub: client }, element);
  await React.act(async () => root.render(strict ? h(React.StrictMode, null, provided) : provided));
  await frame();
}

/** Lets time pass up to the next frame of the screen. */
async function frame(ms = 16) {
  await React.act(async () => {
    await settled();
    hub.pass(ms);
  });
}

async function end() {
  await React.act(async () => root?.unmount());
  client.close();
}

describe("React", () => {
  test("shows a part of a document, its health, and each event once", async () => {
    const goals = [];
    function Score() {
      const score = hooks.useChannel("football/1", (match) => match.score);
      const health = hooks.useHealth("football/1");
      hooks.useEvents("football/1", "goal", (goal) => goals.push(goal.eid));
      return h("b", { "data-health": health }, score ? `${score.home}-${score.away}` : "?");
    }
    await render(h(Score));
    assert.equal(place.innerHTML, '<b data-health="live">0-0</b>');
    await React.act(async () => hub.publish("football/1", { score: { home: 1 } }, [{ kind: "goal", eid: "g1" }]));
    assert.deepEqual(goals, ["g1"], "before the next frame, and once, also in Strict Mode");
    await frame();
    assert.equal(place.textContent, "1-0");
    await React.act(async () => hub.cut());
    await frame();
    assert.equal(place.innerHTML, '<b data-health="lost">1-0</b>');
    await end();
  });

  test("renders once a frame, and not at all for what it does not select", async () => {
    let renderings = 0;
    function Score() {
      renderings += 1;
      // A new object in each call: it counts only if it differs.
      const { home } = hooks.useChannel("football/1", (match) => ({ home: match.score.home })) ?? {};
      return h("b", null, home);
    }
    await render(h(Score), { strict: false });
    await frame(200);
    renderings = 0;
    for (let x = 0; x < 50; x += 1) hub.publish("football/1", { ball: { x } });
    await frame(200);
    assert.equal(renderings, 0);
    for (let home = 1; home <= 50; home += 1) hub.publish("football/1", { score: { home } }, [{ kind: "goal", eid: `g${home}` }]);
    await frame(200);
    assert.equal(renderings, 1);
    assert.equal(place.textContent, "50");
    await end();
  });

  test("a rendering between two frames shows the last frame", async () => {
    let again;
    function Score() {
      [, again] = React.useState(0);
      return h("b", null, hooks.useChannel("football/1", (match) => match.score.home));
    }
    await render(h(Score));
    await frame(200);
    hub.publish("football/1", { score: { home: 7 } }, [{ kind: "goal", eid: "g" }]);
    await React.act(async () => again(1));
    assert.equal(place.textContent, "0");
    await frame();
    assert.equal(place.textContent, "7");
    await end();
  });

  test("mounting, unmounting and moving costs one subscription, which ends after the linger", async () => {
    const Score = () => h("b", null, hooks.useChannel("football/1", (match) => match.score.home));
    await render(h("div", null, h(Score), h(Score)));
    await render(h("p", null, h(Score)));
    await render(null);
    hub.pass(1900);
    await render(h(Score));
    const ops = () => hub.commands.map(({ op }) => op).filter((op) => op !== "set");
    assert.deepEqual(ops(), ["subscribe"]);
    await render(null);
    hub.pass(2100);
    assert.deepEqual(ops(), ["subscribe", "unsubscribe"]);
    await end();
  });

  test("follows another channel when its name changes, and none without a name", async () => {
    hub.publish("football/2", { score: { home: 5 } });
    const Score = ({ ch }) => h("b", null, hooks.useChannel(ch, (match) => match.score.home) ?? "none");
    await render(h(Score, { ch: "football/1" }));
    await render(h(Score, { ch: "football/2" }));
    assert.equal(place.textContent, "5");
    await render(h(Score, { ch: undefined }));
    assert.equal(place.textContent, "none");
    await end();
  });

  test("on a server there are no documents, and no connection", async () => {
    const Score = () => h("b", null, hooks.useChannel("football/1", (match) => match.score.home) ?? "-", hooks.useHealth("football/1"));
    const html = renderToString(h(hooks.MatchwireProvider, { hub: undefined }, h(Score)));
    assert.match(html, /<b>-<!-- -->waiting<\/b>/);
    assert.match(renderToString(h(hooks.MatchwireProvider, { hub: client }, h(Score))), /<b>-<!-- -->waiting<\/b>/);
    assert.deepEqual(hub.commands, []);
    client.close();
  });

  test("hydrates what the server has rendered", async () => {
    const Score = () => h("b", null, hooks.useChannel("football/1", (match) => match.score.home) ?? "-");
    const app = h(hooks.MatchwireProvider, { hub: client }, h(Score));
    place.innerHTML = renderToString(app);
    const { hydrateRoot } = await import("react-dom/client");
    const complaints = [];
    await React.act(async () => (root = hydrateRoot(place, app, { onRecoverableError: (error) => complaints.push(error) })));
    await frame();
    await frame();
    assert.deepEqual([place.textContent, complaints], ["0", []]);
    await end();
  });
});

describe("the store", () => {
  test("a signal gives its value now and after each change of it, once a frame", async () => {
    const store = createStore(client);
    const score = store.select("football/1", (match) => match.score);
    const seen = [];
    const stop = score.subscribe((value) => seen.push(value?.home));
    hub.pass(200);
    await settled();
    hub.publish("football/1", { ball: { x: 3 } });
    hub.pass(200);
    hub.publish("football/1", { score: { home: 1 } }, []);
    hub.publish("football/1", { score: { home: 2 } }, []);
    assert.equal(score.value.home, 0);
    hub.pass(16);
    assert.deepEqual([seen, score.value.home], [[0, 2], 2]);
    stop();
    hub.publish("football/1", { score: { home: 3 } }, []);
    hub.pass(16);
    assert.deepEqual(seen, [0, 2]);
    assert.equal(store.health("football/1").value, "live");
    client.close();
  });
});
