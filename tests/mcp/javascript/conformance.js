// The conformance suites of the protocol's authors, of both generations, against two servers:
//
//   node conformance.js --fixture URL      a test-only handler with the tools that the scenarios call
//   node conformance.js --url URL --key K  the hub itself, by the scenarios that need none of them
//
// A scenario is one test. What is expected to fail is in expected/VERSION.yml, each with its reason; an entry that
// passes is a failure too.

import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Report } from "../../clients/javascript/report.js";
import { TABLE } from "./table.js";

/** The package that tests each version of the protocol, and the scenarios that need no fixture. */
const GENERATIONS = {
  "2025-11-25": {
    suite: "conformance-2025-11-25",
    generic: ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"],
  },
  "2026-07-28": {
    suite: "conformance-2026-07-28",
    generic: [
      "server-stateless", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams", "sep-2164-resource-not-found",
      "dns-rebinding-protection", "caching", "http-header-validation", "input-required-result-unsupported-methods",
    ],
  },
};
/** Far more than a suite takes, so that one that hangs is a failure. */
const SUITE_MS_MAX = 120_000;
/** Where a suite itself waits for half a second or 1.5 s only, which a busy machine may need for an answer, it runs this often. */
const RUNS_MAX = 3;
const TOO_LATE = /failed to (receive progressive stream chunk|yield frame structures|return communication frames|open or receive frames)/i;

const { values } = parseArgs({ options: Object.fromEntries(["fixture", "url", "key"].map((name) => [name, { type: "string" }])) });
const report = new Report();
const runs = [];
for (const version of Object.keys(GENERATIONS)) {
  if (values.fixture) runs.push(report.chapter(`fixture ${version}`, () => onFixture(version, values.fixture)));
}
if (values.url) runs.push(report.chapter("hub", () => onHub(values.url, values.key)));
await Promise.all(runs);
process.exit(report.finish());

/** All scenarios of a version: a line each. */
async function onFixture(version, url) {
  const expected = new URL(`../expected/${version}.yml`, import.meta.url).pathname;
  const { printed, code, checks } = await suite(version, url, "--expected-failures", expected);
  const excused = new Set((await readFile(expected, "utf8")).match(/(?<=^ *- )[\w-]+/gm));
  for (const [scenario, all] of checks) {
    // What the protocol only recommends counts as well.
    const failed = all.filter(({ status }) => ["FAILURE", "WARNING"].includes(status));
    if (failed.length > 0 && excused.has(scenario)) report.skip(`fixture ${version} ${scenario}`, "expected to fail");
    else report.check(`fixture ${version} ${scenario}`, describe(failed));
  }
  // The suite itself knows which expectations are stale, and those of single checks.
  report.that(`fixture ${version}: as expected`, code === 0 && checks.length > 0, "exit code 0", printed.slice(-1500));
}

/** The scenarios that every server must pass, with a key that the suites cannot send. */
async function onHub(url, key) {
  const hub = new URL(url);
  const proxy = await withKey(hub, key);
  for (const [version, { generic }] of Object.entries(GENERATIONS)) {
    const proxied = `http://127.0.0.1:${proxy.address().port}${TABLE.servers.football.path}`;
    let { checks } = await suite(version, proxied);
    for (let run = 1; run < RUNS_MAX && isTooLate(checks); run += 1) ({ checks } = await suite(version, proxied));
    for (const scenario of generic) {
      const all = checks.find(([name]) => name === scenario)?.[1] ?? [];
      // Marked so by the suite: what only a fixture could show.
      const failed = all.filter(({ status, details }) => ["FAILURE", "WARNING"].includes(status) && !details?.untestable);
      report.check(`hub ${version} ${scenario}`, all.length > 0 ? describe(failed) : "it did not run");
    }
  }
  proxy.close();
}

function isTooLate(checks) {
  return checks.some(([, all]) => all.some(({ status, errorMessage }) => status === "FAILURE" && TOO_LATE.test(errorMessage)));
}

function describe(failed) {
  return failed.map(({ id, errorMessage }) => `${id}: ${errorMessage}`).join("; ");
}

/** Runs a suite: what it prints, its exit code, and the checks of each scenario. */
async function suite(version, url, ...options) {
  const results = await mkdtemp(join(tmpdir(), "matchwire-conformance-"));
  const program = createRequire(import.meta.url).resolve(`${GENERATIONS[version].suite}/dist/index.js`);
  const args = [program, "server", "--url", url, "--suite", "all", "--spec-version", version, "-o", results, ...options];
  const [code, printed] = await new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: SUITE_MS_MAX, maxBuffer: 64 << 20 }, (error, out, err) => resolve([error?.code ?? 0, out + err]));
  });
  const folders = (await readdir(results)).sort();
  const checks = await Promise.all(folders.map(async (folder) => {
    const [, scenario] = /^server-(.*)-\d{4}-\d\d-\d\dT/.exec(folder);
    return [scenario, JSON.parse(await readFile(join(results, folder, "checks.json")))];
  }));
  await rm(results, { recursive: true });
  return { printed, code, checks };
}

/** A proxy that adds the key, and otherwise looks like the hub itself. */
async function withKey(hub, key) {
  const proxy = createServer((incoming, outgoing) => {
    const own = `127.0.0.1:${proxy.address().port}`;
    const headers = { ...incoming.headers, authorization: `Token ${key}` };
    for (const name of ["host", "origin"]) if (headers[name]) headers[name] = headers[name].replace(own, hub.host);
    const onward = request({ host: hub.hostname, port: hub.port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise((listening) => proxy.listen(0, "127.0.0.1", listening));
  return proxy;
}
