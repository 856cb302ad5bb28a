// A customer's complete journey in a real browser against the real hub: register, open the mail, copy the key,
// buy by card and with PayPal in the sandbox, open a socket, regenerate: `npm ci && node customer.js`.
// The variables are those of page.js.

import { createHash, randomBytes } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";

import { assert, runAll, text, WAIT_MS } from "./support.js";

const EMAIL = "ann@example.org";
const PASSWORD = "four words in a row";
const PICTURES = { wide: 1280, whole: true };

const tests = [];
const test = (name, run) => tests.push({ name, run });

/** Values of earlier tests that later ones need. */
const state = {};

// ------------------------------------------------------------------------------------ the tests

test("the front page leads to registration", async ({ page, base, shoot }) => {
  await page.goto(base);
  await shoot("front");
  await page.getByRole("link", { name: "Register" }).click();
  await page.waitForURL("**/register/");
  await shoot("register", PICTURES);
});

test("a weak password is refused with a message, and the form keeps the input", async ({ page, shoot }) => {
  // The browser would block the form; the hub must refuse it, too.
  await page.locator("main form").evaluate((form) => (form.noValidate = true));
  await page.fill("#email", EMAIL);
  await page.fill("#password", "short");
  await page.keyboard.press("Enter");
  await page.waitForSelector("[role=alert]", { timeout: WAIT_MS });
  assert(/at least/.test(await text(page, "[role=alert]")), "it does not say what is wrong");
  assert((await page.inputValue("#email")) === EMAIL, "the address has to be typed again");
  await shoot("register-refused", PICTURES);
});

test("registration asks to check the inbox", async ({ page, shoot }) => {
  await page.fill("#email", EMAIL);
  await page.fill("#password", PASSWORD);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/register/sent/", { timeout: WAIT_MS });
  assert(/Check your inbox/.test(await text(page, "h1")), "no word of the mail");
  await page.locator("summary").click();
  await shoot("register-sent", PICTURES);
});

test("the link in the mail leads to the dashboard, with the key in full", async ({ page, base, mails, context, shoot }) => {
  await page.goto(await linkFrom(mails, /\/verify\/\?link=/));
  await page.waitForURL("**/dashboard/", { timeout: WAIT_MS });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(base).origin });
  await page.click("[data-copy]");
  await page.waitForFunction(() => document.querySelector("[data-copy]").textContent === "Copied", null, { timeout: WAIT_MS });
  state.key = await page.evaluate(() => navigator.clipboard.readText());
  assert(/^mw_[0-9a-f]{48}$/.test(state.key), `what was copied is no key: ${state.key}`);
  await shoot("dashboard-new-key", PICTURES);
  await page.reload();
  assert((await page.locator("[data-key]").count()) === 0, "the key is shown twice");
  assert((await text(page, ".key code")).startsWith(state.key.slice(0, 11)), "its beginning is not shown");
});

test("without the add-on a socket is refused with 4402", async ({ page, base }) => {
  const closed = await page.evaluate(openAndWait, [socketUrl(base), state.key]);
  assert(closed === 4402, `closed with ${closed}`);
});

test("the add-ons show what each costs", async ({ page, shoot }) => {
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Add-ons" }).click();
  await page.waitForURL("**/addons/");
  assert(/\$3/.test(await text(page, "#websocket .price")), "the WebSocket add-on is not $3");
  assert(/\$5/.test(await text(page, "#sports .price")), "the Sports add-on is not $5");
  await shoot("addons", PICTURES);
});

test("three months of the WebSocket add-on are bought by card, with the keyboard", async ({ page, shoot }) => {
  await page.locator("#websocket input[value='3']").focus();
  await page.keyboard.press("Space");
  await page.locator("#websocket button[value=card]").focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/checkout\/[^/]+\/$/, { timeout: WAIT_MS });
  assert((await text(page, "#amount")) === "9.00 USD", `the amount is ${await text(page, "#amount")}`);
  await shoot("checkout", PICTURES);
  await payAtProvider(page, "$9", shoot, "sandbox-card");
  assert(/Paid/.test(await text(page, "h1")), await text(page, "main"));
  await shoot("paid", PICTURES);
});

test("cancelling at PayPal costs nothing, and the order can still be paid", async ({ page, base, shoot }) => {
  await page.goto(new URL("/addons/", base).href);
  await page.click("#sports button[value=paypal]");
  await page.waitForURL(/\/checkout\/[^/]+\/$/, { timeout: WAIT_MS });
  await page.goto(`${page.url()}cancel/`);
  assert(/Nothing was charged/.test(await text(page, "[role=status]")), await text(page, "main"));
  await shoot("turned-back", PICTURES);
});

