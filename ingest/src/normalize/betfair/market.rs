//! The state of one market, needed to detect its changes.
//!
//! Before a market closes, Betfair wipes it: each runner that has traded gets `tv` 0, all of `trd`
//! removed, and an `ltp` that means nothing (2.0 on both players of a tennis match). In four
//! recorded markets this is a message of its own after the last suspension, in one it comes in the
//! message of a repeated SUSPENDED definition, and on a live stream together with CLOSED. It can
//! always be recognised by the runner: a `tv` of 0 on one that has traded. From then on, until it
//! trades again, its `ltp` is counted but not reported, and the last meaningful price stays. So do
//! `trd` and `tv`, and the market's own `tv`: what was matched is true for ever. The ladders of
//! offers are reported as received.
//!
//! The volume of a runner is its `tv`, or what its `trd` come to where that is more (`traded.rs`).
//! The market's is only its `tv`: PRO files have none, and none is reported.

use std::{mem, sync::Arc};

use facts::event::{
    Id, MarketChange, MarketDefinition, MarketStatus, MarketTerms, Outcome, SelectionChange,
    SelectionDefinition, SelectionStatus, SelectionTerms, Sport,
};
use rust_decimal::Decimal;

use super::{
    fixture::Match,
    kind::Kind,
    ladder::{self, Ladder},
    time,
    traded::Traded,
};
use crate::{
    decode::betfair::{RunnerChange, RunnerDefinition, RunnerKey, StreamMarketDefinition, quoted},
    error::{DecodeError, RefusalKind, Result},
};

/// Runners of one market. The largest recorded market has 338 (a scorecast). One costs 150 bytes,
/// 32 more for each price at which it was traded, and 36 for each level where its ladders come by
/// level.
pub(super) const RUNNERS_MAX: usize = 2000;

/// More digits than any exact part of a stake has: those of a third have no end.
const EXACT_SCALE_MAX: u32 = 6;

/// Changes of a market that are held for runners not yet named: a few messages of one runner.
const HELD_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Market {
    pub(super) id: Arc<str>,
    pub(super) event_id: Arc<str>,
    /// Of its match: see [`super::fixture::key`].
    pub(super) match_key: Arc<str>,
    pub(super) match_id: Id,
    pub(super) sport: Sport,
    /// The image of the subscription in which it came last.
    pub(super) image: u64,
    /// Its definition as it was reported; and, where that is stored, as it was received.
    pub(super) defined: Option<MarketDefinition>,
    pub(super) received: Option<StreamMarketDefinition<'static>>,
    /// Of its last definition.
    pub(super) version: Option<u64>,
    status: MarketStatus,
    /// Whether its prices are decimal odds. Those of a `LINE` or a `RANGE` market are the line itself, such as 232.5 points.
    has_odds: bool,
    /// Changes of runners that no definition has named so far.
    held: Vec<SelectionChange>,
    /// What was matched before it was wiped.
    matched: Option<Decimal>,
    /// Few enough in nearly all markets that looking from the start is the fastest.
    runners: Vec<Runner>,
}

/// Whether a market can be forgotten once the message is done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Closing {
    Stays,
    Closed(Arc<str>),
}

#[derive(Debug)]
struct Runner {
    key: RunnerKey,
    id: Arc<str>,
    /// Whether a definition has named it.
    is_defined: bool,
    trading: Trading,
    back: Ladder,
    lay: Ladder,
    traded: Traded,
    /// What was matched before it was wiped.
    matched: Option<Decimal>,
}

/// The runner's `tv` so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trading {
    /// Nothing, or 0: the lesser feeds never send it.
    Unheard,
    Traded,
    /// It was set back to 0, so last prices mean nothing.
    Wiped,
}

