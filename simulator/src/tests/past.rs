//! What was played before the first day, and what will be.

use std::collections::{BTreeMap, BTreeSet};

use facts::event::{Event, Fact, FootballFact, Id, Micros, Sport};

use super::{
    super::{
        ScheduledMatch, Simulator, World,
        day::{DAY, Plan},
        past,
    },
    checker::Checker,
};

/// 22 November 2026, 6:40.
const NOW: Micros = 1_795_329_600_000_000;

fn ids(planned: &[ScheduledMatch]) -> BTreeSet<Id> {
    planned.iter().map(ScheduledMatch::id).collect()
}

#[test]
fn past_is_a_football_season_and_weeks_of_other_sports() {
    let all = past(1, NOW);
    let mut counts: BTreeMap<Sport, usize> = BTreeMap::new();
    for planned in &all {
        *counts.entry(planned.sport()).or_default() += 1;
        assert!(planned.start() < NOW);
    }
    assert_eq!(ids(&all).len(), all.len());
    assert_eq!(counts[&Sport::Football], 28 * 110);
    for sport in [Sport::Tennis, Sport::Cs2, Sport::Darts, Sport::Hockey, Sport::Basketball] {
        assert!((300..600).contains(&counts[&sport]), "{counts:?}");
    }
    assert_eq!(counts[&Sport::HorseRacing], 7 * 48);
}

#[test]
fn past_is_determined_by_seed_and_season() {
    let (now, later) = (past(1, NOW), past(1, NOW + 4 * DAY));
    let football = |all: &[ScheduledMatch]| {
        let all = all.iter().filter(|planned| planned.sport() == Sport::Football);
        all.cloned().collect::<Vec<_>>()
    };
    let (now, later) = (football(&now), football(&later));
    assert!(ids(&now).is_subset(&ids(&later)));
    assert_eq!(later.len(), now.len() + 110);
    let before: BTreeMap<_, _> = now.iter().map(|planned| (planned.id(), planned)).collect();
    for planned in later.iter().filter(|planned| before.contains_key(&planned.id())).step_by(500) {
        assert_eq!(planned.result(), before[&planned.id()].result());
    }
    assert!(ids(&past(2, NOW)).is_disjoint(&ids(&now)));
}

/// Results are by the rules, too, and each side plays once a round.
#[test]
fn results_pass_the_checker() {
    let all = past(3, NOW);
    for planned in all.iter().step_by(41) {
        let mut checker = Checker::default();
        let result = planned.result();
        result.iter().for_each(|timed| checker.apply(timed));
        checker.matches[&planned.id()].check_end();
    }
    let mut seen = BTreeSet::new();
    for planned in all.iter().filter(|planned| planned.sport() == Sport::Football) {
        let entry = planned.entry();
        for side in entry.sides.iter().flatten() {
            assert!(seen.insert((side.id, entry.round)), "{} twice", side.name);
        }
    }
}

/// The match that is reported at once is the one that is played moment by moment.
#[test]
fn past_result_equals_the_played_result() {
    let world = World::new(5, NOW);
    let planned = world.programme(1);
    let goals = |events: &mut dyn Iterator<Item = &Event>, id: Id| {
        let own = events.filter(|event| event.match_id == id);
        own.filter_map(|event| match &event.fact {
            Fact::Football(FootballFact::Score(score)) => Some(score.goals),
            _ => None,
        })
        .last()
    };
    let first = planned.iter().find(|it| it.sport() == Sport::Football).expect("there is football");
    let live: Vec<_> = world
        .play(1, Micros::MIN)
        .take_while(|timed| timed.clock_us < first.start() + 3 * 60 * 60_000_000)
        .flat_map(|timed| timed.batch.events)
        .filter(|event| event.match_id == first.id())
        .collect();
    let result: Vec<_> = first.result().into_iter().flat_map(|timed| timed.batch.events).collect();
    let played = goals(&mut live.iter(), first.id());
    assert!(played.is_some());
    assert_eq!(played, goals(&mut result.iter(), first.id()));
}

/// What is on next week's programme is played under the ids that it has there.
#[test]
fn scheduled_matches_are_played_with_their_ids() {
    let world = World::new(9, NOW);
    for day in [0, 3, 7] {
        let plan = Plan { seed: 9 + day, ..Plan::new(9, world.start_of(day)) };
        let played = Simulator::truth_of(Plan { round: plan.round, ..plan });
        assert_eq!(plan.start, NOW + day as Micros * DAY);
        let programme = world.programme(day);
        assert_eq!(ids(&programme).len(), played.matches.len());
        let since = world.start_of(day) + DAY - 60 * 60_000_000;
        let late: BTreeSet<_> =
            world.play(day, since).map(|timed| timed.batch.events[0].match_id).collect();
        let expected = programme.iter().filter(|planned| planned.start() >= since);
        assert_eq!(late, expected.map(ScheduledMatch::id).collect());
    }
}
