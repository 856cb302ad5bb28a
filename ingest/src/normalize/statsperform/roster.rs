//! Who plays: the two sides, by the provider's ids.

use std::sync::Arc;

use super::PROVIDER;
use crate::{
    decode::statsperform::{MatchInfo, Named},
    error::{DecodeError, RefusalKind},
    event::{Id, Pair, Participant, Side},
};

#[derive(Debug)]
pub(super) struct Roster {
    contestants: Pair<Arc<str>>,
    pub(super) sides: Pair<Participant>,
}

impl Roster {
    pub(super) fn new(info: &MatchInfo) -> Result<Self, DecodeError> {
        let sides = info.sides.as_ref().ok_or_else(|| {
            DecodeError::new(RefusalKind::Unknown, "fewer than two teams are named")
        })?;
        Ok(Self {
            contestants: sides.each_ref().map(|side| side.id.clone()),
            sides: sides.each_ref().map(|side| participant("team", side)),
        })
    }

    /// The side of a team that plays in the match.
    pub(super) fn check(&self, contestant: &str) -> Result<Side, DecodeError> {
        let is = |side: &Side| &*self.contestants[side.index()] == contestant;
        Side::BOTH.into_iter().find(is).ok_or_else(|| {
            let reason = format!("team {contestant} does not play in this match");
            DecodeError::new(RefusalKind::Unknown, reason)
        })
    }
}

pub(super) fn player(named: &Named) -> Participant {
    participant("player", named)
}

fn participant(kind: &str, named: &Named) -> Participant {
    Participant { id: Id::derive(PROVIDER, kind, &named.id), name: named.name.clone() }
}
