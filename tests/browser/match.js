// The pages of matches in a real browser against the real hub: `npm ci && node match.js`. The variables are those of page.js.

import { assert, matches, playing, runAll, text, transferred, violations, WAIT_MS } from "./support.js";

const BYTES_MAX = 100 * 1024;
// Prices may be suspended while a goal is celebrated, and between two sets of tennis nothing happens for up to 160 seconds.
const LULL_MS = 7 * WAIT_MS;
const OTHERS = ["basketball", "hockey", "csgo", "darts"];

const tests = [];
const test = (name, run) => tests.push({ name, run });

const isLive = (page, timeout = WAIT_MS) => page.waitForSelector('#match[data-health="live"]', { timeout });

async function accessible(page) {
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
}

async function opened(page, base, sport, id) {
  const loaded = await transferred(page);
  await page.goto(new URL(`/match/${sport}/${id}/`, base).href);
  await isLive(page);
  return (name) => {
    const { total, files } = loaded();
    console.log(`        ${name}: ${(total / 1024).toFixed(1)} KB transferred`);
    assert(total < BYTES_MAX, `${total} bytes: ${files.join(", ")}`);
  };
}

test("football: score, momentum, shots, line-ups, table and prices, under 100 KB", async ({ page, base }) => {
  const id = await playing(page, base, "football");
  const check = await opened(page, base, "football", id);
  assert((await text(page, "#match .team.home")).length > 0, "no home team");
  for (const part of ["momentum", "shots", "lineups", "standings"]) {
    await page.waitForSelector(`#${part}:not([hidden])`, { state: "attached", timeout: WAIT_MS });
  }
  assert((await page.locator("#momentum rect.bar-of").count()) > 10, "the momentum has hardly a bar");
  assert((await page.locator("#shots circle.shot title").first().textContent()).includes("′"), "a shot does not say when");
  assert((await page.locator("#lineups .eleven").count()) === 2 && (await page.locator("#lineups .eleven > ol").first().locator("li").count()) === 11, "not two line-ups of eleven");
  assert((await page.locator("#standings tr[data-own]").count()) === 2, "the table does not mark both sides");
  await page.waitForSelector('#odds path.series[data-series="home"]', { state: "attached", timeout: LULL_MS });
  check("football");
  const title = await page.title();
  assert(/–.* · Matchwire$/.test(title), `the title is "${title}"`);
});

test("football: the clock runs, and the document keeps updating", async ({ page }) => {
  const seq = Number(await page.getAttribute("#match", "data-seq"));
  await page.waitForFunction((from) => Number(document.getElementById("match").dataset.seq) > from, seq, { timeout: LULL_MS });
});

test("football: no violation of accessibility, wide and narrow, light and dark", ({ page }) => accessible(page));
test("football: pictures", ({ shoot }) => shoot("match-football", { whole: true }));

test("another market is drawn when it is chosen, and the pointer reads its past", async ({ page }) => {
  const markets = await page.locator("#odds .odds-chart option").evaluateAll((all) => all.map((it) => it.value));
  let isDrawn = false;
  // A market may be closed by what has happened already, such as the goals of its line.
  for (const market of markets.slice(1)) {
    await page.selectOption("#odds .odds-chart select", market);
    const line = page.locator('#odds path.series:is([data-series="over"], [data-series="yes"])').first();
    isDrawn = await line.waitFor({ state: "attached", timeout: WAIT_MS / 4 }).then(() => true, () => false);
    if (isDrawn) break;
  }
  assert(isDrawn, `none of ${markets} is drawn`);
  await page.locator("#odds .chart svg").hover({ position: { x: 60, y: 60 } });
  await page.waitForFunction(() => /\d\d:\d\d/.test(document.querySelector("#odds .legend .at").textContent), null, { timeout: WAIT_MS });
});

test("tennis: every point, also those before the page was opened, momentum and figures", async ({ page, base }) => {
  const id = await playing(page, base, "tennis");
  const check = await opened(page, base, "tennis", id);
  const played = await page.evaluate(() => Number(/(\d+) points played/.exec(document.querySelector("#match .further").textContent)?.[1] ?? 0));
  assert(played > 3, `only ${played} points were played`);
  await page.waitForSelector("#momentum:not([hidden]) path.series", { state: "attached", timeout: WAIT_MS });
  // The recording may lag behind by ten seconds; it is read twice.
  await page.waitForFunction((played) => document.querySelectorAll("#points .point").length >= played, played, { timeout: WAIT_MS });
  await page.waitForSelector("#figures:not([hidden])", { state: "attached", timeout: WAIT_MS });
  check("tennis");
  await accessible(page);
});
test("tennis: pictures", ({ shoot }) => shoot("match-tennis", { whole: true }));

