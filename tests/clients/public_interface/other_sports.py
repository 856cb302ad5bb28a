"""The shapes of the other sports, the Odds API and the signals: SERVICE 2 and 3.5."""

from shapes import any_of, fields, missable, named, nullable, one_of, page

TREND = nullable(one_of("SHORTENING", "DRIFTING", "STABLE", ""))
SOURCE = one_of("multi", "consensus", "none")
IN_PLAY = ("live", "inprogress", "interrupted", "suspended")


# -------------------------------------------------------------------- the odds of most sports, 2.2


MARKET = fields(
    "market_family:str? market_line:num? market_period:str?",
    market_kind=one_of("WINNER", "1X2", "AH", "OU", "DNB"),
    selections=[one_of("HOME", "DRAW", "AWAY", "OVER", "UNDER", "P1", "P2")],
    bookmakers=[fields("bookmaker:str bookmaker_slug:str updated_at:time prices:obj")],
)


def stick(subject):
    """`subject` is how the answer calls its match."""
    book = fields(
        "bookmaker:str bookmaker_slug:str odds_home:num? odds_draw:num? odds_away:num? updated_at:time",
        movement_home=TREND, movement_draw=TREND, movement_away=TREND,
    )  # fmt: skip
    text = f"{subject}:int event_date:time home_team_name:str away_team_name:str bookmakers_count:int"
    return fields(text, source=SOURCE, bookmakers=[book], markets=[MARKET])


# ------------------------------------------------------------------------------------- tennis, 2.1


TENNIS_STATUSES = ("scheduled", "live", "interrupted", "finished", "walkover", "retired", "postponed", "cancelled")
RANKING = nullable(fields("position:int points:int? type:str?"))
TENNIS_BRIEF = fields("id:int name:str short_name:str? gender:str? country_code:str?", current_ranking=RANKING)
TENNIS_TOURNAMENT = fields("id:int name:str circuit:str? category:str? surface:str?")
TENNIS_MATCH = (
    fields(
        "id:int match_date:time round_name:str? player1_sets:int? player2_sets:int? winner_id:int? odds_player1:num? odds_player2:num? "
        "aces_per_set:any point_by_point_available:bool",
        tournament=nullable(TENNIS_TOURNAMENT),
        player1=TENNIS_BRIEF,
        player2=TENNIS_BRIEF,
        status=one_of(*TENNIS_STATUSES),
        sets_detail=any_of([fields("p1:int? p2:int?")], "str"),
    )
    | named("p1_aces p1_double_faults p2_aces p2_double_faults", nullable("int"))
    | named(
        "p1_first_serve_pct p1_first_serve_won_pct p1_second_serve_won_pct p1_break_points_saved_pct "
        "p2_first_serve_pct p2_first_serve_won_pct p2_second_serve_won_pct p2_break_points_saved_pct",
        nullable("num"),
    )
)
TENNIS_LIVE = TENNIS_MATCH | fields(
    "current_set:int? current_game_p1:int? current_game_p2:int? current_point:str? is_serving_p1:bool?"
)
TENNIS_PLAYER = fields(
    "id:int name:str short_name:str? gender:str? country_code:str? country_name:str? date_of_birth:str? height:num? weight:num? plays:str? "
    "turned_pro:int? birthplace:str? residence:str? prize_current_usd:num? prize_total_usd:num?",
    current_ranking=RANKING,
)
TENNIS_TOURNAMENT_ROW = fields(
    "id:int name:str location:str? country:str? start_date:str? end_date:str? winner_points:int? active:bool",
    circuit=nullable(one_of("ATP", "WTA")),
    category=nullable(one_of("grand_slam", "masters_1000", "atp_500", "atp_250", "wta_1000", "wta_500", "wta_250")),
    surface=nullable(one_of("hard", "clay", "grass", "carpet")),
)
SCORED = fields("player1_score:any player2_score:any winner:any")
GAME = fields("game:int server:any winner:any break:bool? player1_games:int player2_games:int", points=[SCORED])
POINTS = fields("match_id:int available:bool", sets=[fields("set:int duration_seconds:int?", games=[GAME])])
TENNIS_ODDS = fields(
    "match_id:int match_date:time player1_name:str player2_name:str bookmakers_count:int",
    source=SOURCE,
    bookmakers=[
        fields(
            "bookmaker:str bookmaker_slug:str odds_player1:num? odds_player2:num? updated_at:time",
            movement_player1=TREND, movement_player2=TREND,
        )
    ],
)  # fmt: skip
TENNIS_FORM = fields("id:int date:utc surface:str? round:str? won:bool?", tournament=nullable(TENNIS_TOURNAMENT), opponent=nullable(TENNIS_BRIEF), score=[fields("p1:int p2:int")])
TENNIS_H2H = fields(
    "match_id:int",
    player1=fields("id:int name:str"),
    player2=fields("id:int name:str"),
    h2h=nullable(fields("total_matches:int player1_wins:int player2_wins:int by_surface:any")),
    player1_last5=[TENNIS_FORM],
    player2_last5=[TENNIS_FORM],
)
TENNIS_PREDICTION = fields(
    "prob_player1_wins:num prob_player2_wins:num confidence:num expected_total_sets:num? prob_over_2_5_sets:num? "
    "expected_total_games:num? prob_over_20_5_games:num? prob_over_21_5_games:num? prob_over_22_5_games:num? "
    "prob_player1_wins_first_set:num? actual_winner:int? was_winner_correct:bool? was_over_sets_correct:bool? was_over_games_correct:bool?",
    predicted_winner=one_of(1, 2),
)
RANKED = fields("id:int position:int points:int? previous_position:int? previous_points:int? best_position:int? type:str? date:str? player:obj")

