// Odds: SERVICE.md 3, and the "stick" odds of the other sports: 2.1 and 2.2.

import { any, bool, count, filled, int, maybe, number, odds, offsetTime, oneOf, record, share, zuluTime } from "../shape.js";

const CONSENSUS = `home_win draw away_win over_15_goals under_15_goals over_25_goals under_25_goals over_35_goals under_35_goals
  btts_yes btts_no`.split(/\s+/);

/** `/api/v2/events/{id}/odds/`: eleven prices, null where the market has none. */
export const consensus = {
  event_id: int, odds: Object.fromEntries(CONSENSUS.map((name) => [name, maybe(odds)])),
  last_update_at: maybe(zuluTime), next_update_at: maybe(zuluTime), update_interval_seconds: maybe(int), update_reason: filled,
};

/** Each market, its outcomes, and the line where it has one: a number fixed by the market, or any. */
export const MARKETS = {
  "1x2": { outcomes: ["HOME", "DRAW", "AWAY"] },
  btts: { outcomes: ["yes", "no"] },
  over_under_05: { outcomes: ["over", "under"], line: 0.5 },
  over_under_15: { outcomes: ["over", "under"], line: 1.5 },
  over_under_25: { outcomes: ["over", "under"], line: 2.5 },
  over_under_35: { outcomes: ["over", "under"], line: 3.5 },
  double_chance: { outcomes: ["1X", "12", "X2"] },
  draw_no_bet: { outcomes: ["HOME", "AWAY"] },
  total_corners: { outcomes: ["over", "under"], line: "any" },
  total_red_cards: { outcomes: ["over", "under"], line: "any" },
  corners_1x2: { outcomes: ["HOME", "DRAW", "AWAY"] },
  red_card: { outcomes: ["yes", "no"] },
  asian_handicap: { outcomes: ["HOME", "AWAY"], line: "any" },
};

const market = oneOf(...Object.keys(MARKETS));
const slug = (value) => (/^[a-z0-9][a-z0-9-]*$/.test(value) ? "" : `no slug but ${JSON.stringify(value)}`);
const movement = oneOf("SHORTENING", "DRIFTING", "");

/** A row of `/api/v2/odds/`. */
export const row = {
  id: int, event_id: maybe(int), market, outcome: filled, line: maybe(number), push: maybe(any), outcome_name: maybe(filled),
  bookmaker_slug: slug, bookmaker_name: filled, decimal_odds: odds, previous_decimal_odds: maybe(odds),
  opening_decimal_odds: odds, opening_at: maybe(zuluTime), implied_probability: share, movement, is_max_quote: bool,
  updated_at: zuluTime,
};

export const comparison = {
  event_id: int, event_date: zuluTime, league_id: int, league_name: filled, home_team_id: int, home_team: filled,
  away_team_id: int, away_team: filled, bookmakers_count: count, total_odds: count,
  markets: record(record({
    outcome: filled, line: maybe(number), outcome_name: maybe(filled), best_odds: odds, best_bookmaker_slug: slug,
    best_bookmaker_name: filled, bookmakers: record({ decimal_odds: odds, movement, updated_at: zuluTime }),
  })),
};

export const bookmaker = { slug, name: filled };

/** A row of `/api/v2/odds/best/`: SERVICE.md does not list its keys, so the test expects those of the comparison. */
export const best = {
  event_id: int, event_date: zuluTime, league_id: int, home_team: filled, away_team: filled, market, outcome: filled, line: maybe(number),
  best_odds: odds, best_bookmaker_slug: slug, best_bookmaker_name: filled,
};

const stickMovement = maybe(oneOf("SHORTENING", "DRIFTING", "STABLE"));
const source = oneOf("multi", "consensus", "none");

export const tennis = {
  match_id: int, match_date: offsetTime, player1_name: filled, player2_name: filled, bookmakers_count: count, source,
  bookmakers: [{
    bookmaker: filled, bookmaker_slug: slug, odds_player1: maybe(odds), odds_player2: maybe(odds),
    movement_player1: stickMovement, movement_player2: stickMovement, updated_at: zuluTime,
  }],
};

export const stick = (id) => ({
  [id]: int, event_date: offsetTime, home_team_name: filled, away_team_name: filled, bookmakers_count: count, source,
  bookmakers: [{
    bookmaker: filled, bookmaker_slug: slug, odds_home: maybe(odds), odds_draw: maybe(odds), odds_away: maybe(odds),
    movement_home: stickMovement, movement_draw: stickMovement, movement_away: stickMovement, updated_at: zuluTime,
  }],
  markets: [{
    market_kind: oneOf("WINNER", "1X2", "AH", "OU", "DNB"), market_family: any, market_line: maybe(number), market_period: filled,
    selections: [oneOf("HOME", "DRAW", "AWAY", "OVER", "UNDER", "P1", "P2")],
    bookmakers: [{ bookmaker: filled, bookmaker_slug: slug, prices: record({ price: maybe(odds), movement: stickMovement }), updated_at: zuluTime }],
  }],
});

/** The odds add-on: SERVICE.md defines only what it describes, so a row must identify its subject. */
export const addon = {
  sport: { sport: filled, name: filled },
  event: { event_id: int, sport: filled, event_date: zuluTime },
};
