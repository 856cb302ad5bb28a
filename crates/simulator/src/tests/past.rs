//! What was played before the first day, and what will be.

use std::collections::{BTreeMap, BTreeSet};

use facts::event::{Event, Fact, FootballFact, Id, Micros, Sport};

use super::{
    super::{
        ScheduledMatch, Simulator, World,
        programme::{DAY, Plan},
    },
    checker::Checker,
};

/// 22 November 2026, 6:40.
const NOW: Micros = 1_795_329_600_000_000;

/// A day by which every league has played.
const LATER: u64 = 2;

fn ids(planned: &[ScheduledMatch]) -> BTreeSet<Id> {
    planned.iter().map(ScheduledMatch::id).collect()
}

#[test]
fn past_has_complete_rounds_of_leagues_and_some_matches_of_others() {
    let all = World::new(1, NOW).past(LATER);
    let mut counts: BTreeMap<Sport, usize> = BTreeMap::new();
    for planned in &all {
        *counts.entry(planned.sport()).or_default() += 1;
        assert!(planned.start() < NOW);
    }
    assert_eq!(ids(&all).len(), all.len());
    assert_eq!(counts[&Sport::Football], 5 * 18 * 11);
    for sport in [Sport::Cs2, Sport::Hockey, Sport::Basketball] {
        assert_eq!(counts[&sport], 2 * 9 * 11, "{sport:?}");
    }
    assert_eq!(
        [Sport::Tennis, Sport::Darts, Sport::HorseRacing].map(|it| counts[&it]),
        [80, 48, 36]
    );
    assert!(all.iter().any(|it| it.start() > NOW - 60 * 60_000_000), "no match began lately");
    for days_back in 1..=15 {
        let day = NOW - days_back * DAY..NOW - (days_back - 1) * DAY;
        assert!(all.iter().any(|it| day.contains(&it.start())), "{days_back} days ago");
    }
}

/// At first it is smaller: who plays on the first day has the whole past, and no day is empty.
#[test]
fn past_grows_with_the_leagues_that_play() {
    let world = World::new(1, NOW);
    let (first, all) = (world.past(0), world.past(LATER));
    assert!(
        ids(&first).is_subset(&ids(&world.past(1))) && ids(&world.past(1)).is_subset(&ids(&all))
    );
    assert_eq!(first.iter().filter(|it| it.sport() == Sport::Football).count(), 5 * 8 * 11);
    for days_back in 1..=15 {
        let day = NOW - days_back * DAY..NOW - (days_back - 1) * DAY;
        let football = first.iter().filter(|it| it.sport() == Sport::Football);
        assert!(football.clone().any(|it| day.contains(&it.start())), "{days_back} days ago");
    }
    for day in 0..=LATER {
        let past = world.past(day);
        let plays = |id: Id| {
            let played = past.iter().filter_map(|it| it.entry().sides.as_ref());
            played.flatten().filter(|side| side.id == id).count()
        };
        for planned in world.programme(day) {
            let Some(sides) = &planned.entry().sides else { continue };
            let rounds = match planned.sport() {
                Sport::Football => 5,
                Sport::Cs2 | Sport::Hockey | Sport::Basketball => 2,
                _ => continue,
            };
            for side in sides {
                assert_eq!(plays(side.id), rounds, "{} on day {day}", side.name);
            }
        }
    }
}

/// The past and the coming week as one calendar, wherever the first day begins.
#[test]
fn calendar_is_plausible() {
    // At the beginning of a season, too.
    for start in [NOW, NOW + 5 * 60 * 60_000_000, NOW - 113 * DAY, NOW + 200 * DAY] {
        let world = World::new(4, start);
        let mut all = world.past(LATER);
        all.extend((0..8).flat_map(|day| world.programme(day)));
        all.sort_by_key(ScheduledMatch::start);
        let mut played: BTreeMap<Id, Micros> = BTreeMap::new();
        let mut met: BTreeMap<[Id; 2], Micros> = BTreeMap::new();
        let mut at_home: BTreeMap<Id, Vec<bool>> = BTreeMap::new();
        for planned in &all {
            let Some(sides) = &planned.entry().sides else { continue };
            let [home, away] = sides.each_ref().map(|side| side.id);
            let now = planned.start();
            if let Some(before) = met.insert([home.min(away), home.max(away)], now) {
                assert!(now - before >= 14 * DAY, "{sides:?} meet again too soon");
            }
            if matches!(planned.sport(), Sport::Tennis | Sport::Darts) {
                continue;
            }
            for (side, is_home) in sides.iter().zip([true, false]) {
                if let Some(before) = played.insert(side.id, now) {
                    assert!(now - before >= 2 * DAY, "{} plays again too soon", side.name);
                }
                if now < start {
                    at_home.entry(side.id).or_default().push(is_home);
                }
            }
        }
        let alternates = |homes: &Vec<bool>| homes.windows(3).all(|it| it != [it[0]; 3]);
        assert!(at_home.len() > 900 && at_home.values().all(alternates), "{at_home:?}");
    }
}

