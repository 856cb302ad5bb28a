//! Own goals: two events each, `Own Goal Against` of the side that scores, with the player, and `Own Goal For` of the side that
//! gets the goal. Each counts once, also if one of its events is missing. One whose player is of the side that gets it
//! contradicts itself and does not count.

use std::{collections::HashMap, sync::Arc};

use facts::event::{Micros, Participant, Side};

use super::roster::{self, Roster};
use crate::{
    decode::statsbomb::{Document, Kind, Squad, StatsBombEvent},
    error::{DecodeError, Result},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnGoal {
    /// The side that gets it.
    pub(super) side: Side,
    pub(super) scorer: Option<Participant>,
}

/// By the id of the event that counts, which is `Own Goal For` where there are both; with the reason if it cannot count.
pub(super) type OwnGoals = HashMap<Arc<str>, Result<OwnGoal>>;

/// The most time between the two events where they do not name each other.
const APART_US_MAX: Micros = 5_000_000;

/// The own goals of a match.
pub(super) fn find(document: &Document, squads: &[Squad], roster: &Roster) -> OwnGoals {
    let all = |kind: Kind| document.events.iter().flatten().filter(move |event| event.kind == kind);
    let mut scored: Vec<_> = all(Kind::OwnGoalAgainst).collect();
    let teams = teams(document, squads);
    let mut goals = OwnGoals::new();
    for counted in all(Kind::OwnGoalFor) {
        let named = |event: &&StatsBombEvent| is_named(event, counted) || is_named(counted, event);
        let at_once = |event: &&StatsBombEvent| is_at_once(event, counted);
        let at = scored.iter().position(named).or_else(|| scored.iter().position(at_once));
        let other = at.map(|at| scored.remove(at));
        if let Some(side) = roster.side(&counted.team) {
            goals.insert(counted.id.clone(), own_goal(side, other, roster, &teams));
        }
    }
    for alone in scored {
        if let Some(side) = roster.side(&alone.team) {
            goals.insert(alone.id.clone(), own_goal(side.other(), Some(alone), roster, &teams));
        }
    }
    goals
}

fn own_goal(
    side: Side,
    scored: Option<&StatsBombEvent>,
    roster: &Roster,
    teams: &HashMap<&str, &str>,
) -> Result<OwnGoal> {
    let scorer = scored.and_then(|event| event.player.as_ref());
    let team = scorer.and_then(|scorer| teams.get(&*scorer.id));
    if let (Some(scorer), Some(team)) = (scorer, team)
        && roster.side(team) == Some(side)
    {
        let reason = format!("an own goal of {} that his own team gets", scorer.name);
        return Err(DecodeError::value(reason));
    }
    Ok(OwnGoal { side, scorer: scorer.map(roster::player) })
}

fn is_named(event: &StatsBombEvent, other: &StatsBombEvent) -> bool {
    event.related.iter().any(|id| **id == *other.id)
}

fn is_at_once(event: &StatsBombEvent, other: &StatsBombEvent) -> bool {
    let apart_us = event.since_start_us.abs_diff(other.since_start_us);
    event.period == other.period
        && event.team != other.team
        && apart_us <= APART_US_MAX.unsigned_abs()
}

/// The teams of the players, by their ids: from the line-ups and the substitutions.
fn teams<'a>(document: &'a Document, squads: &'a [Squad]) -> HashMap<&'a str, &'a str> {
    let listed = squads
        .iter()
        .flat_map(|squad| squad.players.iter().map(move |(player, _)| (&*player.id, &*squad.team)));
    let started = document.events.iter().flatten().flat_map(|event| {
        let Kind::StartingXi(tactics) = &event.kind else { return Vec::new() };
        tactics.players.iter().map(|starter| (&*starter.player.id, &*event.team)).collect()
    });
    let came_on = document.events.iter().flatten().filter_map(|event| match &event.kind {
        Kind::Substitution { replacement } => Some((&*replacement.as_ref()?.id, &*event.team)),
        _ => None,
    });
    listed.chain(came_on).chain(started).collect()
}
