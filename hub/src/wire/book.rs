//! One bookmaker's book: `markets{id:{.., selections{id:{..}}}}`, and its events.

use ingest::event::{MarketStatus, Outcome, SelectionStatus};

use crate::{
    document::{FieldKey, Node, Object},
    hub::{
        Header,
        state::{
            Book, BookDelta, BookEvent, BookPart, GuardChange, Ladder, LadderKind, Market,
            Selection, Transition,
        },
    },
};

#[must_use]
pub fn image(book: &Book, header: Header, stale_after_ms: u32) -> Object {
    let mut image = Object::default();
    super::set_header(&mut image, header);
    image.set("stale_after_ms", stale_after_ms);
    let markets = image.object("markets");
    for market in &book.markets {
        let out = markets.object(&market.id);
        definition(out, market, false);
        transitions(out, market);
        out.set_some("volume", market.volume);
        for selection in &market.selections {
            let out = out.object("selections").object(&selection.id);
            prices(out, selection, false);
            out.set_some("last", selection.last);
            out.set_some("volume", selection.volume);
            for rung in [LadderKind::Back, LadderKind::Lay, LadderKind::Traded] {
                ladder(out, rung, selection.ladder(rung));
            }
        }
    }
    image
}

#[must_use]
pub fn patch(book: &Book, delta: &BookDelta, before: Header, after: Header) -> Object {
    let mut patch = super::header_patch(before, after);
    if delta.parts.is_empty() {
        return patch;
    }
    let markets = patch.object("markets");
    for part in &delta.parts {
        self::part(markets, book, *part);
    }
    patch
}

fn part(markets: &mut Object, book: &Book, part: BookPart) {
    let market = &book.markets[part.market()];
    let out = markets.object(&market.id);
    match part {
        BookPart::Definition(_) => definition(out, market, true),
        BookPart::Transition(_, number) => transition_patch(out, market, number),
        BookPart::Volume(_) => out.set_or_null("volume", market.volume),
        BookPart::Price(_, selection) => {
            let selection = &market.selections[selection];
            prices(out.object("selections").object(&selection.id), selection, true);
        }
        BookPart::Last(_, selection) => {
            let selection = &market.selections[selection];
            out.object("selections").object(&selection.id).set_or_null("last", selection.last);
        }
        BookPart::SelectionVolume(_, selection) => {
            let selection = &market.selections[selection];
            out.object("selections").object(&selection.id).set_or_null("volume", selection.volume);
        }
        BookPart::Rung(_, selection, rung, price) => {
            let selection = &market.selections[selection];
            let size = selection.ladder(rung).size(price);
            let out = out.object("selections").object(&selection.id).object(rung_name(rung));
            out.set_or_null(FieldKey::Price(price.normalize()), size);
        }
    }
}

fn definition(out: &mut Object, market: &Market, patch: bool) {
    out.set("kind", &market.kind);
    if patch {
        out.set_or_null("name", market.name.as_ref());
        out.set_or_null("line", market.line);
        out.set_or_null("period", market.period.as_ref());
    } else {
        out.set_some("name", market.name.as_ref());
        out.set_some("line", market.line);
        out.set_some("period", market.period.as_ref());
    }
    out.set("status", market.status.as_str());
    out.set("in_play", market.in_play);
    for selection in &market.selections {
        let out = out.object("selections").object(&selection.id);
        if patch {
            out.set_or_null("name", selection.name.as_ref());
            out.set_or_null("outcome", selection.outcome.map(Outcome::as_str));
        } else {
            out.set_some("name", selection.name.as_ref());
            out.set_some("outcome", selection.outcome.map(Outcome::as_str));
        }
        out.set("status", selection.status.as_str());
    }
}

fn transitions(out: &mut Object, market: &Market) {
    let first = u64::from(market.transitions_dropped) + 1;
    for (number, kept) in (first..).zip(&market.transitions) {
        out.object("transitions").set(FieldKey::Int(number), transition(*kept));
    }
}

/// A transition, and the removal of the oldest one if it exceeds the number that is kept.
fn transition_patch(out: &mut Object, market: &Market, number: u32) {
    let out = out.object("transitions");
    let kept = market.numbered(number).map(|kept| transition(*kept));
    out.set_or_null(FieldKey::Int(number.into()), kept);
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

fn prices(out: &mut Object, selection: &Selection, patch: bool) {
    let values =
        [("price", selection.price), ("prev", selection.prev), ("lay", selection.best_lay())];
    for (name, value) in values {
        if patch {
            out.set_or_null(name, value);
        } else {
            out.set_some(name, value);
        }
    }
}

fn ladder(out: &mut Object, rung: LadderKind, ladder: &Ladder) {
    if !ladder.is_present() {
        return;
    }
    let out = out.object(rung_name(rung));
    for level in ladder.levels() {
        out.add(FieldKey::Price(level.price.normalize()), level.size);
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
        out.set("winners", winners(market));
    }
    out
}

fn resettled(market: &Market, number: u32, times: u32) -> Object {
    let of = format!("{}:{number}", market.id);
    let mut out = Object::default();
    out.set("kind", "correct");
    out.set("eid", format!("correct-{of}-{times}"));
    out.set("of", of);
    out.set("market", &market.id);
    out.set("winners", winners(market));
    out
}

/// The hub suspends the whole book, or resumes it.
fn guard(change: &GuardChange) -> Object {
    let mut out = Object::default();
    match change {
        GuardChange::Suspended { number, why, of } => {
            out.set("kind", "suspend");
            out.set("eid", format!("hold-{number}"));
            out.set("why", why.as_str());
            out.set_some("of", of.as_ref());
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
    let won = market.selections.iter().filter(|it| it.status == SelectionStatus::Winner);
    Node::List(won.map(|selection| Node::from(&selection.id)).collect())
}

fn transition_kind(before: Option<(MarketStatus, bool)>, status: MarketStatus) -> &'static str {
    match (before.map(|(status, _)| status), status) {
        (_, MarketStatus::Closed) => "settle",
        (Some(MarketStatus::Open) | None, MarketStatus::Suspended | MarketStatus::Inactive) => {
            "suspend"
        }
        (
            Some(MarketStatus::Suspended | MarketStatus::Inactive | MarketStatus::Closed),
            MarketStatus::Open,
        ) => "resume",
        (None, MarketStatus::Open) => "open",
        // The status is unchanged, or equivalent: the market turned in-play.
        _ => "in_play",
    }
}
