// The proof that this program has what the hub has: both hash the document at the same position.

import { sha256 } from "./hash.js";

/**
 * @param {import("./stream.js").Stream} stream of a hub that lists `hash` in its features
 * @param {string} ch a channel that is followed
 * @returns {Promise<import("./types.d.ts").Proof>}
 */
export async function verify(stream, ch) {
  if (!stream.features.includes("hash")) throw new Error("the hub offers no hashes");
  /** @type {{ frame: any, own?: { epoch?: string, seq?: number, data: any } }} */
  const { frame, own } = await new Promise((resolve) => {
    stream.request({ op: "hash", ch }, (frame) => {
      // At once: the answer is for the document as it is after all frames before it.
      const { epoch, seq, data } = stream.channel(ch) ?? {};
      resolve({ frame, own: { epoch, seq, data } });
    });
  });
  if (frame === undefined) throw new Error(`${ch}: no connection to ask for its hash`);
  if (frame.type === "error") throw new Error(`${ch}: ${frame.message ?? frame.code}`);
  const hash = await sha256(own?.data ?? null);
  const { epoch, seq } = frame;
  const ok = own?.epoch === epoch && own?.seq === seq && hash === frame.sha256;
  return { ok, ch, epoch, seq, sha256: frame.sha256, own: hash };
}
