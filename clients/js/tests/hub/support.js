// A real hub, and a proxy before it that cuts, stalls and slows connections.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket as Socket } from "ws";

// Generous: these wait for something to happen, and a busy machine is no failure.
const START_MS = 180_000;
const WAIT_MS = 60_000;

// A hub that a test has left would keep this program, and whoever waits for it, for ever.
const hubs = new Set();
process.once("exit", () => hubs.forEach((hub) => hub.kill("SIGKILL")));
process.once("SIGTERM", () => process.exit(143));

export const WebSocket = globalThis.WebSocket ?? Socket;

/** A demo that plays as fast as tests need it, without a past, or what the options say: `{address, key, stop}`. */
export async function startHub(...options) {
  const program = process.env.HUB_BIN;
  if (!program) throw new Error("HUB_BIN does not name the program");
  const folder = await mkdtemp(join(tmpdir(), "matchwire-client-js-"));
  const hub = spawn(program, ["serve", "--listen", "127.0.0.1:0", "--db", join(folder, "hub.db"), ...options], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      MATCHWIRE_DEMO_PAST: "false",
      MATCHWIRE_DEMO_SPEED: "40",
      MATCHWIRE_DEMO_HEAD_START_MINUTES: "5",
      MATCHWIRE_LIMITS_ADDRESS_PER_SECOND: "0",
      MATCHWIRE_LOGGING_FILTER: "warn",
    },
  });
  hubs.add(hub);
  const said = new Promise((resolve, reject) => {
    hub.once("exit", (code) => reject(new Error(`the hub stopped with code ${code}`)));
    hub.once("error", reject);
    let found;
    createInterface(hub.stdout).on("line", (line) => {
      found ??= /listening on http:\/\/(\S+)/.exec(line)?.[1];
      const key = /demo key\s+(mw_\w+)/.exec(line)?.[1];
      if (found === undefined || key === undefined) return;
      resolve([found, key]);
    });
  });
  const [address, key] = await within("the hub says where it listens", said, START_MS);
  const stop = async () => {
    const ended = hub.exitCode ?? once(hub, "exit");
    hub.kill("SIGTERM");
    await within("the hub stops", ended).finally(() => hub.kill("SIGKILL"));
    hubs.delete(hub);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  return { address, key, stop };
}

/** Before a hub; what it does to connections can change at any time. */
export class Proxy {
  #server;
  #pairs = new Set();
  /** Bytes a second from the hub to the client; undefined does not limit. */
  bytesPerSecond = undefined;
  /** Whether nothing is forwarded, while connections stay open. */
  stalled = false;
  cuts = 0;

  static async before(address) {
    const proxy = new Proxy();
    const [host, port] = address.split(":");
    proxy.#server = createServer((client) => proxy.#forward(client, dial(Number(port), host)));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    proxy.url = `ws://127.0.0.1:${proxy.#server.address().port}`;
    return proxy;
  }

  #forward(client, hub) {
    const pair = { client, hub, cutAfter: Infinity };
    this.#pairs.add(pair);
    client.on("data", (data) => this.stalled || hub.write(data));
    hub.on("data", (data) => this.#answer(pair, data));
    for (const [end, other] of [[client, hub], [hub, client]]) {
      end.on("error", () => {});
      end.on("close", () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }

  #answer(pair, data) {
    if (this.stalled) return pair.hub.pause();
    // A cut may come anywhere, also within a frame.
    const part = data.subarray(0, Math.min(data.length, pair.cutAfter));
    pair.client.write(part);
    pair.cutAfter -= part.length;
    if (pair.cutAfter <= 0) return this.#cut(pair);
    if (this.bytesPerSecond !== undefined) {
      pair.hub.pause();
      setTimeout(() => pair.hub.resume(), (1000 * data.length) / this.bytesPerSecond);
    }
    return undefined;
  }

  #cut(pair) {
    this.cuts += 1;
    this.#pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.hub.destroy();
  }

  get isIdle() {
    return this.#pairs.size === 0;
  }

  /** Cuts each connection after some more bytes from the hub, and after a while if fewer come; 0 at once. */
  cut(afterBytes = 0, withinMs = 3000) {
    for (const pair of [...this.#pairs]) {
      if (afterBytes === 0) this.#cut(pair);
      else pair.cutAfter = afterBytes;
    }
    if (afterBytes === 0) return;
    const pairs = [...this.#pairs];
    setTimeout(() => pairs.forEach((pair) => this.#pairs.has(pair) && this.#cut(pair)), withinMs);
  }

  /** Ends a stall: what was withheld is lost with its connections. */
  release() {
    this.stalled = false;
    for (const pair of this.#pairs) pair.hub.resume();
  }

  async close() {
    this.cut();
    const closed = once(this.#server, "close");
    this.#server.close();
    await within("the proxy is closed", closed);
  }
}

/** What the promise resolves with; fails after a while, with what was waited for. */
export async function within(what, promise, limitMs = WAIT_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${limitMs / 1000} s: ${what}`)), limitMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Resolves when `holds` does, which may be asynchronous; fails after a while, with what was waited for. */
export async function until(what, holds, limitMs = WAIT_MS) {
  let isOver = false;
  const poll = async () => {
    while (!isOver && !(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await within(what, poll(), limitMs).finally(() => (isOver = true));
}

/** Everything that a client is given for patterns or names: documents by sequence, and events. */
export class Record {
  channels = new Map();

  constructor(client, chs, options) {
    this.client = client;
    this.follows = chs.map((ch) => client.follow(ch, options));
    for (const follow of this.follows) follow.on("change", (change) => this.#note(change));
  }

  #note({ ch, epoch, seq, data, events, missed, health }) {
    const channel = this.channels.get(ch) ?? { first: { epoch, seq }, events: [], documents: new Map(), faults: [] };
    this.channels.set(ch, channel);
    if (epoch !== channel.epoch && channel.epoch !== undefined) channel.first = { epoch, seq };
    else if (missed) channel.faults.push(`missed ${JSON.stringify(missed)}`);
    if (epoch === channel.epoch && seq < channel.seq) channel.faults.push(`went back from ${channel.seq} to ${seq}`);
    // A match that the hub no longer has.
    const isGone = health === "refused";
    Object.assign(channel, { epoch, seq, isGone });
    for (const { eid } of events) channel.events.push({ epoch, seq, eid });
    channel.documents.set(seq, data);
    if (channel.documents.size > 100) channel.documents.delete(channel.documents.keys().next().value);
  }

  get events() {
    return [...this.channels.values()].reduce((sum, { events }) => sum + events.length, 0);
  }

  /** The channels of another record on which it has not caught up, of those that it follows. */
  lacking(other, isFollowed = () => true) {
    const isBehind = ([name, { epoch, seq, isGone }]) => {
      const own = this.channels.get(name);
      return !isGone && isFollowed(name) && !(own?.epoch === epoch && own.seq >= seq);
    };
    return [...other.channels].filter(isBehind).map(([name]) => name);
  }
}
