// `@modelcontextprotocol/inspector --cli`: node inspector.js --url URL --key KEY --key-without-addon KEY.
//
// Each call connects, lists and calls anew, as the command does. A process for each takes half a second, so all but
// those whose exit code is the test run in this one, through the function that the command itself calls.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "./scenario.js";

const LAUNCHER = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
const { runCli } = await import("@modelcontextprotocol/inspector/clients/cli/build/index.js");
const FOLDER = await mkdtemp(join(tmpdir(), "matchwire-inspector-"));
process.on("exit", () => rm(FOLDER, { recursive: true, force: true }));
// Its settings and tokens; nobody's own are read.
process.env.HOME = FOLDER;

/** Exit codes of the command. */
const EXIT = { ok: 0, authRequired: 3, toolError: 5 };
let calls = 0;

class Connection {
  static async open(url, key) {
    const connection = new Connection();
    const options = ["--protocol-era", "auto", "--stored-auth-only"];
    connection.target = ["--cli", "--transport", "http", "--server-url", url, "--header", `Authorization: Bearer ${key}`, ...options];
    const { code, printed } = await connection.process("--format", "json", "--method", "tools/list", "--strict");
    if (code !== EXIT.ok) {
      const { error } = JSON.parse(printed);
      // It tells a 401 from other refusals, but shows only of those what the hub said.
      const wire = code === EXIT.authRequired ? { status: 401 } : { status: error.status, body: error.message };
      throw Object.assign(new Error(error.message), { wire });
    }
    return connection;
  }

  /** A process of the command: its exit code, and what it prints. */
  process(...args) {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [LAUNCHER, ...this.target, ...args], { stdio: ["ignore", "pipe", "pipe"] });
      let printed = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data));
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, printed }));
    });
  }

  /** The result of one command. An error of a tool is a result as well. */
  async run(...args) {
    const output = join(FOLDER, `${(calls += 1)}.json`);
    try {
      await runCli([process.execPath, LAUNCHER, ...this.target.slice(1), "--quiet", "--output", output, ...args]);
    } catch (error) {
      if (error.exitCode !== EXIT.toolError) throw error;
    }
    const result = JSON.parse(await readFile(output));
    await rm(output);
    return result;
  }

  /** The command looks a tool up in the list before it calls it. */
  looksUp = true;
  close = async () => {};
  tools = async () => (await this.run("--method", "tools/list")).tools;
  resources = async () => (await this.run("--method", "resources/list")).resources;
  templates = async () => (await this.run("--method", "resources/templates/list")).resourceTemplates;
  prompts = async () => (await this.run("--method", "prompts/list")).prompts;
  call = (name, args) => this.run("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
  read = async (uri) => (await this.run("--method", "resources/read", "--uri", uri)).contents;

  async prompt(name, args) {
    const pairs = Object.entries(args).map(([key, value]) => `${key}=${value}`);
    const given = pairs.length > 0 ? ["--prompt-args", ...pairs] : [];
    return (await this.run("--method", "prompts/get", "--prompt-name", name, ...given)).messages;
  }
}

await main({ name: "inspector", open: Connection.open });
