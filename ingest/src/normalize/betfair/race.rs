//! Racing: Betfair's event is a meeting, all races of a day on a course, and each of its races is a match.
//!
//! The markets of a race say so by their type and by `marketTime`, its off time. Its key is Betfair's own id of a race
//! (`raceId` of `listRaceDetails`): the event and the off time in UTC, `34173357.1302`. What is about no single race, such as
//! an ante-post market or a special of the meeting, is a match of its own, whose key is the event and the market.

use std::{collections::HashMap, sync::Arc};

use facts::event::{About, Id, Micros, Race, RaceRunner, RaceStatus, RunnerStatus, Venue};

use super::{
    fixture::{self, Match, PROVIDER, participant},
    time,
};
use crate::decode::betfair::{RunnerDefinition, StreamMarketDefinition};

/// The market that is about the race itself: it has its name, its runners, its winner.
const WIN: &str = "WIN";

/// The types of the markets of one race.
const TYPES: [&str; 15] = [
    WIN,
    "PLACE",
    "OTHER_PLACE",
    "EACH_WAY",
    "MATCH_BET",
    "AVB",
    "WITHOUT_FAV",
    "INSURED_PLACE",
    "FORECAST",
    "REV_FORECAST",
    "REVERSE_FORECAST",
    "TRICAST",
    "EXACTA",
    "QUINELLA",
    "TRIFECTA",
];

/// An event and an off time.
pub(super) type RaceTime = (Arc<str>, Micros);

/// The keys of races by their event and the off time that they have now.
#[derive(Debug, Default)]
pub(super) struct Races(HashMap<RaceTime, Arc<str>>);

impl Races {
    /// The key of the match of a new market. A race whose off time was moved keeps its key, and markets that come later follow
    /// it.
    pub(super) fn key(
        &self,
        definition: &StreamMarketDefinition<'_>,
        event_id: &Arc<str>,
        market_id: &str,
        matches: &HashMap<Arc<str>, Match>,
    ) -> Arc<str> {
        let market_match: Arc<str> = fixture::key(definition, event_id, market_id).into();
        if definition.race_id.is_some() || matches.contains_key(&market_match) {
            return market_match;
        }
        let at = off(definition).map(|off| (Arc::clone(event_id), off));
        at.and_then(|at| self.0.get(&at)).map_or(market_match, Arc::clone)
    }

    /// Notes when a race is off by now. What is about no single race has a start, too, but is none.
    pub(super) fn update(
        &mut self,
        of_event: &mut Match,
        definition: &StreamMarketDefinition<'_>,
        event_id: &Arc<str>,
    ) {
        let key = of_event.key();
        if !is_racing(definition) || key.contains('/') {
            return;
        }
        let at = of_event.start().map(|off| (Arc::clone(event_id), off));
        if at == of_event.race_at {
            return;
        }
        self.remove(of_event);
        of_event.race_at.clone_from(&at);
        if let Some(at) = at {
            self.0.entry(at).or_insert(key);
        }
    }

    /// Forgets a race.
    pub(super) fn remove(&mut self, of_event: &Match) {
        if let Some(at) = &of_event.race_at
            && self.0.get(at) == Some(&of_event.key())
        {
            self.0.remove(at);
        }
    }
}

/// Whether the market is of horses ("7") or greyhounds ("4339").
pub(super) fn is_racing(definition: &StreamMarketDefinition<'_>) -> bool {
    matches!(definition.event_type_id.as_deref(), Some("7" | "4339"))
}

fn is_of_a_race(definition: &StreamMarketDefinition<'_>) -> bool {
    definition.market_type.as_deref().is_some_and(|listed| TYPES.contains(&listed))
}

/// When the race is off to which the market belongs; `None` if it belongs to none.
pub(super) fn off(definition: &StreamMarketDefinition<'_>) -> Option<Micros> {
    let at = time::micros(definition.market_time.as_deref()?)?;
    (is_racing(definition) && is_of_a_race(definition)).then_some(at)
}

/// The key of its match.
pub(super) fn key(
    definition: &StreamMarketDefinition<'_>,
    event_id: &str,
    market_id: &str,
) -> String {
    if let Some(race_id) = definition.race_id.as_deref() {
        return race_id.to_owned();
    }
    match off(definition) {
        Some(off) => {
            let minutes = off.div_euclid(60_000_000).rem_euclid(24 * 60);
            format!("{event_id}.{:02}{:02}", minutes / 60, minutes % 60)
        }
        None => format!("{event_id}/{market_id}"),
    }
}

