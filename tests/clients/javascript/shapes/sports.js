// The other sports: SERVICE.md 2. A field of which the page does not say otherwise may be null: not known.

import { any, bool, count, date, filled, int, maybe, number, offsetTime, oneOf, optional, percent, record, share, text } from "../shape.js";

const country = { country_code: maybe(text) };
const scored = { home_score: maybe(count), away_score: maybe(count) };

// Tennis, 2.1

export const SURFACES = ["hard", "clay", "grass", "carpet"];
export const CATEGORIES = ["grand_slam", "masters_1000", "atp_500", "atp_250", "wta_1000", "wta_500", "wta_250"];
const circuit = maybe(oneOf("ATP", "WTA"));
const surface = maybe(oneOf(...SURFACES));
const category = maybe(oneOf(...CATEGORIES));

const tennisPlayerBrief = {
  id: int, name: filled, short_name: maybe(text), gender: maybe(oneOf("M", "F")), ...country, current_ranking: maybe(any),
};
const shares = Object.fromEntries(
  ["p1", "p2"].flatMap((side) => [
    [`${side}_aces`, maybe(count)],
    [`${side}_double_faults`, maybe(count)],
    ...["games_won", "service_games", "service_games_won"].map((name) => [`${side}_${name}`, maybe(count)]),
    ...["first_serve_pct", "first_serve_won_pct", "second_serve_won_pct", "break_points_saved_pct", "break_points_converted_pct"].map((name) => [`${side}_${name}`, maybe(percent)]),
  ]),
);
const tennisMatch = {
  id: int, tournament: { id: int, name: filled, circuit, category, surface }, player1: tennisPlayerBrief, player2: tennisPlayerBrief,
  match_date: offsetTime,
  status: oneOf("scheduled", "live", "interrupted", "finished", "walkover", "retired", "postponed", "cancelled"),
  round_name: maybe(text), player1_sets: maybe(count), player2_sets: maybe(count), sets_detail: [{ p1: count, p2: count }],
  winner_id: maybe(int), odds_player1: maybe(number), odds_player2: maybe(number), ...shares, aces_per_set: maybe([any]),
  point_by_point_available: bool,
};
const tennisForm = {
  id: int, date: offsetTime, tournament: maybe({ id: int, name: filled }), surface: maybe(filled), round: maybe(text),
  opponent: maybe({ id: int, name: filled }), score: [{ p1: count, p2: count }], won: maybe(bool),
};
const tennisLive = {
  ...tennisMatch, current_set: maybe(int), current_game_p1: maybe(count), current_game_p2: maybe(count),
  current_point: maybe(text), is_serving_p1: maybe(bool),
};
const tennisPrediction = {
  prob_player1_wins: percent, prob_player2_wins: percent, predicted_winner: oneOf(1, 2), confidence: percent,
  expected_total_sets: maybe(number), prob_over_2_5_sets: maybe(percent), expected_total_games: maybe(number),
  prob_over_20_5_games: maybe(percent), prob_over_21_5_games: maybe(percent), prob_over_22_5_games: maybe(percent),
  prob_player1_wins_first_set: maybe(percent), actual_winner: maybe(oneOf(1, 2)), was_winner_correct: maybe(bool),
  was_over_sets_correct: maybe(bool), was_over_games_correct: maybe(bool),
};
export const tennis = {
  match: tennisMatch,
  live: tennisLive,
  tournament: {
    id: int, name: filled, circuit, category, surface, location: maybe(text), country: maybe(text), start_date: maybe(date),
    end_date: maybe(date), winner_points: maybe(int), active: bool,
  },
  player: {
    id: int, name: filled, short_name: maybe(text), gender: maybe(oneOf("M", "F")), ...country, country_name: maybe(text),
    date_of_birth: maybe(date), height: maybe(int), weight: maybe(int), plays: maybe(text), turned_pro: maybe(any),
    birthplace: maybe(text), residence: maybe(text), prize_current_usd: maybe(number), prize_total_usd: maybe(number),
    current_ranking: maybe({ position: int, points: int, type: filled }),
  },
  prediction: tennisPrediction,
  olderPrediction: { ...tennisPrediction, player1_obj: { id: int, name: filled }, player2_obj: { id: int, name: filled } },
  ranking: {
    id: int, position: int, player: { id: int, name: filled }, points: int, previous_position: maybe(int), previous_points: maybe(int),
    best_position: maybe(int), type: filled, date,
  },
  points: {
    match_id: int, available: bool,
    sets: [{
      set: int, duration_seconds: maybe(int),
      games: [{
        game: int, server: maybe(oneOf(1, 2)), winner: maybe(oneOf(1, 2)), break: maybe(bool), player1_games: count, player2_games: count,
        points: [{ player1_score: filled, player2_score: filled, winner: maybe(oneOf(1, 2)) }],
      }],
    }],
  },
  h2h: {
    match_id: int, player1: { id: int, name: filled }, player2: { id: int, name: filled },
    h2h: maybe({ total_matches: count, player1_wins: count, player2_wins: count, by_surface: record(any) }),
    player1_last5: [tennisForm], player2_last5: [tennisForm],
  },
};

