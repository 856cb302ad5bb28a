// The trader's page in a real browser, with the prices of three bookmakers that the test pushes: `npm ci && node trade.js`.
// The variables are those of page.js.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { checkAccessible, checkSize } from "./quality.js";
import { assert, runAll, text, WAIT_MS } from "./support.js";

const tests = [];
const test = (name, run) => tests.push({ name, run });
const call = promisify(execFile);

// -------------------------------------------------------------------------------- what is pushed

const SELECTIONS = ["home", "draw", "away"];
let feedKey, key, match;

async function push(base, ...facts) {
  const lines = facts.map((fact) => JSON.stringify({ sport: "football", match: "derby", fact })).join("\n");
  const answer = await fetch(new URL("/ingest/v1/desk", base), { method: "POST", headers: { authorization: `Token ${feedKey}` }, body: lines });
  const said = await answer.json();
  assert(said.accepted === facts.length, `the hub refused a line: ${JSON.stringify(said)}`);
}

const odds = (book, change) => ({ odds: { book, market: `${book}-1x2`, change } });
const define = (book, status = "open") => odds(book, {
  define: { kind: "match_winner", status, in_play: true, selections: SELECTIONS.map((outcome) => ({ id: outcome, status: "active", outcome })) },
});
const prices = (book, ...texts) => odds(book, { prices: { selections: texts.map((price, i) => ({ id: SELECTIONS[i], price })) } });
const ladder = (book, ...rungs) => odds(book, { prices: { selections: rungs.map(([back, lay, last], i) => ({ id: SELECTIONS[i], back, lay, last })) } });

/** What a row of the page says: by outcome the price, whether it looks tradable, and whether it is marked as the best. */
function rowOf(page, book) {
  return page.evaluate((book) => {
    const row = document.querySelector(`tr[data-book="${book}"]`);
    const cells = [...(row?.querySelectorAll(".cell") ?? [])].map((cell) => ({
      price: cell.querySelector(".price").textContent, usable: cell.dataset.problem === undefined, best: !cell.querySelector(".star").hidden,
    }));
    return { cells, margin: row?.querySelector(".margin").textContent, state: row?.querySelector(".status").textContent };
  }, book);
}

/** Waits until a row is as wanted; says what it was otherwise. */
async function waitForRow(page, book, isWanted, what) {
  const end = Date.now() + WAIT_MS;
  let row;
  do {
    row = await rowOf(page, book);
    if (isWanted(row)) return row;
    await page.waitForTimeout(50);
  } while (Date.now() < end);
  throw new Error(`${what}: ${book} shows ${JSON.stringify(row)}`);
}

// ------------------------------------------------------------------------------------- the tests

test("the page opens a match in play by itself, with every bookmaker of it", async ({ page, base, directory }) => {
  const keyed = call(process.env.HUB_BIN, ["feeds", "key", "create", "desk", "--db", join(directory, "hub.db")]);
  feedKey = (await keyed).stdout.trim();
  await page.goto(new URL("/trade/", base).href);
  await page.waitForURL(/\/trade\/[a-z]+\/\d+\/$/, { timeout: WAIT_MS });
  key = await page.locator('meta[name="matchwire-key"]').getAttribute("content");
  await page.waitForFunction(() => document.querySelectorAll("#rows tr").length >= 3, null, { timeout: WAIT_MS });
  assert((await page.locator("#rows tr.total").count()) === 1, "no row of the best prices");
});

