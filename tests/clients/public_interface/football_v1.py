"""The shapes of football, version 1: SERVICE 1.6."""

from football_v2 import PLAYER_COUNTERS, PLAYER_RATINGS, STATUSES
from football_v2 import BOOKMAKER, COMPARISON, ODDS_ROW
from shapes import fields, named, nullable, one_of, page

# What the index names (SERVICE 0).
INDEX = (
    "leagues teams events fixtures matches live predictions players player-stats odds managers seasons venues social "
    "tv-channels broadcasts"
).split()  # fmt: skip

LEAGUE = fields("id:int api_id:int? name:str country:str season_id:int? is_women:bool? current_season:any")
TEAM = fields("id:int name:str short_name:str? country:str")
VENUE = fields("id:int name:str")
TEAM_DETAIL = TEAM | fields(coach=nullable(fields("name:str shortName:str?")), venue=nullable(VENUE))
BRIEF = fields("id:int name:str short_name:str?")
COACH = fields(
    "id:int name:str short_name:str? country:str? profile:str? preferred_formation:str? pressing_intensity:num? defensive_line:str? "
    "top_styles:list"
)
ABSENT = fields("name:str status:str? reason:str? expected_return:str?")
JERSEY = fields(player=nullable(fields("base:str?")))
PRICES = (
    "odds_home odds_draw odds_away odds_over_15 odds_over_25 odds_over_35 odds_under_15 odds_under_25 odds_under_35 odds_btts_yes "
    "odds_btts_no"
)
# Counter by counter, each with both sides.
SR_STATS = named(
    "possession attack dangerous_attack ball_safe attack_pct dangerous_attack_pct ball_safe_pct", nullable(fields("home:int away:int"))
)
EVENT = named(PRICES, nullable("num")) | fields(
    "id:int home_team:str away_team:str event_date:time home_score:int? away_score:int? current_minute:int? "
    "home_score_ht:int? away_score_ht:int? round_number:int? round_name:str group_name:str? attendance:int? live_websocket:bool "
    "weather_code:int? wind_speed:num? temperature_c:int? is_neutral_ground:bool? is_local_derby:bool? "
    "incidents:list funfacts:list? actual_home_xg:num? actual_away_xg:num? home_xg_live:num? away_xg_live:num?",
    league=fields("id:int name:str country:str is_women:bool? current_season:any"),
    home_team_obj=BRIEF,
    away_team_obj=BRIEF,
    status=one_of(*STATUSES, "HT", "canceled"),
    period=nullable(one_of("", "1T", "HT", "2T", "FT", "ET", "PEN", "1ET", "2ET", "P", "AET", "AP")),
    live_stats=nullable(fields(home="obj", away="obj")),
    sr_stats=nullable(SR_STATS),
    jerseys=nullable(fields(home=nullable(JERSEY), away=nullable(JERSEY))),
    venue=nullable(VENUE),
    unavailable_players=nullable(fields(home=[ABSENT], away=[ABSENT])),
    home_coach=nullable(COACH),
    away_coach=nullable(COACH),
)
# SERVICE 9.
FORM = nullable(fields("matches_played:int form_string:str wins:int goals_scored_last_n:int avg_xg:num? home_ppg:num?"))
LINE_UP = nullable(fields("formation:str? substitutes:list", players=[fields("name:str player_id:int goals:int yellow_card:bool")]))
EVENT_DETAIL = EVENT | fields(
    "social:list ai_preview:any",
    home_team_obj=TEAM_DETAIL,
    away_team_obj=TEAM_DETAIL,
    referee=nullable(fields("id:int name:str country:str nationality_a3:str yellowCards:int? redCards:int?")),
    home_form=FORM,
    away_form=FORM,
    head_to_head=nullable(fields("total_matches:int home_wins:int recent_matches:list")),
    lineups=nullable(fields("confirmed:bool", home=LINE_UP, away=LINE_UP)),
)
PREDICTION = fields(
    "id:int prob_home_win:num prob_draw:num prob_away_win:num predicted_result:str most_likely_score:str confidence:num favorite:str "
    "winner_recommend:bool markets:obj",
    event=EVENT,
)
PLAYER = fields(
    "id:int name:str short_name:str? position:str specific_position:str? positions_detailed:list strengths:list weaknesses:list jersey_number:int? "
    "height:num? weight:num? date_of_birth:day? nationality:str? contract_until:str? market_value:num? current_team:any national_team:any "
    "injury_type:str? injury_expected_return:str? transfers:list",
    preferred_foot=one_of("R", "L", "B", ""),
    availability=nullable(one_of("available", "injured", "doubtful", "suspended")),
    attributes=nullable(fields("attacking:num technical:num tactical:num defending:num creativity:num position:str")),
)
PLAYER_STATS_ROW = (
    named(PLAYER_COUNTERS, nullable("int"))
    | named(PLAYER_RATINGS, nullable("num"))
    | named(
        "dribble_attempted dribble_won penalty_won penalty_miss penalty_conceded penalty_save penalty_faced", nullable("int")
    )
    | fields(
        "heatmap:list",
        event=fields("id:int home_team:str away_team:str event_date:time home_score:int? away_score:int?"),
        player=fields("id:int name:str short_name:str? position:str specific_position:str? positions_detailed:list team:any"),
    )
)
MANAGER = fields(
    "id:int name:str short_name:str? country:str? preferred_formation:str? formations_used:any profile:str? team_style:str? "
    "pressing_intensity:num? defensive_line:str? tactical_styles:list matches_total:int wins:int draws:int losses:int win_pct:num? "
    "avg_goals_scored:num? avg_goals_conceded:num? avg_possession:num? avg_shots:num? avg_shots_on_target:num? avg_xg_for:num? "
    "avg_xg_against:num? avg_corners:num? avg_yellow_cards:num? avg_red_cards:num? avg_fouls:num? clean_sheet_pct:num? btts_pct:num? "
    "over_25_pct:num? over_15_pct:num? fail_to_score_pct:num? avg_goals_scored_1h:num? avg_goals_conceded_1h:num?",
    current_team=nullable(fields("id:int name:str")),
)
STANDINGS = fields("standings:list")