// Basketball and hockey, 2.3 and 2.4

const teamBrief = { id: int, name: filled, short_name: maybe(text) };
const homeAway = {
  total_matches: count, home_wins: count, away_wins: count, home_goals: count, away_goals: count, avg_total_goals: maybe(number),
  recent_matches: [{ date: any, winner: maybe(oneOf("home", "away")), home_goals: count, away_goals: count }],
};
const form = { points: int, points_per_game: maybe(number), form_string: text, home: record(any) };
export const formGuide = { head_to_head: homeAway, home_form: form, away_form: form };

const winProbabilities = {
  home_win_prob: share, away_win_prob: share, predicted_winner_id: maybe(int), confidence: maybe(number),
};
export const basketball = {
  match: {
    id: int, league: { id: int, name: filled }, home_team: teamBrief, away_team: teamBrief, event_date: offsetTime,
    status: oneOf("scheduled", "live", "finished", "postponed", "cancelled"), ...scored,
  },
  league: { id: int, name: filled },
  team: { id: int, name: filled, short_name: maybe(text), country: maybe(text), ...country, elo: maybe(number), games_played: maybe(count) },
  player: {
    id: int, name: filled, short_name: maybe(text), position: maybe(text), jersey_number: maybe(text), height_cm: maybe(int),
    country: maybe(text), ...country, date_of_birth: maybe(date), team: maybe({ id: int, name: filled }),
  },
  prediction: { event_id: int, ...winProbabilities },
  standings: {
    league_id: int,
    standings: [{ position: int, team: { id: int, name: filled }, played: count, wins: count, losses: count, win_pct: maybe(number) }],
  },
  boxScore: (() => {
    const side = [{ name: filled, minutes: any, points: count, rebounds: any, assists: any, fg: any, three_pt: any }];
    return { home: side, away: side };
  })(),
};

const hockeyTeamBrief = { ...teamBrief, ...country, elo_rating: maybe(number) };
const hockeyMatch = {
  id: int, league: { id: int, name: filled, country: maybe(text) }, home_team: hockeyTeamBrief, away_team: hockeyTeamBrief,
  match_date: offsetTime, status: oneOf("scheduled", "live", "inprogress", "finished", "awarded", "postponed", "cancelled"),
  ...scored, is_overtime: bool, is_shootout: bool, winner_id: maybe(int),
};
export const hockey = {
  match: hockeyMatch,
  detail: {
    ...hockeyMatch, current_period: maybe(any), current_minute: maybe(int),
    periods_score: maybe((value) => (/^(\d+-\d+(, \d+-\d+)*)?$/.test(value) ? "" : `no scores but ${JSON.stringify(value)}`)),
  },
  league: { id: int, name: filled, country: maybe(text) },
  team: {
    id: int, api_id: maybe(int), name: filled, short_name: maybe(text), country: maybe(text), ...country, elo_rating: maybe(number),
  },
  prediction: winProbabilities,
  standings: {
    matches_played: count, wins: count, losses: count, overtime_wins: maybe(count), overtime_losses: maybe(count), points: int,
    goals_scored: count, goals_conceded: count, form_string: text,
  },
};

