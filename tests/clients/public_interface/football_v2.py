"""The shapes of football, version 2: SERVICE 1.9 and 3."""

from shapes import any_of, fields, map_of, missable, named, nullable, one_of, page

STATUSES = (
    "notstarted", "1st_half", "halftime", "2nd_half", "finished", "postponed", "cancelled", "unresolved",
    "extratime", "penalties", "aet", "delayed", "inprogress", "suspended", "abandoned", "interrupted",
)  # fmt: skip
IN_PLAY = ("1st_half", "halftime", "2nd_half", "extratime", "penalties", "inprogress", "interrupted", "suspended", "delayed")

MEETING = fields("date:utc home:str away:str score:str event_id:int~ home_team_id:int~ away_team_id:int~")
H2H = fields(
    "total_matches:int? home_wins:int? draws:int? away_wins:int? home_goals:int? away_goals:int? avg_total_goals:num? "
    "home_win_rate:num? away_win_rate:num?",
    recent_matches=nullable([MEETING]),
)
BOTH = fields("home:int away:int")
EVENT = fields(
    "id:int league_id:int season_id:int? home_team_id:int home_team:str away_team_id:int away_team:str home_coach_id:int? "
    "away_coach_id:int? referee_id:int? venue_id:int? event_date:utc replaced_by:int? round_number:int? round_name:str "
    "group_name:str? current_minute:int? home_score:int? away_score:int? home_score_ht:int? away_score_ht:int? "
    "is_local_derby:bool is_neutral_ground:bool travel_distance_km:num? pitch_condition:int? attendance:int? "
    "live_websocket:bool websocket_plus:bool round_label:str?~ stage:str?~ stage_name:str?~ has_xg:bool~ previous_leg_event_id:int?~",
    status=one_of(*STATUSES),
    period=one_of("", "1T", "HT", "2T", "FT", "ET", "PEN", "1ET", "2ET", "P", "AET", "AP"),
    penalty_shootout=nullable(BOTH),
    extra_time_score=nullable(BOTH),
    period_starts=missable(fields("first_half:utc~ second_half:utc~ extra_first:utc~ extra_second:utc~ shootout:utc~")),
    weather=nullable(fields("code:int? description:str? wind_speed:num? temperature_c:num?")),
    highlights=[fields("kind:str title:str url:url thumbnail:str? published_at:str?")],
    head_to_head=H2H,
)
# The names of halves are in another field here than in the match itself.
LIVE_EVENT = EVENT | fields(
    "league_name:str last_updated:utc",
    status=one_of("notstarted", "inprogress", "finished"),
    period=one_of("", "1st_half", "halftime", "2nd_half", "extra_time", "penalties", "FT"),
)

