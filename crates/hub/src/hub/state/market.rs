//! One market of a book: its definition, its history, and the prices and ladders of its selections.

use std::{io, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec;
use facts::decimal::{are_equal, compare, is_equal};
use facts::event::{
    Level, MarketDefinition, MarketStatus, MarketTerms, Outcome, SelectionDefinition,
    SelectionStatus, SelectionTerms,
};
use fanout::Micros;
use rust_decimal::Decimal;

use super::BookEvent;

/// No bookmaker offers more, so a higher price is an error of the feed and ignored. This also keeps
/// computations far from overflow.
const PRICE_MAX: Decimal = Decimal::from_parts(1_000_000, 0, 0, false, 0);

/// Whether a number can be decimal odds: with odds of 1 or less nobody wins.
pub(super) fn is_price(price: Decimal) -> bool {
    compare(price, Decimal::ONE).is_gt() && compare(price, PRICE_MAX).is_le()
}

#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Market {
    pub id: Arc<str>,
    pub kind: Arc<str>,
    pub name: Option<Arc<str>>,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub line: Option<Decimal>,
    pub period: Option<Arc<str>>,
    pub status: MarketStatus,
    pub in_play: bool,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub volume: Option<Decimal>,
    pub selections: Vec<Selection>,
    /// Present once a source has stated any.
    pub terms: Option<Box<MarketTerms>>,
    /// Every change of status or of being in play, the last [`Market::TRANSITIONS_MAX`] of them.
    pub transitions: Vec<Transition>,
    /// Transitions that are no longer stored.
    pub transitions_dropped: u32,
    /// The number of the transition that settled it first.
    pub(super) settled: Option<u32>,
    /// How often it was resettled.
    pub(super) resettled: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Transition {
    pub at: Micros,
    pub status: MarketStatus,
    pub in_play: bool,
}

#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Selection {
    pub id: Arc<str>,
    pub name: Option<Arc<str>>,
    pub status: SelectionStatus,
    pub outcome: Option<Outcome>,
    /// The best price to back: a bookmaker's own, or the top of the ladder.
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub price: Option<Decimal>,
    /// The price before it.
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub prev: Option<Decimal>,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub last: Option<Decimal>,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub volume: Option<Decimal>,
    /// When the price was last reported.
    pub priced_at: Micros,
    pub(super) ladders: Ladders,
    /// Present once a source has stated any.
    pub(super) extras: Option<Box<SelectionExtras>>,
}

/// What only exchanges and settlements state of a selection. Most have none, as with `Ladders`.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct SelectionExtras {
    pub terms: SelectionTerms,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub near_price: Option<Decimal>,
    #[borsh(serialize_with = "codec::decimal::write", deserialize_with = "codec::decimal::read")]
    pub far_price: Option<Decimal>,
}

/// The ladders of a selection, by [`LadderKind`]. Those of bookmakers, which are most, have none, and without the box a
/// hub that has a million prices would take 80 MB more.
#[derive(Debug, Default, Clone)]
pub(super) struct Ladders(Option<Box<[Ladder; LadderKind::ALL.len()]>>);

/// Sizes by price, lowest price first.
#[derive(Debug, Default, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Ladder {
    pub(super) levels: Vec<Level>,
    /// Whether a level was ever reported: a ladder that has become empty still exists.
    present: bool,
}

/// Which of a selection's ladders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LadderKind {
    Back,
    Lay,
    Traded,
}

impl LadderKind {
    /// In the order of the saved state.
    pub const ALL: [Self; 3] = [Self::Back, Self::Lay, Self::Traded];
}

impl Market {
    /// Far more than a market suspended at every goal of a high-scoring match needs.
    pub const TRANSITIONS_MAX: u32 = 64;

