//! A message, put together element by element.

use std::str::FromStr;

use jiff::Timestamp;
use rust_decimal::Decimal;

use super::{Element, NOTICES_MAX};
use crate::{
    decode::decimal,
    error::{DecodeError, RefusalKind},
    event::Micros,
};

/// What a root says, and what its elements say.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub kind: Kind,
    /// The producer: 1 live odds, 3 prematch odds, and others.
    pub product: Option<u32>,
    /// `sr:match:1`. A document of fixtures names its events itself.
    pub event: Option<String>,
    pub timestamp_ms: Option<i64>,
    pub markets: Vec<Market>,
    pub status: Option<Status>,
    pub fixtures: Vec<Fixture>,
    /// What in it could not be used.
    pub notices: Vec<DecodeError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    OddsChange,
    /// All markets of the groups get this status: suspended where it is absent.
    BetStop {
        market_status: Option<i32>,
    },
    /// Certainty 1 is by live scouting, 2 is confirmed.
    BetSettlement,
    /// Bets made in this time are void.
    BetCancel(Range),
    RollbackBetSettlement,
    RollbackBetCancel(Range),
    FixtureChange {
        start_ms: Option<i64>,
    },
    Fixtures,
    Alive {
        subscribed: bool,
    },
    SnapshotComplete {
        request_id: u64,
    },
}