test("a match in the address shows all its books, the best prices and each overround", async ({ page, base }) => {
  const fixture = { fixture: { sides: [{ name: "Ashby Town" }, { name: "Calder Vale" }] } };
  await push(base, fixture, define("acme"), define("bravo"), define("exchange"), prices("acme", "2.10", "3.40", "3.55"), prices("bravo", "2.08", "3.50", "3.55"),
    ladder("exchange", [[["2.06", "250.00"], ["2.04", "90"]], [["2.12", "12.5"], ["2.14", "40"]], "2.06"], [[["3.30", "40"]], [["3.60", "8"]]], [[["3.40", "30"]], []]));
  const board = await (await fetch(new URL("/stream/v1/channels/football", base), { headers: { authorization: `Token ${key}` } })).json();
  [match] = Object.entries(board.data.matches).find(([, it]) => it.home?.name === "Ashby Town") ?? [];
  await page.goto(new URL(`/trade/football/${match}/`, base).href);
  // The books come one after another, and each may take a mark from those before.
  for (const book of ["exchange", "bravo"]) await waitForRow(page, book, ({ cells }) => cells.some((cell) => cell.price !== ""), "joining");
  const isMarked = (marks) => ({ cells, margin }) => margin !== "" && cells.map((cell) => cell.best).join() === marks;
  const acme = await waitForRow(page, "acme", isMarked("true,false,true"), "joining, with the best of acme marked");
  await waitForRow(page, "bravo", isMarked("false,true,true"), "joining, with the best of bravo marked");
  assert(acme.cells.map((cell) => cell.price).join() === "2.10,3.40,3.55", JSON.stringify(acme));
  const margin = (list) => `${((list.reduce((sum, price) => sum + 1 / price, -1)) * 100).toFixed(2).replace("-", "−")} %`;
  assert(acme.margin === margin([2.1, 3.4, 3.55]), acme.margin);
  const best = await waitForRow(page, "", ({ margin: shown }) => shown !== "", "the best");
  assert(best.cells.map((cell) => cell.price).join() === "2.10,3.50,3.55" && best.margin === margin([2.1, 3.5, 3.55]), JSON.stringify(best));
  // The match has a channel of its own, which may come last.
  await page.waitForFunction(() => /Ashby Town – Calder Vale/.test(document.getElementById("pair").textContent), null, { timeout: WAIT_MS });
});

test("an exchange has its depth, the highest price on top and the last price marked", async ({ page }) => {
  const rungs = await page.$$eval("#ladder .ladder:first-child tbody tr", (rows) => rows.map((row) => [...row.children].slice(0, 3).map((it) => it.textContent).join("/") + (row.dataset.last ? "*" : "")));
  assert(rungs.join(" ") === "/2.14/40 /2.12/13 250/2.06/* 90/2.04/", rungs.join(" "));
  assert((await page.locator("#exchanges button").count()) === 1, "bookmakers without depth have ladders");
});

test("a change shows its direction, its age, and the line of its movement", async ({ page, base }) => {
  await push(base, prices("acme", "2.20", "3.40", "3.55"));
  await waitForRow(page, "acme", ({ cells }) => cells[0].price === "2.20", "the change");
  const cell = page.locator('tr[data-book="acme"] .cell').first();
  assert((await cell.getAttribute("data-move")) === "up", "no direction");
  await page.waitForFunction(() => /^\d+\.\d s$/.test(document.querySelector('tr[data-book="acme"] .beside').textContent), null, { timeout: WAIT_MS });
  assert(/^M.*V/.test(await cell.locator(".spark path").getAttribute("d")), "no line");
});

test("a suspended price never looks tradable, and is not the best", async ({ page, base }) => {
  await push(base, define("acme", "suspended"));
  const acme = await waitForRow(page, "acme", ({ cells }) => cells.every((cell) => !cell.usable), "the suspension");
  assert(acme.cells.every((cell) => !cell.best) && acme.state === "Suspended" && acme.margin === "", JSON.stringify(acme));
  const best = await waitForRow(page, "", ({ cells }) => cells[0].price === "2.08", "the best of the others");
  assert(best.cells[1].price === "3.50", JSON.stringify(best));
  await page.waitForFunction(() => /acme suspends Match winner/.test(document.getElementById("tape-list").textContent), null, { timeout: WAIT_MS });
  await push(base, define("acme"));
  await waitForRow(page, "acme", ({ cells }) => cells.every((cell) => cell.usable), "the resumption");
});

test("after a goal no book is tradable until it has reopened, and the page says why", async ({ page, base }) => {
  await push(base, { football: { status: "first_half" } });
  const goal = { incident: { eid: "g1", kind: { goal: "regular" }, minute: 17, side: "home", score: [1, 0] } };
  await push(base, { football: goal }, { football: { score: { goals: [1, 0] } } });
  for (const book of ["acme", "bravo", "exchange"]) {
    const row = await waitForRow(page, book, ({ cells, state }) => state === "Held: goal" && cells.every((cell) => !cell.usable), "the hold");
    assert(row.margin === "", `${book} has an overround: ${row.margin}`);
  }
  assert((await page.locator(".cell .star:not([hidden])").count()) === 0, "a price is marked as the best");
  assert(/Goal 17′ Ashby Town 1–0/.test(await text(page, "#tape-list")), await text(page, "#tape-list"));
  for (const book of ["acme", "bravo", "exchange"]) await push(base, define(book, "suspended"), define(book));
  await waitForRow(page, "bravo", ({ cells }) => cells.every((cell) => cell.usable), "the reopening");
});