/// The name of the race is that of its `WIN` market, which states the distance: `1m2f Hcap`. Other markets of a race have a name
/// of their own (`To Be Placed`); one that is about no race has the only name of its match.
pub(super) fn about(definition: &StreamMarketDefinition<'_>) -> About {
    let names_it = definition.market_type.as_deref() == Some(WIN) || !is_of_a_race(definition);
    let name = definition.name.as_deref().map(str::trim).filter(|_| names_it);
    About {
        round_name: name.map(Arc::from),
        distance: name.and_then(distance).map(Arc::from),
        venue: definition.venue.as_deref().map(|venue| Venue {
            id: Id::derive(PROVIDER, "venue", venue),
            name: venue.trim().into(),
            city: None,
        }),
        country: definition.country_code.as_deref().map(Arc::from),
        ..About::default()
    }
}

/// The word of a name that is a distance: numbers of miles or metres, furlongs and yards, such as `2m4f`, `5f`, `1200m`.
fn distance(name: &str) -> Option<&str> {
    let is_number = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '½'))
    };
    name.split_whitespace().find(|word| {
        word.ends_with(['m', 'f', 'y']) && word.split_terminator(['m', 'f', 'y']).all(is_number)
    })
}

/// The race as its `WIN` market tells it. `None` of another market, until each runner has a name, and of one that is closed
/// without a winner.
pub(super) fn race(definition: &StreamMarketDefinition<'_>) -> Option<Race> {
    if definition.market_type.as_deref() != Some(WIN) || definition.runners.is_empty() {
        return None;
    }
    let runners: Option<Vec<_>> = definition.runners.iter().map(runner).collect();
    let runners = runners?;
    let is_closed = definition.status.as_deref() == Some("CLOSED");
    let has_winner = runners.iter().any(|runner| runner.position.is_some());
    let is_void = runners.iter().all(|runner| runner.status == RunnerStatus::NonRunner);
    let status = if is_closed && has_winner {
        RaceStatus::Finished
    } else if is_closed && is_void {
        RaceStatus::Abandoned
    } else if is_closed {
        // How it ended is not known.
        return None;
    } else if definition.in_play {
        RaceStatus::Off
    } else {
        RaceStatus::NotStarted
    };
    Some(Race { status, runners })
}

/// A loser stays `active`: a market does not say whether it came in. A name may begin with the number: `3. Fame Game`.
fn runner(definition: &RunnerDefinition<'_>) -> Option<RaceRunner> {
    let name = definition.name.as_deref()?.trim();
    let numbered = name
        .split_once(". ")
        .and_then(|(number, name)| Some((Some(number.parse::<u16>().ok()?), name.trim())));
    let (number, name) = numbered.unwrap_or((None, name));
    let (status, position) = match definition.status.as_deref() {
        Some("REMOVED" | "REMOVED_VACANT" | "HIDDEN") => (RunnerStatus::NonRunner, None),
        Some("WINNER") => (RunnerStatus::Finished, Some(1)),
        _ => (RunnerStatus::Active, None),
    };
    Some(RaceRunner { participant: participant(name), number, jockey: None, status, position })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_as_the_name_states_it() {
        for (name, expected) in [
            ("1m2f Hcap", Some("1m2f")),
            ("1m Hcap", Some("1m")),
            ("5f Nov Stks", Some("5f")),
            ("2m4f110y Hrd", Some("2m4f110y")),
            ("R1 1200m 3yo", Some("1200m")),
            ("OR 280m", Some("280m")),
            ("R3 2100m Pace M", Some("2100m")),
            ("Maiden my fly", None),
            ("To Be Placed", None),
            ("m f y", None),
            ("", None),
        ] {
            assert_eq!(distance(name), expected, "{name}");
        }
    }

    #[test]
    fn markets_of_a_race_have_one_key() {
        for (event_type, market_type, race_id, expected) in [
            ("7", Some("WIN"), None, "30.1302"),
            ("7", Some("PLACE"), None, "30.1302"),
            ("7", Some("OTHER_PLACE"), None, "30.1302"),
            ("7", Some("EACH_WAY"), None, "30.1302"),
            ("7", Some("MATCH_BET"), None, "30.1302"),
            ("4339", Some("WIN"), None, "30.1302"),
            ("7", Some("SPECIAL"), Some("30.1310"), "30.1310"),
            ("7", Some("ANTEPOST_WIN"), None, "30/1.2"),
            ("7", Some("SPECIAL"), None, "30/1.2"),
            ("7", None, None, "30/1.2"),
            ("1", Some("WIN"), None, "30"),
            ("2", Some("MATCH_ODDS"), None, "30"),
        ] {
            let definition = StreamMarketDefinition {
                event_type_id: Some(event_type.into()),
                market_type: market_type.map(Into::into),
                market_time: Some("2025-04-01T13:02:00.000Z".into()),
                race_id: race_id.map(Into::into),
                ..StreamMarketDefinition::default()
            };
            let key = fixture::key(&definition, "30", "1.2");
            assert_eq!(key, expected, "{event_type} {market_type:?}");
        }
    }
}
