//! The `sport_event_status` of a message.

use super::{
    Element,
    message::Notices,
    value::{is_true, notice, number, pair},
};

/// Periods that are read: no sport has so many.
const PERIODS_MAX: usize = 64;

/// How an event stands. Scores are those of the sport: goals, points, sets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// 0 not started, 1 live, 2 suspended, 3 ended, 4 closed, 5 cancelled, 6 delayed, 7 interrupted,
    /// 8 postponed, 9 no longer scouted.
    pub status: Option<i32>,
    /// The phase by the feed's own list.
    pub match_status: Option<i32>,
    pub score: [Option<u32>; 2],
    pub penalties: [Option<u32>; 2],
    /// The points of the game in tennis: 0, 15, 30, 40, 50 for advantage.
    pub game: [Option<u32>; 2],
    pub tie_break: bool,
    /// 1 or 2.
    pub server: Option<u32>,
    /// The id of a competitor: `sr:competitor:1`.
    pub winner: Option<String>,
    pub clock: Option<Clock>,
    pub periods: Vec<PeriodScore>,
    pub yellow_cards: [Option<u32>; 2],
    pub yellow_red_cards: [Option<u32>; 2],
    pub red_cards: [Option<u32>; 2],
    pub corners: [Option<u32>; 2],
}

/// Seconds, as the feed shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    pub played_s: Option<u32>,
    /// Of the stoppage time; it is not part of what is played.
    pub stoppage_s: Option<u32>,
    pub remaining_s: Option<u32>,
    pub remaining_in_period_s: Option<u32>,
    pub stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PeriodScore {
    /// The phase by the feed's list, as in [`Status::match_status`].
    pub code: Option<i32>,
    pub number: Option<u32>,
    pub score: [Option<u32>; 2],
}

impl Status {
    pub(super) fn from_element(element: &Element, notices: &mut Notices) -> Self {
        let both = |names, notices: &mut Notices| pair(element, names, notices);
        Self {
            status: number(element, "status", notices),
            match_status: number(element, "match_status", notices),
            score: both(["home_score", "away_score"], notices),
            penalties: both(["home_penalty_score", "away_penalty_score"], notices),
            game: both(["home_gamescore", "away_gamescore"], notices),
            tie_break: element.get("tiebreak").is_some_and(is_true),
            server: number(element, "current_server", notices),
            winner: element.get("winner_id").map(Into::into),
            ..Self::default()
        }
    }

    pub(super) fn element(&mut self, parent: &str, element: &Element, notices: &mut Notices) {
        match (parent, element.name.as_str()) {
            ("sport_event_status", "clock") => self.clock = Some(clock(element, notices)),
            ("period_scores", "period_score") if self.periods.len() < PERIODS_MAX => {
                self.periods.push(PeriodScore {
                    code: number(element, "match_status_code", notices),
                    number: number(element, "number", notices),
                    score: pair(element, ["home_score", "away_score"], notices),
                });
            }
            ("statistics", name) => {
                let counts = match name {
                    "yellow_cards" => &mut self.yellow_cards,
                    "yellow_red_cards" => &mut self.yellow_red_cards,
                    "red_cards" => &mut self.red_cards,
                    "corners" => &mut self.corners,
                    _ => return,
                };
                *counts = pair(element, ["home", "away"], notices);
            }
            _ => {}
        }
    }
}

fn clock(element: &Element, notices: &mut Notices) -> Clock {
    let seconds = |name: &str, notices: &mut Notices| {
        let text = element.get(name).filter(|text| !text.is_empty())?;
        let seconds = seconds(text);
        if seconds.is_none() {
            notice(element, name, text, "no clock", notices);
        }
        seconds
    };
    Clock {
        played_s: seconds("match_time", notices),
        stoppage_s: seconds("stoppage_time", notices),
        remaining_s: seconds("remaining_time", notices),
        remaining_in_period_s: seconds("remaining_time_in_period", notices),
        stopped: element.get("stopped").is_some_and(is_true),
    }
}

/// `75:02`: minutes, of which there may be more than sixty, and seconds.
fn seconds(text: &str) -> Option<u32> {
    let (minutes, seconds) = text.split_once(':')?;
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number < 10_000);
    Some(number(minutes)? * 60 + number(seconds).filter(|seconds| *seconds < 60)?)
}
