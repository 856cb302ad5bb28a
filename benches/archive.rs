//! Lists of an archive of 400,000 matches: the first page, one in the middle and the last, and the
//! cost of applying a few changes.

#[path = "support/history.rs"]
mod history;

use std::hint::black_box;

use ::history::{
    archive::Index,
    query::{MatchQuery, Window},
};
use criterion::{Criterion, criterion_group, criterion_main};
use facts::event::Sport;
use record::{Key, MatchSummary, Status};

use self::history::{FIRST_US, HOUR_US};

const MATCHES: u64 = 400_000;
/// The maximum page size.
const LIMIT: usize = 200;

fn summary(number: u64) -> MatchSummary {
    history::summary(number, MATCHES)
}

fn lists() -> Vec<(&'static str, MatchQuery)> {
    let football = MatchQuery::of_sport(Sport::Football);
    let finished = Some(vec![Status::Finished, Status::Retired]);
    let statuses = MatchQuery { statuses: finished.clone(), ..football.clone() };
    let newest = MatchQuery { newest_first: true, ..statuses.clone() };
    let years = MatchQuery { from: Some(FIRST_US + 20_000 * HOUR_US), ..statuses.clone() };
    let competition = MatchQuery { competition: Some(7), ..statuses.clone() };
    let team = MatchQuery { team: Some(703), statuses: finished, ..MatchQuery::default() };
    let teams =
        MatchQuery { teams: Some((0..60).map(|it| it * 100).collect()), ..football.clone() };
    vec![
        ("sport", football),
        ("statuses", statuses),
        ("newest", newest),
        ("days", years),
        ("competition", competition),
        ("team", team),
        ("teams_by_name", teams),
    ]
}

fn pages(c: &mut Criterion) {
    let index = Index::new((0..MATCHES).map(summary).collect());
    let mut group = c.benchmark_group("archive/page");
    for (name, query) in lists() {
        let count = index.find(&MatchQuery { window: Window::COUNT, ..query.clone() }).count;
        assert!(count > 0, "{name} finds nothing");
        let last = count.saturating_sub(LIMIT);
        for (page, offset) in [("first", 0), ("middle", count / 2), ("last", last)] {
            let window = Window { offset, limit: LIMIT };
            let query = MatchQuery { window, ..query.clone() };
            group.bench_function(format!("{name}/{page}"), |b| {
                b.iter(|| index.find(black_box(&query)));
            });
        }
    }
    group.bench_function("meetings", |b| b.iter(|| index.meetings(black_box(703), 716)));
}

fn changes(c: &mut Criterion) {
    let mut index = Index::new((0..MATCHES).map(summary).collect());
    let mut group = c.benchmark_group("archive/extend");
    let mut turn = 0_u64;
    // In ten of them only the status changes, and ten are postponed by a day.
    group.bench_function("status", |b| {
        b.iter(|| {
            turn += 1;
            let status = if turn.is_multiple_of(2) { Status::Finished } else { Status::SecondHalf };
            let numbers = (0..10).map(|it| MATCHES / 2 + it);
            index.extend(numbers.map(|number| MatchSummary { status, ..summary(number) }));
        });
    });
    group.bench_function("start", |b| {
        b.iter(|| {
            turn += 1;
            let later = i64::try_from(turn % 2).expect("a bit") * 24 * HOUR_US;
            let moved = |number: Key| {
                let summary = summary(number);
                MatchSummary { start: summary.start.map(|start| start + later), ..summary }
            };
            index.extend((0..10).map(|it| moved(MATCHES / 2 + it)));
        });
    });
}

criterion_group!(benches, pages, changes);
criterion_main!(benches);
