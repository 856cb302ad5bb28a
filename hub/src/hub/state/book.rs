//! One bookmaker's book of one match: markets, selections, prices, ladders.

use std::{collections::HashMap, sync::Arc};

use fanout::Micros;
use ingest::event::{
    Level, MarketChange, MarketDefinition, MarketStatus, OddsFact, Outcome, SelectionChange,
    SelectionDefinition, SelectionStatus,
};
use rust_decimal::Decimal;

use super::{
    Life, Moment,
    guard::{Guard, GuardChange},
};
use crate::hub::feeds::SourceNumber;

/// No bookmaker offers more, so a higher price is an error of the feed and ignored. This also keeps
/// computations far from overflow.
const PRICE_MAX: Decimal = Decimal::from_parts(1_000_000, 0, 0, false, 0);

#[derive(Debug)]
pub struct Book {
    pub slug: Arc<str>,
    /// The primary source.
    pub source: SourceNumber,
    /// Suspensions by the hub.
    pub guard: Guard,
    pub markets: Vec<Market>,
    places: HashMap<Arc<str>, usize>,
    /// The sequence of the match's channel that these prices reflect.
    pub match_seq: Option<u64>,
}

#[derive(Debug)]
pub struct Market {
    pub id: Arc<str>,
    pub kind: Arc<str>,
    pub name: Option<Arc<str>>,
    pub line: Option<Decimal>,
    pub period: Option<Arc<str>>,
    pub status: MarketStatus,
    pub in_play: bool,
    pub volume: Option<Decimal>,
    pub selections: Vec<Selection>,
    /// Every change of status or of being in play, the last [`Market::TRANSITIONS_MAX`] of them.
    pub transitions: Vec<Transition>,
    /// Transitions that are no longer kept.
    pub transitions_dropped: u32,
    /// How often it was resettled.
    resettled: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    pub at: Micros,
    pub status: MarketStatus,
    pub in_play: bool,
}

#[derive(Debug)]
pub struct Selection {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub status: SelectionStatus,
    pub outcome: Option<Outcome>,
    /// The best price to back: a bookmaker's own, or the top of the ladder.
    pub price: Option<Decimal>,
    /// The price before it.
    pub prev: Option<Decimal>,
    pub last: Option<Decimal>,
    pub volume: Option<Decimal>,
    /// When the price was last reported.
    pub priced_at: Micros,
    pub back: Ladder,
    pub lay: Ladder,
    pub traded: Ladder,
}

/// Sizes by price, lowest price first.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Ladder {
    levels: Vec<Level>,
    /// Whether a level was ever reported: a ladder that has become empty still exists.
    present: bool,
}

/// Which of a selection's ladders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LadderKind {
    Back,
    Lay,
    Traded,
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
    Rung(usize, usize, LadderKind, Decimal),
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
        | Self::Rung(market, ..)) = self;
        market
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
    /// A closed market was resettled with other winners.
    Resettled {
        market: usize,
        /// The number of the transition that had settled it.
        number: u32,
        /// The number of resettlements, this one included.
        times: u32,
    },
    /// The hub suspends or resumes the whole book.
    Guard(GuardChange),
}

impl Market {
    /// Far more than a market suspended at every goal of a high-scoring match needs.
    pub const TRANSITIONS_MAX: u32 = 64;

    fn new(id: Arc<str>) -> Self {
        Self {
            id,
            kind: Arc::from("unknown"),
            name: None,
            line: None,
            period: None,
            status: MarketStatus::Inactive,
            in_play: false,
            volume: None,
            selections: Vec::new(),
            transitions: Vec::new(),
            transitions_dropped: 0,
            resettled: 0,
        }
    }

    fn transition(&mut self, transition: Transition) -> u32 {
        if self.transitions.len() == Self::TRANSITIONS_MAX as usize {
            self.transitions.remove(0);
            self.transitions_dropped += 1;
        }
        self.transitions.push(transition);
        self.last_number()
    }

    /// The number of the last transition; 0 before the first.
    fn last_number(&self) -> u32 {
        self.transitions_dropped + u32::try_from(self.transitions.len()).unwrap_or(u32::MAX)
    }

    /// The selections that have won, by place.
    fn winners(&self) -> Vec<usize> {
        let all = self.selections.iter().enumerate();
        let won = all.filter(|(_, selection)| selection.status == SelectionStatus::Winner);
        won.map(|(place, _)| place).collect()
    }

