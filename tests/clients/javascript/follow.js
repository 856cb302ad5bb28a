// A dashboard over the older sockets: it follows all that is in play while the other chapters run, keeps a state made of
// frames only, and at the end reports whether every frame was correct, none was missing, and the state matched REST.

import { changed, differs } from "./report.js";
import { playing } from "./conversation.js";
import { rowDifferences } from "./shape.js";
import { football, tennisFrames } from "./shapes/frames.js";
import { Socket } from "./sockets.js";

/** The interval of a client's pings: 20 to 30 s is usual. */
const PING_MS = 25_000;
/** Matches on one socket. */
const MATCHES_MAX = 10;
/** How often prices that differ are compared again. */
const TRIES_MAX = 8;
/** The states of matches of which no more is sent. */
const OVER = ["finished", "retired", "walkover", "cancelled", "abandoned", "postponed"];

export class Follower {
  constructor(walker) {
    this.walker = walker;
  }

  /** Follows football on one socket, twice the same matches, and tennis on another. */
  async begin() {
    const { client, keys } = this.walker;
    this.matches = (await playing(client)).slice(0, MATCHES_MAX);
    this.tennis = (await client.get("/tennis/api/v2/matches/live/")).slice(0, MATCHES_MAX);
    const [{ slug }] = (await client.get("/api/v2/bookmakers/")).results;
    this.narrow = await Socket.open(client.base, "/live/football/", keys.full);
    this.wide = await Socket.open(client.base, "/ws/live/", keys.full);
    this.other = await Socket.open(client.base, "/ws/live/", keys.full);
    this.sockets = [this.narrow, this.wide, this.other];
    for (const { id } of this.matches) {
      await this.narrow.subscribe(id, { bookmaker_slug: slug });
      await this.other.subscribe(id);
    }
    for (const { id } of this.tennis) await this.wide.subscribe(id, { sport: "tennis" });
    this.pings = setInterval(() => this.sockets.forEach((socket) => socket.send({ action: "ping" })), PING_MS);
  }

  async end() {
    const { report } = this.walker;
    await report.chapter("sockets: state", () => Promise.all([this.footballAsRest(), this.pricesAsRest(), this.tennisAsRest()]));
    clearInterval(this.pings);
    for (const socket of this.sockets) report.that("a socket that was followed stayed open", !socket.error, "open", socket.error?.message);
    await Promise.all(this.sockets.map((socket) => socket.close()));
    this.shapes();
    this.numbers();
    this.twins();
  }

  /** Every frame of every type against its shape. */
  shapes() {
    const { report } = this.walker;
    for (const [name, sockets, shapes] of [["football", [this.narrow, this.other], football], ["tennis", [this.wide], tennisFrames]]) {
      const frames = sockets.flatMap((socket) => socket.frames).filter((frame) => frame.type !== "pong");
      const errors = frames.filter((frame) => frame.type === "error");
      report.equal(`${name}: no error came`, errors, []);
      const strange = new Set(frames.map((frame) => frame.type).filter((type) => !(type in shapes) && type !== "error"));
      report.equal(`${name}: no frame of another type came`, [...strange], []);
      for (const [type, shape] of Object.entries(shapes)) {
        const rows = frames.filter((frame) => frame.type === type);
        const isExpected = type !== "odds_book" || name === "football";
        if (rows.length) report.check(`${name}: fields of ${type} frames`, rowDifferences(rows, shape));
        else if (isExpected) report.skip(`${name}: fields of ${type} frames`, "none came");
      }
      const basic = frames.find((frame) => frame.type === "subscribed" && frame.source === "basic" && frame.history.length);
      report.that(`${name}: no history of a basic source`, !basic, "[]", basic?.event_id);
      const mismatch = frames.find((frame) => frame.type === "subscribed" && frame.event.websocket_plus !== undefined && frame.event.websocket_plus !== (frame.source === "full"));
      report.that(`${name}: websocket_plus is the source full`, !mismatch, "the same", mismatch?.event_id);
    }
  }

