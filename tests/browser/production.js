// A hub in production in a real browser: the landing page with its boards, a customer whose session
// connects the live page, and the operator's pages: `npm ci && node production.js`. The variables are
// those of page.js.

import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert, runAll, text, transferred, violations, WAIT_MS } from "./support.js";

const EMAIL = "ann@example.org";
const PASSWORD = "four words in a row";

const tests = [];
const test = (name, run) => tests.push({ name, run });
const call = promisify(execFile);

/** Runs a command of the program beside the hub; what it prints. */
async function matchwire(directory, ...words) {
  const child = call(process.env.HUB_BIN, [...words, "--db", join(directory, "hub.db")]);
  // A command that asks for no password may end before it could read one.
  child.child.stdin.on("error", () => {}).end(`${PASSWORD}\n`);
  return (await child).stdout.trim();
}

async function push(base, key, line, source = "acme") {
  const answer = await fetch(new URL(`/ingest/v1/${source}`, base), {
    method: "POST", headers: { authorization: `Token ${key}` }, body: JSON.stringify(line),
  });
  const said = await answer.json();
  assert(said.accepted === 1, `the hub refused a line: ${JSON.stringify(said)}`);
}

test("visitors see the products, a link to register and the boards that the operator allows", async ({ page, base, directory, shoot }) => {
  const key = await matchwire(directory, "feeds", "key", "create", "acme");
  const fixture = { sides: [{ name: "Ashby Town" }, { name: "Calder Vale" }] };
  await push(base, key, { sport: "football", match: "m1", fact: { fixture } });
  await page.goto(base);
  assert(/WebSocket add-on/.test(await text(page, "main")), "the add-ons are not named");
  assert(/\$3/.test(await text(page, "main")), "no price");
  await page.getByRole("link", { name: "Register for free" }).waitFor();
  await page.waitForFunction(() => document.querySelector("[data-sport=football] .who")?.textContent === "Ashby Town – Calder Vale", null, { timeout: WAIT_MS });
  assert((await page.locator("#ask").count()) === 0, "a visitor is asked for a key");
  await shoot("landing", { whole: true });
});

test("a key opens the live page", async ({ page, base }) => {
  await page.getByRole("link", { name: "Open the live page" }).click();
  await page.waitForSelector("#ask:not([hidden])", { timeout: WAIT_MS });
  assert(/Enter your API key/.test(await text(page, "#ask")), "no word of the key");
  await page.goto(base);
});

test("snippets for the chosen MCP server can be copied, and fit on a telephone", async ({ page, base, shoot }) => {
  await page.goto(new URL("/mcp-info/", base).href);
  await page.getByRole("navigation", { name: "Server of the snippets" }).getByRole("link", { name: "Tennis" }).click();
  await page.waitForURL("**/mcp-info/?server=tennis*", { timeout: WAIT_MS });
  assert(/matchwire-tennis \S+\/tennis\/mcp/.test(await text(page, "#claude-code-text")), "not the server of tennis");
  await page.click("[data-copy=claude-code-text]");
  await page.waitForFunction(() => document.querySelector("[data-copy=claude-code-text]").textContent === "Copied", null, { timeout: WAIT_MS });
  const size = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 800 });
  assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the screen");
  await shoot("mcp-info", { whole: true });
  await page.setViewportSize(size);
  await page.goto(base);
});

