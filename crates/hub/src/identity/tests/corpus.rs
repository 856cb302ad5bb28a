//! Tests against the shared recordings, with the names of real feeds.

use std::{fs::File, io::Read, path::PathBuf};

use facts::event::Fact;
use flate2::read::GzDecoder;
use ingest::recording::{Limits, Recording, Step};

use super::*;
use crate::identity::rule::Comparison;

/// A season from a provider with dates only.
fn season(file: &str) -> Option<Vec<Fixture>> {
    let path = shared(&format!("football-data-couk/{file}"))?;
    let mut text = String::new();
    GzDecoder::new(File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name| header.iter().position(|it| *it == name).unwrap();
    let [date, home, away] = ["Date", "HomeTeam", "AwayTeam"].map(column);
    let fixtures = lines.filter(|row| row.len() > away).map(|row| {
        let day = row[date].split('/').collect::<Vec<_>>();
        let year = if day[2].len() == 2 { format!("20{}", day[2]) } else { day[2].to_owned() };
        let day = format!("{year}-{}-{}", day[1], day[0]);
        let sides = format!("{} v {}", row[home], row[away]);
        fixture("football-data", &format!("{day} {sides}"), &sides, &day)
    });
    Some(fixtures.collect())
}

#[test]
fn matches_of_a_season_are_all_different() {
    for file in ["E0-2016-2017.csv.gz", "E0-2019-2020.csv.gz"] {
        let Some(fixtures) = season(file) else { return };
        assert_eq!(fixtures.len(), 380, "{file}");
        let readings =
            fixtures.iter().map(|it| Reading::from_fixture(Sport::Football, it).unwrap());
        let readings = readings.collect::<Vec<_>>();
        for (at, one) in readings.iter().enumerate() {
            assert!(matches!(one.compare(one), Comparison::Same { swapped: false, .. }));
            for (other_at, other) in readings.iter().enumerate().skip(at + 1) {
                let verdict = one.compare(other);
                let both = (&fixtures[at].provider_key, &fixtures[other_at].provider_key);
                assert_eq!(verdict, Comparison::Different, "{both:?}");
            }
        }
    }
}

/// The Betfair names of this match, and of the rest of that weekend, match the CSV's.
#[test]
fn betfair_event_matches_its_row_of_the_season() {
    let Some(season) = season("E0-2016-2017.csv.gz") else { return };
    let betfair = fixtures("betfair-stream/football-1-event-77-markets.basic.bz2");
    let (sport, event) = betfair.into_iter().find(|(_, it)| it.sides.is_some()).unwrap();
    assert_eq!(MatchDescription::new(Id(0), &event).sides, "Middlesbrough v Man City");
    for betfair_first in [true, false] {
        let mut identity = Identity::default();
        let before = betfair_first.then(|| identity.resolve_fixture(sport, &event).id);
        let rows = season.iter().map(|row| (row, identity.football(row).id)).collect::<Vec<_>>();
        let id = before.unwrap_or_else(|| identity.resolve_fixture(sport, &event).id);
        let found = rows.iter().filter(|(_, row_id)| *row_id == id).collect::<Vec<_>>();
        let [(row, _)] = found[..] else { panic!("{found:?}") };
        assert_eq!(&*row.provider_key, "2017-04-30 Middlesbrough v Man City");
        let decisions = identity.take_decisions();
        assert!(matches!(&decisions[..], [Decision::Bind(_)]), "no doubts: {decisions:?}");
    }
}

/// Any two recordings contain different matches.
#[test]
fn recordings_contain_different_matches() {
    let mut identity = Identity::default();
    for file in [
        "betfair-stream/tennis-1.223716976.basic.bz2",
        "betfair-stream/tennis-29788105.pro.jsonl.gz",
        "betfair-stream/tennis-29788457-4-markets.pro.jsonl.gz",
        "wyscout/2058009.events.json.gz",
        "wyscout/2058017.events.json.gz",
        "wyscout/2516847.events.json.gz",
        "slam-pointbypoint/2011-wimbledon-2148.points.csv.gz",
        "slam-pointbypoint/2011-wimbledon-2701.points.csv.gz",
        "slam-pointbypoint/2023-usopen-4601.points.csv.gz",
    ] {
        for (sport, fixture) in fixtures(file) {
            let local_id = local_id(&fixture.provider, &fixture.provider_key);
            let resolution = identity.resolve_fixture(sport, &fixture);
            assert_eq!((resolution.id, resolution.doubts), (local_id, 0), "{fixture:?}");
        }
    }
}

/// The fixtures in a recording.
fn fixtures(file: &str) -> Vec<(Sport, Fixture)> {
    let Some(path) = shared(file) else { return Vec::new() };
    let recording = Recording::open(&path, &[], hour(0), &Limits::default()).unwrap();
    let mut fixtures: Vec<(Sport, Fixture)> = Vec::new();
    for step in recording.take(2_000) {
        let Step::Batch(timed) = step else { continue };
        for event in timed.batch.events {
            if let Fact::Fixture(fixture) = event.fact {
                assert_eq!(event.match_id, local_id(&fixture.provider, &fixture.provider_key));
                fixtures.push((event.sport, fixture));
            }
        }
    }
    fixtures
}

/// A file of the shared recordings; prints a note and returns `None` if they are not available.
#[expect(clippy::print_stderr, reason = "reports a skipped test")]
fn shared(name: &str) -> Option<PathBuf> {
    let feeds = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/feeds"));
    if !feeds.is_dir() {
        eprintln!("skipped: shared recordings are not here");
        return None;
    }
    Some(feeds.join(name))
}