test("the rate switch asks the hub for fewer updates, without an image", async ({ page, base }) => {
  await page.evaluate(() => { window.commands.length = 0; window.frames_ = []; });
  for (const [name, every] of [["4/s", 250], ["1/s", 1000], ["Screen", 100], ["Every update", 0]]) {
    await page.getByRole("button", { name, exact: true }).click();
    await page.waitForFunction((every) => window.commands.some((it) => it.op === "set" && it.every_ms === every && /odds\/\*$/.test(it.ch)), every, { timeout: WAIT_MS });
    assert((await page.getByRole("button", { name, exact: true }).getAttribute("aria-pressed")) === "true", `${name} is not marked`);
  }
  assert(await page.evaluate(() => !window.commands.some((it) => it.op === "subscribe")), "it subscribed again");
  await page.getByRole("button", { name: "1/s", exact: true }).click();
  // Four changes in one message: the first at once, the others as one.
  await push(base, ...[1, 2, 3, 4].map((i) => prices("bravo", `2.0${i}`, "3.50", "3.55")));
  await page.waitForFunction(() => /your rate/.test(document.getElementById("lag-facts").textContent), null, { timeout: WAIT_MS });
  await waitForRow(page, "bravo", ({ cells }) => cells[0].price === "2.04", "the last of them");
  await page.getByRole("button", { name: "Every update", exact: true }).click();
});

test("its own lag is measured", async ({ page, base }) => {
  await push(base, prices("bravo", "2.09", "3.50", "3.55"));
  await page.waitForFunction(() => /^(< )?\d+(\.\d)? m?s$/.test(document.getElementById("lag-now").textContent), null, { timeout: WAIT_MS });
});

test("light and dark, wide and narrow: pictures", ({ shoot }) => shoot("trade"));

test("without a connection nothing looks tradable; afterwards it resumes", async ({ page, network }) => {
  await network.offline(true);
  await page.evaluate(() => window.sockets.forEach((socket) => socket.close()));
  // For a moment it may be stale only.
  const isLost = ({ state, cells }) => state === "No connection" && cells.length > 0 && cells.every((cell) => !cell.usable);
  await waitForRow(page, "bravo", isLost, "the loss");
  assert((await page.locator(".cell .star:not([hidden])").count()) === 0, "a price is marked as the best");
  await network.offline(false);
  await waitForRow(page, "bravo", ({ cells }) => cells.every((cell) => cell.usable), "the return");
});

test("axe finds nothing, and nothing is wider than the screen", ({ page }) => checkAccessible(page));

test("the page is smaller than 100 KB", ({ browser, base }) => checkSize(browser, new URL(`/trade/football/${match}/`, base).href, "#rows tr"));

test("it works through a restart of the hub", async ({ page, base, restart, away }) => {
  await away(async () => {
    await restart(() => waitForRow(page, "bravo", ({ cells }) => cells.every((cell) => !cell.usable), "the hub is away"));
    await page.waitForSelector('#link[data-phase="open"]', { timeout: 2 * WAIT_MS });
  });
  await push(base, define("bravo"), prices("bravo", "2.11", "3.50", "3.55"));
  await waitForRow(page, "bravo", ({ cells }) => cells[0]?.price === "2.11" && cells[0].usable, "after the restart");
});

test("an address that is no match is not found", async ({ base }) => {
  for (const path of ["/trade/football/0/", "/trade/chess/7/", "/trade/football/x/"]) {
    const { status } = await fetch(new URL(path, base));
    assert(status === 404, `${path}: ${status}`);
  }
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  assert(complaints.length === 0, complaints.join("\n"));
});

/** Runs before the page's own scripts: records its sockets and the commands they send. */
function watchSockets() {
  window.sockets = [];
  window.commands = [];
  const Original = window.WebSocket;
  window.WebSocket = class extends Original {
    constructor(...args) {
      super(...args);
      window.sockets.push(this);
    }
    send(data) {
      window.commands.push(JSON.parse(data));
      super.send(data);
    }
  };
}

await runAll(tests, { init: watchSockets, variables: () => ({ MATCHWIRE_DEMO_PAST: "false" }) });
