// What the live board computes before drawing, without a DOM.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";

import { EVERYTHING, Favourites, arrange, competitions, counts, filtersOf, folded, fragmentOf, scoreChanges, summary } from "../../crates/web/assets/live-rows.js";
import { pairing, periodText, rowHealth, scoreOf, scoreText, scoreboardClock, stateOf, whenText } from "../../crates/web/assets/sports.js";

const football = (home, away, more = {}) => ({
  home: { name: home }, away: { name: away }, competition: { id: 7, name: "Premier" }, life: "live", status: "first_half",
  start: 5, score: { home: 0, away: 0 }, ...more,
});
const tennis = (sets, more = {}) => ({ p1: { name: "Ann" }, p2: { name: "Bea" }, life: "live", status: "live", sets, game: { p1: "0", p2: "15" }, ...more });
const none = new Favourites(undefined);

describe("rows of every sport", () => {
  test("have a state, from the status or, without one, from the life", () => {
    assert.equal(stateOf("football", { status: "half_time" }), "live");
    assert.equal(stateOf("football", { life: "live" }), "live");
    assert.equal(stateOf("football", { life: "prematch" }), "next");
    assert.equal(stateOf("hockey", { status: "postponed" }), "over");
    assert.equal(stateOf("darts", { status: "interrupted" }), "live");
    assert.equal(stateOf("horseracing", { status: "at_the_post" }), "live");
    assert.equal(stateOf("tennis", { status: "walkover" }), "over");
  });

  test("have a score by part, and none before the start", () => {
    assert.equal(scoreOf("football", football("A", "B", { status: "not_started" })), undefined);
    assert.deepEqual(scoreOf("football", football("A", "B", { score: { home: 2, away: 1 } })).map(({ total, parts }) => [total, parts]), [[2, []], [1, []]]);
    const [ann, bea] = scoreOf("tennis", tennis({ 2: { p1: 1, p2: 2 }, 1: { p1: 7, p2: 6 } }));
    assert.deepEqual(ann, { total: 1, parts: [7, 1], now: "0" });
    assert.deepEqual(bea, { total: 0, parts: [6, 2], now: "15" });
    const hockey = { status: "live", score: { home: 2, away: 1 }, periods: { 10: { home: 0, away: 0 }, 2: { home: 1, away: 1 }, 1: { home: 1, away: 0 } } };
    assert.deepEqual(scoreOf("hockey", hockey)[0].parts, [1, 1, 0], "in the order of their numbers");
    assert.equal(scoreText("hockey", hockey), "2–1");
    assert.equal(scoreText("tennis", tennis({ 1: { p1: 6, p2: 4 }, 2: { p1: 1, p2: 0 } })), "6-4 1-0");
    assert.equal(scoreOf("football", { status: "first_half" }), undefined, "a score that no source reports is not 0–0");
  });

  test("say when, as scoreboards do", () => {
    const now = 1_000_000_000;
    assert.equal(whenText("football", football("A", "B", { clock: { at: now - 60_000_000, s: 60, running: true } }), now), "3′");
    assert.equal(whenText("football", football("A", "B", { status: "half_time" }), now), "Half time");
    assert.equal(whenText("tennis", tennis({ 1: {}, 2: {} }), now), "Set 2");
    const quarter = { status: "live", period: "q3", clock: { at: now - 10_000_000, s: 125, running: true } };
    assert.equal(whenText("basketball", quarter, now), "Q3 1:55", "a clock of basketball counts down");
    assert.equal(scoreboardClock("hockey", quarter, now), "2:15", "and one of hockey up");
    assert.equal(scoreboardClock("basketball", { clock: { at: 0, s: 3, running: true } }, now), "0:00");
    assert.deepEqual(["q1", "p2", "map 2", "overtime", undefined].map(periodText), ["Q1", "Period 2", "Map 2", "Overtime", ""]);
  });

  test("name their sides, and a race itself", () => {
    assert.equal(pairing("tennis", tennis({})), "Ann – Bea");
    assert.equal(pairing("horseracing", { name: "Spring Stakes", course: "Ashgrove" }), "Spring Stakes");
    assert.equal(pairing("horseracing", { course: "Ashgrove" }), "Ashgrove");
  });

  test("are as fresh as their board, and no fresher than their source", () => {
    assert.equal(rowHealth("live", "football", football("A", "B")), "live");
    assert.equal(rowHealth("lost", "football", football("A", "B")), "lost");
    assert.equal(rowHealth("down", "football", football("A", "B", { status: "finished" })), "down");
    assert.equal(rowHealth("live", "football", football("A", "B", { life: "suspended" })), "held");
    assert.equal(rowHealth("live", "tennis", tennis({}, { life: "suspended", status: "interrupted" })), "interrupted");
    assert.equal(rowHealth("live", "football", football("A", "B", { status: "not_started" })), "ended", "nothing to be fresh about");
  });
});

