// Football, version 2: SERVICE.md 1.9. A field of which the page does not say otherwise may be null: not known.

import {
  any, bool, count, date, differences, filled, int, maybe, number, offsetTime, oneOf, optional, percent, share, text, zuluTime,
} from "../shape.js";

export const envelope = (row) => ({ count, next: maybe(filled), previous: maybe(filled), results: [row] });
export const failure = { error: oneOf(true), status: int, detail: filled };

const pair = { home: maybe(int), away: maybe(int) };
const named = { id: int, name: filled };

export const headToHead = {
  total_matches: maybe(count), home_wins: maybe(count), draws: maybe(count), away_wins: maybe(count),
  home_goals: maybe(count), away_goals: maybe(count), avg_total_goals: maybe(number),
  home_win_rate: maybe(share), away_win_rate: maybe(share),
  recent_matches: maybe([{
    date: offsetTime, home: filled, away: filled, event_id: optional(int), home_team_id: optional(int), away_team_id: optional(int),
    score: (value) => (/^\d+-\d+$/.test(value) ? "" : `no score but ${value}`),
  }]),
};

export const EVENT_STATUS = [
  "notstarted", "inprogress", "1st_half", "halftime", "2nd_half", "extratime", "penalties", "aet", "finished",
  "postponed", "cancelled", "unresolved", "delayed", "suspended", "abandoned", "interrupted",
];

export const event = {
  id: int, league_id: int, season_id: maybe(int), home_team_id: int, home_team: filled, away_team_id: int, away_team: filled,
  home_coach_id: maybe(int), away_coach_id: maybe(int), referee_id: maybe(int), venue_id: maybe(int),
  event_date: offsetTime, status: oneOf(...EVENT_STATUS), replaced_by: maybe(int), round_number: maybe(int),
  round_name: text, group_name: maybe(text), period: oneOf("", "1T", "HT", "2T", "ET", "ET1", "ET2", "PEN", "FT"),
  current_minute: maybe(int), home_score: maybe(count), away_score: maybe(count), home_score_ht: maybe(count),
  away_score_ht: maybe(count), penalty_shootout: maybe(pair), extra_time_score: maybe(pair), is_local_derby: bool,
  is_neutral_ground: bool, travel_distance_km: maybe(number),
  weather: maybe({ code: maybe(int), description: maybe(text), wind_speed: maybe(number), temperature_c: maybe(number) }),
  pitch_condition: maybe(int), attendance: maybe(int), live_websocket: bool, websocket_plus: bool,
  highlights: [{ kind: text, title: text, url: text, thumbnail: maybe(text), published_at: maybe(zuluTime) }],
  head_to_head: headToHead,
  round_label: maybe(text), stage: maybe(text), stage_name: maybe(text), has_xg: bool, previous_leg_event_id: maybe(int),
};
export const eventKeys = Object.keys(event).slice(0, Object.keys(event).indexOf("round_label"));
/** The names of halves are in another field here than in the match itself. */
export const liveEvent = {
  ...event, league_name: filled, last_updated: offsetTime, status: oneOf("notstarted", "inprogress", "finished"),
  period: oneOf("", "1st_half", "halftime", "2nd_half", "extra_time", "penalties", "FT"),
};
export const live = { count, events: [liveEvent] };

const INTEGERS = `duels fouls passes punches tackles offsides big_saves throw_ins clearances free_kicks goal_kicks recoveries
  big_chances high_claims tackles_won total_saves total_shots corner_kicks dispossessed hit_woodwork yellow_cards red_cards
  blocked_shots interceptions total_tackles ball_possession shots_on_target goalkeeper_saves shots_inside_box
  shots_off_target shots_outside_box big_chances_missed big_chances_scored final_third_entries errors_lead_to_a_shot
  fouled_in_final_third touches_in_penalty_area attack ball_safe dangerous_attack attack_pct ball_safe_pct
  dangerous_attack_pct accurate_passes`.split(/\s+/);
const FLOATS = ["expected_goals", "goals_prevented", "pass_accuracy_pct"];
const RATIOS = ["crosses", "dribbles", "long_balls", "aerial_duels", "ground_duels", "final_third_phase"];
const all = (names, shape) => Object.fromEntries(names.map((name) => [name, shape]));

/** Counters of one side: a key may be missing, and none that comes is null. */
export const counters = {
  ...all(INTEGERS, optional(int)),
  ...all(FLOATS, optional(number)),
  ...all(RATIOS, optional({ value: int, total: int, pct: number })),
  xg: optional({ actual: number }),
};
const halves = { home: counters, away: counters };
const point = { x: number, y: number };

