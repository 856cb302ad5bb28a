//! Batches of facts as a careless but truthful feed might send them: in any order, repeated, about
//! matches that were never introduced, with markets redefined, cleared and suspended.

use std::sync::Arc;

use facts::{
    event::{
        Ball, Batch, Competition, Event, Fact, Fixture, FootballFact, FootballScore,
        FootballStatus, GameScore, GoalKind, Id, Incident, IncidentKind, Level, MarketChange,
        MarketDefinition, MarketStatus, MarketTerms, MatchClock, OddsFact, Outcome, Pair,
        Participant, Point, PointKind, Race, RaceRunner, RaceStatus, RunnerStatus, Scoreboard,
        ScoreboardStatus, SelectionChange, SelectionDefinition, SelectionStatus, SelectionTerms,
        SetScore, Side, Situation, Sport, Stat, TennisFact, TennisScore, TennisStatus, VarDecision,
    },
    football::Period,
};
use fanout::Micros;
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::{select, subsequence},
};
use rust_decimal::Decimal;

use crate::bench::START;

/// Batches with their timestamps.
pub(crate) fn batches(count: usize) -> impl Strategy<Value = Vec<Batch>> {
    vec(batch(5), 1..count).prop_map(in_order)
}

/// Batches of a single fact each.
pub(crate) fn single_facts(count: usize) -> impl Strategy<Value = Vec<Batch>> {
    vec(batch(1), 1..count).prop_map(in_order)
}

/// The facts of a batch, and its delay after the batch before it.
type Raw = (Micros, Vec<RawEvent>);

#[derive(Debug, Clone)]
enum RawEvent {
    Event(Event),
    Point {
        id: Id,
        raw: RawPoint,
    },
    TakeBack {
        id: Id,
        score: TennisScore,
    },
    /// The previous event again.
    Again,
}

#[derive(Debug, Clone)]
struct RawPoint {
    winner: Side,
    server: Side,
    how: Option<PointKind>,
    score: TennisScore,
}

fn batch(events: usize) -> impl Strategy<Value = Raw> {
    let gap = prop_oneof![4 => 0..5_000_000_i64, 1 => 0..3_600_000_000_i64];
    (gap, vec(event(), 1..=events))
}

/// Gives points their numbers and ids. Ids are unique, and a retracted point is played again under
/// another id.
fn in_order(raw: Vec<Raw>) -> Vec<Batch> {
    let (mut now, mut points, mut serial) = (START, 0_u32, 0_u32);
    let mut batches = Vec::new();
    for (gap, events) in raw {
        now += gap;
        let mut applied: Vec<Event> = Vec::new();
        for event in events {
            let event = match event {
                RawEvent::Event(event) => event,
                RawEvent::Again => match applied.last() {
                    Some(event) => event.clone(),
                    None => continue,
                },
                RawEvent::Point { id, raw: RawPoint { winner, server, how, score } } => {
                    points += 1;
                    serial += 1;
                    let score = TennisScore { points, ..score };
                    let eid = name("p", serial);
                    tennis(id, TennisFact::Point(Point { eid, winner, server, how, score }))
                }
                RawEvent::TakeBack { id, score } => {
                    points = points.saturating_sub(1);
                    let score = TennisScore { points, ..score };
                    let why = "wrong call".into();
                    tennis(id, TennisFact::Retract { eid: name("p", serial), why, score })
                }
            };
            applied.push(event);
        }
        batches.push(Batch { at: Some(now), price_changes: 1, events: applied });
    }
    batches
}

fn name(kind: &str, number: u32) -> Arc<str> {
    format!("{kind}{number}").into()
}

fn tennis(match_id: Id, fact: TennisFact) -> Event {
    Event { sport: Sport::Tennis, match_id, fact: Fact::Tennis(fact) }
}

// ------------------------------------------------------------------------------------ events

