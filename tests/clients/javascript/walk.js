// A client in JavaScript that walks the whole public interface of a running hub, written only from SPEC.md and
// SERVICE.md: one line per check, the sum at the end.
//
//   npm ci
//   node walk.js --url http://HOST:PORT --key KEY --key-without-addon KEY [--only CHAPTER]

import { parseArgs } from "node:util";
import { Client, until } from "./client.js";
import { conversation } from "./conversation.js";
import { Follower } from "./follow.js";
import { football } from "./football.js";
import { footballV1 } from "./football_v1.js";
import { http } from "./http.js";
import { odds } from "./odds.js";
import { Report } from "./report.js";
import { sports } from "./sports.js";
import { Walker } from "./walker.js";

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    key: { type: "string" },
    "key-without-addon": { type: "string" },
    only: { type: "string" },
  },
});
if (!values.url || !values.key || !values["key-without-addon"]) {
  console.error("usage: node walk.js --url http://HOST:PORT --key KEY --key-without-addon KEY [--only CHAPTER]");
  process.exit(2);
}

/** In this order, so that the demo's past has the time of the first ones to be played. */
const CHAPTERS = { conversation, http, odds, past, sports, football, footballV1 };

/** The total wait for the past of a demo that has just started. */
const PAST_S_MAX = 45;

/** Whether a list has rows. */
async function some(path) {
  const { json } = await client.ask(path);
  return (json?.length ?? json?.count ?? 0) > 0;
}

/** Waits for what depends on the past. If it does not come in time, its checks report that they were skipped. */
async function past() {
  const end = Date.now() + PAST_S_MAX * 1000;
  for (const path of ["/tennis/api/v2/rankings/", "/darts/api/v2/rankings/", "/api/v2/predictions/"]) {
    await until(() => some(path), { seconds: (end - Date.now()) / 1000, every: 1000 });
  }
}

/** A hub that has just started does not know its matches yet. */
async function ready() {
  for (const path of ["/api/v2/events/live/", "/tennis/api/v2/matches/live/", "/api/v2/bookmakers/", "/api/v2/odds/best/"]) {
    report.that(`${path} has rows`, await until(() => some(path)), "rows", "none for long");
  }
}

const report = new Report();
const client = new Client(values.url, values.key);
const walker = new Walker(report, client, { full: values.key, free: values["key-without-addon"] });
await report.chapter("ready", () => ready());
const follower = new Follower(walker);
await report.chapter("follow", () => follower.begin());
for (const [name, walk] of Object.entries(CHAPTERS)) {
  if (!values.only || values.only === name) await report.chapter(name, () => walk(walker));
}
await report.chapter("follow", () => follower.end());
// A chapter that threw may have left a socket open; do not wait for it.
process.exit(report.finish());
