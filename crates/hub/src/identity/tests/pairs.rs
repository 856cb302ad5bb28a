//! Constructed pairs of fixtures, with the decision that is right: `pairs.tsv`, whose head explains it.

use facts::event::{Class, Discipline, Gender};

use super::*;
use crate::identity::rule::Comparison;

/// Pairs of one match that are not joined.
const MISSED_MAX: usize = 11;

fn side(column: &str) -> Participant {
    Participant { id: Id::derive("test", "team", column), name: column.into() }
}

fn start(column: &str) -> (Option<Micros>, Option<jiff::civil::Date>) {
    let base: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
    if let Some(days) = column.strip_prefix('d') {
        let days: i8 = days.parse().expect("a number of days");
        return (None, Some(jiff::civil::date(2026, 3, 1 + days)));
    }
    let minutes: i64 = column.parse().expect("minutes");
    (Some(base.as_microsecond() + minutes * 60_000_000), None)
}

/// The columns country and facts.
fn class(country: &str, facts: &str) -> Class {
    let mut class = Class::in_country(Some(country).filter(|it| !it.is_empty()));
    for fact in facts.split_whitespace() {
        match fact.split_once('=').expect("a fact has a value") {
            ("gender", gender) => class.gender = Some(Gender::named(gender).expect("a gender")),
            ("age", age) => class.age = Some(age.parse().expect("an age")),
            ("reserve", reserve) => class.reserve = Some(reserve == "yes"),
            ("simulated", simulated) => class.simulated = Some(simulated == "yes"),
            ("discipline", "football") => class.discipline = Some(Discipline::Usual),
            ("discipline", "futsal") => class.discipline = Some(Discipline::Futsal),
            // Whether a ground is neutral is no part of the class.
            ("neutral", _) => {}
            _ => panic!("no fact {fact}"),
        }
    }
    class
}

fn read(provider: &str, columns: &[&str], facts: &str) -> Fixture {
    let [competition, country, home, away, at] = columns[..] else { panic!("five columns") };
    let (start, date) = start(at);
    let sides = match home.split_once(" @ ") {
        Some((away, home)) => Some([side(home), side(away)]),
        None => (!away.is_empty()).then(|| [side(home), side(away)]),
    };
    let unnamed = Fixture {
        provider: provider.into(),
        provider_key: "1".into(),
        competition: None,
        start,
        date,
        sides,
        class: class(country, facts),
    };
    if competition.is_empty() { unnamed } else { within(unnamed, competition) }
}

#[test]
fn constructed_pairs_are_decided_rightly() {
    let (mut wrong, mut missed, mut rows) = (Vec::new(), Vec::new(), 0);
    for line in include_str!("pairs.tsv").lines().filter(|line| !line.starts_with('#')).skip(1) {
        let columns: Vec<_> = line.split('\t').collect();
        let Some(sport) = Sport::ALL.into_iter().find(|sport| sport.as_str() == columns[0]) else {
            panic!("no sport {line}")
        };
        rows += 1;
        let one = read("a", &columns[1..6], columns[11]);
        let other = read("b", &columns[6..11], columns[12]);
        let readings = [&one, &other].map(|fixture| Reading::from_fixture(sport, fixture));
        let is_joined = match &readings {
            [Some(one), Some(other)] => matches!(one.compare(other), Comparison::Same { .. }),
            _ => false,
        };
        match columns[13] {
            "same" if !is_joined => missed.push(line),
            "doubtful" | "different" if is_joined => wrong.push(line),
            "same" | "doubtful" | "different" => {}
            other => panic!("{other} is no decision"),
        }
    }
    let report = format!(
        "{rows} pairs, wrong: {}\n{}\nmissed: {}\n{}",
        wrong.len(),
        wrong.join("\n"),
        missed.len(),
        missed.join("\n")
    );
    assert!(wrong.is_empty() && missed.len() <= MISSED_MAX, "{report}");
}
