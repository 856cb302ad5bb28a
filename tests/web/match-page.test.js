// What match pages compute before drawing: lines, marks, points and timelines.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { Line, priceTicks, stepPath, ticks, valueAt } from "../../crates/web/assets/charts.js";
import { marksOf, shotPlace, shotRadius, shotTotal } from "../../crates/web/assets/football-parts.js";
import { linesOf, priceOf } from "../../crates/web/assets/odds-chart.js";
import { Rest } from "../../crates/web/assets/panel.js";
import { Timeline, partTitle, runnersInOrder } from "../../crates/web/assets/scoreboard.js";
import { Points, ownSets } from "../../crates/web/assets/tennis-parts.js";

describe("a line", () => {
  const of = (...points) => {
    const line = new Line();
    for (const [at, value] of points) line.add(at, value);
    return line;
  };

  test("takes what is new, and keeps the gaps", () => {
    assert.deepEqual(of([1, 2], [2, 2], [3, null], [4, 2]).points, [[1, 2], [3, null], [4, 2]]);
    assert.deepEqual(of([5, 2], [3, 9]).points, [[5, 2]], "nothing from before its end");
    assert.deepEqual(of([5, 2], [5, 3]).points, [[5, 3]], "the last of a moment");
  });

  test("puts a past before itself without mixing them", () => {
    const line = of([10, 5], [12, 6]);
    line.prepend([[1, 3], [4, 5], [10, 7], [11, 9]]);
    assert.deepEqual(line.points, [[1, 3], [4, 5], [12, 6]]);
  });

  test("never grows without end, and keeps its newest values and its gaps", () => {
    const line = new Line();
    for (let at = 0; at < 20_000; at += 1) line.add(at, at === 19_000 ? null : at % 7);
    assert.ok(line.points.length <= 1500, `${line.points.length} points`);
    assert.equal(line.points.at(-1)[0], 19_999);
    assert.ok(line.points.some(([, value]) => value === null), "the gap is gone");
  });

  test("is drawn in steps, and not at all where there is no value", () => {
    const path = stepPath([[0, 1], [5, 2], [7, null], [9, 3]], (at) => at, (value) => value, 12);
    assert.equal(path, "M0.0 1.0H5.0V2.0H7.0M9.0 3.0H12.0");
    assert.equal(stepPath([], Number, Number, 1), "");
  });

  test("has the value of the last point before a time", () => {
    const points = [[2, 7], [4, null]];
    assert.deepEqual([1, 2, 3, 5].map((at) => valueAt(points, at)), [undefined, 7, 7, undefined]);
  });

  test("has round ticks", () => {
    assert.deepEqual(ticks(-3, 12, 4), [0, 5, 10]);
    assert.deepEqual(ticks(0, 0, 4), []);
    assert.deepEqual(ticks(0, Infinity, 4), []);
    assert.deepEqual(priceTicks(1.2, 5), [1.25, 1.5, 2, 3, 4]);
  });
});

describe("prices on a chart", () => {
  const active = { status: "active", median: "2.10" };

  test("are drawn while they can be taken", () => {
    assert.equal(priceOf({ status: "open" }, active), 2.1);
    assert.equal(priceOf({ status: "suspended" }, active), null);
    assert.equal(priceOf({ status: "open" }, { status: "active" }), null);
    assert.equal(priceOf({ status: "open" }, { ...active, status: "removed" }), null);
    assert.equal(priceOf({ status: "open" }, undefined), null);
  });

  test("come from the history by outcome", () => {
    const rows = [
      { outcome: "home", received_at: "1970-01-01T00:00:01.5Z", price: 2 },
      { outcome: "away", received_at: "1970-01-01T00:00:02Z", price: 3.5 },
      { outcome: "home", received_at: "1970-01-01T00:00:03Z", price: null },
    ];
    assert.deepEqual(linesOf(rows), { home: [[1_500_000, 2], [3_000_000, null]], away: [[2_000_000, 3.5]] });
  });
});