    pub(super) fn new(id: Arc<str>) -> Self {
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
            terms: None,
            transitions: Vec::new(),
            transitions_dropped: 0,
            settled: None,
            resettled: 0,
        }
    }

    pub(super) fn transition(&mut self, transition: Transition) -> u32 {
        if self.transitions.len() == Self::TRANSITIONS_MAX as usize {
            self.transitions.remove(0);
            self.transitions_dropped += 1;
        }
        self.transitions.push(transition);
        self.last_number()
    }

    /// It is settled again: the event that corrects the first settlement. `index` is its own in the book.
    pub(super) fn resettle(&mut self, index: usize) -> Option<BookEvent> {
        let number = self.settled?;
        self.resettled += 1;
        Some(BookEvent::Resettled { market: index, number, times: self.resettled })
    }

    /// The number of the last transition; 0 before the first.
    pub(super) fn last_number(&self) -> u32 {
        self.transitions_dropped + u32::try_from(self.transitions.len()).unwrap_or(u32::MAX)
    }

    /// The results of the selections, in their order, with the factor of a dead heat. Those that are removed have none.
    pub(super) fn results(&self) -> Vec<(SelectionStatus, Option<Decimal>)> {
        let all = self.selections.iter().map(|it| (it.status, it.dead_heat_factor()));
        all.filter(|(status, _)| *status != SelectionStatus::Removed).collect()
    }

    /// Whether the definition equals the current one. False for a market that is not defined yet.
    pub(super) fn is_defined_as(&self, definition: &MarketDefinition) -> bool {
        let MarketDefinition { kind, name, line, period, status, in_play, selections, terms } =
            definition;
        let same = |old: &Selection, new: &SelectionDefinition| {
            old.id == new.id
                && old.name == new.name
                && old.status == new.status
                && old.outcome == new.outcome
                && are_same(old.extras.as_ref().map(|it| &it.terms), new.terms.as_deref())
        };
        let in_order = self.selections.len() == selections.len()
            && self.selections.iter().zip(selections).all(|(old, new)| same(old, new));
        !self.transitions.is_empty()
            && (&self.kind, &self.name, &self.line) == (kind, name, line)
            && (&self.period, &self.status, &self.in_play) == (period, status, in_play)
            && are_same(self.terms.as_deref(), terms.as_deref())
            && (in_order
                || selections.iter().all(|new| self.selections.iter().any(|old| same(old, new)))
                    && self.selections.iter().all(|old| {
                        old.status == SelectionStatus::Removed
                            || selections.iter().any(|new| new.id == old.id)
                    }))
    }

    /// The transition of this number, if it is still stored.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Option<&Transition> {
        let index = number.checked_sub(self.transitions_dropped + 1)?;
        self.transitions.get(usize::try_from(index).ok()?)
    }

    /// Finds a selection. Markets have few selections, mostly changed in the order of the
    /// definition, so a linear search beats a map. Sources that keep their ids share them, so most
    /// are found by address.
    pub(super) fn selection(&self, id: &str) -> Option<usize> {
        let is_shared = |selection: &Selection| std::ptr::eq(&*selection.id, id);
        let shared = self.selections.iter().position(is_shared);
        shared.or_else(|| self.selections.iter().position(|selection| &*selection.id == id))
    }
}