#[test]
fn past_is_determined_by_seed_and_start() {
    let (one, again) = (World::new(1, NOW).past(LATER), World::new(1, NOW).past(LATER));
    assert_eq!(ids(&one), ids(&again));
    for (one, again) in one.iter().zip(&again).step_by(300) {
        assert_eq!(one.result(true), again.result(true));
    }
    for other in [World::new(2, NOW), World::new(1, NOW + DAY)] {
        assert!(ids(&other.past(LATER)).is_disjoint(&ids(&one)));
    }
}

/// Results are by the rules, too, and each side plays once a round.
#[test]
fn results_pass_the_checker() {
    let all = World::new(3, NOW).past(LATER);
    for planned in all.iter().step_by(41) {
        let mut checker = Checker::default();
        let result = planned.result(true);
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

/// Without details it is the same match: nothing is added, no score or incident is missing, and few bookmakers are left.
#[test]
fn result_without_details_is_a_part_of_the_detailed_one() {
    for planned in World::new(6, NOW).past(LATER).iter().step_by(61) {
        let events = |detailed| -> Vec<Event> {
            planned.result(detailed).into_iter().flat_map(|timed| timed.batch.events).collect()
        };
        let (all, some) = (events(true), events(false));
        assert!(some.iter().all(|event| all.contains(event)));
        let books: BTreeSet<_> = some.iter().filter_map(book).collect();
        assert!((1..=3).contains(&books.len()), "{books:?}");
        let left_out = all.iter().filter(|event| !some.contains(event));
        for event in left_out {
            let is_detail = matches!(event.fact, Fact::Football(FootballFact::PlayerStats { .. }));
            let is_quoted = book(event).is_some_and(|book| !books.contains(book));
            assert!(is_detail || is_quoted, "{event:?}");
        }
    }
}

fn book(event: &Event) -> Option<&str> {
    match &event.fact {
        Fact::Odds(odds) => Some(&*odds.book),
        _ => None,
    }
}

/// The match that is reported at once is the one that is played moment by moment.
#[test]
fn past_result_equals_the_played_result() {
    let world = World::new(5, NOW);
    let planned = world.programme(1);
    let goals = |events: &mut dyn Iterator<Item = &Event>, id: Id| {
        let of_match = events.filter(|event| event.match_id == id);
        of_match
            .filter_map(|event| match &event.fact {
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
    let result: Vec<_> =
        first.result(true).into_iter().flat_map(|timed| timed.batch.events).collect();
    let played = goals(&mut live.iter(), first.id());
    assert!(played.is_some());
    assert_eq!(played, goals(&mut result.iter(), first.id()));
}

/// The history of prices begins with the announcement and goes up to the start.
#[test]
fn results_have_prices_from_before_the_start() {
    for planned in World::new(7, NOW).past(0).iter().step_by(53) {
        let result = planned.result(false);
        let priced =
            result.iter().filter(|timed| timed.batch.events.iter().any(|it| book(it).is_some()));
        let first = priced.map(|timed| timed.clock_us).min().expect("prices");
        assert!(
            first < planned.start() && first > planned.start() - 2 * DAY,
            "{:?}",
            planned.entry()
        );
    }
}

/// What is on next week's programme is played under the ids that it has there.
#[test]
fn scheduled_matches_are_played_with_their_ids() {
    let world = World::new(9, NOW);
    for day in [0, 3, 7] {
        let plan = Plan { seed: 9 + day, ..Plan::new(9, world.start_of(day)) };
        let played = Simulator::truth_of(plan);
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
