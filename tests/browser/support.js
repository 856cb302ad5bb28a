// What the browser tests share: a hub, a browser, and a line for each test.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:net";
import { createInterface } from "node:readline";

const BROWSER = process.env.CHROMIUM_BIN ?? "/usr/bin/chromium";
const HUB = process.env.HUB_BIN;
const DEMO_DATABASE = process.env.DEMO_DATABASE;
const RESULTS = process.env.RESULTS_DIR ?? new URL("../../test-results/", import.meta.url).pathname;
// Generous: these wait for something to happen, and a busy machine is no failure.
const START_MS = 600_000;
const WAIT_MS = 30_000;
const BROWSER_FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

export { WAIT_MS };

export function assert(holds, message) {
  if (!holds) throw new Error(message);
}

export function text(page, selector) {
  return page.locator(selector).first().innerText();
}

/** The matches of a sport on its board, from the page's own key. */
export function matches(page, sport) {
  return page.evaluate(async (sport) => {
    const key = document.querySelector('meta[name="matchwire-key"]').content;
    const answer = await fetch(`/stream/v1/channels/${sport}`, { headers: { authorization: `Token ${key}` } });
    return Object.entries((await answer.json()).data.matches).map(([id, match]) => ({ id, ...match }));
  }, sport);
}

/** After this time there is something to see of a match, in milliseconds. */
const BEGUN_MS = 30 * 60_000;

/**
 * A match in play that goes on while a test looks at it: the one that began last or, unless `newest`, the last one of which something
 * is to be seen. None at half-time, which takes a quarter of an hour.
 */
export async function playing(page, base, sport, newest = false) {
  await page.goto(new URL("/board/", base).href);
  const until = Date.now() + WAIT_MS;
  for (;;) {
    const live = (await matches(page, sport)).filter(({ life, status }) => life === "live" && status !== "half_time").sort((a, b) => a.start - b.start);
    const begun = newest ? live : live.filter(({ start }) => start / 1_000 < Date.now() - BEGUN_MS);
    const chosen = begun.at(-1) ?? live[0];
    if (chosen) return chosen.id;
    assert(Date.now() < until, `no match of ${sport} is in play`);
    await page.waitForTimeout(500);
  }
}

/**
 * An address at which nothing listens. Its port is below those that Linux gives to sockets that ask for any: of those, another
 * program could get one while the hub is down.
 */
async function freeAddress() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 22_000);
    const isFree = await new Promise((resolve) => {
      const server = createServer().once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return `127.0.0.1:${port}`;
  }
}

/**
 * A hub in its own folder, with these additional variables. A demo starts with a past that was written before. `listen` is the
 * address of the hub that it replaces.
 */
async function startHub(directory, variables, listen) {
  const database = join(directory, "hub.db");
  if (DEMO_DATABASE && variables.MATCHWIRE_DEMO_ENABLED !== "false" && !listen) await copyFile(DEMO_DATABASE, database);
  const hub = spawn(HUB, ["serve", "--listen", listen ?? (await freeAddress()), "--db", database], {
    stdio: ["ignore", "pipe", "inherit"],
    // What a test pushes once may stay for as long as its browser takes.
    env: { ...process.env, MATCHWIRE_INGEST_DEADLINE_MS: "0", MATCHWIRE_INGEST_PRICES_DEADLINE_MS: "0", ...variables },
  });
  const base = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the hub did not say where it listens")), START_MS);
    hub.once("exit", (code) => reject(new Error(`the hub stopped with code ${code}`)));
    hub.once("error", reject);
    createInterface(hub.stdout).on("line", (line) => {
      const found = /listening on (http:\/\/\S+)/.exec(line);
      if (!found) return;
      clearTimeout(timer);
      resolve(new URL("/", found[1]).href);
    });
  });
  // Its files are removed after it has ended; otherwise it would report errors.
  const stop = (signal = "SIGTERM") => new Promise((resolve) => hub.once("exit", resolve) && hub.kill(signal));
  return { base, stop };
}

