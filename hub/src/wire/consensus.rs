//! The consensus of all bookmakers: the `.../odds` channel.

use ingest::event::MarketStatus;

use crate::{
    document::{Node, Object},
    hub::{
        Header,
        state::{Consensus, ConsensusChange, ConsensusKey, ConsensusMarket, ConsensusOffer},
    },
};

#[must_use]
pub fn image(consensus: &Consensus, header: Header, stale_after_ms: u32) -> Object {
    let mut image = Object::default();
    super::set_header(&mut image, header);
    image.set("stale_after_ms", stale_after_ms);
    let markets = image.object("markets");
    for (key, members) in &consensus.markets {
        if let Some(current) = &members.current {
            market(markets.object(&key.id()), key, current, None);
        }
    }
    image
}

#[must_use]
pub fn patch(
    consensus: &Consensus,
    changed: &[ConsensusChange],
    before: Header,
    after: Header,
) -> Object {
    let mut patch = super::header_patch(before, after);
    for ConsensusChange { key, before } in changed {
        let markets = patch.object("markets");
        match consensus.markets.get(key).and_then(|members| members.current.as_ref()) {
            Some(current) => market(markets.object(&key.id()), key, current, before.as_ref()),
            None => markets.set(&key.id(), Node::Null),
        }
    }
    patch
}

/// A complete market. In a patch (`Some`, with its previous state), absent values are deleted.
fn market(
    out: &mut Object,
    key: &ConsensusKey,
    market: &ConsensusMarket,
    patch: Option<&ConsensusMarket>,
) {
    out.set("kind", &key.kind);
    out.set_some("line", key.line);
    out.set_some("period", key.period.as_ref());
    out.set("status", market.status.as_str());
    out.set("in_play", market.in_play);
    if patch.is_some() {
        out.set_or_null("overround", market.overround);
    } else {
        out.set_some("overround", market.overround);
    }
    let before = patch.iter().flat_map(|before| before.selections.keys());
    for gone in before.filter(|outcome| !market.selections.contains_key(outcome)) {
        out.object("selections").set(gone.as_str(), Node::Null);
    }
    for (outcome, price) in &market.selections {
        let out = out.object("selections").object(outcome.as_str());
        out.set("status", price.status.as_str());
        match &price.offer {
            Some(offer) => self::offer(out, offer),
            None if patch.is_some() => no_offer(out),
            None => {}
        }
    }
}

fn offer(out: &mut Object, offer: &ConsensusOffer) {
    out.set("price", offer.price);
    out.set("median", offer.median);
    out.set("bookmakers", offer.bookmakers);
    out.set("best", &offer.best);
    out.set("oldest", offer.oldest);
}

fn no_offer(out: &mut Object) {
    for name in ["price", "median", "bookmakers", "best", "oldest"] {
        out.set(name, Node::Null);
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
