//! `odds` and `odds_book`: decimal odds as JSON numbers, with their own digits.
//!
//! A price that is not available is omitted: its outcome is `null`, and the frame gives the reason.

use facts::event::{MarketStatus, Outcome, SelectionStatus, Sport};
use fanout::Micros;
use rust_decimal::{Decimal, prelude::ToPrimitive};

use super::{frame, late, uts};
use base::time_format as time;

use crate::{
    document::{Node, Object},
    hub::{
        Header,
        feeds::FeedState,
        state::{Book, Match},
    },
};

/// The interval at which unchanged prices are sent again, in microseconds.
pub const EVERY_US: Micros = 30_000_000;

/// One price of one bookmaker, or of the consensus.
struct OutcomePrice<'a> {
    kind: &'a str,
    line: Option<Decimal>,
    outcome: Outcome,
    /// Absent while it is not available.
    price: Option<Decimal>,
    bookmakers: u32,
}

/// The consensus of all bookmakers: the median of the available prices, as in the REST API. No
/// prices while the feed of `header` is not live.
#[must_use]
pub fn consensus(state: &Match, header: Header) -> Object {
    let markets = state.consensus.markets.iter().filter(|(key, _)| key.period.is_none());
    let quotes = markets.filter_map(|(key, members)| Some((key, members.current.as_ref()?)));
    let quotes = quotes.flat_map(|(key, market)| {
        market.selections.iter().map(move |(outcome, price)| {
            let open = header.feed == FeedState::Live
                && market.status == MarketStatus::Open
                && price.status == SelectionStatus::Active;
            let offer = price.offer.as_ref().filter(|_| open);
            OutcomePrice {
                kind: &key.kind,
                line: key.line,
                outcome: *outcome,
                price: offer.map(|offer| offer.median),
                bookmakers: offer.map_or(0, |offer| offer.bookmakers),
            }
        })
    });
    table(quotes, state.sport)
}

/// The prices of one bookmaker. No prices while the feed of `header` is not live.
#[must_use]
pub fn of_book(book: &Book, header: Header, sport: Sport) -> Object {
    let markets = book.markets.iter().filter(|market| market.period.is_none());
    let quotes = markets.flat_map(|market| {
        let open = header.feed == FeedState::Live && book.status(market) == MarketStatus::Open;
        market.selections.iter().filter_map(move |selection| {
            let open = open && selection.status == SelectionStatus::Active;
            Some(OutcomePrice {
                kind: &market.kind,
                line: market.line,
                outcome: selection.outcome?,
                price: selection.price.filter(|_| open),
                bookmakers: 1,
            })
        })
    });
    table(quotes, sport)
}

fn table<'a>(quotes: impl Iterator<Item = OutcomePrice<'a>>, sport: Sport) -> Object {
    let mut out = Object::default();
    let mut handicaps: Vec<(Decimal, Object)> = Vec::new();
    for quote in quotes {
        if quote.kind == "asian_handicap" && sport == Sport::Football {
            handicap(&mut handicaps, &quote);
        } else if let Some((market, outcome)) = names(&quote, sport) {
            put(out.object(market), outcome, quote.price);
        }
    }
    let has = |row: &Object, side: &'static str| row.get(&side.into()) != Some(&Node::Null);
    handicaps.retain(|(_, row)| has(row, "home") && has(row, "away"));
    handicaps.sort_by_key(|(line, _)| *line);
    if !handicaps.is_empty() {
        let rows = handicaps.into_iter().map(|(_, row)| Node::Object(row));
        out.set("asian_handicap", Node::List(rows.collect()));
    }
    out
}

/// A bookmaker may have several markets of a kind: the first one with a price is used.
fn put(out: &mut Object, outcome: &'static str, price: Option<Decimal>) {
    if out.get(&outcome.into()).is_none_or(|it| *it == Node::Null) {
        out.set_or_null(outcome, price.map(Node::Number));
    }
}