impl Market {
    pub(super) fn new(id: &str, event_id: Arc<str>, of_event: &Match, image: u64) -> Self {
        Self {
            id: id.into(),
            event_id,
            match_key: of_event.key(),
            match_id: of_event.id,
            sport: of_event.sport,
            image,
            defined: None,
            received: None,
            version: None,
            has_odds: true,
            held: Vec::new(),
            matched: None,
            status: MarketStatus::Inactive,
            runners: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn runners_known(&self) -> usize {
        self.runners.len()
    }

    pub(super) fn closing(&self) -> Closing {
        match self.status {
            MarketStatus::Closed => Closing::Closed(self.id.clone()),
            MarketStatus::Inactive | MarketStatus::Open | MarketStatus::Suspended => Closing::Stays,
        }
    }

    /// Forgets the ladders, because an image follows. That a runner was wiped holds: the image of a
    /// wiped market repeats the `ltp` without meaning.
    pub(super) fn clear(&mut self) {
        for runner in &mut self.runners {
            (runner.back, runner.lay, runner.traded) = Default::default();
        }
        self.held.clear();
    }

    pub(super) fn define(
        &mut self,
        definition: &StreamMarketDefinition<'_>,
        notices: &mut Vec<DecodeError>,
    ) -> MarketDefinition {
        self.status = market_status(definition.status.as_deref(), notices);
        let has_odds = has_odds(definition.betting_type.as_deref());
        if self.has_odds && !has_odds {
            let betting_type = definition.betting_type.as_deref().unwrap_or_default();
            let reason = format!("market {} is of {}: no odds", self.id, quoted(betting_type));
            notices.push(DecodeError::new(RefusalKind::Value, reason));
        }
        self.has_odds = has_odds;
        let kind = Kind::from_definition(definition);
        let outcomes = kind.outcomes(definition, self.sport);
        let before = self.defined.take();
        let selections_before = before.as_ref().map_or(&[][..], |before| &before.selections);
        let mut selections = Vec::with_capacity(definition.runners.len());
        let mut is_named = vec![false; self.runners.len() + definition.runners.len()];
        for (index, (runner, outcome)) in definition.runners.iter().zip(outcomes).enumerate() {
            match self.runner_index(runner.key, index) {
                Ok(at) => {
                    is_named[at] = true;
                    let defined_runner = &mut self.runners[at];
                    defined_runner.is_defined = true;
                    let before = selections_before.get(index);
                    selections.push(selection(defined_runner, before, runner, outcome, notices));
                }
                Err(refused) => notices.push(refused),
            }
        }
        // That a definition does not name a runner is no statement about it.
        let others = self.runners.iter().zip(is_named).filter(|(_, is_named)| !is_named);
        selections.extend(others.filter_map(|(runner, _)| {
            selections_before.iter().find(|selection| selection.id == runner.id).cloned()
        }));
        let is_settled = self.status == MarketStatus::Closed;
        if is_settled && definition.number_of_winners == Some(1) && !has_places(definition) {
            share(&mut selections);
        }
        let defined = MarketDefinition {
            name: shared(
                definition.name.as_deref(),
                before.as_ref().and_then(|it| it.name.as_ref()),
            ),
            kind: kind.name,
            line: kind.line,
            period: kind.period,
            status: self.status,
            in_play: definition.in_play,
            selections,
            terms: terms(definition),
        };
        self.defined = Some(defined.clone());
        defined
    }

    /// The changes of the runners as ours, or `None` when they come to nothing. Takes their ladders.
    pub(super) fn prices(
        &mut self,
        changes: &mut [RunnerChange],
        volume: Option<Decimal>,
        notices: &mut Vec<DecodeError>,
    ) -> Option<MarketChange> {
        let mut selections = Vec::with_capacity(changes.len());
        let mut next = 0;
        for change in changes {
            match self.runner_index(change.key, next) {
                Ok(at) if !self.runners[at].is_defined => {
                    let before = selections.len();
                    self.runners[at].apply(change, &mut selections);
                    self.hold(selections.drain(before..).collect(), notices);
                }
                Ok(at) => {
                    self.runners[at].apply(change, &mut selections);
                    next = at + 1;
                }
                Err(refused) => notices.push(refused),
            }
        }
        self.keep_odds(&mut selections);
        let is_wiped = volume.is_some_and(|volume| volume.is_zero());
        let volume = if is_wiped { self.matched.or(volume) } else { volume };
        self.matched = volume.or(self.matched);
        let says_something = !selections.is_empty() || volume.is_some();
        says_something.then_some(MarketChange::Prices { selections, volume })
    }

    /// Keeps changes of a runner that no definition has named, until one does.
    fn hold(&mut self, changes: Vec<SelectionChange>, notices: &mut Vec<DecodeError>) {
        for change in changes {
            if self.held.len() < HELD_MAX {
                self.held.push(change);
            } else {
                let reason = format!("market {} has no runner {}", self.id, change.id);
                notices.push(DecodeError::new(RefusalKind::Unknown, reason));
            }
        }
    }

    /// What was held of runners that are named now.
    pub(super) fn held_prices(&mut self) -> Option<MarketChange> {
        if self.held.is_empty() {
            return None;
        }
        let runners = &self.runners;
        let is_named = |change: &mut SelectionChange| {
            runners.iter().any(|runner| runner.id == change.id && runner.is_defined)
        };
        let mut selections: Vec<_> = self.held.extract_if(.., is_named).collect();
        self.keep_odds(&mut selections);
        (!selections.is_empty()).then_some(MarketChange::Prices { selections, volume: None })
    }

    /// Removes the prices where they are no odds; what was matched remains.
    fn keep_odds(&self, selections: &mut Vec<SelectionChange>) {
        if self.has_odds {
            return;
        }
        for change in selections.iter_mut() {
            change.last = None;
            change.near_price = None;
            change.far_price = None;
            change.back.clear();
            change.lay.clear();
            change.traded.clear();
        }
        selections.retain(|change| change.volume.is_some());
    }

    /// The index of the runner, added if it is not known. Definitions name all runners, but a price of another is worth more
    /// than the order. It is looked for at `guess` first: definitions and images name all runners in the same order.
    fn runner_index(&mut self, key: RunnerKey, guess: usize) -> Result<usize> {
        if self.runners.get(guess).is_some_and(|runner| runner.key == key) {
            return Ok(guess);
        }
        let existing = self.runners.iter().position(|runner| runner.key == key);
        if existing.is_none() && self.runners.len() >= RUNNERS_MAX {
            let reason = format!("market {} has more than {RUNNERS_MAX} runners", self.id);
            return Err(DecodeError::new(RefusalKind::Value, reason));
        }
        Ok(existing.unwrap_or_else(|| {
            self.runners.push(Runner::new(key));
            self.runners.len() - 1
        }))
    }
}

impl Runner {
    fn new(key: RunnerKey) -> Self {
        let id = match key.hc.is_zero() {
            true => key.id.to_string(),
            false => format!("{}@{}", key.id, key.hc),
        };
        let (back, lay, traded) = Default::default();
        let (trading, matched) = (Trading::Unheard, None);
        Self { key, id: id.into(), is_defined: false, trading, back, lay, traded, matched }
    }

    /// Adds what the change comes to, if it is anything.
    fn apply(&mut self, change: &mut RunnerChange, selections: &mut Vec<SelectionChange>) {
        if let Some(tv) = change.tv {
            self.trading = self.trading.after(tv);
        }
        self.traded.apply(&change.trd);
        let is_wiped = self.trading == Trading::Wiped;
        let last = change.ltp.filter(|_| !is_wiped);
        let volume = change.tv.map(|tv| self.traded.volume(tv));
        let volume = if is_wiped { volume.and(self.matched) } else { volume };
        self.matched = volume.or(self.matched);
        let back = self.back.apply(mem::take(&mut change.atb), &change.bdatb, &change.batb);
        let lay = self.lay.apply(mem::take(&mut change.atl), &change.bdatl, &change.batl);
        let traded = ladder::rungs(mem::take(&mut change.trd));
        let traded = if is_wiped { Vec::new() } else { traded };
        let (near_price, far_price) = (change.spn, change.spf);
        let has_levels = [&back, &lay, &traded].into_iter().any(|ladder| !ladder.is_empty());
        let numbers = [last, volume, near_price, far_price];
        if has_levels || numbers.iter().any(Option::is_some) {
            selections.push(SelectionChange {
                id: self.id.clone(),
                price: None,
                last,
                volume,
                near_price,
                far_price,
                back,
                lay,
                traded,
            });
        }
    }
}

impl Trading {
    fn after(self, tv: Decimal) -> Self {
        match self {
            Self::Traded | Self::Wiped if tv.is_zero() => Self::Wiped,
            Self::Unheard if tv.is_zero() => Self::Unheard,
            Self::Unheard | Self::Traded | Self::Wiped => Self::Traded,
        }
    }
}

/// Whether the prices of a betting type are decimal odds. Historic files of a lesser kind have none.
fn has_odds(betting_type: Option<&str>) -> bool {
    matches!(
        betting_type,
        None | Some("ODDS" | "ASIAN_HANDICAP_SINGLE_LINE" | "ASIAN_HANDICAP_DOUBLE_LINE")
    )
}

/// `before`: a selection of the last definition, nearly always this one.
fn selection(
    entry: &Runner,
    before: Option<&SelectionDefinition>,
    runner: &RunnerDefinition<'_>,
    outcome: Option<Outcome>,
    notices: &mut Vec<DecodeError>,
) -> SelectionDefinition {
    SelectionDefinition {
        id: entry.id.clone(),
        name: shared(runner.name.as_deref().map(str::trim), before.and_then(|it| it.name.as_ref())),
        status: selection_status(runner.status.as_deref(), notices),
        outcome,
        terms: runner_terms(runner, notices),
    }
}

/// A text, which shares the memory of the one before it where that is the same.
fn shared(text: Option<&str>, before: Option<&Arc<str>>) -> Option<Arc<str>> {
    let text = text?;
    Some(before.filter(|before| &***before == text).map_or_else(|| text.into(), Arc::clone))
}

/// `None` where the definition states none.
fn terms(definition: &StreamMarketDefinition<'_>) -> Option<Box<MarketTerms>> {
    let models = definition.bet_delay_models.iter().map(|model| Arc::from(&**model));
    let terms = MarketTerms {
        number_of_winners: definition.number_of_winners,
        each_way_divisor: definition.each_way_divisor,
        bet_delay: definition.bet_delay,
        bet_delay_models: models.collect(),
        market_base_rate: definition.market_base_rate,
        suspend_reason: definition.suspend_reason.as_deref().map(Arc::from),
    };
    (terms != MarketTerms::default()).then(|| Box::new(terms))
}

fn runner_terms(
    runner: &RunnerDefinition<'_>,
    notices: &mut Vec<DecodeError>,
) -> Option<Box<SelectionTerms>> {
    let terms = SelectionTerms {
        adjustment_factor: runner.adjustment_factor,
        removal_date: time::moment("removalDate", runner.removal_date.as_deref(), notices),
        bsp: runner.bsp.filter(|price| !price.is_zero()),
        dead_heat_factor: None,
    };
    (terms != SelectionTerms::default()).then(|| Box::new(terms))
}

/// Whether runners are paid for a place besides the winner, as each way.
fn has_places(definition: &StreamMarketDefinition<'_>) -> bool {
    definition.runners.iter().any(|runner| runner.status.as_deref() == Some("PLACED"))
}

/// Divides the stakes between the winners of a dead heat, where a decimal has the quotient: a half, a quarter, a fifth. With
/// several places the market does not say which of the winners share the last one.
fn share(selections: &mut [SelectionDefinition]) {
    let has_won = |it: &&mut SelectionDefinition| it.status == SelectionStatus::Winner;
    let winners = Decimal::from(selections.iter_mut().filter(has_won).count());
    let part = Decimal::ONE.checked_div(winners).map(|part| part.normalize());
    let is_exact = |part: &Decimal| *part < Decimal::ONE && part.scale() <= EXACT_SCALE_MAX;
    let Some(factor) = part.filter(is_exact) else { return };
    for winner in selections.iter_mut().filter(has_won) {
        winner.terms.get_or_insert_default().dead_heat_factor = Some(factor);
    }
}

/// An unknown status must not look open for betting: it is reported as suspended.
fn market_status(status: Option<&str>, notices: &mut Vec<DecodeError>) -> MarketStatus {
    match status {
        Some("INACTIVE") => MarketStatus::Inactive,
        Some("OPEN") => MarketStatus::Open,
        Some("SUSPENDED") => MarketStatus::Suspended,
        Some("CLOSED") => MarketStatus::Closed,
        other => {
            notices.push(strange_status("market", other));
            MarketStatus::Suspended
        }
    }
}

/// PLACED pays in part in each-way markets, which is a win that we have no other word for.
/// HIDDEN is a horse without an official entry; it comes back as ACTIVE. One that we do not know
/// must not look as if one could bet on it.
fn selection_status(status: Option<&str>, notices: &mut Vec<DecodeError>) -> SelectionStatus {
    match status {
        Some("ACTIVE") => SelectionStatus::Active,
        Some("WINNER" | "PLACED") => SelectionStatus::Winner,
        Some("LOSER") => SelectionStatus::Loser,
        Some("REMOVED" | "REMOVED_VACANT" | "HIDDEN") => SelectionStatus::Removed,
        other => {
            notices.push(strange_status("runner", other));
            SelectionStatus::Removed
        }
    }
}

fn strange_status(problem: &str, status: Option<&str>) -> DecodeError {
    let reason = format!("{problem} status {} is not known", quoted(status.unwrap_or("none")));
    DecodeError::new(RefusalKind::Value, reason)
}
