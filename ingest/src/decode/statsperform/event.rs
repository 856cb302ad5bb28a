//! One event of MA3.

use std::sync::Arc;

use facts::{event::Micros, football::Period};

use super::{
    super::{json, json_error},
    NamedEntity,
    sheet::Sheet,
    time, value,
};
use crate::error::Result;

#[derive(Debug, Clone, PartialEq)]
pub struct StatsPerformEvent {
    /// Unique, and no order.
    pub id: Arc<str>,
    /// A number of its own for each team, by which its events name each other.
    pub event_id: Option<u64>,
    pub period: Period,
    /// Microseconds since the start of the period by the match clock, which has whole seconds.
    pub since_start_us: Micros,
    /// When it happened, by the wall clock.
    pub at: Option<Micros>,
    pub contestant: Arc<str>,
    /// Absent for what concerns the team, and for a card of a coach.
    pub player: Option<NamedEntity>,
    pub kind: Kind,
    /// Of a shot: it hit the frame.
    pub hit_post: bool,
    /// What was tried came off; for a goal: it stands; for a foul: it was suffered.
    pub success: bool,
    pub position: Option<Position>,
    pub qualifiers: Vec<Qualifier>,
}

/// In tenths of a percent of the pitch, from the acting team's side, always attacking: `x` grows
/// towards the opponent's goal, `y` from the left to the right. (The provider's own runs from the
/// right.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub x: u16,
    pub y: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qualifier {
    pub id: u64,
    pub value: Option<Arc<str>>,
}

/// Those of the provider's qualifiers that we read.
pub mod qualifier {
    pub const CROSS: u64 = 2;
    pub const FREE_KICK: u64 = 5;
    pub const CORNER: u64 = 6;
    pub const PENALTY: u64 = 9;
    pub const HEAD: u64 = 15;
    pub const RIGHT_FOOT: u64 = 20;
    pub const OTHER_BODY_PART: u64 = 21;
    pub const FAST_BREAK: u64 = 23;
    /// A shot after a free kick, but not directly.
    pub const SET_PIECE: u64 = 24;
    pub const FROM_CORNER: u64 = 25;
    pub const DIRECT_FREE_KICK: u64 = 26;
    pub const ASSISTED: u64 = 29;
    pub const LEFT_FOOT: u64 = 72;
    pub const GOAL_MOUTH_Y: u64 = 102;
    pub const GOAL_MOUTH_Z: u64 = 103;
    pub const FROM_THROW_IN: u64 = 160;
    pub const OWN_GOAL: u64 = 28;
    pub const YELLOW: u64 = 31;
    pub const SECOND_YELLOW: u64 = 32;
    /// Of a line-up: everybody, by id, the eleven first.
    pub const PLAYERS: u64 = 30;
    pub const RED: u64 = 33;
    /// Of a line-up: 1 goalkeeper, 2 defender, 3 midfielder, 4 forward, 5 on the bench.
    pub const POSITIONS: u64 = 44;
    /// The value is the `eventId` of the event that belongs to this one.
    pub const RELATED: u64 = 55;
    /// Of a line-up.
    pub const SHIRT_NUMBERS: u64 = 59;
    pub const BLOCKED: u64 = 82;
    /// A block by an outfield player, recorded as a save.
    pub const OUTFIELD_BLOCK: u64 = 94;
    pub const THROW_IN: u64 = 107;
    pub const GOAL_KICK: u64 = 124;
    /// Of a line-up: its number in the provider's table of formations.
    pub const FORMATION: u64 = 130;
    /// Of a line-up: the player's id.
    pub const CAPTAIN: u64 = 194;
    /// A pass that a shot came of; the value is the type of the shot.
    pub const SHOT_ASSIST: u64 = 210;
}