/// About two football matches, one tennis match, one of another sport, and one that is rarely
/// introduced.
fn event() -> impl Strategy<Value = RawEvent> {
    let football = || select(vec![Id(1), Id(2)]);
    let any_match = || {
        select(vec![
            (Id(1), Sport::Football),
            (Id(2), Sport::Football),
            (Id(3), Sport::Tennis),
            (Id(4), Sport::HorseRacing),
            (Id(5), Sport::Hockey),
            (Id(6), Sport::Cricket),
        ])
    };
    let event_of = |((match_id, sport), fact)| RawEvent::Event(Event { sport, match_id, fact });
    let of_football = |(match_id, fact)| {
        let fact = Fact::Football(fact);
        RawEvent::Event(Event { sport: Sport::Football, match_id, fact })
    };
    prop_oneof![
        4 => (any_match(), fixture().prop_map(Fact::Fixture)).prop_map(event_of),
        8 => (football(), football_fact()).prop_map(of_football),
        4 => point().prop_map(|raw| RawEvent::Point { id: Id(3), raw }),
        1 => score().prop_map(|score| RawEvent::TakeBack { id: Id(3), score }),
        1 => tennis_fact().prop_map(|fact| RawEvent::Event(tennis(Id(3), fact))),
        12 => (any_match(), odds().prop_map(Fact::Odds)).prop_map(event_of),
        2 => Just(RawEvent::Again),
        3 => scoreboard().prop_map(move |it| event_of(((Id(5), Sport::Hockey), Fact::Scoreboard(it)))),
        3 => race().prop_map(move |it| event_of(((Id(4), Sport::HorseRacing), Fact::Race(it)))),
        // For a match of another sport, and for one that was never introduced.
        1 => football_fact().prop_map(move |fact| of_football((Id(3), fact))),
        1 => odds().prop_map(move |fact| event_of(((Id(9), Sport::Football), Fact::Odds(fact)))),
    ]
}

fn fixture() -> impl Strategy<Value = Fixture> {
    let competition =
        (1..3_u64, option::of(select(vec!["2024", "2025"]))).prop_map(|(id, season)| Competition {
            id: Id(id),
            name: name("league", 1),
            season: season.map(Arc::from),
        });
    let sides = (participant(), participant()).prop_map(|(one, other)| [one, other]);
    (option::of(competition), option::of(0..9_i64), option::of(sides)).prop_map(
        |(competition, start, sides)| Fixture {
            // A match's id follows from these two, so they never change.
            provider: "test".into(),
            provider_key: name("key", 1),
            competition,
            start,
            date: None,
            sides,
            ..Fixture::default()
        },
    )
}

fn participant() -> impl Strategy<Value = Participant> {
    (1..4_u64).prop_map(|id| Participant { id: Id(id), name: format!("Côté \"{id}\"").into() })
}

fn side() -> impl Strategy<Value = Side> {
    select(Side::BOTH.to_vec())
}

fn goals() -> impl Strategy<Value = Pair<u16>> {
    [0..4_u16, 0..4_u16]
}

// ---------------------------------------------------------------------------------- football

fn football_fact() -> impl Strategy<Value = FootballFact> {
    let why = || Just(Arc::from("offside"));
    let stat = select(vec![Stat::Fouls, Stat::Passes, Stat::Saves]);
    let values = btree_map(stat, 0..3_u32, 0..4).prop_map(|values| values.into_iter().collect());
    prop_oneof![
        2 => football_status().prop_map(FootballFact::Status),
        2 => (0..5400_u32, any::<bool>())
            .prop_map(|(second, running)| FootballFact::Clock { second, running }),
        2 => football_score().prop_map(FootballFact::Score),
        4 => incident().prop_map(FootballFact::Incident),
        2 => (0..12_u32, why(), football_score()).prop_map(|(number, why, score)| {
            FootballFact::Retract { eid: name("i", number), why, score }
        }),
        2 => incident().prop_map(FootballFact::Correct),
        1 => (side(), values).prop_map(|(side, values)| FootballFact::Stats { side, values }),
        1 => ball().prop_map(FootballFact::Ball),
        1 => (select(Period::ALL.to_vec()), 1..4_i64)
            .prop_map(|(period, before)| FootballFact::PeriodStart { period, at: START - before }),
    ]
}

fn football_status() -> impl Strategy<Value = FootballStatus> {
    select(vec![
        FootballStatus::NotStarted,
        FootballStatus::FirstHalf,
        FootballStatus::HalfTime,
        FootballStatus::Penalties,
        FootballStatus::Finished,
        FootballStatus::Abandoned,
    ])
}

fn football_score() -> impl Strategy<Value = FootballScore> {
    (goals(), option::of(goals()), option::of(goals()), option::of(goals())).prop_map(
        |(goals, half_time, extra_time, penalties)| FootballScore {
            goals,
            half_time,
            extra_time,
            penalties,
        },
    )
}

fn incident() -> impl Strategy<Value = Incident> {
    let kind = select(vec![
        IncidentKind::Goal(GoalKind::Regular),
        IncidentKind::Goal(GoalKind::OwnGoal),
        IncidentKind::Yellow,
        IncidentKind::Red,
        IncidentKind::Substitution,
        IncidentKind::PenaltyMissed,
        IncidentKind::Var(VarDecision::Checking),
        IncidentKind::Period(FootballStatus::HalfTime),
        IncidentKind::Shootout { scored: true },
    ]);
    let people = (option::of(participant()), option::of(participant()));
    let when = (0..95_u16, option::of(1..4_u16));
    (0..12_u32, kind, when, option::of(side()), people, option::of(goals())).prop_map(
        |(eid, kind, at, side, (player, assist), score)| Incident {
            player,
            assist,
            score,
            ..Incident::new(name("i", eid), kind, at, side)
        },
    )
}

