//! `events/{id}/lineups/`: starters and substitutes.

use serde::Serialize;
use utoipa::ToSchema;

use record::{EntityRef, Key, LineUpPlayerRecord, LineUpRecord, MatchRecord};

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct LineUps {
    event_id: Key,
    /// `confirmed` once a feed has reported them, else `unavailable`: none are predicted.
    lineup_status: &'static str,
    lineups: Option<BothLineUps>,
    /// No feed reports who is missing.
    unavailable_players: Unavailable,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Both)]
pub(super) struct BothLineUps {
    /// `null` while only the other side's is known.
    home: Option<LineUp>,
    away: Option<LineUp>,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct LineUp {
    team_id: Option<Key>,
    team_name: String,
    formation: Option<String>,
    /// Of predictions, which there are none of.
    confidence: Option<u8>,
    players: Vec<Player>,
    substitutes: Vec<Player>,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LineUpMember)]
pub(super) struct Player {
    id: Option<Key>,
    name: String,
    short_name: String,
    /// `G`, `D`, `M`, `F` or empty.
    position: String,
    jersey_number: Option<u16>,
    /// Of predictions, which there are none of.
    ai_score: Option<u8>,
    captain: bool,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Unavailable {
    home: Vec<MissingPlayer>,
    away: Vec<MissingPlayer>,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Missing)]
pub(super) struct MissingPlayer {
    id: Option<Key>,
    name: String,
    short_name: String,
    /// `injured`, `suspended` or `doubtful`.
    status: String,
    reason: Option<String>,
}

impl LineUps {
    pub(super) fn new(record: &MatchRecord) -> Self {
        let side = |index: usize| {
            let line_up = record.play.football()?.line_ups[index].as_ref()?;
            Some(LineUp::new(line_up, record.names.sides.as_ref().map(|sides| &sides[index])))
        };
        let both = BothLineUps { home: side(0), away: side(1) };
        let is_known = both.home.is_some() || both.away.is_some();
        Self {
            event_id: record.summary.id,
            lineup_status: if is_known { "confirmed" } else { "unavailable" },
            lineups: is_known.then_some(both),
            unavailable_players: Unavailable::default(),
        }
    }
}

impl LineUp {
    fn new(line_up: &LineUpRecord, team: Option<&EntityRef>) -> Self {
        let those = |starts: bool| {
            let those = line_up.players.iter().filter(|player| player.starter == starts);
            those.map(player).collect()
        };
        Self {
            team_id: team.map(|team| team.id),
            team_name: team.map(|team| team.name.to_string()).unwrap_or_default(),
            formation: line_up.formation.as_deref().map(ToOwned::to_owned),
            confidence: None,
            players: those(true),
            substitutes: those(false),
        }
    }
}

fn player(record: &LineUpPlayerRecord) -> Player {
    Player {
        id: Some(record.player.id),
        name: record.player.name.to_string(),
        short_name: short_name(&record.player.name),
        position: record.position.as_deref().unwrap_or_default().to_owned(),
        jersey_number: record.number,
        ai_score: None,
        captain: record.captain,
    }
}

/// `Lionel Messi` as `L. Messi`; single words and names that are already short stay unchanged.
pub(in crate::rest) fn short_name(name: &str) -> String {
    let words: Vec<_> = name.split_whitespace().collect();
    match words.as_slice() {
        [first, rest @ ..] if !rest.is_empty() && !first.ends_with('.') => {
            let initial: String = first.chars().take(1).collect();
            format!("{initial}. {}", rest.join(" "))
        }
        _ => name.to_owned(),
    }
}
