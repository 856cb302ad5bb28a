// What the hub serves as one file, /client/v1/matchwire.js.

export { FINAL_CODES, Stream } from "./stream.js";
export { Channel } from "./channel.js";
export { Replay } from "./replay.js";
export { mergePatch } from "./merge.js";
