// What a page pays: minified, compressed as `gzip -9` does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { bundle } from "../build.js";

// In bytes. The whole is what the hub serves, with replays, boards, odds and proofs.
const LIMITS = { "src/stream.js": 5200, "src/bundle.js": 12 * 1024 };

for (const [entry, limit] of Object.entries(LIMITS)) {
  test(`${entry} has at most ${limit} bytes`, async (t) => {
    const bytes = gzipSync(await bundle(entry), { level: 9 }).length;
    t.diagnostic(`${bytes} bytes`);
    assert.ok(bytes <= limit, `${bytes} bytes`);
  });
}