export const stats = {
  event_id: int,
  stats: { ...halves, first_half: halves, second_half: halves },
  shotmap: [{
    min: int, added: optional(maybe(int)), home: bool, type: oneOf("goal", "save", "miss", "block"), xg: maybe(number),
    xgot: maybe(number), gml: maybe(text), sit: maybe(text), body: maybe(text), gtype: optional(oneOf("regular", "own_goal", "penalty")),
    player_id: maybe(int), pos: point, gm: maybe(point), block: optional(maybe(point)),
  }],
  momentum: [{ m: number, v: number }],
  average_positions: {
    home: [{ n: any, x: number, y: number, pos: text, name: text, player_id: maybe(int) }],
    away: [{ n: any, x: number, y: number, pos: text, name: text, player_id: maybe(int) }],
  },
  xg_per_minute: [{ m: number, xg_home: number, xg_away: number, cum_home: number, cum_away: number }],
};

export const PLAYER_COUNTERS = `minutes_played rating touches goals goal_assist expected_goals expected_assists total_shots
  shots_on_target key_pass total_pass accurate_pass total_long_balls accurate_long_balls total_cross accurate_cross
  total_contest won_contest duel_won duel_lost aerial_won aerial_lost total_tackle won_tackle total_clearance interception
  ball_recovery blocked_scoring_attempt dispossessed possession_lost was_fouled fouls yellow_card red_card saves
  goals_conceded punches high_claims good_high_claim accurate_keeper_sweeper total_keeper_sweeper goals_prevented
  keeper_save_value goalkeeper_value_normalized big_chance_created big_chance_missed expected_goals_on_target hit_woodwork
  last_man_tackle outfielder_block saved_shots_from_inside_the_box clearance_off_line challenge_lost total_offside
  error_lead_to_a_goal error_lead_to_a_shot defensive_value_normalized pass_value_normalized shot_value_normalized
  dribble_value_normalized ball_carries_count progressive_ball_carries_count total_ball_carries_distance
  total_progressive_ball_carries_distance best_ball_carry_progression total_progression unsuccessful_touch
  accurate_opposition_half_passes total_opposition_half_passes accurate_own_half_passes total_own_half_passes`.split(/\s+/);
/** What may be not known; every other counter is a number. */
export const UNKNOWN = PLAYER_COUNTERS.filter((name) => /^(rating|expected_.*|goals_prevented|.*_value.*)$/.test(name));
const COUNTED = PLAYER_COUNTERS.filter((name) => !UNKNOWN.includes(name));
export const playerCounters = { ...all(UNKNOWN, maybe(number)), ...all(COUNTED, count) };
export const playerStatsRow = { id: int, player_id: int, event_id: int, team_id: int, ...playerCounters };
export const playerStats = { event_id: int, count, player_stats: [playerStatsRow] };

const happened = { minute: int, added_time: maybe(int), is_home: maybe(bool) };
const byPlayer = { ...happened, player: maybe(filled), player_id: maybe(int) };
const incidentOf = {
  goal: {
    ...byPlayer, assist: maybe(filled), goal_type: maybe(oneOf("regular", "own_goal", "penalty")), home_score: maybe(count), away_score: maybe(count),
    sequence: [{ event: text, pid: maybe(int), player: maybe(text), pos: maybe(point), end: maybe(point), body: maybe(text), gk: maybe(point), gm: maybe(point) }],
  },
  card: { ...byPlayer, card_type: oneOf("yellow", "red", "yellowRed"), rescinded: bool },
  substitution: { ...happened, player_in: maybe(filled), player_in_id: maybe(int), player_out: maybe(filled), player_out_id: maybe(int) },
  period: { minute: int, text: filled, home_score: count, away_score: count, is_live: bool },
  injuryTime: { minute: int, length: int },
  varDecision: { ...byPlayer, decision: filled, confirmed: maybe(bool) },
  inGamePenalty: { ...byPlayer, text: filled },
  penaltyShootout: { ...byPlayer, text: maybe(filled) },
};
export const incidents = {
  event_id: int,
  incidents: [(row, path) => (row?.type in incidentOf ? differences(row, incidentOf[row.type], path) : `no incident but ${JSON.stringify(row)}`)],
};

const lineupPlayer = {
  id: maybe(int), name: filled, short_name: maybe(text), position: text, jersey_number: maybe(int), ai_score: maybe(share), captain: bool,
};
const lineupSide = {
  team_id: int, team_name: filled, formation: maybe(text), confidence: maybe(number), players: [lineupPlayer], substitutes: [lineupPlayer],
};
const unavailable = [{ id: maybe(int), name: filled, short_name: maybe(text), status: oneOf("injured", "suspended", "doubtful"), reason: maybe(text) }];
export const lineups = {
  lineup_status: oneOf("confirmed", "predicted", "unavailable"),
  lineups: maybe({ home: lineupSide, away: lineupSide }),
  unavailable_players: { home: unavailable, away: unavailable },
};

