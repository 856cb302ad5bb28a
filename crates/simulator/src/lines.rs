//! Batches and truths as lines of JSON, for eyes and scripts.
//!
//! Keys are in alphabetical order in the source, so that lines come out the same whether
//! `serde_json` sorts keys or, if another crate of the build enables it, preserves their order.

use std::io;

use serde_json::{Value, json};

use facts::event::{
    About, Analysis, AveragePosition, Event, ExpectedGoals, Fact, FootballFact, FootballScore,
    GameScore, Incident, MarketChange, MatchMinute, Momentum, OddsFact, Participant, PlayerRating,
    PointKind, RaceRunner, RaceStatus, Scoreboard, SetScore, Shot, Side, TennisFact, TennisScore,
    Timed,
};

/// One line: `{"at":..,"events":[{"fact":"goal","match":..,"sport":"football",..}]}`.
pub(super) fn write_batch(timed: &Timed, out: &mut impl io::Write) -> io::Result<()> {
    let events: Vec<_> = timed.batch.events.iter().map(event).collect();
    writeln!(out, "{}", json!({ "at": timed.clock_us, "events": events }))
}

fn event(event: &Event) -> Value {
    let (name, value) = fact(&event.fact);
    json!({
        "fact": name,
        "match": event.match_id.0,
        "sport": event.sport.as_str(),
        "value": value,
    })
}

fn fact(fact: &Fact) -> (&'static str, Value) {
    match fact {
        Fact::Fixture(fixture) => {
            let names = fixture.sides.as_ref().map(|sides| sides.each_ref().map(name));
            let competition = fixture.competition.as_ref().map(|c| &*c.name);
            let start = fixture.start;
            ("fixture", json!({ "competition": competition, "sides": names, "start": start }))
        }
        Fact::About(it) => ("about", about(it)),
        Fact::Football(fact) => football(fact),
        Fact::Tennis(fact) => tennis(fact),
        Fact::Scoreboard(it) => ("scoreboard", scoreboard(it)),
        Fact::Race(it) => ("race", race(&it.runners, it.status)),
        Fact::Odds(fact) => odds(fact),
    }
}

fn about(about: &About) -> Value {
    present(json!({
        "best_of": about.best_of,
        "coaches": about.coaches().map(|it| it.map(name)),
        "referee": about.referee.as_ref().map(name),
        "round": about.round,
        "round_name": about.round_name.as_deref(),
        "surface": about.surface.as_deref(),
        "venue": about.venue.as_ref().map(|it| &*it.name),
    }))
}

fn scoreboard(board: &Scoreboard) -> Value {
    present(json!({
        "clock": board.clock.map(|clock| json!({ "running": clock.running, "second": clock.second })),
        "period": board.period.as_deref(),
        "periods": board.periods,
        "score": board.score,
        "status": board.status.as_str(),
        "winner": board.winner.map(number),
    }))
}

pub(super) fn race(runners: &[RaceRunner], status: RaceStatus) -> Value {
    let runners: Vec<_> = runners.iter().map(runner).collect();
    json!({ "runners": runners, "status": status.as_str() })
}

fn runner(runner: &RaceRunner) -> Value {
    present(json!({
        "jockey": runner.jockey.as_deref(),
        "name": name(&runner.participant),
        "number": runner.number,
        "position": runner.position,
        "status": runner.status.as_str(),
    }))
}

// ---------------------------------------------------------------------------------- football

fn football(fact: &FootballFact) -> (&'static str, Value) {
    match fact {
        FootballFact::Status(status) => ("status", json!(status.as_str())),
        FootballFact::Clock { second, running } => {
            ("clock", json!({ "running": running, "second": second }))
        }
        FootballFact::Score(score) => ("score", football_score(score)),
        FootballFact::Incident(it) => ("incident", incident(it)),
        FootballFact::Correct(it) => ("correct", incident(it)),
        FootballFact::Retract { eid, why, score } => {
            ("retract", json!({ "of": **eid, "score": football_score(score), "why": **why }))
        }
        FootballFact::Stats { side, values } => {
            let values: Vec<_> = values.iter().map(|(stat, n)| json!([stat.as_str(), n])).collect();
            ("stats", json!({ "side": football_side(*side), "values": values }))
        }
        FootballFact::Ball(ball) => {
            let (side, situation) = (football_side(ball.side), ball.situation.as_str());
            ("ball", json!({ "side": side, "situation": situation, "x": ball.x, "y": ball.y }))
        }
        FootballFact::LineUp { side, line_up } => {
            let players: Vec<_> = line_up.players.iter().map(|it| name(&it.player)).collect();
            ("line_up", json!({ "players": players, "side": football_side(*side) }))
        }
        FootballFact::PlayerStats { side, player, values } => {
            let values: Vec<_> = values.iter().map(|(stat, n)| json!([stat.as_str(), n])).collect();
            let (side, player) = (football_side(*side), name(player));
            ("player_stats", json!({ "player": player, "side": side, "values": values }))
        }
        FootballFact::Analysis(it) => analysis(it),
        FootballFact::PeriodStart { period, at } => {
            ("period_start", json!({ "at": at, "period": period.as_str() }))
        }
    }
}