    /// Whether the definition equals the current one. False for a market that is not defined yet.
    fn is_defined_as(&self, definition: &MarketDefinition) -> bool {
        let MarketDefinition { kind, name, line, period, status, in_play, selections } = definition;
        let same = |own: &Selection, new: &SelectionDefinition| {
            own.id == new.id
                && own.name == new.name
                && own.status == new.status
                && own.outcome == new.outcome
        };
        !self.transitions.is_empty()
            && (&self.kind, &self.name, &self.line) == (kind, name, line)
            && (&self.period, &self.status, &self.in_play) == (period, status, in_play)
            && selections.iter().all(|new| self.selections.iter().any(|own| same(own, new)))
            && self.selections.iter().all(|own| {
                own.status == SelectionStatus::Removed
                    || selections.iter().any(|new| new.id == own.id)
            })
    }

    /// The transition of this number, if it is still kept.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Option<&Transition> {
        let place = number.checked_sub(self.transitions_dropped + 1)?;
        self.transitions.get(usize::try_from(place).ok()?)
    }

    /// Finds a selection. Markets have few selections, mostly changed in the order of the
    /// definition, so a linear search beats a map.
    fn selection(&self, id: &str) -> Option<usize> {
        self.selections.iter().position(|selection| &*selection.id == id)
    }
}

impl Selection {
    fn new(id: Arc<str>) -> Self {
        Self {
            id,
            name: None,
            status: SelectionStatus::Active,
            outcome: None,
            price: None,
            prev: None,
            last: None,
            volume: None,
            priced_at: 0,
            back: Ladder::default(),
            lay: Ladder::default(),
            traded: Ladder::default(),
        }
    }

    /// The best price at which one can lay.
    #[must_use]
    pub fn best_lay(&self) -> Option<Decimal> {
        self.lay.levels.first().map(|level| level.price)
    }

    #[must_use]
    pub fn ladder(&self, rung: LadderKind) -> &Ladder {
        match rung {
            LadderKind::Back => &self.back,
            LadderKind::Lay => &self.lay,
            LadderKind::Traded => &self.traded,
        }
    }

    /// Sets the price; returns whether it changed.
    fn set_price(&mut self, price: Option<Decimal>, at: Micros) -> bool {
        self.priced_at = at;
        let price = price.filter(|price| price.abs() <= PRICE_MAX);
        if self.price == price {
            return false;
        }
        self.prev = self.price.or(self.prev);
        self.price = price;
        true
    }
}

