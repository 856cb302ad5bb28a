// Prices with their permission, and boards as rows.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { connect, decimal } from "../src/index.js";
import { TestHub } from "../src/testing.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));

const book = (price, more = {}) => ({
  life: "live",
  suspended: false,
  match_seq: 1,
  markets: {
    "m.1": {
      kind: "match_winner",
      status: "open",
      in_play: true,
      selections: { 77: { name: "Home", outcome: "home", status: "active", price }, 78: { outcome: "away", status: "removed", price: "9" } },
    },
    "m.2": { kind: "over_under", line: "2.5", status: "open", selections: { 5: { outcome: "over", status: "active", price: "1.95" } } },
    "m.3": { kind: "over_under", line: "3.5", status: "suspended", selections: { 5: { outcome: "over", status: "active", price: "3.1" } } },
    "m.4": { kind: "match_winner", period: "first_half", status: "open", selections: { 1: { outcome: "home", status: "active", price: "7" } } },
  },
  ...more,
});

async function following(options) {
  const hub = new TestHub();
  hub.publish("football/1", { score: { home: 0, away: 0 } });
  hub.publish("football/1/odds", book("2.2"));
  hub.publish("football/1/odds/amberline", book("2.10"));
  const client = connect("ws://hub", hub.options());
  const odds = client.odds("football/1", { bookmakers: ["amberline"], ...options });
  await hub.open();
  await settled();
  return { hub, client, odds };
}

