// A reader in a worker that stops reading: it follows all football and tennis, asks for the prices of all other sports, and blocks
// its thread before they come, so that what lies between the hub and itself is full. Then it reads on, and reports what the hub
// did meanwhile.
//
// In:  {url, options, seconds}. Out: {step, ...} for each step; the last is `done` or `failed`.

import { connect } from "/client/v1/matchwire.js";
import { Audit, audited } from "./truth-audit.js";

const CHANNELS = ["football/*", "football/*/odds", "football/*/odds/*", "tennis/*", "tennis/*/odds", "tennis/*/odds/*", "feeds", "signals"];
// Their images are more than the hub's budget of 256 KiB and the buffers of both kernels. One short command asks for each: a
// blocked thread sends nothing.
const FILLERS = ["horseracing/*", "darts/*", "basketball/*", "csgo/*", "hockey/*"].flatMap((ch) => [`${ch}/odds`, `${ch}/odds/*`]);
// Documents of which the hash is compared: those that were merged first.
const PROOFS_MAX = 40;
const PROOFS_AT_ONCE = 8;
const CATCH_UP_MS = 60_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Keeps this thread from reading; without a processor, where the browser allows it. */
function block(ms) {
  try {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    Atomics.wait(new Int32Array(memory.buffer), 0, 0, ms);
  } catch {
    const end = performance.now() + ms;
    while (performance.now() < end);
  }
}

async function until(holds, ms, what) {
  const end = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`${what} took too long`);
    await pause(50);
  }
}

async function run({ url, options, seconds }) {
  const audit = new Audit();
  const closes = [];
  const WebSocket = audited(audit, self.WebSocket, (socket) => socket.addEventListener("close", ({ code }) => closes.push(code)));
  const hub = connect(url, { ...options, WebSocket });
  const { stream } = hub;
  try {
    const follows = CHANNELS.map((ch) => hub.follow(ch));
    await hub.open({ signal: AbortSignal.timeout(CATCH_UP_MS) });
    stream.set("football/*/odds/*", { lag: true });
    const covered = () => follows.flatMap((follow) => [...follow.channels.values()]);
    const isSettled = () => covered().length > 0 && covered().every((channel) => channel.error || (channel.synced && channel.data !== undefined));
    // All images are here when the first beat has confirmed them.
    await until(isSettled, CATCH_UP_MS, "joining");
    await pause(1000);
    await until(isSettled, CATCH_UP_MS, "joining");
    const before = audit.totals();
    postMessage({ step: "blocked", channels: before.channels });

    follows.push(...FILLERS.map((ch) => hub.follow(ch)));
    block(seconds * 1000);

    postMessage({ step: "reading" });
    const sockets = audit.connections;
    // The answer comes when everything before it was read.
    await new Promise((resolve) => stream.request({ op: "ping" }, resolve));
    await pause(500);
    await until(() => stream.lag === undefined && isSettled(), CATCH_UP_MS, "catching up");
    const after = audit.totals();
    const merged = Object.fromEntries(after.merged);
    const names = [...audit.channels].filter(([name]) => stream.channel(name)?.data).sort(([, a], [, b]) => b.mergedTotal - a.mergedTotal).slice(0, PROOFS_MAX).map(([name]) => name);
    postMessage({ step: "verifying", documents: names.length });
    const proofs = [];
    const next = async () => {
      for (let name = names.shift(); name !== undefined; name = names.shift()) {
        // A match that ends meanwhile proves nothing.
        const proof = await hub.verify(name).catch((error) => ({ ok: undefined, error: String(error) }));
        if (proof.ok !== undefined) proofs.push({ ch: name, ok: proof.ok });
      }
    };
    await Promise.all(Array.from({ length: PROOFS_AT_ONCE }, next));
    const { updates, events, gaps, duplicates, resyncs } = audit.totals();
    postMessage({
      step: "done", merged, lag: audit.lag, closes: [...closes], isSameSocket: audit.connections === sockets && closes.length === 0,
      totals: { channels: audit.channels.size, updates, events, gaps, duplicates, resyncs },
      meanwhile: { updates: after.updates - before.updates, changes: after.changes - before.changes, events: after.events - before.events },
      proofs, violations: audit.violations.slice(0, 5),
    });
  } finally {
    await hub.close();
  }
}

self.onmessage = ({ data }) => run(data).catch((error) => postMessage({ step: "failed", message: String(error.message ?? error) }));