COUNTERS = (
    "duels fouls passes punches tackles offsides big_saves throw_ins clearances free_kicks goal_kicks recoveries big_chances "
    "high_claims tackles_won total_saves total_shots corner_kicks dispossessed hit_woodwork yellow_cards red_cards blocked_shots "
    "interceptions total_tackles ball_possession shots_on_target goalkeeper_saves shots_inside_box shots_off_target "
    "shots_outside_box big_chances_missed big_chances_scored final_third_entries errors_lead_to_a_shot fouled_in_final_third "
    "touches_in_penalty_area attack ball_safe dangerous_attack attack_pct ball_safe_pct dangerous_attack_pct"
)
RATIO = fields("value:int total:int pct:num")
# A key may be missing: missing is not 0.
SIDE_STATS = (
    named(COUNTERS, missable("int"))
    | named("expected_goals goals_prevented pass_accuracy_pct", missable("num"))
    | named("crosses dribbles long_balls aerial_duels ground_duels final_third_phase", missable(RATIO))
    | {"accurate_passes": missable(any_of("int", RATIO)), "xg": missable(fields("actual:num"))}
)
SIDES = fields(home=SIDE_STATS, away=SIDE_STATS)
POINT = fields("x:num y:num")
STATS = fields(
    "event_id:int",
    stats=SIDES | fields(first_half=SIDES, second_half=SIDES),
    shotmap=[fields("min:int home:bool type:str xg:num? xgot:num? player_id:int?")],
    momentum=[fields("m:num v:num")],
    average_positions=fields(home=[fields("n:int? x:num y:num pos:str? name:str? player_id:int?")], away=["obj"]),
    xg_per_minute=[fields("m:int xg_home:num xg_away:num cum_home:num cum_away:num")],
)
PLAYER_COUNTERS = (
    "minutes_played touches goals goal_assist total_shots shots_on_target key_pass total_pass accurate_pass total_long_balls "
    "accurate_long_balls total_cross accurate_cross total_contest won_contest duel_won duel_lost aerial_won aerial_lost total_tackle "
    "won_tackle total_clearance interception ball_recovery blocked_scoring_attempt dispossessed possession_lost was_fouled fouls "
    "yellow_card red_card saves goals_conceded punches high_claims good_high_claim accurate_keeper_sweeper total_keeper_sweeper "
    "big_chance_created big_chance_missed hit_woodwork last_man_tackle outfielder_block saved_shots_from_inside_the_box "
    "clearance_off_line challenge_lost total_offside error_lead_to_a_goal error_lead_to_a_shot ball_carries_count "
    "progressive_ball_carries_count unsuccessful_touch accurate_opposition_half_passes total_opposition_half_passes "
    "accurate_own_half_passes total_own_half_passes"
)
PLAYER_RATINGS = (
    "rating expected_goals expected_assists goals_prevented keeper_save_value goalkeeper_value_normalized expected_goals_on_target "
    "defensive_value_normalized pass_value_normalized shot_value_normalized dribble_value_normalized total_ball_carries_distance "
    "total_progressive_ball_carries_distance best_ball_carry_progression total_progression"
)
PLAYER_STATS_ROW = (
    fields("id:int player_id:int event_id:int team_id:int")
    | named(PLAYER_COUNTERS, "int")
    | named(PLAYER_RATINGS, nullable("num"))
)
PLAYER_STATS = fields("event_id:int count:int", player_stats=[PLAYER_STATS_ROW])
HAPPENED = fields("minute:int added_time:int? is_home:bool?")
BY_PLAYER = HAPPENED | fields("player:str? player_id:int?")
INCIDENT = any_of(
    BY_PLAYER
    | fields(
        "assist:str? home_score:int? away_score:int? sequence:list",
        type=one_of("goal"),
        goal_type=nullable(one_of("regular", "own_goal", "penalty")),
    ),
    BY_PLAYER | fields("rescinded:bool", type=one_of("card"), card_type=one_of("yellow", "red", "yellowRed")),
    HAPPENED | fields("player_in:str? player_in_id:int? player_out:str? player_out_id:int?", type=one_of("substitution")),
    fields("minute:int text:str home_score:int away_score:int is_live:bool", type=one_of("period")),
    fields("minute:int length:int", type=one_of("injuryTime")),
    BY_PLAYER | fields("decision:str confirmed:bool?", type=one_of("varDecision")),
    BY_PLAYER | fields("text:str?", type=one_of("inGamePenalty", "penaltyShootout")),
)
INCIDENTS = fields("event_id:int", incidents=[INCIDENT])
LINEUP_PLAYER = fields("id:int? name:str short_name:str? position:str? jersey_number:int? ai_score:num? captain:bool")
LINEUP_SIDE = fields("team_id:int team_name:str formation:str? confidence:num?~", players=[LINEUP_PLAYER], substitutes=[LINEUP_PLAYER])
UNAVAILABLE = fields("id:int? name:str short_name:str? reason:str?", status=one_of("injured", "suspended", "doubtful"))
LINEUPS = fields(
    "event_id:int~",
    lineup_status=one_of("confirmed", "predicted", "unavailable"),
    lineups=nullable(fields(home=LINEUP_SIDE, away=LINEUP_SIDE)),
    unavailable_players=fields(home=[UNAVAILABLE], away=[UNAVAILABLE]),
)
PREDICTION = fields(
    "id:int created_at:zulu",
    event=fields("id:int home_team:str away_team:str"),
    markets=fields(
        match_result=fields("prob_home:num prob_draw:num prob_away:num", predicted=one_of("H", "D", "A")),
        expected_goals=fields("home:num? away:num?"),
        over_under=fields("prob_over_15:num? prob_over_25:num? prob_over_35:num?"),
        btts=fields("prob_yes:num?"),
        score=fields("most_likely:str?"),
        draw_no_bet=fields("prob_home:num?"),
        corners=fields("prob_over_85:num? prob_over_95:num? prob_over_105:num?"),
    ),
    recommendations=fields("favorite:any favorite_prob:num? bet_favorite:bool? over_15:bool? over_25:bool? over_35:bool? btts:bool? winner:any"),
    model=fields("confidence:num version:str"),
)