async function openBrowser(directory, init) {
  const { chromium } = await import("playwright-core");
  const context = await chromium.launchPersistentContext(join(directory, "profile"), {
    executablePath: BROWSER,
    args: BROWSER_FLAGS,
    viewport: { width: 1440, height: 1000 },
  });
  const page = context.pages()[0] ?? (await context.newPage());
  if (init) await page.addInitScript(init);

  const complaints = [];
  let offline = false;
  // Only connections that fail while the network or the hub is off are expected.
  const expected = (line) => offline && /WebSocket|net::ERR_/.test(line);
  // The browser itself reports each refused attempt to reconnect, whatever a page does; nothing else is excused.
  const away = async (act) => {
    offline = true;
    try {
      return await act();
    } finally {
      offline = false;
    }
  };
  page.on("console", (message) => {
    if (message.type() === "error" && !expected(message.text())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.stack));
  const cdp = await context.newCDPSession(page);
  const network = {
    offline: async (off) => {
      if (off) offline = true;
      await cdp.send("Network.emulateNetworkConditions", { offline: off, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
      if (!off) setTimeout(() => (offline = false), 1000);
    },
  };
  await cdp.send("Network.enable");

  /** Wide and narrow, light and dark; `whole` for a page that is longer than a wide screen. */
  const shoot = async (name, { wide = 1440, whole = false } = {}) => {
    await mkdir(RESULTS, { recursive: true });
    for (const [size, width, height] of [["wide", wide, 1000], ["narrow", 390, 844]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(RESULTS, `${name}-${size}-${colorScheme}.png`), fullPage: whole || size === "narrow" });
      }
    }
    await page.setViewportSize({ width: 1440, height: 1000 });
  };
  return { context, browser: context.browser() ?? (await separate(chromium)), page, complaints, network, away, shoot };
}

/** A persistent context has no browser object to make a second, clean context from. */
function separate(chromium) {
  return chromium.launch({ executablePath: BROWSER, args: BROWSER_FLAGS });
}

/** Violations of the rules of accessibility on the page as it is, as lines. */
export async function violations(page) {
  if (!(await page.evaluate(() => "axe" in window))) {
    // Through the debugger: the policy of the page allows no script of others.
    await page.evaluate(await readFile(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8"));
  }
  const found = await page.evaluate(async () => {
    // Half of a flash is no state of a page: its colours are those of a moment.
    for (const animation of document.getAnimations()) animation.finish();
    return (await window.axe.run(document, { resultTypes: ["violations"] })).violations;
  });
  return found.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) => `${id} (${help}) at ${target}: ${failureSummary}`));
}

/** Counts what a page loads, as transferred: call it before the page is opened, and the result when it has loaded. Images do not count. */
export async function transferred(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
  const bytes = new Map();
  const types = new Map();
  cdp.on("Network.responseReceived", ({ requestId, type, response }) => types.set(requestId, { type, path: new URL(response.url).pathname }));
  cdp.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => bytes.set(requestId, encodedDataLength));
  return () => {
    const files = [...bytes].map(([id, size]) => ({ ...types.get(id), size })).filter(({ type }) => type !== "Image");
    return { total: files.reduce((sum, { size }) => sum + size, 0), files: files.map(({ path, size }) => `${path} ${size}`) };
  };
}

function skipAll(why, count) {
  console.log(`browser test skipped: ${why}`);
  console.log(`0 passed, 0 failed, ${count} skipped`);
}

/**
 * Runs the tests in order against one hub in one browser, and says how they went. `init` runs in each
 * page before its own scripts; `variables` are for the hub, and may depend on its folder.
 */
export async function runAll(tests, { init, variables = () => ({}) } = {}) {
  if (!HUB) return skipAll("HUB_BIN does not name the program", tests.length);
  if (!existsSync(BROWSER)) return skipAll(`no browser at ${BROWSER}; on Debian: apt-get install chromium`, tests.length);
  if (!existsSync(new URL("node_modules/playwright-core", import.meta.url))) return skipAll("playwright-core is not installed; run npm ci here", tests.length);

  const directory = await mkdtemp(join(tmpdir(), "matchwire-browser-"));
  let [passed, failed, skipped] = [0, 0, 0];
  let hub;
  let opened;
  try {
    hub = await startHub(directory, variables(directory));
    opened = await openBrowser(directory, init);
    /** Kills the hub as a crash would, does something while it is gone, and starts it again at the same address. */
    const restart = async (meanwhile = () => {}) => {
      const { host } = new URL(hub.base);
      await hub.stop("SIGKILL");
      await meanwhile();
      hub = await startHub(directory, variables(directory), host);
    };
    for (const { name, run } of tests) {
      try {
        await run({ ...opened, base: hub.base, directory, restart });
        passed += 1;
        console.log(`ok      ${name}`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED  ${name}\n        ${String(error.message).replaceAll("\n", "\n        ")}`);
      }
    }
  } catch (error) {
    failed += 1;
    skipped = tests.length - passed - failed;
    console.log(`FAILED  starting: ${error.message}`);
  } finally {
    await opened?.context.close();
    await opened?.browser.close();
    await hub?.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  }
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed > 0 ? 1 : 0;
}