fn analysis(analysis: &Analysis) -> (&'static str, Value) {
    match analysis {
        Analysis::Shot(shot) => ("shot", self::shot(shot)),
        Analysis::ExpectedGoals { side, goals } => {
            let (side, goals) = (football_side(*side), goals.goals());
            ("expected_goals", json!({ "goals": goals, "side": side }))
        }
        Analysis::Momentum(Momentum { minute, value }) => {
            let MatchMinute { minute, added } = minute;
            ("momentum", json!({ "added": added, "minute": minute, "value": value }))
        }
        Analysis::HalfStats { half, side, values } => {
            let values: Vec<_> = values.iter().map(|(stat, n)| json!([stat.as_str(), n])).collect();
            let half = half.index() + 1;
            ("half_stats", json!({ "half": half, "side": football_side(*side), "values": values }))
        }
        Analysis::AveragePositions { side, players } => {
            let location =
                |it: &AveragePosition| json!([name(&it.player), it.location.x, it.location.y]);
            let players: Vec<_> = players.iter().map(location).collect();
            ("average_positions", json!({ "players": players, "side": football_side(*side) }))
        }
        Analysis::Ratings { side, players } => {
            let rating = |it: &PlayerRating| json!([name(&it.player), it.rating]);
            let players: Vec<_> = players.iter().map(rating).collect();
            ("ratings", json!({ "players": players, "side": football_side(*side) }))
        }
    }
}

fn shot(shot: &Shot) -> Value {
    present(json!({
        "added": shot.added,
        "body_part": shot.body_part,
        "eid": &*shot.eid,
        "expected_goals": shot.expected_goals.map(ExpectedGoals::goals),
        "minute": shot.minute,
        "outcome": shot.outcome,
        "player": shot.player.as_ref().map(name),
        "side": football_side(shot.side),
        "situation": shot.situation,
        "x": shot.location.map(|at| at.x),
        "y": shot.location.map(|at| at.y),
    }))
}

fn football_score(score: &FootballScore) -> Value {
    present(json!({
        "et": score.extra_time,
        "goals": score.goals,
        "ht": score.half_time,
        "pens": score.penalties,
    }))
}

fn incident(fact: &Incident) -> Value {
    let (kind, detail) = (fact.kind.as_str(), fact.kind.detail());
    present(json!({
        "added": fact.added,
        "assist": fact.assist.as_ref().map(name),
        "detail": detail,
        "eid": &*fact.eid,
        "kind": kind,
        "minute": fact.minute,
        "player": fact.player.as_ref().map(name),
        "score": fact.score,
        "side": fact.side.map(football_side),
    }))
}

pub(super) fn football_side(side: Side) -> &'static str {
    match side {
        Side::First => "home",
        Side::Second => "away",
    }
}

// ------------------------------------------------------------------------------------ tennis

fn tennis(fact: &TennisFact) -> (&'static str, Value) {
    match fact {
        TennisFact::Status(status) => ("status", json!(status.as_str())),
        TennisFact::Score(score) => ("score", tennis_score(score)),
        TennisFact::Point(point) => {
            let how = point.how.map(PointKind::as_str);
            let value = json!({
                "eid": &*point.eid,
                "how": how,
                "score": tennis_score(&point.score),
                "server": number(point.server),
                "winner": number(point.winner),
            });
            ("point", present(value))
        }
        TennisFact::Retract { eid, why, score } => {
            ("retract", json!({ "of": **eid, "score": tennis_score(score), "why": **why }))
        }
    }
}

fn tennis_score(score: &TennisScore) -> Value {
    let game = match score.game {
        GameScore::Points(points) => json!(points.map(point_name)),
        GameScore::TieBreak(points) => json!(points),
    };
    present(json!({
        "game": game,
        "points": score.points,
        "server": score.server.map(number),
        "sets": sets(&score.sets),
        "winner": score.winner.map(number),
    }))
}

/// Sets as `[6,4]`, with a tie-break as `[7,6,[7,5]]`.
pub(super) fn sets(sets: &[SetScore]) -> Vec<Value> {
    let set = |set: &SetScore| match (set.games, set.tie_break) {
        ([first, second], Some(points)) => json!([first, second, points]),
        ([first, second], None) => json!([first, second]),
    };
    sets.iter().map(set).collect()
}

fn point_name(points: u8) -> &'static str {
    ["0", "15", "30", "40", "A"][usize::from(points.min(4))]
}

/// Players are 1 and 2.
pub(super) fn number(side: Side) -> usize {
    side.index() + 1
}

// -------------------------------------------------------------------------------------- odds

fn odds(fact: &OddsFact) -> (&'static str, Value) {
    let OddsFact { book, market, change } = fact;
    match change {
        MarketChange::Define(definition) => {
            let selections = definition.selections.iter();
            let selections: Vec<_> =
                selections.map(|s| json!([&*s.id, s.status.as_str()])).collect();
            let value = json!({
                "book": **book,
                "in_play": definition.in_play,
                "market": **market,
                "selections": selections,
                "status": definition.status.as_str(),
            });
            ("market", value)
        }
        MarketChange::Clear => ("clear", json!({ "book": **book, "market": **market })),
        MarketChange::Prices { selections, .. } => {
            let price = |price: &rust_decimal::Decimal| price.to_string();
            let prices: Vec<_> = selections
                .iter()
                .map(|selection| json!([&*selection.id, selection.price.as_ref().map(price)]))
                .collect();
            ("prices", json!({ "book": **book, "market": **market, "prices": prices }))
        }
    }
}

pub(super) fn name(participant: &Participant) -> &str {
    &participant.name
}

/// The object without its absent fields: absent is not null.
pub(super) fn present(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}
