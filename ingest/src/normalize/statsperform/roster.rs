//! Who plays: the two sides, by the provider's ids.

use std::{collections::HashMap, sync::Arc};

use facts::event::{Id, LineUp, LineUpPlayer, Pair, Participant, Side};

use super::PROVIDER;
use crate::{
    decode::statsperform::{MatchInfo, NamedEntity, Sheet, SheetPlayer},
    error::{DecodeError, RefusalKind, Result},
    normalize::football::formation,
};

#[derive(Debug)]
pub(super) struct Roster {
    contestants: Pair<Arc<str>>,
    pub(super) sides: Pair<Participant>,
}

impl Roster {
    pub(super) fn new(info: &MatchInfo) -> Result<Self> {
        let sides = info.sides.as_ref().ok_or_else(|| {
            DecodeError::new(RefusalKind::Unknown, "fewer than two teams are named")
        })?;
        Ok(Self {
            contestants: sides.each_ref().map(|side| side.id.clone()),
            sides: sides.each_ref().map(|side| participant("team", side)),
        })
    }

    /// The side of a team that plays in the match.
    pub(super) fn check(&self, contestant: &str) -> Result<Side> {
        let is = |side: &Side| &*self.contestants[side.index()] == contestant;
        Side::BOTH.into_iter().find(is).ok_or_else(|| {
            let reason = format!("team {contestant} does not play in this match");
            DecodeError::new(RefusalKind::Unknown, reason)
        })
    }
}

/// MA3 lists players by id only. Players whose name no event has are left out.
pub(super) fn line_up(sheet: &Sheet, names: &HashMap<&str, &NamedEntity>) -> LineUp {
    let line_up_player = |listed: &SheetPlayer| {
        let named = names.get(&*listed.id).map(|named| &named.name);
        let name = listed.name.as_ref().or(named)?.clone();
        Some(LineUpPlayer {
            player: player(&NamedEntity { id: listed.id.clone(), name }),
            number: listed.number,
            position: listed.position,
            country: None,
            starter: listed.starter,
            captain: listed.captain,
        })
    };
    LineUp {
        formation: sheet.formation.as_deref().and_then(formation),
        players: sheet.players.iter().filter_map(line_up_player).collect(),
    }
}

pub(super) fn player(named: &NamedEntity) -> Participant {
    participant("player", named)
}

fn participant(kind: &str, named: &NamedEntity) -> Participant {
    Participant { id: Id::derive(PROVIDER, kind, &named.id), name: named.name.clone() }
}