  /** `seq` of each match rises by one, beginning behind that of `subscribed`. */
  numbers() {
    const { report } = this.walker;
    for (const socket of this.sockets) {
      const last = new Map();
      const holes = [];
      for (const frame of socket.frames.filter((frame) => frame.event_id && frame.type !== "odds_book")) {
        const before = last.get(frame.event_id);
        if (before && frame.type !== "subscribed" && (frame.epoch !== before.epoch || frame.seq !== before.seq + 1)) holes.push([before.epoch, before.seq, frame.epoch, frame.seq]);
        last.set(frame.event_id, frame);
      }
      report.equal(`${last.size} matches: seq has no hole`, holes, []);
    }
  }

  /** Two sockets that follow a match get the same frames, byte for byte except for the time of arrival. */
  twins() {
    const shared = (frame) => !["subscribed", "odds_book", "pong"].includes(frame.type);
    const number = ({ event_id: id, epoch, seq }) => `${id}/${epoch}/${seq}`;
    const keyed = (socket) => new Map(socket.frames.filter(shared).map(({ at: _, ...frame }) => [number(frame), frame]));
    const [one, two] = [keyed(this.narrow), keyed(this.other)];
    const both = [...one.keys()].filter((key) => two.has(key));
    const unequal = both.filter((key) => differs(one.get(key), two.get(key)));
    this.walker.report.that("two sockets have the same frames", both.length > 0 && !unequal.length, "the same", unequal.length ? [one.get(unequal[0]), two.get(unequal[0])] : both.length);
  }

  /** Waits for the next frame of this type. Returns false if the match is over, and no more will come. */
  async nextOf(socket, type, id) {
    const isOver = (frame) => frame.type === "event" && frame.event_id === id && OVER.includes(frame.time?.status ?? frame.status?.name);
    if (socket.frames.some(isOver)) return false;
    const found = await socket.next((frame) => frame.event_id === id && (frame.type === type || isOver(frame)));
    return !isOver(found);
  }

  /** Each match over REST is what the frames made of it at that moment. */
  async footballAsRest() {
    const { report, client } = this.walker;
    const checks = this.matches.map(async ({ id }) => {
      const path = `/api/v2/events/${id}/`;
      const before = this.states(id).length - 1;
      const [first, stats, second] = [await client.ask(path), await client.get(`${path}stats/`), await client.ask(path)];
      await this.nextOf(this.narrow, "event", id);
      const states = this.states(id).slice(Math.max(0, before));
      return { path, first, stats, second, states };
    });
    for (const { path, first, stats, second, states } of await Promise.all(checks)) {
      const sequence = [first, second].map((answer) => answer.headers.get("x-matchwire-seq"));
      if (sequence[0] === sequence[1]) {
        // The clock goes on without a change of the match.
        const { current_minute: before, ...same } = first.json;
        const { current_minute: after, ...again } = second.json;
        report.equal(`${path} is the same at the same X-Matchwire-Seq`, changed(again, same), {});
        report.that(`${path}: the clock goes on`, (before === null) === (after === null) && before <= after, `from ${before} on`, after);
      } else report.that(`${path}: X-Matchwire-Seq goes on`, forward(...sequence), "one epoch, a higher number", sequence);
      const rest = [first.json.home_score, first.json.away_score, first.json.status];
      const held = states.map(({ score, time }) => [score.home, score.away, time.status]);
      report.that(`${path} is what the frames made of it`, held.some((state) => !differs(state, rest)), rest, held);
      const minutes = states.map(({ time }) => time.minute);
      const minute = first.json.current_minute;
      report.that(`${path} is as far as the frames say`, minute === null || (minute >= Math.min(...minutes) && minute <= Math.max(...minutes)), minutes, minute);
      const counters = ["total_shots", "corner_kicks", "fouls", "yellow_cards", "ball_possession", "passes"];
      const of = (sides) => counters.map((name) => ["home", "away"].map((side) => sides[side][name] ?? null));
      const within = of(stats.stats).every((pair, at) => pair.every((number, side) => between(number, states.map((state) => of(state.stats)[at][side]))));
      report.that(`${path}stats/ counts as the frames do`, within, of(stats.stats), states.map((state) => of(state.stats)));
    }
  }

