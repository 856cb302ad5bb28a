// Replays on the live page in a real browser: the way from the kick-off to live, and the time line of a
// finished match: `npm ci && node replay.js`. The variables are those of page.js.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert, runAll, text, WAIT_MS } from "./support.js";

// Recordings are written with a delay of ten seconds, and the page asks for them every ten seconds.
const RECORDED_MS = 3 * WAIT_MS;

const tests = [];
const test = (name, run) => tests.push({ name, run });
const call = promisify(execFile);

const CARD = "#football";
const market = (change) => ({ odds: { book: "acmebet", market: "m1", change } });
const outcome = (id, outcome) => ({ id, status: "active", outcome });
const incident = (eid, kind, minute, side, more = {}) => ({ football: { incident: { eid, kind, minute, side, ...more } } });
const goal = (minute, side, score) => incident(`g${minute}`, { goal: "regular" }, minute, side, { player: { name: "A. Striker", key: "9" }, score });

let feed;

/** Pushes facts of one match; those of one call are a moment apart from those of the next. */
async function push(base, ...facts) {
  const lines = facts.map((fact) => JSON.stringify({ at: Date.now() * 1000, sport: "football", match: "m1", fact }));
  const answer = await fetch(new URL("/ingest/v1/acme", base), {
    method: "POST", headers: { authorization: `Token ${feed}` }, body: lines.join("\n"),
  });
  const said = await answer.json();
  assert(said.refused === 0, `the hub refused a line: ${JSON.stringify(said)}`);
}

const score = async (page) => (await text(page, `${CARD} .score`)).replace(/\s+/g, "");
const seq = async (page) => Number(await page.getAttribute(CARD, "data-seq"));
const position = async (page) => Number(await page.locator(`${CARD} .seek`).inputValue());

/** The channel of the match that the card shows. */
const channel = (page) => page.evaluate(() => window.commands.filter((it) => /^football\/\d+$/.test(it.ch)).at(-1).ch);

