//! The consensus of all bookmakers: the `.../odds` channel.

use facts::event::MarketStatus;

use crate::{
    document::{Node, Object},
    hub::{
        Header,
        state::{Consensus, ConsensusChange, ConsensusKey, ConsensusMarket, ConsensusOffer},
    },
    patch::{FieldList, Patch},
};

/// Fields of a market of three selections, which most have at most.
const FIELDS: usize = 8 + 3 * (2 + OFFER_FIELDS.len());

/// The fields of an offer.
const OFFER_FIELDS: [&str; 5] = ["price", "median", "bookmakers", "best", "oldest"];

#[must_use]
pub fn image(consensus: &Consensus, header: Header, stale_after_ms: u32) -> Object {
    let mut image = Object::default();
    super::set_header(&mut image, header);
    image.set("stale_after_ms", stale_after_ms);
    let mut out = FieldList::from(image);
    out.open(0, "markets");
    for (key, members) in &consensus.markets {
        if let Some(current) = &members.current {
            market(&mut out, key, current, None);
        }
    }
    out.to_object()
}

#[must_use]
pub fn patch(
    consensus: &Consensus,
    changed: &[ConsensusChange],
    before: Header,
    after: Header,
) -> Patch {
    let mut out = FieldList::from(super::header_patch(before, after));
    out.reserve(1 + changed.len() * FIELDS);
    if !changed.is_empty() {
        out.open(0, "markets");
    }
    for ConsensusChange { key, before } in changed {
        match consensus.markets.get(key).and_then(|members| members.current.as_ref()) {
            Some(current) => market(&mut out, key, current, before.as_ref()),
            None => out.set(1, &key.id(), Node::Null),
        }
    }
    out.into()
}

/// A complete market. In a patch (`Some`, with its previous state), absent values are deleted.
fn market(
    out: &mut FieldList,
    key: &ConsensusKey,
    market: &ConsensusMarket,
    patch: Option<&ConsensusMarket>,
) {
    out.open(1, &key.id());
    out.set(2, "kind", &key.kind);
    out.set_some(2, "line", key.line);
    out.set_some(2, "period", key.period.as_ref());
    out.set(2, "status", market.status.as_str());
    out.set(2, "in_play", market.in_play);
    match market.overround {
        None if patch.is_none() => {}
        overround => out.set_or_null(2, "overround", overround),
    }
    let before = patch.into_iter().flat_map(|before| before.selections.keys());
    let mut gone = before.filter(|it| !market.selections.contains_key(it)).peekable();
    if gone.peek().is_some() || !market.selections.is_empty() {
        out.open(2, "selections");
    }
    gone.for_each(|outcome| out.set(3, outcome.as_str(), Node::Null));
    for (outcome, price) in &market.selections {
        out.open(3, outcome.as_str());
        out.set(4, "status", price.status.as_str());
        match &price.offer {
            Some(offer) => self::offer(out, offer),
            None if patch.is_some() => no_offer(out),
            None => {}
        }
    }
}

fn offer(out: &mut FieldList, offer: &ConsensusOffer) {
    out.set(4, "price", offer.price);
    out.set(4, "median", offer.median);
    out.set(4, "bookmakers", offer.bookmakers);
    out.set(4, "best", &offer.best);
    out.set(4, "oldest", offer.oldest);
}

fn no_offer(out: &mut FieldList) {
    for name in OFFER_FIELDS {
        out.set(4, name, Node::Null);
    }
}

/// One event for each market whose status changed, or that was settled again. `number`, that of the
/// change, makes their names unique.
#[must_use]
pub fn events(consensus: &Consensus, changed: &[ConsensusChange], number: u64) -> Vec<Node> {
    changed.iter().filter_map(|changed| event(consensus, changed, number)).collect()
}

fn event(consensus: &Consensus, changed: &ConsensusChange, number: u64) -> Option<Node> {
    let members = consensus.markets.get(&changed.key)?;
    let market = members.current.as_ref()?;
    let before = changed.before.as_ref();
    let same_winners = before.is_some_and(|before| before.winners().eq(market.winners()));
    let kind = match (before.map(|market| market.status), market.status) {
        (Some(MarketStatus::Closed), MarketStatus::Closed) if !same_winners => "correct",
        (before, status) if before == Some(status) => return None,
        (_, MarketStatus::Closed) => "settle",
        (_, MarketStatus::Suspended | MarketStatus::Inactive) => "suspend",
        (Some(_), MarketStatus::Open) => "resume",
        (None, MarketStatus::Open) => "open",
    };
    let id = changed.key.id();
    let mut out = Object::default();
    out.set("kind", kind);
    out.set("eid", format!("{id}:{number}"));
    out.set("market", &id);
    out.set("status", market.status.as_str());
    if kind == "correct" {
        out.set_some("of", members.settled.map(|settled| format!("{id}:{settled}")));
    }
    if kind == "correct" || kind == "settle" {
        let winners = market.winners().map(|outcome| Node::Word(outcome.as_str()));
        out.set("winners", Node::List(winners.collect()));
    }
    Some(out.into())
}
