//! What MA1 lists of a match: goals, cards, substitutions, penalties missed, kicks of a shoot-out,
//! and reviews by the video assistant.

use std::sync::Arc;

use facts::{
    event::{Micros, Pair},
    football::{self, Period},
};

use super::{
    super::{json, json_error},
    NamedEntity,
    event::since_start_us,
    time, value,
};
use crate::error::Result;

/// An element of one of the lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub period: Period,
    /// Microseconds since the start of the period, by the match clock.
    pub since_start_us: Micros,
    pub at: Option<Micros>,
    pub contestant: Arc<str>,
    /// The `id` that MA3 has for it.
    pub event_id: Option<Arc<str>>,
    pub kind: MomentKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MomentKind {
    Goal {
        kind: GoalType,
        scorer: Option<NamedEntity>,
        assist: Option<NamedEntity>,
        /// The score after it, home before away.
        score: Option<Pair<u16>>,
    },
    Card {
        card: Card,
        /// Absent for a coach.
        player: Option<NamedEntity>,
    },
    Substitution {
        off: Option<NamedEntity>,
        on: Option<NamedEntity>,
    },
    PenaltyMissed(Option<NamedEntity>),
    Kick {
        player: Option<NamedEntity>,
        scored: bool,
    },
    /// Whether what was decided on the field stands; absent if unknown.
    Review {
        player: Option<NamedEntity>,
        stands: Option<bool>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalType {
    Regular,
    Penalty,
    OwnGoal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Card {
    Yellow,
    SecondYellow,
    Red,
}

/// Which list an element stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Goal,
    Card,
    Substitute,
    MissedPen,
    PenaltyShot,
    Var,
}

impl List {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "goal" => Self::Goal,
            "card" => Self::Card,
            "substitute" => Self::Substitute,
            "missedPen" => Self::MissedPen,
            "penaltyShot" => Self::PenaltyShot,
            "VAR" => Self::Var,
            _ => return None,
        })
    }
}

impl Moment {
    pub(super) fn parse(list: List, text: &str) -> Result<Self> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| json_error(&error))?;
        let (period, since_start_us) = raw.moment(list)?;
        Ok(Self {
            period,
            since_start_us,
            at: raw.timestamp.as_deref().and_then(time::instant),
            kind: raw.kind(list)?,
            contestant: raw.contestant_id.ok_or_else(|| value("element without a team"))?,
            event_id: raw.opta_event_id,
        })
    }
}

json::lenient! {
    #[serde(rename_all = "camelCase")]
    struct Raw {
        contestant_id: Option<Arc<str>> as "json::key",
        period_id: Option<u64> as "json::whole",
        time_min: Option<u64> as "json::whole",
        time_min_sec: Option<String> as "json::known_value",
        timestamp: Option<String> as "json::known_value",
        #[serde(rename = "type")]
        kind: Option<String> as "json::known_value",
        outcome: Option<String> as "json::known_value",
        decision: Option<String> as "json::known_value",
        opta_event_id: Option<Arc<str>> as "json::key",
        scorer_id: Option<Arc<str>> as "json::key",
        scorer_name: Option<Arc<str>> as "json::key",
        assist_player_id: Option<Arc<str>> as "json::key",
        assist_player_name: Option<Arc<str>> as "json::key",
        player_id: Option<Arc<str>> as "json::key",
        player_name: Option<Arc<str>> as "json::key",
        player_on_id: Option<Arc<str>> as "json::key",
        player_on_name: Option<Arc<str>> as "json::key",
        player_off_id: Option<Arc<str>> as "json::key",
        player_off_name: Option<Arc<str>> as "json::key",
        home_score: Option<u64> as "json::whole",
        away_score: Option<u64> as "json::whole",
    }
}

impl Raw {
    /// By the match clock; by the minute shown, which is the one in progress, where that is all. Without a period, only where no
    /// other period can have the minute.
    fn moment(&self, list: List) -> Result<(Period, Micros)> {
        if list == List::PenaltyShot {
            return Ok((Period::Shootout, 0));
        }
        let clock = self.time_min_sec.as_deref().and_then(time::clock);
        let second = clock.map(|clock_us| (clock_us / 1_000_000) as u64);
        let minute = second.map_or(self.time_min, |second| Some(second / 60 + 1));
        let minute = minute.and_then(|minute| u16::try_from(minute).ok());
        let minute = minute.ok_or_else(|| value("element without a minute"))?;
        let period = self.period_id.and_then(|number| period(number, minute));
        let period = period.or_else(|| period_of_minute(minute));
        let period = period.ok_or_else(|| value(format!("minute {minute} without its period")))?;
        match second {
            Some(second) => Ok((period, since_start_us(second, period)?)),
            None => Ok(football::moment_of_minute(minute, period)),
        }
    }

    fn kind(&self, list: List) -> Result<MomentKind> {
        let player = named(self.player_id.as_ref(), self.player_name.as_ref());
        let scorer = named(self.scorer_id.as_ref(), self.scorer_name.as_ref());
        Ok(match list {
            List::Goal => MomentKind::Goal {
                kind: self.goal_type()?,
                scorer: scorer.or(player),
                assist: named(self.assist_player_id.as_ref(), self.assist_player_name.as_ref()),
                score: self.score(),
            },
            List::Card => MomentKind::Card { card: self.card()?, player },
            List::Substitute => MomentKind::Substitution {
                off: named(self.player_off_id.as_ref(), self.player_off_name.as_ref()),
                on: named(self.player_on_id.as_ref(), self.player_on_name.as_ref()),
            },
            List::MissedPen => MomentKind::PenaltyMissed(player.or(scorer)),
            List::PenaltyShot => {
                MomentKind::Kick { player: player.or(scorer), scored: self.is_scored()? }
            }
            List::Var => MomentKind::Review { player, stands: self.stands() },
        })
    }