TENNIS = [
    ("matches/", page(TENNIS_MATCH)),
    ("matches/live/", [TENNIS_LIVE]),
    ("matches/{event}/", TENNIS_MATCH),
    ("matches/{event}/h2h/", TENNIS_H2H),
    ("matches/{event}/odds/", TENNIS_ODDS),
    ("matches/{event}/point-by-point/", POINTS),
    ("players/", page(TENNIS_PLAYER)),
    ("players/{players}/", TENNIS_PLAYER),
    ("predictions/", page(TENNIS_PREDICTION)),
    ("predictions/{predictions}/", TENNIS_PREDICTION),
    ("rankings/", page(RANKED)),
    ("rankings/{rankings}/", RANKED),
    ("tournaments/", page(TENNIS_TOURNAMENT_ROW)),
    ("tournaments/{tournaments}/", TENNIS_TOURNAMENT_ROW),
    ("odds/best/", page("obj")),
]

# --------------------------------------------------------------------------------- basketball, 2.3


BRIEF = fields("id:int name:str short_name:str?")
NAMED = fields("id:int name:str")
BASKETBALL_EVENT = fields(
    "id:int event_date:time home_score:int? away_score:int?",
    league=nullable(NAMED),
    home_team=BRIEF,
    away_team=BRIEF,
    status=one_of("scheduled", "live", "finished", "postponed", "cancelled"),
)
BOX_LINE = fields("name:str minutes:any points:any rebounds:any assists:any fg:any three_pt:any")
BASKETBALL_LINE = fields("position:int team:obj played:int wins:int losses:int win_pct:num?")
BASKETBALL_TEAM = fields("id:int name:str short_name:str? country:str? country_code:str? elo:num? games_played:int")
BASKETBALL_PLAYER = fields(
    "id:int name:str short_name:str? position:str? jersey_number:str? height_cm:int? country:str? country_code:str? date_of_birth:str? team:any"
)
WIN_PREDICTION = fields("predicted_winner_id:int? confidence:num? home_win_prob:num away_win_prob:num")

BASKETBALL = [
    ("events/", page(BASKETBALL_EVENT)),
    ("events/live/", page(BASKETBALL_EVENT)),
    ("events/{event}/", BASKETBALL_EVENT),
    ("events/{event}/box-score/", fields(home=[BOX_LINE], away=[BOX_LINE])),
    ("events/{event}/odds/", stick("event_id")),
    ("events/{event}/pregame/", "obj"),
    ("events/{event}/team-stats/", "obj"),
    ("leagues/", page(NAMED)),
    ("leagues/{leagues}/", NAMED),
    ("managers/", page(NAMED)),
    ("managers/{managers}/", NAMED),
    ("players/", page(BASKETBALL_PLAYER)),
    ("players/{players}/", BASKETBALL_PLAYER),
    ("players/{players}/games/", "any"),
    ("predictions/", page(fields("event_id:int") | WIN_PREDICTION)),
    ("predictions/{predictions}/", fields("event_id:int") | WIN_PREDICTION),
    ("standings/?league={leagues}", fields("league_id:int", standings=[BASKETBALL_LINE])),
    ("teams/", page(BASKETBALL_TEAM)),
    ("teams/{teams}/", BASKETBALL_TEAM),
    ("venues/", page(NAMED)),
    ("venues/{venues}/", NAMED),
]

