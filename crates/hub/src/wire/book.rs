//! One bookmaker's book: `markets{id:{.., selections{id:{..}}}}`, and its events.

use std::borrow::Cow;

use facts::event::{MarketStatus, SelectionStatus};

use super::{
    DocumentHeader,
    declare::Field,
    odds::{
        self, CorrectedMarket, Hold, HoldEnd, MarketEvent, MarketInPlay, MarketOpen, MarketReopen,
        MarketResume, MarketSettle, MarketSuspend, Odds, OddsEvent, SettlementCorrect,
    },
    values::{self, Decimal, List, Map, Text},
};
use crate::{
    document::{FieldKey, Node, Object},
    hub::{
        Header,
        state::{
            Book, BookDelta, BookEvent, BookPart, GuardChange, Ladder, LadderKind, Market,
            Selection, SelectionExtras, Transition,
        },
    },
    patch::{FieldList, Patch},
};

#[must_use]
pub fn image(book: &Book, header: Header, stale_after_ms: u32) -> Object {
    let mut image = Object::default();
    super::set_header(&mut image, header);
    image.put(DocumentHeader::stale_after_ms(), stale_after_ms);
    let markets = image.object(Odds::markets());
    markets.reserve(book.markets.len());
    for market in &book.markets {
        let out = markets.add_object(&market.id);
        terms(out, market, false);
        if !market.selections.is_empty() {
            let selections = out.object(odds::Market::selections());
            selections.reserve(market.selections.len());
            for selection in &market.selections {
                selection_image(selections.add_object(&selection.id), selection);
            }
        }
        transitions(out, market);
        out.put_some(odds::Market::volume(), market.volume);
    }
    image
}

fn selection_image(out: &mut Object, selection: &Selection) {
    entry(out, selection, false);
    best_prices(selection).into_iter().for_each(|(field, value)| out.put_some(field, value));
    out.put_some(odds::Selection::last(), selection.last);
    out.put_some(odds::Selection::volume(), selection.volume);
    projected(selection).into_iter().for_each(|(field, value)| out.put_some(field, value));
    for rung in LadderKind::ALL {
        ladder(out, rung, selection.ladder(rung));
    }
}

#[must_use]
pub fn patch(book: &Book, delta: &BookDelta, before: Header, after: Header) -> Patch {
    let header = super::header_patch(before, after);
    let parts = in_order(&delta.parts);
    if !parts.iter().any(|part| part.is_of_definition()) {
        return numbers(book, &parts, header).into();
    }
    let mut patch = header;
    let markets = patch.object(Odds::markets());
    for part in parts.iter().filter(|part| part.is_of_definition()) {
        let market = &book.markets[part.market()];
        definition_part(markets.object(&market.id), market, *part);
    }
    let mut patch = Patch::from(patch);
    let numbers = numbers(book, &parts, Object::default());
    patch.merge(&numbers.into()).expect("a definition deletes no object");
    patch
}

/// The parts of each market, selection and ladder next to each other, as they nearly always are.
fn in_order(parts: &[BookPart]) -> Cow<'_, [BookPart]> {
    let group = |part: &BookPart| (part.market(), part.selection(), part.ladder());
    if parts.is_sorted_by_key(group) {
        return Cow::Borrowed(parts);
    }
    let mut parts = parts.to_vec();
    parts.sort_by_key(group);
    Cow::Owned(parts)
}

