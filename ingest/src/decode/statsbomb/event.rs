//! One event of a match.

use std::sync::Arc;

use facts::{
    event::{BodyPart, ExpectedGoals, Micros, ShotSituation},
    football::Period,
};

use super::{
    super::json_error,
    raw::{Raw, RawEvent},
};
use crate::error::{DecodeError, Result};

#[derive(Debug, Clone, PartialEq)]
pub struct StatsBombEvent {
    /// A UUID.
    pub id: Arc<str>,
    /// 1, 2, ...: the order of play, which the time stamps do not fully determine.
    pub index: u64,
    pub period: Period,
    /// Microseconds since the start of the period.
    pub since_start_us: Micros,
    /// The id of the team that acts.
    pub team: Arc<str>,
    pub team_name: Option<Arc<str>>,
    /// The id of the team that has the ball.
    pub possession_team: Option<Arc<str>>,
    pub player: Option<NamedEntity>,
    pub kind: Kind,
    /// The player won the ball in the air with it.
    pub aerial_won: bool,
    pub location: Option<Position>,
    /// Ids of the events that belong to this one.
    pub related: Vec<String>,
}

/// A team or a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEntity {
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

/// The `type` of an event with the details that are used.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    StartingXi(Tactics),
    HalfStart,
    HalfEnd,
    Pass(Pass),
    Shot(StatsBombShot),
    /// The team gets the goal; it names no player.
    OwnGoalFor,
    /// The other half of the pair, with the player.
    OwnGoalAgainst,
    Foul(Option<Card>),
    /// A card without a foul.
    BadBehaviour(Option<Card>),
    Substitution {
        replacement: Option<NamedEntity>,
    },
    Offside,
    Goalkeeper(Goalkeeping),
    Dribble {
        complete: bool,
    },
    Recovery {
        failed: bool,
    },
    /// A carry, a ball received: the team has the ball.
    OnTheBall,
    Clearance,
    Interception,
    /// A duel on the ground in which the player tried to take the ball.
    Tackle {
        won: bool,
    },
    AerialLost,
    Dispossessed,
    FoulWon,
    Other,
}

/// How a team begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tactics {
    /// Digits: `433`.
    pub formation: Option<Arc<str>>,
    pub players: Vec<Starter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    pub player: NamedEntity,
    pub number: Option<u16>,
    /// `Right Center Back`, `Left Wing`, ...
    pub position: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    pub set_piece: Option<SetPiece>,
    pub complete: bool,
    pub offside: bool,
    /// A goal came of it.
    pub assist: bool,
    /// A shot came of it, whether it was a goal or not.
    pub key: bool,
    pub cross: bool,
    /// It was an interception at once.
    pub interception: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetPiece {
    Corner,
    FreeKick,
    GoalKick,
    ThrowIn,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatsBombShot {
    pub goal: bool,
    /// Saved by the goalkeeper or by a player on the line.
    pub saved: bool,
    pub blocked: bool,
    pub post: bool,
    pub penalty: bool,
    /// The pass that it came of.
    pub key_pass: Option<Arc<str>>,
    pub situation: ShotSituation,
    pub body_part: Option<BodyPart>,
    pub expected_goals: Option<ExpectedGoals>,
    /// Where it ended, from the acting team's side.
    pub end: Option<ShotEnd>,
}

/// Where a shot ended: a place on the pitch, and its height if it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShotEnd {
    pub location: Position,
    /// In tenths of a percent of the height of the crossbar.
    pub height: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goalkeeping {
    pub save: bool,
    pub conceded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Card {
    Yellow,
    SecondYellow,
    Red,
}

impl StatsBombEvent {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let raw: RawEvent = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        let missing = |what: &str| DecodeError::value(format!("event without {what}"));
        let kind = raw.kind.as_ref().and_then(|kind| kind.name.as_deref());
        let kind = raw.kind(kind.ok_or_else(|| missing("a type"))?);
        let aerial_won = raw.aerial_won();
        let period = raw.period.and_then(Period::numbered);
        let since_start = raw.timestamp.as_deref().and_then(micros);
        let team = raw.team.ok_or_else(|| missing("a team"))?;
        Ok(Self {
            period: period.ok_or_else(|| missing("a known period"))?,
            since_start_us: since_start.ok_or_else(|| missing("a time stamp"))?,
            team: team.id.ok_or_else(|| missing("the id of its team"))?,
            team_name: team.name,
            possession_team: raw.possession_team.and_then(|team| team.id),
            player: raw.player.and_then(Raw::named),
            location: position(&raw.location),
            related: raw.related_events,
            id: raw.id.ok_or_else(|| missing("an id"))?,
            index: raw.index.ok_or_else(|| missing("an index"))?,
            kind,
            aerial_won,
        })
    }
}

impl Default for Pass {
    fn default() -> Self {
        Self {
            set_piece: None,
            complete: true,
            offside: false,
            assist: false,
            key: false,
            cross: false,
            interception: false,
        }
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

/// The provider's pitch is always 120 by 80, independent of the real one.
pub(super) fn position(location: &[f64]) -> Option<Position> {
    let [x, y, ..] = location else { return None };
    let tenths = |part: f64| (part * 1000.0).round().clamp(0.0, 1000.0) as u16;
    Some(Position { x: tenths(x / 120.0), y: tenths(y / 80.0) })
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