fn ball() -> impl Strategy<Value = Ball> {
    let situation = select(vec![Situation::Attack, Situation::Safe]);
    (0..=1000_u16, 0..=1000_u16, side(), situation).prop_map(|(x, y, side, situation)| Ball {
        x,
        y,
        side,
        situation,
    })
}

// ------------------------------------------------------------------------------------ tennis

fn scoreboard() -> impl Strategy<Value = Scoreboard> {
    let status = select(vec![
        ScoreboardStatus::NotStarted,
        ScoreboardStatus::Live,
        ScoreboardStatus::Live,
        ScoreboardStatus::Interrupted,
        ScoreboardStatus::Finished,
    ]);
    let pair = || [0..4_u32, 0..4_u32];
    let clock =
        (0..5_u32, any::<bool>()).prop_map(|(second, running)| MatchClock { second, running });
    let period = option::of(select(vec!["p1", "p2"]));
    let winner = option::of(select(Side::BOTH.to_vec()));
    let fields = (status, option::of(pair()), vec(pair(), 0..3), period, option::of(clock), winner);
    fields.prop_map(|(status, score, periods, period, clock, winner)| Scoreboard {
        status,
        score,
        periods,
        period: period.map(Arc::from),
        clock,
        winner,
    })
}

fn race() -> impl Strategy<Value = Race> {
    let status = select(vec![
        RaceStatus::NotStarted,
        RaceStatus::AtThePost,
        RaceStatus::Off,
        RaceStatus::Finished,
        RaceStatus::Finished,
    ]);
    let runner_status =
        select(vec![RunnerStatus::Active, RunnerStatus::NonRunner, RunnerStatus::Finished]);
    let jockey = option::of(Just("A. Jockey".into()));
    let runner = (participant(), option::of(1..3_u16), jockey, runner_status, option::of(1..3_u16));
    let runner = runner.prop_map(|(participant, number, jockey, status, position)| RaceRunner {
        participant,
        number,
        jockey,
        status,
        position,
    });
    (status, vec(runner, 0..4)).prop_map(|(status, runners)| Race { status, runners })
}

fn tennis_fact() -> impl Strategy<Value = TennisFact> {
    let status = select(vec![
        TennisStatus::NotStarted,
        TennisStatus::Live,
        TennisStatus::Interrupted,
        TennisStatus::Finished,
        TennisStatus::Retired,
    ]);
    prop_oneof![
        status.prop_map(TennisFact::Status),
        (score(), 0..9_u32)
            .prop_map(|(score, points)| { TennisFact::Score(TennisScore { points, ..score }) }),
    ]
}

fn point() -> impl Strategy<Value = RawPoint> {
    let how = option::of(select(vec![PointKind::Ace, PointKind::DoubleFault]));
    (side(), side(), how, score()).prop_map(|(winner, server, how, score)| RawPoint {
        winner,
        server,
        how,
        score,
    })
}

fn score() -> impl Strategy<Value = TennisScore> {
    let set = ([0..7_u8, 0..7_u8], option::of([0..7_u16, 0..7_u16]))
        .prop_map(|(games, tie_break)| SetScore { games, tie_break });
    let game = prop_oneof![
        [0..4_u8, 0..4_u8].prop_map(GameScore::Points),
        [0..9_u16, 0..9_u16].prop_map(GameScore::TieBreak),
    ];
    (option::of(side()), vec(set, 0..=5), game, option::of(side())).prop_map(
        |(server, sets, game, winner)| TennisScore {
            server,
            sets,
            stated_sets: None,
            game,
            points: 0,
            winner,
        },
    )
}

// -------------------------------------------------------------------------------------- odds

fn odds() -> impl Strategy<Value = OddsFact> {
    let change = prop_oneof![
        3 => definition().prop_map(MarketChange::Define),
        1 => Just(MarketChange::Clear),
        6 => (selection_changes(), option::of(amount()))
            .prop_map(|(selections, volume)| MarketChange::Prices { selections, volume }),
    ];
    (select(vec!["pinnacle", "betfair"]), select(vec!["1.5", "x"]), change).prop_map(
        |(book, market, change)| OddsFact { book: book.into(), market: market.into(), change },
    )
}

