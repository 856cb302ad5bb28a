// What the trader's page and the truth page compute, without a browser.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  LagMeter, PriceHistory, ScoreWatch, bestOf, bookProblem, ladderOf, marketKey, marketName, marketsOf, outcomesOf, overround, percent,
  priceProblem, signalText, sparkPath, tabsOf, tapeText,
} from "../../crates/web/assets/trade-model.js";
import { Audit, audited, mergedText, verdict } from "../../crates/web/assets/truth-audit.js";

const OPEN = { status: "open" };
const ACTIVE = { status: "active", price: "2.10" };

describe("whether a price may be used", () => {
  const live = { health: "live", data: { suspended: false, match_seq: 9 } };
  const inPlay = { ...live, data: { ...live.data, markets: { m: { status: "open", in_play: true } } } };
  const cases = [
    ["a live book", live, {}, undefined],
    ["a lost connection", { ...live, health: "lost" }, {}, "No connection"],
    ["a stale document", { ...live, health: "stale" }, {}, "Stale"],
    ["a feed that is down", { ...live, health: "down" }, {}, "Feed down"],
    ["a suspended book", { ...live, data: { suspended: true } }, {}, "Suspended"],
    ["a hold", { ...live, data: { suspended: true } }, { hold: "goal" }, "Held: goal"],
    ["a book that has ended", { ...live, data: { life: "ended" } }, {}, "Ended"],
    ["a price from before the goal", live, { scoreSeq: 10 }, "Before the score"],
    ["a price at the goal", live, { scoreSeq: 9 }, undefined],
    ["a fresh book in play", { ...inPlay, at: { in: 1 } }, { now: 300e6 }, undefined],
    ["an old book in play", { ...inPlay, at: { in: 1 } }, { now: 300e6 + 2 }, "Too old"],
    ["an old book in play, by the hub's time", { ...inPlay, at: { pub: 1 } }, { now: 300e6 + 2 }, "Too old"],
    ["a book of unknown age", inPlay, { now: 1e15 }, undefined],
    ["an old book before the match", { ...live, at: { in: 1 } }, { now: 1e15 }, undefined],
  ];
  for (const [name, channel, context, problem] of cases) test(name, () => assert.equal(bookProblem(channel, context), problem));

  test("its market must be open, its selection active and priced", () => {
    assert.equal(priceProblem(undefined, OPEN, ACTIVE), undefined);
    assert.equal(priceProblem("Stale", OPEN, ACTIVE), "Stale");
    assert.equal(priceProblem(undefined, { status: "suspended" }, ACTIVE), "Suspended");
    assert.equal(priceProblem(undefined, OPEN, { ...ACTIVE, status: "removed" }), "Removed");
    assert.equal(priceProblem(undefined, OPEN, { status: "active" }), "No price");
    assert.equal(priceProblem(undefined, undefined, undefined), "No market");
  });

  test("the score is watched by events, and by what changed in the document", () => {
    const watch = new ScoreWatch();
    const change = { events: [], epoch: "a", changed: () => false };
    watch.note({ ...change, seq: 5, changed: () => true });
    assert.equal(watch.seq, 0, "the first document is consistent with its prices");
    let seq = 7;
    for (const kind of ["goal", "retract", "correct", "score", "shootout", "point", "game", "set", "match"]) {
      watch.note({ ...change, seq: ++seq, events: [{ kind }] });
      watch.note({ ...change, seq: seq + 1, events: [{ kind: "card" }] });
      assert.equal(watch.seq, seq, kind);
    }
    for (const part of ["score.home", "score.away", "score.pens", "periods", "sets", "game", "points"]) {
      watch.note({ ...change, seq: ++seq, changed: (path) => path === part });
      assert.equal(watch.seq, seq, part);
    }
    watch.note({ ...change, seq: seq + 1, changed: (path) => path === "score" || path === "score.ht" });
    assert.equal(watch.seq, seq, "the score at half time is no other score");
    watch.note({ ...change, seq: 2, epoch: "b" });
    assert.equal(watch.seq, 0, "another epoch has other numbers");
  });
});

describe("markets", () => {
  test("have the same key as in the consensus", () => {
    assert.equal(marketKey({ kind: "over_under", line: "2.5" }), "over_under@2.5");
    assert.equal(marketKey({ kind: "over_under", line: "0.5", period: "first_half" }), "over_under:first_half@0.5");
    assert.equal(marketName({ kind: "over_under", line: "2.5", period: "first_half" }), "Over/under 2.5 · first half");
    assert.equal(marketName({ kind: "odd", name: "Corners 9.5", line: "9.5" }), "Corners 9.5");
  });

  test("of two with one key the open one counts", () => {
    const data = { markets: { a: { kind: "match_winner", status: "closed" }, b: { kind: "match_winner", status: "open" } } };
    assert.equal(marketsOf(data).get("match_winner").status, "open");
  });

  test("tabs are in order of kind and line, outcomes as they are read", () => {
    const data = { markets: { a: { kind: "over_under", line: "10.5" }, b: { kind: "over_under", line: "2.5" }, c: { kind: "match_winner" }, d: { kind: "odd_even" } } };
    assert.deepEqual(tabsOf([data, undefined]).map(([key]) => key), ["match_winner", "over_under@2.5", "over_under@10.5", "odd_even"]);
    const market = { selections: { 7: { outcome: "away" }, 8: { outcome: "home" }, 9: { name: "Neither" }, draw: {} } };
    assert.deepEqual(outcomesOf([market, undefined]).map(([outcome]) => outcome), ["home", "draw", "away", "9"]);
  });
});