describe("prices", () => {
  test("by the names of the hub, and by usual ones", async () => {
    const { hub, client, odds } = await following();
    hub.pass(300);
    const price = odds.price("amberline", "1x2", "HOME");
    assert.deepEqual(price, {
      bookmaker: "amberline", market: "m.1", selection: "77", text: "2.10", value: { units: 210n, scale: 2 }, ageMs: 300, open: true,
    });
    for (const [market, selection] of [["m.1", "77"], ["match_winner", "home"]]) {
      assert.deepEqual(odds.price("amberline", market, selection), price);
    }
    assert.equal(odds.price("amberline", "over_under@2.5", "over").text, "1.95");
    assert.equal(odds.price("amberline", "1X2:first_half", "home").text, "7");
    assert.equal(odds.price("consensus", "1x2", "home").text, "2.2");
    client.close();
  });

  const closed = [
    ["the market is suspended", "amberline", "over_under@3.5", "over"],
    ["the selection is removed", "amberline", "1x2", "away"],
  ];
  for (const [why, ...where] of closed) {
    test(`undefined while ${why}, and still known with its age`, async () => {
      const { client, odds } = await following();
      assert.equal(odds.price(...where), undefined);
      assert.equal(odds.stale(...where).open, false);
      client.close();
    });
  }

  test("undefined for what nobody has quoted", async () => {
    const { client, odds } = await following();
    for (const where of [["nobody", "1x2", "home"], ["amberline", "corners", "home"], ["amberline", "1x2", "draw"]]) {
      assert.equal(odds.price(...where), undefined);
      assert.equal(odds.stale(...where), undefined);
    }
    client.close();
  });

  test("undefined for a market that is named without its line, and where several fit", async () => {
    const { hub, client, odds } = await following();
    assert.equal(odds.stale("amberline", "over_under", "over"), undefined);
    hub.publish("football/1/odds/amberline", { markets: { "m.3": null } });
    assert.equal(odds.stale("amberline", "totals", "over"), undefined, "the only line may not be the wanted one");
    hub.publish("football/1/odds/amberline", { markets: { "m.5": { kind: "match_winner", status: "open", selections: {} } } });
    assert.equal(odds.stale("amberline", "1x2", "home"), undefined);
    assert.equal(odds.price("amberline", "m.1", "home").text, "2.10");
    client.close();
  });

  const withheld = {
    "the book is held": (hub) => hub.publish("football/1/odds/amberline", { suspended: true }),
    "the feed is not live": (hub) => hub.publish("football/1/odds/amberline", { feed: "late" }),
    "the document is stale": (hub) => hub.stale(),
    "the connection is lost": (hub) => hub.cut(),
    "the book has ended": (hub) => hub.end("football/1/odds/amberline"),
  };
  for (const [why, happens] of Object.entries(withheld)) {
    test(`undefined while ${why}`, async () => {
      const { hub, client, odds } = await following();
      assert.ok(odds.price("amberline", "1x2", "home"));
      happens(hub);
      assert.equal(odds.price("amberline", "1x2", "home"), undefined);
      assert.equal(odds.stale("amberline", "1x2", "home").text, "2.10");
      client.close();
    });
  }

  test("a score is seen when every book was priced after it", async () => {
    const { hub, client, odds } = await following();
    assert.equal(odds.seenScore(), true);
    hub.publish("football/1", { score: { home: 1 } }, [{ kind: "goal", eid: "g" }]);
    assert.equal(odds.seenScore(), false);
    hub.publish("football/1/odds", { match_seq: 2 });
    assert.equal(odds.seenScore(), false);
    hub.publish("football/1/odds/amberline", { match_seq: 2 });
    assert.equal(odds.seenScore(), true);
    hub.publish("football/1", { stats: { home: { fouls: 1 } } }, [{ kind: "card", eid: "c" }]);
    assert.equal(odds.seenScore(), true, "a card is no score");
    hub.cut();
    assert.equal(odds.seenScore(), false);
    client.close();
  });

  for (const feed of ["late", "down", "recovering"]) {
    test(`no score is seen while the match is ${feed}`, async () => {
      const { hub, client, odds } = await following();
      hub.publish("football/1", { feed });
      assert.equal(odds.seenScore(), false);
      hub.publish("football/1", { feed: "live" });
      assert.equal(odds.seenScore(), true);
      client.close();
    });
  }

  test("no score is seen while the match is stale, but that of one that has ended", async () => {
    const { hub, client, odds } = await following();
    hub.stale();
    assert.equal(odds.seenScore(), false);
    hub.publish("football/1", { life: "ended" });
    assert.equal(odds.seenScore(), true);
    client.close();
  });

  const scores = {
    "a point of tennis": [undefined, [{ kind: "point", eid: "p1", winner: 1 }]],
    "a game of tennis": [undefined, [{ kind: "game", eid: "p4:game", winner: 1 }]],
    "a set of tennis": [undefined, [{ kind: "set", eid: "p30:set", winner: 1 }]],
    "the end of a match of tennis": [undefined, [{ kind: "match", eid: "p90:match", winner: 1 }]],
    "games without an event": [{ sets: { 1: { p1: 1, p2: 0 } } }, undefined],
    "points without an event": [{ game: { p1: "15", p2: "0" } }, undefined],
    "rounds of a map": [{ periods: { 1: { home: 1, away: 0 } } }, undefined],
    "a goal without an event": [{ score: { away: 1 } }, undefined],
    "a goal of a shoot-out without an event": [{ score: { pens: { home: 1, away: 0 } } }, undefined],
  };
  for (const [what, [patch, events]] of Object.entries(scores)) {
    test(`${what} must be seen`, async () => {
      const { hub, client, odds } = await following();
      hub.publish("football/1", patch, events);
      assert.equal(odds.seenScore(), false);
      hub.publish("football/1/odds", { match_seq: 2 }).publish("football/1/odds/amberline", { match_seq: 2 });
      assert.equal(odds.seenScore(), true);
      client.close();
    });
  }

  test("half time and the end of extra time change no score", async () => {
    const { hub, client, odds } = await following();
    hub.publish("football/1", { score: { ht: { home: 0, away: 0 } } }, [{ kind: "period", eid: "p1", status: "half_time" }]);
    hub.publish("football/1", { score: { et: { home: 0, away: 0 } } });
    assert.equal(odds.seenScore(), true);
    client.close();
  });

  test("a book that is quiet is waited for once, however many updates others have", async () => {
    const { hub, client, odds } = await following();
    let waits = 0;
    const never = new Promise(() => {});
    never.then = (...handlers) => {
      waits += 1;
      return Promise.prototype.then.apply(never, handlers);
    };
    odds.book("consensus").iterate = () => ({ next: () => never, return: () => {} });
    const updates = odds.updates();
    await updates.next();
    for (let n = 0; n < 20; n += 1) {
      hub.publish("football/1/odds/amberline", { n });
      assert.equal((await updates.next()).value.bookmaker, "amberline");
    }
    assert.equal(waits, 1);
    client.close();
  });

  test("updates end with a signal that was aborted before", async () => {
    const { client, odds } = await following();
    await assert.rejects(odds.updates({ signal: AbortSignal.abort(new Error("given up")) }).next(), /given up/);
    client.close();
  });

  test("updates come book by book, each merged only while the program is busy", async () => {
    const { hub, client, odds } = await following({ lossless: true });
    const seen = [];
    const ending = new AbortController();
    const reading = (async () => {
      for await (const update of odds.updates({ signal: ending.signal })) seen.push([update.bookmaker, update.seq, update.merged]);
    })();
    await settled();
    hub.publish("football/1/odds/amberline", book("2.12"));
    await settled();
    hub.publish("football/1/odds", book("2.3"));
    hub.publish("football/1/odds", book("2.4"));
    hub.publish("football/1/odds", book("2.5"));
    await settled();
    assert.deepEqual(seen, [
      ["consensus", 1, undefined],
      ["amberline", 1, undefined],
      ["amberline", 2, undefined],
      ["consensus", 2, undefined],
      ["consensus", 4, { n: 2, why: "reader" }],
    ]);
    ending.abort();
    await assert.rejects(reading, { name: "AbortError" });
    client.close();
  });

  test("a decimal keeps all its digits", () => {
    assert.deepEqual(decimal("1.000000000000000000001"), { units: 1000000000000000000001n, scale: 21 });
    assert.deepEqual(decimal("-1.5"), { units: -15n, scale: 1 });
    assert.deepEqual(decimal("12"), { units: 12n, scale: 0 });
  });
});