describe("a football match", () => {
  test("has its shots where they were, home playing to the right", () => {
    assert.deepEqual(shotPlace({ home: true, pos: { x: 0, y: 0 } }), [105, 0]);
    assert.deepEqual(shotPlace({ home: false, pos: { x: 0, y: 0 } }), [0, 68], "the same shot, turned by half a circle");
    assert.deepEqual(shotPlace({ home: true, pos: { x: 50, y: 50 } }), [52.5, 34]);
  });

  test("has larger circles for better chances, within limits", () => {
    assert.ok(shotRadius(0.5) > shotRadius(0.1));
    assert.equal(shotRadius(7), shotRadius(1));
    assert.ok(shotRadius(null) > 0);
  });

  test("tells how many shots the hub counts, and what they were worth if that is known", () => {
    assert.equal(shotTotal({ total_shots: 2, expected_goals: 0.75 }), "2 shots, 0.75 xG");
    assert.equal(shotTotal({ total_shots: 1, expected_goals: null }), "1 shot");
    assert.equal(shotTotal({ total_shots: 0, expected_goals: 0 }), "0 shots, 0.00 xG");
  });

  test("marks the goals and red cards that stand", () => {
    const doc = { home: { name: "Ashby" }, away: { name: "Calder" }, incidents: {
      a: { kind: "goal", minute: 45, added: 2, side: "home", player: { name: "Striker" } },
      b: { kind: "goal", minute: 50, side: "away", retracted: true },
      c: { kind: "red", minute: 70, side: "away" },
      d: { kind: "yellow", minute: 71, side: "away" },
    } };
    assert.deepEqual(marksOf(doc), [
      { at: 47, side: "home", kind: "goal", label: "45+2′ Goal, Striker" },
      { at: 70, side: "away", kind: "red", label: "70′ Red card, Calder" },
    ]);
    assert.deepEqual(marksOf(undefined), []);
  });
});

describe("a tennis match", () => {
  const point = (number, winner, more = {}) => ({ kind: "point", eid: `p${number}`, point: number, winner, server: 1, set: 1, ...more });
  const doc = { sets: { 1: { p1: 0, p2: 0 } }, game: { p1: "15", p2: "0" } };

  test("is put together from a recording and from now, in any order and once", () => {
    const points = new Points();
    points.add(point(3, 2), doc);
    for (const number of [1, 2, 3]) points.add(point(number, number === 3 ? 2 : 1), doc);
    assert.deepEqual(points.all.map(({ point, winner }) => [point, winner]), [[1, 1], [2, 1], [3, 2]]);
    assert.deepEqual(points.lead, [[0, 0], [1, 1], [2, 2], [3, 1]]);
  });

  test("forgets a point that was taken back", () => {
    const points = new Points();
    points.add(point(1, 1), doc);
    points.add({ kind: "retract", eid: "r1", of: "p1", why: "let" }, doc);
    points.add(point(1, 2, { eid: "p1b" }), doc);
    assert.deepEqual(points.all.map(({ winner }) => winner), [2]);
  });

  test("is split into games, the newest first, with breaks", () => {
    const points = new Points();
    for (const number of [1, 2, 3, 4]) points.add(point(number, 2), doc);
    points.add({ kind: "game", eid: "p4:game", winner: 2, set: 1, games: { p1: 0, p2: 1 } }, doc);
    points.add(point(5, 2, { server: 2 }), doc);
    const [now, first] = points.games;
    assert.equal(now.game, undefined);
    assert.deepEqual([now.server, now.points.length], [2, 1]);
    assert.deepEqual([first.points.length, first.game.isBreak, first.game.games], [4, true, { p1: 0, p2: 1 }]);
  });

  test("never breaks in a tie-break, and begins a game with a set", () => {
    const points = new Points();
    points.add(point(1, 2), { sets: { 1: { p1: 6, p2: 6, tb: { p1: 0, p2: 1 } } }, game: { p1: "0", p2: "1" } });
    points.add({ kind: "game", eid: "p1:game", winner: 2, set: 1, games: { p1: 6, p2: 7 } }, doc);
    points.add(point(2, 1, { set: 2 }), doc);
    assert.equal(points.games[1].game.isBreak, false);
    assert.equal(points.games[0].set, 2);
  });

  test("shows sets from the side of the player", () => {
    const sets = [{ p1: 2, p2: 6 }, { p1: 4, p2: 6 }];
    assert.equal(ownSets(sets, true), "6-2 6-4");
    assert.equal(ownSets(sets, false), "2-6 4-6");
    assert.equal(ownSets(null, true), "");
  });
});

