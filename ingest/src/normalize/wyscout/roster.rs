//! Who plays: the two sides and their players, by the provider's ids.

use std::collections::HashMap;

use facts::event::{Id, LineUp, LineUpPlayer, Pair, Participant, PlayerPosition, Side};

use super::PROVIDER;
use crate::{
    decode::wyscout::{
        Document, NamedEntity, NamedPlayer,
        record::{MatchRecord, TeamRecord},
    },
    error::{DecodeError, RefusalKind, Result},
};

#[derive(Debug)]
pub(super) struct Roster {
    teams: Pair<u64>,
    /// Absent if one has no name.
    pub(super) sides: Option<Pair<Participant>>,
    players: HashMap<u64, (Participant, Option<PlayerPosition>)>,
}

impl Roster {
    /// Home and away are those of the match record. Without it nothing in the data says who was at
    /// home; then it is the order of `teams` (home first in every recording that could be checked),
    /// or of the first touches where even `teams` is cut off.
    pub(super) fn new(document: &Document, record: Option<&MatchRecord>) -> Result<Self> {
        let teams = match record {
            Some(record) => [record.home.team, record.away.team],
            None => listed(document).or_else(|| acting(document)).ok_or_else(|| {
                DecodeError::new(RefusalKind::Unknown, "fewer than two teams are named")
            })?,
        };
        let side = |team| Some(participant("team", team, Some(name_of(team, &document.teams)?)));
        let [home, away] = teams.map(side);
        let players = document.players.iter();
        let players = players.map(|NamedPlayer { named, role }| {
            let player = participant("player", named.id, Some(named));
            (named.id, (player, role.as_deref().and_then(position)))
        });
        let sides = home.zip(away).map(Into::into);
        Ok(Self { teams, sides, players: players.collect() })
    }

    pub(super) fn side(&self, team: u64) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| self.teams[side.index()] == team)
    }

    pub(super) fn player(&self, id: u64) -> Participant {
        let listed = self.players.get(&id).map(|(player, _)| player.clone());
        listed.unwrap_or_else(|| participant("player", id, None))
    }

    /// Who starts for a team and who sits on the bench, if the record contains it. It has neither
    /// the formation nor shirt numbers; the position is where a player usually plays.
    pub(super) fn line_up(&self, team: &TeamRecord) -> Option<LineUp> {
        let player = |(id, starter): (&u64, bool)| LineUpPlayer {
            player: self.player(*id),
            number: None,
            position: self.players.get(id).and_then(|(_, position)| *position),
            country: None,
            starter,
            captain: false,
        };
        let starters = team.line_up.iter().map(|id| (id, true));
        let bench = team.bench.iter().map(|id| (id, false));
        let players: Vec<_> = starters.chain(bench).map(player).collect();
        (!team.line_up.is_empty()).then_some(LineUp { formation: None, players })
    }
}

fn position(role: &str) -> Option<PlayerPosition> {
    Some(match role {
        "GK" => PlayerPosition::Goalkeeper,
        "DF" => PlayerPosition::Defender,
        "MD" => PlayerPosition::Midfielder,
        "FW" => PlayerPosition::Forward,
        _ => return None,
    })
}

fn listed(document: &Document) -> Option<Pair<u64>> {
    match document.teams.as_slice() {
        [home, away] if home.id != away.id => Some([home.id, away.id]),
        _ => None,
    }
}

fn acting(document: &Document) -> Option<Pair<u64>> {
    let mut teams = document.events.iter().flatten().map(|event| event.team);
    let first = teams.next()?;
    Some([first, teams.find(|team| *team != first)?])
}

fn name_of(id: u64, named: &[NamedEntity]) -> Option<&NamedEntity> {
    named.iter().find(|it| it.id == id)
}

fn participant(kind: &str, id: u64, named: Option<&NamedEntity>) -> Participant {
    let name = named.map_or_else(|| format!("{kind} {id}").into(), |it| it.name.clone());
    Participant { id: Id::derive(PROVIDER, kind, &id.to_string()), name }
}
