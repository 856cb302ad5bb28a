"""The shapes of the frames: SERVICE 5.3."""

from football_v2 import COUNTERS
from shapes import fields, missable, named, nullable, one_of

SIDE = fields("id:int name:str short_name:str?")
NUMBERED = fields("epoch:str seq:int")
# The counters of REST, and xg a plain number.
COUNTED = named(COUNTERS + " accurate_passes", missable("int")) | named("xg expected_goals pass_accuracy_pct", missable("num"))
TIME = fields(
    "minute:int? second:int?~ display:str?~ added_time:int?~ kickoff_at:utc?",
    period=nullable(one_of(1, 2, 3, 4, 5)),
    status=one_of(
        "notstarted", "1st_half", "halftime", "2nd_half", "extratime", "penalties", "finished", "live", "postponed", "abandoned", "cancelled"
    ),
)  # fmt: skip
EVENT = fields(
    "event_id:int websocket_plus:bool",
    type=one_of("event"),
    home=SIDE,
    away=SIDE,
    score=fields("home:int? away:int?"),
    time=TIME,
    stats=fields(home=COUNTED, away=COUNTED),
)
LIVEDATA = fields(
    "event_id:int commentary:str?",
    type=one_of("livedata"),
    side=one_of("home", "away", None),
    situation=one_of(
        "possession", "attack", "dangerous", "safe", "corner", "freekick", "throwin", "goalkick", "penalty", "shotontarget",
        "shotofftarget", "goal", "offside", "injury", "substitution", None,
    ),
    uts="int",
    coordinates=[fields("x:num y:num")],
)  # fmt: skip
ACTION = fields(
    "event_id:int tid:int x:num? y:num? minute:int? second:int? period:int? ts:int qualifiers:list",
    type=one_of("action"),
    action_type=one_of(
        "shot", "pass", "tackle", "foul", "yellow_card", "red_card", "goal", "save", "clearance", "interception", "corner", "substitution",
        "offside", "var_review", "temp_goal", "deleted_event",
    ),
    team=one_of("home", "away", None),
    player=nullable(fields("id:int? name:str")),
    score=fields("home:int? away:int?"),
)  # fmt: skip
PRICES = fields(
    match_winner=missable(named("home draw away", nullable("num"))),
    over_under=missable(named("over_15 under_15 over_25 under_25 over_35 under_35", missable(nullable("num")))),
    btts=missable(named("yes no", nullable("num"))),
    asian_handicap=missable([fields("line:num home:num away:num bookmaker_count:int", push=one_of("none", "half", "full"))]),
)
ODDS = fields("event_id:int updated_at:time next_update_at:time? update_reason:str", type=one_of("odds"), odds=PRICES)
ODDS_BOOK = fields("event_id:int bookmaker_slug:str bookmaker:str uts:int", type=one_of("odds_book"), odds=PRICES)
SUBSCRIBED = NUMBERED | fields(
    "event_id:int",
    type=one_of("subscribed"),
    source=one_of("basic", "full"),
    event=EVENT,
    livedata=[LIVEDATA],
    history=[ACTION],
    odds=ODDS,
    odds_book=missable(ODDS_BOOK),
)

TENNIS_PLAYERS = fields(match_winner=missable(named("player1 player2", nullable("num"))))
TENNIS_SCORE = fields(
    "home_sets:int? away_sets:int? home_games:int? away_games:int? point:str?",
    sets=[["int"]],
    server=nullable(one_of("home", "away")),
)
TENNIS_EVENT = fields(
    "event_id:int",
    type=one_of("event"),
    sport=one_of("tennis"),
    home=SIDE,
    away=SIDE,
    score=TENNIS_SCORE | fields("set:int?"),
    status=fields("name:str"),
    stats=fields(home="obj", away="obj"),
    tournament=nullable(fields("id:int name:str")),
)
SCORE = TENNIS_SCORE | fields("event_id:int", type=one_of("score"), sport=one_of("tennis"))
TENNIS_ODDS = ODDS | fields(sport=one_of("tennis"), odds=TENNIS_PLAYERS)
TENNIS_SUBSCRIBED = NUMBERED | fields(
    "event_id:int",
    type=one_of("subscribed"),
    sport=one_of("tennis"),
    source=one_of("basic", "full"),
    event=TENNIS_EVENT,
    livedata=[SCORE],
    odds=TENNIS_ODDS,
)

FOOTBALL_FRAMES = {
    "subscribed": SUBSCRIBED,
    "event": EVENT | NUMBERED,
    "livedata": LIVEDATA | NUMBERED,
    "action": ACTION | NUMBERED,
    "odds": ODDS | NUMBERED,
    "odds_book": ODDS_BOOK | NUMBERED,
}
TENNIS_FRAMES = {
    "subscribed": TENNIS_SUBSCRIBED,
    "event": TENNIS_EVENT | NUMBERED,
    "score": SCORE | NUMBERED,
    "odds": TENNIS_ODDS | NUMBERED,
    "odds_book": NUMBERED | fields("bookmaker_slug:str bookmaker:str uts:int odds:obj"),
}
