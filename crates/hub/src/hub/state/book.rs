//! One bookmaker's book of one match: its markets, and what a fact changes in them.

use std::{collections::HashMap, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::decimal::are_equal;
use facts::event::{
    Level, MarketChange, MarketDefinition, MarketStatus, OddsFact, SelectionChange,
    SelectionDefinition, SelectionStatus,
};
use fanout::Micros;
use rust_decimal::Decimal;

use super::{
    BookDelta, Life, Moment,
    guard::{Guard, GuardChange},
    market::{LadderKind, Market, Selection, Transition, is_price},
};
use crate::hub::feeds::SourceNumber;

#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
#[borsh(init = reindex)]
pub struct Book {
    pub slug: Arc<str>,
    /// The primary source.
    pub source: SourceNumber,
    /// Suspensions by the hub.
    pub guard: Guard,
    pub markets: Vec<Market>,
    #[borsh(skip)]
    places: HashMap<Arc<str>, usize>,
    #[borsh(skip)]
    tally: MarketTally,
    /// The sequence of the match's channel that these prices reflect.
    pub match_seq: Option<u64>,
}

/// Counts of a book's markets, so that its life is known without a look at each of them.
#[derive(Debug, Clone, Default)]
struct MarketTally {
    open: usize,
    closed: usize,
    /// In play and not closed.
    in_play: usize,
}

/// A part of a book, by indexes into [`Book::markets`] and [`Market::selections`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookPart {
    /// All of the market.
    Definition(usize),
    /// By its number in the life of the market.
    Transition(usize, u32),
    Volume(usize),
    Price(usize, usize),
    Last(usize, usize),
    SelectionVolume(usize, usize),
    /// The projected starting prices.
    Projected(usize, usize),
    /// A level of a ladder as it is now; size 0 means that it is gone.
    Rung(usize, usize, LadderKind, Level),
}

impl BookPart {
    /// The index of its market.
    #[must_use]
    pub fn market(self) -> usize {
        let (Self::Definition(market)
        | Self::Transition(market, _)
        | Self::Volume(market)
        | Self::Price(market, _)
        | Self::Last(market, _)
        | Self::SelectionVolume(market, _)
        | Self::Projected(market, _)
        | Self::Rung(market, ..)) = self;
        market
    }

    /// The index of its selection; `None` for a part of the market itself.
    #[must_use]
    pub fn selection(self) -> Option<usize> {
        match self {
            Self::Price(_, selection)
            | Self::Last(_, selection)
            | Self::SelectionVolume(_, selection)
            | Self::Projected(_, selection)
            | Self::Rung(_, selection, ..) => Some(selection),
            Self::Definition(_) | Self::Transition(..) | Self::Volume(_) => None,
        }
    }

    /// Whether it is of a market's definition and its history, not a price, size or volume.
    #[must_use]
    pub fn is_of_definition(self) -> bool {
        matches!(self, Self::Definition(_) | Self::Transition(..))
    }

    /// Its ladder, if it is a level of one.
    #[must_use]
    pub fn ladder(self) -> Option<LadderKind> {
        match self {
            Self::Rung(_, _, ladder, _) => Some(ladder),
            _ => None,
        }
    }
}

/// An event of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BookEvent {
    /// It went from one state to another.
    Moved {
        market: usize,
        /// The transition's number in the life of its market, from 1.
        number: u32,
        transition: Transition,
        before: Option<(MarketStatus, bool)>,
    },
    /// A market was settled again: after it was reopened, or with other winners.
    Resettled {
        market: usize,
        /// The number of the transition that settled it first.
        number: u32,
        /// The number of resettlements, this one included.
        times: u32,
    },
    /// The hub suspends or resumes the whole book.
    Guard(GuardChange),
}

impl MarketTally {
    fn add(&mut self, market: &Market) {
        let [open, closed, in_play] = Self::counts(market);
        self.open += open;
        self.closed += closed;
        self.in_play += in_play;
    }

    fn remove(&mut self, market: &Market) {
        let [open, closed, in_play] = Self::counts(market);
        self.open -= open;
        self.closed -= closed;
        self.in_play -= in_play;
    }

    fn counts(market: &Market) -> [usize; 3] {
        let is_closed = market.status == MarketStatus::Closed;
        [market.status == MarketStatus::Open, is_closed, market.in_play && !is_closed]
            .map(usize::from)
    }
}

