// matchwire: the client of the Matchwire hub. See README.md.

export { connect, Hub } from "./client.js";
export { ClosedError, RefusedError } from "./errors.js";
export { Follow } from "./follow.js";
export { Board } from "./board.js";
export { CONSENSUS, Odds, decimal } from "./odds.js";
export { FINAL_CODES, Stream } from "./stream.js";
export { Channel } from "./channel.js";
export { Replay } from "./replay.js";
export { mergePatch } from "./merge.js";
