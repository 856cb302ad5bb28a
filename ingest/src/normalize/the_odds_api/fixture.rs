//! An event of the API as our match.

use facts::event::{Class, Competition, Fixture, Gender, Id, Participant, Sport};

use crate::decode::the_odds_api::OddsApiEvent;

pub(super) const PROVIDER: &str = "the-odds-api";

/// The sport of a key: `soccer_epl`, `tennis_atp_wimbledon`. The key's first word names it.
pub(super) fn sport(sport_key: &str) -> Sport {
    Sport::find(|it| it.the_odds_api == Some(group(sport_key)))
}

pub(super) fn id(event: &OddsApiEvent) -> Id {
    Id::derive(PROVIDER, "match", &event.id)
}

pub(super) fn from_event(event: &OddsApiEvent) -> Fixture {
    let side = |name: &Option<String>| {
        let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty())?;
        Some(participant(&event.sport_key, name))
    };
    Fixture {
        provider: PROVIDER.into(),
        provider_key: event.id.as_str().into(),
        competition: Some(Competition {
            id: Id::derive(PROVIDER, "competition", &event.sport_key),
            name: event.sport_title.as_deref().unwrap_or(&event.sport_key).into(),
            season: None,
        }),
        start: event.commence,
        date: None,
        sides: side(&event.home).zip(side(&event.away)).map(|(home, away)| [home, away]),
        class: class(&event.sport_key),
    }
}

/// The provider has names alone, and a club has teams of one name in several sports.
fn participant(sport_key: &str, name: &str) -> Participant {
    let key = format!("{}/{name}", group(sport_key));
    Participant { id: Id::derive(PROVIDER, "participant", &key), name: name.into() }
}

/// What a key says: `soccer_usa_mls`, `tennis_wta_us_open`, `soccer_fifa_world_cup_womens`.
fn class(sport_key: &str) -> Class {
    let mut parts = sport_key.split('_');
    let gender = parts.clone().find_map(|part| match part {
        "atp" => Some(Gender::Men),
        "wta" | "wnba" | "wncaab" => Some(Gender::Women),
        // `mma_mixed_martial_arts` says nothing of who fights.
        _ => Gender::named(part).filter(|gender| *gender != Gender::Mixed),
    });
    let country = match (parts.next(), parts.next(), parts.next_back()) {
        (Some("soccer"), Some("league"), Some("ireland")) => Some("Ireland"),
        (Some("soccer"), Some(country), _) => {
            COUNTRIES.iter().find(|(part, _)| *part == country).map(|(_, country)| *country)
        }
        _ => None,
    };
    Class { gender, ..Class::in_country(country) }
}

/// The second words of keys that name a country.
const COUNTRIES: &[(&str, &str)] = &[
    ("argentina", "Argentina"),
    ("australia", "Australia"),
    ("austria", "Austria"),
    ("belgium", "Belgium"),
    ("brazil", "Brazil"),
    ("chile", "Chile"),
    ("china", "China"),
    ("denmark", "Denmark"),
    ("efl", "England"),
    ("england", "England"),
    ("epl", "England"),
    ("fa", "England"),
    ("finland", "Finland"),
    ("france", "France"),
    ("germany", "Germany"),
    ("greece", "Greece"),
    ("italy", "Italy"),
    ("japan", "Japan"),
    ("korea", "South Korea"),
    ("mexico", "Mexico"),
    ("netherlands", "Netherlands"),
    ("norway", "Norway"),
    ("poland", "Poland"),
    ("portugal", "Portugal"),
    ("russia", "Russia"),
    ("saudi", "Saudi Arabia"),
    ("spain", "Spain"),
    ("spl", "Scotland"),
    ("sweden", "Sweden"),
    ("switzerland", "Switzerland"),
    ("turkey", "Turkey"),
    ("usa", "USA"),
];

fn group(sport_key: &str) -> &str {
    sport_key.split('_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_states_gender_and_country() {
        for (key, gender, country) in [
            ("soccer_usa_mls", None, Some("USA")),
            ("soccer_epl", None, Some("England")),
            ("soccer_league_of_ireland", None, Some("Ireland")),
            ("soccer_uefa_champs_league_women", Some(Gender::Women), None),
            ("soccer_fifa_world_cup_womens", Some(Gender::Women), None),
            ("basketball_wnba", Some(Gender::Women), None),
            ("tennis_atp_us_open", Some(Gender::Men), None),
            ("soccer_fifa_world_cup", None, None),
            ("mma_mixed_martial_arts", None, None),
        ] {
            assert_eq!(class(key), Class { gender, ..Class::in_country(country) }, "{key}");
        }
    }
}