# ------------------------------------------------------------------------------------- hockey, 2.4


HOCKEY_BRIEF = BRIEF | fields("country_code:str? elo_rating:num?")
HOCKEY_MATCH = fields(
    "id:int match_date:time home_score:int? away_score:int? is_overtime:bool? is_shootout:bool? winner_id:int?",
    league=nullable(fields("id:int name:str country:str?")),
    home_team=HOCKEY_BRIEF,
    away_team=HOCKEY_BRIEF,
    status=one_of("scheduled", "live", "inprogress", "finished", "awarded", "postponed", "cancelled"),
)
HOCKEY_DETAIL = HOCKEY_MATCH | fields("periods_score:str? current_period:any current_minute:int?")
HOCKEY_TEAM = HOCKEY_BRIEF | fields("api_id:int? country:str?")
FORM = fields("points:int points_per_game:num? form_string:str home:obj")
HOCKEY_H2H = fields(
    head_to_head=fields(
        "total_matches:int home_wins:int away_wins:int home_goals:int away_goals:int avg_total_goals:num?",
        recent_matches=[fields("date:str home_goals:int away_goals:int", winner=one_of("home", "away", None))],
    ),
    home_form=FORM,
    away_form=FORM,
)
HOCKEY_LINE = fields(
    "matches_played:int wins:int losses:int overtime_wins:int overtime_losses:int points:int goals_scored:int goals_conceded:int form_string:str"
)
HOCKEY = [
    ("leagues/", page(fields("id:int name:str country:str?"))),
    ("leagues/{leagues}/", fields("id:int name:str country:str?")),
    ("matches/", page(HOCKEY_MATCH)),
    ("matches/live/", page(HOCKEY_MATCH)),
    ("matches/{event}/", HOCKEY_DETAIL),
    ("matches/{event}/h2h/", HOCKEY_H2H),
    ("matches/{event}/odds/", stick("match_id")),
    ("predictions/", page(WIN_PREDICTION)),
    ("predictions/{predictions}/", WIN_PREDICTION),
    ("standings/?league={leagues}", fields(standings=[HOCKEY_LINE])),
    ("teams/", page(HOCKEY_TEAM)),
    ("teams/{teams}/", HOCKEY_TEAM),
]

# -------------------------------------------------------------------------------------- darts, 2.5


DARTS_BRIEF = fields("id:int name:str short_name:str? country_code:str? country_name:str elo_overall:num?")
DARTS_MATCH = fields(
    "match_date:time round_name:str? player1_sets:int? player2_sets:int? player1_legs:int? player2_legs:int? current_set:int? "
    "winner_id:int? best_of_legs:int? best_of_sets:int? sets_detail:any",
    tournament=nullable(fields("id:int name:str category:str?")),
    player1=DARTS_BRIEF,
    player2=DARTS_BRIEF,
    status=one_of("scheduled", "live", "finished", "walkover", "postponed", "cancelled"),
)
THROWN = fields("average:num? checkout_pct:num? 180s:int? 140_plus:int? 100_plus:int? highest_checkout:int?")
DARTS_DETAIL = DARTS_MATCH | {"stats": missable(fields(player1=THROWN, player2=THROWN))}
DARTS_PLAYER = DARTS_BRIEF | fields(
    "api_id:int? elo_major:num? elo_protour:num? avg_average:num? avg_checkout_pct:num? avg_180s:num? legs_won_pct:num?"
)
DARTS_H2H = fields(
    "total_matches:int player1_wins:int player2_wins:int player1_avg:num? player2_avg:num?",
    recent_matches=[fields("date:str tournament:any round_name:str? player1_sets:int? player2_sets:int?", winner=one_of("player1", "player2"))],
)
DARTS = [
    ("matches/", page(DARTS_MATCH)),
    ("matches/live/", page(DARTS_MATCH)),
    ("matches/{event}/", DARTS_DETAIL),
    ("matches/{event}/h2h/", DARTS_H2H),
    ("matches/{event}/odds/", stick("match_id")),
    ("players/", page(DARTS_BRIEF)),
    ("players/{players}/", DARTS_PLAYER),
    ("predictions/", page("obj")),
    ("predictions/{predictions}/", "obj"),
    ("rankings/", page(fields("position:int prize_money:num? player:obj"))),
    ("tournaments/", page(NAMED)),
    ("tournaments/{tournaments}/", NAMED),
]

