//! One event of a match: an action of a player with or without the ball.

use std::borrow::Cow;

use facts::football::Period;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    super::{json, json_error},
    lenient,
};
use crate::error::{DecodeError, RefusalKind, Result};

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
    pub(super) fn parse(text: &str) -> Result<Self> {
        let raw: RawEvent<'_> = serde_json::from_str(text).map_err(|error| match is_v3(text) {
            true => {
                DecodeError::new(RefusalKind::Unknown, "an event of Wyscout v3: only v2 is read")
            }
            false => json_error(&error),
        })?;
        let name = named(raw.event_name, raw.event_id, &EVENT_NAMES)
            .ok_or_else(|| value("event without a name".to_owned()))?;
        let sub_name = named(raw.sub_event_name, raw.sub_event_id, &SUB_EVENT_NAMES);
        let sub_name = sub_name.unwrap_or_default();
        let period = period(&raw.match_period)
            .ok_or_else(|| value(format!("unknown period {:?}", raw.match_period)))?;
        let second = raw.event_sec.ok_or_else(|| value("event without a second".to_owned()))?;
        if !(0.0..=PERIOD_SECONDS_MAX).contains(&second) {
            return Err(value(format!("second {second} of a period")));
        }
        Ok(Self {
            id: raw.id,
            match_id: raw.match_id,
            period,
            since_start_us: (second * 1e6) as i64,
            team: raw.team_id,
            player: raw.player_id.filter(|player| *player != 0),
            kind: Kind::parse(&name, &sub_name),
            detail: Detail::parse(&name, &sub_name),
            origin: raw.positions.first().and_then(RawPosition::in_tenths),
            tags: raw.tags.iter().filter_map(|tag| u16::try_from(tag.id).ok()).collect(),
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
    #[serde(default, deserialize_with = "json::float")]
    event_sec: Option<f64>,
    #[serde(deserialize_with = "lenient::whole")]
    team_id: u64,
    #[serde(default, deserialize_with = "lenient::perhaps")]
    player_id: Option<u64>,
    /// The name, or its number.
    #[serde(borrow, default)]
    event_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    event_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    sub_event_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    sub_event_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    positions: Vec<RawPosition<'a>>,
    #[serde(default)]
    tags: Vec<RawTag>,
}

/// Numbers, in some documents as text.
#[derive(Deserialize)]
struct RawPosition<'a> {
    #[serde(borrow)]
    x: &'a RawValue,
    #[serde(borrow)]
    y: &'a RawValue,
}

#[derive(Deserialize)]
struct RawTag {
    #[serde(deserialize_with = "lenient::whole")]
    id: u64,
}

/// A period with all its stoppages has never come near two hours; more is a broken clock.
const PERIOD_SECONDS_MAX: f64 = 7200.0;

impl RawPosition<'_> {
    fn in_tenths(&self) -> Option<Position> {
        let tenths = |percent: f64| (percent * 10.0).round().clamp(0.0, 1000.0) as u16;
        Some(Position { x: tenths(json::float_of(self.x)?), y: tenths(json::float_of(self.y)?) })
    }
}

/// `eventName` by `eventId`.
const EVENT_NAMES: [(u16, &str); 10] = [
    (1, "Duel"),
    (2, "Foul"),
    (3, "Free Kick"),
    (4, "Goalkeeper leaving line"),
    (5, "Interruption"),
    (6, "Offside"),
    (7, "Others on the ball"),
    (8, "Pass"),
    (9, "Save attempt"),
    (10, "Shot"),
];

/// `subEventName` by `subEventId`, those that are read.
const SUB_EVENT_NAMES: [(u16, &str); 14] = [
    (10, "Air duel"),
    (11, "Ground attacking duel"),
    (22, "Late card foul"),
    (24, "Protest"),
    (26, "Time lost foul"),
    (30, "Corner"),
    (31, "Free Kick"),
    (32, "Free kick cross"),
    (33, "Free kick shot"),
    (34, "Goal kick"),
    (35, "Penalty"),
    (36, "Throw in"),
    (71, "Clearance"),
    (80, "Cross"),
];

/// A name as it stands, or that of a number, which some documents have in the place of the name.
fn named<'a>(
    name: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    names: &[(u16, &'static str)],
) -> Option<Cow<'a, str>> {
    if let Some(name) = name
        && number(name).is_none()
        && let Ok(name) = serde_json::from_str(name.get())
    {
        return Some(name);
    }
    let number = name.and_then(number).or_else(|| number(id?))?;
    let name = names.iter().find(|(id, _)| *id == number).map_or("", |(_, name)| *name);
    Some(name.into())
}

fn number(value: &RawValue) -> Option<u16> {
    value.get().trim_matches('"').parse().ok()
}

/// Whether it is an event of the provider's API v3, whose fields are others.
fn is_v3(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "type")]
        _kind: Type,
    }
    #[derive(Deserialize)]
    struct Type {
        #[serde(rename = "primary")]
        _primary: String,
    }
    serde_json::from_str::<Event>(text).is_ok()
}

pub(super) fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &str, kind: Kind, detail: Option<Detail>) {
        let text = format!(
            r#"{{"id":1,"matchId":5,"matchPeriod":"1H","eventSec":2.5,"teamId":7,{names},"positions":[{{"x":"90","y":42.5}}]}}"#
        );
        let event = WyscoutEvent::parse(&text).unwrap();
        assert_eq!((event.kind, event.detail), (kind, detail), "{names}");
        assert_eq!(event.origin, Some(Position { x: 900, y: 425 }));
    }

    #[test]
    fn numbers_may_be_texts() {
        let text = |event: &str| format!(r#"{{"matchPeriod":"1H","eventName":"Pass",{event}}}"#);
        let read = |event: &str| WyscoutEvent::parse(&text(event)).map_err(|error| error.reason);
        let plain =
            r#""id":1,"matchId":5,"eventSec":2.5,"teamId":7,"playerId":9,"tags":[{"id":1801}]"#;
        let quoted = r#""id":"1","matchId":"5","eventSec":"2.5","teamId":"7","playerId":"9","tags":[{"id":"1801"}]"#;
        assert_eq!(read(plain), read(quoted));
        assert!(read(plain).is_ok_and(|event| event.has(Tag::Accurate)));
        let late = plain.replace("2.5", "null");
        assert_eq!(read(&late), Err("event without a second".to_owned()));
    }

    #[test]
    fn event_has_a_name_or_a_number() {
        let cross = Some(Detail::Cross);
        check(r#""eventName":"Pass","subEventName":"Cross""#, Kind::Pass, cross);
        check(r#""eventName":8,"subEventName":80"#, Kind::Pass, cross);
        check(r#""eventId":8,"subEventId":"80""#, Kind::Pass, cross);
        check(r#""eventId":8,"eventName":"Pass","subEventId":80"#, Kind::Pass, cross);
        check(r#""eventName":3,"subEventName":35"#, Kind::FreeKick(SetPiece::Penalty), None);
        check(r#""eventName":6,"subEventName":"""#, Kind::Offside, None);
        check(r#""eventName":2,"subEventName":24"#, Kind::Foul { contact: false }, None);
        check(r#""eventName":99"#, Kind::Other, None);
    }

    #[test]
    fn event_of_version_3_is_named_as_such() {
        let text = r#"{"id":1,"matchId":5,"matchPeriod":"1H","minute":0,"type":{"primary":"pass","secondary":[]}}"#;
        let error = WyscoutEvent::parse(text).unwrap_err();
        assert_eq!(error.kind, RefusalKind::Unknown);
        assert_eq!(error.reason, "an event of Wyscout v3: only v2 is read");
    }
}
