// Recordings that are played, against a scripted hub.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Replay } from "../src/replay.js";
import { Script } from "./script.js";

const SPAN = { first: 1_000_000, last: 9_000_000 };

/** A replay that has been played to its end. */
function ended() {
  const script = new Script();
  script.hello();
  const phases = [];
  const replay = new Replay(script.stream, ["tennis/7"], { onState: ({ phase }) => phases.push(phase) });
  started(script, "r1");
  script.say({ type: "replay_end", replay: "r1", why: "end" });
  assert.deepEqual(phases.splice(0), ["playing", "ended"]);
  return { script, replay, phases };
}

function started(script, name) {
  const { id, replay } = script.commands("subscribe").at(-1);
  const at = replay.from === "start" ? SPAN.first : replay.from.at;
  script.say({ type: "subscribed", id, replay: name, chs: { "tennis/7": { error: undefined } }, span: SPAN, at, paused: false, speed: 1 });
}

test("one that has ended plays again from where it is moved to", () => {
  const { script, replay, phases } = ended();
  replay.seek(4_000_000);
  assert.deepEqual(script.commands("subscribe").at(-1).replay.from, { at: 4_000_000 });
  started(script, "r2");
  assert.deepEqual([phases, replay.serverNow()], [["starting", "playing"], 4_000_000]);
});

test("one that is moved after its end without a connection begins on the next one", () => {
  const { script, replay, phases } = ended();
  script.hangUp();
  replay.seek(4_000_000);
  assert.deepEqual([phases, replay.serverNow()], [["lost"], 4_000_000]);
  script.clock.pass(500);
  script.hello();
  assert.deepEqual(script.commands("subscribe").at(-1).replay.from, { at: 4_000_000 });
  started(script, "r2");
  assert.equal(replay.phase, "playing");
});

test("one that begins without a connection says so to its handler, and begins on the first one", () => {
  const script = new Script();
  const phases = [];
  const replay = new Replay(script.stream, ["tennis/7"], { onState: ({ phase }) => phases.push(phase) });
  script.hello();
  started(script, "r1");
  assert.deepEqual([phases, replay.name], [["lost", "playing"], "r1"]);
});
