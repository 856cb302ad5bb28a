//! One market of an event, after the messages so far.

use std::{collections::HashMap, sync::Arc};

use facts::event::{
    Fact, Fixture, MarketDefinition, MarketStatus, SelectionDefinition, SelectionStatus,
    SelectionTerms, Sport,
};
use rust_decimal::Decimal;

use super::{
    kind::Kind,
    names::{MarketNames, NamedMarket},
};
use crate::{
    decode::sportradar_uof::{self as decode, UofOutcome},
    normalize::reported_market::{MarketRef, MarketState},
};

/// Outcomes of one market that are remembered: the largest have some hundred players.
const OUTCOMES_MAX: usize = 2_000;

/// A market and its last reported state.
#[derive(Debug)]
pub(super) struct Market {
    key: MarketRef,
    kind: Kind,
    /// Id and specifiers, and the names so far, of a market that has the provider's names.
    provider_names: Option<Box<OwnNames>>,
    sport: Sport,
    state: MarketState,
    places: HashMap<Arc<str>, usize>,
    /// The producer of its last odds.
    producer: Option<u32>,
    /// The timestamp of the newest message about it.
    at_ms: Option<i64>,
    /// Set when a settlement or a cancellation closed it, and not its status.
    pub(super) closed_by: Option<ClosedBy>,
}

#[derive(Debug)]
struct OwnNames {
    id: String,
    specifiers: String,
    /// Whether the name of the market was looked for.
    is_known: bool,
    /// The outcomes whose names were looked for.
    outcomes: HashMap<Arc<str>, Option<Arc<str>>>,
}

/// What closed a market, so that only the matching rollback reopens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClosedBy {
    Settlement,
    Cancellation,
}

impl Market {
    pub(super) fn new(book: Arc<str>, market: &decode::Market, sport: Sport) -> Self {
        let kind = Kind::new(market, sport);
        let provider_names = kind.is_own().then(|| {
            let (id, specifiers) = (market.id.clone(), market.specifiers.clone());
            Box::new(OwnNames { id, specifiers, is_known: false, outcomes: HashMap::new() })
        });
        Self {
            key: MarketRef { book, market: market.key().into() },
            kind,
            provider_names,
            sport,
            state: MarketState::default(),
            places: HashMap::new(),
            producer: None,
            at_ms: None,
            closed_by: None,
        }
    }

    /// A market that was reported before a restart.
    pub(super) fn resumed(
        book: Arc<str>,
        key: &str,
        definition: MarketDefinition,
        sport: Sport,
    ) -> Self {
        let (id, specifiers) = key.split_once('/').unwrap_or((key, ""));
        let (id, specifiers) = (id.to_owned(), specifiers.to_owned());
        let mut market =
            Self::new(book, &decode::Market { id, specifiers, ..Default::default() }, sport);
        let selections = definition.selections.iter().enumerate();
        market.places = selections.map(|(index, it)| (Arc::clone(&it.id), index)).collect();
        market.state = MarketState::resumed(definition);
        market
    }

    /// Looks up the provider's names of the market and of these outcomes, unless that was done before. Does nothing for a
    /// market that the hub names itself.
    pub(super) fn learn_names(
        &mut self,
        names: &MarketNames,
        fixture: &Fixture,
        outcomes: &[UofOutcome],
    ) {
        let Some(provider_names) = &mut self.provider_names else { return };
        let OwnNames { id, specifiers, is_known, outcomes: named } = &mut **provider_names;
        let market = NamedMarket { id, specifiers, fixture };
        if !std::mem::replace(is_known, true)
            && let Some(name) = names.market(&market)
        {
            self.kind.label = Some(name);
        }
        for UofOutcome { id, .. } in outcomes {
            if !named.contains_key(id.as_str()) && named.len() < OUTCOMES_MAX {
                named.insert(id.as_str().into(), names.outcome(&market, id));
            }
        }
    }