/// `typeId`, of which there are some eighty; these are the ones that we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Pass,
    OffsidePass,
    Foul,
    Save,
    /// A shot that missed the goal or hit the frame.
    Miss,
    AttemptSaved,
    Goal,
    Card,
    Off,
    On,
    PeriodEnd,
    PeriodStart,
    TakeOn,
    Clearance,
    Recovery,
    Tackle,
    Interception,
    Aerial,
    /// A tackle that came too late: the other one went past.
    Challenge,
    Dispossessed,
    Other,
}

/// What an element of the list of events is.
#[derive(Debug)]
pub(super) enum Element {
    Event(StatsPerformEvent),
    /// The players of a team, given before the match.
    Sheet(Sheet),
}

const DELETED: u64 = 43;
const POST: u64 = 14;
const LINE_UP: u64 = 34;

/// The periods between the periods, and the one after the match.
const BREAKS: std::ops::RangeInclusive<u64> = 10..=14;

impl StatsPerformEvent {
    /// `None` for an event that was deleted, for one that is no team's, and for one outside of
    /// play. Only who is booked or changed in a break or after the match counts: as of `last`, the
    /// moment of the last event before it.
    pub(super) fn parse(text: &str, last: Option<(Period, Micros)>) -> Result<Option<Element>> {
        let raw: RawEvent = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        let missing = |what: &str| value(format!("event without {what}"));
        let type_id = raw.type_id.ok_or_else(|| missing("a type"))?;
        if type_id == LINE_UP {
            return Ok(raw.sheet().map(Element::Sheet));
        }
        let kind = kind(type_id);
        let nobodys = kind == Kind::Other && raw.contestant_id.is_none();
        if type_id == DELETED || nobodys {
            return Ok(None);
        }
        let Some((period, since_start_us)) = raw.moment(kind, last)? else { return Ok(None) };
        Ok(Some(Element::Event(Self {
            period,
            since_start_us,
            at: raw.time_stamp.as_deref().and_then(time::instant),
            event_id: raw.event_id,
            position: raw.position(),
            player: raw.player_id.zip(raw.player_name).map(|(id, name)| NamedEntity { id, name }),
            kind,
            hit_post: type_id == POST,
            success: raw.outcome != Some(0),
            qualifiers: raw.qualifier.into_iter().filter_map(RawQualifier::read).collect(),
            id: raw.id.ok_or_else(|| missing("an id"))?,
            contestant: raw.contestant_id.ok_or_else(|| missing("a team"))?,
        })))
    }

    /// The order of play.
    #[must_use]
    pub fn moment(&self) -> (Period, Micros) {
        (self.period, self.since_start_us)
    }

    #[must_use]
    pub fn has(&self, qualifier: u64) -> bool {
        self.qualifiers.iter().any(|it| it.id == qualifier)
    }

    /// The number in a qualifier that has digits behind its point.
    #[must_use]
    pub fn decimal(&self, qualifier: u64) -> Option<f64> {
        let qualifier = self.qualifiers.iter().find(|it| it.id == qualifier)?;
        qualifier.value.as_ref()?.parse().ok().filter(|value: &f64| value.is_finite())
    }

    /// The number in a qualifier.
    #[must_use]
    pub fn number(&self, qualifier: u64) -> Option<u64> {
        let qualifier = self.qualifiers.iter().find(|it| it.id == qualifier)?;
        qualifier.value.as_ref()?.parse().ok()
    }
}

fn kind(type_id: u64) -> Kind {
    match type_id {
        1 => Kind::Pass,
        2 => Kind::OffsidePass,
        4 => Kind::Foul,
        10 => Kind::Save,
        13 | POST => Kind::Miss,
        15 => Kind::AttemptSaved,
        16 => Kind::Goal,
        17 => Kind::Card,
        18 => Kind::Off,
        19 => Kind::On,
        30 => Kind::PeriodEnd,
        32 => Kind::PeriodStart,
        3 => Kind::TakeOn,
        7 => Kind::Tackle,
        8 => Kind::Interception,
        12 => Kind::Clearance,
        44 => Kind::Aerial,
        45 => Kind::Challenge,
        49 => Kind::Recovery,
        50 => Kind::Dispossessed,
        _ => Kind::Other,
    }
}