impl Selection {
    pub(super) fn new(id: Arc<str>) -> Self {
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
            ladders: Ladders::default(),
            extras: None,
        }
    }

    /// The part of the stake that wins in a dead heat.
    #[must_use]
    pub fn dead_heat_factor(&self) -> Option<Decimal> {
        self.extras.as_ref()?.terms.dead_heat_factor
    }

    #[must_use]
    pub fn extras(&self) -> Option<&SelectionExtras> {
        self.extras.as_deref()
    }

    /// Replaces the terms. Once there were some, they stay, though empty, so that patches delete their fields.
    pub(super) fn set_terms(&mut self, terms: Option<&SelectionTerms>) {
        if terms.is_some() || self.extras.is_some() {
            self.extras.get_or_insert_default().terms = terms.cloned().unwrap_or_default();
        }
    }

    /// Sets the projected starting prices that are new; returns whether one changed.
    pub(super) fn set_projected(&mut self, prices: [Option<Decimal>; 2]) -> bool {
        if prices == [None, None] {
            return false;
        }
        let extras = self.extras.get_or_insert_default();
        let mut has_changed = false;
        for (old, new) in [&mut extras.near_price, &mut extras.far_price].into_iter().zip(prices) {
            let Some(new) = new else { continue };
            let new = Some(new).filter(|price| is_price(*price));
            // An equal price with other digits is unchanged, as in [`Ladder::set`].
            if !are_equal(*old, new) {
                *old = new;
                has_changed = true;
            }
        }
        has_changed
    }

    /// The best price at which one can lay.
    #[must_use]
    pub fn best_lay(&self) -> Option<Decimal> {
        self.ladder(LadderKind::Lay).levels.first().map(|level| level.price)
    }

    /// The best price at which one can back, by the ladder.
    pub(super) fn best_back(&self) -> Option<Decimal> {
        self.ladder(LadderKind::Back).levels.last().map(|level| level.price)
    }

    #[must_use]
    pub fn ladder(&self, kind: LadderKind) -> &Ladder {
        static ABSENT: Ladder = Ladder::ABSENT;
        self.ladders.0.as_ref().map_or(&ABSENT, |ladders| &ladders[kind as usize])
    }

    pub(super) fn ladder_mut(&mut self, kind: LadderKind) -> &mut Ladder {
        &mut self.ladders.0.get_or_insert_default()[kind as usize]
    }

    /// Sets the price; returns whether it changed.
    pub(super) fn set_price(&mut self, price: Option<Decimal>, at: Micros) -> bool {
        self.priced_at = at;
        let price = price.filter(|price| is_price(*price));
        if are_equal(self.price, price) {
            return false;
        }
        self.prev = self.price.or(self.prev);
        self.price = price;
        true
    }
}

/// Whether terms are the same. Absent ones are the same as those that state nothing.
fn are_same<T: PartialEq + Default>(old: Option<&T>, new: Option<&T>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old == new,
        (Some(one), None) | (None, Some(one)) => *one == T::default(),
        (None, None) => true,
    }
}

impl BorshSerialize for Ladders {
    fn serialize<W: io::Write>(&self, writer: &mut W) -> io::Result<()> {
        match &self.0 {
            Some(ladders) => ladders.serialize(writer),
            None => LadderKind::ALL.map(|_| Ladder::ABSENT).serialize(writer),
        }
    }
}

impl BorshDeserialize for Ladders {
    fn deserialize_reader<R: io::Read>(reader: &mut R) -> io::Result<Self> {
        let ladders = <[Ladder; LadderKind::ALL.len()]>::deserialize_reader(reader)?;
        Ok(Self(ladders.iter().any(Ladder::is_present).then(|| Box::new(ladders))))
    }
}

impl Ladder {
    const ABSENT: Self = Self { levels: Vec::new(), present: false };

    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Whether the source has this ladder at all, even if it is empty now.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.present
    }

    fn find(&self, price: Decimal) -> Result<usize, usize> {
        self.levels.binary_search_by(|level| compare(level.price, price))
    }

    /// Sets or removes a rung; returns whether anything changed.
    pub(super) fn set(&mut self, level: Level) -> bool {
        match self.find(level.price) {
            Ok(index) if level.size.is_zero() => {
                self.levels.remove(index);
                true
            }
            // An equal size with other digits is unchanged and keeps the digits that readers have.
            Ok(index) if is_equal(self.levels[index].size, level.size) => false,
            Ok(index) => {
                self.levels[index].size = level.size;
                true
            }
            Err(_) if level.size.is_zero() => false,
            Err(index) => {
                self.levels.insert(index, level);
                self.present = true;
                true
            }
        }
    }
}
