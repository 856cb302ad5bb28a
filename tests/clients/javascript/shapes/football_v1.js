// Football, version 1: SERVICE.md 1.6.

import { any, bool, count, date, filled, int, maybe, number, oneOf, percent, record, share, text, time } from "../shape.js";
import { playerCounters } from "./football.js";

const brief = { id: int, name: filled };
const all = (names, shape) => Object.fromEntries(names.map((name) => [name, shape]));

export const ROOT = `leagues teams events fixtures matches live predictions players player-stats odds managers seasons venues
  social tv-channels broadcasts`.split(/\s+/);

export const league = {
  id: int, api_id: maybe(int), name: filled, country: text, season_id: maybe(int), is_women: maybe(bool), current_season: maybe(brief),
};
export const team = { id: int, name: filled, short_name: text, country: text };
export const teamDetail = { ...team, coach: maybe({ name: filled, shortName: text }), venue: maybe(brief) };

const coach = maybe({
  ...brief, short_name: text, country: text, profile: text, preferred_formation: text, pressing_intensity: maybe(share),
  defensive_line: text, top_styles: [any],
});
const prices = `odds_home odds_draw odds_away odds_over_15 odds_over_25 odds_over_35 odds_under_15 odds_under_25 odds_under_35
  odds_btts_yes odds_btts_no`.split(/\s+/);
const out = [{ name: filled, status: filled, reason: maybe(text), expected_return: maybe(date) }];
const sides = maybe({ home: int, away: int });
const xg = ["actual_home_xg", "actual_away_xg", "home_xg_live", "away_xg_live"];

export const event = {
  id: int, league: { ...brief, country: text, is_women: maybe(bool), current_season: maybe(brief) },
  home_team: filled, away_team: filled, home_team_obj: { ...brief, short_name: text }, away_team_obj: { ...brief, short_name: text },
  season: maybe(brief), round_number: maybe(int), round_name: text, group_name: maybe(text),
  event_date: time, status: filled, home_score_ht: maybe(count), away_score_ht: maybe(count), home_score: maybe(count), away_score: maybe(count), current_minute: maybe(int), period: maybe(text),
  ...all(prices, maybe(number)), live_stats: maybe({ home: record(any), away: record(any) }), live_websocket: bool,
  sr_stats: maybe({ possession: sides, attack: sides, dangerous_attack: sides, ball_safe: sides }),
  jerseys: maybe({ home: { player: { base: filled } }, away: { player: { base: filled } } }),
  venue: maybe({ ...brief, country: text, capacity: maybe(int) }), incidents: [{ type: filled }], funfacts: maybe([any]),
  unavailable_players: maybe({ home: out, away: out }), penalty_shootout: sides, extra_time_score: sides, attendance: maybe(count),
  weather_code: maybe(int), wind_speed: maybe(number), temperature_c: maybe(int),
  home_coach: coach, away_coach: coach, ...all(xg, maybe(number)),
};
const form = maybe({ matches_played: count, form_string: text, avg_xg: maybe(number), home_ppg: maybe(number), goals_scored_last_n: count });
const lineUp = maybe({ formation: maybe(text), players: [{ name: filled, player_id: int, goals: count }], substitutes: [{ player_id: int }] });
/** SERVICE.md 9. */
export const eventDetail = {
  ...event, home_form: form, away_form: form, head_to_head: maybe({ total_matches: count, recent_matches: [{ score: filled }] }),
  lineups: maybe({ confirmed: bool, home: lineUp, away: lineUp }), social: [any], ai_preview: maybe(any),
  referee: maybe({ ...brief, country: text, nationality_a3: text, yellowCards: maybe(count), redCards: maybe(count) }),
  home_team_obj: teamDetail, away_team_obj: teamDetail,
};
export const prediction = {
  id: int, event: { ...event, league_id: int }, prob_home_win: percent, prob_draw: percent, prob_away_win: percent,
  predicted_result: oneOf("H", "D", "A"), most_likely_score: filled, confidence: percent, favorite: oneOf("H", "D", "A"), markets: any,
};

const attributes = all(["attacking", "technical", "tactical", "defending", "creativity"], percent);
export const player = {
  id: int, name: filled, short_name: text, position: oneOf("G", "D", "M", "F", ""),
  specific_position: oneOf("GK", "CB", "LB", "RB", "LWB", "RWB", "DM", "CM", "AM", "LW", "RW", "ST", ""), positions_detailed: [any],
  attributes: maybe({ ...attributes, position: any }), strengths: [any], weaknesses: [any], jersey_number: maybe(int),
  height: maybe(int), weight: maybe(int), date_of_birth: maybe(date), nationality: maybe(text), preferred_foot: oneOf("R", "L", "B", ""),
  contract_until: maybe(date), market_value: maybe(int), current_team: maybe(brief), national_team: maybe(brief),
  availability: maybe(oneOf("available", "injured", "doubtful", "suspended")), injury_type: maybe(text), injury_expected_return: maybe(date),
  transfers: [{ transfer_date: maybe(date), from_team: any, to_team: any, from_team_name: maybe(text), to_team_name: maybe(text), fee: any, fee_description: maybe(text) }],
};

export const playerStat = {
  event: { id: int, home_team: any, away_team: any, event_date: time, home_score: maybe(count), away_score: maybe(count) },
  player: { ...brief, short_name: text, position: text, specific_position: text, positions_detailed: [any], team: any },
  ...playerCounters,
  ...all(["dribble_attempted", "dribble_won", "penalty_won", "penalty_miss", "penalty_conceded", "penalty_save", "penalty_faced"], count),
  heatmap: maybe([{ x: number, y: number }]),
};

const averages = `avg_goals_scored avg_goals_conceded avg_possession avg_shots avg_shots_on_target avg_xg_for avg_xg_against
  avg_corners avg_yellow_cards avg_red_cards avg_fouls avg_goals_scored_1h avg_goals_conceded_1h`.split(/\s+/);
const percents = ["win_pct", "clean_sheet_pct", "btts_pct", "over_25_pct", "over_15_pct", "fail_to_score_pct"];
export const manager = {
  ...brief, short_name: text, country: maybe(text), current_team: maybe(brief), preferred_formation: text, formations_used: record(count),
  profile: oneOf("attacking", "defensive", "balanced", ""), team_style: oneOf("hard", "soft", "neutral", ""),
  pressing_intensity: maybe(share), defensive_line: oneOf("low", "mid", "high", ""),
  tactical_styles: [{ rank: int, code: filled, name: filled, category: text, emoji: text, description: text, score: number }],
  ...all(["matches_total", "wins", "draws", "losses"], maybe(count)), ...all(averages, maybe(number)), ...all(percents, maybe(percent)),
};
export const named = brief;
