// The demo page in a real browser against the real hub: `npm ci && node page.js`.
//
//   HUB_BIN  the program to start; it must print `listening on http://127.0.0.1:PORT`
//   CHROMIUM_BIN   the browser, /usr/bin/chromium by default
//   DEMO_DATABASE  a database of the demo with its past, which a hub would take minutes to write
//   RESULTS_DIR    where screenshots go, test-results/ at the top of the project by default
//
// The last line is `N passed, N failed, N skipped`; the exit code is 1 if anything failed. Without
// a program or a browser everything is skipped, and the line before says what was missing.

import { readFile } from "node:fs/promises";

import { assert, playing, runAll, text, WAIT_MS } from "./support.js";

const CARDS = ["football", "tennis", "odds"];
// The longest time for which one match of the demo may not change: prices while a goal is celebrated and the
// bookmakers reopen, tennis between two sets.
const LULL_MS = 7 * WAIT_MS;

const tests = [];
const test = (name, run) => tests.push({ name, run });

// ------------------------------------------------------------------------------------ the tests

test("the page opens under a strict content policy", async ({ page, base }) => {
  const response = await page.goto(base);
  assert(response.status() === 200, `status ${response.status()}`);
  const policy = response.headers()["content-security-policy"] ?? "";
  assert(/default-src 'self'/.test(policy), `policy is "${policy}"`);
  assert(!/unsafe/.test(policy), `policy is "${policy}"`);
});

test("football, tennis and odds each show a document that is live", async ({ page }) => {
  for (const id of CARDS) await page.waitForSelector(`#${id}[data-health="live"]`, { timeout: WAIT_MS });
  assert((await text(page, "#football .team.home")).length > 0, "no home team");
  assert((await text(page, "#tennis tbody tr:first-child th")).length > 0, "no first player");
  // A market that is suspended at the moment shows none.
  const hasPrice = () => /^\d+\.\d+$/.test(document.querySelector("#odds .price")?.textContent.trim() ?? "");
  await page.waitForFunction(hasPrice, null, { timeout: LULL_MS });
  assert((await page.locator("#board-football .matches li").count()) > 0, "the board is empty");
});

test("each of the three documents keeps updating", async ({ page, base }) => {
  // By itself the page follows those that are in play for longest, and the test would outlast them.
  const [football, tennis] = [await playing(page, base, "football", true), await playing(page, base, "tennis", true)];
  await page.goto(new URL(`/#football=${football}&tennis=${tennis}`, base).href);
  for (const id of CARDS) await page.waitForSelector(`#${id}[data-health="live"]`, { timeout: WAIT_MS });
  for (const id of CARDS) {
    const before = await seq(page, id);
    await page.waitForFunction(
      ([card, from]) => Number(document.getElementById(card).dataset.seq) > from, [id, before], { timeout: LULL_MS });
  }
});

test("ages tick, and the match clock runs between two messages of the hub", async ({ page }) => {
  for (const id of CARDS) assert(/ ago$/.test(await text(page, `#${id} .age`)), `${id} shows no age`);
  // At half time no clock runs; another match on the board then has one.
  const running = page.locator("#board-football [data-state=live] button", { hasText: "′" }).first();
  if ((await text(page, "#football .clock")) === "" && (await running.count()) > 0) await running.click();
  await page.waitForFunction(() => /^\d+:\d\d$/.test(document.querySelector("#football .clock").textContent), null, { timeout: WAIT_MS });
  const before = await text(page, "#football .time");
  await page.waitForFunction(
    (was) => document.querySelector("#football .time").textContent !== was, before, { timeout: WAIT_MS });
});

test("a bookmaker's own book can be chosen", async ({ page }) => {
  await page.waitForFunction(() => document.querySelectorAll("#book option").length > 1, null, { timeout: WAIT_MS });
  const slug = await page.locator("#book option").nth(1).getAttribute("value");
  await page.selectOption("#book", slug);
  await page.waitForFunction(
    (name) => document.querySelector("#odds .position").textContent.includes(`/odds/${name} `), slug, { timeout: WAIT_MS });
  await page.waitForFunction(() => /\d/.test(document.querySelector("#odds .price")?.textContent), null, { timeout: LULL_MS });
  await page.selectOption("#book", "");
});

test("odds of the tennis match can be chosen", async ({ page }) => {
  await page.click("#odds button[data-sport=tennis]");
  await shows(page, "#odds .position", "tennis/");
  await page.click("#odds button[data-sport=football]");
  await shows(page, "#odds .position", "football/");
});

test("another match is chosen with the keyboard, and a reload finds it again", async ({ page, base }) => {
  const other = page.locator("#board-football .matches button:not([aria-current])").first();
  const before = page.url();
  await other.focus();
  await page.keyboard.press("Enter");
  // The address shows the choice at once; the card shows it with the next drawn frame.
  await page.waitForFunction((old) => location.href !== old, before, { timeout: WAIT_MS });
  const address = page.url();
  const chosen = `football/${new URLSearchParams(new URL(address).hash.slice(1)).get("football")}`;
  await shows(page, "#football .position", chosen);
  assert((await page.locator("#board-football [aria-current]").count()) === 1, "the board marks no match, or several");
  await page.goto("about:blank");
  await page.goto(address);
  await shows(page, "#football .position", chosen);
  await page.goto("about:blank");
  await page.goto(base);
  for (const id of CARDS) await page.waitForSelector(`#${id}[data-health="live"]`, { timeout: WAIT_MS });
});

