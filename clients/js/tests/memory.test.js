// A reader that does not read costs one document and a bounded list, however much happens.

import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

import { connect } from "../src/index.js";
import { TestHub } from "../src/testing.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

test("200,000 changes of a channel that nobody reads leave no more behind than 20,000", async () => {
  const hub = new TestHub();
  hub.publish("football/1", { score: { home: 0 } });
  const client = connect("ws://hub", hub.options());
  const changes = client.follow("football/1").changes();
  client.follow("football/1", { rate: "frame" }).on("change", () => {});
  await hub.open();
  const heap = (count) => {
    for (let n = 0; n < count; n += 1) {
      hub.publish("football/1", { score: { home: n } }, n % 2 === 0 ? [{ kind: "goal", eid: `${n}`, text: "x".repeat(100) }] : undefined);
    }
    collect();
    return process.memoryUsage().heapUsed;
  };
  const before = heap(20_000);
  const grown = heap(180_000) - before;
  assert.ok(grown < 4 << 20, `${grown} bytes`);
  const { value } = await changes.next();
  assert.deepEqual([value.events.length, value.missed.events], [10_000, 90_000]);
  client.close();
});