  /** The state of a match after each frame: an `event` is the whole, livedata moves the clock, an action the score. */
  states(id) {
    const states = [];
    for (const frame of this.narrow.frames.filter((frame) => frame.event_id === id)) {
      const state = states.at(-1);
      if (frame.type === "subscribed") states.push(frame.event);
      else if (frame.type === "event") states.push(frame);
      else if (frame.type === "livedata" && state) states.push({ ...state, time: { ...state.time, minute: frame.minute ?? state.time.minute } });
      else if (frame.type === "action" && state && frame.score.home !== null) states.push({ ...state, score: frame.score });
    }
    return states;
  }

  /** Sets and games of tennis over REST are those of one of the frames around it. */
  async tennisAsRest() {
    const { report, client } = this.walker;
    const checks = this.tennis.map(async ({ id }) => {
      const frames = () => this.wide.frames.filter((frame) => frame.event_id === id && ["subscribed", "event", "score"].includes(frame.type));
      const before = frames().length - 1;
      const match = await client.get(`/tennis/api/v2/matches/${id}/`);
      await this.nextOf(this.wide, "event", id);
      const scores = frames().slice(before).map((frame) => (frame.type === "score" ? frame : (frame.event ?? frame).score));
      return { match, held: scores.map((score) => [score.sets, score.home_sets, score.away_sets]) };
    });
    for (const { match, held } of await Promise.all(checks)) {
      const rest = [match.sets_detail.map(({ p1, p2 }) => [p1, p2]), match.player1_sets, match.player2_sets];
      report.that(`/tennis/api/v2/matches/${match.id}/ is what the frames made of it`, held.some((state) => !differs(state, rest)), rest, held);
    }
  }

  /**
   * The consensus over REST is that of one of the odds frames around it. Prices are sent at most once a second, so REST may
   * have seen one that was never sent: then the test waits for the next frame, and requests REST again.
   */
  async pricesAsRest() {
    const { report, client } = this.walker;
    const checks = this.matches.map(async ({ id }) => {
      const path = `/api/v2/events/${id}/odds/`;
      const frames = () => this.narrow.frames.filter((frame) => frame.event_id === id && ["odds", "subscribed"].includes(frame.type));
      for (let tries = 1; ; tries += 1) {
        const before = frames().length - 1;
        const { home_win: home, draw, away_win: away } = (await client.get(path)).odds;
        if (!(await this.nextOf(this.narrow, "odds", id))) return null;
        const held = frames().slice(before).map((frame) => (frame.type === "odds" ? frame : frame.odds).odds.match_winner);
        const unpriced = home === null && draw === null && away === null;
        const same = held.some((winner) => (winner ? !differs(winner, { home, draw, away }) : unpriced));
        if (same || tries === TRIES_MAX) return { path, same, rest: { home, draw, away }, held };
      }
    });
    const compared = (await Promise.all(checks)).filter((check) => check !== null);
    for (const { path, same, rest, held } of compared) report.that(`${path} is the odds of the frames`, same, rest, held);
  }
}

function forward(first, second) {
  const [[epoch, seq], [otherEpoch, otherSeq]] = [first, second].map((value) => (value ?? "").split(":"));
  return epoch !== "" && epoch === otherEpoch && Number(otherSeq) > Number(seq);
}

/** A counter may advance between two frames, and be corrected. */
function between(number, held) {
  const known = held.filter((value) => value !== null);
  return number === null || (known.length > 0 && number >= Math.min(...known) && number <= Math.max(...known));
}
