//! The simulated day, held against its own truth and against plausibility.

mod checker;
mod event_lines;
mod past;
mod rules;
mod swap;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use facts::event::{
    Eid, FootballStatus, GoalKind, Incident, IncidentKind, MarketStatus, Participant, Side, Sport,
    TennisStatus,
};

use super::{
    bookmaker::BOOKMAKERS,
    dice::{Dice, MINUTE},
    football::FootballPlay,
    play::{Chance, Play},
    programme::{DAY, Plan},
    *,
};

use self::checker::{Checker, Football, ObservedMatch, Tennis};

/// Some midnight, in UTC microseconds.
const START: Micros = 1_788_220_800_000_000;

/// A day whose matches all begin within its first minutes: some of every sport.
fn short(seed: u64) -> Plan {
    Plan { length: 26 * MINUTE, ..Plan::new(seed, START) }
}

fn digest(plan: Plan) -> Vec<u8> {
    let mut hash = Sha256::new();
    for timed in Simulator::from_plan(plan) {
        hash.update(format!("{timed:?}"));
    }
    hash.finalize().to_vec()
}

/// Plays a day, applies its facts naively, and compares what they say with the truth.
fn check(plan: Plan) {
    let mut checker = Checker::default();
    for timed in Simulator::from_plan(plan) {
        checker.apply(&timed);
    }
    let truth = Simulator::truth_of(plan);
    assert_eq!(checker.matches.len(), truth.matches.len());
    for game in &truth.matches {
        check_match(&checker.matches[&game.id], game);
    }
}

fn check_match(seen: &ObservedMatch, game: &MatchTruth) {
    match &game.ending {
        Ending::Football(truth) => {
            check_football(&seen.football, truth);
            // The truth does not count corners.
            let (corners, of_goals) = game.markets.split_last().expect("there are markets");
            assert_eq!(of_goals, settled_by_hand(truth));
            assert_eq!(corners.winners.len(), 1, "{corners:?}");
        }
        Ending::Tennis(truth) => check_tennis(&seen.tennis, truth),
        Ending::Scoreboard(truth) => {
            let board = seen.boards.last.as_ref().expect("a scoreboard was emitted");
            assert_eq!((board.status, board.score), (truth.status, Some(truth.score)));
            assert_eq!((&board.periods, board.winner), (&truth.periods, truth.winner));
        }
        Ending::Race(truth) => {
            let race = seen.races.last.as_ref().expect("a race was emitted");
            assert_eq!((race.status, &race.runners), (truth.status, &truth.runners));
        }
    }
    seen.check_end();
    assert_eq!(seen.markets.len(), game.markets.len() * BOOKMAKERS.len());
    for ((book, id), market) in &seen.markets {
        let settled = game.markets.iter().find(|settled| *settled.market == **id);
        let winners = &settled.expect("the truth knows every market").winners;
        assert_eq!(market.status, Some(MarketStatus::Closed), "{id} at {book}");
        let found = market.winners.iter().map(String::as_str);
        assert!(found.eq(winners.iter().map(|id| &**id)), "{id} at {book}: {market:?}");
    }
}

fn check_football(seen: &Football, truth: &FootballTruth) {
    use FootballStatus::{Finished, FirstHalf, HalfTime, NotStarted, SecondHalf};
    assert_eq!(seen.statuses, [NotStarted, FirstHalf, HalfTime, SecondHalf, Finished]);
    assert_eq!(truth.status, Finished);
    assert_eq!((seen.score.goals, seen.score.half_time), (truth.score, Some(truth.half_time)));
    let goals: Vec<_> = truth.goals.iter().map(goal_incident).collect();
    assert_eq!(seen.goals, goals);
    let overturned: Vec<_> = truth.overturned.iter().map(|o| o.goal.eid.to_string()).collect();
    assert_eq!(seen.retracted, overturned);
    assert_eq!(eids(seen, is_card), truth.cards.iter().map(|c| &c.eid).collect::<Vec<_>>());
    let changes: Vec<_> = truth.substitutions.iter().map(|change| &change.eid).collect();
    assert_eq!(eids(seen, |kind| kind == IncidentKind::Substitution), changes);
    let missed: Vec<_> = truth.penalties_missed.iter().map(|miss| &miss.eid).collect();
    assert_eq!(eids(seen, |kind| kind == IncidentKind::PenaltyMissed), missed);
}