fn definition() -> impl Strategy<Value = MarketDefinition> {
    let kind = select(vec!["match_winner", "over_under"]);
    let status = select(vec![
        MarketStatus::Inactive,
        MarketStatus::Open,
        MarketStatus::Open,
        MarketStatus::Suspended,
        MarketStatus::Closed,
    ]);
    let line = option::of(select(vec![Decimal::new(25, 1), Decimal::new(250, 2), Decimal::ONE]));
    let text = |texts: Vec<&'static str>| option::of(select(texts).prop_map(Arc::from));
    let selections = (subsequence(vec!["a", "b@-1.5", "c"], 0..=3), vec(selection(), 3)).prop_map(
        |(ids, all)| {
            let with_id =
                |(id, it): (&str, SelectionDefinition)| SelectionDefinition { id: id.into(), ..it };
            ids.into_iter().zip(all).map(with_id).collect::<Vec<_>>()
        },
    );
    let in_play = (any::<bool>(), market_terms());
    (kind, text(vec!["One", "Other"]), line, text(vec!["1h"]), status, in_play, selections)
        .prop_map(|(kind, name, line, period, status, (in_play, terms), selections)| {
            MarketDefinition {
                kind: kind.into(),
                name,
                line,
                period,
                status,
                in_play,
                selections,
                terms,
            }
        })
}

fn market_terms() -> impl Strategy<Value = Option<Box<MarketTerms>>> {
    let models = subsequence(vec!["PASSIVE", "DYNAMIC"], 0..=2);
    let models = models.prop_map(|all| all.into_iter().map(Arc::from).collect::<Vec<Arc<str>>>());
    let terms = (option::of(0..3_u32), models, option::of(price())).prop_map(
        |(bet_delay, bet_delay_models, market_base_rate)| {
            Box::new(MarketTerms {
                bet_delay,
                bet_delay_models,
                market_base_rate,
                ..Default::default()
            })
        },
    );
    option::of(terms)
}

fn selection_terms() -> impl Strategy<Value = Option<Box<SelectionTerms>>> {
    let terms = (option::of(price()), option::of(0..3_i64)).prop_map(|(bsp, removal_date)| {
        Box::new(SelectionTerms { bsp, removal_date, ..Default::default() })
    });
    option::of(terms)
}

fn selection() -> impl Strategy<Value = SelectionDefinition> {
    let status = select(vec![
        SelectionStatus::Active,
        SelectionStatus::Active,
        SelectionStatus::Winner,
        SelectionStatus::Loser,
        SelectionStatus::Removed,
        SelectionStatus::HalfWon,
        SelectionStatus::Push,
    ]);
    let outcome = option::weighted(0.8, select(vec![Outcome::Home, Outcome::Away]));
    let name = option::of(select(vec!["Ann", "Bea"]).prop_map(Arc::from));
    (name, status, outcome, selection_terms()).prop_map(|(name, status, outcome, terms)| {
        SelectionDefinition { id: "".into(), name, status, outcome, terms }
    })
}

fn selection_changes() -> impl Strategy<Value = Vec<SelectionChange>> {
    let id = select(vec!["a", "b@-1.5", "c", "never defined"]);
    let with_id = |(id, it): (&str, SelectionChange)| SelectionChange { id: id.into(), ..it };
    btree_map(id, selection_change(), 0..4)
        .prop_map(move |all| all.into_iter().map(with_id).collect())
}

fn selection_change() -> impl Strategy<Value = SelectionChange> {
    let level = |(price, size)| Level { price, size };
    let ladder = move || {
        btree_map(price(), amount(), 0..3).prop_map(move |it| it.into_iter().map(level).collect())
    };
    let values = (option::of(price()), option::of(price()), option::of(amount()));
    let projected = [option::of(amount()), option::of(amount())];
    (values, projected, ladder(), ladder(), ladder()).prop_map(
        |((price, last, volume), [near_price, far_price], back, lay, traded)| SelectionChange {
            id: "".into(),
            price,
            last,
            volume,
            near_price,
            far_price,
            back,
            lay,
            traded,
        },
    )
}

/// Few values, some of them in two spellings.
fn price() -> impl Strategy<Value = Decimal> {
    select(vec![Decimal::new(21, 1), Decimal::new(210, 2), Decimal::new(101, 2), Decimal::from(3)])
}

fn amount() -> impl Strategy<Value = Decimal> {
    select(vec![
        Decimal::ZERO,
        Decimal::new(0, 2),
        Decimal::from(5),
        Decimal::new(500, 2),
        Decimal::new(3201, 2),
    ])
}