test("a lost connection is visible, and nothing looks live", async ({ page, network }) => {
  await page.evaluate(() => {
    window.bannerSeen = false;
    new MutationObserver(() => {
      if (!document.getElementById("banner").hidden) window.bannerSeen = true;
    }).observe(document.getElementById("banner"), { attributes: true });
  });
  await network.offline(true);
  await page.evaluate(() => window.sockets.forEach((socket) => socket.close()));
  for (const id of CARDS) {
    await page.waitForSelector(`#${id}[data-health="lost"][data-current="no"]`, { timeout: WAIT_MS });
    assert(await page.isVisible(`#${id} > .notice`), `${id} does not say why`);
  }
  assert((await page.getAttribute("#link", "data-phase")) !== "open", "the head still says connected");
  assert(await page.evaluate(() => window.bannerSeen), "no banner");
  const clock = await text(page, "#football .time");
  await page.waitForTimeout(2500);
  assert((await text(page, "#football .time")) === clock, "the match clock runs on without news");
});
test("while the connection is lost: pictures", ({ shoot }) => shoot("lost"));

test("it reconnects automatically, resumes, and keeps updating", async ({ page, network }) => {
  const before = await Promise.all(CARDS.map((id) => seq(page, id)));
  await page.evaluate(() => (window.commands.length = 0));
  await network.offline(false);
  for (const [i, id] of CARDS.entries()) {
    await page.waitForSelector(`#${id}[data-health="live"]`, { timeout: WAIT_MS });
    // Between two games of tennis nothing happens for up to two minutes, so there the position is enough.
    const least = id === "tennis" ? before[i] : before[i] + 1;
    await page.waitForFunction(
      ([card, seq]) => Number(document.getElementById(card).dataset.seq) >= seq, [id, least], { timeout: LULL_MS });
  }
  assert(await page.isHidden("#banner"), "the banner stays");
  const subscribes = await page.evaluate(() => window.commands.filter((command) => command.op === "subscribe"));
  // One command may ask for many channels.
  const football = subscribes.flatMap((command) => command.chs ?? [command]).find(({ ch }) => /^football\/\d+$/.test(ch));
  assert(football?.from?.epoch && football.from.seq > 0, "it did not ask to resume from its position");
});

test("live, light and dark, wide and narrow: pictures", ({ shoot }) => shoot("live"));

test("the README's snippet for the console works as it is pasted", async ({ page, base }) => {
  const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
  const snippet = /^```js\n(.*?)^```/ms.exec(readme)[1].replaceAll("127.0.0.1:8080", new URL(base).host);
  const image = page.waitForEvent("console", {
    predicate: async (message) => (await message.args()[0]?.evaluate((frame) => frame?.type)) === "image",
    timeout: WAIT_MS,
  });
  await page.evaluate(`{ ${snippet} }`);
  await image;
});

test("the layout does not shift while the page fills", async ({ browser, base }) => {
  for (const [width, height] of [[1440, 1000], [390, 844]]) {
    const context = await browser.newContext({ viewport: { width, height } });
    const page = await context.newPage();
    await page.addInitScript(() => {
      window.shifted = 0;
      new PerformanceObserver((list) => {
        for (const shift of list.getEntries()) if (!shift.hadRecentInput) window.shifted += shift.value;
      }).observe({ type: "layout-shift", buffered: true });
    });
    await page.goto(base);
    for (const id of CARDS) await page.waitForSelector(`#${id}[data-health="live"]`, { timeout: WAIT_MS });
    const shifted = await page.evaluate(() => window.shifted);
    assert(shifted < 0.1, `a cumulative layout shift of ${shifted.toFixed(3)} at ${width} pixels`);
    await context.close();
  }
});

test("nothing is wider than a phone screen", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 780 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert(over <= 0, `${over} pixels too wide`);
});

test("without a key the page asks for one, and refuses a wrong one with a message", async ({ browser, base }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(withoutKey);
  await page.goto(base);
  await page.waitForSelector("#ask:not([hidden])", { timeout: WAIT_MS });
  await page.fill("#ask-key", "not-a-key");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /does not work/.test(document.getElementById("ask-why").textContent), null, { timeout: WAIT_MS });
  assert((await page.evaluate(() => sessionStorage.length)) === 0, "the refused key is stored");
  await context.close();
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  assert(complaints.length === 0, complaints.join("\n"));
});

// -------------------------------------------------------------------------------------- running

/** Waits until the element's text begins so. */
async function shows(page, selector, beginning) {
  const begins = ([selector, beginning]) => document.querySelector(selector)?.textContent.startsWith(beginning);
  await page.waitForFunction(begins, [selector, beginning], { timeout: WAIT_MS });
}

async function seq(page, card) {
  return Number(await page.getAttribute(`#${card}`, "data-seq"));
}

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

/**
 * Makes the page what it is outside the demo: no key in its head. Taken out as it is parsed, not by
 * rewriting the answer, because a browser will not let a page of unknown origin call loopback.
 */
function withoutKey() {
  new MutationObserver(() => document.querySelector('meta[name="matchwire-key"]')?.remove())
    .observe(document, { childList: true, subtree: true });
}

await runAll(tests, { init: watchSockets });