    /// Looks for all names again, and emits the market if they have changed.
    pub(super) fn rename(&mut self, names: &MarketNames, fixture: &Fixture, facts: &mut Vec<Fact>) {
        let Some(provider_names) = &mut self.provider_names else { return };
        provider_names.is_known = false;
        let market =
            NamedMarket { id: &provider_names.id, specifiers: &provider_names.specifiers, fixture };
        for (id, name) in &mut provider_names.outcomes {
            // A name that was found stays.
            *name = names.outcome(&market, id).or_else(|| name.take());
        }
        self.learn_names(names, fixture, &[]);
        if let Some(definition) = self.state.definition() {
            let definition = self.definition(definition.status, definition.in_play);
            self.state.define(&self.key, definition, facts);
        }
    }

    /// Whether no more changes of it are expected.
    pub(super) fn is_over(&self) -> bool {
        self.state.definition().is_some_and(|it| it.status == MarketStatus::Closed)
    }

    pub(super) fn is_open(&self) -> bool {
        self.state.is_open()
    }

    /// Whether a message of this time is older than the newest about it.
    pub(super) fn is_older(&self, at_ms: Option<i64>) -> bool {
        self.at_ms.zip(at_ms).is_some_and(|(newest, at)| at < newest)
    }

    /// A message of this time is about it.
    pub(super) fn note_time(&mut self, at_ms: Option<i64>) {
        self.at_ms = self.at_ms.max(at_ms);
    }

    /// Whether this producer offers it, as far as both are known.
    pub(super) fn is_of_producer(&self, producer: Option<u32>) -> bool {
        self.producer.zip(producer).is_none_or(|(last, other)| last == other)
    }

    /// Applies an odds change. Returns the number of prices emitted.
    pub(super) fn change(
        &mut self,
        change: &decode::Market,
        producer: Option<u32>,
        in_play: bool,
        facts: &mut Vec<Fact>,
    ) -> u32 {
        let status_before = self.state.definition().map(|it| it.status);
        let Some(status) = status(change, status_before) else { return 0 };
        if change.status == Some(HANDED_OVER) && !self.is_of_producer(producer) {
            return 0;
        }
        self.producer = producer.or(self.producer);
        self.closed_by = None;
        let cancelled = change.status == Some(-4);
        let mut definition = self.definition(status, in_play);
        let mut prices = Vec::new();
        for outcome in &change.outcomes {
            let Some(selection) = self.selection(outcome, &mut definition) else { continue };
            let price = outcome.odds.filter(|odds| *odds > Decimal::ONE);
            let active = outcome.active.unwrap_or(true) && !cancelled;
            selection.status =
                if active { SelectionStatus::Active } else { SelectionStatus::Removed };
            if active {
                selection.terms = None;
            }
            prices.extend(price.filter(|_| active).map(|price| (selection.id.clone(), price)));
        }
        if cancelled {
            void(&mut definition);
        }
        self.state.update(&self.key, definition, prices, facts)
    }

    pub(super) fn stop(&mut self, status: MarketStatus, facts: &mut Vec<Fact>) {
        let Some(definition) = self.state.definition() else { return };
        let definition = MarketDefinition { status, ..definition.clone() };
        self.state.define(&self.key, definition, facts);
    }

    /// Who has won. Of a dead heat all have won; what is returned in full is removed.
    pub(super) fn settle(&mut self, market: &decode::Market, facts: &mut Vec<Fact>) {
        let mut definition = self.definition(MarketStatus::Closed, self.in_play());
        for outcome in &market.outcomes {
            if let Some(selection) = self.selection(outcome, &mut definition) {
                selection.status = result(outcome).unwrap_or(selection.status);
                selection.terms = outcome.dead_heat_factor.map(|factor| {
                    Box::new(SelectionTerms {
                        dead_heat_factor: Some(factor),
                        ..Default::default()
                    })
                });
            }
        }
        self.closed_by = Some(ClosedBy::Settlement);
        self.state.define(&self.key, definition, facts);
    }

    /// All bets are void.
    pub(super) fn cancel(&mut self, facts: &mut Vec<Fact>) {
        let mut definition = self.definition(MarketStatus::Closed, self.in_play());
        void(&mut definition);
        self.closed_by = Some(ClosedBy::Cancellation);
        self.state.define(&self.key, definition, facts);
    }

