//! A message, put together element by element.

use rust_decimal::Decimal;

use super::{
    Element,
    description::{self, MarketDescription},
    fixture::UofFixture,
    status::Status,
    value::{exact, id, is_true, number, value},
};
use crate::error::{DecodeError, RefusalKind, Result};

/// What a root says, and what its elements say.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub kind: Kind,
    /// The producer: 1 live odds, 3 prematch odds, and others.
    pub product: Option<u32>,
    /// `sr:match:1`. A document of fixtures names its events itself.
    pub event: Option<String>,
    pub timestamp_ms: Option<i64>,
    /// Of a bet stop: `all`, or `corners|cards`.
    pub groups: Option<String>,
    pub markets: Vec<Market>,
    pub status: Option<Status>,
    pub fixtures: Vec<UofFixture>,
    pub descriptions: Vec<MarketDescription>,
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
    /// Descriptions of markets.
    Descriptions,
    Alive {
        subscribed: bool,
    },
    SnapshotComplete {
        request_id: u64,
    },
    /// A producer is out of order.
    ProductDown,
}

/// A time range in milliseconds; an end that is absent is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub from_ms: Option<i64>,
    pub to_ms: Option<i64>,
}

impl Range {
    /// All bets of the market, whenever they were made.
    pub const WHOLE: Self = Self { from_ms: None, to_ms: None };
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Market {
    pub id: String,
    /// `total=2.5|...`, sorted: their order means nothing.
    pub specifiers: String,
    pub status: Option<i32>,
    pub outcomes: Vec<UofOutcome>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct UofOutcome {
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

/// Elements of one message that are kept: one with all lines of a match has some 2,000 outcomes,
/// a document of fixtures some thousand events.
pub(super) const ITEMS_MAX: usize = 100_000;

pub(super) type Notices = Vec<DecodeError>;

impl Market {
    /// Identifies it among the markets of its event.
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
    pub(super) fn of_root(root: &Element, notices: &mut Notices) -> Result<Self> {
        let kind = kind(root, notices)?;
        let event = root.get("event_id").filter(|id| !id.is_empty()).map(str::to_owned);
        let needs_event = !matches!(
            kind,
            Kind::Alive { .. }
                | Kind::SnapshotComplete { .. }
                | Kind::ProductDown
                | Kind::Fixtures
                | Kind::Descriptions
        );
        if needs_event && event.is_none() {
            return Err(value(format!("{} names no event", root.name)));
        }
        Ok(Self {
            kind,
            product: number(root, "product", notices),
            event,
            timestamp_ms: number(root, "timestamp", notices),
            groups: root.get("groups").map(str::to_owned),
            markets: Vec::new(),
            status: None,
            fixtures: Vec::new(),
            descriptions: Vec::new(),
            notices: Vec::new(),
        })
    }

    pub(super) fn element(&mut self, path: &[String], element: &Element, notices: &mut Notices) {
        let parent = path.last().map_or("", String::as_str);
        match (parent, element.name.as_str(), self.kind) {
            (_, _, Kind::Fixtures) => self.fixture(path, parent, element, notices),
            (_, _, Kind::Descriptions) => {
                description::read(&mut self.descriptions, parent, element, notices);
            }
            (_, "market", _) => self.market(element, notices),
            ("market", "outcome", _) => self.outcome(element, notices),
            (_, "sport_event_status", Kind::OddsChange) => {
                self.status = Some(Status::from_element(element, notices));
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
        market.outcomes.push(UofOutcome {
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
                self.fixtures.push(UofFixture::from_element(event, element, notices));
            }
            return;
        }
        let inside = path.iter().any(|name| matches!(name.as_str(), "fixture" | "sport_event"));
        if let Some(fixture) = self.fixtures.last_mut().filter(|_| inside) {
            fixture.element(parent, element, notices);
        }
    }
}

fn unused(what: &str) -> DecodeError {
    DecodeError::new(RefusalKind::Unknown, format!("{what} no use here"))
}

fn kind(root: &Element, notices: &mut Notices) -> Result<Kind> {
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
        "match_timeline" => {
            notices.push(unused("the events of match_timeline have"));
            Kind::Fixtures
        }
        "product_down" => Kind::ProductDown,
        "cashout" => return Err(unused("cashout, with probabilities, has")),
        "market_descriptions" => Kind::Descriptions,
        "alive" => Kind::Alive { subscribed: root.get("subscribed").is_none_or(is_true) },
        "snapshot_complete" => Kind::SnapshotComplete {
            request_id: number(root, "request_id", notices).unwrap_or_default(),
        },
        other => return Err(value(format!("{other} is no message of the feed"))),
    })
}
