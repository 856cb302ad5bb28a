//! One event of a match.

use std::sync::Arc;

use serde::Deserialize;

use super::super::{json, json_error};
use crate::{
    error::{DecodeError, RefusalKind},
    event::Micros,
    football::Period,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// A UUID.
    pub id: Arc<str>,
    /// 1, 2, ...: the order of play, which the time stamps do not quite tell.
    pub index: u64,
    pub period: Period,
    /// Microseconds since the start of the period.
    pub since_start_us: Micros,
    pub team: Named,
    pub player: Option<Named>,
    pub kind: Kind,
    pub location: Option<Position>,
    /// Ids of the events that belong to this one.
    pub related: Vec<String>,
}

/// A team or a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub id: Arc<str>,
    pub name: Arc<str>,
}

/// In tenths of a percent of the pitch, from the acting team's side, always attacking: `x` grows
/// towards the opponent's goal, `y` from the left to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub x: u16,
    pub y: u16,
}

/// The `type` of an event with as much of its particulars as anyone asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    StartingXi,
    HalfStart,
    HalfEnd,
    Pass(Pass),
    Shot(Shot),
    /// The team gets the goal; it names no player.
    OwnGoalFor,
    /// The other half of the pair, with the player.
    OwnGoalAgainst,
    Foul(Option<Card>),
    /// A card without a foul.
    BadBehaviour(Option<Card>),
    Substitution {
        replacement: Option<Named>,
    },
    Offside,
    Goalkeeper(Goalkeeping),
    /// A carry, a dribble, a ball received or recovered: the team has the ball.
    OnTheBall,
    Clearance,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    pub set_piece: Option<SetPiece>,
    pub complete: bool,
    pub offside: bool,
    /// A goal came of it.
    pub assist: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetPiece {
    Corner,
    FreeKick,
    GoalKick,
    ThrowIn,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shot {
    pub goal: bool,
    /// Kept out by the goalkeeper or somebody on the line.
    pub saved: bool,
    pub blocked: bool,
    pub penalty: bool,
    /// The pass that it came of.
    pub key_pass: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goalkeeping {
    pub save: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Card {
    Yellow,
    SecondYellow,
    Red,
}

impl Event {
    pub(super) fn parse(text: &str) -> Result<Self, DecodeError> {
        let raw: RawEvent = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        let missing = |what: &str| value(format!("event without {what}"));
        let kind = raw.kind.as_ref().and_then(|kind| kind.name.as_deref());
        let kind = raw.kind(kind.ok_or_else(|| missing("a type"))?);
        let period = raw.period.and_then(Period::numbered);
        let since_start = raw.timestamp.as_deref().and_then(micros);
        Ok(Self {
            period: period.ok_or_else(|| missing("a known period"))?,
            since_start_us: since_start.ok_or_else(|| missing("a time stamp"))?,
            team: raw.team.and_then(Raw::named).ok_or_else(|| missing("a team"))?,
            player: raw.player.and_then(Raw::named),
            location: position(&raw.location),
            related: raw.related_events,
            id: raw.id.ok_or_else(|| missing("an id"))?,
            index: raw.index.ok_or_else(|| missing("an index"))?,
            kind,
        })
    }
}

/// Every object that has an id and a name.
#[derive(Deserialize)]
struct Raw {
    #[serde(default, deserialize_with = "json::key")]
    id: Option<Arc<str>>,
    #[serde(default, deserialize_with = "json::key")]
    name: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct RawEvent {
    #[serde(default, deserialize_with = "json::key")]
    id: Option<Arc<str>>,
    #[serde(default, deserialize_with = "json::whole")]
    index: Option<u64>,
    #[serde(default, deserialize_with = "json::whole")]
    period: Option<u64>,
    #[serde(default, deserialize_with = "json::known")]
    timestamp: Option<String>,
    #[serde(rename = "type", default, deserialize_with = "json::known")]
    kind: Option<Raw>,
    #[serde(default, deserialize_with = "json::known")]
    team: Option<Raw>,
    #[serde(default, deserialize_with = "json::known")]
    player: Option<Raw>,
    #[serde(default, deserialize_with = "json::known_all")]
    location: Vec<f64>,
    #[serde(default, deserialize_with = "json::known_all")]
    related_events: Vec<String>,
    #[serde(default, deserialize_with = "json::known")]
    pass: Option<RawPass>,
    #[serde(default, deserialize_with = "json::known")]
    shot: Option<RawShot>,
    #[serde(default, deserialize_with = "json::known")]
    foul_committed: Option<RawCard>,
    #[serde(default, deserialize_with = "json::known")]
    bad_behaviour: Option<RawCard>,
    #[serde(default, deserialize_with = "json::known")]
    substitution: Option<RawSubstitution>,
    #[serde(default, deserialize_with = "json::known")]
    goalkeeper: Option<RawTyped>,
}

#[derive(Deserialize, Default)]
struct RawPass {
    #[serde(rename = "type", default, deserialize_with = "json::known")]
    kind: Option<Raw>,
    #[serde(default, deserialize_with = "json::known")]
    outcome: Option<Raw>,
    #[serde(default, deserialize_with = "json::known")]
    goal_assist: Option<bool>,
}

#[derive(Deserialize, Default)]
struct RawShot {
    #[serde(rename = "type", default, deserialize_with = "json::known")]
    kind: Option<Raw>,
    #[serde(default, deserialize_with = "json::known")]
    outcome: Option<Raw>,
    #[serde(default, deserialize_with = "json::key")]
    key_pass_id: Option<Arc<str>>,
}

#[derive(Deserialize, Default)]
struct RawCard {
    #[serde(default, deserialize_with = "json::known")]
    card: Option<Raw>,
}

#[derive(Deserialize, Default)]
struct RawSubstitution {
    #[serde(default, deserialize_with = "json::known")]
    replacement: Option<Raw>,
}

#[derive(Deserialize, Default)]
struct RawTyped {
    #[serde(rename = "type", default, deserialize_with = "json::known")]
    kind: Option<Raw>,
}

impl Raw {
    fn named(self) -> Option<Named> {
        let id = self.id?;
        Some(Named { name: self.name.unwrap_or_else(|| id.clone()), id })
    }
}

fn name(raw: Option<&Raw>) -> &str {
    raw.and_then(|raw| raw.name.as_deref()).unwrap_or_default()
}

impl RawEvent {
    fn kind(&self, name: &str) -> Kind {
        match name {
            "Starting XI" => Kind::StartingXi,
            "Half Start" => Kind::HalfStart,
            "Half End" => Kind::HalfEnd,
            "Pass" => Kind::Pass(self.pass.as_ref().map_or_else(Pass::default, RawPass::read)),
            "Shot" => Kind::Shot(self.shot.as_ref().map_or_else(Shot::default, RawShot::read)),
            "Own Goal For" => Kind::OwnGoalFor,
            "Own Goal Against" => Kind::OwnGoalAgainst,
            "Foul Committed" => Kind::Foul(self.foul_committed.as_ref().and_then(RawCard::read)),
            "Bad Behaviour" => {
                Kind::BadBehaviour(self.bad_behaviour.as_ref().and_then(RawCard::read))
            }
            "Substitution" => Kind::Substitution { replacement: self.replacement() },
            "Offside" => Kind::Offside,
            "Goal Keeper" => Kind::Goalkeeper(self.goalkeeping()),
            "Carry" | "Dribble" | "Ball Receipt*" | "Ball Recovery" => Kind::OnTheBall,
            "Clearance" => Kind::Clearance,
            _ => Kind::Other,
        }
    }

    fn replacement(&self) -> Option<Named> {
        let raw = self.substitution.as_ref()?.replacement.as_ref()?;
        Raw { id: raw.id.clone(), name: raw.name.clone() }.named()
    }

    fn goalkeeping(&self) -> Goalkeeping {
        let kind = name(self.goalkeeper.as_ref().and_then(|raw| raw.kind.as_ref()));
        // `Shot Saved`, `Penalty Saved`, `Shot Saved to Post`, ...; a ball that was to go wide is
        // none of the saves that a table counts.
        Goalkeeping { save: kind.contains("Saved") && !kind.contains("Off") }
    }
}

impl Default for Pass {
    fn default() -> Self {
        Self { set_piece: None, complete: true, offside: false, assist: false }
    }
}

impl RawPass {
    /// A pass that arrives has no outcome.
    fn read(&self) -> Pass {
        let set_piece = match name(self.kind.as_ref()) {
            "Corner" => Some(SetPiece::Corner),
            "Free Kick" => Some(SetPiece::FreeKick),
            "Goal Kick" => Some(SetPiece::GoalKick),
            "Throw-in" => Some(SetPiece::ThrowIn),
            _ => None,
        };
        Pass {
            set_piece,
            complete: self.outcome.is_none(),
            offside: name(self.outcome.as_ref()) == "Pass Offside",
            assist: self.goal_assist == Some(true),
        }
    }
}

impl RawShot {
    fn read(&self) -> Shot {
        let outcome = name(self.outcome.as_ref());
        Shot {
            goal: outcome == "Goal",
            saved: matches!(outcome, "Saved" | "Saved to Post" | "Saved To Post"),
            blocked: outcome == "Blocked",
            penalty: name(self.kind.as_ref()) == "Penalty",
            key_pass: self.key_pass_id.clone(),
        }
    }
}

impl RawCard {
    fn read(&self) -> Option<Card> {
        Some(match name(self.card.as_ref()) {
            "Yellow Card" => Card::Yellow,
            "Second Yellow" => Card::SecondYellow,
            "Red Card" => Card::Red,
            _ => return None,
        })
    }
}

/// `HH:MM:SS.mmm`.
fn micros(text: &str) -> Option<Micros> {
    let mut parts = text.split(':');
    let (hours, minutes) = (parts.next()?.parse::<u8>().ok()?, parts.next()?.parse::<u8>().ok()?);
    let seconds: f64 = parts.next()?.parse().ok()?;
    let in_range = hours < 4 && minutes < 60 && (0.0..60.0).contains(&seconds);
    let whole = (Micros::from(hours) * 60 + Micros::from(minutes)) * 60_000_000;
    (in_range && parts.next().is_none()).then(|| whole + (seconds * 1e6).round() as Micros)
}

/// A pitch of the provider is 120 by 80, whatever the real one was.
fn position(location: &[f64]) -> Option<Position> {
    let [x, y, ..] = location else { return None };
    let tenths = |part: f64| (part * 1000.0).round().clamp(0.0, 1000.0) as u16;
    Some(Position { x: tenths(x / 120.0), y: tenths(y / 80.0) })
}

fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stamps_are_since_the_start_of_the_period() {
        assert_eq!(micros("00:48:01.108"), Some(2_881_108_000));
        assert_eq!(micros("01:00:00"), Some(3_600_000_000));
        for wrong in ["", "1", "00:61:00.0", "00:00:-1", "9:00:00", "00:00:00:00", "00:00:nan"] {
            assert_eq!(micros(wrong), None, "of {wrong:?}");
        }
    }
}