test("a customer without the add-on gets a link to it", async ({ page, base, directory, shoot }) => {
  await page.goto(new URL("/register/", base).href);
  await page.fill("#email", EMAIL);
  await page.fill("#password", PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/register/sent/", { timeout: WAIT_MS });
  await page.goto(await verificationLink(join(directory, "mails")));
  await page.waitForURL("**/dashboard/", { timeout: WAIT_MS });
  await page.evaluate(() => sessionStorage.clear());
  await page.goto(base);
  await page.waitForSelector("#upgrade", { timeout: WAIT_MS });
  assert((await page.getAttribute("#upgrade a", "href")) === "/addons/#websocket", "the link leads elsewhere");
  await shoot("upgrade");
});

test("with the add-on the session connects the live page, without a key", async ({ page, base, directory }) => {
  await matchwire(directory, "addon", "gift", EMAIL, "websocket", "--days", "30", "--note", "test");
  await page.goto(base);
  await page.waitForSelector("#link[data-phase=open]", { timeout: WAIT_MS });
  await page.waitForSelector("#board-football .matches li", { timeout: WAIT_MS });
  assert((await page.evaluate(() => sessionStorage.length)) === 0, "the page holds a key");
});

test("the session connects the board and the page of a match, which asks for a key for what comes over REST", async ({ page, base, directory }) => {
  await page.goto(new URL("/board/", base).href);
  await page.locator(".fixture a", { hasText: "Ashby Town" }).waitFor({ timeout: WAIT_MS });
  const accessible = async () => {
    const found = await violations(page);
    assert(found.length === 0, found.join("\n"));
  };
  await accessible();
  await page.locator(".fixture a", { hasText: "Ashby Town" }).click();
  await page.waitForSelector('#match[data-health="live"]', { timeout: WAIT_MS });
  assert((await text(page, "#match .team.home")) === "Ashby Town", "not that match");
  await accessible();
  await page.fill("#rest-key", await matchwire(directory, "key", "create", "--email", EMAIL));
  const asked = page.waitForResponse("**/api/v2/events/*/stats/", { timeout: WAIT_MS });
  await page.keyboard.press("Enter");
  assert((await asked).status() === 200, "the key does not work");
  assert((await page.locator("#rest-key").count()) === 0, "it still asks for a key");
  await page.evaluate(() => sessionStorage.clear());
});

test("the trader's page says which add-on single books need, and shows the best prices without it", async ({ page, base, directory }) => {
  const key = await matchwire(directory, "feeds", "key", "create", "acme");
  const selections = ["home", "draw", "away"].map((outcome) => ({ id: outcome, status: "active", outcome }));
  const odds = (change) => ({ sport: "football", match: "m1", fact: { odds: { book: "acme", market: "1x2", change } } });
  await push(base, key, odds({ define: { kind: "match_winner", status: "open", selections } }));
  await push(base, key, odds({ prices: { selections: selections.map(({ id }, i) => ({ id, price: `2.${i + 1}0` })) } }));
  const [match] = await page.evaluate(() => fetch("/watch/boards/football/").then((answer) => answer.json()).then(({ data }) => Object.keys(data.matches)));
  await page.goto(new URL(`/trade/football/${match}/`, base).href);
  await page.waitForSelector("#addon:not([hidden])", { timeout: WAIT_MS });
  assert(/Prices of single bookmakers, depth and signals need the Odds add-on\. It costs \d+\.\d\d USD a month\./.test(await text(page, "#addon")), await text(page, "#addon"));
  assert((await page.getAttribute("#addon a", "href")) === "/addons/#odds", "the link leads elsewhere");
  await page.waitForFunction(() => [...document.querySelectorAll("#rows tr.total .price")].map((it) => it.textContent).join() === "2.10,2.20,2.30", null, { timeout: WAIT_MS });
  assert((await page.locator("#rows tr").count()) === 1, "books are shown");
  await page.goto(base);
});

test("blocking an account asks first, and nothing is cut off at 1280 and 1440 pixels", async ({ page, base, directory, shoot }) => {
  await matchwire(directory, "admin", "create", "me");
  await page.goto(new URL("/admin/login/", base).href);
  await page.fill("#name", "me");
  await page.fill("#password", PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/admin/", { timeout: WAIT_MS });
  await page.goto(new URL("/admin/accounts/1/", base).href);
  for (const width of [1280, 1440]) {
    await page.setViewportSize({ width, height: 1000 });
    const cut = await page.evaluate(() => [...document.querySelectorAll(".wide")].filter((it) => it.scrollWidth > it.clientWidth).length);
    assert(cut === 0, `${cut} tables are cut off at ${width} pixels`);
  }
  await page.getByRole("button", { name: "Block account" }).click();
  assert(/^Block .*\?$/.test(await text(page, "h1")), await text(page, "h1"));
  await shoot("admin-confirm", { whole: true });
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Block account" }).waitFor({ timeout: WAIT_MS });
});

test("the operator's figures and accounts are small and accessible", async ({ page, base }) => {
  for (const path of ["/admin/", "/admin/accounts/", "/admin/accounts/1/"]) {
    const counted = await transferred(page);
    await page.goto(new URL(path, base).href);
    const { total, files } = counted();
    assert(total > 0 && total < 100_000, `${path}: ${total} bytes: ${files.join(", ")}`);
    await inEveryForm(page);
  }
});

test("the operator's figures go on after a restart of the hub, and say so while it is away", async ({ page, base, restart, away }) => {
  const says = (words) => page.waitForFunction((words) => document.getElementById("state").textContent.includes(words), words, { timeout: 3 * WAIT_MS });
  await page.goto(new URL("/admin/", base).href);
  await says("As of");
  await away(() => restart(() => says("The hub is not responding")));
  await says("As of");
});

test("two clicks show which socket does not read, what waits for it and why", async ({ page, base, directory, shoot }) => {
  const feed = await matchwire(directory, "feeds", "key", "create", "acme");
  const key = await matchwire(directory, "key", "create", "--email", EMAIL);
  const [match] = await page.evaluate(() => fetch("/watch/boards/football/").then((answer) => answer.json()).then(({ data }) => Object.keys(data.matches)));
  const deaf = await deafReader(base, key, `football/${match}`);
  const ball = (at) => JSON.stringify({ sport: "football", match: "m1", fact: { football: { ball: { x: at % 1000, y: (at * 7) % 1000, side: at % 2 ? "home" : "away", situation: "attack" } } } });
  const counted = await transferred(page);
  await page.goto(new URL("/admin/sockets/", base).href);
  const size = counted();
  assert(size.total > 0 && size.total < 100_000, `${size.total} bytes: ${size.files.join(", ")}`);
  let sent = 0;
  const push = async () => {
    const lines = Array.from({ length: 500 }, () => ball((sent += 1))).join("\n");
    const answer = await fetch(new URL("/ingest/v1/acme", base), { method: "POST", headers: { authorization: `Token ${feed}` }, body: lines });
    assert(answer.ok, `the hub refused the ball: ${answer.status} ${await answer.text()}`);
  };
  // More than the network between them holds. The list renews itself.
  const stuck = page.locator("tbody tr", { hasText: "does not read" });
  for (let round = 0; round < 40 && (await stuck.count()) === 0; round += 1) {
    await push();
    if (round % 4 === 3) await page.waitForTimeout(500);
  }
  await stuck.first().waitFor({ timeout: WAIT_MS });
  assert(/Updates every 3 seconds/.test(await text(page, "#state")), await text(page, "#state"));
  assert((await stuck.first().innerText()).includes(EMAIL), "not whose socket it is");
  assert(!(await page.content()).includes(key), "the page has the key");
  await inEveryForm(page);
  await shoot("admin-sockets", { whole: true });
  const link = page.locator("tbody tr").first().getByRole("link").first();
  await link.focus();
  // The list is replaced every few seconds; the focus stays where the operator is.
  await page.waitForTimeout(3500);
  assert(await page.evaluate(() => document.activeElement?.matches("tbody th a")), "the focus is lost when the list is renewed");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/admin/sockets/*-*/", { timeout: WAIT_MS });
  assert(/does not read/.test(await text(page, "#explanation")), await text(page, "#explanation"));
  await page.locator(".journal", { hasText: "Socket full" }).waitFor({ timeout: WAIT_MS });
  await push();
  await push();
  deaf.resume();
  await page.locator(".journal", { hasText: "Keeps up again" }).waitFor({ timeout: WAIT_MS });
  await page.locator(".journal", { hasText: "Merged" }).waitFor({ timeout: WAIT_MS });
  await inEveryForm(page);
  await shoot("admin-socket", { whole: true });
  await page.getByRole("checkbox", { name: "Update" }).uncheck();
  await page.waitForFunction(() => /Not updated/.test(document.getElementById("state").textContent), null, { timeout: WAIT_MS });
  deaf.destroy();
});

test("refused messages of a source are listed with their reason", async ({ page, base, directory, shoot }) => {
  const feed = await matchwire(directory, "feeds", "key", "create", "acme");
  await fetch(new URL("/ingest/v1/acme", base), { method: "POST", headers: { authorization: `Token ${feed}` }, body: "<img src=x onerror=alert(1)>" });
  await page.goto(new URL("/admin/", base).href);
  await page.getByRole("link", { name: "Sources" }).last().click();
  await page.waitForURL("**/admin/sources/", { timeout: WAIT_MS });
  assert(/<img src=x onerror=alert\(1\)>/.test(await text(page, "code.excerpt")), await text(page, "main"));
  await inEveryForm(page);
  await shoot("admin-sources", { whole: true });
});

test("matches that may be one are joined after a question, and split again", async ({ page, base, directory, shoot }) => {
  for (const [source, names] of [["acme", ["Ajax", "PSV"]], ["beta", ["PSV", "Ajax"]]]) {
    const feed = await matchwire(directory, "feeds", "key", "create", source);
    await push(base, feed, { sport: "football", match: "m9", fact: { fixture: { start: 1_788_280_000_000_000, sides: names.map((name) => ({ name })) } } }, source);
  }
  const reload = async (words, section) => {
    const end = Date.now() + WAIT_MS;
    while (Date.now() < end) {
      await page.goto(new URL("/admin/matches/", base).href);
      if (words.test(await text(page, `[aria-labelledby=${section}]`))) return;
      await page.waitForTimeout(200);
    }
    throw new Error(`${section} never said ${words}: ${await text(page, "main")}`);
  };
  await reload(/the sides are the other way round/, "candidates-title");
  await inEveryForm(page);
  await shoot("admin-matches", { whole: true });
  await page.getByRole("button", { name: /^Join / }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Join these matches?" }).waitFor({ timeout: WAIT_MS });
  await page.getByRole("button", { name: "Join" }).click();
  await page.waitForURL("**/admin/matches/?done=join", { timeout: WAIT_MS });
  await reload(/operator/, "joined-title");
  await inEveryForm(page);
  await page.getByRole("button", { name: /^Split / }).click();
  await page.getByRole("button", { name: "Keep apart" }).click();
  await page.waitForURL("**/admin/matches/?done=split", { timeout: WAIT_MS });
  await reload(/None\./, "joined-title");
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  assert(complaints.length === 0, complaints.join("\n"));
});

/** No violation of accessibility, wide and narrow, light and dark, and nothing that is wider than a telephone. */
async function inEveryForm(page) {
  for (const [width, height] of [[1440, 1000], [390, 844]]) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const found = await violations(page);
      assert(found.length === 0, `${width} pixels, ${colorScheme}: ${found.join("\n")}`);
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(wide <= 0, `the page is ${wide} pixels wider than a screen of ${width}`);
  }
  await page.setViewportSize({ width: 1440, height: 1000 });
}

/** A client that follows a channel and reads nothing more until it is resumed. */
async function deafReader(base, key, channel) {
  const { hostname, port, host } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port) });
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  socket.on("error", () => {});
  socket.write(`GET /stream/v1?token=${key} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
  await new Promise((resolve) => socket.once("data", resolve));
  socket.pause();
  const command = Buffer.from(JSON.stringify({ op: "subscribe", id: 1, ch: channel }));
  // A masked text message; the mask is zero.
  socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | command.length, 0, 0, 0, 0]), command]));
  return socket;
}

async function verificationLink(mails) {
  const end = Date.now() + WAIT_MS;
  while (Date.now() < end) {
    for (const name of (await readdir(mails).catch(() => [])).filter((it) => it.endsWith(".eml"))) {
      const mail = (await readFile(join(mails, name), "utf8")).replace(/=\r?\n/g, "").replace(/=3D/g, "=");
      const link = mail.match(/https?:\/\/\S+\/verify\/\S+/)?.[0];
      if (link) return link;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no mail in ${mails}`);
}

await runAll(tests, {
  variables: (directory) => ({
    MATCHWIRE_DEMO_ENABLED: "false",
    MATCHWIRE_SERVER_PUBLIC_BOARDS: "true",
    // A socket that does not read is looked at for as long as the test takes.
    MATCHWIRE_FANOUT_STALL_MS: "600000",
    MATCHWIRE_MAIL_FOLDER: join(directory, "mails"),
  }),
});