test("a month of the Sports add-on is bought with PayPal", async ({ page, shoot }) => {
  await payAtProvider(page, "$5", shoot, "sandbox-paypal");
  assert(/Paid/.test(await text(page, "h1")), await text(page, "main"));
});

test("the dashboard shows the add-ons with their days and both receipts", async ({ page, base, shoot }) => {
  await page.goto(new URL("/addons/", base).href);
  const receipts = await text(page, "section[aria-labelledby=orders-title] tbody");
  assert(/WebSocket, 3 months/.test(receipts) && /Sports, 1 month/.test(receipts), receipts);
  assert((receipts.match(/paid/g) ?? []).length === 2, receipts);
  await shoot("addons-bought", PICTURES);
  await page.goto(new URL("/dashboard/", base).href);
  const rows = await text(page, "section[aria-labelledby=addons-title] tbody");
  assert(/WebSocket\s+active[^$]*90 days left/.test(rows), rows);
  assert(/Sports\s+active[^$]*30 days left/.test(rows), rows);
});

test("the key opens a socket, which the dashboard counts", async ({ page, context, base }) => {
  state.tab = await context.newPage();
  await state.tab.goto(new URL("/login/", base).href);
  await state.tab.evaluate(openSocket, [socketUrl(base), state.key]);
  await state.tab.waitForFunction(() => window.frames_.length > 0, null, { timeout: WAIT_MS });
  const first = await state.tab.evaluate(() => window.frames_[0]);
  assert(first.type === "hello", JSON.stringify(first));
  await state.tab.evaluate(() => window.socket.send(JSON.stringify({ op: "subscribe", id: 1, ch: "football" })));
  await state.tab.waitForFunction(() => window.frames_.some((frame) => frame.type === "image"), null, { timeout: WAIT_MS });
  const image = await page.evaluate(async (key) => {
    const answer = await fetch("/stream/v1/channels/football", { headers: { authorization: `Token ${key}` } });
    return answer.status;
  }, state.key);
  assert(image === 200, `the image over REST: ${image}`);
  await page.reload();
  assert(/1 open socket now/.test(await text(page, "section[aria-labelledby=usage-title]")), "the socket is not counted");
});

test("Regenerate closes the socket with 4410 and refuses the old key", async ({ page, base, shoot }) => {
  await page.locator("section[aria-labelledby=key-title] summary").click();
  await shoot("regenerate", PICTURES);
  await page.getByRole("button", { name: "Regenerate key" }).click();
  await page.waitForSelector("[data-key]", { timeout: WAIT_MS });
  const fresh = await text(page, "[data-key]");
  assert(fresh !== state.key, "the key is the same");
  await state.tab.waitForFunction(() => window.closedWith !== undefined, null, { timeout: WAIT_MS });
  assert((await state.tab.evaluate(() => window.closedWith)) === 4410, "another code");
  assert((await page.evaluate(openAndWait, [socketUrl(base), state.key])) === 4401, "the old key opens a socket");
  const status = (key) => page.evaluate(async (key) => {
    const answer = await fetch("/api/v2/stream/ticket/", { method: "POST", headers: { authorization: `Token ${key}` } });
    return answer.status;
  }, key);
  assert((await status(state.key)) === 401, "the old key is served");
  assert((await status(fresh)) === 200, "the new key is refused");
  await state.tab.close();
});

test("an app connects by a click, works with its token, and is disconnected on the dashboard", async ({ page, base, shoot }) => {
  const app = await startApp();
  try {
    const { verifier, challenge } = pkce();
    const resource = new URL("/tennis/mcp", base).href;
    const asked = new URLSearchParams({
      response_type: "code", client_id: app.id, redirect_uri: app.callback, state: "s1", scope: "sports",
      code_challenge: challenge, code_challenge_method: "S256", resource,
    });
    await page.goto(new URL(`/oauth/authorize/?${asked}`, base).href);
    assert((await text(page, "h1")) === "Connect Corner Flag?", "the consent page does not name the app");
    await shoot("connect-app", PICTURES);
    await page.getByRole("button", { name: "Allow" }).click();
    const answer = await app.answer;
    assert(answer.get("state") === "s1" && answer.get("iss") === base.replace(/\/$/, ""), `unexpected ${answer}`);

    const exchanged = await fetch(new URL("/oauth/token/", base), {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "authorization_code", code: answer.get("code"), client_id: app.id, redirect_uri: app.callback,
        code_verifier: verifier, resource,
      }),
    });
    const { access_token } = await exchanged.json();
    const listed = await listTools(resource, access_token);
    assert(listed.status === 200, `the token is refused with ${listed.status}`);
    const names = (await listed.json()).result.tools.map((tool) => tool.name);
    assert(names.includes("get_rankings"), `unexpected tools: ${names}`);

    const called = await callTool(resource, access_token, "list_players");
    assert(called.status === 200, `the tool is answered with ${called.status}`);

    await page.goto(new URL("/dashboard/", base).href);
    await page.getByText("Corner Flag").scrollIntoViewIfNeeded();
    await shoot("dashboard-connected-app", PICTURES);
    await page.getByRole("button", { name: "Disconnect Corner Flag" }).click();
    await page.getByText("No app is connected").waitFor({ timeout: WAIT_MS });
    const refused = await listTools(resource, access_token);
    assert(refused.status === 401, `after disconnecting it is answered with ${refused.status}`);
  } finally {
    app.stop();
  }
});