    fn card(&self) -> Result<Card> {
        Ok(match self.kind.as_deref() {
            Some("YC") => Card::Yellow,
            Some("Y2C") => Card::SecondYellow,
            Some("RC") => Card::Red,
            other => {
                return Err(value(format!("unknown card {}", other.unwrap_or("without type"))));
            }
        })
    }

    /// A goal of another type is a regular one if the score after it says whose it is.
    fn goal_type(&self) -> Result<GoalType> {
        match self.kind.as_deref() {
            Some("PG") => Ok(GoalType::Penalty),
            Some("OG") => Ok(GoalType::OwnGoal),
            Some("G") => Ok(GoalType::Regular),
            _ if self.score().is_some() => Ok(GoalType::Regular),
            other => Err(value(format!("unknown goal {}", other.unwrap_or("without type")))),
        }
    }

    fn is_scored(&self) -> Result<bool> {
        match self.outcome.as_deref() {
            Some(outcome) => Ok(outcome.eq_ignore_ascii_case("scored")),
            None => Err(value("kick without an outcome")),
        }
    }

    fn score(&self) -> Option<Pair<u16>> {
        let small = |score: Option<u64>| u16::try_from(score?).ok();
        Some([small(self.home_score)?, small(self.away_score)?])
    }

    fn stands(&self) -> Option<bool> {
        if says(&self.decision, "confirmed") {
            Some(true)
        } else {
            (says(&self.decision, "cancelled") || says(&self.decision, "overturned"))
                .then_some(false)
        }
    }
}

/// A period by its number; a break belongs to the one before it, and so does what follows the match.
fn period(number: u64, minute: u16) -> Option<Period> {
    match number {
        10 => Some(Period::FirstHalf),
        11 => Some(Period::SecondHalf),
        12 => Some(Period::ExtraFirst),
        13 => Some(Period::ExtraSecond),
        14 if minute >= Period::ExtraSecond.last_minute() => Some(Period::ExtraSecond),
        14 => Some(Period::SecondHalf),
        number => Period::numbered(number),
    }
}

/// The only period that has a minute: those after 45 and 90 may be added time, too.
fn period_of_minute(minute: u16) -> Option<Period> {
    match minute {
        0..=45 => Some(Period::FirstHalf),
        61..=90 => Some(Period::SecondHalf),
        _ => None,
    }
}

fn says(value: &Option<String>, what: &str) -> bool {
    value.as_ref().is_some_and(|value| value.eq_ignore_ascii_case(what))
}

fn named(id: Option<&Arc<str>>, name: Option<&Arc<str>>) -> Option<NamedEntity> {
    Some(NamedEntity { id: id?.clone(), name: name?.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_that_is_not_stated_is_not_guessed() {
        let read = |list, moment: &str| {
            let text = format!(r#"{{"contestantId":"h","periodId":2,"timeMin":60{moment}}}"#);
            Moment::parse(list, &text).map(|moment| moment.kind).map_err(|error| error.reason)
        };
        let goal = |kind, score| MomentKind::Goal { kind, scorer: None, assist: None, score };
        let kick = |scored| MomentKind::Kick { player: None, scored };
        let (goals, kicks) = (List::Goal, List::PenaltyShot);
        for (list, moment, expected) in [
            (goals, r#","type":"G""#, Ok(goal(GoalType::Regular, None))),
            (goals, r#","type":"OG""#, Ok(goal(GoalType::OwnGoal, None))),
            (goals, r#","homeScore":"1","awayScore":0"#, Ok(goal(GoalType::Regular, Some([1, 0])))),
            (goals, "", Err("unknown goal without type")),
            (goals, r#","type":"XG""#, Err("unknown goal XG")),
            (kicks, r#","outcome":"Scored""#, Ok(kick(true))),
            (kicks, r#","outcome":"saved""#, Ok(kick(false))),
            (kicks, "", Err("kick without an outcome")),
        ] {
            assert_eq!(read(list, moment), expected.map_err(ToOwned::to_owned), "{moment}");
        }
    }

    #[test]
    fn period_that_is_not_stated_is_not_guessed() {
        let read = |moment: &str| {
            let text = format!(r#"{{"contestantId":"h","type":"YC",{moment}}}"#);
            let read = Moment::parse(List::Card, &text);
            read.map(|moment| (moment.period, moment.since_start_us / 60_000_000))
                .map_err(|error| error.reason)
        };
        for (moment, expected) in [
            (r#""timeMin":20"#, Ok((Period::FirstHalf, 19))),
            (r#""timeMinSec":"68:18""#, Ok((Period::SecondHalf, 23))),
            (r#""timeMin":48,"periodId":1"#, Ok((Period::FirstHalf, 47))),
            (r#""timeMin":93,"periodId":"2""#, Ok((Period::SecondHalf, 47))),
            (r#""timeMin":95,"periodId":14"#, Ok((Period::SecondHalf, 49))),
            (r#""timeMin":46,"periodId":10"#, Ok((Period::FirstHalf, 45))),
            (r#""timeMin":48"#, Err("minute 48 without its period")),
            (r#""timeMinSec":"92:40""#, Err("minute 93 without its period")),
            (r#""periodId":2"#, Err("element without a minute")),
        ] {
            assert_eq!(read(moment), expected.map_err(ToOwned::to_owned), "{moment}");
        }
    }
}
