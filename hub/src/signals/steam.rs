//! Bookmakers that move one price the same way within a short time.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::Arc,
};

use fanout::Micros;
use ingest::event::Outcome;
use rust_decimal::{Decimal, RoundingStrategy};

use super::{
    Direction, Finding, MarketKey, Quote, QuoteState, Signal, SignalKind, SignalSettings, Topic,
    basis_points, strength,
};

/// Changes of one price that are remembered; a price that moves more often has its oldest forgotten.
const MOVES_MAX: usize = 64;

/// The recent price changes of one market.
#[derive(Debug, Default)]
pub(super) struct Steam {
    prices: BTreeMap<(Outcome, Arc<str>), PriceHistory>,
}

#[derive(Debug)]
struct PriceHistory {
    now: Decimal,
    /// Earlier prices and when they changed, oldest first.
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
        for quote in quotes.iter().filter(|quote| quote.state == QuoteState::Open) {
            // A price of 1 or less is none: nobody wins by it.
            if let Some(price) = quote.price.filter(|price| *price > Decimal::ONE) {
                self.note((quote.outcome, Arc::clone(&quote.bookmaker)), price, at);
            }
        }
        self.moves(market, at, settings)
    }

    fn note(&mut self, whose: (Outcome, Arc<str>), now: Decimal, at: Micros) {
        let first = || PriceHistory { now, before: VecDeque::new() };
        let price = self.prices.entry(whose).or_insert_with(first);
        if price.now != now {
            if price.before.len() == MOVES_MAX {
                price.before.pop_front();
            }
            price.before.push_back((at, mem::replace(&mut price.now, now)));
        }
    }

    /// The outcomes that move at that moment; drops changes outside the window.
    pub(super) fn moves(
        &mut self,
        market: &MarketKey,
        at: Micros,
        settings: &SignalSettings,
    ) -> Vec<Signal> {
        let mut moves: BTreeMap<Outcome, Vec<(Arc<str>, Decimal)>> = BTreeMap::new();
        for ((outcome, bookmaker), price) in &mut self.prices {
            let since = at - settings.steam_window_us;
            while price.before.front().is_some_and(|(moved, _)| *moved <= since) {
                price.before.pop_front();
            }
            let Some((_, first)) = price.before.front() else { continue };
            let Some(ratio) = price.now.checked_div(*first) else { continue };
            let change = ratio - Decimal::ONE;
            if basis_points(change.abs()) >= settings.steam.into() {
                moves.entry(*outcome).or_default().push((Arc::clone(bookmaker), change));
            }
        }
        let moves = moves.into_iter();
        moves.filter_map(|(outcome, moves)| signal(market, outcome, moves, settings)).collect()
    }

    /// Whether no change is left that could start or end a signal.
    pub(super) fn is_still(&self) -> bool {
        self.prices.values().all(|price| price.before.is_empty())
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
