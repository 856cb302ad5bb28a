//! The channel `signals`: `signals{id:{..}}`, and its events.

use facts::event::Outcome;
use rust_decimal::Decimal;

use crate::{
    document::{FieldKey, Node, Object},
    signals::{Finding, Leg, SignalRecord},
};

/// Sets an active signal; deletes one that has ended.
pub fn patch(out: &mut Object, record: &SignalRecord) {
    let rendered = record.ended.is_none().then(|| signal(record));
    out.set_or_null(FieldKey::Int(record.id), rendered);
}

/// The start or the end of a signal. `number` is the event's own, because a signal may start again
/// at the time of its end, or when a recording is replayed.
#[must_use]
pub fn event(record: &SignalRecord, number: u64) -> Node {
    let mut out = Object::default();
    out.set("kind", if record.ended.is_some() { "signal_end" } else { "signal" });
    out.set("eid", number.to_string());
    match record.ended {
        Some(at) => {
            out.set("of", record.id.to_string());
            out.set("at", at);
        }
        None => {
            out.set("id", record.id.to_string());
            out.set("signal", signal(record));
        }
    }
    out.into()
}

fn signal(record: &SignalRecord) -> Object {
    let SignalRecord { match_id, sport, sides, began, updated, signal, .. } = record;
    let topic = &signal.topic;
    let mut out = Object::default();
    out.set("kind", topic.kind.as_str());
    out.set("sport", sport.as_str());
    out.set("match", *match_id);
    if let Some([home, away]) = sides {
        out.set("home", &home.name);
        out.set("away", &away.name);
    }
    out.set_some("market", topic.market.as_ref().map(ToString::to_string));
    out.set_some("outcome", topic.outcome.map(Outcome::as_str));
    out.set_some("bookmaker", topic.bookmaker.as_ref());
    out.set("strength", signal.strength);
    out.set("began", *began);
    out.set("updated", *updated);
    finding(&mut out, &signal.finding);
    out
}

fn finding(out: &mut Object, finding: &Finding) {
    match finding {
        Finding::Arbitrage { profit, legs } => {
            out.set("profit", Node::Decimal(*profit));
            out.set("legs", Node::List(legs.iter().map(|it| leg(it).into()).collect()));
        }
        Finding::PriceGap { price, next, next_bookmaker, gap, commission, next_commission } => {
            decimals(out, [("price", *price), ("next_price", *next), ("gap", *gap)]);
            set_commission(out, "commission", *commission);
            set_commission(out, "next_commission", *next_commission);
            out.set("next_bookmaker", next_bookmaker);
        }
        Finding::Value { price, fair_price, probability, value, commission, bookmakers } => {
            decimals(out, [("price", *price), ("fair_price", *fair_price)]);
            decimals(out, [("probability", *probability), ("value", *value)]);
            set_commission(out, "commission", *commission);
            out.set("bookmakers", *bookmakers);
        }
        Finding::Steam { direction, bookmakers, change } => {
            out.set("direction", direction.as_str());
            out.set("change", Node::Decimal(*change));
            let names = bookmakers.iter().map(|name| Node::Text(name.clone()));
            out.set("moved", Node::List(names.collect()));
        }
        Finding::Suspended { open, suspended } => {
            out.set("open_bookmakers", *open);
            out.set("suspended_bookmakers", *suspended);
        }
        Finding::Momentum { side, share } => {
            out.set("side", if *side == 0 { "first" } else { "second" });
            out.set("share", Node::Decimal(*share));
        }
    }
}

fn leg(leg: &Leg) -> Object {
    let Leg { outcome, bookmaker, price, commission, stake } = leg;
    let mut out = Object::default();
    out.set("outcome", outcome.as_str());
    out.set("bookmaker", bookmaker);
    decimals(&mut out, [("price", *price), ("stake", *stake)]);
    set_commission(&mut out, "commission", *commission);
    out
}

/// Absent of a bookmaker that takes none.
fn set_commission(out: &mut Object, name: &'static str, commission: Decimal) {
    out.set_some(name, (!commission.is_zero()).then_some(Node::Decimal(commission)));
}

fn decimals<const N: usize>(out: &mut Object, fields: [(&'static str, Decimal); N]) {
    for (name, value) in fields {
        out.set(name, Node::Decimal(value));
    }
}
