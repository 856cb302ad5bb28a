//! The Signals API, `/signals/api/`: signals from odds and play. docs/SIGNALS.md documents the shapes and the
//! formulas.

use facts::event::{Outcome, Sport};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Api, ApiError, ApiRequest, ApiResult, CacheControl, Number, Page, Spec, time};
use crate::clock::now;
use accounts::Caller;
use record::{
    EntityRef, Key,
    signal::{Finding, Leg, SignalKind, SignalRecord},
};

/// A signal, from its begin to its end.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SignalRow {
    id: Key,
    /// `arbitrage`, `price_gap`, `value`, `steam`, `suspended`, `momentum`.
    kind: &'static str,
    sport: &'static str,
    /// The match: the same id as in the other interfaces and on the channels.
    event_id: Key,
    home: Option<Side>,
    away: Option<Side>,
    /// The kind of market as on the stream; absent of what is no market's.
    market: Option<String>,
    /// A part of the match: `1h`.
    period: Option<String>,
    line: Option<Number>,
    outcome: Option<&'static str>,
    /// `null` without the Odds add-on, and for what is no single bookmaker's.
    bookmaker_slug: Option<String>,
    /// 0 to 100.
    strength: u8,
    /// Whether it is so now.
    active: bool,
    began_at: Option<String>,
    updated_at: Option<String>,
    ended_at: Option<String>,
    details: Details,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Side {
    id: Key,
    name: String,
}

/// The numbers of a signal, by its kind. Shares are fractions of 1.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Details {
    #[schema(title = "ArbitrageDetails")]
    Arbitrage {
        /// What is won of all that is staked, whatever comes true, after commission.
        profit: Number,
        legs: Vec<Bet>,
    },
    #[schema(title = "PriceGapDetails")]
    PriceGap {
        /// The prices and whose the second one is: `null` without the Odds add-on.
        decimal_odds: Option<Number>,
        next_decimal_odds: Option<Number>,
        next_bookmaker_slug: Option<String>,
        /// What each of the two takes of what a bet wins: `null` without the Odds add-on.
        commission: Option<Number>,
        next_commission: Option<Number>,
        /// After commission.
        gap: Number,
    },
    #[schema(title = "ValueDetails")]
    Value {
        /// `null` without the Odds add-on.
        decimal_odds: Option<Number>,
        commission: Option<Number>,
        fair_decimal_odds: Number,
        fair_probability: Number,
        value: Number,
        bookmakers_count: u32,
    },
    #[schema(title = "SteamDetails")]
    Steam {
        /// `shortening` or `drifting`.
        direction: &'static str,
        /// The mean change of the prices.
        change: Number,
        /// `null` without the Odds add-on.
        bookmakers: Option<Vec<String>>,
        bookmakers_count: u32,
    },
    #[schema(title = "SuspendedDetails")]
    Suspended { open_bookmakers: u32, suspended_bookmakers: u32 },
    #[schema(title = "MomentumDetails")]
    Momentum {
        /// `home` or `away`; in tennis `player1` or `player2`.
        side: &'static str,
        share: Number,
    },
}

/// One bet of an arbitrage; the stakes of all of them add up to 1.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Bet {
    outcome: &'static str,
    /// The bookmaker, its price, its commission and the stake: `null` without the Odds add-on.
    bookmaker_slug: Option<String>,
    decimal_odds: Option<Number>,
    /// What the bookmaker takes of what the bet wins, as a fraction.
    commission: Option<Number>,
    stake: Option<Number>,
}

/// What kinds of signal there are.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Kinds {
    count: usize,
    kinds: Vec<KindRow>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct KindRow {
    kind: &'static str,
    /// How many are so now.
    active: usize,
}

params! {
    struct SignalParams {
        active: Flag = "`true`: active signals; `false`: ended ones",
        date_from: Begin = "Started on or after this day (2026-08-30) or timestamp",
        date_to: End = "Started on or before this day or timestamp",
        event_id: Ids = "One or more",
        kind: SignalWord = "arbitrage, price_gap, value, steam, suspended or momentum",
        min_strength: Percentage = "0 to 100",
        sport: SportName = "A sport. The OpenAPI document lists them",
    }
}

const NONE: Spec = Spec::new(&[]);

endpoints! {
    /// Signals, the newest first.
    "/signals/api/", params(Spec::new(&[SignalParams::PARAMS]).paged()), answers(Page<SignalRow>), |request| list(&request);

    /// The number of active signals of each kind.
    "/signals/api/kinds/", params(NONE), answers(Kinds), |request| kinds(&request);

    /// One signal, for as long as it is remembered.
    "/signals/api/{id}/", params(NONE), answers(SignalRow), |request| detail(&request);
}

fn list(request: &ApiRequest) -> ApiResult {
    let filter = SignalParams::read(&request.params)?;
    let found = request.api.signals.find(|record| filter.lets_through(record));
    let view = View::new(&request.api, request.caller()?);
    request.page_of(CacheControl::LIVE, &found, |record| row(record, view))
}