test("usage is drawn and listed", async ({ page, base, shoot }) => {
  await page.goto(new URL("/dashboard/", base).href);
  await page.waitForSelector(".chart .bar", { timeout: WAIT_MS, state: "attached" });
  await page.locator("section[aria-labelledby=usage-title] summary").click();
  assert(/Live sockets/.test(await text(page, "section[aria-labelledby=usage-title]")), "no row for sockets");
  await shoot("dashboard", PICTURES);
});

test("the settings: changing the password, with messages", async ({ page, base, shoot }) => {
  await page.goto(new URL("/dashboard/settings/", base).href);
  await shoot("settings", PICTURES);
  await page.fill("#old", PASSWORD);
  await page.fill("#new", "another four words here");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.waitForURL("**/settings/?done=password", { timeout: WAIT_MS });
});

test("log-out, and the pages for those who are not logged in", async ({ page, base, shoot }) => {
  await page.getByRole("button", { name: "Log out", exact: true }).click();
  await page.waitForURL("**/login/?done=out", { timeout: WAIT_MS });
  await shoot("login", PICTURES);
  await page.goto(new URL("/dashboard/", base).href);
  assert(new URL(page.url()).pathname === "/login/", page.url());
  await page.goto(new URL("/reset/", base).href);
  await shoot("reset", PICTURES);
  await page.goto(new URL("/verify/?link=1.00", base).href);
  await shoot("no-link", PICTURES);
});

test("the keyboard reaches the content past the navigation", async ({ page, base }) => {
  await page.goto(new URL("/login/", base).href);
  await page.keyboard.press("Tab");
  assert((await page.evaluate(() => document.activeElement.className)) === "skip", "the first stop is not the way to the content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert((await page.evaluate(() => document.activeElement.id)) === "email", "the skip link leads past the form");
});

test("without scripts the pages work just as well", async ({ browser, base, mails }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(new URL("/register/", base).href);
  await page.fill("#email", "bob@example.org");
  await page.fill("#password", PASSWORD);
  await page.getByRole("button", { name: "Register" }).click();
  await page.waitForURL("**/register/sent/");
  await page.goto(await linkFrom(mails, /\/verify\/\?link=/, "bob@example.org"));
  await page.waitForURL("**/dashboard/");
  assert(/^mw_[0-9a-f]{48}$/.test(await text(page, "[data-key]")), "no key");
  assert((await page.locator("[data-copy]").isHidden()), "a button that cannot work is shown");
  await context.close();
});

test("in another browser the link requires the password, and opening it changes nothing", async ({ browser, base, mails }) => {
  const [here, there] = [await browser.newContext(), await browser.newContext()];
  const page = await here.newPage();
  await page.goto(new URL("/register/", base).href);
  await page.fill("#email", "cleo@example.org");
  await page.fill("#password", PASSWORD);
  await page.getByRole("button", { name: "Register" }).click();
  await page.waitForURL("**/register/sent/");
  const link = await linkFrom(mails, /\/verify\/\?link=/, "cleo@example.org");
  assert((await fetch(link)).status === 200, "a mail scanner is not shown the page");
  const other = await there.newPage();
  await other.goto(link);
  assert(/Choose a password/.test(await text(other, "h1")), await text(other, "main"));
  await other.fill("#password", "password123");
  await other.keyboard.press("Enter");
  await other.waitForSelector("[role=alert]", { timeout: WAIT_MS });
  await other.fill("#password", "another four words here");
  await other.keyboard.press("Enter");
  await other.waitForURL("**/dashboard/", { timeout: WAIT_MS });
  assert(/^mw_[0-9a-f]{48}$/.test(await text(other, "[data-key]")), "no key");
  await here.close();
  await there.close();
});

test("nothing is wider than a phone screen", async ({ page, base }) => {
  await page.setViewportSize({ width: 360, height: 780 });
  await page.goto(new URL("/login/", base).href);
  await page.fill("#email", EMAIL);
  await page.fill("#password", "another four words here");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/", { timeout: WAIT_MS });
  for (const path of ["/dashboard/", "/dashboard/settings/", "/addons/", "/register/sent/", "/verify/?link=1"]) {
    await page.goto(new URL(path, base).href);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(over <= 0, `${path} is ${over} pixels too wide`);
  }
});

test("no error in the console, and no violation of the policy", async ({ complaints }) => {
  // The console also reports the two refused sockets and the two error pages that the tests expect.
  const unexpected = complaints.filter((line) => !/status of (401|404|422)/.test(line));
  assert(unexpected.length === 0, unexpected.join("\n"));
});

// -------------------------------------------------------------------------------------- running

function socketUrl(base) {
  return `${base.replace("http", "ws")}stream/v1`;
}

/** In the page: opens a socket that stays open, and records its frames. */
function openSocket([url, key]) {
  window.frames_ = [];
  window.socket = new WebSocket(url, ["matchwire.v1", "token", key]);
  window.socket.onmessage = (message) => window.frames_.push(JSON.parse(message.data));
  window.socket.onclose = (event) => (window.closedWith = event.code);
}

/** In the page: opens a socket that the hub refuses; returns the close code. */
function openAndWait([url, key]) {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, ["matchwire.v1", "token", key]);
    socket.onclose = (event) => resolve(event.code);
  });
}

