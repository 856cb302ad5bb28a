// The client that `matchwire conformance` grades (docs/CONFORMANCE.md): it follows what its environment names until the hub closes
// for good, and prints each change.

import { connect, RefusedError } from "../../src/index.js";
import { sha256 } from "../../src/hash.js";

const { MATCHWIRE_URL: url, MATCHWIRE_KEY: key, MATCHWIRE_CHANNELS: names } = process.env;
const { WebSocket } = globalThis.WebSocket ? globalThis : await import("ws");
const hub = connect(url, { key, WebSocket });

async function follow(name) {
  try {
    for await (const { ch, epoch, seq, data, events } of hub.follow(name, { lossless: true }).changes()) {
      const hash = data === undefined ? undefined : await sha256(data);
      console.log(JSON.stringify({ ch, epoch, seq, sha256: hash, events: events.map(({ eid }) => eid) }));
    }
  } catch (error) {
    // The case is over, or the hub refuses this channel, as some cases do. Anything else is a failure.
    if (error.code !== 4410 && !(error instanceof RefusedError)) throw error;
  }
}

await Promise.all(names.split(" ").map(follow));
