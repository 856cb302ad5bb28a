// The live board in a real browser against the real hub: `npm ci && node board.js`. The variables are those of page.js.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert, runAll, text, transferred, violations, WAIT_MS } from "./support.js";

const BYTES_MAX = 100 * 1024;
const SPORTS = ["football", "tennis", "basketball", "hockey", "csgo", "darts", "horseracing"];
// More rows than any day of the demo has.
const MANY = 400;

const tests = [];
const test = (name, run) => tests.push({ name, run });
const call = promisify(execFile);

let feed;
const command = async (directory, ...words) => (await call(process.env.HUB_BIN, [...words, "--db", join(directory, "hub.db")])).stdout.trim();

/** Pushes facts about matches of a source: pairs of a match and a fact. */
async function push(base, pairs) {
  const lines = pairs.map(([match, fact]) => JSON.stringify({ at: Date.now() * 1000, sport: "football", match, fact }));
  const answer = await fetch(new URL("/ingest/v1/acme", base), { method: "POST", headers: { authorization: `Token ${feed}` }, body: lines.join("\n") });
  const said = await answer.json();
  assert(said.refused === 0, `the hub refused a line: ${JSON.stringify(said)}`);
}

const goal = (minute, score) => ({ football: { incident: { eid: `g${minute}`, kind: { goal: "regular" }, minute, side: "home", score } } });
const isLive = (page, sport) => page.waitForSelector(`.fixture[data-sport="${sport}"]`, { state: "attached", timeout: WAIT_MS });
const rows = (page) => page.locator("#matches .fixture");
const focused = (page) => page.evaluate(() => document.activeElement.closest(".fixture")?.dataset.key);
const rowOf = (page, name) => page.locator("#matches .fixture", { hasText: name });

test("the board has the matches of every sport, and loads under 100 KB", async ({ page, base }) => {
  const loaded = await transferred(page);
  const response = await page.goto(new URL("/board/", base).href);
  assert(response.status() === 200, `status ${response.status()}`);
  assert(!/unsafe/.test(response.headers()["content-security-policy"]), "the policy is weaker than that of other pages");
  for (const sport of SPORTS) await isLive(page, sport);
  await page.waitForSelector('.fixture[data-state="live"][data-health="live"]', { state: "attached", timeout: WAIT_MS });
  const { total, files } = loaded();
  console.log(`        ${(total / 1024).toFixed(1)} KB transferred`);
  assert(total < BYTES_MAX, `${total} bytes: ${files.join(", ")}`);
});

test("it is linked from the live page and from the pages of customers", async ({ browser, base }) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  for (const path of ["/", "/watch/", "/pricing/"]) {
    await page.goto(new URL(path, base).href);
    assert((await page.locator('nav a[href="/board/"]').count()) > 0, `${path} has no link to the board`);
  }
  await context.close();
});

test("no violation of accessibility, wide and narrow, light and dark", async ({ page }) => {
  for (const [width, height] of [[1440, 1000], [390, 844]]) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const found = await violations(page);
      assert(found.length === 0, `${width} ${colorScheme}: ${found.join("\n")}`);
    }
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(over <= 0, `${over} pixels too wide at ${width}`);
  }
  await page.setViewportSize({ width: 1440, height: 1000 });
  await page.keyboard.press("?");
  await page.waitForSelector("#keys[open]", { timeout: WAIT_MS });
  const found = await violations(page);
  assert(found.length === 0, `the list of keys: ${found.join("\n")}`);
  await page.keyboard.press("Escape");
});
test("the board: pictures", ({ shoot }) => shoot("board"));

test("filters and search leave what fits, and a reload finds them again", async ({ page }) => {
  await page.click('#sports [data-sport="tennis"]');
  await page.waitForFunction(() => [...document.querySelectorAll(".fixture")].every((row) => row.dataset.sport === "tennis"), null, { timeout: WAIT_MS });
  await page.click('#statuses [data-status="next"]');
  await page.waitForFunction(() => [...document.querySelectorAll(".fixture")].every((row) => row.dataset.state === "next"), null, { timeout: WAIT_MS });
  assert((await rows(page).count()) > 0, "no match of tennis is to come");
  await page.reload();
  await isLive(page, "tennis");
  assert((await page.getAttribute('#sports [data-sport="tennis"]', "aria-pressed")) === "true", "the sport is forgotten");
  const name = (await page.locator(".fixture .name").first().textContent()).trim();
  await page.fill("#search", name.toUpperCase());
  await page.waitForFunction((name) => [...document.querySelectorAll(".fixture")].every((row) => row.textContent.includes(name)), name, { timeout: WAIT_MS });
  await page.fill("#search", "nobody plays under this name");
  await page.waitForFunction(() => !document.getElementById("nothing").hidden && document.querySelectorAll(".fixture").length === 0, null, { timeout: WAIT_MS });
  assert(/No match fits/.test(await text(page, "#nothing")), "it does not say why nothing is shown");
  await page.press("#search", "Escape");
  await page.click('#sports [data-sport="football"]');
  await page.click('#statuses [data-status=""]');
  const competition = await page.locator("#competition option").nth(1).getAttribute("value");
  await page.selectOption("#competition", competition);
  await page.waitForFunction(() => document.querySelectorAll(".group").length === 1, null, { timeout: WAIT_MS });
  await page.click('#sports [data-sport="all"]');
  await page.waitForFunction(() => document.querySelectorAll(".group").length > 5, null, { timeout: WAIT_MS });
});