/// The names of a market and an outcome in this dialect; `None` for those that it does not have.
fn names(quote: &OutcomePrice<'_>, sport: Sport) -> Option<(&'static str, &'static str)> {
    match (quote.kind, quote.outcome, sport) {
        ("match_winner", Outcome::Home, Sport::Football) => Some(("match_winner", "home")),
        ("match_winner", Outcome::Draw, Sport::Football) => Some(("match_winner", "draw")),
        ("match_winner", Outcome::Away, Sport::Football) => Some(("match_winner", "away")),
        ("match_winner", Outcome::Player1, Sport::Tennis) => Some(("match_winner", "player1")),
        ("match_winner", Outcome::Player2, Sport::Tennis) => Some(("match_winner", "player2")),
        ("both_teams_to_score", Outcome::Yes, _) => Some(("btts", "yes")),
        ("both_teams_to_score", Outcome::No, _) => Some(("btts", "no")),
        ("over_under", outcome, Sport::Football) => {
            let tenths = quote.line?.checked_mul(Decimal::TEN).filter(|it| it.fract().is_zero())?;
            let name = match (tenths.to_u32()?, outcome) {
                (15, Outcome::Over) => "over_15",
                (15, Outcome::Under) => "under_15",
                (25, Outcome::Over) => "over_25",
                (25, Outcome::Under) => "under_25",
                (35, Outcome::Over) => "over_35",
                (35, Outcome::Under) => "under_35",
                _ => return None,
            };
            Some(("over_under", name))
        }
        _ => None,
    }
}

/// A line gets a row while both of its sides are available.
fn handicap(rows: &mut Vec<(Decimal, Object)>, quote: &OutcomePrice<'_>) {
    let (Some(line), Some(price)) = (quote.line.map(|line| line.normalize()), quote.price) else {
        return;
    };
    let index = rows.iter().position(|(other, _)| *other == line).unwrap_or_else(|| {
        let mut row = Object::default();
        row.set("line", Node::Number(line));
        row.set("push", push(line));
        row.set("home", Node::Null);
        row.set("away", Node::Null);
        row.set("bookmaker_count", quote.bookmakers);
        rows.push((line, row));
        rows.len() - 1
    });
    let row = &mut rows[index].1;
    match quote.outcome {
        Outcome::Home => put(row, "home", Some(price)),
        Outcome::Away => put(row, "away", Some(price)),
        Outcome::Draw
        | Outcome::Player1
        | Outcome::Player2
        | Outcome::Over
        | Outcome::Under
        | Outcome::Yes
        | Outcome::No => {}
    }
}

/// The part of the stake that may be returned: none on a half line, half on a quarter line, all on
/// a whole line.
fn push(line: Decimal) -> &'static str {
    let quarters = line.checked_mul(Decimal::from(4)).and_then(|it| it.abs().to_u64());
    match quarters.map(|quarters| quarters % 4) {
        Some(0) => "full",
        Some(2) => "none",
        _ => "half",
    }
}

/// Why a frame with prices is sent, or why prices are held back.
#[must_use]
pub fn reason(header: Header, otherwise: &'static str) -> &'static str {
    late(header.feed)
        .or_else(|| (header.suspended == Some(true)).then_some("suspended"))
        .unwrap_or(otherwise)
}

/// The `odds` frame.
#[must_use]
pub fn odds_frame(state: &Match, odds: Object, reason: &'static str, now: Micros) -> Object {
    let mut out = frame("odds", state);
    out.set("odds", odds);
    out.set_or_null("updated_at", time::zulu(now));
    out.set_or_null("next_update_at", time::zulu(now + EVERY_US));
    out.set("update_reason", reason);
    out
}

/// The `odds_book` frame.
#[must_use]
pub fn book_frame(
    state: &Match,
    book: &Book,
    odds: Object,
    reason: &'static str,
    now: Micros,
) -> Object {
    let mut out = frame("odds_book", state);
    out.set("bookmaker_slug", &book.slug);
    out.set("bookmaker", &book.slug);
    out.set("uts", uts(now));
    out.set("odds", odds);
    out.set("update_reason", reason);
    out
}