impl Book {
    pub(super) fn new(slug: Arc<str>, source: SourceNumber) -> Self {
        Self {
            slug,
            source,
            guard: Guard::default(),
            markets: Vec::new(),
            places: HashMap::new(),
            tally: MarketTally::default(),
            match_seq: None,
        }
    }

    /// Finds again what follows from the markets, after they were restored.
    fn reindex(&mut self) {
        self.markets.iter().for_each(|market| self.tally.add(market));
        let ids = self.markets.iter().map(|market| Arc::clone(&market.id));
        self.places = ids.enumerate().map(|(index, id)| (id, index)).collect();
    }

    /// Whether no market can be bet on now, though some may reopen: suspended by the bookmaker or
    /// by the hub.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.has_suspended_itself() || self.guard.holds() && self.life() != Life::Ended
    }

    /// Whether the bookmaker has suspended every market that is not closed.
    pub(super) fn has_suspended_itself(&self) -> bool {
        self.tally.closed < self.markets.len() && self.tally.open == 0
    }

    #[must_use]
    pub fn is_in_play(&self) -> bool {
        self.tally.in_play > 0
    }

    #[must_use]
    pub fn life(&self) -> Life {
        if !self.markets.is_empty() && self.tally.closed == self.markets.len() {
            Life::Ended
        } else if self.guard.holds() || self.has_suspended_itself() {
            Life::Suspended
        } else if self.is_in_play() {
            Life::Live
        } else {
            Life::Prematch
        }
    }

    /// The public status of a market, including suspensions by the hub.
    #[must_use]
    pub fn status(&self, market: &Market) -> MarketStatus {
        match market.status {
            MarketStatus::Open if self.guard.holds() => MarketStatus::Suspended,
            status => status,
        }
    }

    /// Applies one fact; returns the index of the market that it changed.
    pub(super) fn apply(
        &mut self,
        fact: &OddsFact,
        moment: Moment,
        delta: &mut BookDelta,
    ) -> Option<usize> {
        if let MarketChange::Define(definition) = &fact.change {
            let index = self.market_index(&fact.market);
            self.define(index, definition, moment, delta);
            return Some(index);
        }
        // Normalisers drop facts about markets that were never defined.
        let index = *self.places.get(&fact.market)?;
        match &fact.change {
            MarketChange::Define(_) => {}
            MarketChange::Clear => self.clear(index, &mut delta.parts),
            MarketChange::Prices { selections, volume } => {
                // Its levels, and rarely more than the price and its neighbours.
                let room =
                    |it: &SelectionChange| it.back.len() + it.lay.len() + it.traded.len() + 3;
                delta.parts.reserve(selections.iter().map(room).sum());
                self.volume(index, *volume, &mut delta.parts);
                for change in selections {
                    self.change(index, change, moment.best(), &mut delta.parts);
                }
            }
        }
        Some(index)
    }

    fn market_index(&mut self, id: &Arc<str>) -> usize {
        *self.places.entry(Arc::clone(id)).or_insert_with(|| {
            self.markets.push(Market::new(Arc::clone(id)));
            self.markets.len() - 1
        })
    }

    fn define(
        &mut self,
        market_index: usize,
        definition: &MarketDefinition,
        moment: Moment,
        delta: &mut BookDelta,
    ) {
        let market = &mut self.markets[market_index];
        if market.is_defined_as(definition) {
            return;
        }
        let before = market.transitions.last().map(|t| (t.status, t.in_play));
        let closes = definition.status == MarketStatus::Closed;
        let results_before = closes.then(|| market.results());
        let are_new = |market: &Market| Some(market.results()) != results_before;
        self.tally.remove(market);
        market.kind = Arc::clone(&definition.kind);
        market.name.clone_from(&definition.name);
        market.line = definition.line;
        market.period.clone_from(&definition.period);
        market.status = definition.status;
        market.in_play = definition.in_play;
        if definition.terms.is_some() || market.terms.is_some() {
            market.terms = Some(definition.terms.clone().unwrap_or_default());
        }
        self.tally.add(market);
        // Few markets get selections later, and growth by doubling leaves room for one more or two.
        market
            .selections
            .reserve_exact(definition.selections.len().saturating_sub(market.selections.len()));
        for new in &definition.selections {
            let selection = market.selection(&new.id).unwrap_or_else(|| {
                market.selections.push(Selection::new(Arc::clone(&new.id)));
                market.selections.len() - 1
            });
            let selection = &mut market.selections[selection];
            selection.name.clone_from(&new.name);
            selection.status = new.status;
            selection.outcome = new.outcome;
            selection.set_terms(new.terms.as_deref());
        }
        for (index, selection) in market.selections.iter_mut().enumerate() {
            let is_own = |new: &SelectionDefinition| new.id == selection.id;
            let in_place = definition.selections.get(index).is_some_and(is_own);
            if !in_place && !definition.selections.iter().any(is_own) {
                selection.status = SelectionStatus::Removed;
            }
        }
        delta.parts.push(BookPart::Definition(market_index));
        if before != Some((definition.status, definition.in_play)) {
            let (status, in_play) = (definition.status, definition.in_play);
            let transition = Transition { at: moment.best(), status, in_play };
            let number = market.transition(transition);
            delta.parts.push(BookPart::Transition(market_index, number));
            let was_closed = before.is_some_and(|(status, _)| status == MarketStatus::Closed);
            if closes && market.settled.is_some() {
                // Whether it was in play when it closed is no settlement.
                if !was_closed || are_new(market) {
                    delta.events.extend(market.resettle(market_index));
                }
            } else {
                if closes {
                    market.settled = Some(number);
                }
                let market = market_index;
                delta.events.push(BookEvent::Moved { market, number, transition, before });
            }
        } else if closes && are_new(market) {
            delta.events.extend(market.resettle(market_index));
        }
    }

    fn clear(&mut self, market: usize, parts: &mut Vec<BookPart>) {
        if self.markets[market].volume.take().is_some() {
            parts.push(BookPart::Volume(market));
        }
        for number in 0..self.markets[market].selections.len() {
            let selection = &mut self.markets[market].selections[number];
            let priced = selection.price.is_some() || selection.best_lay().is_some();
            for rung in [LadderKind::Back, LadderKind::Lay, LadderKind::Traded] {
                let gone = std::mem::take(&mut selection.ladder_mut(rung).levels);
                parts.extend(gone.into_iter().map(|level| {
                    let level = Level { size: Decimal::ZERO, ..level };
                    BookPart::Rung(market, number, rung, level)
                }));
            }
            selection.price = None;
            if priced {
                parts.push(BookPart::Price(market, number));
            }
            if selection.last.take().is_some() {
                parts.push(BookPart::Last(market, number));
            }
            if selection.volume.take().is_some() {
                parts.push(BookPart::SelectionVolume(market, number));
            }
            let has_extras = selection.extras.is_some();
            if has_extras && selection.set_projected([Some(Decimal::ZERO); 2]) {
                parts.push(BookPart::Projected(market, number));
            }
        }
    }

    fn volume(&mut self, market: usize, volume: Option<Decimal>, parts: &mut Vec<BookPart>) {
        let old = &mut self.markets[market].volume;
        if volume.is_some() && !are_equal(*old, volume) {
            *old = volume;
            parts.push(BookPart::Volume(market));
        }
    }

    fn change(
        &mut self,
        market: usize,
        change: &SelectionChange,
        at: Micros,
        parts: &mut Vec<BookPart>,
    ) {
        let Some(number) = self.markets[market].selection(&change.id) else { return };
        let selection = &mut self.markets[market].selections[number];
        let lay_before = selection.best_lay();
        for (rung, levels) in [
            (LadderKind::Back, &change.back),
            (LadderKind::Lay, &change.lay),
            (LadderKind::Traded, &change.traded),
        ] {
            for level in levels.iter().filter(|level| is_price(level.price)) {
                if selection.ladder_mut(rung).set(*level) {
                    parts.push(BookPart::Rung(market, number, rung, *level));
                }
            }
        }
        let ladder_moved = !change.back.is_empty();
        let price = if ladder_moved { selection.best_back() } else { change.price };
        let price_moved =
            (ladder_moved || change.price.is_some()) && selection.set_price(price, at);
        if price_moved || !are_equal(lay_before, selection.best_lay()) {
            parts.push(BookPart::Price(market, number));
        }
        let last = change.last.filter(|last| is_price(*last));
        if last.is_some() && !are_equal(selection.last, last) {
            selection.last = last;
            parts.push(BookPart::Last(market, number));
        }
        if change.volume.is_some() && !are_equal(selection.volume, change.volume) {
            selection.volume = change.volume;
            parts.push(BookPart::SelectionVolume(market, number));
        }
        if selection.set_projected([change.near_price, change.far_price]) {
            parts.push(BookPart::Projected(market, number));
        }
    }
}