SEASON = fields("id:int name:str year:int start_date:day? end_date:day? is_current:bool")
LEAGUE_SEASON = SEASON | fields("league_id:int", season=SEASON)
LEAGUE = fields("id:int name:str country:str is_active:bool is_women:bool", current_season=nullable(SEASON))
SEASONS = fields("league_id:int count:int", seasons=[SEASON])
LINE = fields(
    "position:int team_id:int team_name:str played:int won:int drawn:int lost:int gf:int ga:int gd:int pts:int xgf:num? xga:num? "
    "xgd:num? xg_games:int? form:str live:bool"
)
STANDINGS = any_of(
    fields("league_id:int grouped:bool", season=nullable(SEASON), standings=[LINE]),
    fields("league_id:int grouped:bool", season=nullable(SEASON), groups=map_of([LINE])),
)
LEADER = fields("rank:int player_id:int player_name:str position:str? team_id:int? team_name:str? value:int matches:int?")
TOP = fields("league_id:int stat:str label:str", season=nullable(SEASON), leaders=[LEADER])
TEAM = fields("id:int name:str short_name:str? country:str venue_id:int?")
SQUAD_PLAYER = fields("id:int name:str short_name:str? position:str? jersey_number:int? nationality:str? date_of_birth:day?")
SQUAD = fields("team_id:int count:int", players=[SQUAD_PLAYER])
VENUE = fields(
    "id:int name:str city:str? country:str? country_code:str? capacity:int? latitude:num? longitude:num? pitch_length_m:num? "
    "pitch_width_m:num? built_year:int? home_team_id:int? competition_assignments:list"
)
REFEREE = fields(
    "id:int name:str country:str? nationality_a3:str? birthdate:day? matches:int total_yellow_cards:int total_red_cards:int "
    "avg_yellow_per_match:num? avg_red_per_match:num? avg_goals_per_match:num? avg_fouls_per_match:num? career_games:int? "
    "career_yellow_cards:int? career_red_cards:int?"
)
MANAGER = fields(
    # Empty text where unset.
    "id:int name:str short_name:str country:str tactical_profile:str preferred_formation:str current_team_id:int? matches_total:int "
    "wins:int draws:int losses:int win_pct:num? avg_goals_scored:num? avg_goals_conceded:num? avg_possession:num? clean_sheet_pct:num? "
    "btts_pct:num? over_25_pct:num? stats_updated_at:time?"
)
CAREER = fields(tenures=[fields("team_id:int team_name:str appointment_effect:any")])
PLAYER = fields(
    "id:int name:str short_name:str position:str specific_position:str jersey_number:int? date_of_birth:day? height_cm:int? weight_kg:int? "
    "nationality:str? current_team_id:int? national_team_id:int? national_team:any market_value_eur:num? contract_until:str? availability:str? "
    "strengths:list weaknesses:list rating:num? potential:num? injury_risk:any wage_eur_annual:num?",
    preferred_foot=one_of("left", "right", "both", ""),
    current_team=nullable(fields("id:int name:str short_name:str?")),
    attributes=nullable(fields("attacking:num technical:num tactical:num defending:num creativity:num position:str")),
)
CONSENSUS = fields(
    "event_id:int last_update_at:zulu? next_update_at:zulu? update_interval_seconds:int? update_reason:str",
    odds=named(
        "home_win draw away_win over_15_goals under_15_goals over_25_goals under_25_goals over_35_goals under_35_goals btts_yes btts_no",
        nullable("num"),
    ),
)
MOVEMENTS = ("SHORTENING", "DRIFTING", "")
ODDS_ROW = fields(
    "id:int event_id:int? market:str outcome:str line:num? outcome_name:str? bookmaker_slug:str bookmaker_name:str decimal_odds:num "
    "previous_decimal_odds:num? opening_decimal_odds:num implied_probability:num is_max_quote:bool updated_at:zulu opening_at:zulu~",
    push=missable(nullable("str")),
    movement=one_of(*MOVEMENTS),
)
COMPARED = fields(
    "outcome:str line:num? outcome_name:str? best_odds:num best_bookmaker_slug:str best_bookmaker_name:str",
    bookmakers=map_of(fields("decimal_odds:num updated_at:zulu", movement=one_of(*MOVEMENTS))),
)
COMPARISON = fields(
    "event_id:int event_date:zulu league_id:int league_name:str home_team_id:int home_team:str away_team_id:int away_team:str "
    "bookmakers_count:int total_odds:int",
    markets=map_of(map_of(COMPARED)),
)
BOOKMAKER = fields("slug:str name:str")

