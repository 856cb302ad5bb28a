//! Compares the index with a plainly filtered and sorted list.

use std::collections::BTreeMap;

use proptest::{collection::vec, option, prelude::*, sample::select};

use super::*;
use crate::match_query::Window;
use facts::event::Sport;
use jiff::{Timestamp, tz::TimeZone};
use record::{Status, testing as records};

/// A change of the index.
#[derive(Debug, Clone)]
enum Step {
    Put(Vec<MatchSummary>),
    Remove(Vec<Key>),
}

const STATUSES: [Status; 4] =
    [Status::NotStarted, Status::FirstHalf, Status::Finished, Status::Unresolved];
const SPORTS: [Sport; 2] = [Sport::Football, Sport::Tennis];
const STAGES: [&str; 2] = ["a", "b"];
/// Hours to the east of UTC.
const ZONES: [i8; 4] = [-11, -5, 4, 14];
const HOUR: Micros = 3600 * 1_000_000;
const DAY: Micros = 24 * HOUR;
/// Starts and the borders of days are multiples of this.
const STEP: Micros = 6 * HOUR;

/// Few distinct values, so that filters match.
fn summaries() -> impl Strategy<Value = MatchSummary> {
    let few = || option::of(1..4_u64);
    let whose = (few(), few(), few(), few(), [few(), few()], option::of([1..5_u64, 1..5_u64]));
    let start = option::of((0..20_i64, prop::bool::weighted(0.3)));
    let when = (0..40_u64, start, option::of(0..3_u16));
    let play = (option::of(select(&STAGES[..])), option::of(Just([1, 0])));
    (when, whose, play, select(&STATUSES[..]), select(&SPORTS[..])).prop_map(
        |(
            (id, start, round),
            (competition, season, venue, referee, coaches, sides),
            (group, extra_time),
            status,
            sport,
        )| {
            let start = start.map(|(steps, day_only)| (steps * STEP, day_only));
            MatchSummary {
                sport,
                start: start.map(|(start, _)| start),
                day_only: start.is_some_and(|(_, day_only)| day_only),
                status,
                round,
                competition,
                season,
                venue,
                referee,
                coaches,
                sides,
                group: group.map(Into::into),
                extra_time,
                updated: id.cast_signed(),
                ..records::summary(id)
            }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => vec(summaries(), 0..30).prop_map(Step::Put),
        1 => vec(0..40_u64, 0..8).prop_map(Step::Remove),
    ];
    vec(step, 0..8)
}

fn queries() -> impl Strategy<Value = MatchQuery> {
    let few = || option::weighted(0.2, 1..4_u64);
    let border = || option::weighted(0.3, (0..20_i64).prop_map(|steps| steps * STEP));
    let days = (border(), border(), option::weighted(0.3, select(&ZONES[..])));
    let whose = (few(), few(), few(), few(), few(), few());
    let teams = option::weighted(0.2, vec(1..5_u64, 0..3));
    let competitions = option::weighted(0.2, vec(1..5_u64, 0..3));
    let ids = option::weighted(0.1, vec(0..40_u64, 0..8));
    let seasons = option::weighted(0.2, vec(1..5_u64, 0..3));
    let meeting = option::weighted(0.2, [vec(1..5_u64, 0..3), vec(1..5_u64, 0..3)]);
    let lists = (ids, teams, competitions, seasons, meeting);
    let updated_since = option::weighted(0.1, 0..40_i64);
    let play = (option::weighted(0.1, select(&STAGES[..])), prop::bool::weighted(0.1));
    let statuses = option::weighted(0.3, vec(select(&STATUSES[..]), 0..3));
    let sport = option::weighted(0.5, select(&SPORTS[..]));
    let round = option::weighted(0.2, 0..3_u16);
    (days, whose, lists, play, statuses, sport, round, updated_since, any::<bool>()).prop_map(
        |(days, whose, lists, play, statuses, sport, round, updated_since, newest_first)| {
            let (ids, teams, competitions, seasons, meeting) = lists;
            let (from, before, hours) = days;
            let (competition, season, team, venue, referee, manager) = whose;
            let (stage, after_extra_time) = play;
            MatchQuery {
                sport,
                ids,
                from,
                before,
                zone: hours.map(|hours| TimeZone::fixed(jiff::tz::offset(hours))),
                competition,
                competitions,
                season,
                seasons,
                team,
                teams,
                meeting,
                statuses,
                round,
                venue,
                referee,
                manager,
                stage: stage.map(ToOwned::to_owned),
                after_extra_time,
                updated_since,
                newest_first,
                ..MatchQuery::default()
            }
        },
    )
}

fn plainly(
    summaries: &BTreeMap<Key, MatchSummary>,
    query: &MatchQuery,
) -> (usize, Vec<MatchSummary>) {
    let zone = query.zone.as_ref().map(|zone| zone.to_offset(Timestamp::UNIX_EPOCH).seconds());
    let east = Micros::from(zone.unwrap_or_default()) * 1_000_000;
    let start = |summary: &MatchSummary| match summary.start {
        Some(start) if summary.day_only && zone.is_some() => Some(start / DAY * DAY - east),
        start => start,
    };
    let has_day = |summary: &MatchSummary| match start(summary) {
        Some(start) => {
            query.from.is_none_or(|from| start >= from)
                && query.before.is_none_or(|before| start < before)
        }
        None => query.from.is_none() && query.before.is_none(),
    };
    let found = summaries.values().filter(|it| has_day(it) && query.selects(it));
    let mut found: Vec<_> = found.cloned().collect();
    found.sort_by_key(SortKey::new);
    if query.newest_first {
        found.reverse();
        found.sort_by_key(|summary| summary.start.is_none());
    }
    let count = found.len();
    let Window { offset, limit } = query.window;
    (count, found.into_iter().skip(offset).take(limit).collect())
}

proptest! {
    #[test]
    fn index_finds_the_same_as_a_plain_list(
        first in vec(summaries(), 0..40),
        steps in steps(),
        queries in vec(queries(), 1..8),
        fresh in vec(summaries(), 0..10),
        (offset, limit) in (0..20_usize, 0..20_usize),
    ) {
        let mut plain: BTreeMap<_, _> = BTreeMap::new();
        for summary in first {
            plain.entry(summary.id).or_insert(summary);
        }
        let mut index = Index::new(plain.values().cloned().collect());
        for step in steps {
            match step {
                Step::Put(summaries) => {
                    plain.extend(summaries.iter().map(|summary| (summary.id, summary.clone())));
                    index.extend(summaries);
                }
                Step::Remove(ids) => {
                    plain.retain(|id, _| !ids.contains(id));
                    index.remove(&ids);
                }
            }
        }
        let windows = [Window { offset, limit }, Window::ALL];
        let queries = queries.into_iter().flat_map(|query| windows.map(|window| MatchQuery { window, ..query.clone() }));
        let queries: Vec<_> = queries.collect();
        for query in &queries {
            let found = index.find(query);
            let summaries: Vec<_> = found.summaries.iter().map(|it| MatchSummary::clone(it)).collect();
            prop_assert_eq!((found.count, summaries), plainly(&plain, query), "{:?}", query);
        }
        // As if these had been stored.
        let fresh: BTreeMap<_, _> = fresh.into_iter().map(|summary| (summary.id, summary)).collect();
        let mut newest = plain.clone();
        newest.extend(fresh.clone());
        let fresh: Vec<_> = fresh.into_values().map(Arc::new).collect();
        for query in &queries {
            let found = index.find_under(&fresh, query);
            let summaries: Vec<_> = found.summaries.iter().map(|it| MatchSummary::clone(it)).collect();
            prop_assert_eq!((found.count, summaries), plainly(&newest, query), "{:?}", query);
        }
        for (one, other) in [(1, 2), (2, 1), (3, 3)] {
            let meet = |it: &&MatchSummary| it.sides.is_some_and(|ids| ids.contains(&one) && ids.contains(&other));
            let mut expected: Vec<_> = plain.values().filter(meet).collect();
            expected.sort_by_key(|it| SortKey::new(it));
            let meetings = index.meetings(one, other);
            prop_assert_eq!(meetings.iter().map(|it| &**it).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn blocks_are_split_and_removed_when_empty() {
    let summary =
        |id: Key| MatchSummary { start: Some(id.cast_signed() % 97), ..records::summary(id) };
    let mut index = Index::new((0..3000).step_by(2).map(summary).collect());
    for id in (1..3000).step_by(2) {
        index.extend([summary(id)]);
    }
    let all = index.find(&MatchQuery::default());
    assert_eq!(all.count, 3000);
    assert!(all.summaries.is_sorted_by_key(|it| SortKey::new(it)), "in their order");
    let ids: Vec<_> = (0..2999).collect();
    index.remove(&ids);
    let left = index.find(&MatchQuery::default());
    assert_eq!(left.summaries.iter().map(|it| it.id).collect::<Vec<_>>(), [2999]);
}
