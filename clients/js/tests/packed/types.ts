// What the editor of a TypeScript program says: compiled by the tests of the packed package, not run.

import { ClosedError, connect } from "matchwire";
import { MatchwireProvider, useChannel, useEvents, useHealth } from "matchwire/react";
import { createStore } from "matchwire/store";
import { TestHub } from "matchwire/testing";
import type { Price } from "matchwire";
import type { FootballMatch } from "matchwire/documents";

const hub = connect("wss://hub.example.org", { ticket: () => "T" });
const id: number = 204849;

const match = hub.follow(`football/${id}`, { rate: "frame" });
match.on("change", ({ data, health, changed, merged }) => {
  const home: number | undefined = data.score?.home;
  const stale: boolean = health !== "live" && changed(["score", "home"]);
  // @ts-expect-error a match has no such field
  data.prices;
  void [home, stale, merged?.why];
});
match.on("goal", (goal, ch) => {
  const type: "regular" | "penalty" | "own_goal" = goal.type;
  const name: string | undefined = goal.player?.name;
  // @ts-expect-error a goal is no retraction
  goal.of;
  void [type, name, ch];
});
match.on("a kind of a later hub", (event) => void event.anything);
match.on("health", (health) => health === "catching_up");
// @ts-expect-error no such rate
hub.follow("tennis/1", { rate: 123 });

async function read() {
  for await (const { data, events } of hub.follow("tennis/*")) {
    const server: 1 | 2 | undefined = data.server;
    for (const event of events) if (event.kind === "point") void event.winner;
    void server;
  }
  const odds = hub.odds("football/1", { bookmakers: ["pinnacle"], lossless: true });
  for await (const update of odds.updates()) void update.bookmaker;
  const price: Price | undefined = odds.price("pinnacle", "1x2", "HOME");
  const units: bigint | undefined = price?.value.units;
  for await (const rows of hub.board("football", { where: ({ status }) => status === "second_half" })) void rows[0]?.id;
  const document: Partial<FootballMatch> = await match.ready();
  void [units, document];
}

function Score() {
  const home = useChannel(`football/${id}`, (it) => it.score?.home);
  const total: number | undefined = home;
  useEvents(`football/${id}`, "goal", (goal) => void goal.minute);
  return useHealth(`football/${id}`) === "live" ? total : undefined;
}

const signal = createStore(hub).select("football/1", (it) => it.status);
const stop: () => void = signal.subscribe((status) => status === "half_time");
const test = new TestHub().publish("football/1", { score: { home: 1 } });
const client = connect("ws://hub", test.options());
client.on("state", ({ phase, retryAt }) => void [phase, retryAt]);
void [read, Score, MatchwireProvider, stop, new ClosedError({ phase: "closed", attempt: 0, code: 4401 }).code];
