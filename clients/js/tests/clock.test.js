// The clock of the package: no document looks fresh because the machine slept, or because somebody set its clock back.

import assert from "node:assert/strict";
import { test } from "node:test";

test("time goes on by itself, through sleeps and steps of the clock", async (t) => {
  let [wall, running] = [1_800_000_000_000, 5000.25];
  t.mock.method(Date, "now", () => wall);
  t.mock.method(performance, "now", () => running);
  const { systemClock } = await import("../src/clock.js");
  const start = systemClock.now();
  assert.equal(start, wall);
  const passed = (wallMs, runningMs) => {
    wall += wallMs;
    running += runningMs;
    return systemClock.now() - start;
  };
  assert.equal(passed(10_000, 10_000), 10_000);
  assert.equal(passed(-600_000, 5000), 15_000, "the clock was set back");
  assert.equal(passed(5000, 5000), 20_000);
  assert.equal(systemClock.jumped, 0);
  assert.equal(passed(30_000, 0), 50_000, "the machine has slept");
  assert.equal(systemClock.jumped, 30_000);
  assert.equal(passed(5400, 5000), 55_000, "a small difference is no step");
  assert.equal(systemClock.jumped, 30_000);
});
