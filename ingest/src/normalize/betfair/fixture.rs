//! A Betfair event as our match: its sport, its start, and who plays.
//!
//! It is in the definition of each market. Live ones hold no names, so the sides are unknown until the catalogue has them.

use std::sync::Arc;

use facts::event::{
    Class, Competition, Event, Fact, Fixture, Id, Micros, Pair, Participant, Sport,
};

use super::time;
use crate::{
    decode::betfair::{StreamMarketDefinition, quoted},
    error::{DecodeError, RefusalKind},
};

/// Our slug of Betfair, as a provider of matches and as a bookmaker.
pub(in crate::normalize) const PROVIDER: &str = "betfair";

/// What is known of one event while markets of it are open.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) id: Id,
    pub(super) sport: Sport,
    /// Markets of it that are known now.
    pub(super) markets: usize,
    fixture: Fixture,
    introduced: bool,
}

impl Match {
    pub(super) fn new(event_id: Arc<str>) -> Self {
        let id = Id::derive(PROVIDER, "match", &event_id);
        let fixture = Fixture {
            provider: PROVIDER.into(),
            provider_key: event_id,
            competition: None,
            start: None,
            date: None,
            sides: None,
            ..Fixture::default()
        };
        Self { id, sport: Sport::Other, markets: 0, fixture, introduced: false }
    }

    /// Takes what a definition says of the event; gives the fixture when it is new or has changed.
    /// What the definition does not say stays as another one said it, and of which sport the event
    /// is, as the first one did.
    pub(super) fn define(
        &mut self,
        definition: &StreamMarketDefinition<'_>,
        notices: &mut Vec<DecodeError>,
    ) -> Option<Event> {
        if let Some(event_type) = &definition.event_type_id {
            self.play(sport(event_type), notices);
        }
        let mut fixture = self.fixture.clone();
        let opens = moment("openDate", definition.open_date.as_deref(), notices);
        let market = moment("marketTime", definition.market_time.as_deref(), notices);
        // The event opens once, but each market has a time of its own: that is the second choice.
        fixture.start = opens.or(fixture.start).or(market);
        let name = definition.event_name.as_deref();
        fixture.sides = name.and_then(|name| sides(name, self.sport)).or(fixture.sides);
        let competition = definition.competition.as_ref().map(|[id, name]| Competition {
            id: Id::derive(PROVIDER, "competition", id),
            name: name.trim().into(),
            season: None,
        });
        fixture.competition = competition.or(fixture.competition);
        // The default of events without a country is GB, so that says nothing.
        let country = definition.country_code.as_deref().filter(|country| *country != "GB");
        if country.is_some() {
            fixture.class = Class::in_country(country);
        }
        let news = !self.introduced || fixture != self.fixture;
        (self.fixture, self.introduced) = (fixture, true);
        news.then(|| Event {
            sport: self.sport,
            match_id: self.id,
            fact: Fact::Fixture(self.fixture.clone()),
        })
    }

    /// A match is reported with one sport, and keeps it.
    fn play(&mut self, sport: Sport, notices: &mut Vec<DecodeError>) {
        if !self.introduced {
            self.sport = sport;
        } else if sport != self.sport {
            let (reported, event) = (self.sport.as_str(), quoted(&self.fixture.provider_key));
            let reason =
                format!("event {event} was reported as {reported}, not {}", sport.as_str());
            notices.push(DecodeError::new(RefusalKind::Value, reason));
        }
    }
}

/// Betfair's event types, as `listEventTypes` of its Betting API names them.
pub(in crate::normalize) fn sport(event_type_id: &str) -> Sport {
    match event_type_id {
        "1" => Sport::Football,
        "2" => Sport::Tennis,
        "4" => Sport::Cricket,
        "7" => Sport::HorseRacing,
        "3503" => Sport::Darts,
        "7522" => Sport::Basketball,
        "7524" => Sport::Hockey,
        // Among them esports (27454571), which does not say which game is played.
        _ => Sport::Other,
    }
}

/// Stands before the home side, which American sports name second.
pub(super) const AT: &str = " @ ";

/// The sides of `A v B` or of `B @ A`, the home side first. A race meeting has none.
fn sides(event_name: &str, sport: Sport) -> Option<Pair<Participant>> {
    if matches!(sport, Sport::HorseRacing | Sport::Other) {
        return None;
    }
    let names = match event_name.split_once(AT) {
        Some((away, home)) => [home, away],
        None => event_name.split_once(" v ")?.into(),
    };
    let names = names.map(str::trim);
    names.iter().all(|name| !name.is_empty()).then(|| names.map(participant))
}

pub(in crate::normalize) fn participant(name: &str) -> Participant {
    Participant { id: Id::derive(PROVIDER, "participant", name), name: Arc::from(name) }
}

fn moment(what: &str, text: Option<&str>, notices: &mut Vec<DecodeError>) -> Option<Micros> {
    let at = time::micros(text?);
    if at.is_none() {
        let reason = format!("{what} is no time in UTC");
        notices.push(DecodeError::new(RefusalKind::Value, reason));
    }
    at
}