/// A time range in milliseconds; an end that is absent is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub from_ms: Option<i64>,
    pub to_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Market {
    pub id: String,
    /// `total=2.5|...`, sorted: their order means nothing.
    pub specifiers: String,
    pub status: Option<i32>,
    pub outcomes: Vec<Outcome>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    pub id: String,
    pub odds: Option<Decimal>,
    pub active: Option<bool>,
    /// 1 won, 0 lost, -1 not decided.
    pub result: Option<i32>,
    /// The part of the stake that is returned: 0.5 or 1.
    pub void_factor: Option<Decimal>,
    /// The part of the stake that won in a dead heat.
    pub dead_heat_factor: Option<Decimal>,
}

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
    pub clock: Option<Clock>,
    pub periods: Vec<PeriodScore>,
    pub statistics: bool,
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fixture {
    pub event: String,
    pub start: Option<Micros>,
    /// `sr:sport:1`.
    pub sport: Option<String>,
    /// Id and name.
    pub tournament: Option<(String, String)>,
    /// `18/19`, or else its name.
    pub season: Option<String>,
    pub competitors: Vec<Competitor>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Competitor {
    pub id: String,
    pub name: String,
    pub away: bool,
}

/// Elements of one message that are kept: one with all lines of a match has some 2,000 outcomes,
/// a document of fixtures some thousand events.
const ITEMS_MAX: usize = 100_000;

type Notices = Vec<DecodeError>;

impl Market {
    /// What tells it apart from the other markets of its event.
    #[must_use]
    pub fn key(&self) -> String {
        match self.specifiers.as_str() {
            "" => self.id.clone(),
            specifiers => format!("{}/{specifiers}", self.id),
        }
    }

    #[must_use]
    pub fn specifier(&self, name: &str) -> Option<&str> {
        let mut pairs = self.specifiers.split('|').filter_map(|it| it.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

impl Message {
    pub(super) fn of_root(root: &Element, notices: &mut Notices) -> Result<Self, DecodeError> {
        let kind = kind(root, notices)?;
        let event = root.get("event_id").filter(|id| !id.is_empty()).map(str::to_owned);
        let needs_event =
            !matches!(kind, Kind::Alive { .. } | Kind::SnapshotComplete { .. } | Kind::Fixtures);
        if needs_event && event.is_none() {
            return Err(value(format!("{} names no event", root.name)));
        }
        Ok(Self {
            kind,
            product: number(root, "product", notices),
            event,
            timestamp_ms: number(root, "timestamp", notices),
            markets: Vec::new(),
            status: None,
            fixtures: Vec::new(),
            notices: Vec::new(),
        })
    }

    pub(super) fn element(&mut self, path: &[String], element: &Element, notices: &mut Notices) {
        let parent = path.last().map_or("", String::as_str);
        match (parent, element.name.as_str(), self.kind) {
            (_, _, Kind::Fixtures) => self.fixture(path, parent, element, notices),
            (_, "market", _) => self.market(element, notices),
            ("market", "outcome", _) => self.outcome(element, notices),
            (_, "sport_event_status", Kind::OddsChange) => {
                self.status = Some(status(element, notices));
            }
            _ => {
                if let Some(status) = &mut self.status {
                    status.element(parent, element, notices);
                }
            }
        }
    }

    /// Forgets what was open when the message was cut.
    pub(super) fn cut(&mut self, open: &[String]) {
        if open.iter().any(|name| name == "market") {
            self.markets.pop();
        }
    }

    fn market(&mut self, element: &Element, notices: &mut Notices) {
        let Some(id) = id(element, notices) else { return };
        if self.markets.len() >= ITEMS_MAX {
            return;
        }
        let mut specifiers: Vec<_> = element.get("specifiers").unwrap_or("").split('|').collect();
        specifiers.sort_unstable();
        self.markets.push(Market {
            id,
            specifiers: specifiers.join("|"),
            status: number(element, "status", notices),
            outcomes: Vec::new(),
        });
    }

    fn outcome(&mut self, element: &Element, notices: &mut Notices) {
        let Some(market) = self.markets.last_mut() else { return };
        let Some(id) = id(element, notices) else { return };
        if market.outcomes.len() >= ITEMS_MAX {
            return;
        }
        market.outcomes.push(Outcome {
            id,
            odds: exact(element, "odds", notices),
            active: element.get("active").map(is_true),
            result: number(element, "result", notices),
            void_factor: exact(element, "void_factor", notices),
            dead_heat_factor: exact(element, "dead_heat_factor", notices),
        });
    }

    fn fixture(&mut self, path: &[String], parent: &str, element: &Element, notices: &mut Notices) {
        if matches!(element.name.as_str(), "fixture" | "sport_event") {
            if let Some(event) = id(element, notices).filter(|_| self.fixtures.len() < ITEMS_MAX) {
                let start = ["start_time", "scheduled"];
                let start = start.iter().find_map(|name| moment(element, name, notices));
                self.fixtures.push(Fixture { event, start, ..Fixture::default() });
            }
            return;
        }
        let inside = path.iter().any(|name| matches!(name.as_str(), "fixture" | "sport_event"));
        if let Some(fixture) = self.fixtures.last_mut().filter(|_| inside) {
            fixture.element(parent, element);
        }
    }
}

impl Fixture {
    fn element(&mut self, parent: &str, element: &Element) {
        let text = |name: &str| element.get(name).unwrap_or_default().to_owned();
        match (parent, element.name.as_str()) {
            (_, "season") => {
                let year = element.get("year").or_else(|| element.get("name"));
                self.season = year.map(str::to_owned);
            }
            ("fixture" | "sport_event", "tournament") => {
                self.tournament = Some((text("id"), text("name")));
            }
            ("tournament", "sport") => self.sport = Some(text("id")),
            ("competitors", "competitor") if self.competitors.len() < ITEMS_MAX => {
                let away = element.get("qualifier") == Some("away");
                let (id, name) = (text("id"), text("name"));
                self.competitors.push(Competitor { id, name, away });
            }
            _ => {}
        }
    }
}

impl Status {
    fn element(&mut self, parent: &str, element: &Element, notices: &mut Notices) {
        match (parent, element.name.as_str()) {
            ("sport_event_status", "clock") => self.clock = Some(clock(element, notices)),
            ("sport_event_status", "statistics") => self.statistics = true,
            ("period_scores", "period_score") if self.periods.len() < 64 => {
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

fn kind(root: &Element, notices: &mut Notices) -> Result<Kind, DecodeError> {
    let range = |notices: &mut Notices| Range {
        from_ms: number(root, "start_time", notices),
        to_ms: number(root, "end_time", notices),
    };
    Ok(match root.name.as_str() {
        "odds_change" => Kind::OddsChange,
        "bet_stop" => Kind::BetStop { market_status: number(root, "market_status", notices) },
        "bet_settlement" => Kind::BetSettlement,
        "bet_cancel" => Kind::BetCancel(range(notices)),
        "rollback_bet_settlement" => Kind::RollbackBetSettlement,
        "rollback_bet_cancel" => Kind::RollbackBetCancel(range(notices)),
        "fixture_change" => Kind::FixtureChange { start_ms: number(root, "start_time", notices) },
        "fixtures_fixture" | "schedule" | "match_summary" => Kind::Fixtures,
        "alive" => Kind::Alive { subscribed: root.get("subscribed").is_none_or(is_true) },
        "snapshot_complete" => Kind::SnapshotComplete {
            request_id: number(root, "request_id", notices).unwrap_or_default(),
        },
        other => return Err(value(format!("{other} is no message of the feed"))),
    })
}

fn status(element: &Element, notices: &mut Notices) -> Status {
    let both = |names, notices: &mut Notices| pair(element, names, notices);
    Status {
        status: number(element, "status", notices),
        match_status: number(element, "match_status", notices),
        score: both(["home_score", "away_score"], notices),
        penalties: both(["home_penalty_score", "away_penalty_score"], notices),
        game: both(["home_gamescore", "away_gamescore"], notices),
        tie_break: element.get("tiebreak").is_some_and(is_true),
        server: number(element, "current_server", notices),
        ..Status::default()
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

fn id(element: &Element, notices: &mut Notices) -> Option<String> {
    let id = element.get("id").filter(|id| !id.is_empty());
    if id.is_none() && notices.len() < NOTICES_MAX {
        let article = if element.name.starts_with('o') { "an" } else { "a" };
        notices.push(value(format!("{article} {} has no id", element.name)));
    }
    id.map(str::to_owned)
}

fn number<T: FromStr>(element: &Element, name: &str, notices: &mut Notices) -> Option<T> {
    let text = element.get(name).map(str::trim).filter(|text| !text.is_empty())?;
    let number = text.parse().ok();
    if number.is_none() {
        notice(element, name, text, "no number", notices);
    }
    number
}

fn exact(element: &Element, name: &str, notices: &mut Notices) -> Option<Decimal> {
    let text = element.get(name).map(str::trim).filter(|text| !text.is_empty())?;
    let number = decimal::exact(text);
    if number.is_none() {
        notice(element, name, text, "no number", notices);
    }
    number
}

/// Scores of both sides. Some products write them `2.0`.
fn pair(element: &Element, names: [&str; 2], notices: &mut Notices) -> [Option<u32>; 2] {
    names.map(|name| {
        let number = exact(element, name, notices).filter(Decimal::is_integer)?;
        u32::try_from(number).ok()
    })
}

/// ISO 8601 with its zone.
fn moment(element: &Element, name: &str, notices: &mut Notices) -> Option<Micros> {
    let text = element.get(name)?;
    let time = text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond);
    if time.is_none() {
        notice(element, name, text, "no time", notices);
    }
    time
}

fn is_true(text: &str) -> bool {
    matches!(text, "1" | "true")
}

fn notice(element: &Element, name: &str, text: &str, what: &str, notices: &mut Notices) {
    if notices.len() < NOTICES_MAX {
        let text: String = text.chars().take(40).collect();
        notices.push(value(format!("{name} {text:?} of {} is {what}", element.name)));
    }
}

fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}