/// The match clock of a period starts at its first minute, whatever was added to the one before. A
/// shoot-out has no clock, and may follow upon 90 minutes.
pub(super) fn since_start_us(second: u64, period: Period) -> Result<Micros> {
    let first = u64::from(period.first_second());
    let since = match period {
        Period::Shootout => Some(second.saturating_sub(first)),
        _ => second.checked_sub(first),
    };
    match since.filter(|since| *since <= PERIOD_SECONDS_MAX) {
        Some(since) => Ok(since as Micros * 1_000_000),
        None => Err(value(format!("second {second} of the match in {period:?}"))),
    }
}

/// A period with all its stoppages has never come near two hours; more is a broken clock.
const PERIOD_SECONDS_MAX: u64 = 7200;

json::lenient! {
    #[serde(rename_all = "camelCase")]
    struct RawEvent {
        id: Option<Arc<str>> as "json::key",
        event_id: Option<u64> as "json::whole",
        type_id: Option<u64> as "json::whole",
        period_id: Option<u64> as "json::whole",
        time_min: Option<u64> as "json::whole",
        time_sec: Option<u64> as "json::whole",
        contestant_id: Option<Arc<str>> as "json::key",
        player_id: Option<Arc<str>> as "json::key",
        player_name: Option<Arc<str>> as "json::key",
        outcome: Option<u64> as "json::whole",
        x: Option<f64> as "json::float",
        y: Option<f64> as "json::float",
        time_stamp: Option<String> as "json::known_value",
        qualifier: Vec<RawQualifier> as "json::known_all",
    }

    #[serde(rename_all = "camelCase")]
    struct RawQualifier {
        qualifier_id: Option<u64> as "json::whole",
        value: Option<Arc<str>> as "json::key",
    }
}

impl RawQualifier {
    fn read(self) -> Option<Qualifier> {
        Some(Qualifier { id: self.qualifier_id?, value: self.value })
    }
}

impl RawEvent {
    fn moment(
        &self,
        kind: Kind,
        last: Option<(Period, Micros)>,
    ) -> Result<Option<(Period, Micros)>> {
        let number = self.period_id.ok_or_else(|| value("event without a period"))?;
        let Some(period) = Period::numbered(number) else {
            let counts = matches!(kind, Kind::Card | Kind::Off | Kind::On);
            return Ok(last.filter(|_| counts && BREAKS.contains(&number)));
        };
        let second = self.second().ok_or_else(|| value("event without a match clock"))?;
        Ok(Some((period, since_start_us(second, period)?)))
    }

    /// By the match clock.
    fn second(&self) -> Option<u64> {
        self.time_min?.checked_mul(60)?.checked_add(self.time_sec.unwrap_or(0))
    }

    /// A line-up, which is written as lists in qualifiers.
    fn sheet(&self) -> Option<Sheet> {
        let value = |wanted: u64| {
            let qualifier = self.qualifier.iter().find(|it| it.qualifier_id == Some(wanted))?;
            qualifier.value.as_deref()
        };
        Some(Sheet::of_lists(
            self.contestant_id.clone()?,
            value(qualifier::PLAYERS)?,
            value(qualifier::SHIRT_NUMBERS).unwrap_or_default(),
            value(qualifier::POSITIONS).unwrap_or_default(),
            value(qualifier::CAPTAIN),
            value(qualifier::FORMATION),
        ))
    }

    fn position(&self) -> Option<Position> {
        let tenths = |percent: f64| (percent * 10.0).round().clamp(0.0, 1000.0) as u16;
        Some(Position { x: tenths(self.x?), y: 1000 - tenths(self.y?) })
    }
}
