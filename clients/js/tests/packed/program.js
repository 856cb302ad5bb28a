// A program of somebody else: what it imports is the installed package. It follows a hub until it has seen a change.

import * as matchwire from "matchwire";
import { Stream } from "matchwire/stream";
import { TestHub } from "matchwire/testing";
import { canonical } from "matchwire/hash";
import { createStore } from "matchwire/store";
import { useChannel } from "matchwire/react";

const [url, key] = process.argv.slice(2);
const WebSocket = globalThis.WebSocket ?? (await import("ws")).WebSocket;
const hub = matchwire.connect(url, { key, WebSocket });
const board = hub.board("football");
for await (const rows of board) {
  if (rows.length > 0) break;
}
const odds = hub.odds(`football/${board.rows[0].id}`);
await odds.book().ready();
console.log(JSON.stringify({
  exported: Object.keys(matchwire).sort(),
  others: [Stream, TestHub, canonical, createStore, useChannel].map((it) => typeof it),
  isSame: matchwire.Stream === Stream,
  phase: hub.state.phase,
  health: board.health,
}));
await hub.close();
