//! One bookmaker's book: `markets{id:{.., selections{id:{..}}}}`, and its events.

use std::borrow::Cow;

use facts::event::{MarketStatus, Outcome, SelectionStatus};
use rust_decimal::Decimal;

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
    image.set("stale_after_ms", stale_after_ms);
    let markets = image.object("markets");
    markets.reserve(book.markets.len());
    for market in &book.markets {
        let out = markets.add_object(&market.id);
        terms(out, market, false);
        if !market.selections.is_empty() {
            let selections = out.object("selections");
            selections.reserve(market.selections.len());
            for selection in &market.selections {
                selection_image(selections.add_object(&selection.id), selection);
            }
        }
        transitions(out, market);
        out.set_some("volume", market.volume);
    }
    image
}

fn selection_image(out: &mut Object, selection: &Selection) {
    entry(out, selection, false);
    best_prices(selection).into_iter().for_each(|(name, value)| out.set_some(name, value));
    out.set_some("last", selection.last);
    out.set_some("volume", selection.volume);
    projected(selection).into_iter().for_each(|(name, value)| out.set_some(name, value));
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
    let markets = patch.object("markets");
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
            out.open(0, "markets");
            is_open = true;
        }
        let market = &book.markets[parts[0].market()];
        out.open(1, &market.id);
        let (of_market, of_selections) =
            parts.split_at(parts.partition_point(|part| part.selection().is_none()));
        if of_market.iter().any(|part| matches!(part, BookPart::Volume(_))) {
            out.set_or_null(2, "volume", market.volume);
        }
        let mut of_selections =
            of_selections.chunk_by(|part, next| part.selection() == next.selection()).peekable();
        if of_selections.peek().is_some() {
            out.open(2, "selections");
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
            out.open(4, rung_name(ladder));
        }
        for part in parts {
            match *part {
                BookPart::Price(..) => {
                    for (name, value) in best_prices(selection) {
                        out.set_or_null(4, name, value);
                    }
                }
                BookPart::Last(..) => out.set_or_null(4, "last", selection.last),
                BookPart::SelectionVolume(..) => out.set_or_null(4, "volume", selection.volume),
                BookPart::Projected(..) => {
                    for (name, value) in projected(selection) {
                        out.set_or_null(4, name, value);
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
    let selections = out.object("selections");
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
    out.set("kind", &market.kind);
    super::set(out, "name", market.name.as_ref(), patch);
    super::set(out, "line", market.line, patch);
    super::set(out, "period", market.period.as_ref(), patch);
    out.set("status", market.status.as_str());
    out.set("in_play", market.in_play);
    let Some(terms) = market.terms.as_deref() else { return };
    let models = terms.bet_delay_models.iter().map(Node::from);
    let models = (!terms.bet_delay_models.is_empty()).then(|| Node::List(models.collect()));
    super::set(out, "number_of_winners", terms.number_of_winners, patch);
    super::set(out, "each_way_divisor", terms.each_way_divisor, patch);
    super::set(out, "bet_delay", terms.bet_delay, patch);
    super::set(out, "bet_delay_models", models, patch);
    super::set(out, "market_base_rate", terms.market_base_rate, patch);
    super::set(out, "suspend_reason", terms.suspend_reason.as_ref(), patch);
}

/// The definition of a selection.
fn entry(out: &mut Object, selection: &Selection, patch: bool) {
    super::set(out, "name", selection.name.as_ref(), patch);
    super::set(out, "outcome", selection.outcome.map(Outcome::as_str), patch);
    out.set("status", selection.status.as_str());
    let Some(SelectionExtras { terms, .. }) = selection.extras() else { return };
    super::set(out, "adjustment_factor", terms.adjustment_factor, patch);
    super::set(out, "removal_date", terms.removal_date, patch);
    super::set(out, "bsp", terms.bsp, patch);
    super::set(out, "dead_heat_factor", terms.dead_heat_factor, patch);
}

fn transitions(out: &mut Object, market: &Market) {
    let first = u64::from(market.transitions_dropped) + 1;
    for (number, stored) in (first..).zip(&market.transitions) {
        out.object("transitions").set(FieldKey::Int(number), transition(*stored));
    }
}

/// A transition, and the removal of the oldest one if the number stored is exceeded.
fn transition_patch(out: &mut Object, market: &Market, number: u32) {
    let out = out.object("transitions");
    let stored = market.numbered(number).map(|stored| transition(*stored));
    out.set_or_null(FieldKey::Int(number.into()), stored);
    if number > Market::TRANSITIONS_MAX {
        out.set(FieldKey::Int((number - Market::TRANSITIONS_MAX).into()), Node::Null);
    }
}

fn transition(transition: Transition) -> Object {
    let Transition { at, status, in_play } = transition;
    let mut out = Object::default();
    out.set("at", at);
    out.set("status", status.as_str());
    out.set("in_play", in_play);
    out
}

/// The best prices to back and lay, and the price before.
fn best_prices(selection: &Selection) -> [(&'static str, Option<Decimal>); 3] {
    [("price", selection.price), ("prev", selection.prev), ("lay", selection.best_lay())]
}

/// The projected starting prices.
fn projected(selection: &Selection) -> [(&'static str, Option<Decimal>); 2] {
    let extras = selection.extras();
    let near = extras.and_then(|extras| extras.near_price);
    [("near_price", near), ("far_price", extras.and_then(|extras| extras.far_price))]
}

fn ladder(out: &mut Object, rung: LadderKind, ladder: &Ladder) {
    if !ladder.is_present() {
        return;
    }
    let out = out.object(rung_name(rung));
    out.reserve(ladder.levels().len());
    for level in ladder.levels() {
        out.add(FieldKey::price(level.price), level.size);
    }
}

fn rung_name(rung: LadderKind) -> &'static str {
    match rung {
        LadderKind::Back => "back",
        LadderKind::Lay => "lays",
        LadderKind::Traded => "traded",
    }
}

#[must_use]
pub fn events(book: &Book, events: &[BookEvent]) -> Vec<Node> {
    events.iter().map(|event| Node::Object(self::event(book, event))).collect()
}

/// One event for each change of a market's status or in-play flag, and one each time that a closed
/// market is settled again.
fn event(book: &Book, event: &BookEvent) -> Object {
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
) -> Object {
    let Transition { at, status, in_play } = transition;
    let kind = transition_kind(before, status);
    let mut out = Object::default();
    out.set("kind", kind);
    out.set("eid", format!("{}:{number}", market.id));
    out.set("market", &market.id);
    out.set("status", status.as_str());
    out.set("in_play", in_play);
    out.set("at", at);
    if kind == "settle" {
        set_results(&mut out, market);
    }
    out
}

fn resettled(market: &Market, number: u32, times: u32) -> Object {
    let transition = format!("{}:{number}", market.id);
    let mut out = Object::default();
    out.set("kind", "correct");
    out.set("eid", format!("correct-{transition}-{times}"));
    out.set("of", transition);
    out.set("market", &market.id);
    set_results(&mut out, market);
    out
}

/// Who has won, and what else decides what is paid.
fn set_results(out: &mut Object, market: &Market) {
    out.set("winners", winners(market));
    out.set_some("results", results(market));
    for selection in market.selections.iter().filter(|it| it.status.has_won()) {
        if let Some(factor) = selection.dead_heat_factor() {
            out.object("dead_heat_factors").set(&selection.id, factor);
        }
    }
}

/// The hub suspends the whole book, or resumes it.
fn guard(change: &GuardChange) -> Object {
    let mut out = Object::default();
    match change {
        GuardChange::Suspended { number, why, eid } => {
            out.set("kind", "suspend");
            out.set("eid", format!("hold-{number}"));
            out.set("why", why.as_str());
            out.set_some("of", eid.as_ref());
        }
        GuardChange::Resumed { number } => {
            out.set("kind", "resume");
            out.set("eid", format!("lift-{number}"));
            out.set("of", format!("hold-{number}"));
        }
    }
    out
}

fn winners(market: &Market) -> Node {
    let won = market.selections.iter().filter(|selection| selection.status.has_won());
    Node::List(won.map(|selection| Node::from(&selection.id)).collect())
}

/// The result of each selection, where the winners alone do not tell it.
fn results(market: &Market) -> Option<Object> {
    let is_partial = |selection: &Selection| {
        matches!(
            selection.status,
            SelectionStatus::HalfWon | SelectionStatus::HalfLost | SelectionStatus::Push
        )
    };
    market.selections.iter().any(is_partial).then(|| {
        let mut out = Object::default();
        for selection in &market.selections {
            out.set(&selection.id, selection.status.as_str());
        }
        out
    })
}

fn transition_kind(before: Option<(MarketStatus, bool)>, status: MarketStatus) -> &'static str {
    match (before.map(|(status, _)| status), status) {
        (_, MarketStatus::Closed) => "settle",
        (Some(MarketStatus::Open) | None, MarketStatus::Suspended | MarketStatus::Inactive) => {
            "suspend"
        }
        (Some(MarketStatus::Closed), _) => "reopen",
        (Some(MarketStatus::Suspended | MarketStatus::Inactive), MarketStatus::Open) => "resume",
        (None, MarketStatus::Open) => "open",
        // The status is unchanged, or equivalent: the market turned in-play.
        _ => "in_play",
    }
}