# Path below /api/v2/, the shape of the answer, and the meaning of its `{name}` in `World`.
ENDPOINTS = [
    ("coverage/", any_of("obj", ["obj"])),
    ("bookmakers/", page(BOOKMAKER)),
    ("events/", page(EVENT)),
    ("events/live/", fields("count:int", events=[LIVE_EVENT])),
    ("events/{event}/", EVENT),
    ("events/{event}/broadcasts/", "obj"),
    ("events/{event}/h2h/", H2H),
    ("events/{event}/incidents/", INCIDENTS),
    ("events/{event}/lineups/", LINEUPS),
    ("events/{event}/metadata/", "obj"),
    ("events/{event}/odds/", CONSENSUS),
    ("events/{event}/odds/comparison/", COMPARISON),
    ("events/{event}/player-stats/", PLAYER_STATS),
    ("events/{event}/polymarket/", "obj"),
    ("events/{event}/prediction/", PREDICTION),
    ("events/{event}/social/", page("obj")),
    ("events/{event}/stats/", STATS),
    ("leagues/", page(LEAGUE)),
    ("leagues/{league}/", LEAGUE),
    ("leagues/{league}/bestxi/{season}/", "obj"),
    ("leagues/{league}/bestxi/{season}/1/", "obj"),
    ("leagues/{league}/season/", LEAGUE_SEASON),
    ("leagues/{league}/seasons/", SEASONS),
    ("leagues/{league}/seasons/{season}/venues/", page(VENUE)),
    ("leagues/{league}/standings/", STANDINGS),
    ("leagues/{league}/top/scorers/", TOP),
    ("leagues/{league}/top/assists/", TOP),
    ("leagues/{league}/top/yellowcards/", TOP),
    ("leagues/{league}/top/redcards/", TOP),
    ("leagues/{league}/top/fouls/", TOP),
    ("leagues/{league}/venues/", page(VENUE)),
    ("teams/", page(TEAM)),
    ("teams/{team}/", TEAM),
    ("teams/{team}/fixtures/", page(EVENT)),
    ("teams/{team}/social/", page("obj")),
    ("teams/{team}/squad/", SQUAD),
    ("players/", page(PLAYER)),
    ("players/{player}/", PLAYER),
    ("players/{player}/career/", "obj"),
    ("players/{player}/national-team/", "obj"),
    ("players/{player}/social/", page("obj")),
    ("players/{player}/stats/", page(PLAYER_STATS_ROW)),
    ("players/{player}/transfers/", "any"),
    ("managers/", page(MANAGER)),
    ("managers/{manager}/", MANAGER),
    ("managers/{manager}/career/", CAREER),
    ("managers/{manager}/matches/", page(EVENT)),
    ("managers/{manager}/social/", page("obj")),
    ("referees/", page(REFEREE)),
    ("referees/{referee}/", REFEREE),
    ("referees/{referee}/matches/", page(EVENT)),
    ("venues/", page(VENUE)),
    ("venues/{venue}/", VENUE),
    ("venues/{venue}/competitions/", "obj"),
    ("odds/", page(ODDS_ROW)),
    ("odds/best/", page("obj")),
    ("odds/{odds}/", ODDS_ROW),
    ("predictions/", page(PREDICTION)),
    ("predictions/{prediction}/", PREDICTION),
    ("broadcasts/", page("obj")),
    ("tv-channels/", page("obj")),
    ("social/", page("obj")),
    ("transfers/", "any"),
    ("transfers/ledger/", "any"),
    ("transfers/routes/", "any"),
    ("worldcup/squads/", "any"),
]