test("everything works with the keyboard; favourites are on top, and stay", async ({ page }) => {
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("j");
  const first = await focused(page);
  await page.keyboard.press("ArrowDown");
  const second = await focused(page);
  assert(first && second && first !== second, `j and the arrow lead to ${first} and ${second}`);
  await page.keyboard.press("k");
  assert((await focused(page)) === first, "k does not lead back");
  await page.keyboard.press("j");
  await page.keyboard.press("f");
  await page.waitForSelector(`[data-group="favourites"] [data-key="${second}"]`, { timeout: WAIT_MS });
  assert((await page.locator(`[data-key="${second}"]`).count()) === 1, "the favourite is shown twice");
  await page.waitForFunction((key) => document.activeElement.closest(".fixture")?.dataset.key === key, second, { timeout: WAIT_MS });
  await page.keyboard.press("/");
  assert(await page.locator("#search").evaluate((node) => node === document.activeElement), "/ does not lead to the search");
  await page.keyboard.type("fj");
  assert((await page.inputValue("#search")) === "fj", "keys of the search move the board");
  await page.keyboard.press("Escape");
  await page.reload();
  await page.waitForSelector(`[data-group="favourites"] [data-key="${second}"]`, { timeout: WAIT_MS });
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/match/${second}/`, { timeout: WAIT_MS });
  await page.goBack();
  await page.click('[data-group="favourites"] .star');
  await page.waitForFunction(() => !document.querySelector('[data-group="favourites"]'), null, { timeout: WAIT_MS });
});

test("hundreds of rows are updated in place, at most once a frame, and a score change is seen and said once", async ({ page, base, directory }) => {
  feed = await command(directory, "feeds", "key", "create", "acme");
  const ids = Array.from({ length: MANY }, (_, i) => `m${i}`);
  await push(base, ids.flatMap((match, i) => [
    [match, { fixture: { sides: [{ name: `Home ${i}` }, { name: `Away ${i}` }], competition: { name: `League ${i % 20}` } } }],
    [match, { football: { status: "first_half" } }],
    [match, { football: { score: { goals: [0, 0] } } }],
  ]));
  await page.click('#sports [data-sport="football"]');
  // Rows of other sports go with the next frame.
  await page.waitForFunction((many) => {
    const rows = [...document.querySelectorAll(".fixture")];
    return rows.every((row) => row.dataset.key.startsWith("football/")) && rows.filter((row) => row.dataset.state === "live").length >= many;
  }, MANY, { timeout: WAIT_MS });
  await rowOf(page, "Home 123").locator(".total").first().waitFor({ state: "attached" });
  await page.evaluate(() => {
    window.before = new Map([...document.querySelectorAll(".fixture")].map((row) => [row.dataset.key, row]));
    Object.assign(window, { frames: 0, busy: 0, longest: 0, spoken: [] });
    const frame = () => {
      window.frames += 1;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    // One record for each frame that changes a row.
    new MutationObserver(() => (window.busy += 1)).observe(document.getElementById("matches"), { subtree: true, childList: true, characterData: true });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    }).observe({ type: "longtask" });
    new MutationObserver(() => window.spoken.push(document.getElementById("announce").textContent)).observe(document.getElementById("announce"), { childList: true });
  });
  for (let minute = 1; minute <= 10; minute += 1) {
    await push(base, ids.filter((_, i) => i % 10 === minute % 10).flatMap((match) => [[match, goal(minute, [1, 0])], [match, { football: { score: { goals: [1, 0] } } }]]));
  }
  await page.waitForFunction(() => {
    const totals = [...document.querySelectorAll(".fixture")].filter((row) => /^Home \d+$/.test(row.querySelector(".name").textContent));
    return totals.every((row) => row.querySelector(".total").textContent === "1");
  }, null, { timeout: WAIT_MS });
  // One of the last: a mark fades.
  const row = rowOf(page, "Home 120");
  assert((await row.getAttribute("data-changed")) === "yes", "the row is not marked");
  assert((await row.locator(".total[data-changed]").count()) === 1, "not the side that scored is marked");
  const { kept, all, busy, frames, longest } = await page.evaluate(() => {
    const now = [...document.querySelectorAll(".fixture")];
    return { kept: now.filter((node) => window.before.get(node.dataset.key) === node).length, all: window.before.size, busy: window.busy, frames: window.frames, longest: window.longest };
  });
  console.log(`        ${all} rows, ${MANY} changes, drawn in ${busy} of ${frames} frames, longest task ${longest} ms`);
  assert(kept === all, `${all - kept} of ${all} rows were made again`);
  assert(busy <= frames, `drawn ${busy} times in ${frames} frames`);
  await page.waitForFunction(() => window.spoken.some((said) => /more score changes/.test(said)), null, { timeout: WAIT_MS });
  const spoken = await page.evaluate(() => window.spoken.filter(Boolean));
  assert(spoken.length <= 3 && spoken.every((said) => said.length < 300), `it floods: ${JSON.stringify(spoken)}`);
});

test("who wants no motion sees the mark without it", async ({ page, base }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.evaluate(() => {
    window.animated = 0;
    const original = Element.prototype.animate;
    Element.prototype.animate = function (...args) {
      window.animated += 1;
      return original.apply(this, args);
    };
  });
  await push(base, [["m7", goal(60, [2, 0])], ["m7", { football: { score: { goals: [2, 0] } } }]]);
  await page.waitForFunction(() => [...document.querySelectorAll(".fixture")].some((row) => row.querySelector(".name").textContent === "Home 7" && row.querySelector(".total").textContent === "2"), null, { timeout: WAIT_MS });
  assert((await rowOf(page, "Home 7").filter({ hasText: "Away 7" }).first().getAttribute("data-changed")) === "yes", "the row is not marked");
  assert((await page.evaluate(() => window.animated)) === 0, "it moves");
  await page.emulateMedia({ reducedMotion: null });
});

test("an add-on that is missing is named in the page, and nothing is in the console", async ({ page: entitled, browser, base, directory }) => {
  await entitled.click('#sports [data-sport="darts"]');
  await isLive(entitled, "darts");
  const darts = await entitled.locator('.fixture[data-sport="darts"]').first().getAttribute("data-key");
  const key = await command(directory, "key", "create", "--addon", "websocket");
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.stack));
  await page.addInitScript(() => {
    new MutationObserver(() => document.querySelector('meta[name="matchwire-key"]')?.remove()).observe(document, { childList: true, subtree: true });
  });
  await page.goto(new URL("/board/", base).href);
  await page.fill("#ask-key", key);
  await page.keyboard.press("Enter");
  await isLive(page, "football");
  await page.waitForSelector('.board-notice a[href="/addons/#sports"]', { timeout: WAIT_MS });
  await page.waitForFunction(() => /Basketball, Ice hockey, CS2, Darts,? and Horse racing need the Sports add-on/.test(document.getElementById("notices").textContent), null, { timeout: WAIT_MS });
  assert((await page.locator('.board-notice:has(a[href="/addons/#sports"])').count()) === 1, "one missing add-on is named more than once");
  const found = await violations(page);
  assert(found.length === 0, found.join("\n"));
  await page.goto(new URL(`/match/${darts}/`, base).href);
  await page.waitForFunction(() => /needs the Sports add-on/.test(document.querySelector(".absence")?.textContent), null, { timeout: WAIT_MS });
  assert(complaints.length === 0, complaints.join("\n"));
  await context.close();
});

test("a restart of the hub is seen in every row, and everything goes on without a reload", async ({ page, restart, away }) => {
  await page.click('#sports [data-sport="tennis"]');
  await isLive(page, "tennis");
  await away(async () => {
    await restart(async () => {
      await page.waitForSelector('.fixture[data-health="lost"]', { state: "attached", timeout: WAIT_MS });
      assert(await page.isVisible("#banner"), "no banner");
      assert((await page.locator('.fixture[data-health="live"]').count()) === 0, "a row looks live");
      const found = await violations(page);
      assert(found.length === 0, found.join("\n"));
    });
    await page.waitForSelector('.fixture[data-state="live"][data-health="live"]', { state: "attached", timeout: 3 * WAIT_MS });
  });
  assert(await page.isHidden("#banner"), "the banner stays");
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  assert(complaints.length === 0, complaints.join("\n"));
});

await runAll(tests);