/// Prices, sizes and volumes, behind these other fields of the document.
fn numbers(book: &Book, parts: &[BookPart], header: Object) -> FieldList {
    let by_market = || parts.chunk_by(|part, next| part.market() == next.market());
    let mut out = FieldList::from(header);
    out.reserve(1 + by_market().map(field_count).sum::<usize>());
    let mut is_open = false;
    for parts in by_market() {
        if parts.iter().all(|part| part.is_of_definition()) {
            continue;
        }
        if !is_open {
            out.open(0, Odds::markets());
            is_open = true;
        }
        let market = &book.markets[parts[0].market()];
        out.open(1, &market.id);
        let (of_market, of_selections) =
            parts.split_at(parts.partition_point(|part| part.selection().is_none()));
        if of_market.iter().any(|part| matches!(part, BookPart::Volume(_))) {
            out.set_or_null(2, odds::Market::volume(), market.volume);
        }
        let mut of_selections =
            of_selections.chunk_by(|part, next| part.selection() == next.selection()).peekable();
        if of_selections.peek().is_some() {
            out.open(2, odds::Market::selections());
        }
        for parts in of_selections {
            let Some(selection) = parts[0].selection() else { continue };
            let selection = &market.selections[selection];
            out.open(3, &selection.id);
            selection_numbers(&mut out, selection, parts);
        }
    }
    out
}

/// Fields that these parts of one market take, at most.
fn field_count(parts: &[BookPart]) -> usize {
    let of_part = |part: &BookPart| match part {
        BookPart::Price(..) => 3,
        BookPart::Projected(..) => 2,
        _ => 1,
    };
    let target = |part: &BookPart| (part.selection(), part.ladder());
    let places = parts.chunk_by(|part, next| target(part) == target(next));
    // The market, `selections`, and for each ladder its name and perhaps its selection.
    2 + 2 * places.count() + parts.iter().map(of_part).sum::<usize>()
}

/// The numbers of one selection, which has been opened.
fn selection_numbers(out: &mut FieldList, selection: &Selection, parts: &[BookPart]) {
    for parts in parts.chunk_by(|part, next| part.ladder() == next.ladder()) {
        if let Some(ladder) = parts[0].ladder() {
            out.open(4, ladder_field(ladder));
        }
        for part in parts {
            match *part {
                BookPart::Price(..) => {
                    for (field, value) in best_prices(selection) {
                        out.set_or_null(4, field, value);
                    }
                }
                BookPart::Last(..) => {
                    out.set_or_null(4, odds::Selection::last(), selection.last);
                }
                BookPart::SelectionVolume(..) => {
                    out.set_or_null(4, odds::Selection::volume(), selection.volume);
                }
                BookPart::Projected(..) => {
                    for (field, value) in projected(selection) {
                        out.set_or_null(4, field, value);
                    }
                }
                BookPart::Rung(.., level) => {
                    let size = (!level.size.is_zero()).then_some(level.size);
                    out.set_or_null(5, FieldKey::price(level.price), size);
                }
                BookPart::Definition(_) | BookPart::Transition(..) | BookPart::Volume(_) => {}
            }
        }
    }
}

fn definition_part(out: &mut Object, market: &Market, part: BookPart) {
    match part {
        BookPart::Definition(_) => definition_patch(out, market),
        BookPart::Transition(_, number) => transition_patch(out, market, number),
        BookPart::Volume(_)
        | BookPart::Price(..)
        | BookPart::Last(..)
        | BookPart::SelectionVolume(..)
        | BookPart::Projected(..)
        | BookPart::Rung(..) => {}
    }
}

fn definition_patch(out: &mut Object, market: &Market) {
    terms(out, market, true);
    if market.selections.is_empty() {
        return;
    }
    let selections = out.object(odds::Market::selections());
    // Without prices before the definition, none has to be looked for.
    let is_new = selections.is_empty();
    for selection in &market.selections {
        let out = if is_new {
            selections.add_object(&selection.id)
        } else {
            selections.object(&selection.id)
        };
        entry(out, selection, true);
    }
}

