// What the views compute before drawing, without a DOM.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { inOrder, suggestion } from "../../crates/web/assets/boards.js";
import { clockText, minuteText } from "../../crates/web/assets/football.js";
import { compareDecimals } from "../../crates/web/assets/odds.js";
import { setsText } from "../../crates/web/assets/tennis.js";
import { current, matchSecond, span, trustedUntil } from "../../crates/web/assets/view.js";

describe("decimals", () => {
  const cases = [
    ["2.10", "2.1", 0],
    ["2.10", "2.11", -1],
    ["10", "9.99", 1],
    ["-0.5", "0.25", -1],
    ["-1.5", "-0.5", -1],
    // As floats these two are one number.
    ["1.000000000000000000001", "1.000000000000000000002", -1],
  ];
  for (const [a, b, result] of cases) {
    test(`${a} against ${b}`, () => assert.equal(compareDecimals(a, b), result));
  }
});

describe("the match clock", () => {
  test("runs from its anchor by the hub's clock, and stops when it is stopped", () => {
    assert.equal(matchSecond({ at: 1_000_000, s: 60, running: true }, 6_999_999), 65);
    assert.equal(matchSecond({ at: 1_000_000, s: 60, running: false }, 6_999_999), 60);
    assert.equal(matchSecond({ at: 9_000_000, s: 60, running: true }, 1_000_000), 60, "never backwards");
    assert.equal(matchSecond(undefined, 0), undefined);
  });

  test("counts stoppage time separately", () => {
    assert.deepEqual(clockText("first_half", 1078), { main: "17:58", added: "" });
    assert.deepEqual(clockText("first_half", 2772), { main: "45:00", added: "+01:12" });
    assert.deepEqual(clockText("second_half", 2772), { main: "46:12", added: "" });
  });

  test("the minute is the one in progress, as on scoreboards", () => {
    assert.equal(minuteText("first_half", 1078), "18′");
    assert.equal(minuteText("first_half", 2699), "45′");
    assert.equal(minuteText("first_half", 2700), "45+1′");
    assert.equal(minuteText("second_half", 5400 + 125), "90+3′");
  });

  test("stops without messages", () => {
    const stream = { serverNow: () => 90_000_000, clockOffset: () => 0 };
    assert.equal(trustedUntil({ health: "live", heard: 50_000 }, stream), 90_000_000);
    assert.equal(trustedUntil({ health: "lost", heard: 50_000 }, stream), 50_000_000);
    assert.equal(trustedUntil({ health: "stale", heard: 50_000 }, stream), 50_000_000);
    assert.equal(trustedUntil({ health: "down", heard: 89_000, at: { pub: 40_000_000 } }, stream), 40_000_000);
  });
});

test("only live and ended documents are shown as they are", () => {
  const healths = ["live", "ended", "late", "down", "recovering", "stale", "lost", "catching_up", "waiting", "refused"];
  assert.deepEqual(healths.filter((health) => current({ health })), ["live", "ended"]);
});

test("ages are as precise as a reader needs", () => {
  assert.deepEqual([-5, 420, 9990, 42_000, 150_000, 7_200_000].map(span), ["0.0 s", "0.4 s", "10.0 s", "42 s", "2 min", "2 h"]);
});

test("sets are written in order", () => {
  assert.equal(setsText({ 2: { p1: 3, p2: 2 }, 1: { p1: 6, p2: 4 } }), "6-4 3-2");
  assert.equal(setsText(undefined), "");
});

describe("boards", () => {
  const matches = {
    1: { status: "finished", start: 1 },
    2: { status: "not_started", start: 9 },
    3: { status: "second_half", start: 5 },
    4: { status: "half_time", start: 4 },
  };

  test("live first, then upcoming, then ended", () => {
    assert.deepEqual(inOrder("football", matches).map(([id]) => id), ["4", "3", "2", "1"]);
  });

  test("the suggestion is in play if any match is, and never the excluded or an ended one", () => {
    assert.equal(suggestion("football", matches), "4");
    assert.equal(suggestion("football", matches, "4"), "3");
    assert.equal(suggestion("football", { 1: matches[1] }), undefined);
    assert.equal(suggestion("football", undefined), undefined);
  });
});