test("the best price is compared as decimals, shared by equals, and never one that may not be used", () => {
  const row = (book, price, problem) => ({ book, cells: new Map([["home", { price, problem }]]) });
  const best = bestOf([row("a", "9.50"), row("b", "10.0"), row("c", "10"), row("d", "11", "Suspended"), row("e", undefined)], ["home", "away"]);
  assert.deepEqual(best.get("home"), { price: "10.0", books: ["b", "c"] });
  assert.equal(best.has("away"), false);
});

test("an overround needs every outcome", () => {
  assert.equal(percent(overround(["2.00", "2.00"])), "0.00 %");
  assert.equal(percent(overround(["2.10", "2.10"])), "−4.76 %");
  assert.equal(overround(["2.10", undefined]), undefined);
  assert.equal(percent(undefined), "");
});

describe("the movement of a price", () => {
  test("has a direction, an age by the hub's clock, and is bounded", () => {
    const history = new PriceHistory("2.00");
    assert.equal(history.add(1_000_000, "2.10"), false, "the first one is no change");
    assert.equal(history.move, 1, "but the document says what it was before");
    assert.equal(history.age(41_000_000), "≥ 40 s");
    assert.equal(history.add(5_000_000, "2.10"), false);
    assert.equal(history.add(31_000_000, "2.05"), true);
    assert.equal(history.move, -1);
    assert.equal(history.age(41_000_000), "10 s");
    for (let i = 0; i < 500; i += 1) history.add(i, `3.${i}`);
    assert.equal(history.points.length, PriceHistory.POINTS_MAX);
  });

  test("is drawn in steps, the highest price on top", () => {
    const points = [{ at: 0, text: "1" }, { at: 60, text: "3" }, { at: 90, text: "2" }];
    assert.equal(sparkPath(points, { now: 120, window: 120, width: 12, height: 10 }), "M0 10H6V0H9V5H12");
    assert.equal(sparkPath([{ at: 0, text: "1" }], { now: 500, window: 120, width: 12, height: 10 }), "M0 5H12");
    assert.equal(sparkPath([], { now: 0, window: 120, width: 12, height: 10 }), "");
  });
});

test("a ladder has the rungs around the best prices, and marks the last one traded", () => {
  const selection = { back: { 2.04: "90", 2.06: "200", 1.5: "1" }, lays: { 2.12: "50", "2.10": "100", 3: "7" }, last: "2.060", traded: { 2.06: "11" } };
  assert.deepEqual(ladderOf(selection, 2).map(({ price, back, lay, isLast, depth }) => [price, back, lay, isLast, depth]), [
    ["2.12", undefined, "50", false, 0.25], ["2.10", undefined, "100", false, 0.5],
    ["2.06", "200", undefined, true, 1], ["2.04", "90", undefined, false, 0.45],
  ]);
  assert.deepEqual(ladderOf({}), []);
});

test("lag is counted from the hub's clock, merges by their reason", () => {
  const meter = new LagMeter();
  meter.add(0, 1_000_000, { pub: 995_000 });
  meter.add(100, 2_000_000, { pub: 1_900_000, merged: { n: 5, why: "rate" } });
  meter.add(200, 2_000_000, { pub: 2_000_500 });
  assert.deepEqual(meter.samples, [5, 100, 0], "a clock that is a little ahead is no negative lag");
  assert.equal(meter.quantile(0.5), 5);
  assert.deepEqual([...meter.merged], [["rate", 4]]);
  assert.deepEqual([meter.updates, meter.changes], [3, 7]);
  assert.deepEqual(meter.rates(200), { updates: 0.3, changes: 0.7 });
});