/// The definition of a market but for its selections.
fn terms(out: &mut Object, market: &Market, patch: bool) {
    out.put(odds::Market::kind(), &market.kind);
    out.put_optional(odds::Market::name(), market.name.as_ref(), patch);
    out.put_optional(odds::Market::line(), market.line, patch);
    out.put_optional(odds::Market::period(), market.period.as_ref(), patch);
    out.put(odds::Market::status(), market.status);
    out.put(odds::Market::in_play(), market.in_play);
    let Some(terms) = market.terms.as_deref() else { return };
    let models = &terms.bet_delay_models;
    let models = (!models.is_empty()).then(|| List::<Text>::from_iter(models));
    let suspend_reason = terms.suspend_reason.as_ref();
    out.put_optional(odds::Market::number_of_winners(), terms.number_of_winners, patch);
    out.put_optional(odds::Market::each_way_divisor(), terms.each_way_divisor, patch);
    out.put_optional(odds::Market::bet_delay(), terms.bet_delay, patch);
    out.put_optional(odds::Market::bet_delay_models(), models, patch);
    out.put_optional(odds::Market::market_base_rate(), terms.market_base_rate, patch);
    out.put_optional(odds::Market::suspend_reason(), suspend_reason, patch);
}

/// The definition of a selection.
fn entry(out: &mut Object, selection: &Selection, patch: bool) {
    out.put_optional(odds::Selection::name(), selection.name.as_ref(), patch);
    out.put_optional(odds::Selection::outcome(), selection.outcome, patch);
    out.put(odds::Selection::status(), selection.status);
    let Some(SelectionExtras { terms, .. }) = selection.extras() else { return };
    out.put_optional(odds::Selection::adjustment_factor(), terms.adjustment_factor, patch);
    out.put_optional(odds::Selection::removal_date(), terms.removal_date, patch);
    out.put_optional(odds::Selection::bsp(), terms.bsp, patch);
    out.put_optional(odds::Selection::dead_heat_factor(), terms.dead_heat_factor, patch);
}

fn transitions(out: &mut Object, market: &Market) {
    let first = u64::from(market.transitions_dropped) + 1;
    for (number, stored) in (first..).zip(&market.transitions) {
        let transitions = out.object(odds::Market::transitions());
        transitions.set(FieldKey::Int(number), odds::Transition::from(*stored));
    }
}

/// A transition, and the removal of the oldest one if the number stored is exceeded.
fn transition_patch(out: &mut Object, market: &Market, number: u32) {
    let out = out.object(odds::Market::transitions());
    let stored = market.numbered(number).map(|stored| odds::Transition::from(*stored));
    out.set_or_null(FieldKey::Int(number.into()), stored);
    if number > Market::TRANSITIONS_MAX {
        out.set(FieldKey::Int((number - Market::TRANSITIONS_MAX).into()), Node::Null);
    }
}

impl From<Transition> for odds::Transition {
    fn from(Transition { at, status, in_play }: Transition) -> Self {
        Self { at: at.into(), status: status.into(), in_play }
    }
}

/// A price, and its field.
type PriceField = (Field<Option<Decimal>>, Option<rust_decimal::Decimal>);

/// The best prices to back and lay, and the price before.
fn best_prices(selection: &Selection) -> [PriceField; 3] {
    [
        (odds::Selection::price(), selection.price),
        (odds::Selection::prev(), selection.prev),
        (odds::Selection::lay(), selection.best_lay()),
    ]
}

/// The projected starting prices.
fn projected(selection: &Selection) -> [PriceField; 2] {
    let extras = selection.extras();
    let near = extras.and_then(|extras| extras.near_price);
    let far = extras.and_then(|extras| extras.far_price);
    [(odds::Selection::near_price(), near), (odds::Selection::far_price(), far)]
}

fn ladder(out: &mut Object, rung: LadderKind, ladder: &Ladder) {
    if !ladder.is_present() {
        return;
    }
    let out = out.object(ladder_field(rung));
    out.reserve(ladder.levels().len());
    for level in ladder.levels() {
        out.add(FieldKey::price(level.price), level.size);
    }
}

fn ladder_field(kind: LadderKind) -> Field<Option<odds::Ladder>> {
    match kind {
        LadderKind::Back => odds::Selection::back(),
        LadderKind::Lay => odds::Selection::lays(),
        LadderKind::Traded => odds::Selection::traded(),
    }
}

