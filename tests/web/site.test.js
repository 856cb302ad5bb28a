// The scripts of the customers' pages, without a browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { copy, offerCopying } from "../../crates/web/assets/site.js";
import { left, secondsUntil } from "../../crates/web/assets/wait.js";

describe("the copy button", () => {
  const button = () => ({
    textContent: "Copy", hidden: true, dataset: { copy: "key" }, clicks: [],
    addEventListener(_, run) { this.clicks.push(run); },
  });
  const page = (button) => ({
    querySelectorAll: () => [button],
    getElementById: (id) => (id === "key" ? { textContent: " mw_0a1b\n" } : null),
  });

  test("copies the key without the space around it", async () => {
    const [it, written] = [button(), []];
    offerCopying(page(it), { writeText: async (text) => written.push(text) });
    assert.equal(it.hidden, false);
    await it.clicks[0]();
    assert.deepEqual(written, ["mw_0a1b"]);
  });

  test("confirms for a moment, even if pressed repeatedly", async () => {
    const [it, later] = [button(), []];
    for (let press = 0; press < 2; press += 1) {
      await copy(it, "x", { writeText: async () => {} }, (run) => later.push(run));
      assert.equal(it.textContent, "Copied");
    }
    later.forEach((run) => run());
    assert.equal(it.textContent, "Copy");
  });

  test("explains what to do where copying is not allowed", async () => {
    const it = button();
    await copy(it, "x", { writeText: async () => { throw new Error("denied"); } }, () => {});
    assert.match(it.textContent, /by hand/);
  });

  test("stays hidden where there is no clipboard", () => {
    const it = button();
    offerCopying(page(it), undefined);
    assert.equal(it.hidden, true);
  });
});

describe("the countdown", () => {
  test("never goes below zero, and never ends too early", () => {
    assert.equal(secondsUntil(10_000, 0), 10);
    assert.equal(secondsUntil(10_000, 9_001), 1);
    assert.equal(secondsUntil(10_000, 10_000), 0);
    assert.equal(secondsUntil(10_000, 90_000), 0);
  });

  test("is formatted for people", () => {
    assert.deepEqual([0, 59, 60, 65, 3600].map(left), ["0 s", "59 s", "1:00", "1:05", "60:00"]);
  });
});
