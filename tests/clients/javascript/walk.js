// A client in JavaScript that walks the whole public interface of a running hub, as a stranger's would who has read
// SPEC.md and SERVICE.md and nothing else: one line a check, the sum at the end.
//
//   npm ci
//   node walk.js --url http://HOST:PORT --key KEY --key-without-addon KEY [--only CHAPTER]

import { parseArgs } from "node:util";
import { Client } from "./client.js";
import { conversation } from "./conversation.js";
import { football } from "./football.js";
import { footballV1 } from "./football_v1.js";
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
const CHAPTERS = { conversation, odds, sports, football, footballV1 };

const report = new Report();
const client = new Client(values.url, values.key);
const walker = new Walker(report, client, { full: values.key, free: values["key-without-addon"] });
for (const [name, walk] of Object.entries(CHAPTERS)) {
  if (!values.only || values.only === name) await report.chapter(name, () => walk(walker));
}
process.exitCode = report.finish();