describe("a match that is followed by its scoreboard", () => {
  const score = (home, away, at) => ({ kind: "score", eid: `s${home}-${away}`, score: { home, away }, period: "p1", at });

  test("has a timeline of who scored, the newest first, in whatever order it came", () => {
    const timeline = new Timeline();
    for (const event of [score(1, 1, 30), score(0, 1, 10), score(3, 1, 40), score(0, 1, 10)]) timeline.add(event);
    assert.deepEqual(timeline.all.map(({ score, side, gain }) => [score.home, score.away, side, gain]), [[3, 1, "home", 2], [1, 1, "home", 1], [0, 1, "away", 1]]);
  });

  test("loses a score that was corrected", () => {
    const timeline = new Timeline();
    timeline.add(score(1, 0, 10));
    timeline.add({ kind: "correct", eid: "c", of: "s1-0", score: { home: 0, away: 0 } });
    assert.deepEqual(timeline.all, []);
  });

  test("is bounded", () => {
    const timeline = new Timeline();
    for (let home = 1; home <= 1000; home += 1) timeline.add(score(home, 0, home));
    assert.equal(timeline.all.length, 400);
    assert.equal(timeline.all[0].score.home, 1000);
  });

  test("names its parts as the sport does", () => {
    assert.deepEqual([partTitle("basketball", 4), partTitle("basketball", 5), partTitle("hockey", 5), partTitle("csgo", 2), partTitle("darts", 13)],
      ["Q4", "OT", "OT2", "Map 2", "Set 13"]);
  });
});

test("runners stand by position, then by number, and those out of the race last", () => {
  const runners = { a: { status: "fell", number: 1 }, b: { status: "active", number: 3 }, c: { status: "finished", position: 2 }, d: { status: "active", number: 2 }, e: { status: "finished", position: 1 } };
  assert.deepEqual(runnersInOrder(runners).map(([id]) => id), ["e", "c", "d", "b", "a"]);
  assert.deepEqual(runnersInOrder(undefined), []);
});

describe("requests over REST", () => {
  const answers = (t, answer) => t.mock.method(globalThis, "fetch", answer);

  test("are not made without a key or a connection", async (t) => {
    const fetch = answers(t, () => { throw new Error("asked"); });
    assert.equal(await new Rest(() => undefined, () => true).get("/x/"), undefined);
    assert.equal(await new Rest(() => "k", () => false).get("/x/"), undefined);
    assert.equal(fetch.mock.callCount(), 0);
  });

  test("give nothing when the hub does not know or does not answer", async (t) => {
    const fetch = answers(t, async () => ({ ok: false }));
    const rest = new Rest(() => "k", () => true);
    assert.equal(await rest.get("/x/"), undefined);
    fetch.mock.mockImplementation(async () => { throw new TypeError("network"); });
    assert.equal(await rest.get("/x/"), undefined);
    assert.equal(fetch.mock.calls[0].arguments[1].headers.authorization, "Token k");
  });

  test("ask once which add-ons there are, and again if there was no answer", async (t) => {
    const fetch = answers(t, async () => ({ ok: false }));
    const rest = new Rest(() => "k", () => true);
    assert.equal(await rest.has("odds"), false);
    fetch.mock.mockImplementation(async () => ({ ok: true, json: async () => ({ addons: [{ addon: "odds", active: true }, { addon: "sports", active: false }] }) }));
    assert.equal(await rest.has("odds"), true);
    assert.equal(await rest.has("sports"), false);
    assert.equal(fetch.mock.callCount(), 2);
  });
});
