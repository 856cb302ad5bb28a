//! What the targets share: how bytes become messages, and the invariants of the resulting facts.
//!
//! A target feeds the bytes to its subject as a source would, and checks the results with
//! [`Witness`]. Nothing here knows a format; each target declares what its format does not
//! guarantee.

use std::{collections::HashSet, sync::Arc};

use facts::event::{
    Event, Fact, FootballFact, Id, Incident, Level, MarketChange, Micros, OddsFact,
    SelectionChange, Sport,
};
use ingest::{
    error::DecodeError,
    normalize::{Interpret, Interpretation},
};
use rust_decimal::Decimal;

/// The separator of messages: a line that occurs in no format.
const SEPARATOR: &[u8] = b"\n%%\n";

/// The message that signals a new subscription of the source.
const RESTART: &[u8] = b"restart";

/// The arrival of the first message: later than the timestamps of feeds, so that facts without a
/// timestamp do not precede those with one.
const START_US: Micros = 1_700_000_000_000_000;
const SECOND_US: Micros = 1_000_000;

/// The guarantees of a format for everything that one interpreter emits.
#[derive(Debug, Clone, Copy)]
pub struct Promises {
    /// The maximum number of notices for one message.
    pub notices_max: usize,
    /// The clock does not go back from one message to the next. Within one it never does.
    pub clock_never_falls: bool,
    /// A match is introduced before any fact about it, and a market before its prices.
    pub introductions: bool,
    /// An incident is emitted once, however often a message repeats it.
    pub incidents_once: bool,
}

impl Default for Promises {
    fn default() -> Self {
        Self {
            notices_max: 300,
            clock_never_falls: true,
            introductions: true,
            incidents_once: false,
        }
    }
}

/// Records all facts and checks them against the guarantees.
#[derive(Debug)]
pub struct Witness {
    promises: Promises,
    clock_us: Micros,
    matches: HashSet<(Sport, Id)>,
    markets: HashSet<(Id, Arc<str>, Arc<str>)>,
    incidents: HashSet<(Id, Arc<str>)>,
}

impl Witness {
    #[must_use]
    pub fn new(promises: Promises) -> Self {
        Self {
            promises,
            clock_us: Micros::MIN,
            matches: HashSet::new(),
            markets: HashSet::new(),
            incidents: HashSet::new(),
        }
    }

    /// Checks the result of one message, or of a whole document.
    ///
    /// # Panics
    ///
    /// If a guarantee is broken.
    pub fn check(&mut self, played: &Interpretation) {
        let notices = played.notices.len();
        assert!(
            notices <= self.promises.notices_max,
            "{notices} notices, first {:?}",
            played.notices[0]
        );
        if !self.promises.clock_never_falls {
            self.clock_us = Micros::MIN;
        }
        for timed in &played.batches {
            assert!(timed.clock_us >= self.clock_us, "{} < {}", timed.clock_us, self.clock_us);
            self.clock_us = timed.clock_us;
            timed.batch.events.iter().for_each(|event| self.event(event));
        }
    }

    fn event(&mut self, event: &Event) {
        let of_match = (event.sport, event.match_id);
        match &event.fact {
            Fact::Fixture(_) => {
                self.matches.insert(of_match);
                return;
            }
            Fact::Odds(odds) => self.odds(event.match_id, odds),
            Fact::Football(fact) => self.football(event.match_id, fact),
            Fact::Tennis(_) | Fact::Scoreboard(_) | Fact::Race(_) | Fact::About(_) => {}
        }
        let introduced = !self.promises.introductions || self.matches.contains(&of_match);
        assert!(introduced, "of a match that was not introduced: {event:?}");
    }

    fn odds(&mut self, match_id: Id, odds: &OddsFact) {
        let market = (match_id, odds.book.clone(), odds.market.clone());
        match &odds.change {
            MarketChange::Define(definition) => {
                definition.line.iter().for_each(exact);
                self.markets.insert(market);
            }
            MarketChange::Clear => {}
            MarketChange::Prices { selections, volume } => {
                let is_introduced = !self.promises.introductions || self.markets.contains(&market);
                assert!(is_introduced, "prices before the definition: {odds:?}");
                volume.iter().for_each(amount);
                selections.iter().for_each(prices);
            }
        }
    }

    fn football(&mut self, match_id: Id, fact: &FootballFact) {
        let named = |incident: &Incident| (match_id, incident.eid.clone());
        match fact {
            FootballFact::Incident(incident) => {
                let is_new = self.incidents.insert(named(incident));
                assert!(is_new || !self.promises.incidents_once, "emitted twice: {incident:?}");
            }
            FootballFact::Correct(incident) if self.promises.incidents_once => {
                assert!(self.incidents.contains(&named(incident)), "never emitted: {incident:?}");
            }
            FootballFact::Retract { eid, .. } if self.promises.incidents_once => {
                assert!(self.incidents.remove(&(match_id, eid.clone())), "never emitted: {eid}");
            }
            _ => {}
        }
    }
}

fn prices(selection: &SelectionChange) {
    let SelectionChange { price, last, volume, back, lay, traded, .. } = selection;
    price.iter().chain(last).chain(volume).for_each(amount);
    for Level { price, size } in back.iter().chain(lay).chain(traded) {
        amount(price);
        amount(size);
    }
}

/// Writing and parsing it returns the same number.
fn exact(number: &Decimal) {
    assert_eq!(number.to_string().parse(), Ok(*number));
}

/// A price, or an amount of money.
fn amount(number: &Decimal) {
    exact(number);
    assert!(*number >= Decimal::ZERO, "an amount of {number}");
}

/// The messages of an input.
pub fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let end = bytes.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
        rest = end.map(|end| &bytes[end + SEPARATOR.len()..]);
        Some(&bytes[..end.unwrap_or(bytes.len())])
    })
}

/// The first message, which selects the variant of a format, and the messages after it.
#[must_use]
pub fn choice(bytes: &[u8]) -> (&[u8], &[u8]) {
    let first = messages(bytes).next().unwrap_or_default();
    let rest = bytes.get(first.len() + SEPARATOR.len()..).unwrap_or_default();
    (first, rest)
}

/// Passes the messages to an interpreter, one second apart and each of them twice, and checks the
/// results.
///
/// # Panics
///
/// If a guarantee is broken.
pub fn interpret(bytes: &[u8], interpreter: &mut dyn Interpret, promises: Promises) {
    let mut witness = Witness::new(promises);
    let mut received = START_US;
    for message in messages(bytes) {
        if message == RESTART {
            interpreter.restart();
            continue;
        }
        for _again in 0..2 {
            let mut played = Interpretation::default();
            // The message of an error is bounded too.
            let refused = interpreter.message(message, received, &mut played).err();
            played.notices.extend(refused);
            played.notices.iter().for_each(|notice| short(notice, message));
            witness.check(&played);
        }
        received += SECOND_US;
    }
}

/// A reason is not longer than its message and a few words.
fn short(notice: &DecodeError, message: &[u8]) {
    let long = notice.reason.len();
    assert!(long <= 1000 + 8 * message.len(), "a notice of {long} bytes");
}