describe("what is shown", () => {
  const boards = {
    football: { matches: {
      1: football("Ashby Town", "Calder Vale", { status: "not_started", life: "prematch", start: 9 }),
      2: football("Öster", "Elm", { competition: { id: 8, name: "Cup" } }),
      3: football("Fern", "Gorse", { status: "finished", life: "ended" }),
    } },
    tennis: { matches: { 4: tennis({ 1: { p1: 0, p2: 0 } }, { competition: { id: 9, name: "Open" } }) } },
  };
  const keys = (filters, favourites = none) => arrange(boards, { ...EVERYTHING, ...filters }, favourites).map(({ key, rows }) => [key, rows.map((row) => row.key)]);

  test("is by competition, those in play first", () => {
    assert.deepEqual(keys({}), [["football/8", ["football/2"]], ["football/7", ["football/1", "football/3"]], ["tennis/9", ["tennis/4"]]]);
  });

  test("can be filtered by sport, status, competition and words in any order", () => {
    assert.deepEqual(keys({ sport: "tennis" }), [["tennis/9", ["tennis/4"]]]);
    assert.deepEqual(keys({ status: "over" }), [["football/7", ["football/3"]]]);
    assert.deepEqual(keys({ competition: "football/8" }), [["football/8", ["football/2"]]]);
    assert.deepEqual(keys({ search: "  vale ashby" }), [["football/7", ["football/1"]]]);
    assert.deepEqual(keys({ search: "oster" }), [["football/8", ["football/2"]]], "without accents, as people type");
    assert.deepEqual(keys({ search: "open" }), [["tennis/9", ["tennis/4"]]]);
    assert.deepEqual(keys({ search: "nobody" }), []);
  });

  test("has favourites first, once each", () => {
    const favourites = new Favourites(undefined);
    favourites.toggle("tennis/4");
    favourites.toggle("football/3");
    assert.deepEqual(keys({}, favourites)[0], ["favourites", ["football/3", "tennis/4"]]);
    assert.deepEqual(keys({}, favourites).length, 3);
    assert.deepEqual(keys({ sport: "tennis" }, favourites), [["favourites", ["tennis/4"]]]);
  });

  test("offers the competitions of the sport, and counts", () => {
    assert.deepEqual(competitions(boards, "football"), [["football/8", "Cup"], ["football/7", "Premier"]]);
    assert.deepEqual(competitions(boards, "").at(-1), ["football/7", "Premier (Football)"]);
    assert.deepEqual(counts("football", boards.football), { live: 1, all: 3 });
    assert.deepEqual(counts("darts", undefined), { live: 0, all: 0 });
  });

  test("finds names in any usual spelling", () => {
    const board = { football: { matches: { 1: { life: "live", status: "live", home: { name: "1. FC Köln" }, away: { name: "Dundee" } } } } };
    const found = (search) => arrange(board, { ...EVERYTHING, search }, none).length;
    assert.deepEqual(["koln", "koeln", "KÖLN", "due", "kiel"].map(found), [1, 1, 1, 0, 0]);
  });

  test("survives a board without a name or a competition", () => {
    assert.deepEqual(arrange({ darts: { matches: { 5: { life: "live", status: "live" } } } }, EVERYTHING, none)[0].title, "Darts");
    assert.deepEqual(folded("Åland ÉTÉ"), "aland ete");
    assert.deepEqual(folded("Łódź Зенит Nott’m Malmo\u0308"), "lodz zenit nottm malmo");
  });

  test("is in the address, where only known words count", () => {
    const filters = { sport: "darts", status: "live", competition: "darts/3", search: "a & b" };
    assert.deepEqual(filtersOf(`#${fragmentOf(filters)}`), filters);
    assert.equal(fragmentOf(EVERYTHING), "");
    assert.deepEqual(filtersOf("#sport=chess&status=maybe&x=1"), EVERYTHING);
    assert.deepEqual(filtersOf("#sport=constructor"), EVERYTHING);
  });
});