export const prediction = {
  id: int, created_at: zuluTime, event: { id: int, home_team: any, away_team: any },
  markets: {
    match_result: { prob_home: percent, prob_draw: percent, prob_away: percent, predicted: oneOf("H", "D", "A") },
    expected_goals: { home: number, away: number },
    over_under: { prob_over_15: percent, prob_over_25: percent, prob_over_35: percent },
    btts: { prob_yes: percent },
    score: { most_likely: (value) => (/^\d+-\d+$/.test(value) ? "" : `no score but ${value}`) },
    draw_no_bet: { prob_home: percent },
    corners: { prob_over_85: maybe(percent), prob_over_95: maybe(percent), prob_over_105: maybe(percent) },
  },
  recommendations: {
    favorite: any, favorite_prob: maybe(number), bet_favorite: any, over_15: any, over_25: any, over_35: any, btts: any, winner: any,
  },
  model: { confidence: share, version: filled },
};

export const season = { id: int, name: text, year: int, start_date: maybe(date), end_date: maybe(date), is_current: bool };
export const leagueSeason = { ...season, league_id: int, season };
export const league = {
  id: int, name: filled, country: text, is_active: bool, is_women: bool, current_season: maybe(season),
};
export const seasons = { league_id: int, count, seasons: [season] };

const standing = {
  position: int, team_id: int, team_name: filled, played: count, won: count, drawn: count, lost: count, gf: count, ga: count,
  gd: int, pts: int, xgf: maybe(number), xga: maybe(number), xgd: maybe(number), xg_games: maybe(count), live: bool,
  form: (value) => (/^[WDL]*$/.test(value) ? "" : `no form but ${JSON.stringify(value)}`),
};
export const standings = { league_id: int, season: { id: int }, seasons: [{ id: int }], grouped: bool, standings: [standing] };

export const top = {
  league_id: int, season: { id: int }, stat: filled, label: filled,
  leaders: [{ rank: int, player_id: int, player_name: filled, position: maybe(text), team_id: int, team_name: filled, value: number, matches: count }],
};
export const TOP = ["scorers", "assists", "yellowcards", "redcards", "fouls"];

export const team = { id: int, name: filled, short_name: text, country: maybe(text), venue_id: maybe(int) };
export const squad = {
  team_id: int, count,
  players: [{
    id: int, name: filled, short_name: text, position: text, jersey_number: maybe(int), nationality: maybe(text), date_of_birth: maybe(date),
  }],
};
export const venue = {
  id: int, name: filled, city: maybe(text), country: maybe(text), country_code: maybe(text), capacity: maybe(int), latitude: maybe(number),
  longitude: maybe(number), pitch_length_m: maybe(number), pitch_width_m: maybe(number), built_year: maybe(int),
  home_team_id: maybe(int), competition_assignments: [any],
};
export const referee = {
  id: int, name: filled, country: maybe(text), nationality_a3: maybe(text), birthdate: maybe(date), matches: maybe(count),
  total_yellow_cards: maybe(count), total_red_cards: maybe(count), avg_yellow_per_match: maybe(number),
  avg_red_per_match: maybe(number), avg_goals_per_match: maybe(number), avg_fouls_per_match: maybe(number),
  career_games: maybe(count), career_yellow_cards: maybe(count), career_red_cards: maybe(count),
};
/** Texts of a manager are empty where they are not set, never null. */
export const manager = {
  id: int, name: filled, short_name: text, country: text, tactical_profile: text, preferred_formation: text,
  current_team_id: maybe(int), matches_total: maybe(count), wins: maybe(count), draws: maybe(count), losses: maybe(count),
  win_pct: maybe(percent), avg_goals_scored: maybe(number), avg_goals_conceded: maybe(number), avg_possession: maybe(number),
  clean_sheet_pct: maybe(percent), btts_pct: maybe(percent), over_25_pct: maybe(percent), stats_updated_at: maybe(zuluTime),
};
export const player = {
  id: int, name: filled, short_name: text, position: text, specific_position: text, jersey_number: maybe(int),
  date_of_birth: maybe(date), height_cm: maybe(int), weight_kg: maybe(int), preferred_foot: oneOf("left", "right", "both", ""),
  nationality: maybe(text), current_team_id: maybe(int), national_team_id: maybe(int),
  current_team: maybe({ ...named, short_name: text }), national_team: maybe(any), market_value_eur: maybe(int),
  contract_until: maybe(date), availability: maybe(text),
  attributes: maybe({ attacking: number, technical: number, tactical: number, defending: number, creativity: number, position: any }),
  strengths: [any], weaknesses: [any], rating: maybe(number), potential: maybe(number), injury_risk: maybe(any), wage_eur_annual: maybe(int),
};
export const bestPlayer = {
  player_id: int, player_name: filled, team_id: int, team_name: filled, avg_rating: maybe(number), matches: count, goals: maybe(count), assists: maybe(count),
};
