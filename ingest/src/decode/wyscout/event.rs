//! One event of a match: an action of a player with or without the ball.

use std::borrow::Cow;

use facts::football::Period;
use serde::Deserialize;

use super::{super::json_error, lenient};
use crate::error::{DecodeError, RefusalKind};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WyscoutEvent {
    pub id: u64,
    pub match_id: u64,
    pub period: Period,
    /// Microseconds since the start of the period.
    pub since_start_us: i64,
    pub team: u64,
    /// Absent where the provider writes 0: no player, or an unknown one.
    pub player: Option<u64>,
    pub kind: Kind,
    pub detail: Option<Detail>,
    pub origin: Option<Position>,
    tags: Vec<u16>,
}

/// `eventName` with the parts of `subEventName` that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pass,
    Shot,
    FreeKick(SetPiece),
    /// A foul or another offence against the rules.
    Foul {
        /// Against an opponent. A protest, a late card and time wasting are not.
        contact: bool,
    },
    Offside,
    SaveAttempt,
    /// A duel of the side that has the ball.
    AttackingDuel,
    /// `Others on the ball`: a touch, a clearance, an acceleration.
    OnTheBall,
    Other,
}

/// The part of `subEventName` that is used in addition to the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    Cross,
    Clearance,
    AirDuel,
    GroundDuel,
}

/// How play is restarted; the provider calls all of them free kicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetPiece {
    FreeKick,
    /// A direct free kick at goal.
    FreeKickShot,
    Corner,
    GoalKick,
    Penalty,
    ThrowIn,
}

/// In tenths of a percent of the pitch, from the acting team's side: `x` grows towards the
/// opponent's goal, `y` from the left to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub x: u16,
    pub y: u16,
}

/// The provider's `tags`, of which there are some sixty; these are the ones that we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Tag {
    Goal = 101,
    OwnGoal = 102,
    Assist = 301,
    KeyPass = 302,
    LeftFoot = 401,
    RightFoot = 402,
    HeadOrBody = 403,
    TakeOnLeft = 503,
    TakeOnRight = 504,
    Lost = 701,
    Won = 703,
    Interception = 1401,
    Red = 1701,
    Yellow = 1702,
    SecondYellow = 1703,
    Accurate = 1801,
    CounterAttack = 1901,
    Blocked = 2101,
}

impl WyscoutEvent {
    pub(super) fn parse(text: &str) -> Result<Self, DecodeError> {
        let raw: RawEvent<'_> = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        let period = period(&raw.match_period)
            .ok_or_else(|| value(format!("unknown period {:?}", raw.match_period)))?;
        if !(0.0..=PERIOD_SECONDS_MAX).contains(&raw.event_sec) {
            return Err(value(format!("second {} of a period", raw.event_sec)));
        }
        Ok(Self {
            id: raw.id,
            match_id: raw.match_id,
            period,
            since_start_us: (raw.event_sec * 1e6) as i64,
            team: raw.team_id,
            player: raw.player_id.filter(|player| *player != 0),
            kind: Kind::parse(&raw.event_name, &raw.sub_event_name),
            detail: Detail::parse(&raw.event_name, &raw.sub_event_name),
            origin: raw.positions.first().map(RawPosition::in_tenths),
            tags: raw.tags.iter().map(|tag| tag.id).collect(),
        })
    }

    #[must_use]
    pub fn has(&self, tag: Tag) -> bool {
        self.tags.contains(&(tag as u16))
    }

    /// Whether a shot went into the frame of the goal: tags 1201 to 1209 are its nine parts.
    #[must_use]
    pub fn within_frame(&self) -> bool {
        self.tags.iter().any(|tag| (1201..=1209).contains(tag))
    }

    /// Whether a shot hit the frame: tags 1217 to 1223.
    #[must_use]
    pub fn hit_post(&self) -> bool {
        self.tags.iter().any(|tag| (1217..=1223).contains(tag))
    }
}

fn period(text: &str) -> Option<Period> {
    Some(match text {
        "1H" => Period::FirstHalf,
        "2H" => Period::SecondHalf,
        "E1" => Period::ExtraFirst,
        "E2" => Period::ExtraSecond,
        "P" => Period::Shootout,
        _ => return None,
    })
}

impl Kind {
    fn parse(name: &str, sub_name: &str) -> Self {
        match name {
            "Pass" => Self::Pass,
            "Shot" => Self::Shot,
            "Free Kick" => Self::FreeKick(SetPiece::parse(sub_name)),
            "Foul" => Self::Foul {
                contact: !matches!(sub_name, "Protest" | "Late card foul" | "Time lost foul"),
            },
            "Offside" => Self::Offside,
            "Save attempt" => Self::SaveAttempt,
            "Duel" if sub_name == "Ground attacking duel" => Self::AttackingDuel,
            "Others on the ball" => Self::OnTheBall,
            _ => Self::Other,
        }
    }
}

impl Detail {
    fn parse(name: &str, sub_name: &str) -> Option<Self> {
        Some(match (name, sub_name) {
            ("Pass", "Cross") => Self::Cross,
            ("Others on the ball", "Clearance") => Self::Clearance,
            ("Duel", "Air duel") => Self::AirDuel,
            ("Duel", _) => Self::GroundDuel,
            _ => return None,
        })
    }
}

impl SetPiece {
    fn parse(sub_name: &str) -> Self {
        match sub_name {
            "Free kick shot" => Self::FreeKickShot,
            "Corner" => Self::Corner,
            "Goal kick" => Self::GoalKick,
            "Penalty" => Self::Penalty,
            "Throw in" => Self::ThrowIn,
            _ => Self::FreeKick,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvent<'a> {
    #[serde(deserialize_with = "lenient::whole")]
    id: u64,
    #[serde(deserialize_with = "lenient::whole")]
    match_id: u64,
    #[serde(borrow)]
    match_period: Cow<'a, str>,
    event_sec: f64,
    #[serde(deserialize_with = "lenient::whole")]
    team_id: u64,
    #[serde(default, deserialize_with = "lenient::perhaps")]
    player_id: Option<u64>,
    #[serde(borrow)]
    event_name: Cow<'a, str>,
    #[serde(borrow, default)]
    sub_event_name: Cow<'a, str>,
    #[serde(default)]
    positions: Vec<RawPosition>,
    #[serde(default)]
    tags: Vec<RawTag>,
}

#[derive(Deserialize)]
struct RawPosition {
    x: f64,
    y: f64,
}

#[derive(Deserialize)]
struct RawTag {
    id: u16,
}

/// A period with all its stoppages has never come near two hours; more is a broken clock.
const PERIOD_SECONDS_MAX: f64 = 7200.0;

impl RawPosition {
    fn in_tenths(&self) -> Position {
        let tenths = |percent: f64| (percent * 10.0).round().clamp(0.0, 1000.0) as u16;
        Position { x: tenths(self.x), y: tenths(self.y) }
    }
}

pub(super) fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}
