// The client in a page of another site: imported from the hub, checked against its hash, and shared among tabs.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";

import { assert, runAll, WAIT_MS } from "./support.js";

const SOURCES = new URL("../../clients/js/src/", import.meta.url);
let site, hub, key, integrity;

/** A site with two pages, and the worker that its tabs share. */
async function startSite() {
  const file = `${hub}/client/v1/matchwire.js`;
  const page = (script, head = "") => `<!doctype html><meta charset="utf-8">${head}<pre id="out"></pre><script type="module">${script}</script>`;
  const show = "(text) => (document.getElementById('out').textContent = text)";
  const pages = {
    "/favicon.ico": () => "",
    "/": () => page(`
      import { connect } from "${file}";
      window.hub = connect("${hub}", { key: "${key}" });
      window.board = hub.board("football", { where: ({ life }) => life === "live" });
      const show = ${show};
      board.on("change", (rows) => show(rows.length + " in play"));
      board.on("health", (health) => (document.body.dataset.health = health));
    `, `<link rel="modulepreload" href="${file}" integrity="${integrity}" crossorigin>`),
    "/forged": () => page(`import "${file}";`, `<link rel="modulepreload" href="${file}" integrity="sha384-${"A".repeat(64)}" crossorigin>`),
    "/shared": () => page(`
      import { connectWorker } from "/src/worker.js";
      window.hub = connectWorker(new SharedWorker("/worker", { type: "module" }));
      const show = ${show};
      hub.board("tennis").on("change", (rows) => show(rows.length + " matches"));
    `),
  };
  const worker = () => `
    import { serve } from "/src/worker.js";
    self.relay = serve(self, "${hub}", { key: "${key}" });
  `;
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://site");
    const name = /^\/src\/([\w-]+\.js)$/.exec(pathname)?.[1];
    const text = name ? await readFile(new URL(name, SOURCES)) : pathname === "/worker" ? worker() : pages[pathname]?.();
    response.writeHead(text === undefined ? 404 : 200, { "content-type": name || pathname === "/worker" ? "text/javascript" : "text/html" });
    response.end(text);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${server.address().port}`;
}

const shows = (page, pattern) => page.waitForFunction((source) => new RegExp(source).test(document.getElementById("out")?.textContent), pattern.source, { timeout: WAIT_MS });

async function sockets() {
  const metrics = await (await fetch(`${hub}/metrics`)).text();
  return Number(/^matchwire_sockets(?:\{[^}]*\})? (\d+)/m.exec(metrics)?.[1]);
}

const TESTS = [
  {
    name: "a page of another site imports the client from the hub, with its hash",
    async run({ page, base }) {
      hub = new URL(base).origin;
      await page.goto(base);
      key = await page.locator('meta[name="matchwire-key"]').getAttribute("content");
      ({ integrity } = await (await fetch(`${hub}/client/v1/`)).json());
      site = await startSite();
      await page.goto(site);
      await shows(page, /^\d+ in play$/);
      assert((await page.evaluate("board.health")) === "live", "it is live");
    },
  },
  {
    name: "it is lost with the network, and live again at once when that is back",
    async run({ page, network }) {
      await network.offline(true);
      await page.evaluate("hub.stream.sleep()");
      await page.waitForFunction("board.health === 'lost'");
      await network.offline(false);
      await page.evaluate("dispatchEvent(new Event('online'))");
      await page.waitForFunction("board.health === 'live'", undefined, { timeout: WAIT_MS });
    },
  },
  {
    name: "a file that is not the one whose hash the page has is not run",
    async run({ page, complaints }) {
      const before = complaints.length;
      await page.goto(`${site}/forged`);
      await page.waitForTimeout(0);
      for (let tries = 0; complaints.length === before && tries < 100; tries += 1) await page.waitForTimeout(50);
      assert(/integrity/.test(complaints.slice(before).join()), `it was refused: ${complaints.slice(before)}`);
      complaints.length = before;
    },
  },
  {
    name: "two tabs share one connection by a worker",
    async run({ page, context }) {
      await page.goto("about:blank");
      for (let tries = 0; (await sockets()) > 0 && tries < 200; tries += 1) await page.waitForTimeout(50);
      await page.goto(`${site}/shared`);
      const second = await context.newPage();
      await second.goto(`${site}/shared`);
      for (const tab of [page, second]) await shows(tab, /^\d+ matches$/);
      assert((await sockets()) === 1, `${await sockets()} sockets`);
      await second.close();
    },
  },
  {
    name: "nothing complains in the console",
    async run({ complaints }) {
      assert(complaints.length === 0, complaints.join("\n"));
    },
  },
];

await runAll(TESTS);