fn kinds(request: &ApiRequest) -> ApiResult {
    let active = request.api.signals.find(|record| record.ended.is_none());
    let count = |kind| active.iter().filter(|it| it.signal.topic.kind == kind).count();
    let kinds = SignalKind::ALL.map(|kind| KindRow { kind: kind.as_str(), active: count(kind) });
    request.answer(CacheControl::LIVE, &Kinds { count: kinds.len(), kinds: kinds.into() })
}

fn detail(request: &ApiRequest) -> ApiResult {
    let record = request.api.signals.get(request.id()?).ok_or(ApiError::NotFound)?;
    request.answer(CacheControl::LIVE, &row(&record, View::new(&request.api, request.caller()?)))
}

impl SignalParams {
    fn lets_through(&self, record: &SignalRecord) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, value: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == value)
        }
        is(self.active.as_ref(), &record.ended.is_none())
            && self.event_id.passes(Some(record.match_id))
            && is(self.kind.as_ref(), &record.signal.topic.kind)
            && is(self.sport.as_ref(), &record.sport)
            && self.date_from.is_none_or(|from| record.began >= from)
            && self.date_to.is_none_or(|before| record.began < before)
            && self.min_strength.is_none_or(|least| record.signal.strength >= least)
    }
}

/// What the reader may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// Bookmakers by name, and their prices.
    Whole,
    /// A free account: the signal itself, without what the Odds add-on sells.
    Free,
}

impl View {
    fn new(api: &Api, caller: &Caller) -> Self {
        if api.check_bookmakers(caller, now()).is_ok() { Self::Whole } else { Self::Free }
    }

    /// A value that only some readers may see.
    fn sold<T>(self, value: T) -> Option<T> {
        (self == Self::Whole).then_some(value)
    }
}

fn row(record: &SignalRecord, view: View) -> SignalRow {
    let SignalRecord { id, match_id, sport, sides, began, updated, ended, signal } = record;
    let topic = &signal.topic;
    let market = topic.market.as_ref();
    let side = |index: usize| {
        let EntityRef { id, name } = sides.as_ref()?.get(index)?;
        Some(Side { id: *id, name: name.to_string() })
    };
    SignalRow {
        id: *id,
        kind: topic.kind.as_str(),
        sport: sport.as_str(),
        event_id: *match_id,
        home: side(0),
        away: side(1),
        market: market.map(|market| market.kind.to_string()),
        period: market.and_then(|market| market.period.as_ref()).map(ToString::to_string),
        line: market.and_then(|market| market.line).map(Number),
        outcome: topic.outcome.map(Outcome::as_str),
        bookmaker_slug: view.sold(topic.bookmaker.as_ref()).flatten().map(ToString::to_string),
        strength: signal.strength,
        active: ended.is_none(),
        began_at: time::zulu(*began),
        updated_at: time::zulu(*updated),
        ended_at: ended.and_then(time::zulu),
        details: details(*sport, &signal.finding, view),
    }
}

fn details(sport: Sport, finding: &Finding, view: View) -> Details {
    match finding {
        Finding::Arbitrage { profit, legs } => {
            let legs = legs.iter().map(|leg| bet(leg, view)).collect();
            Details::Arbitrage { profit: Number(*profit), legs }
        }
        Finding::PriceGap { price, next, next_bookmaker, gap, commission, next_commission } => {
            Details::PriceGap {
                decimal_odds: view.sold(Number(*price)),
                next_decimal_odds: view.sold(Number(*next)),
                next_bookmaker_slug: view.sold(next_bookmaker.to_string()),
                commission: view.sold(Number(*commission)),
                next_commission: view.sold(Number(*next_commission)),
                gap: Number(*gap),
            }
        }
        Finding::Value { price, fair_price, probability, value, commission, bookmakers } => {
            Details::Value {
                decimal_odds: view.sold(Number(*price)),
                commission: view.sold(Number(*commission)),
                fair_decimal_odds: Number(*fair_price),
                fair_probability: Number(*probability),
                value: Number(*value),
                bookmakers_count: *bookmakers,
            }
        }
        Finding::Steam { direction, bookmakers, change } => Details::Steam {
            direction: direction.as_str(),
            change: Number(*change),
            bookmakers: view.sold(bookmakers.iter().map(ToString::to_string).collect()),
            bookmakers_count: u32::try_from(bookmakers.len()).unwrap_or(u32::MAX),
        },
        Finding::Suspended { open, suspended } => {
            Details::Suspended { open_bookmakers: *open, suspended_bookmakers: *suspended }
        }
        Finding::Momentum { side, share } => {
            let names =
                if sport.is_of_players() { ["player1", "player2"] } else { ["home", "away"] };
            Details::Momentum { side: names[usize::from(*side > 0)], share: Number(*share) }
        }
    }
}

fn bet(Leg { outcome, bookmaker, price, commission, stake }: &Leg, view: View) -> Bet {
    Bet {
        outcome: outcome.as_str(),
        bookmaker_slug: view.sold(bookmaker.to_string()),
        decimal_odds: view.sold(Number(*price)),
        commission: view.sold(Number(*commission)),
        stake: view.sold(Number(*stake)),
    }
}
