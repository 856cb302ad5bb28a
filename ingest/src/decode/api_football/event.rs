//! One event of a fixture. It has no id: only its content shows whether it is known.

use std::sync::Arc;

use super::{
    super::{json, json_error},
    fixture::{NamedEntity, RawNamedEntity, small},
    value,
};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiFootballEvent {
    pub kind: Kind,
    /// The minute shown, and the added one; of a kick of a shoot-out `extra` is which kick it was.
    pub elapsed: u16,
    pub extra: Option<u16>,
    /// For a goal, an own goal too, the team that gets it.
    pub team: Arc<str>,
    /// Who goes off, for a substitution.
    pub player: Option<NamedEntity>,
    /// Who comes on, for a substitution.
    pub assist: Option<NamedEntity>,
    pub detail: Arc<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Goal,
    OwnGoal,
    Penalty,
    MissedPenalty,
    /// A kick of the shoot-out.
    Kick {
        scored: bool,
    },
    Yellow,
    SecondYellow,
    Red,
    Substitution,
    Var,
}

json::lenient! {
    struct Raw {
        time: Option<RawTime> as "json::known_value",
        team: Option<RawNamedEntity> as "json::known_value",
        player: Option<RawNamedEntity> as "json::known_value",
        assist: Option<RawNamedEntity> as "json::known_value",
        #[serde(rename = "type")]
        kind: Option<String> as "json::known_value",
        detail: Option<String> as "json::known_value",
        comments: Option<String> as "json::known_value",
    }

    struct RawTime {
        elapsed: Option<u64> as "json::whole",
        extra: Option<u64> as "json::whole",
    }
}

pub(super) fn parse(text: &str) -> Result<ApiFootballEvent> {
    let raw: Raw = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    let missing = |what: &str| value(format!("event without {what}"));
    let kind = raw.kind()?;
    let time = raw.time.ok_or_else(|| missing("a time"))?;
    Ok(ApiFootballEvent {
        kind,
        elapsed: small(time.elapsed).ok_or_else(|| missing("a minute"))?,
        extra: small(time.extra).filter(|extra| *extra > 0),
        team: raw.team.and_then(RawNamedEntity::into_id).ok_or_else(|| missing("a team"))?,
        player: raw.player.and_then(RawNamedEntity::player),
        assist: raw.assist.and_then(RawNamedEntity::player),
        detail: raw.detail.unwrap_or_default().into(),
    })
}

impl Raw {
    fn kind(&self) -> Result<Kind> {
        let kind = self.kind.as_deref().unwrap_or_default().to_ascii_lowercase();
        let detail = self.detail.as_deref().unwrap_or_default().to_ascii_lowercase();
        Ok(match (kind.as_str(), detail.as_str()) {
            ("goal", detail) => {
                self.goal(detail).ok_or_else(|| value(format!("unknown goal {detail:?}")))?
            }
            ("card", "yellow card") => Kind::Yellow,
            ("card", "second yellow card") => Kind::SecondYellow,
            ("card", "red card") => Kind::Red,
            ("subst", _) => Kind::Substitution,
            ("var", _) => Kind::Var,
            _ => return Err(value(format!("unknown event {kind:?} {detail:?}"))),
        })
    }

    fn goal(&self, detail: &str) -> Option<Kind> {
        let comments = self.comments.as_deref().unwrap_or_default();
        let is_kick = comments.eq_ignore_ascii_case("penalty shootout");
        Some(match detail {
            "missed penalty" if is_kick => Kind::Kick { scored: false },
            "missed penalty" => Kind::MissedPenalty,
            "penalty" | "normal goal" if is_kick => Kind::Kick { scored: true },
            "penalty" => Kind::Penalty,
            "own goal" => Kind::OwnGoal,
            "normal goal" => Kind::Goal,
            _ => return None,
        })
    }
}
