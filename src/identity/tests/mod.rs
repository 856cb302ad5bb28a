mod corpus;
mod orders;
mod properties;
mod resolve;
mod rule;
mod speed;

use ingest::event::{Competition, Fixture, Id, Micros, Participant, Sport};
use jiff::Timestamp;

use super::*;

/// `2017-04-30T12:00:00Z` or `2017-04-30`.
pub(super) fn fixture(provider: &str, key: &str, sides: &str, start: &str) -> Fixture {
    let sides = sides.split_once(" v ").map(|(one, other)| {
        [one, other]
            .map(|name| Participant { id: Id::derive(provider, "team", name), name: name.into() })
    });
    Fixture {
        provider: provider.into(),
        provider_key: key.into(),
        competition: None,
        start: start.parse::<Timestamp>().ok().map(Timestamp::as_microsecond),
        date: start.parse().ok().filter(|_| start.len() == 10),
        sides,
    }
}

pub(super) fn within(fixture: Fixture, competition: &str) -> Fixture {
    let competition = Competition {
        id: Id::derive("test", "competition", competition),
        name: competition.into(),
        season: None,
    };
    Fixture { competition: Some(competition), ..fixture }
}

impl Identity {
    fn hear(&mut self, sport: Sport, fixture: &Fixture) -> Resolution {
        self.resolve(sport, own(&fixture.provider, &fixture.provider_key), fixture)
    }

    fn football(&mut self, fixture: &Fixture) -> Resolution {
        self.hear(Sport::Football, fixture)
    }

    /// What a later run is told of this one.
    fn reborn(decisions: &[Decision]) -> Self {
        let mut remembered = Remembered::default();
        for decision in decisions {
            remember(&mut remembered, decision);
        }
        Self::new(remembered)
    }
}

/// As the store does it.
fn remember(remembered: &mut Remembered, decision: &Decision) {
    match decision {
        Decision::Bind(bound) => {
            let Bound { told, place, with, aliases, .. } = &**bound;
            let with = with.as_ref().map(|with| (with.own, with.provider.clone()));
            remembered.bindings.retain(|binding| binding.own != told.own);
            let provider = told.provider.clone();
            let (own, place, aliases) = (told.own, *place, aliases.clone());
            remembered.bindings.push(Binding { own, provider, place, with, aliases });
        }
        Decision::Rebind(own, place) => {
            for binding in remembered.bindings.iter_mut().filter(|binding| binding.own == *own) {
                (binding.place, binding.with) = (*place, None);
            }
        }
        Decision::Unbind(own) => remembered.bindings.retain(|binding| binding.own != *own),
        Decision::Split(one, other) => remembered.splits.push((*one, *other)),
        Decision::Doubt(doubt) => remembered.doubts.push(pair(doubt.one.own, doubt.other.own)),
        Decision::Done { .. } => {}
    }
}

/// The n-th hour of 2026.
fn hour(n: i64) -> Micros {
    1_767_225_600_000_000 + n * 3_600_000_000
}
