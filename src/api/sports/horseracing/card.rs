//! Who runs in a race, and what bookmakers say of each.

use std::sync::Arc;

use fanout::Micros;
use ingest::event::Id;

use super::super::shape::NamedRow;
use crate::record::{Key, MatchRecord, RaceRecord, RunnerPriceRecord, RunnerRecord, Status};

/// What lists tell of a race, and by what they are filtered.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) race: Key,
    pub(super) start: Option<Micros>,
    pub(super) status: Status,
    pub(super) name: Option<String>,
    pub(super) track: Option<NamedRow>,
    pub(super) region: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) runners: Vec<Runner>,
    /// When what it was made of was changed.
    pub(super) updated: Micros,
}

/// A horse in a race.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    pub(super) id: Key,
    /// No feed of ours may tell what it is called.
    pub(super) horse: Option<NamedRow>,
    pub(super) number: Option<u16>,
    pub(super) jockey: Option<NamedRow>,
    pub(super) status: Arc<str>,
    pub(super) position: Option<u16>,
}

impl Card {
    /// `None` of what is no race.
    pub(super) fn of(record: &MatchRecord) -> Option<Self> {
        let race = record.play.race()?;
        let names = &record.names;
        let track = names.venue.as_ref().or(names.competition.as_ref()).map(NamedRow::of);
        let runners = runners(record.brief.id, race);
        Some(Self {
            race: record.brief.id,
            start: record.brief.start,
            status: record.brief.status,
            name: record.brief.round_name.as_ref().map(|name| name.to_string()),
            track,
            region: names.country.as_ref().map(|country| country.to_string()),
            provider: record.refs.keys().next().map(|provider| provider.to_string()),
            runners: runners.into_iter().map(|(runner, _)| runner).collect(),
            updated: record.brief.updated,
        })
    }
}

/// The runners of a race, each with its prices. Those that a feed of races tells; where there is
/// none, those of the bookmakers' markets.
pub(super) fn runners(id: Key, race: &RaceRecord) -> Vec<(Runner, Vec<&RunnerPriceRecord>)> {
    let mut runners: Vec<_> = race
        .runners
        .iter()
        .map(|told| {
            let name = fold(&told.name);
            let is_own = |price: &&RunnerPriceRecord| {
                price.name.as_deref().is_some_and(|own| fold(own) == name)
            };
            (Runner::told(id, told), race.prices.iter().filter(is_own).collect())
        })
        .collect();
    if race.runners.is_empty() {
        let mut known: Vec<String> = Vec::new();
        for price in &race.prices {
            let key = key(price);
            match known.iter().position(|own| *own == key) {
                Some(place) => {
                    let (_, prices): &mut (Runner, Vec<&RunnerPriceRecord>) = &mut runners[place];
                    prices.push(price);
                }
                None => {
                    runners.push((Runner::priced(id, price, &key), vec![price]));
                    known.push(key);
                }
            }
        }
    }
    runners
}

/// The same with every bookmaker that says a name.
fn key(price: &RunnerPriceRecord) -> String {
    let unnamed = || format!("{}|{}", price.bookmaker, price.selection);
    price.name.as_deref().map_or_else(unnamed, fold)
}

/// A name without what bookmakers write in different ways: numbers in front, blanks, apostrophes.
fn fold(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphabetic());
    letters.flat_map(char::to_lowercase).collect()
}

impl Runner {
    fn told(race: Key, told: &RunnerRecord) -> Self {
        let jockey = told.jockey.as_ref().map(|name| NamedRow {
            id: Id::derive("matchwire", "jockey", name).0,
            name: name.to_string(),
        });
        Self {
            id: id(race, told.id),
            horse: Some(NamedRow { id: told.id, name: told.name.to_string() }),
            number: told.number,
            jockey,
            status: Arc::clone(&told.status),
            position: told.position,
        }
    }

    fn priced(race: Key, price: &RunnerPriceRecord, key: &str) -> Self {
        let horse = Id::derive("matchwire", "horse", key).0;
        let named = price.name.as_ref();
        Self {
            id: id(race, horse),
            horse: named.map(|name| NamedRow { id: horse, name: name.to_string() }),
            number: None,
            jockey: None,
            status: Arc::clone(&price.status),
            // Who wins the market has won the race.
            position: (&*price.market == "win" && &*price.status == "winner").then_some(1),
        }
    }
}

/// The id of a horse in a race.
fn id(race: Key, horse: Key) -> Key {
    Id::derive("matchwire", "runner", &format!("{race}|{horse}")).0
}
