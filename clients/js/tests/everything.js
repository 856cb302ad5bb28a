// The client against a running hub: follows a pattern, disconnects and
// reconnects on command, and reports whether each channel got both missed events, once and in order.
// Started by tests/it/many_channels.rs: node everything.js URL KEY PATTERN CHANNELS

import { createInterface } from "node:readline";
import { Stream } from "../src/stream.js";
import { Socket } from "./socket.js";

const [url, key, pattern, count] = process.argv.slice(2);
const events = new Map();
const faults = [];
let current;
let returning = Promise.resolve();
let comeBack;

class Cuttable extends Socket {
  #handler;

  // A smaller limit than the hub's, so that some channels have to be resumed by name.
  set onmessage(handler) {
    this.#handler = ({ data }) => handler({ data: data.replace('"from_bytes":262144', '"from_bytes":65536') });
  }

  get onmessage() {
    return this.#handler;
  }

  constructor(...parameters) {
    super(...parameters);
    current = this;
  }
}

const stream = new Stream(url, {
  WebSocket: Cuttable,
  // The test decides when to reconnect.
  protocols: () => returning.then(() => ["matchwire.v1", "token", key]),
});

let said = 0;
const say = (word) => process.stdout.write(`${word}\n`);

stream.subscribe(pattern, (channel, change) => {
  const all = events.get(channel.name) ?? [];
  events.set(channel.name, all);
  all.push(...change.events.map((event) => event.eid));
  if (change.missed) faults.push(`${channel.name}: ${JSON.stringify(change.missed)}`);
  if (said === 0 && events.size === Number(count)) {
    said = 1;
    say("following");
  } else if (said === 1 && channel.data.score.home === 3) {
    if ([...events.keys()].every((name) => stream.channel(name).data.score.home === 3)) {
      said = 2;
      finish();
    }
  }
});

function finish() {
  for (const [name, all] of events) {
    if (all.join() !== "score-2-0,score-3-0") faults.push(`${name}: ${all}`);
  }
  say(faults.length === 0 ? "complete" : `${faults.length} faults: ${faults.slice(0, 3).join("; ")}`);
  stream.close();
  process.exit(0);
}

createInterface({ input: process.stdin }).on("line", (line) => {
  if (line === "cut") {
    returning = new Promise((resolve) => (comeBack = resolve));
    current.cut();
    say("cut");
  } else if (line === "resume") {
    comeBack();
  }
});