# Path below /api/, the shape of the answer, and the meaning of its `{name}` in `World`.
ENDPOINTS = [
    ("broadcasts/", page("obj")),
    ("events/", page(EVENT)),
    ("events/{event}/", EVENT_DETAIL),
    ("fixtures/", page(EVENT)),
    ("fixtures/{event}/", EVENT_DETAIL),
    ("leagues/", page(LEAGUE)),
    ("leagues/{league}/", LEAGUE),
    ("leagues/{league}/standings/", STANDINGS),
    ("live/", page(EVENT)),
    ("live/{live}/", EVENT_DETAIL),
    ("managers/", page(MANAGER)),
    ("managers/{manager}/", MANAGER),
    ("matches/", page(EVENT)),
    ("matches/{event}/", EVENT_DETAIL),
    ("odds/", page(ODDS_ROW)),
    ("odds/{odds}/", ODDS_ROW),
    ("odds/best/?event={upcoming}", page("obj")),
    ("odds/bookmakers/", page(BOOKMAKER)),
    ("odds/compare/?event={upcoming}", COMPARISON),
    ("odds/polymarket/?event={upcoming}", "obj"),
    ("player-stats/", page(PLAYER_STATS_ROW)),
    ("player-stats/{player_stats}/", PLAYER_STATS_ROW),
    ("players/", page(PLAYER)),
    ("players/{player}/", PLAYER),
    ("predicted-lineup/{event}/", "obj"),
    ("predictions/", page(PREDICTION)),
    ("predictions/{prediction}/", PREDICTION),
    ("referees/", page(fields("id:int name:str"))),
    ("seasons/", page(fields("id:int name:str year:int?"))),
    ("seasons/{season}/", fields("id:int name:str")),
    ("social/", page("obj")),
    ("teams/", page(TEAM)),
    ("teams/{team}/", TEAM_DETAIL),
    ("teams/{team}/matches/", page(EVENT)),
    ("tv-channels/", page("obj")),
    ("venues/", page(VENUE)),
    ("venues/{venue}/", VENUE),
]
