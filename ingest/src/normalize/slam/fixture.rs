//! The players and the place of a match, from the key of a match and the match file.

use std::sync::Arc;

use facts::event::{Class, Competition, Discipline, Fixture, Gender, Id, Participant};

use super::PROVIDER;
use crate::decode::slam::MatchRow;

/// Without the match file no player has a name, and a side without a name is none. Nothing tells the day, only the year.
pub(super) fn from_record(match_key: &Arc<str>, record: Option<&MatchRow>) -> Fixture {
    Fixture {
        provider: PROVIDER.into(),
        provider_key: match_key.clone(),
        competition: competition(match_key),
        start: None,
        date: None,
        sides: record.and_then(|record| {
            let [first, second] = [0, 1].map(|at| participant(record, at));
            Some([first?, second?])
        }),
        class: class(match_key),
    }
}

/// A pair is one participant. The name is the key of its id: the provider's own ids of players are
/// empty in most files, and one player must not get two ids.
fn participant(record: &MatchRow, at: usize) -> Option<Participant> {
    let is_pair = record.partners.iter().any(|partner| !partner.is_empty());
    let name = match [&*record.players[at], &*record.partners[at]] {
        ["", _] => return None,
        [_, ""] if is_pair => return None,
        [player, ""] => player.to_owned(),
        [player, partner] => format!("{player} / {partner}"),
    };
    Some(Participant { id: Id::derive(PROVIDER, "player", &name), name: name.into() })
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
    fn side_without_all_its_names_is_none() {
        for (players, partners, expected) in [
            (["Ann", "Bea"], ["", ""], Some(["Ann", "Bea"])),
            (["Ann", "Bea"], ["Cid", "Dan"], Some(["Ann / Cid", "Bea / Dan"])),
            (["Ann", ""], ["", ""], None),
            (["", "Bea"], ["Cid", "Dan"], None),
            (["Ann", "Bea"], ["Cid", ""], None),
        ] {
            let record = MatchRow {
                players: players.map(ToOwned::to_owned),
                partners: partners.map(ToOwned::to_owned),
                ..MatchRow::default()
            };
            let sides = from_record(&"2012-ausopen-1701".into(), Some(&record)).sides;
            let names = sides.as_ref().map(|sides| sides.each_ref().map(|side| &*side.name));
            assert_eq!(names, expected, "{players:?} {partners:?}");
        }
    }

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
