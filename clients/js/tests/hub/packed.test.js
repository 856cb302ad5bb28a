// The package as npm installs it: what it exports, its types, and a program that uses it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdtemp, readFile, rm, symlink, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { startHub } from "./support.js";

const run = (program, words, options) => promisify(execFile)(program, words, { timeout: 180_000, ...options });
const top = new URL("../../", import.meta.url).pathname;
let folder, hub;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "matchwire-packed-"));
  const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: top });
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf("[")));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", "--legacy-peer-deps", `./${filename}`], { cwd: folder });
  // What a program has besides: React and a socket for older versions of Node.
  await mkdir(join(folder, "node_modules/@types"), { recursive: true });
  for (const name of ["react", "ws", "@types/react", "@types/node", "csstype", "undici-types"]) {
    await symlink(join(top, "node_modules", name), join(folder, "node_modules", name)).catch(() => {});
  }
  await cp(join(top, "tests/packed"), folder, { recursive: true });
  hub = await startHub();
});

after(async () => {
  await hub?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("a program that imports it by name follows a hub", async () => {
  const { stdout } = await run("node", ["program.js", `http://${hub.address}`, hub.key], { cwd: folder });
  const { exported, others, isSame, phase, health } = JSON.parse(stdout);
  assert.deepEqual(exported, [
    "Board", "CONSENSUS", "Channel", "ClosedError", "FINAL_CODES", "Follow", "Hub", "Odds", "RefusedError", "Replay", "Stream",
    "connect", "decimal", "mergePatch",
  ]);
  assert.deepEqual(others, Array(5).fill("function"));
  assert.deepEqual([isSame, phase, health], [true, "open", "live"]);
});

test("its types say what a program gets, and refuse what is wrong", async () => {
  const tsc = join(top, "node_modules/typescript/bin/tsc");
  const options = ["--strict", "--noEmit", "--target", "es2023", "--lib", "es2023,esnext.disposable,dom", "--module", "nodenext"];
  await run("node", [tsc, ...options, "types.ts"], { cwd: folder }).catch(({ stdout }) => assert.fail(stdout));
});

test("the hub serves the file of the package, to pages of any origin, with its hash", async () => {
  const base = `http://${hub.address}`;
  const index = await fetch(`${base}/client/v1/`);
  const { version, url, integrity } = await index.json();
  const file = await fetch(url, { headers: { origin: "https://club.example.org" } });
  const bytes = Buffer.from(await file.arrayBuffer());
  assert.equal(integrity, `sha384-${createHash("sha384").update(bytes).digest("base64")}`);
  assert.equal(file.headers.get("x-matchwire-integrity"), integrity);
  assert.equal(file.headers.get("content-type"), "text/javascript; charset=utf-8");
  for (const answer of [index, file]) {
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    assert.equal(answer.headers.get("cache-control"), "public, no-cache");
  }
  const packed = await readFile(join(folder, "node_modules/matchwire/dist/matchwire.js"));
  assert.ok(bytes.equals(packed), "the hub was compiled with another dist/matchwire.js");
  assert.equal(version, JSON.parse(await readFile(join(folder, "node_modules/matchwire/package.json"), "utf8")).version);
  const { connect } = await import(`data:text/javascript;base64,${bytes.toString("base64")}`);
  assert.equal(typeof connect, "function");
});
