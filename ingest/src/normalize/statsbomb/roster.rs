//! Who plays: the two sides, by the provider's ids.

use std::sync::Arc;

use facts::event::{Id, LineUp, LineUpPlayer, Pair, Participant, PlayerPosition, Side};

use super::PROVIDER;
use crate::{
    decode::statsbomb::{Document, Kind, MatchRecord, NamedEntity, Squad, Starter, Tactics},
    error::{DecodeError, RefusalKind, Result},
    normalize::football::formation,
};

#[derive(Debug)]
pub(super) struct Roster {
    teams: Pair<Arc<str>>,
    pub(super) sides: Pair<Participant>,
}

impl Roster {
    /// Events do not give home and away; without a match record the first `Starting XI` is the home team's: the one with
    /// index 1, or the other team than that with index 2 where it is missing.
    pub(super) fn new(document: &Document, record: Option<&MatchRecord>) -> Result<Self> {
        let events = || document.events.iter().flatten();
        let unknown = |reason: &str| DecodeError::new(RefusalKind::Unknown, reason);
        let starting: Vec<_> =
            events().filter(|event| matches!(event.kind, Kind::StartingXi(_))).collect();
        let mut acting = starting.iter().copied().chain(events()).map(|event| &event.team);
        let first = acting.next();
        let second = acting.find(|team| Some(*team) != first);
        let named = first.zip(second).ok_or_else(|| unknown("fewer than two teams are named"))?;
        let listed = [named.0, named.1].map(Arc::clone);
        let swapped = [named.1, named.0].map(Arc::clone);
        let has_both = starting.iter().any(|event| event.team == listed[1]);
        let teams = match (record, starting.first()) {
            (Some(record), _) if record.teams == listed => listed,
            (Some(record), _) if record.teams == swapped => swapped,
            (_, Some(start)) if has_both || start.index == 1 => listed,
            (_, Some(start)) if start.index == 2 => swapped,
            _ => return Err(unknown("neither a line-up nor a match record says who is at home")),
        };
        let side = |team: &Arc<str>| {
            let mut names = events().filter(|event| event.team == *team);
            let name = names.find_map(|event| event.team_name.clone());
            name.map(|name| participant("team", &NamedEntity { id: team.clone(), name }))
        };
        let [home, away] = teams.each_ref().map(side);
        let sides = home.zip(away).ok_or_else(|| unknown("a team without a name"))?;
        Ok(Self { teams, sides: sides.into() })
    }

    /// Whether a match record has the same teams.
    pub(super) fn is_of(&self, record: &MatchRecord) -> bool {
        self.teams == record.teams
    }

    pub(super) fn side(&self, team: &str) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| &*self.teams[side.index()] == team)
    }
}

/// The starters from the events, followed by the rest of the squad, if it is known.
pub(super) fn line_up(tactics: &Tactics, squad: Option<&Squad>) -> LineUp {
    let starter = |it: &Starter| LineUpPlayer {
        player: player(&it.player),
        number: it.number,
        position: it.position.as_deref().and_then(position),
        country: None,
        starter: true,
        captain: false,
    };
    let mut players: Vec<_> = tactics.players.iter().map(starter).collect();
    let starts = |named: &NamedEntity| tactics.players.iter().any(|it| it.player.id == named.id);
    let bench = squad.into_iter().flat_map(|squad| &squad.players);
    let bench = bench.filter(|(named, _)| !starts(named)).map(|(named, number)| LineUpPlayer {
        player: player(named),
        number: *number,
        position: None,
        country: None,
        starter: false,
        captain: false,
    });
    players.extend(bench);
    LineUp { formation: tactics.formation.as_deref().and_then(formation), players }
}

/// Whether a squad is that of the match: everybody who starts is in it. Files of line-ups do not say
/// which match they are of.
pub(super) fn is_of_match(squad: &Squad, tactics: &Tactics) -> bool {
    let holds = |starter: &Starter| squad.players.iter().any(|(it, _)| it.id == starter.player.id);
    !tactics.players.is_empty() && tactics.players.iter().all(holds)
}

/// Of `Right Center Back`, `Left Wing Back`, `Center Attacking Midfield`, `Right Wing`, ...
fn position(name: &str) -> Option<PlayerPosition> {
    Some(match name {
        "Goalkeeper" => PlayerPosition::Goalkeeper,
        _ if name.ends_with("Back") => PlayerPosition::Defender,
        _ if name.ends_with("Midfield") => PlayerPosition::Midfielder,
        _ if name.ends_with("Wing") || name.ends_with("Forward") || name.ends_with("Striker") => {
            PlayerPosition::Forward
        }
        _ => return None,
    })
}

pub(super) fn player(named: &NamedEntity) -> Participant {
    participant("player", named)
}

pub(super) fn participant(kind: &str, named: &NamedEntity) -> Participant {
    Participant { id: Id::derive(PROVIDER, kind, &named.id), name: named.name.clone() }
}