impl Ladder {
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Whether the source has this ladder at all, even if it is empty now.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.present
    }

    #[must_use]
    pub fn size(&self, price: Decimal) -> Option<Decimal> {
        self.find(price).ok().map(|place| self.levels[place].size)
    }

    fn find(&self, price: Decimal) -> Result<usize, usize> {
        self.levels.binary_search_by(|level| level.price.cmp(&price))
    }

    /// Sets or removes a rung; returns whether anything changed.
    fn set(&mut self, level: Level) -> bool {
        match self.find(level.price) {
            Ok(place) if level.size.is_zero() => {
                self.levels.remove(place);
                true
            }
            // An equal size with other digits is unchanged and keeps the digits that readers have.
            Ok(place) if self.levels[place].size == level.size => false,
            Ok(place) => {
                self.levels[place].size = level.size;
                true
            }
            Err(_) if level.size.is_zero() => false,
            Err(place) => {
                self.levels.insert(place, level);
                self.present = true;
                true
            }
        }
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
            match_seq: None,
        }
    }

    /// Whether no market can be bet on now, though some may reopen: suspended by the bookmaker or
    /// by the hub.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.has_suspended_itself() || self.guard.holds() && self.life() != Life::Ended
    }

    /// Whether the bookmaker has suspended every market that is not closed.
    pub(super) fn has_suspended_itself(&self) -> bool {
        let mut open = self.markets.iter().filter(|m| m.status != MarketStatus::Closed).peekable();
        open.peek().is_some() && open.all(|market| market.status != MarketStatus::Open)
    }

    #[must_use]
    pub fn is_in_play(&self) -> bool {
        self.markets.iter().any(|market| market.in_play && market.status != MarketStatus::Closed)
    }

    #[must_use]
    pub fn life(&self) -> Life {
        if !self.markets.is_empty()
            && self.markets.iter().all(|market| market.status == MarketStatus::Closed)
        {
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
        parts: &mut Vec<BookPart>,
        events: &mut Vec<BookEvent>,
    ) -> Option<usize> {
        if let MarketChange::Define(definition) = &fact.change {
            let place = self.place(&fact.market);
            self.define(place, definition, moment, parts, events);
            return Some(place);
        }
        // Normalisers drop facts about markets that were never defined.
        let place = *self.places.get(&fact.market)?;
        match &fact.change {
            MarketChange::Define(_) => {}
            MarketChange::Clear => self.clear(place, parts),
            MarketChange::Prices { selections, volume } => {
                self.volume(place, *volume, parts);
                for change in selections {
                    self.change(place, change, moment.best(), parts);
                }
            }
        }
        Some(place)
    }

    fn place(&mut self, id: &Arc<str>) -> usize {
        *self.places.entry(Arc::clone(id)).or_insert_with(|| {
            self.markets.push(Market::new(Arc::clone(id)));
            self.markets.len() - 1
        })
    }

    fn define(
        &mut self,
        place: usize,
        definition: &MarketDefinition,
        moment: Moment,
        parts: &mut Vec<BookPart>,
        events: &mut Vec<BookEvent>,
    ) {
        let market = &mut self.markets[place];
        if market.is_defined_as(definition) {
            return;
        }
        let before = market.transitions.last().map(|t| (t.status, t.in_play));
        let won_before = market.winners();
        market.kind = Arc::clone(&definition.kind);
        market.name.clone_from(&definition.name);
        market.line = definition.line;
        market.period.clone_from(&definition.period);
        market.status = definition.status;
        market.in_play = definition.in_play;
        for new in &definition.selections {
            let selection = market.selection(&new.id).unwrap_or_else(|| {
                market.selections.push(Selection::new(Arc::clone(&new.id)));
                market.selections.len() - 1
            });
            let selection = &mut market.selections[selection];
            selection.name.clone_from(&new.name);
            selection.status = new.status;
            selection.outcome = new.outcome;
        }
        for selection in &mut market.selections {
            if !definition.selections.iter().any(|new| new.id == selection.id) {
                selection.status = SelectionStatus::Removed;
            }
        }
        parts.push(BookPart::Definition(place));
        if before != Some((definition.status, definition.in_play)) {
            let (status, in_play) = (definition.status, definition.in_play);
            let transition = Transition { at: moment.best(), status, in_play };
            let number = market.transition(transition);
            parts.push(BookPart::Transition(place, number));
            events.push(BookEvent::Moved { market: place, number, transition, before });
        } else if market.status == MarketStatus::Closed && market.winners() != won_before {
            market.resettled += 1;
            let (number, times) = (market.last_number(), market.resettled);
            events.push(BookEvent::Resettled { market: place, number, times });
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
                parts.extend(gone.iter().map(|l| BookPart::Rung(market, number, rung, l.price)));
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
        }
    }

    fn volume(&mut self, market: usize, volume: Option<Decimal>, parts: &mut Vec<BookPart>) {
        let own = &mut self.markets[market].volume;
        if volume.is_some() && *own != volume {
            *own = volume;
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
            let ladder = selection.ladder_mut(rung);
            for level in levels {
                if ladder.set(*level) {
                    parts.push(BookPart::Rung(market, number, rung, level.price));
                }
            }
        }
        let ladder_moved = !change.back.is_empty();
        let top = selection.back.levels.last().map(|level| level.price);
        let price = if ladder_moved { top } else { change.price };
        let price_moved =
            (ladder_moved || change.price.is_some()) && selection.set_price(price, at);
        if price_moved || lay_before != selection.best_lay() {
            parts.push(BookPart::Price(market, number));
        }
        if change.last.is_some() && selection.last != change.last {
            selection.last = change.last;
            parts.push(BookPart::Last(market, number));
        }
        if change.volume.is_some() && selection.volume != change.volume {
            selection.volume = change.volume;
            parts.push(BookPart::SelectionVolume(market, number));
        }
    }
}

impl Selection {
    fn ladder_mut(&mut self, rung: LadderKind) -> &mut Ladder {
        match rung {
            LadderKind::Back => &mut self.back,
            LadderKind::Lay => &mut self.lay,
            LadderKind::Traded => &mut self.traded,
        }
    }
}