#[must_use]
pub fn events(book: &Book, events: &[BookEvent]) -> Vec<Node> {
    events.iter().map(|event| self::event(book, event).into()).collect()
}

/// One event for each change of a market's status or in-play flag, and one each time that a closed
/// market is settled again.
fn event(book: &Book, event: &BookEvent) -> OddsEvent {
    match event {
        &BookEvent::Moved { market, number, transition, before } => {
            moved(&book.markets[market], number, transition, before)
        }
        &BookEvent::Resettled { market, number, times } => {
            resettled(&book.markets[market], number, times)
        }
        BookEvent::Guard(change) => guard(change),
    }
}

fn moved(
    market: &Market,
    number: u32,
    transition: Transition,
    before: Option<(MarketStatus, bool)>,
) -> OddsEvent {
    let Transition { at, status, in_play } = transition;
    let eid = format!("{}:{number}", market.id).into();
    let event = MarketEvent {
        market: (&market.id).into(),
        status: status.into(),
        in_play: Some(in_play),
        at: Some(at.into()),
    };
    match (before.map(|(status, _)| status), status) {
        (_, MarketStatus::Closed) => {
            let (winners, results) = (winners(market), results(market));
            let dead_heat_factors = dead_heat_factors(market);
            MarketSettle { eid, event, winners, results, dead_heat_factors }.into()
        }
        (Some(MarketStatus::Open) | None, MarketStatus::Suspended | MarketStatus::Inactive) => {
            MarketSuspend { eid, event }.into()
        }
        (Some(MarketStatus::Closed), _) => MarketReopen { eid, event }.into(),
        (Some(MarketStatus::Suspended | MarketStatus::Inactive), MarketStatus::Open) => {
            MarketResume { eid, event }.into()
        }
        (None, MarketStatus::Open) => MarketOpen { eid, event }.into(),
        // The status is unchanged, or equivalent: the market turned in-play.
        _ => MarketInPlay { eid, event }.into(),
    }
}

fn resettled(market: &Market, number: u32, times: u32) -> OddsEvent {
    let transition = format!("{}:{number}", market.id);
    let correct = SettlementCorrect {
        eid: format!("correct-{transition}-{times}").into(),
        target: CorrectedMarket::Book { of: transition.into(), market: (&market.id).into() },
        winners: winners(market),
        results: results(market),
        dead_heat_factors: dead_heat_factors(market),
    };
    correct.into()
}

/// The hub suspends the whole book, or resumes it.
fn guard(change: &GuardChange) -> OddsEvent {
    match change {
        GuardChange::Suspended { number, why, eid } => {
            let of = eid.as_ref().map(Text::from);
            Hold { eid: format!("hold-{number}").into(), why: (*why).into(), of }.into()
        }
        GuardChange::Resumed { number } => {
            let (eid, of) = (format!("lift-{number}").into(), format!("hold-{number}").into());
            HoldEnd { eid, of }.into()
        }
    }
}

fn winners(market: &Market) -> List<Text> {
    let won = market.selections.iter().filter(|selection| selection.status.has_won());
    won.map(|selection| &selection.id).collect()
}

/// The result of each selection, where the winners alone do not tell it.
fn results(market: &Market) -> Option<Map<values::SelectionStatus>> {
    let is_partial = |selection: &Selection| {
        matches!(
            selection.status,
            SelectionStatus::HalfWon | SelectionStatus::HalfLost | SelectionStatus::Push
        )
    };
    let results = market.selections.iter().map(|selection| (&selection.id, selection.status));
    market.selections.iter().any(is_partial).then(|| results.collect())
}

/// The part of the stake that wins, where several share a win.
fn dead_heat_factors(market: &Market) -> Option<Map<Decimal>> {
    let won = market.selections.iter().filter(|selection| selection.status.has_won());
    let factors = won.filter_map(|it| Some((&it.id, it.dead_heat_factor()?)));
    let factors: Map<Decimal> = factors.collect();
    (!factors.is_empty()).then_some(factors)
}
