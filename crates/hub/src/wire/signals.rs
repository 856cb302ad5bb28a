//! The channel `signals`: `signals{id:{..}}`, and its events.

use super::{
    DocumentHeader,
    declare::Value as _,
    values::{Decimal, Direction, Id, List, Map, MomentumSide, Outcome, Text, Timestamp},
};
use crate::{
    document::{FieldKey, Node, Object},
    signals::{Finding, Leg, SignalRecord},
};

/// Declares a kind of signal: the parts of its topic, and its own fields.
macro_rules! signal {
    (
        $(#[doc = $doc:literal])+
        $name:ident = $kind:literal {
            [$($part:ident: $part_type:ty),*]
            $($(#[doc = $field_doc:literal])* $field:ident: $type:ty,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub struct $name {
            pub topic: SignalTopic,
            $($(#[doc = $field_doc])* pub $field: $type,)+
        }

        impl From<$name> for Node {
            fn from(signal: $name) -> Self {
                let mut out = Object::default();
                out.set("kind", $kind);
                signal.topic.put(&mut out, "topic", false);
                $(signal.$field.put(&mut out, stringify!($field), false);)+
                out.into()
            }
        }

        described! {
            $name,
            $(#[doc = $doc])+
            struct {
                #[doc = concat!("Always `", $kind, "`.")]
                #[schemars(extend("const" = $kind))]
                kind: String,
                #[schemars(flatten)] topic: SignalTopic,
                $(#[schemars(flatten)] $part: $part_type,)*
                $($(#[doc = $field_doc])* $field: $type,)+
            }
        }
    };
}

wire! {
    /// All active signals: the document of `signals`.
    document Signals {
        #[schemars(flatten)] header: @shared DocumentHeader,
        /// The active signals by id. Signals that end are deleted.
        signals: Map<Signal>,
    }

    /// A signal: a finding from odds and play. `kind` tells which.
    union Signal { ArbitrageSignal, PriceGapSignal, ValueSignal, SteamSignal, SuspendedSignal, MomentumSignal }

    /// The topic of a signal. Which of market, outcome and bookmaker it has depends on its kind.
    group SignalTopic {
        /// The sport of the match.
        sport: Text,
        /// The id of the match.
        r#match: Id,
        /// The name of the first side.
        home: Option<Text>,
        /// The name of the second side.
        away: Option<Text>,
        #[schemars(skip)] market: Option<Text>,
        #[schemars(skip)] outcome: Option<Outcome>,
        #[schemars(skip)] bookmaker: Option<Text>,
        /// How strong it is, from 0 to 100.
        #[schemars(range(min = 0, max = 100))] strength: u8,
        /// When it began.
        began: Timestamp,
        /// When its numbers changed last.
        updated: Timestamp,
    }

    /// The market of a topic.
    document TopicMarket {
        /// The id of the market, as on the consensus.
        market: @shared Text,
    }

    /// The outcome of a topic.
    document TopicOutcome {
        /// The outcome that it is about.
        outcome: @shared Outcome,
    }

    /// The bookmaker of a topic.
    document TopicBookmaker {
        /// The bookmaker that it is about.
        bookmaker: @shared Text,
    }

    /// The best prices of all outcomes of a market form less than a fair book.
    signal ArbitrageSignal = "arbitrage" {
        [market: TopicMarket]
        /// The profit after commission as a share of the total stake, for every outcome: `"0.0123"` is 1.23 %.
        profit: Decimal,
        /// One bet for each outcome.
        legs: List<ArbitrageLeg>,
    }

    /// One bet of an arbitrage.
    object ArbitrageLeg {
        /// The outcome to bet on.
        outcome: Outcome,
        /// The bookmaker.
        bookmaker: Text,
        /// The price: decimal odds.
        price: Decimal,
        /// The share of all that is staked, from 0 to 1.
        stake: Decimal,
        /// The share of winnings that the bookmaker takes as commission; absent if none.
        commission: Option<Decimal>,
    }

    /// One bookmaker's price is well above the best of all others.
    signal PriceGapSignal = "price_gap" {
        [market: TopicMarket, outcome: TopicOutcome, bookmaker: TopicBookmaker]
        /// The price: decimal odds.
        price: Decimal,
        /// The best price of the others.
        next_price: Decimal,
        /// `price` / `next_price` - 1, both after commission: `"0.0712"` is 7.12 %.
        gap: Decimal,
        /// The share of winnings that the bookmaker takes as commission; absent if none.
        commission: Option<Decimal>,
        /// The same of the bookmaker with the best price of the others.
        next_commission: Option<Decimal>,
        /// The bookmaker with the best price of the others.
        next_bookmaker: Text,
    }

    /// The best price is above the fair one.
    signal ValueSignal = "value" {
        [market: TopicMarket, outcome: TopicOutcome, bookmaker: TopicBookmaker]
        /// The price: decimal odds.
        price: Decimal,
        /// The price implied by the medians, without their margin.
        fair_price: Decimal,
        /// The probability implied by the medians, without their margin: from 0 to 1.
        probability: Decimal,
        /// `price` × `probability` - 1, the price after commission: `"0.0531"` is 5.31 %.
        value: Decimal,
        /// The share of winnings that the bookmaker takes as commission; absent if none.
        commission: Option<Decimal>,
        /// The number of bookmakers that quote the outcome.
        bookmakers: u32,
    }

    /// Several bookmakers have moved a price in one direction within a short time.
    signal SteamSignal = "steam" {
        [market: TopicMarket, outcome: TopicOutcome]
        /// The direction.
        direction: Direction,
        /// The mean of the moves: `"-0.0312"` if prices fell by 3.12 %.
        change: Decimal,
        /// The bookmakers that moved.
        moved: List<Text>,
    }

    /// One bookmaker has suspended a market in which others trade.
    signal SuspendedSignal = "suspended" {
        [market: TopicMarket, bookmaker: TopicBookmaker]
        /// The number of bookmakers that trade.
        open_bookmakers: u32,
        /// The number of bookmakers that have suspended it.
        suspended_bookmakers: u32,
    }

    /// One side has most of the attacks of the last minutes, or of the last points.
    signal MomentumSignal = "momentum" {
        []
        /// The side.
        side: MomentumSide,
        /// Its share of all attacks or points, from 0 to 1.
        share: Decimal,
    }

    /// An event of `signals`.
    union SignalEvent { SignalStart, SignalEnd }

    /// A signal begins.
    event SignalStart = "signal" {
        /// The id of the signal, as in the document.
        id: Text,
        /// The signal.
        signal: Box<Signal>,
    }

    /// A signal has ended.
    event SignalEnd = "signal_end" {
        /// The id of the signal.
        of: Text,
        /// When it ended.
        at: Timestamp,
    }
}

/// Sets an active signal; deletes one that has ended.
pub fn patch(out: &mut Object, record: &SignalRecord) {
    let rendered = record.ended.is_none().then(|| Signal::from(record));
    out.set_or_null(FieldKey::Int(record.id), rendered);
}

/// The start or the end of a signal. `number` is the event's own, because a signal may start again
/// at the time of its end, or when a recording is replayed.
#[must_use]
pub fn event(record: &SignalRecord, number: u64) -> Node {
    let (eid, id) = (number.to_string().into(), record.id.to_string().into());
    let event: SignalEvent = match record.ended {
        Some(at) => SignalEnd { eid, of: id, at: at.into() }.into(),
        None => SignalStart { eid, id, signal: Box::new(record.into()) }.into(),
    };
    event.into()
}

plain_values!(Box<Signal>);

impl From<Box<Signal>> for Node {
    fn from(signal: Box<Signal>) -> Self {
        (*signal).into()
    }
}

impl From<&SignalRecord> for SignalTopic {
    fn from(record: &SignalRecord) -> Self {
        let SignalRecord { match_id, sport, sides, began, updated, signal, .. } = record;
        let topic = &signal.topic;
        let name = |side: usize| sides.as_ref().map(|sides| (&sides[side].name).into());
        Self {
            sport: sport.as_str().into(),
            r#match: (*match_id).into(),
            home: name(0),
            away: name(1),
            market: topic.market.as_ref().map(|market| market.to_string().into()),
            outcome: topic.outcome.map(Outcome::from),
            bookmaker: topic.bookmaker.as_ref().map(Text::from),
            strength: signal.strength,
            began: (*began).into(),
            updated: (*updated).into(),
        }
    }
}

impl From<&SignalRecord> for Signal {
    fn from(record: &SignalRecord) -> Self {
        let topic = SignalTopic::from(record);
        match &record.signal.finding {
            Finding::Arbitrage { profit, legs } => {
                let legs = legs.iter().map(ArbitrageLeg::from).collect();
                ArbitrageSignal { topic, profit: (*profit).into(), legs }.into()
            }
            Finding::PriceGap { price, next, next_bookmaker, gap, commission, next_commission } => {
                PriceGapSignal {
                    topic,
                    price: (*price).into(),
                    next_price: (*next).into(),
                    gap: (*gap).into(),
                    commission: commission_taken(*commission),
                    next_commission: commission_taken(*next_commission),
                    next_bookmaker: next_bookmaker.into(),
                }
                .into()
            }
            Finding::Value { price, fair_price, probability, value, commission, bookmakers } => {
                ValueSignal {
                    topic,
                    price: (*price).into(),
                    fair_price: (*fair_price).into(),
                    probability: (*probability).into(),
                    value: (*value).into(),
                    commission: commission_taken(*commission),
                    bookmakers: *bookmakers,
                }
                .into()
            }
            Finding::Steam { direction, bookmakers, change } => {
                let (direction, change) = ((*direction).into(), (*change).into());
                SteamSignal { topic, direction, change, moved: bookmakers.iter().collect() }.into()
            }
            Finding::Suspended { open, suspended } => {
                let (open_bookmakers, suspended_bookmakers) = (*open, *suspended);
                SuspendedSignal { topic, open_bookmakers, suspended_bookmakers }.into()
            }
            Finding::Momentum { side, share } => {
                MomentumSignal { topic, side: (*side).into(), share: (*share).into() }.into()
            }
        }
    }
}

impl From<&Leg> for ArbitrageLeg {
    fn from(leg: &Leg) -> Self {
        let Leg { outcome, bookmaker, price, commission, stake } = leg;
        Self {
            outcome: (*outcome).into(),
            bookmaker: bookmaker.into(),
            price: (*price).into(),
            stake: (*stake).into(),
            commission: commission_taken(*commission),
        }
    }
}

/// Absent of a bookmaker that takes none.
fn commission_taken(commission: rust_decimal::Decimal) -> Option<Decimal> {
    (!commission.is_zero()).then(|| commission.into())
}
