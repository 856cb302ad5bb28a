// The proof that this program has what the hub has: both hash the document at the same position.

import { sha256 } from "./hash.js";

/** @import { Proof } from "./types.d.ts" */
/** @import { Stream } from "./stream.js" */

// The hub gives one hash a second of each channel.
const AGAIN_MS = 1000;
const ATTEMPTS_MAX = 5;

/**
 * @param {Stream} stream of a hub that lists `hash` in its features
 * @param {string} ch a channel that is followed
 * @returns {Promise<Proof>}
 */
export async function verify(stream, ch) {
  if (!stream.features.includes("hash")) throw new Error("the hub offers no hashes");
  for (let attempt = 1; ; attempt += 1) {
    const { frame, own } = await ask(stream, ch);
    if (frame === undefined) throw new Error(`${ch}: no connection to ask for its hash`);
    // The answer may be overtaken by a suspension, and is then not that of the document here.
    const isAnswer = frame.type === "hash" && own.epoch === frame.epoch && own.seq === frame.seq;
    const isLast = attempt === ATTEMPTS_MAX || (frame.type === "error" && frame.code !== "limit");
    if (frame.type === "error" && isLast) throw new Error(`${ch}: ${frame.message ?? frame.code}`);
    if (isAnswer || isLast) {
      let hash = await sha256(own.data ?? null);
      // Patches of a picked document cannot tell empty objects from absent ones, so its hash leaves them out.
      if (hash !== frame.sha256 && stream.picks(ch)) hash = await sha256(prune(own.data ?? {}));
      return { ok: isAnswer && hash === frame.sha256, ch, epoch: frame.epoch, seq: frame.seq, sha256: frame.sha256, own: hash };
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/**
 * The document without members that are objects without members.
 *
 * @param {any} value
 * @returns {any}
 */
function prune(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, prune(member)]);
  return Object.fromEntries(members.filter(([, member]) => !isEmpty(member)));
}

/** @param {any} value */
function isEmpty(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/**
 * The hub's answer, and what is here when it comes.
 *
 * @param {Stream} stream
 * @param {string} ch
 * @returns {Promise<{ frame: any, own: { epoch?: string, seq?: number, data?: any } }>}
 */
function ask(stream, ch) {
  return new Promise((resolve) => {
    stream.request({ op: "hash", ch }, (frame) => {
      const { epoch, seq, data } = stream.channel(ch) ?? {};
      resolve({ frame, own: { epoch, seq, data } });
    });
  });
}