fn goal_incident(goal: &Goal) -> Incident {
    let Goal { eid, at, side, scorer, assist, kind, score } = goal.clone();
    Incident {
        player: Some(scorer),
        assist,
        score: Some(score),
        ..Incident::new(eid, IncidentKind::Goal(kind), (at.minute, at.added), Some(side))
    }
}

fn eids(seen: &Football, wanted: impl Fn(IncidentKind) -> bool) -> Vec<&Eid> {
    seen.others.iter().filter(|incident| wanted(incident.kind)).map(|i| &i.eid).collect()
}

fn is_card(kind: IncidentKind) -> bool {
    matches!(kind, IncidentKind::Yellow | IncidentKind::SecondYellow | IncidentKind::Red)
}

/// The markets from the final score alone, by another way than the simulator's.
fn settled_by_hand(truth: &FootballTruth) -> Vec<SettledMarket> {
    let [home, away] = truth.score;
    let result = if home > away {
        "home"
    } else if home < away {
        "away"
    } else {
        "draw"
    };
    let line = |n: u16| if home + away > n { "over" } else { "under" };
    let both = if home > 0 && away > 0 { "yes" } else { "no" };
    let double = match result {
        "home" => vec!["1x", "12"],
        "away" => vec!["12", "x2"],
        _ => vec!["1x", "x2"],
    };
    let no_bet = if result == "draw" { vec![] } else { vec![result] };
    let handicap = if result == "home" { "home" } else { "away" };
    [
        ("match_winner", vec![result]),
        ("over_under_1.5", vec![line(1)]),
        ("over_under_2.5", vec![line(2)]),
        ("over_under_3.5", vec![line(3)]),
        ("both_teams_to_score", vec![both]),
        ("double_chance", double),
        ("draw_no_bet", no_bet),
        ("asian_handicap_-0.5", vec![handicap]),
    ]
    .map(|(market, winners)| SettledMarket {
        market: market.into(),
        winners: winners.into_iter().map(Into::into).collect(),
    })
    .to_vec()
}

fn check_tennis(seen: &Tennis, truth: &TennisTruth) {
    let live = truth.status != TennisStatus::Walkover;
    let statuses = [TennisStatus::NotStarted, TennisStatus::Live, truth.status];
    let expected: Vec<_> =
        statuses.into_iter().filter(|s| live || *s != TennisStatus::Live).collect();
    assert_eq!(seen.statuses, expected);
    assert_eq!(seen.score.sets, truth.sets);
    assert_eq!(seen.score.points, truth.points);
    assert_eq!((seen.score.winner, seen.score.server), (truth.winner, None));
    let retracted: Vec<_> = truth.retracted.iter().map(ToString::to_string).collect();
    assert_eq!(seen.retracted, retracted);
    assert_eq!(truth.serve.iter().map(|[_, served]| served).sum::<u32>(), truth.points);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn facts_reproduce_the_truth(seed: u64) {
        check(short(seed));
    }

    #[test]
    fn same_seed_gives_the_same_day_and_another_a_different_one(seed: u64) {
        let plan = Plan { length: 2 * MINUTE, ..short(seed) };
        let other = Plan { seed: seed.wrapping_add(1), ..plan };
        prop_assert_eq!(digest(plan), digest(plan));
        prop_assert_ne!(digest(plan), digest(other));
    }
}

/// Days on which something rare happens, so that it is checked every time.
#[test]
fn facts_reproduce_the_truth_on_days_with_rare_events() {
    let football = |wanted: fn(&FootballTruth) -> bool| {
        first_day(|game| matches!(&game.ending, Ending::Football(truth) if wanted(truth)))
    };
    let tennis = |wanted: fn(&TennisTruth) -> bool| {
        first_day(|game| matches!(&game.ending, Ending::Tennis(truth) if wanted(truth)))
    };
    let seeds = BTreeSet::from([
        football(|truth| !truth.overturned.is_empty()),
        football(|truth| !truth.penalties_missed.is_empty()),
        football(|truth| truth.cards.iter().any(|card| card.colour == Colour::SecondYellow)),
        football(|truth| truth.cards.iter().any(|card| card.colour == Colour::Red)),
        football(|truth| truth.goals.iter().any(|goal| goal.kind == GoalKind::OwnGoal)),
        tennis(|truth| truth.status == TennisStatus::Walkover),
        tennis(|truth| truth.status == TennisStatus::Retired),
        tennis(|truth| !truth.retracted.is_empty()),
    ]);
    for seed in seeds {
        check(short(seed));
    }
}

