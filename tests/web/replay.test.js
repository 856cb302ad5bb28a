// The replay bar of a card, on as much of a page as it needs.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";

import { ReplayBar } from "../../crates/web/assets/replay.js";

class Element {
  constructor(tag) {
    Object.assign(this, { tag, attributes: {}, children: [], listeners: {}, dataset: {}, style: { setProperty() {} } });
    Object.assign(this, { hidden: false, textContent: "", value: "" });
  }
  get max() {
    return this.attributes.max;
  }
  setAttribute(name, value) {
    this.attributes[name] = String(value);
    if (name === "hidden") this.hidden = true;
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = String(value);
  }
  getAttribute(name) {
    return this.attributes[name] ?? null;
  }
  hasAttribute(name) {
    return name in this.attributes;
  }
  removeAttribute(name) {
    delete this.attributes[name];
  }
  append(...children) {
    this.children.push(...children);
  }
  after(...others) {
    this.others = others;
  }
  replaceChildren(...children) {
    this.children = children;
  }
  querySelector() {
    return this;
  }
  contains(node) {
    return node === this || this.children.some((child) => child instanceof Element && child.contains(node));
  }
  addEventListener(type, run) {
    (this.listeners[type] ??= []).push(run);
  }
  fire(type) {
    for (const run of this.listeners[type] ?? []) run({});
  }
  focus() {
    document.activeElement = this;
  }
  find(name) {
    if (this.attributes.class === name) return this;
    return this.children.map((child) => child.find?.(name)).find(Boolean);
  }
}

const SPAN = { first: 0, last: 100_000_000 };

describe("the replay bar", () => {
  let bar, head, replays;

  const stream = { features: ["replay"] };

  function play(chs, options) {
    const replay = {
      chs, options, phase: "starting", paused: false, at: 0, speed: options.speed,
      close: () => (replay.phase = "closed"),
      serverNow: () => replay.at,
      pause: () => (replay.paused = true),
      resume: () => (replay.paused = false),
      seek: (at) => (replay.at = at),
      setSpeed: () => {},
      channel: () => undefined,
      enter(phase, fields) {
        Object.assign(replay, { phase, ...fields });
        options.onState(replay);
      },
    };
    replays.push(replay);
    return replay;
  }
  const player = () => bar.node.children[0];
  const watch = () => head.others[0];
  const problem = () => head.others[1];
  const part = (name) => bar.node.find(name);
  const newest = () => replays.at(-1);

  /** A match with a recording. */
  function show(life) {
    bar.follow("football/1");
    bar.tick({ life });
    newest().enter("playing", { span: SPAN });
    bar.tick({ life });
  }

  /** The recording has been read: the match went on up to its last second. */
  function read() {
    newest().options.onChange({ at: { pub: 10_000_000 }, data: { life: "live" } }, { events: [] });
    newest().options.onChange({ at: { pub: 90_000_000 }, data: { life: "ended" } }, { events: [] });
    newest().enter("ended", { why: "end", span: SPAN });
  }

  beforeEach(() => {
    globalThis.document = { createElement: (tag) => new Element(tag), activeElement: undefined };
    [head, replays] = [new Element("div"), []];
    const host = { stream: () => stream, play, channels: () => [], opened() {}, changed() {}, closed() {} };
    bar = new ReplayBar({ beginning: "kick-off" }, head, host);
  });

  test("does not read a recording before someone touches it", () => {
    show("ended");
    assert.equal(bar.node.hidden, false);
    assert.equal(replays.length, 1, "only whether there is one is asked for");
    player().fire("pointerdown");
    player().fire("focusin");
    assert.deepEqual(replays.slice(1).map((it) => it.options.speed), ["max"], "it is read once");
  });

  for (const [phase, why] of [["refused", undefined], ["ended", "limit"]]) {
    test(`reports a recording that cannot be read (${phase}), and tries again`, () => {
      show("ended");
      part("play").fire("click");
      newest().enter(phase, { why });
      assert.equal(newest().phase, "closed");
      assert.match(problem().textContent, /cannot be opened/);
      part("play").fire("click");
      assert.deepEqual([replays.length, newest().phase, problem().hidden], [3, "starting", true]);
      read();
      assert.deepEqual([replays.length, newest().options.from], [4, { at: 5_000_000 }], "it plays from the kick-off");
    });
  }

  test("takes the focus from the button that disappears, and from nothing else", () => {
    const elsewhere = new Element("input");
    for (const focused of [watch(), elsewhere]) {
      show("live");
      focused.focus();
      watch().fire("click");
      read();
      assert.equal(watch().hidden, true);
      assert.equal(document.activeElement === elsewhere, focused === elsewhere);
      // It has caught up, and goes live by itself.
      newest().enter("ended", { why: "end" });
      assert.equal(document.activeElement, focused);
      bar.follow(undefined);
    }
  });

  test("stops at the end of the match, and begins again from there", () => {
    show("ended");
    part("play").fire("click");
    read();
    newest().enter("playing", { span: SPAN });
    newest().at = 96_000_000;
    bar.tick({ life: "ended" });
    assert.equal(newest().paused, true);
    assert.equal(part("play").textContent, "Play");
    part("play").fire("click");
    assert.deepEqual([newest().paused, newest().at], [false, 5_000_000]);
  });

  test("follows the clock again after the handle was dragged back to where it was", () => {
    show("ended");
    part("play").fire("click");
    read();
    newest().enter("playing", { span: SPAN });
    const range = part("seek");
    range.value = "0";
    range.fire("input");
    // No `change` follows.
    range.fire("pointerup");
    newest().at = 45_000_000;
    bar.tick({ life: "ended" });
    assert.equal(range.value, "40");
  });
});
