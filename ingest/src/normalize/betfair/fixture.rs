//! A Betfair event as our match: its sport, its start, and who plays. In racing a race is the match: see [`race`].
//!
//! It is in the definition of each market. Live ones hold no names, so the sides are unknown until the catalogue has them.

use std::sync::Arc;

use facts::event::{
    About, Class, Competition, Event, Fact, Fixture, Id, Micros, Pair, Participant, Race, Sport,
};

use super::{
    race::{self, RaceTime},
    time::moment,
};
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
    /// Of a race, as they were reported.
    about: About,
    race: Option<Race>,
    /// Under which it is among the [`race::Races`].
    pub(super) race_at: Option<RaceTime>,
    introduced: bool,
}

/// The key of the match to which a market belongs: the event, but in racing the race.
pub(super) fn key(
    definition: &StreamMarketDefinition<'_>,
    event_id: &str,
    market_id: &str,
) -> String {
    if race::is_racing(definition) {
        race::key(definition, event_id, market_id)
    } else {
        event_id.to_owned()
    }
}

impl Match {
    pub(super) fn new(key: Arc<str>) -> Self {
        let id = Id::derive(PROVIDER, "match", &key);
        let fixture =
            Fixture { provider: PROVIDER.into(), provider_key: key, ..Fixture::default() };
        Self {
            id,
            sport: Sport::Other,
            markets: 0,
            fixture,
            about: About::default(),
            race: None,
            race_at: None,
            introduced: false,
        }
    }

    pub(super) fn key(&self) -> Arc<str> {
        Arc::clone(&self.fixture.provider_key)
    }

    pub(super) fn start(&self) -> Option<Micros> {
        self.fixture.start
    }

    /// Takes what a definition says of the match; gives what is new of it: the fixture, and of a race what else is known.
    /// What the definition does not say stays as another one said it, and of which sport the match
    /// is, as the first one did.
    pub(super) fn define(
        &mut self,
        definition: &StreamMarketDefinition<'_>,
        notices: &mut Vec<DecodeError>,
    ) -> Vec<Event> {
        if let Some(event_type) = &definition.event_type_id {
            self.play(sport(event_type), notices);
        }
        let mut facts = Vec::new();
        let is_racing = race::is_racing(definition);
        let fixture = match is_racing {
            true => self.race_fixture(definition, notices),
            false => self.event_fixture(definition, notices),
        };
        if !self.introduced || fixture != self.fixture {
            facts.push(Fact::Fixture(fixture.clone()));
        }
        (self.fixture, self.introduced) = (fixture, true);
        if is_racing {
            self.define_race(definition, &mut facts);
        }
        let (sport, match_id) = (self.sport, self.id);
        facts.into_iter().map(|fact| Event { sport, match_id, fact }).collect()
    }

    fn event_fixture(
        &self,
        definition: &StreamMarketDefinition<'_>,
        notices: &mut Vec<DecodeError>,
    ) -> Fixture {
        let mut fixture = self.fixture.clone();
        let opens = moment("openDate", definition.open_date.as_deref(), notices);
        let market = moment("marketTime", definition.market_time.as_deref(), notices);
        // The event opens once, but each market has a time of its own: that is the second choice.
        fixture.start = opens.or(fixture.start).or(market);
        fixture.sides = definition.event_name.as_deref().and_then(sides).or(fixture.sides);
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
        fixture
    }

    /// The event opens with the first race of the meeting, and its name is that of the meeting: neither is the race's.
    fn race_fixture(
        &self,
        definition: &StreamMarketDefinition<'_>,
        notices: &mut Vec<DecodeError>,
    ) -> Fixture {
        let off = moment("marketTime", definition.market_time.as_deref(), notices);
        Fixture { start: off.or(self.fixture.start), ..self.fixture.clone() }
    }

    fn define_race(&mut self, definition: &StreamMarketDefinition<'_>, facts: &mut Vec<Fact>) {
        let mut about = race::about(definition);
        about.fill_from(&self.about);
        if about != self.about {
            facts.push(Fact::About(Box::new(about.clone())));
            self.about = about;
        }
        let race = race::race(definition).filter(|_| self.sport == Sport::HorseRacing);
        if race.is_some() && race != self.race {
            facts.extend(race.clone().map(Fact::Race));
            self.race = race;
        }
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

/// Betfair's event types. Esports (27454571) are another sport: they do not say which game is played.
pub(in crate::normalize) fn sport(event_type_id: &str) -> Sport {
    Sport::find(|it| it.betfair == Some(event_type_id))
}

/// Stands before the home side, which American sports name second.
pub(super) const AT: &str = " @ ";

/// The sides of `A v B` or of `B @ A`, the home side first.
fn sides(event_name: &str) -> Option<Pair<Participant>> {
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