/// The seed of the first short day that has such a match.
fn first_day(wanted: impl Fn(&MatchTruth) -> bool) -> u64 {
    let has_one = |seed: &u64| Simulator::truth_of(short(*seed)).matches.iter().any(&wanted);
    (0..1000).find(has_one).expect("it happens within a thousand days")
}

#[test]
fn another_start_gives_the_same_matches_with_new_ids() {
    let plan = short(3);
    let later = Plan { start: START + DAY, ..plan };
    let [one, two] = [plan, later].map(|plan| Simulator::truth_of(plan).matches);
    for (one, two) in one.iter().zip(&two) {
        assert_eq!((&one.ending, &one.sides), (&two.ending, &two.sides));
        assert_eq!(one.start + DAY, two.start);
        assert_ne!(one.id, two.id);
    }
}

/// Bounds are wide, and narrow enough to fail when a rate is off by a quarter.
#[test]
fn football_is_plausible_on_average() {
    let all = (0..6).flat_map(|seed| Simulator::truth(seed, START).matches);
    let matches: Vec<_> = all.filter_map(football_of).collect();
    let mean = |count: fn(&FootballTruth) -> usize| {
        matches.iter().map(count).sum::<usize>() as f64 / matches.len() as f64
    };
    let within = |what: &str, value: f64, low: f64, high: f64| {
        assert!(low < value && value < high, "{what}: {value} is not in {low}..{high}");
    };
    assert!(matches.len() > 300);
    within("goals", mean(|m| m.goals.len()), 2.4, 3.0);
    let edge = mean(|m| m.score[0].into()) - mean(|m| m.score[1].into());
    within("home advantage", edge, 0.1, 0.55);
    within("cards", mean(|m| m.cards.len()), 3.3, 5.2);
    within("red cards", mean(|m| m.red_cards().iter().sum()), 0.08, 0.35);
    within("substitutions", mean(|m| m.substitutions.len()), 6.5, 9.5);
    within("overturned", mean(|m| m.overturned.len()), 0.03, 0.15);
    assert!(matches.iter().all(at_most_five_a_side));
}

fn at_most_five_a_side(truth: &FootballTruth) -> bool {
    Side::BOTH
        .into_iter()
        .all(|side| truth.substitutions.iter().filter(|change| change.side == side).count() <= 5)
}

fn football_of(game: MatchTruth) -> Option<FootballTruth> {
    match game.ending {
        Ending::Football(truth) => Some(truth),
        Ending::Tennis(_) | Ending::Scoreboard(_) | Ending::Race(_) => None,
    }
}

#[test]
fn tennis_is_plausible_on_average() {
    let all = (0..4).flat_map(|seed| Simulator::truth(seed, START).matches);
    let matches: Vec<_> = all
        .filter_map(|game| match game.ending {
            Ending::Tennis(truth) => Some(truth),
            Ending::Football(_) | Ending::Scoreboard(_) | Ending::Race(_) => None,
        })
        .collect();
    let serve =
        |part: usize| -> u32 { matches.iter().flat_map(|m| m.serve).map(|s| s[part]).sum() };
    let won = f64::from(serve(0)) / f64::from(serve(1));
    assert!((0.62..0.66).contains(&won), "points won on serve: {won}");
    let points: u32 = matches.iter().map(|m| m.points).sum();
    let points = f64::from(points) / matches.len() as f64;
    assert!((140.0..200.0).contains(&points), "points a match: {points}");
    let retired = matches.iter().filter(|m| m.status == TennisStatus::Retired).count();
    assert!((1..30).contains(&retired), "{retired} retirements of {}", matches.len());
}