// Darts, 2.5

const dartsPlayerBrief = {
  id: int, name: filled, short_name: maybe(text), ...country, country_name: maybe(text), elo_overall: maybe(number),
};
const dartsStats = {
  average: maybe(number), checkout_pct: maybe(number), "180s": maybe(count), "140_plus": maybe(count), "100_plus": maybe(count),
  highest_checkout: maybe(int),
};
const dartsMatch = {
  tournament: { id: int, name: filled, category: maybe(text) }, player1: dartsPlayerBrief, player2: dartsPlayerBrief,
  match_date: offsetTime, status: oneOf("scheduled", "live", "finished", "walkover", "postponed", "cancelled"),
  round_name: maybe(text), player1_sets: maybe(count), player2_sets: maybe(count), player1_legs: maybe(count),
  player2_legs: maybe(count), current_set: maybe(int), winner_id: maybe(int), best_of_legs: maybe(int), best_of_sets: maybe(int),
  sets_detail: maybe([any]),
};
export const darts = {
  match: dartsMatch,
  detail: { ...dartsMatch, stats: { player1: dartsStats, player2: dartsStats } },
  player: dartsPlayerBrief,
  playerDetail: {
    ...dartsPlayerBrief, api_id: maybe(int), elo_major: maybe(number), elo_protour: maybe(number), avg_average: maybe(number),
    avg_checkout_pct: maybe(number), avg_180s: maybe(number), legs_won_pct: maybe(number),
  },
  h2h: {
    total_matches: count, player1_wins: count, player2_wins: count, player1_avg: maybe(number), player2_avg: maybe(number),
    recent_matches: [{
      date: any, tournament: any, round_name: maybe(text), winner: maybe(oneOf("player1", "player2")), player1_sets: maybe(count), player2_sets: maybe(count),
    }],
  },
  ranking: { position: int, prize_money: maybe(number), player: { id: int, name: filled } },
  tournament: { id: int, name: filled },
};

// CS2, 2.6

const csgoMatch = {
  id: int, tournament: { id: int, name: filled }, stage: maybe(text), home_team: teamBrief, away_team: teamBrief,
  start_time: offsetTime, status: filled, best_of: maybe(int), ...scored,
};
export const csgo = {
  match: csgoMatch,
  detail: { ...csgoMatch, maps: [{ home_rounds: maybe(count), away_rounds: maybe(count) }] },
  tournament: { id: int, name: filled },
  stats: {
    teams: [{
      team: { id: int }, map_winrate: maybe(number), round_winrate_all: maybe(number), round_winrate_t: maybe(number),
      round_winrate_ct: maybe(number), pistol_winrate: maybe(number), kd_ratio: maybe(number), avg_damage: maybe(number), form_results: [any],
    }],
    head_to_head: record(any),
  },
  team: {
    id: int, name: filled, short_name: maybe(text), country: maybe(text), ...country, elo_rating: maybe(int), elo_peak: maybe(int),
    map_stats: maybe({
      as_of: any, maps: [any], sample_size: count, map_winrate: number, round_winrate: number, round_winrate_t: number, round_winrate_ct: number,
    }),
  },
};

// Horse racing, 2.7: the data model; the fields of an answer are not documented.

export const RACE_STATES = ["prematch", "idle", "live", "archived", "cancelled"];
const track = { id: int, name: filled, slug: filled, region: maybe(text) };
export const racing = {
  race: {
    id: any, name: filled, slug: filled, track, region: maybe(text), state: oneOf(...RACE_STATES), starts_at: offsetTime,
    on_line_at: maybe(offsetTime), off_line_at: maybe(offsetTime), provider: maybe(text), competitors_count: count,
  },
  track: { ...track, tier: maybe(any), sort_score: maybe(number) },
  horse: { id: int, name: filled, grade: maybe(any), last_seen_at: maybe(offsetTime) },
  runner: { id: int, program_number: maybe(int), finish_position: maybe(int) },
  person: { id: int, name: filled },
};
