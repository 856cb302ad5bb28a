//! Shot map, momentum, average positions and expected goals by minute, of `events/{id}/stats/`.

use std::collections::BTreeMap;

use facts::{
    event::{BodyPart, ExpectedGoals, ShotOutcome, ShotSituation},
    football::Period,
};
use serde::Serialize;
use utoipa::ToSchema;

use record::{AnalysisRecord, FootballRecord, Key, LineUpRecord, PositionRecord, ShotRecord};

/// A shot. Values that the feed does not report are `null` or absent.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Shot {
    min: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<u16>,
    home: bool,
    /// `goal`, `save`, `miss` or `block`.
    #[serde(rename = "type")]
    kind: &'static str,
    xg: Option<f64>,
    xgot: Option<f64>,
    /// Where in the goal, or how far beside it: `low-left`, `close-high-right`.
    gml: Option<String>,
    /// `assisted`, `regular`, `fast-break`, `set-piece`, `free-kick`, `corner`,
    /// `throw-in-set-piece` or `penalty`.
    sit: Option<&'static str>,
    /// `right-foot`, `left-foot`, `head` or `other`.
    body: Option<&'static str>,
    /// Of a goal: `regular` or `penalty`.
    #[serde(skip_serializing_if = "Option::is_none")]
    gtype: Option<&'static str>,
    player_id: Option<Key>,
    /// From 0 to 100; `x` 0 is the goal that is attacked.
    pos: Option<Place>,
    /// Where the shot crossed the goal line; `z` 100 is the height of the crossbar.
    gm: Option<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
pub(super) struct Place {
    x: f64,
    y: f64,
    z: f64,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Xg {
    pub(super) actual: f64,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Momentum {
    /// The minute; 45.5 and 90.5 are the times added to the halves.
    m: f64,
    /// From -100 to 100; positive is home.
    v: i8,
}

#[derive(Debug, Default, PartialEq, Serialize, ToSchema)]
pub(super) struct Positions {
    home: Vec<Position>,
    away: Vec<Position>,
}

/// `x` 0 is the own goal, `y` 0 the left touch line.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct Position {
    /// The number on the shirt.
    n: Option<u16>,
    x: f64,
    y: f64,
    /// `G`, `D`, `M`, `F` or empty.
    pos: String,
    name: String,
    player_id: Option<Key>,
}

#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(super) struct MinuteXg {
    m: u16,
    xg_home: f64,
    xg_away: f64,
    cum_home: f64,
    cum_away: f64,
}

/// The penalty area is 16.5 of 105 metres deep and 40.32 of 68 metres wide.
pub(super) fn is_in_box([x, y]: [u16; 2]) -> bool {
    x >= 843 && (204..=796).contains(&y)
}

/// From tenths of a percent to percent.
fn percent(tenths: u16) -> f64 {
    f64::from(tenths) / 10.0
}

pub(super) fn shot_map(analysis: &AnalysisRecord) -> Vec<Shot> {
    analysis.shots.iter().rev().map(Shot::new).collect()
}

pub(super) fn momentum(analysis: &AnalysisRecord) -> Vec<Momentum> {
    let all = analysis.momentum.iter();
    all.map(|(minute, value)| Momentum { m: f64::from(*minute) / 2.0, v: *value }).collect()
}

pub(super) fn xg_per_minute(analysis: &AnalysisRecord) -> Vec<MinuteXg> {
    let mut minutes: BTreeMap<u16, [u32; 2]> = BTreeMap::new();
    for shot in analysis.shots.iter().filter(|shot| shot.period != Period::Shootout) {
        if let Some(goals) = shot.expected_goals {
            minutes.entry(shot.minute).or_default()[usize::from(shot.side.min(1))] += goals.0;
        }
    }
    let goals = |units: u32| ExpectedGoals(units).goals();
    let mut sum = [0, 0];
    let row = |(m, [home, away]): (u16, [u32; 2])| {
        sum = [sum[0] + home, sum[1] + away];
        MinuteXg {
            m,
            xg_home: goals(home),
            xg_away: goals(away),
            cum_home: goals(sum[0]),
            cum_away: goals(sum[1]),
        }
    };
    minutes.into_iter().map(row).collect()
}

