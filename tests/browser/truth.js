// The truth page in a real browser: each button, and what it proves: `npm ci && node truth.js`. The variables are those of
// page.js.

import { checkAccessible, checkSize } from "./quality.js";
import { assert, runAll, text, WAIT_MS } from "./support.js";

const tests = [];
const test = (name, run) => tests.push({ name, run });

/** Presses a button of the page and waits for its outcome, which must be good. */
async function press(page, button, outcome, kinds = ["good"]) {
  await page.locator(`#${button}:not([disabled])`).click({ timeout: 2 * WAIT_MS });
  await page.waitForFunction(([id, button]) => document.getElementById(id).dataset.kind !== undefined && !document.getElementById(button).disabled, [outcome, button], { timeout: 6 * WAIT_MS });
  const [kind, said] = [await page.getAttribute(`#${outcome}`, "data-kind"), await text(page, `#${outcome}`)];
  assert(kinds.includes(kind), `${button}: ${kind}: ${said}`);
  return said;
}

const holds = (page) => page.waitForSelector('#verdict[data-verdict="good"]', { timeout: 2 * WAIT_MS });

test("every document is equal to the hub's by hash as soon as the page is there", async ({ page, base }) => {
  await page.goto(new URL("/truth/", base).href);
  await holds(page);
  const rows = await page.$$eval("#channels tr", (rows) => rows.map((row) => [row.querySelector("th").textContent, ...["own", "hub", "equal"].map((cell) => row.querySelector(`[data-cell=${cell}]`).textContent)]));
  assert(rows.length > 5, `${rows.length} channels`);
  for (const [name, own, hub, equal] of rows) assert(own === hub && /^[0-9a-f]{12}…$/.test(own) && /^✓ at \d+$/.test(equal), `${name}: ${own} ${hub} ${equal}`);
  assert(rows.some(([name]) => /^football\/\d+\/odds\/\w+$/.test(name)), "no book is followed");
});

test("ten cuts leave no gap and no duplicate", async ({ page }) => {
  const said = await press(page, "cut-many", "cut-outcome");
  assert(/^10 new connections, .* 0 gaps, 0 duplicates,/.test(said), said);
  await holds(page);
});

test("after some seconds offline all that was missed arrives", async ({ page }) => {
  await page.fill("#away-s", "3");
  const said = await press(page, "away", "away-outcome");
  assert(/^3 s offline, \d+ updates.* 0 gaps, 0 duplicates,/.test(said), said);
});

test("a reader that stops is merged and not closed, and has the right documents", async ({ page }) => {
  let said = "";
  // On a busy machine, or while little happens in the match, what lies between may hold all of it; the page then says so.
  for (const seconds of ["8", "20", "25", "25"]) {
    await page.fill("#slow-s", seconds);
    said = await press(page, "slow", "slow-outcome", ["good", "open"]);
    if (!/buffers on the way took everything/.test(said)) break;
  }
  assert(/^Not closed, \d+ changes merged into others because it was slow,/.test(said), said);
  const [, merged] = /, (\d+) changes merged/.exec(said);
  assert(Number(merged) > 0 && /0 gaps, 0 duplicates/.test(said), said);
});

test("a killed source is down, recovering and live again, and its end comes by itself", async ({ page, base }) => {
  await page.fill("#feed-s", "3");
  await page.evaluate(() => (window.seen = new Set()));
  await page.evaluate(() => new MutationObserver(() => {
    for (const row of document.querySelectorAll("#channels tr")) if (/^football\/\d+$/.test(row.querySelector("th").textContent)) window.seen.add(row.dataset.health);
  }).observe(document.getElementById("channels"), { attributes: true, subtree: true }));
  const said = await press(page, "kill", "feed-outcome");
  assert(/Match down after .* live after .* 0 gaps, 0 duplicates,/.test(said), said);
  assert(await page.evaluate(() => window.seen.has("down")), "the table does not show that the match is down");
  assert(/simulator is down \(killed on request\)/.test(await text(page, "#log")), "the log does not say why");
  const token = await page.getAttribute('meta[name="matchwire-feed"]', "content");
  assert(token.length === 64, "no token");
  const forged = await fetch(new URL("/truth/feed/", base), { method: "POST", body: new URLSearchParams({ csrf: token, order: "kill", seconds: "3" }) });
  assert(forged.status === 403, `another browser's form: ${forged.status}`);
});

test("a stalled source is late, a second order is refused meanwhile, and what it held back arrives", async ({ page }) => {
  await page.fill("#feed-s", "15");
  await page.click("#stall");
  await page.waitForFunction(() => /The match is late/.test(document.getElementById("feed-outcome").textContent), null, { timeout: WAIT_MS });
  const order = (seconds, kind) => page.evaluate(async ([order, seconds]) => {
    const csrf = document.querySelector('meta[name="matchwire-feed"]').content;
    return (await fetch("/truth/feed/", { method: "POST", body: new URLSearchParams({ csrf, order, seconds }) })).status;
  }, [kind, seconds]);
  assert((await order("5", "kill")) === 409, "a second interruption began");
  assert((await order("61", "kill")) === 400 && (await order("5", "burn")) === 400, "a wrong order was taken");
  await page.waitForSelector('#feed-outcome[data-kind="good"]', { timeout: 4 * WAIT_MS });
  const outcome = await text(page, "#feed-outcome");
  const [late, live] = (/Match late after ([\d.]+) s, live after ([\d.]+) s/.exec(outcome) ?? []).slice(1).map(Number);
  assert(late >= 2 && late < live, outcome);
});

test("light and dark, wide and narrow: pictures", ({ shoot }) => shoot("truth", { whole: true }));

test("axe finds nothing, and nothing is wider than the screen", ({ page }) => checkAccessible(page));

test("the page is smaller than 100 KB", ({ browser, base }) => checkSize(browser, new URL("/truth/", base).href, "#channels tr"));

test("it works through a restart of the hub", async ({ page, restart, away }) => {
  await away(async () => {
    await restart(() => page.waitForSelector('#link:not([data-phase="open"])', { timeout: WAIT_MS }));
    await page.waitForSelector('#link[data-phase="open"]', { timeout: 2 * WAIT_MS });
  });
  await page.locator("#verify:not([disabled])").click({ timeout: WAIT_MS });
  await holds(page);
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  // The browser itself reports the two wrong orders and the one that was refused.
  const own = complaints.filter((line) => !/status of (400|409)/.test(line));
  assert(own.length === 0, own.join("\n"));
});

await runAll(tests, { variables: () => ({ MATCHWIRE_DEMO_PAST: "false" }) });