/// Over many matches, home sides win as often as the probabilities before the match say.
#[test]
fn football_probabilities_match_results() {
    let (mut expected, mut found, mut count) = ([0.0; 2], [0.0; 2], 0.0);
    for number in 0..400 {
        let teams: [Participant; 2] =
            [0, 1].map(|side| names::team(number % 10, (number / 10 + side * 7) % 22));
        let mut play =
            FootballPlay::new(&teams, -DAY, 0, Dice::new(11, number as u64), Dice::new(12, 0));
        let before = play.chances(0);
        while let Some(now) = play.due() {
            play.step(now);
        }
        // The first selections of the result and of 2.5 goals: home and over.
        for (side, market) in [0, 2].into_iter().enumerate() {
            let Chance::Open(open) = before[market] else { panic!("decided before") };
            expected[side] += open.chances[0];
            found[side] += f64::from(u8::from(play.chances(DAY)[market] == Chance::Won(0)));
        }
        count += 1.0;
    }
    for (expected, found) in expected.into_iter().zip(found) {
        // Three standard deviations of 400 matches are 0.075.
        assert!((expected - found).abs() / count < 0.075, "{found} of {expected} expected");
    }
}

#[test]
fn several_matches_of_every_sport_are_in_play_at_any_time() {
    let truth = Simulator::truth(5, START);
    for half_hour in 2..48 {
        let now = START + half_hour * 30 * MINUTE;
        // A league match takes 110 minutes at least, and most others about as long on average.
        for (sport, length_min, expected) in [
            (Sport::Football, 110, 3..=6),
            (Sport::Tennis, 110, 2..=6),
            (Sport::Cs2, 110, 1..=4),
            (Sport::Darts, 50, 0..=3),
            (Sport::Hockey, 130, 1..=4),
            (Sport::Basketball, 110, 1..=4),
            (Sport::HorseRacing, 60, 5..=9),
        ] {
            let started = truth.matches.iter().filter(|it| it.sport == sport && it.start <= now);
            let count = started.filter(|game| game.start > now - length_min * MINUTE).count();
            let warm = half_hour > 4 || sport == Sport::Football;
            assert!(!warm || expected.contains(&count), "{sport:?} at {half_hour}: {count}");
        }
    }
}

/// Rules are asserted by the checker; this is that they are, for many matches of every sport.
#[test]
fn every_sport_is_played_by_its_rules() {
    for seed in 0..2 {
        check(Plan { length: 60 * MINUTE, ..Plan::new(seed, START) });
    }
}

/// Over many matches and races, the first side or runner wins as often as predicted.
#[test]
fn probabilities_of_other_sports_match_results() {
    let mut sums: BTreeMap<Sport, (f64, f64, f64)> = BTreeMap::new();
    for seed in 0..6 {
        let plan = Plan::new(seed, START);
        for entry in plan.programme() {
            let sport = entry.sport();
            if matches!(sport, Sport::Football | Sport::Tennis) {
                continue;
            }
            let mut game = Game::new(entry, seed);
            let Chance::Open(open) = game.play.chances(0)[0] else { panic!("decided before") };
            // The favourite of the two, or of the field.
            let favourite = (0..open.chances.len())
                .max_by(|a, b| open.chances[*a].total_cmp(&open.chances[*b]));
            let favourite = favourite.expect("a runner has a place");
            while let Some(now) = game.play.due() {
                game.play.step(now);
            }
            let won = game.play.chances(i64::MAX / 2)[0].is_won_by(favourite);
            let (expected, found, count) = sums.entry(sport).or_default();
            *expected += open.chances[favourite];
            *found += f64::from(u8::from(won));
            *count += 1.0;
        }
    }
    for (sport, (expected, found, count)) in sums {
        // Four standard deviations of what is drawn so often.
        let allowed = 2.0 / f64::sqrt(count);
        let off = (expected - found).abs() / count;
        assert!(off < allowed, "{sport:?}: {found} of {expected} expected in {count}");
    }
}

#[test]
fn json_lines_have_a_stable_key_order() {
    let plan = Plan { length: 3 * MINUTE, ..short(9) };
    let mut day = Vec::new();
    for timed in Simulator::from_plan(plan).take(2_000) {
        lines::write_batch(&timed, &mut day).expect("memory takes it");
    }
    let truth = Simulator::truth_of(plan);
    let mut out = Vec::new();
    truth.write_json(&mut out).expect("memory takes it");
    let text = String::from_utf8(out).expect("JSON is UTF-8");
    assert_eq!(text.lines().count(), truth.matches.len() + 1);
    assert!(
        text.lines().last().is_some_and(|line| line.starts_with(r#"{"totals":{"basketball":"#))
    );
    for line in text.lines().chain(String::from_utf8_lossy(&day).lines()) {
        let parsed: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        assert_eq!(parsed.to_string(), line);
    }
}
