//! The players and the place of a match, from the key of a match and the match file.

use std::sync::Arc;

use facts::event::{Competition, Fixture, Id, Participant};

use super::PROVIDER;
use crate::decode::slam::MatchRow;

/// Without the match file no player has a name. Nothing tells the day, only the year.
pub(super) fn of(match_key: &Arc<str>, record: Option<&MatchRow>) -> Fixture {
    Fixture {
        provider: PROVIDER.into(),
        provider_key: match_key.clone(),
        competition: competition(match_key),
        start: None,
        date: None,
        sides: record.map(|record| [0, 1].map(|at| participant(record, at))),
    }
}

/// A pair is one participant. The name is the key of its id: the provider's own ids of players are
/// empty in most files, and one player must not get two ids.
fn participant(record: &MatchRow, at: usize) -> Participant {
    let name = match record.partners[at].as_str() {
        "" => record.players[at].clone(),
        partner => format!("{} / {partner}", record.players[at]),
    };
    Participant { id: Id::derive(PROVIDER, "player", &name), name: name.into() }
}

fn competition(match_key: &str) -> Option<Competition> {
    let mut parts = match_key.split('-');
    let (year, slam) = (parts.next()?, parts.next()?);
    Some(Competition {
        id: Id::derive(PROVIDER, "competition", slam),
        name: major(slam).unwrap_or(slam).into(),
        season: Some(year.into()),
    })
}

/// The name of a major, from what the keys call it.
pub(in crate::normalize) fn major(slam: &str) -> Option<&'static str> {
    match slam {
        "ausopen" => Some("Australian Open"),
        "frenchopen" => Some("French Open"),
        "wimbledon" => Some("Wimbledon"),
        "usopen" => Some("US Open"),
        _ => None,
    }
}