    /// Rolls back a settlement or a cancellation. The market stays suspended until an odds change
    /// gives its status.
    pub(super) fn roll_back(&mut self, closed_by: ClosedBy, facts: &mut Vec<Fact>) {
        let stands = self.state.definition().is_some() && !self.is_over();
        if stands || self.closed_by.is_some_and(|by| by != closed_by) {
            return;
        }
        let mut definition = self.definition(MarketStatus::Suspended, self.in_play());
        for selection in &mut definition.selections {
            selection.status = SelectionStatus::Active;
            selection.terms = None;
        }
        self.closed_by = None;
        self.state.define(&self.key, definition, facts);
    }

    /// Defines a market that is mentioned before its odds, as suspended.
    pub(super) fn introduce(&mut self, facts: &mut Vec<Fact>) {
        if self.state.definition().is_none() {
            let definition = self.definition(MarketStatus::Suspended, false);
            self.state.define(&self.key, definition, facts);
        }
    }

    pub(super) fn in_play(&self) -> bool {
        self.state.definition().is_some_and(|it| it.in_play)
    }

    fn definition(&self, status: MarketStatus, in_play: bool) -> MarketDefinition {
        let before = self.state.definition();
        MarketDefinition {
            kind: self.kind.name.clone(),
            name: self.kind.label.clone(),
            line: self.kind.line,
            period: self.kind.period.clone(),
            status,
            in_play,
            selections: before.map(|it| self.named(&it.selections)).unwrap_or_default(),
            terms: None,
        }
    }

    /// These selections, with their names.
    fn named(&self, selections: &[SelectionDefinition]) -> Vec<SelectionDefinition> {
        let mut selections = selections.to_vec();
        if let Some(provider_names) = &self.provider_names {
            for selection in &mut selections {
                if let Some(Some(name)) = provider_names.outcomes.get(&selection.id) {
                    selection.name = Some(Arc::clone(name));
                }
            }
        }
        selections
    }

    fn outcome_name(&self, id: &str) -> Option<Arc<str>> {
        match &self.provider_names {
            Some(provider_names) => provider_names.outcomes.get(id).cloned().flatten(),
            None => self.kind.outcome_name(id).map(Into::into),
        }
    }

    /// The outcome's selection, made known if it is not. Outcomes that a message does not name stay.
    fn selection<'a>(
        &mut self,
        outcome: &UofOutcome,
        definition: &'a mut MarketDefinition,
    ) -> Option<&'a mut SelectionDefinition> {
        let index = self.places.get(outcome.id.as_str()).copied();
        if index.is_none() && definition.selections.len() >= OUTCOMES_MAX {
            return None;
        }
        let index = index.unwrap_or_else(|| {
            let id: Arc<str> = outcome.id.as_str().into();
            self.places.insert(id.clone(), definition.selections.len());
            definition.selections.push(SelectionDefinition {
                outcome: self.kind.outcome(&id, self.sport),
                id,
                name: self.outcome_name(&outcome.id),
                status: SelectionStatus::Active,
                terms: None,
            });
            definition.selections.len() - 1
        });
        definition.selections.get_mut(index)
    }
}

/// The status of a market with which another producer goes on.
const HANDED_OVER: i32 = -2;

/// A market without outcomes and without a status says nothing; with outcomes it is active. A
/// status that we do not know must not look as if one could bet.
fn status(change: &decode::Market, current: Option<MarketStatus>) -> Option<MarketStatus> {
    Some(match change.status {
        Some(1) => MarketStatus::Open,
        Some(0) => MarketStatus::Inactive,
        Some(-3 | -4) => MarketStatus::Closed,
        // Among them -1, suspended, and HANDED_OVER.
        Some(_) => MarketStatus::Suspended,
        None if !change.outcomes.is_empty() => MarketStatus::Open,
        None => current?,
    })
}

fn result(outcome: &UofOutcome) -> Option<SelectionStatus> {
    let returned = outcome.void_factor.unwrap_or_default();
    let in_part = returned > Decimal::ZERO;
    Some(match outcome.result? {
        _ if returned >= Decimal::ONE => SelectionStatus::Removed,
        1 if in_part => SelectionStatus::HalfWon,
        1 => SelectionStatus::Winner,
        0 if in_part => SelectionStatus::HalfLost,
        0 => SelectionStatus::Loser,
        _ => return None,
    })
}

fn void(definition: &mut MarketDefinition) {
    for selection in &mut definition.selections {
        selection.status = SelectionStatus::Removed;
    }
}