describe("boards", () => {
  const line = (start, status) => ({ start, status });

  async function board(options) {
    const hub = new TestHub();
    hub.publish("football", { matches: { 10: line(2, "first_half"), 9: line(2, "half_time"), 11: line(1, "first_half") } });
    const client = connect("ws://hub", hub.options());
    const rows = client.board("football", options);
    await hub.open();
    return { hub, client, rows };
  }

  test("rows by start, those that are wanted", async () => {
    const { client, rows } = await board({ where: (match) => match.status === "first_half" });
    assert.deepEqual(rows.rows.map(({ id }) => id), ["11", "10"]);
    assert.equal(rows.health, "live");
    client.close();
  });

  test("a change is one of the rows that are shown", async () => {
    const { hub, client, rows } = await board({ where: (match) => match.status === "first_half", rate: 0 });
    const seen = [];
    rows.on("change", (all) => seen.push(all.length));
    await settled();
    hub.publish("football", { matches: { 9: { start: 3 } } });
    hub.publish("football", { matches: { 10: null } });
    assert.deepEqual(seen, [2, 1]);
    client.close();
  });

  test("a `where` that throws ends the iterator with its error, and no other reader", async () => {
    const { hub, client, rows } = await board({ rate: 0, where: ({ start }) => start.valueOf() });
    const seen = [];
    const all = rows.changes();
    await all.next();
    const next = all.next();
    const others = client.follow("football", { rate: 0 });
    others.on("change", ({ data }) => seen.push(data.n));
    await settled();
    hub.publish("football", { n: 1, matches: { 12: {} } });
    await assert.rejects(next, TypeError);
    assert.equal((await all.next()).done, true);
    hub.publish("football", { n: 2 });
    assert.deepEqual(seen, [undefined, 1, 2]);
    client.close();
  });

  test("iterating merges", async () => {
    const { hub, client, rows } = await board({ rate: 0 });
    const all = rows.changes();
    assert.equal((await all.next()).value.length, 3);
    hub.publish("football", { matches: { 10: null } });
    hub.publish("football", { matches: { 11: null } });
    assert.equal((await all.next()).value.length, 1);
    client.close();
  });
});
