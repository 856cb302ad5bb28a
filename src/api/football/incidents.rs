//! `events/{id}/incidents/`: what happened in a match.

use serde::Serialize;
use utoipa::ToSchema;

use crate::record::{IncidentRecord, Key, MatchRecord};

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Incidents {
    event_id: Key,
    /// In the order of the match.
    incidents: Vec<Incident>,
}

/// SERVICE section 1.9.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Incident {
    /// `goal`, `card`, `substitution`, `period`, `var`, `inGamePenalty` (missed), `penaltyShootout`.
    #[serde(rename = "type")]
    kind: &'static str,
    minute: u16,
    added_time: Option<u16>,
    /// No feed of ours tells it.
    period_second: Option<u32>,
    is_home: Option<bool>,
    player: Option<String>,
    player_id: Option<Key>,
    assist: Option<String>,
    /// Of a goal alone: `regular`, `own_goal` or `penalty`.
    goal_type: Option<String>,
    /// After it.
    home_score: Option<u16>,
    away_score: Option<u16>,
    /// `yellow`, `yellowred` or `red`.
    card_type: Option<&'static str>,
    /// Taken back. A goal that was taken back is not listed at all.
    rescinded: bool,
    player_in: Option<String>,
    player_in_id: Option<Key>,
    player_out: Option<String>,
    player_out_id: Option<Key>,
    /// How it came about, touch by touch: no feed of ours tells it.
    sequence: Vec<Touch>,
    /// Of a period `1T`, `HT`, `2T`, `ET`, `PEN` or `FT`; of a check `checking`, `confirmed` or
    /// `overturned`; of a kick from the spot that is no goal of the match `scored` or `missed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Touch {
    event: String,
    pid: Option<Key>,
    player: Option<String>,
}

impl Incidents {
    pub(super) fn of(record: &MatchRecord) -> Self {
        let told = record.play.football().map(|it| it.incidents.as_slice()).unwrap_or_default();
        let mut told: Vec<_> = told.iter().collect();
        // Those of the same minute stay as they came.
        told.sort_by_key(|it| (it.minute, it.added.unwrap_or_default()));
        let incidents = told.into_iter().filter_map(Incident::of).collect();
        Self { event_id: record.brief.id, incidents }
    }
}

impl Incident {
    /// `None` for what was taken back and is not to be counted, and for kinds without a word here.
    fn of(told: &IncidentRecord) -> Option<Self> {
        let common = Self {
            minute: told.minute,
            added_time: told.added,
            is_home: told.side.map(|side| side == 0),
            home_score: told.score.map(|score| score[0]),
            away_score: told.score.map(|score| score[1]),
            rescinded: told.retracted.is_some(),
            ..Self::default()
        };
        let detail = told.detail.as_deref();
        let by_player = Self {
            player: told.player.as_ref().map(|player| player.name.to_string()),
            player_id: told.player.as_ref().map(|player| player.id),
            ..common
        };
        let made = match &*told.kind {
            "goal" => Self {
                kind: "goal",
                goal_type: detail.map(ToOwned::to_owned),
                assist: told.assist.as_ref().map(|player| player.name.to_string()),
                ..by_player
            },
            "yellow" => Self { kind: "card", card_type: Some("yellow"), ..by_player },
            "second_yellow" => Self { kind: "card", card_type: Some("yellowred"), ..by_player },
            "red" => Self { kind: "card", card_type: Some("red"), ..by_player },
            "substitution" => Self {
                kind: "substitution",
                player_in: told.assist.as_ref().map(|player| player.name.to_string()),
                player_in_id: told.assist.as_ref().map(|player| player.id),
                player_out: by_player.player.clone(),
                player_out_id: by_player.player_id,
                player: None,
                player_id: None,
                ..by_player
            },
            "penalty_missed" => {
                Self { kind: "inGamePenalty", text: Some("missed".into()), ..by_player }
            }
            "shootout" => {
                Self { kind: "penaltyShootout", text: detail.map(ToOwned::to_owned), ..by_player }
            }
            "var" => Self { kind: "var", text: detail.map(ToOwned::to_owned), ..by_player },
            "period" => Self { kind: "period", text: detail.and_then(period), ..by_player },
            _ => return None,
        };
        (made.kind == "card" || !made.rescinded).then_some(made)
    }
}

/// The part that has begun.
fn period(status: &str) -> Option<String> {
    let code = match status {
        "first_half" => "1T",
        "half_time" => "HT",
        "second_half" => "2T",
        "extra_first" | "extra_half" | "extra_second" => "ET",
        "penalties" => "PEN",
        "finished" => "FT",
        _ => return None,
    };
    Some(code.to_owned())
}