impl Shot {
    fn new(shot: &ShotRecord) -> Self {
        // Feeds give positions facing the goal; this interface gives them seen from the goal.
        let pos = |[x, y]: [u16; 2]| Place {
            x: percent(1000_u16.saturating_sub(x)),
            y: percent(1000_u16.saturating_sub(y)),
            z: 0.0,
        };
        let mouth = |[y, z]: [u16; 2]| Place {
            x: 0.0,
            y: percent(1000_u16.saturating_sub(y)),
            z: percent(z),
        };
        Self {
            min: shot.minute,
            added: shot.added,
            home: shot.side == 0,
            kind: match shot.outcome {
                ShotOutcome::Goal => "goal",
                ShotOutcome::Saved => "save",
                ShotOutcome::Blocked => "block",
                ShotOutcome::OffTarget | ShotOutcome::Post => "miss",
            },
            xg: shot.expected_goals.map(ExpectedGoals::goals),
            xgot: shot.expected_on_target.map(ExpectedGoals::goals),
            gml: shot.goal_mouth.map(goal_mouth),
            sit: shot.situation.map(situation),
            body: shot.body_part.map(|part| match part {
                BodyPart::RightFoot => "right-foot",
                BodyPart::LeftFoot => "left-foot",
                BodyPart::Head => "head",
                BodyPart::Other => "other",
            }),
            gtype: (shot.outcome == ShotOutcome::Goal).then_some(match shot.situation {
                Some(ShotSituation::Penalty) => "penalty",
                _ => "regular",
            }),
            player_id: shot.player.as_ref().map(|player| player.id),
            pos: shot.location.map(pos),
            gm: shot.goal_mouth.map(mouth),
        }
    }
}

fn situation(situation: ShotSituation) -> &'static str {
    match situation {
        ShotSituation::Assisted => "assisted",
        ShotSituation::Regular => "regular",
        ShotSituation::FastBreak => "fast-break",
        ShotSituation::SetPiece => "set-piece",
        ShotSituation::FreeKick => "free-kick",
        ShotSituation::Corner => "corner",
        ShotSituation::ThrowIn => "throw-in-set-piece",
        ShotSituation::Penalty => "penalty",
    }
}

/// The posts, in tenths of a percent of the width of the pitch: 7.32 of 68 metres.
const POSTS: [u16; 2] = [446, 554];

/// From the shooter's view: height and third of the goal; `close-` is next to it or above it.
fn goal_mouth([y, z]: [u16; 2]) -> String {
    let [left, right] = POSTS;
    let beyond = y < left || y > right || z > 1000;
    let third = (right - left) / 3;
    let column = match y {
        _ if y < left + third => "left",
        _ if y > right - third => "right",
        _ => "centre",
    };
    let row = if z > 500 { "high" } else { "low" };
    format!("{}{row}-{column}", if beyond { "close-" } else { "" })
}

impl Positions {
    pub(super) fn new(analysis: &AnalysisRecord, football: Option<&FootballRecord>) -> Self {
        let side = |side: usize| {
            let line_up = football.and_then(|it| it.line_ups[side].as_ref());
            let positions = analysis.positions[side].iter();
            positions.map(|it| Position::new(it, line_up)).collect()
        };
        Self { home: side(0), away: side(1) }
    }
}

impl Position {
    fn new(position: &PositionRecord, line_up: Option<&LineUpRecord>) -> Self {
        let mut players = line_up.into_iter().flat_map(|it| &it.players);
        let listed = players.find(|it| it.player.id == position.player.id);
        Self {
            n: listed.and_then(|it| it.number),
            x: percent(position.x),
            y: percent(position.y),
            pos: listed.and_then(|it| it.position.as_deref()).unwrap_or_default().to_owned(),
            name: position.player.name.to_string(),
            player_id: Some(position.player.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::goal_mouth;

    #[test]
    fn goal_mouth_is_named_as_seen_by_the_shooter() {
        for (mouth, expected) in [
            ([450, 100], "low-left"),
            ([500, 900], "high-centre"),
            ([550, 900], "high-right"),
            ([570, 900], "close-high-right"),
            ([500, 1200], "close-high-centre"),
        ] {
            assert_eq!(goal_mouth(mouth), expected, "{mouth:?}");
        }
    }
}
