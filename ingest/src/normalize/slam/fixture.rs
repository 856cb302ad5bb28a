//! The players and the place of a match, from the key of a match and the match file.

use std::sync::Arc;

use facts::event::{Class, Competition, Discipline, Fixture, Gender, Id, Participant};

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
        class: class(match_key),
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

/// The event, from the first digit or the letters of the match's number: `1701`, `XD111`.
fn class(match_key: &str) -> Class {
    let number = match_key.rsplit('-').next().unwrap_or_default();
    let (gender, discipline) = match number.as_bytes() {
        [b'1', ..] | [b'M', b'S', ..] => (Gender::Men, Discipline::Singles),
        [b'2', ..] | [b'W', b'S', ..] => (Gender::Women, Discipline::Singles),
        [b'3', ..] | [b'M', b'D', ..] => (Gender::Men, Discipline::Doubles),
        [b'4', ..] | [b'W', b'D', ..] => (Gender::Women, Discipline::Doubles),
        [b'5', ..] | [b'X', b'D', ..] => (Gender::Mixed, Discipline::Doubles),
        _ => return Class::default(),
    };
    Class { gender: Some(gender), discipline: Some(discipline), ..Class::default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_a_match_states_its_event() {
        for (key, expected) in [
            ("2012-ausopen-1701", Some((Gender::Men, Discipline::Singles))),
            ("2011-wimbledon-2148", Some((Gender::Women, Discipline::Singles))),
            ("2018-ausopen-MD108", Some((Gender::Men, Discipline::Doubles))),
            ("2018-ausopen-WD601", Some((Gender::Women, Discipline::Doubles))),
            ("2021-frenchopen-5107", Some((Gender::Mixed, Discipline::Doubles))),
            ("2018-ausopen-XD111", Some((Gender::Mixed, Discipline::Doubles))),
            ("2018-ausopen-6101", None),
            ("", None),
        ] {
            let class = class(key);
            assert_eq!(class.gender.zip(class.discipline), expected, "{key}");
        }
    }
}