test("signals and events are said in words", () => {
  const match = { home: { name: "Ashby" }, away: { name: "Calder" } };
  const legs = [{ outcome: "home", bookmaker: "acme", price: "2.10", stake: "0.51" }];
  assert.deepEqual(signalText({ kind: "arbitrage", market: "over_under@2.5", profit: "0.0213", legs }, match),
    { what: "Arbitrage 2.13 %: Over/under 2.5", numbers: ["Ashby 2.10 at acme, 51.0 % of the stake"] });
  assert.equal(signalText({ kind: "momentum", side: "second", share: "0.72" }, match).what, "Momentum 72 %: Calder");
  assert.equal(signalText({ kind: "new_kind", outcome: "draw" }, match).what, "New kind: Draw");
  assert.equal(tapeText({ kind: "suspend", why: "var" }, "acme"), "acme: held by the hub after a VAR check");
  assert.equal(tapeText({ kind: "suspend", market: "m" }, "acme", { markets: { m: { kind: "match_winner" } } }), "acme suspends Match winner");
  assert.equal(tapeText({ kind: "goal", side: "home", minute: 17, score: { home: 1, away: 0 } }, undefined, { match }), "Goal 17′ Ashby 1–0");
  assert.equal(tapeText({ kind: "card", card: "yellow" }, undefined, { match }), undefined);
});

describe("the audit", () => {
  const image = (seq, epoch = "a") => ({ type: "image", ch: "c", epoch, seq });
  const update = (prev, seq, more = {}) => ({ type: "update", ch: "c", prev, seq, ...(seq - prev > 1 ? { n: seq - prev, why: "rate" } : {}), ...more });
  const play = (...frames) => {
    const audit = new Audit();
    for (const frame of frames) audit.receive(frame);
    const { updates, changes, events, gaps, duplicates, resyncs } = audit.totals();
    return { updates, changes, events, gaps, duplicates, resyncs, violations: audit.violations.length };
  };
  const check = (name, frames, expected) => test(name, () => {
    assert.deepEqual(play(...frames), { updates: 0, changes: 0, events: 0, gaps: 0, duplicates: 0, resyncs: 0, violations: 0, ...expected });
  });

  check("finds nothing in a stream without fault", [image(5), update(5, 6), update(6, 9), update(9, 10, { events: [{ eid: "x" }] })], { updates: 3, changes: 5, events: 1 });
  check("lets the first update begin before the image", [image(5), update(3, 7)], { updates: 1, changes: 2 });
  check("finds a gap", [image(5), update(6, 7)], { updates: 1, changes: 1, gaps: 1, violations: 1 });
  check("finds an update that comes twice", [image(5), update(5, 6), update(5, 6)], { updates: 2, changes: 1, duplicates: 1, violations: 1 });
  check("finds an event that comes twice", [image(5), update(5, 6, { events: [{ eid: "x" }] }), update(6, 7, { events: [{ eid: "x" }] })], { updates: 2, changes: 2, events: 2, duplicates: 1, violations: 1 });
  check("finds a merge that is not announced", [image(5), { ...update(5, 7), n: undefined }], { updates: 1, changes: 2, gaps: 1, violations: 1 });
  check("finds an image that skips something without notice", [image(5), image(9)], { gaps: 1, violations: 1 });
  check("counts an announced one as a resync", [image(5), { type: "resync", ch: "c", why: "slow" }, update(7, 8), image(9), update(9, 10)], { updates: 2, changes: 1, resyncs: 1 });
  check("counts a position that could not be resumed", [image(5), { type: "subscribed", chs: { c: { resumed: false, why: "epoch" } } }, image(2, "b"), update(2, 3)], { updates: 1, changes: 1, resyncs: 1 });
  check("goes on over a resumed connection", [image(5), { type: "subscribed", ch: "c", resumed: true }, update(5, 6)], { updates: 1, changes: 1 });
  check("forgets a channel that has ended", [image(5), { type: "unsubscribed", ch: "c", why: "gone" }, image(0, "b"), update(0, 1)], { updates: 1, changes: 1 });

  test("hears each frame of every socket", () => {
    class Socket {
      addEventListener(_, hear) { this.hear = hear; }
    }
    const [audit, opened] = [new Audit(), []];
    const Heard = audited(audit, Socket, (socket) => opened.push(socket));
    new Heard().hear({ data: JSON.stringify(image(1)) });
    new Heard().hear({ data: JSON.stringify({ type: "lag", queued_bytes: 9, oldest_ms: 3, merged: 1 }) });
    assert.deepEqual([audit.connections, audit.frames, opened.length, audit.lag.queued_bytes], [2, 2, 2, 9]);
  });

  test("is summed up in a sentence", () => {
    const totals = { updates: 1200, events: 1, gaps: 0, duplicates: 0, resyncs: 0 };
    assert.deepEqual(verdict(totals, [{ ok: true }]).kind, "good");
    assert.match(verdict(totals, [{ ok: true }]).text, /^Every promise holds: 1,200 updates, 1 event, 0 gaps, 0 duplicates/);
    assert.equal(verdict(totals, [{ ok: true }, { ok: undefined }]).kind, "open");
    assert.equal(verdict(totals, []).kind, "open");
    assert.equal(verdict(totals, [{ ok: false }]).kind, "bad");
    assert.equal(verdict({ ...totals, gaps: 1 }, [{ ok: true }]).kind, "bad");
    assert.equal(mergedText(new Map([["rate", 12], ["slow", 0]])), "12 (rate)");
  });
});
