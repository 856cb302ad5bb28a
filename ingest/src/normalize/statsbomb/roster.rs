//! Who plays: the two sides, by the provider's ids.

use std::sync::Arc;

use super::PROVIDER;
use crate::{
    decode::statsbomb::{Document, Kind, Named},
    error::{DecodeError, RefusalKind},
    event::{Id, Pair, Participant, Side},
};

#[derive(Debug)]
pub(super) struct Roster {
    teams: Pair<Arc<str>>,
    pub(super) sides: Pair<Participant>,
}

impl Roster {
    /// Home and away are not said; the first `Starting XI` is the home team's. Where those are
    /// missing it is whoever acts first.
    pub(super) fn new(document: &Document) -> Result<Self, DecodeError> {
        let events = || document.events.iter().flatten();
        let starting = events().filter(|event| event.kind == Kind::StartingXi);
        let mut teams = starting.chain(events()).map(|event| &event.team);
        let none = || DecodeError::new(RefusalKind::Unknown, "fewer than two teams are named");
        let home = teams.next().ok_or_else(none)?;
        let away = teams.find(|team| team.id != home.id).ok_or_else(none)?;
        let sides = [home, away].map(|team| participant("team", team));
        Ok(Self { teams: [home.id.clone(), away.id.clone()], sides })
    }

    pub(super) fn side(&self, team: &str) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| &*self.teams[side.index()] == team)
    }
}

pub(super) fn player(named: &Named) -> Participant {
    participant("player", named)
}

fn participant(kind: &str, named: &Named) -> Participant {
    Participant { id: Id::derive(PROVIDER, kind, &named.id), name: named.name.clone() }
}
