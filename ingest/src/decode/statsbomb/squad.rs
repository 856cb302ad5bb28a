//! The separate line-ups: all players of a squad, whether they played or not.
//!
//! `[{"team_id", "team_name", "lineup": [{"player_id", "player_name", "jersey_number", ..}], "events": [{"period",
//! "type", "outcome", ..}]}]`. An entry that cannot be used costs only itself.

use std::sync::Arc;

use facts::football::Period;

use super::{super::json, NamedEntity};
use crate::error::Result;

/// Everybody of one team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Squad {
    /// The provider's id of the team.
    pub team: Arc<str>,
    /// With the numbers on their shirts.
    pub players: Vec<(NamedEntity, Option<u16>)>,
    /// Its goals and those against itself, if the file has a list of what its players did; without the shoot-out.
    pub goals: Option<Vec<ListedGoal>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedGoal {
    pub period: Period,
    pub is_own: bool,
}

/// More than any rules allow on a bench.
const PLAYERS_MAX: usize = 60;

/// Reads a file of line-ups.
///
/// # Errors
///
/// If the file breaks before its end.
pub fn squads(bytes: &[u8]) -> Result<Vec<Squad>> {
    let mut squads = Vec::new();
    json::each(bytes, |text| squads.extend(squad(text)))?;
    Ok(squads)
}

json::lenient! {
    struct RawSquad {
        team_id: Option<Arc<str>> as "json::key",
        lineup: Vec<RawPlayer> as "json::known_all",
        events: Option<Vec<RawListed>> as "json::known_value",
    }

    struct RawListed {
        period: Option<u64> as "json::whole",
        #[serde(rename = "type")]
        kind: Option<String> as "json::known_value",
        outcome: Option<String> as "json::known_value",
    }
}

impl RawListed {
    fn goal(&self) -> Option<ListedGoal> {
        let period = Period::numbered(self.period?).filter(|period| *period != Period::Shootout)?;
        let is_own = self.kind.as_deref() == Some("Own Goal Against");
        let is_goal = is_own || self.outcome.as_deref() == Some("Goal");
        is_goal.then_some(ListedGoal { period, is_own })
    }
}

json::lenient! {
    struct RawPlayer {
        player_id: Option<Arc<str>> as "json::key",
        player_name: Option<Arc<str>> as "json::key",
        jersey_number: Option<u64> as "json::whole",
    }
}

fn squad(text: &str) -> Option<Squad> {
    let raw: RawSquad = serde_json::from_str(text).ok()?;
    let player = |raw: RawPlayer| {
        let number = raw.jersey_number.and_then(|number| u16::try_from(number).ok());
        Some((NamedEntity { id: raw.player_id?, name: raw.player_name? }, number))
    };
    let players = raw.lineup.into_iter().take(PLAYERS_MAX).filter_map(player).collect();
    let goals = raw.events.map(|listed| listed.iter().filter_map(RawListed::goal).collect());
    Some(Squad { team: raw.team_id?, players, goals })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_with_an_id_and_a_name_are_read() {
        let json = br#"[{"team_id":7,"lineup":[{"player_id":1,"player_name":"A","jersey_number":9},
            {"player_id":2},4,{"player_id":3,"player_name":"C"}]},{"team_name":"nobody's"}]"#;
        let squads = squads(json).unwrap();
        let named = |id: &str, name: &str| NamedEntity { id: id.into(), name: name.into() };
        let players = vec![(named("1", "A"), Some(9)), (named("3", "C"), None)];
        assert_eq!(squads, [Squad { team: "7".into(), players, goals: None }]);
        assert!(super::squads(b"[{").is_err(), "a broken file says so");
    }

    #[test]
    fn listed_goals_are_read() {
        let goals = |events: &str| {
            let json = format!(r#"[{{"team_id":7,"lineup":[]{events}}}]"#);
            squads(json.as_bytes()).unwrap().remove(0).goals
        };
        let event = |period: u8, kind: &str, outcome: &str| {
            format!(r#"{{"period":{period},"type":"{kind}","outcome":"{outcome}"}}"#)
        };
        let all = [
            event(1, "Shot", "Goal"),
            event(2, "Own Goal Against", ""),
            event(2, "Foul Committed", "Yellow Card"),
            event(2, "Ground Pass", "Assist"),
            event(5, "Penalty", "Goal"),
        ];
        let expected = [(Period::FirstHalf, false), (Period::SecondHalf, true)]
            .map(|(period, is_own)| ListedGoal { period, is_own });
        assert_eq!(goals(&format!(r#","events":[{}]"#, all.join(","))), Some(expected.to_vec()));
        assert_eq!((goals(r#","events":[]"#), goals("")), (Some(Vec::new()), None));
    }
}
