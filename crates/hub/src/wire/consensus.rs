//! The consensus of all bookmakers: the `.../odds` channel.

use facts::event::MarketStatus;

use super::{
    DocumentHeader,
    odds::{
        self, ConsensusEvent, ConsensusOdds, ConsensusSelection, CorrectedMarket, MarketEvent,
        MarketOpen, MarketResume, MarketSettle, MarketSuspend, SettlementCorrect,
    },
    values::Text,
};
use crate::{
    document::{FieldKey, Node, Object},
    hub::{
        Header,
        state::{Consensus, ConsensusChange, ConsensusKey, ConsensusMarket, ConsensusOffer},
    },
    patch::{FieldList, Patch},
};

/// Fields of a market of three selections, which most have at most.
const FIELDS: usize = 8 + 3 * (2 + OFFER_FIELDS);

/// The fields of an offer.
const OFFER_FIELDS: usize = 5;

#[must_use]
pub fn image(consensus: &Consensus, header: Header, stale_after_ms: u32) -> Object {
    let mut image = Object::default();
    super::set_header(&mut image, header);
    image.put(DocumentHeader::stale_after_ms(), stale_after_ms);
    let mut out = FieldList::from(image);
    out.open(0, ConsensusOdds::markets());
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
        out.open(0, ConsensusOdds::markets());
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
    out.set(2, odds::ConsensusMarket::kind(), &key.kind);
    out.set_some(2, odds::ConsensusMarket::line(), key.line);
    out.set_some(2, odds::ConsensusMarket::period(), key.period.as_ref());
    out.set(2, odds::ConsensusMarket::status(), market.status.as_str());
    out.set(2, odds::ConsensusMarket::in_play(), market.in_play);
    match market.overround {
        None if patch.is_none() => {}
        overround => out.set_or_null(2, odds::ConsensusMarket::overround(), overround),
    }
    let before = patch.into_iter().flat_map(|before| before.selections.keys());
    let mut gone = before.filter(|it| !market.selections.contains_key(it)).peekable();
    if gone.peek().is_some() || !market.selections.is_empty() {
        out.open(2, odds::ConsensusMarket::selections());
    }
    gone.for_each(|outcome| out.set(3, outcome.as_str(), Node::Null));
    for (outcome, price) in &market.selections {
        out.open(3, outcome.as_str());
        out.set(4, ConsensusSelection::status(), price.status.as_str());
        match &price.offer {
            Some(offer) => self::offer(out, offer),
            None if patch.is_some() => no_offer(out),
            None => {}
        }
    }
}

fn offer(out: &mut FieldList, offer: &ConsensusOffer) {
    out.set(4, ConsensusSelection::price(), offer.price);
    out.set(4, ConsensusSelection::median(), offer.median);
    out.set(4, ConsensusSelection::bookmakers(), offer.bookmakers);
    out.set(4, ConsensusSelection::best(), &offer.best);
    out.set(4, ConsensusSelection::oldest(), offer.oldest);
}

fn no_offer(out: &mut FieldList) {
    let fields: [FieldKey; OFFER_FIELDS] = [
        ConsensusSelection::price().into(),
        ConsensusSelection::median().into(),
        ConsensusSelection::bookmakers().into(),
        ConsensusSelection::best().into(),
        ConsensusSelection::oldest().into(),
    ];
    fields.into_iter().for_each(|field| out.set(4, field, Node::Null));
}

/// One event for each market whose status changed, or that was settled again. `number`, that of the
/// change, makes their names unique.
#[must_use]
pub fn events(consensus: &Consensus, changed: &[ConsensusChange], number: u64) -> Vec<Node> {
    let events = changed.iter().filter_map(|changed| event(consensus, changed, number));
    events.map(Node::from).collect()
}

fn event(consensus: &Consensus, changed: &ConsensusChange, number: u64) -> Option<ConsensusEvent> {
    let members = consensus.markets.get(&changed.key)?;
    let market = members.current.as_ref()?;
    let before = changed.before.as_ref();
    let same_winners = before.is_some_and(|before| before.winners().eq(market.winners()));
    let id = changed.key.id();
    let eid = || Text::from(format!("{id}:{number}"));
    let event = || MarketEvent {
        market: (&id).into(),
        status: market.status.into(),
        in_play: None,
        at: None,
    };
    let winners = || market.winners().map(|outcome| outcome.as_str()).collect();
    Some(match (before.map(|market| market.status), market.status) {
        (Some(MarketStatus::Closed), MarketStatus::Closed) if !same_winners => {
            let of = members.settled.map(|settled| format!("{id}:{settled}").into());
            let (market, status) = ((&id).into(), market.status.into());
            let target = CorrectedMarket::Consensus { market, status, of };
            let (results, dead_heat_factors) = (None, None);
            SettlementCorrect { eid: eid(), target, winners: winners(), results, dead_heat_factors }
                .into()
        }
        (before, status) if before == Some(status) => return None,
        (_, MarketStatus::Closed) => {
            let (results, dead_heat_factors) = (None, None);
            let (event, winners) = (event(), winners());
            MarketSettle { eid: eid(), event, winners, results, dead_heat_factors }.into()
        }
        (_, MarketStatus::Suspended | MarketStatus::Inactive) => {
            MarketSuspend { eid: eid(), event: event() }.into()
        }
        (Some(_), MarketStatus::Open) => MarketResume { eid: eid(), event: event() }.into(),
        (None, MarketStatus::Open) => MarketOpen { eid: eid(), event: event() }.into(),
    })
}