/** An app with its client document and its callback, on loopback. */
async function startApp() {
  let answered;
  const answer = new Promise((resolve) => (answered = resolve));
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    if (url.pathname === "/callback") {
      answered(url.searchParams);
      response.end("Connected");
    } else {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({
        client_id: id, client_name: "Corner Flag", redirect_uris: [callback], token_endpoint_auth_method: "none",
      }));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const home = `http://127.0.0.1:${server.address().port}`;
  const [id, callback] = [`${home}/client.json`, `${home}/callback`];
  return { id, callback, answer, stop: () => server.close() };
}

/** A verifier of PKCE and its challenge. */
function pkce() {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

function listTools(address, token) {
  return ask(address, token, { method: "tools/list" });
}

function callTool(address, token, name) {
  return ask(address, token, { method: "tools/call", params: { name, arguments: {} } });
}

function ask(address, token, message) {
  return fetch(address, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`, "content-type": "application/json",
      accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
}

/** From the checkout to the provider's page, pays there, and comes back. */
async function payAtProvider(page, amount, shoot, name) {
  const home = new URL(page.url()).origin;
  await page.click("#pay");
  await page.waitForURL((url) => url.origin !== home, { timeout: WAIT_MS });
  assert((await text(page, "body")).split(/\s/).includes(amount), "the provider names another amount");
  await shoot(name, PICTURES);
  await page.getByRole("button", { name: /pay/i }).first().click();
  await page.waitForURL((url) => url.origin === home && url.pathname.endsWith("/return/"), { timeout: WAIT_MS });
}

/** The link of the newest mail that has one of this kind. Waits for the mail. */
async function linkFrom(mails, kind, to = EMAIL) {
  const end = Date.now() + WAIT_MS;
  while (Date.now() < end) {
    const names = await readdir(mails).catch(() => []);
    for (const name of names.filter((name) => name.endsWith(".eml")).sort().reverse()) {
      const mail = plain(await readFile(join(mails, name), "utf8"));
      const link = mail.match(/https?:\/\/\S+/g)?.find((it) => kind.test(it));
      if (mail.includes(`To: ${to}`) && link) return link;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no mail with ${kind} to ${to} in ${mails}`);
}

/** Undoes quoted-printable. */
function plain(mail) {
  return mail.replace(/=\r?\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
}

const mailsIn = (directory) => join(directory, "mails");
await runAll(
  tests.map(({ name, run }) => ({ name, run: (given) => run({ ...given, mails: mailsIn(given.directory) }) })),
  { variables: (directory) => ({
      MATCHWIRE_MAIL_FOLDER: mailsIn(directory),
      MATCHWIRE_OAUTH_ALLOW_PRIVATE_CLIENTS: "true",
    }) },
);
