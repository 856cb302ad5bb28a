//! An event of the API as our match.

use facts::event::{Competition, Fixture, Id, Participant, Sport};

use crate::decode::the_odds_api::OddsApiEvent;

pub(super) const PROVIDER: &str = "the-odds-api";

/// The sport of a key: `soccer_epl`, `tennis_atp_wimbledon`. The key's first word names it.
pub(super) fn sport(sport_key: &str) -> Sport {
    match group(sport_key) {
        "soccer" => Sport::Football,
        "tennis" => Sport::Tennis,
        "icehockey" => Sport::Hockey,
        "basketball" => Sport::Basketball,
        "cricket" => Sport::Cricket,
        "darts" => Sport::Darts,
        // Among them americanfootball, baseball, mma and politics.
        _ => Sport::Other,
    }
}

pub(super) fn id(event: &OddsApiEvent) -> Id {
    Id::derive(PROVIDER, "match", &event.id)
}

pub(super) fn of(event: &OddsApiEvent) -> Fixture {
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
    }
}

/// The provider has names alone, and a club has teams of one name in several sports.
fn participant(sport_key: &str, name: &str) -> Participant {
    let key = format!("{}/{name}", group(sport_key));
    Participant { id: Id::derive(PROVIDER, "participant", &key), name: name.into() }
}

fn group(sport_key: &str) -> &str {
    sport_key.split('_').next().unwrap_or_default()
}