for (const sport of OTHERS) {
  test(`${sport}: the score by part, who scored when, and prices`, async ({ page, base }) => {
    const id = await playing(page, base, sport);
    const check = await opened(page, base, sport, id);
    const isPlayed = await page.evaluate(() => [...document.querySelectorAll("#match .goals")].some((node) => node.textContent !== "0"));
    // Darts in legs only have no sets, and a first map has no score yet.
    if (sport === "basketball" || sport === "hockey") await page.waitForSelector("#match .by-part table", { timeout: WAIT_MS });
    if (isPlayed) await page.waitForSelector("#match .incident .after", { state: "attached", timeout: WAIT_MS });
    await page.waitForSelector("#odds path.series", { state: "attached", timeout: LULL_MS });
    check(sport);
    await accessible(page);
  });
}

test("a race has its runners, and the books of its bookmakers", async ({ page, base }) => {
  await page.goto(new URL("/board/", base).href);
  const race = (await matches(page, "horseracing")).filter(({ status }) => status === "not_started").sort((a, b) => a.start - b.start)[0];
  const check = await opened(page, base, "horseracing", race.id);
  await page.waitForFunction(() => document.querySelectorAll("#match .runners tbody tr").length > 3, null, { timeout: WAIT_MS });
  await page.waitForFunction(() => document.querySelectorAll("#odds .book option").length > 1, null, { timeout: LULL_MS });
  check("horseracing");
  await accessible(page);
});

test("what is no match is said so, and other addresses are not found", async ({ page, base, browser }) => {
  await page.goto(new URL("/match/football/1/", base).href);
  await page.waitForFunction(() => /does not follow this match/.test(document.querySelector(".absence").textContent), null, { timeout: WAIT_MS });
  const found = await violations(page);
  assert(found.length === 0, found.join("\n"));
  const context = await browser.newContext();
  for (const path of ["/match/chess/1/", "/match/football/0/", "/match/football/x/", "/match/football/2147483648/"]) {
    const response = await context.request.get(new URL(path, base).href);
    assert(response.status() === 404, `${path}: status ${response.status()}`);
  }
  await context.close();
});

test("text of a feed stays text", async ({ page, base }) => {
  const id = await playing(page, base, "football");
  await page.addInitScript(() => {
    const Original = window.WebSocket;
    window.WebSocket = class extends Original {
      set onmessage(handler) {
        super.onmessage = (message) => handler({ ...message, data: message.data.replaceAll(/"name":"[^"]*"/g, '"name":"<img src=x onerror=window.broken=1>"') });
      }
      addEventListener(type, handler, ...more) {
        const wrapped = (message) => handler(new MessageEvent("message", { data: message.data.replaceAll(/"name":"[^"]*"/g, '"name":"<img src=x onerror=window.broken=1>"') }));
        super.addEventListener(type, type === "message" ? wrapped : handler, ...more);
      }
    };
  });
  for (const path of [`/match/football/${id}/`, "/board/"]) {
    await page.goto(new URL(path, base).href);
    await page.waitForFunction(() => document.body.textContent.includes("<img src=x"), null, { timeout: WAIT_MS });
    assert((await page.locator('img[src="x"]').count()) === 0, `${path} has parsed the text of a feed`);
  }
  assert((await page.evaluate(() => window.broken)) === undefined, "text of a feed has run");
});

test("a restart of the hub is seen, and the match goes on without a reload", async ({ page, base, restart, away }) => {
  const id = await playing(page, base, "tennis", true);
  await opened(page, base, "tennis", id);
  // A request that is under way while the hub is killed fails in every browser.
  await page.waitForSelector("#odds path.series", { state: "attached", timeout: LULL_MS });
  await page.waitForLoadState("networkidle");
  await away(async () => {
    await restart(async () => {
      for (const card of ["match", "odds"]) await page.waitForSelector(`#${card}[data-health="lost"][data-current="no"]`, { timeout: WAIT_MS });
      const found = await violations(page);
      assert(found.length === 0, found.join("\n"));
    });
    await isLive(page, 3 * WAIT_MS);
    const seq = Number(await page.getAttribute("#match", "data-seq"));
    await page.waitForFunction((from) => Number(document.getElementById("match").dataset.seq) !== from, seq, { timeout: LULL_MS });
  });
  assert(await page.isHidden("#banner"), "the banner stays");
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  assert(complaints.length === 0, complaints.join("\n"));
});

await runAll(tests);