# ---------------------------------------------------------------------------------------- CS2, 2.6


CS2_MATCH = fields(
    "id:int stage:str? start_time:time status:str best_of:int? home_score:int? away_score:int?",
    tournament=nullable(NAMED),
    home_team=NAMED,
    away_team=NAMED,
)
CS2_MAP = fields("home_rounds:int? away_rounds:int? map:str?~ map_name:str?~")
CS2_STATS = fields(
    "head_to_head:obj",
    teams=[
        fields(
            "map_winrate:num? round_winrate_all:num? round_winrate_t:num? round_winrate_ct:num? pistol_winrate:num? kd_ratio:num? "
            "avg_damage:num? form_results:list",
            team=fields("id:int"),
        )
    ],
)
CS2_TEAM = fields("id:int name:str short_name:str? country:str? country_code:str? elo_rating:int? elo_peak:int? map_stats:obj?")
CS2 = [
    ("matches/", page(CS2_MATCH)),
    ("matches/live/", page(CS2_MATCH)),
    ("matches/{event}/", CS2_MATCH | fields(maps=[CS2_MAP])),
    ("matches/{event}/odds/", stick("match_id")),
    ("matches/{event}/player-stats/", "obj"),
    ("matches/{event}/stats/", CS2_STATS),
    ("players/", page("obj")),
    ("players/{players}/", "obj"),
    ("predictions/", page("obj")),
    ("predictions/{predictions}/", "obj"),
    ("teams/", page(CS2_TEAM)),
    ("teams/{teams}/", CS2_TEAM),
    ("tournaments/", page(NAMED)),
    ("tournaments/{tournaments}/", NAMED),
]

# ------------------------------------------------------------------------------- horse racing, 2.7


TRACK = fields("id:int name:str slug:str region:str?")
HORSE = fields("id:int name:str grade:str? last_seen_at:time?")
RACE = fields(
    "id:any name:str slug:str region:any starts_at:time on_line_at:time? off_line_at:time? provider:str? competitors_count:int",
    track=nullable(TRACK),
    state=one_of("prematch", "idle", "live", "archived", "cancelled"),
)
RUNNER = fields("id:int program_number:any finish_position:int?")
HORSE_RACING = [
    ("horses/", page(HORSE)),
    ("horses/{horses}/", HORSE),
    ("jockeys/", page(NAMED)),
    ("jockeys/{jockeys}/", NAMED),
    ("trainers/", page(NAMED)),
    ("meetings/", page("obj")),
    ("meetings/{meetings}/", "obj"),
    ("tracks/", page(TRACK | fields("tier:any sort_score:any"))),
    ("tracks/{tracks}/", TRACK),
    ("races/", page(RACE)),
    ("races/live/", any_of(page(RACE), [RACE])),
    ("races/next-to-jump/", [RACE]),
    ("races/{races}/", RACE),
    ("runners/", page(RUNNER)),
    ("runners/{runners}/", RUNNER),
    ("runners/{runners}/odds/", "obj"),
]

PADEL = [(f"{name}/", page("obj")) for name in ("matches", "pairs", "players", "tournaments")] + [("matches/live/", "any")]

# The first segment of the path, and what is below /api/v2/ of it.
SPORTS = {
    "tennis": TENNIS,
    "basketball": BASKETBALL,
    "hockey": HOCKEY,
    "darts": DARTS,
    "csgo": CS2,
    "horseracing": HORSE_RACING,
    "padel": PADEL,
}
