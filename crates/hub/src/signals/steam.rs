//! Bookmakers that move one price the same way within a short time.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Read, Write},
    mem,
    sync::Arc,
};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec;
use facts::event::Outcome;
use fanout::Micros;
use rust_decimal::{Decimal, RoundingStrategy};

use super::{
    Direction, Finding, MarketKey, Quote, QuoteState, Signal, SignalKind, SignalSettings, Topic,
    basis_points, strength,
};

/// Changes of one price that are remembered; a price that moves more often has its oldest forgotten.
const MOVES_MAX: usize = 64;

/// The recent price changes of one market.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub(super) struct Steam {
    /// In the order in which they were first quoted, which is nearly always that of the quotes.
    prices: Vec<PriceHistory>,
}

#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
struct PriceHistory {
    outcome: Outcome,
    bookmaker: Arc<str>,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    now: Decimal,
    /// Earlier prices and when they changed, oldest first.
    #[borsh(serialize_with = "write_moves", deserialize_with = "read_moves")]
    before: VecDeque<(Micros, Decimal)>,
}

impl Steam {
    /// Records the current prices and returns the outcomes that move.
    pub(super) fn update(
        &mut self,
        market: &MarketKey,
        quotes: &[Quote],
        at: Micros,
        settings: &SignalSettings,
    ) -> Vec<Signal> {
        let mut next = 0;
        for quote in quotes.iter().filter(|quote| quote.state == QuoteState::Open) {
            // A price of 1 or less is no price: it pays no profit.
            if let Some(price) = quote.price.filter(|price| *price > Decimal::ONE) {
                let index = self.price_index(quote, price, next);
                self.prices[index].note(price, at);
                next = index + 1;
            }
        }
        self.moves(market, at, settings)
    }

    /// The index of a quote's history, which is most likely `expected`.
    fn price_index(&mut self, quote: &Quote, now: Decimal, expected: usize) -> usize {
        let is_own = |price: &PriceHistory| {
            price.outcome == quote.outcome && price.bookmaker == quote.bookmaker
        };
        if self.prices.get(expected).is_some_and(is_own) {
            return expected;
        }
        self.prices.iter().position(is_own).unwrap_or_else(|| {
            let Quote { outcome, bookmaker, .. } = quote.clone();
            // Grows by a quarter: a hub has hundreds of thousands of prices, and a market's rarely
            // become more.
            if self.prices.len() == self.prices.capacity() {
                self.prices.reserve_exact(self.prices.len() / 4 + 1);
            }
            self.prices.push(PriceHistory { outcome, bookmaker, now, before: VecDeque::new() });
            self.prices.len() - 1
        })
    }

    /// The outcomes that move at that moment; drops changes outside the window.
    pub(super) fn moves(
        &mut self,
        market: &MarketKey,
        at: Micros,
        settings: &SignalSettings,
    ) -> Vec<Signal> {
        let since = at - settings.steam_window_us;
        self.prices.iter_mut().for_each(|price| price.forget(since));
        // Most markets are quiet, or have few bookmakers: no outcome can have moved enough.
        let moving = self.prices.iter().filter(|price| !price.before.is_empty());
        if moving.count() < settings.steam_bookmakers_min {
            return Vec::new();
        }
        let mut moves: BTreeMap<Outcome, Vec<(Arc<str>, Decimal)>> = BTreeMap::new();
        for price in &self.prices {
            let Some(change) = price.change() else { continue };
            if basis_points(change.abs()) >= settings.steam.into() {
                let bookmaker = Arc::clone(&price.bookmaker);
                moves.entry(price.outcome).or_default().push((bookmaker, change));
            }
        }
        let signal = |(outcome, mut moves): (_, Vec<(Arc<str>, Decimal)>)| {
            moves.sort_unstable_by(|one, other| one.0.cmp(&other.0));
            signal(market, outcome, moves, settings)
        };
        moves.into_iter().filter_map(signal).collect()
    }

    /// Whether no change is left that could start or end a signal.
    pub(super) fn is_still(&self) -> bool {
        self.prices.iter().all(|price| price.before.is_empty())
    }
}

/// Writes earlier prices in the binary form of the hub's state.
fn write_moves<W: Write>(moves: &VecDeque<(Micros, Decimal)>, writer: &mut W) -> io::Result<()> {
    moves.len().serialize(writer)?;
    moves.iter().try_for_each(|(at, price)| {
        at.serialize(writer)?;
        codec::decimal::write(price, writer)
    })
}

fn read_moves<R: Read>(reader: &mut R) -> io::Result<VecDeque<(Micros, Decimal)>> {
    let len = usize::deserialize_reader(reader)?;
    if len > MOVES_MAX {
        return Err(codec::invalid("a price has too many earlier prices"));
    }
    let moves = (0..len).map(|_| {
        Ok((Micros::deserialize_reader(reader)?, codec::decimal::read::<_, Decimal>(reader)?))
    });
    moves.collect()
}

impl PriceHistory {
    fn note(&mut self, now: Decimal, at: Micros) {
        if self.now != now {
            if self.before.len() == MOVES_MAX {
                self.before.pop_front();
            }
            self.before.push_back((at, mem::replace(&mut self.now, now)));
        }
    }

    /// Drops changes up to `since`.
    fn forget(&mut self, since: Micros) {
        while self.before.front().is_some_and(|(moved, _)| *moved <= since) {
            self.before.pop_front();
        }
        if self.before.is_empty() {
            self.before = VecDeque::new();
        }
    }

    /// How far the price has moved since the oldest change, as a fraction of the price before it.
    fn change(&self) -> Option<Decimal> {
        let (_, first) = self.before.front()?;
        Some(self.now.checked_div(*first)? - Decimal::ONE)
    }
}

fn signal(
    market: &MarketKey,
    outcome: Outcome,
    moves: Vec<(Arc<str>, Decimal)>,
    settings: &SignalSettings,
) -> Option<Signal> {
    let falls = moves.iter().all(|(_, change)| change.is_sign_negative());
    let rises = moves.iter().all(|(_, change)| change.is_sign_positive());
    if moves.len() < settings.steam_bookmakers_min || falls == rises {
        return None;
    }
    let sum: Decimal = moves.iter().map(|(_, change)| change).sum();
    let change = sum / Decimal::from(moves.len());
    Some(Signal {
        topic: Topic { outcome: Some(outcome), ..Topic::of_market(SignalKind::Steam, market) },
        strength: strength(change, Decimal::new(20, 2)),
        finding: Finding::Steam {
            direction: if falls { Direction::Shortening } else { Direction::Drifting },
            bookmakers: moves.into_iter().map(|(bookmaker, _)| bookmaker).collect(),
            change: change.round_dp_with_strategy(4, RoundingStrategy::MidpointNearestEven),
        },
    })
}
