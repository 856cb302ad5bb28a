// Frames of the older sockets: SERVICE.md 5.3, and the fields `epoch` and `seq` that this hub adds.

import { any, atMost, bool, count, filled, int, maybe, number, odds, offsetTime, oneOf, optional, record, text, zuluTime } from "../shape.js";
import { counters } from "./football.js";

const numbered = { epoch: filled, seq: count };
const millis = (value) => (Number.isSafeInteger(value) && String(value).length === 13 ? "" : `no milliseconds but ${value}`);
const percent = (value) => (typeof value === "number" && value >= 0 && value <= 100 ? "" : `no coordinate from 0 to 100 but ${value}`);
const team = { id: int, name: filled, short_name: maybe(text) };
const score = { home: maybe(count), away: maybe(count) };
const side = maybe(oneOf("home", "away"));
/** As over REST, but for `xg`, which is a plain number of each side. */
const sideCounters = { ...counters, xg: optional(number) };

const event = {
  type: oneOf("event"), event_id: int, home: team, away: team, score,
  time: {
    minute: maybe(int), second: optional(maybe(int)), display: optional(maybe(text)), period: maybe(oneOf(1, 2, 3, 4, 5)),
    status: oneOf("notstarted", "1st_half", "halftime", "2nd_half", "extratime", "live", "penalties", "finished", "postponed", "cancelled", "abandoned"),
    added_time: optional(maybe(int)), kickoff_at: maybe(offsetTime),
  },
  stats: { home: sideCounters, away: sideCounters }, websocket_plus: bool,
};

const livedata = {
  type: oneOf("livedata"), event_id: int, uts: millis, side, commentary: maybe(text), coordinates: [{ x: percent, y: percent }],
  situation: maybe(oneOf(
    "possession", "attack", "dangerous", "safe", "corner", "freekick", "throwin", "goalkick", "penalty", "shotontarget",
    "shotofftarget", "goal", "offside", "injury", "substitution",
  )),
};

const action = {
  type: oneOf("action"), event_id: int,
  action_type: oneOf(
    "shot", "pass", "tackle", "foul", "yellow_card", "red_card", "goal", "save", "clearance", "interception", "corner",
    "substitution", "offside", "var_review", "temp_goal", "deleted_event",
  ),
  tid: int, x: maybe(percent), y: maybe(percent), team: side, player: maybe({ id: int, name: filled }), score, qualifiers: [filled],
  minute: maybe(int), second: maybe(int), period: maybe(int), ts: millis,
};

const price = maybe(odds);
const prices = (names) => Object.fromEntries(names.map((name) => [name, optional(price)]));
const markets = {
  match_winner: optional({ home: price, draw: price, away: price }),
  over_under: optional(prices(["over_15", "under_15", "over_25", "under_25", "over_35", "under_35"])),
  btts: optional({ yes: price, no: price }),
  asian_handicap: optional([{ line: number, push: oneOf("none", "half", "full"), home: price, away: price, bookmaker_count: count }]),
};
const tennisMarkets = { match_winner: optional({ player1: price, player2: price }) };
const oddsFrame = (of) => ({
  type: oneOf("odds"), event_id: int, odds: of, updated_at: maybe(zuluTime), next_update_at: maybe(zuluTime), update_reason: filled,
});
const oddsBook = (of) => ({
  type: oneOf("odds_book"), event_id: int, bookmaker_slug: filled, bookmaker: filled, uts: millis, odds: of,
});

const tennis = { sport: oneOf("tennis") };
const tennisScore = {
  sets: [[count]], home_sets: maybe(count), away_sets: maybe(count), home_games: maybe(count), away_games: maybe(count),
  point: maybe(text), server: side,
};
const tennisEvent = {
  type: oneOf("event"), event_id: int, ...tennis, home: { id: int, name: filled }, away: { id: int, name: filled },
  score: { ...tennisScore, set: maybe(int) }, status: { name: filled }, stats: { home: record(number), away: record(number) },
  tournament: maybe({ id: int, name: filled }),
};
const tennisPoint = { type: oneOf("score"), event_id: int, ...tennis, ...tennisScore };

/** Frames as they come, by type. */
export const football = {
  event: { ...event, ...numbered },
  livedata: { ...livedata, ...numbered },
  action: { ...action, ...numbered },
  odds: { ...oddsFrame(markets), ...numbered },
  odds_book: { ...oddsBook(markets), ...numbered },
  subscribed: {
    type: oneOf("subscribed"), event_id: int, source: oneOf("basic", "full"), event, livedata: atMost(30, livedata),
    history: [action], odds: oddsFrame(markets), odds_book: optional(oddsBook(markets)), ...numbered,
  },
};
export const tennisFrames = {
  event: { ...tennisEvent, ...numbered },
  score: { ...tennisPoint, ...numbered },
  odds: { ...oddsFrame(tennisMarkets), ...tennis, ...numbered },
  odds_book: { ...oddsBook(tennisMarkets), ...numbered },
  subscribed: {
    type: oneOf("subscribed"), event_id: int, ...tennis, source: oneOf("basic", "full"), event: tennisEvent,
    livedata: atMost(30, tennisPoint), history: atMost(0, any), odds: oddsFrame(tennisMarkets), odds_book: optional(oddsBook(tennisMarkets)), ...numbered,
  },
};
export const error = { type: oneOf("error"), code: filled, message: filled, event_id: optional(int) };
export const unsubscribed = { type: oneOf("unsubscribed"), event_id: int };
