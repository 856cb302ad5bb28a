//! What each player did, as far as single events give it, and for how long each was on the pitch.
//!
//! Minutes are whole minutes of the match clock, added time not counted: a player who plays the
//! whole match has 90. They are reported for sides whose line-up is known: when a player leaves,
//! and at the end.

use std::collections::{BTreeMap, HashMap};

use facts::event::{
    FootballFact, GoalKind, Id, Incident, IncidentKind, LineUp, Participant, PlayerStat, Side,
};

#[derive(Debug, Default)]
pub(super) struct Players {
    counts: HashMap<(Id, PlayerStat), u32>,
    /// Who is on the pitch, and since which minute.
    on: BTreeMap<Id, (Side, Participant, u32)>,
    /// Whether the line-up of a side is known.
    has_line_up: [bool; 2],
}

impl Players {
    pub(super) fn start(&mut self, side: Side, line_up: &LineUp) {
        self.has_line_up[side.index()] = true;
        let starters = line_up.players.iter().filter(|it| it.starter).map(|it| &it.player);
        self.on.extend(starters.map(|it| (it.id, (side, it.clone(), 0))));
    }

    /// Counts what a player did once, and says how often it is now. What is named twice counts twice.
    pub(super) fn count(
        &mut self,
        side: Side,
        player: &Participant,
        stats: impl IntoIterator<Item = PlayerStat>,
    ) -> Option<FootballFact> {
        let mut values: Vec<(PlayerStat, u32)> = Vec::new();
        for stat in stats {
            let count = self.counts.entry((player.id, stat)).or_default();
            *count += 1;
            match values.iter_mut().find(|(existing, _)| *existing == stat) {
                Some((_, value)) => *value = *count,
                None => values.push((stat, *count)),
            }
        }
        values.sort_unstable();
        let player = player.clone();
        (!values.is_empty()).then_some(FootballFact::PlayerStats { side, player, values })
    }

    /// What an incident counts for those who had a part in it.
    pub(super) fn incident(&mut self, incident: &Incident, minute: u32) -> Vec<FootballFact> {
        let Some(side) = incident.side else { return Vec::new() };
        let (player, other) = (incident.player.as_ref(), incident.assist.as_ref());
        let mut facts = Vec::new();
        let mut count = |who: Option<&Participant>, stat| {
            facts.extend(who.and_then(|who| self.count(side, who, [stat])));
        };
        match incident.kind {
            IncidentKind::Goal(GoalKind::Regular | GoalKind::Penalty) => {
                count(player, PlayerStat::Goals);
                count(other, PlayerStat::Assists);
            }
            IncidentKind::Yellow => count(player, PlayerStat::YellowCards),
            IncidentKind::SecondYellow | IncidentKind::Red => {
                count(player, PlayerStat::RedCards);
                facts.extend(player.and_then(|player| self.leave(player.id, minute)));
            }
            IncidentKind::Substitution => {
                facts.extend(player.and_then(|player| self.leave(player.id, minute)));
                if let Some(coming) = other.filter(|_| self.has_line_up[side.index()]) {
                    self.on.insert(coming.id, (side, coming.clone(), minute));
                }
            }
            IncidentKind::Goal(GoalKind::OwnGoal)
            | IncidentKind::PenaltyMissed
            | IncidentKind::Var(_)
            | IncidentKind::Period(_)
            | IncidentKind::Shootout { .. } => {}
        }
        facts
    }

    /// For how long those were on the pitch who are still there.
    pub(super) fn end(&mut self, minute: u32) -> Vec<FootballFact> {
        let on = std::mem::take(&mut self.on).into_values();
        on.map(|(side, player, since)| played(side, player, minute.saturating_sub(since))).collect()
    }

    fn leave(&mut self, player: Id, minute: u32) -> Option<FootballFact> {
        let (side, player, since) = self.on.remove(&player)?;
        Some(played(side, player, minute.saturating_sub(since)))
    }
}

fn played(side: Side, player: Participant, minutes: u32) -> FootballFact {
    FootballFact::PlayerStats { side, player, values: vec![(PlayerStat::MinutesPlayed, minutes)] }
}

#[cfg(test)]
mod tests {
    use facts::event::LineUpPlayer;

    use super::*;

    fn player(id: u64) -> Participant {
        Participant { id: Id(id), name: format!("player {id}").into() }
    }

    fn minutes(facts: &[FootballFact]) -> Vec<(u64, u32)> {
        let player = |fact: &FootballFact| match fact {
            FootballFact::PlayerStats { player, values, .. } => (player.id.0, values[0].1),
            other => panic!("{other:?} counts nothing of a player"),
        };
        facts.iter().map(player).collect()
    }

    #[test]
    fn minutes_are_split_at_a_substitution() {
        let mut players = Players::default();
        let starter = |id| LineUpPlayer {
            player: player(id),
            number: None,
            position: None,
            country: None,
            starter: true,
            captain: false,
        };
        let line_up = LineUp { formation: None, players: vec![starter(1), starter(2)] };
        players.start(Side::First, &line_up);
        let side = Some(Side::First);
        let change = Incident {
            player: Some(player(1)),
            assist: Some(player(3)),
            ..Incident::new("s", IncidentKind::Substitution, (64, None), side)
        };
        assert_eq!(minutes(&players.incident(&change, 63)), [(1, 63)]);
        assert_eq!(minutes(&players.end(90)), [(2, 90), (3, 27)]);
    }

    #[test]
    fn minutes_are_not_guessed_without_a_line_up() {
        let mut players = Players::default();
        assert_eq!(players.end(90), []);
        let shots = [PlayerStat::TotalShots, PlayerStat::TotalShots];
        let update = players.count(Side::First, &player(1), shots);
        let values = vec![(PlayerStat::TotalShots, 2)];
        let (side, player) = (Side::First, player(1));
        assert_eq!(update, Some(FootballFact::PlayerStats { side, player, values }));
    }
}
