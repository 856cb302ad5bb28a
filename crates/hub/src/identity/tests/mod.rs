mod competitions;
mod corpus;
mod names;
mod orders;
mod pairs;
mod properties;
mod resolve;
mod rule;
mod speed;

use facts::event::{Competition, Fixture, Id, Micros, Participant, Sport};
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
        ..Fixture::default()
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
    fn resolve_fixture(&mut self, sport: Sport, fixture: &Fixture) -> Resolution {
        self.resolve(sport, local_id(&fixture.provider, &fixture.provider_key), fixture)
    }

    fn football(&mut self, fixture: &Fixture) -> Resolution {
        self.resolve_fixture(Sport::Football, fixture)
    }

    /// A later run with these stored decisions.
    fn reborn(decisions: &[Decision]) -> Self {
        let mut stored = StoredDecisions::default();
        for decision in decisions {
            remember(&mut stored, decision);
        }
        Self::new(stored)
    }
}

/// What the store does.
fn remember(stored: &mut StoredDecisions, decision: &Decision) {
    match decision {
        Decision::Bind(bound) => {
            let NewBinding { description, mapping, with, aliases, .. } = &**bound;
            let with = with.as_ref().map(|with| (with.id, with.provider.clone()));
            stored.bindings.retain(|binding| binding.local_id != description.id);
            let provider = description.provider.clone();
            let (local_id, mapping, aliases) = (description.id, *mapping, aliases.clone());
            stored.bindings.push(Binding { local_id, provider, mapping, with, aliases });
        }
        Decision::Rebind(local_id, mapping) => {
            for binding in
                stored.bindings.iter_mut().filter(|binding| binding.local_id == *local_id)
            {
                (binding.mapping, binding.with) = (*mapping, None);
            }
        }
        Decision::Unbind(local_id) => {
            stored.bindings.retain(|binding| binding.local_id != *local_id)
        }
        Decision::Split(one, other) => stored.splits.push((*one, *other)),
        Decision::Doubt(doubt) => stored.doubts.push(pair(doubt.one.id, doubt.other.id)),
        Decision::Competitions(order) => {
            stored.competitions.retain(|(both, _)| *both != order.pair());
            stored.competitions.extend(order.relation.map(|relation| (order.pair(), relation)));
        }
        Decision::Done { .. } => {}
    }
}

/// The n-th hour of 2026.
fn hour(n: i64) -> Micros {
    1_767_225_600_000_000 + n * 3_600_000_000
}
