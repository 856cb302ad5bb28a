//! The card of a race: its runners and their prices.

use std::sync::Arc;

use fanout::Micros;

use super::super::shape::NamedRow;
use crate::rest::time;
use record::{Key, MatchRecord, RaceRecord, RunnerPriceRecord, RunnerRecord, Status, fold_name};

/// The card of a race, as used by lists and filters.
#[derive(Debug, Clone)]
pub(super) struct RaceCard {
    pub(super) race: Key,
    pub(super) start: Option<Micros>,
    /// Only the day of the start is known.
    pub(super) day_only: bool,
    pub(super) status: Status,
    pub(super) name: Option<String>,
    pub(super) track: Option<NamedRow>,
    pub(super) region: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) runners: Vec<Runner>,
    /// When its record last changed.
    pub(super) updated: Micros,
}

/// A horse in a race.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    pub(super) id: Key,
    /// `None` if no feed provides the name.
    pub(super) horse: Option<NamedRow>,
    pub(super) number: Option<u16>,
    pub(super) jockey: Option<NamedRow>,
    pub(super) status: Arc<str>,
    pub(super) position: Option<u16>,
}

impl RaceCard {
    /// `None` if the match is not a race.
    pub(super) fn new(record: &MatchRecord) -> Option<Self> {
        let race = record.play.race()?;
        let names = &record.names;
        let track = names.venue.as_ref().or(names.competition.as_ref()).map(NamedRow::new);
        let runners = runners(race);
        Some(Self {
            race: record.summary.id,
            start: record.summary.start,
            day_only: record.summary.day_only,
            status: record.summary.status,
            name: record.summary.round_name.as_ref().map(|name| name.to_string()),
            track,
            region: names.country.as_ref().map(|country| country.to_string()),
            provider: record.refs.keys().next().map(|provider| provider.to_string()),
            runners: runners.into_iter().map(|(runner, _)| runner).collect(),
            updated: record.summary.updated,
        })
    }

    /// The start as rows show it: the day alone if no more is known.
    pub(super) fn starts_at(&self) -> Option<String> {
        let at = time::offset(self.start?)?;
        if self.day_only { at.get(..10).map(ToOwned::to_owned) } else { Some(at) }
    }
}

/// The runners of a race with their prices: those of a racing feed, or, without one, those of the bookmakers'
/// markets.
pub(super) fn runners(race: &RaceRecord) -> Vec<(Runner, Vec<&RunnerPriceRecord>)> {
    let mut runners: Vec<_> = race
        .runners
        .iter()
        .map(|record| {
            let name = fold_name(&record.name);
            let is_own = |price: &&RunnerPriceRecord| {
                price.name.as_deref().is_some_and(|price_name| fold_name(price_name) == name)
            };
            (Runner::from_record(record), race.prices.iter().filter(is_own).collect())
        })
        .collect();
    if race.runners.is_empty() {
        let mut horses: Vec<Key> = Vec::new();
        for price in &race.prices {
            match horses.iter().position(|horse| *horse == price.horse) {
                Some(index) => {
                    let (_, prices): &mut (Runner, Vec<&RunnerPriceRecord>) = &mut runners[index];
                    prices.push(price);
                }
                None => {
                    runners.push((Runner::priced(price), vec![price]));
                    horses.push(price.horse);
                }
            }
        }
    }
    runners
}

impl Runner {
    fn from_record(record: &RunnerRecord) -> Self {
        let jockey = record.jockey.as_ref().zip(record.jockey_id);
        let jockey = jockey.map(|(name, id)| NamedRow { id, name: name.to_string() });
        Self {
            id: record.runner,
            horse: Some(NamedRow { id: record.id, name: record.name.to_string() }),
            number: record.number,
            jockey,
            status: Arc::clone(&record.status),
            position: record.position,
        }
    }

    fn priced(price: &RunnerPriceRecord) -> Self {
        let horse = price.horse;
        let named = price.name.as_ref();
        Self {
            id: price.runner,
            horse: named.map(|name| NamedRow { id: horse, name: name.to_string() }),
            number: None,
            jockey: None,
            status: Arc::clone(&price.status),
            // The winner of the market won the race.
            position: (&*price.market == "win" && &*price.status == "winner").then_some(1),
        }
    }
}