/** Waits until the recording of a match has this sequence. */
async function isRecorded(base, key, name, seq) {
  const until = Date.now() + RECORDED_MS;
  for (;;) {
    const answer = await fetch(new URL("/stream/v1/replays/", base), { headers: { authorization: `Token ${key}` } });
    const { replays } = await answer.json();
    const recorded = replays.flatMap((it) => it.channels).find((it) => it.ch === name);
    if (recorded?.last >= seq) return;
    assert(Date.now() < until, `${name} is not recorded up to ${seq}: ${JSON.stringify(recorded)}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Waits until the card shows this score. */
async function shows(page, wanted) {
  const isShown = ([card, wanted]) => document.querySelector(`${card} .score`).textContent === wanted;
  await page.waitForFunction(isShown, [CARD, wanted], { timeout: WAIT_MS });
}

test("a match that runs can be watched from the kick-off as soon as it is recorded", async ({ page, base, directory }) => {
  const command = async (...words) => (await call(process.env.HUB_BIN, [...words, "--db", join(directory, "hub.db")])).stdout.trim();
  feed = await command("feeds", "key", "create", "acme");
  const key = await command("key", "create", "--addon", "websocket");
  const selections = [outcome("1", "home"), outcome("x", "draw"), outcome("2", "away")];
  await push(base,
    { fixture: { sides: [{ name: "Ashby Town" }, { name: "Calder Vale" }] } },
    market({ define: { kind: "match_winner", status: "open", in_play: true, selections } }),
    { football: { status: "first_half" } },
    { football: { score: { goals: [0, 0] } } },
    { football: { clock: { second: 0, running: true } } });
  await page.goto(base);
  const row = page.locator("#board-football .matches button", { hasText: "Ashby Town" });
  await row.click({ timeout: WAIT_MS });
  await shows(page, "0–0");
  await page.waitForTimeout(3000);
  await push(base, goal(1, "home", [1, 0]), { football: { score: { goals: [1, 0] } } });
  await page.waitForTimeout(3000);
  await push(base, incident("y1", "yellow", 2, "away", { player: { name: "C. Back", key: "4" } }));
  await shows(page, "1–0");
  await page.waitForSelector(`${CARD} .watch`, { state: "visible", timeout: RECORDED_MS });
  // On a busy machine it is offered before the goal is recorded, and a replay up to there would end at once.
  await isRecorded(base, key, await channel(page), await seq(page));
});
test("the offer: pictures", ({ shoot }) => shoot("replay-offer"));

test("from the kick-off to live, without a gap", async ({ page, base }) => {
  const live = await seq(page);
  await page.evaluate(() => (window.commands.length = 0));
  await page.locator(`${CARD} .watch`).press("Enter");
  await page.waitForSelector(`${CARD}[data-health="replay"]`, { timeout: WAIT_MS });
  assert(await page.locator(`${CARD} .play`).evaluate((node) => node === document.activeElement), "the focus is lost");
  assert((await seq(page)) < live, "it does not begin at the kick-off");
  await page.locator(`${CARD} [data-speed="60"]`).press("Enter");
  await page.waitForSelector(`${CARD}[data-health="live"]`, { timeout: RECORDED_MS });
  const commands = await page.evaluate(() => window.commands);
  const resumed = commands.filter((it) => it.op === "subscribe" && it.replay === undefined).at(-1);
  assert(/^football\/\d+$/.test(resumed?.ch) && resumed.from?.epoch && resumed.from.seq > 0, `it did not resume: ${JSON.stringify(resumed)}`);
  const resync = await page.evaluate(() => window.resumed.at(-1));
  assert(resync === true, "the hub did not go on from there");
  await push(base, goal(50, "away", [1, 1]), { football: { score: { goals: [1, 1] } } });
  await shows(page, "1–1");
});

test("a finished match has a time line with its goals and cards", async ({ page, base }) => {
  // A mark leads to five seconds before it, and there the goal before must be over.
  await page.waitForTimeout(7000);
  await push(base, goal(80, "home", [2, 1]), { football: { score: { goals: [2, 1] } } });
  await page.waitForTimeout(3000);
  await push(base, incident("r1", "red", 85, "away", { player: { name: "C. Back", key: "4" } }), { football: { status: "finished" } });
  // Otherwise the page moves on to the next match.
  page.getByRole("button", { name: "Stay here" }).click({ timeout: RECORDED_MS }).catch(() => {});
  const range = page.getByRole("slider", { name: "Position in the match" });
  await range.waitFor({ state: "visible", timeout: RECORDED_MS });
  const scans = () => page.evaluate(() => window.commands.filter((it) => it.replay?.speed === "max").length);
  const before = await scans();
  await page.waitForTimeout(2000);
  assert((await scans()) === before, "the recording is read although nobody has touched the replay");
  await range.focus();
  await page.waitForSelector(`${CARD} .marks [data-mark=red]`, { timeout: RECORDED_MS });
  const labels = await page.locator(`${CARD} .marks button`).evaluateAll((all) => all.map((it) => it.getAttribute("aria-label")));
  const wanted = [/^1′ Goal, A. Striker, 1–0/, /^2′ Yellow card, C. Back/, /^50′ Goal/, /^80′ Goal, A. Striker, 2–1/, /^85′ Red card/];
  assert(wanted.every((label, i) => label.test(labels[i])), `the marks are ${JSON.stringify(labels)}`);
  const lefts = await page.locator(`${CARD} .marks li`).evaluateAll((all) => all.map((it) => it.getBoundingClientRect().left));
  assert(lefts.every((left, i) => i === 0 || left > lefts[i - 1]), `the marks are at ${lefts}`);
});

test("the time line seeks with the keyboard and a mark, plays and pauses", async ({ page }) => {
  const range = page.getByRole("slider", { name: "Position in the match" });
  await range.press("Home");
  await page.waitForSelector(`${CARD}[data-health="replay"]`, { timeout: WAIT_MS });
  await shows(page, "0–0");
  assert(/^0:00:\d\d of 0:\d\d:\d\d$/.test(await range.getAttribute("aria-valuetext")), "no position for screen readers");
  const before = await position(page);
  await page.waitForFunction(([at, card]) => Number(document.querySelector(`${card} .seek`).value) > at, [before, CARD], { timeout: WAIT_MS });

  await page.getByRole("button", { name: "Pause", exact: true }).press("Enter");
  await page.getByRole("button", { name: "80′ Goal" }).press("Enter");
  await shows(page, "1–1");
  const paused = await position(page);
  await page.waitForTimeout(1500);
  assert((await position(page)) === paused, "it plays on while it is paused");
  await page.getByRole("button", { name: "Play", exact: true }).press("Enter");
  await shows(page, "2–1");
  assert(await page.getByText("Ashby Town – Calder Vale", { exact: true }).first().isVisible(), "the odds are of another match");
});

test("a finished match: pictures", ({ shoot }) => shoot("replay"));

test("dragging seeks", async ({ page }) => {
  const box = await page.locator(`${CARD} .seek`).boundingBox();
  await page.mouse.move(box.x + box.width - 10, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 4 });
  await page.mouse.move(box.x + 4, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await shows(page, "0–0");
});

test("dragging back to where it was does not stop the handle", async ({ page }) => {
  await page.getByRole("button", { name: "Play", exact: true }).or(page.getByRole("button", { name: "Pause", exact: true })).first().focus();
  const box = await page.locator(`${CARD} .seek`).boundingBox();
  await page.mouse.move(box.x + 8, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + 60, box.y + box.height / 2, { steps: 3 });
  await page.mouse.move(box.x + 8, box.y + box.height / 2, { steps: 3 });
  await page.mouse.up();
  const dropped = await position(page);
  const play = page.getByRole("button", { name: "Play", exact: true });
  if (await play.isVisible()) await play.click();
  await page.waitForFunction(([at, card]) => Number(document.querySelector(`${card} .seek`).value) > at, [dropped, CARD], { timeout: WAIT_MS });
});

test("closing it shows the result again", async ({ page }) => {
  await page.getByRole("button", { name: "Close replay" }).click();
  await page.waitForSelector(`${CARD}[data-health="ended"]`, { timeout: WAIT_MS });
  await shows(page, "2–1");
});

test("nothing is wider than a phone screen", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 780 });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert(over <= 0, `${over} pixels too wide`);
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  assert(complaints.length === 0, complaints.join("\n"));
});

/** Runs before the page's own scripts: records the commands, and whether subscriptions by name were resumed. */
function watchSockets() {
  window.commands = [];
  window.resumed = [];
  const Original = window.WebSocket;
  window.WebSocket = class extends Original {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) => {
        const frame = JSON.parse(data);
        if (frame.type === "subscribed" && frame.resumed !== undefined) window.resumed.push(frame.resumed);
      });
    }
    send(data) {
      window.commands.push(JSON.parse(data));
      super.send(data);
    }
  };
}

await runAll(tests, { init: watchSockets });