describe("a changed score", () => {
  const board = (match) => ({ matches: { 1: match } });

  test("is found, with the side", () => {
    const before = board(football("A", "B"));
    const after = board(football("A", "B", { score: { home: 0, away: 1 } }));
    assert.deepEqual(scoreChanges("football", before, after).map(({ key, sides }) => [key, sides]), [["football/1", [1]]]);
  });

  test("is neither a first document, nor a clock, nor a kick-off, nor a match that is new", () => {
    const before = board(football("A", "B"));
    assert.deepEqual(scoreChanges("football", undefined, before), []);
    assert.deepEqual(scoreChanges("football", before, board(football("A", "B", { clock: { s: 9 } }))), []);
    assert.deepEqual(scoreChanges("football", board(football("A", "B", { status: "not_started" })), before), []);
    assert.deepEqual(scoreChanges("football", { matches: {} }, before), []);
  });

  test("of tennis is a game or a set, not a point", () => {
    const before = board(tennis({ 1: { p1: 5, p2: 2 } }));
    assert.deepEqual(scoreChanges("tennis", before, board(tennis({ 1: { p1: 5, p2: 2 } }, { game: { p1: "15", p2: "15" } }))), []);
    assert.deepEqual(scoreChanges("tennis", before, board(tennis({ 1: { p1: 5, p2: 3 } })))[0].sides, [1]);
    const won = board(tennis({ 1: { p1: 6, p2: 2 }, 2: { p1: 0, p2: 0 } }));
    assert.deepEqual(scoreChanges("tennis", before, won)[0].sides, [0]);
  });

  test("is spoken once for each match, and many as a number", () => {
    const change = (id, home) => ({ key: `football/${id}`, sport: "football", match: football(`A${id}`, `B${id}`, { score: { home, away: 0 } }) });
    assert.equal(summary([]), "");
    assert.equal(summary([change(1, 1), change(1, 2)]), "A1 against B1: 2–0.");
    assert.equal(summary([1, 2, 3, 4, 5].map((id) => change(id, 1))), "A1 against B1: 1–0. A2 against B2: 1–0. A3 against B3: 1–0. 2 more score changes.");
  });
});

describe("favourites", () => {
  let stored;
  const storage = { getItem: () => stored ?? null, setItem: (_, text) => (stored = text) };
  beforeEach(() => (stored = undefined));

  test("are kept, and read again by the next page", () => {
    const favourites = new Favourites(storage);
    assert.equal(favourites.toggle("football/1"), true);
    assert.equal(favourites.toggle("darts/2"), true);
    assert.equal(favourites.toggle("football/1"), false);
    assert.equal(new Favourites(storage).has("darts/2"), true);
    assert.equal(new Favourites(storage).size, 1);
  });

  test("ignore what is no list of matches", () => {
    for (const text of ["{}", "not json", '["<b>", 3, null, "football/x"]', "null"]) {
      stored = text;
      assert.equal(new Favourites(storage).size, 0, text);
    }
  });

  test("are bounded, and survive a storage that is full or forbidden", () => {
    const full = { getItem: () => { throw new Error("forbidden"); }, setItem: () => { throw new Error("full"); } };
    const favourites = new Favourites(full);
    for (let id = 1; id <= 510; id += 1) favourites.toggle(`football/${id}`);
    assert.equal(favourites.size, 500);
    assert.equal(favourites.has("football/10"), false);
    assert.equal(favourites.has("football/510"), true);
  });
});
