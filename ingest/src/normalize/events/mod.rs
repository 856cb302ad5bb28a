//! Lines of Matchwire's own format to facts.
//!
//! Lines contain the events themselves; this module adds the validation of values, and ids: a match
//! is identified by its key and the provider of the key, which is the source's name unless the line
//! names another provider. No state is stored between lines except the clock for those without `at`.

mod check;
mod resolve;

use std::sync::Arc;

use facts::{
    event::{
        Batch, Event, Fact, Id, MarketChange, Micros, OddsFact, SelectionChange, Timed,
        references::Reference,
    },
    line::{self, BatchFact, Line, MatchName},
};

use super::{Interpret, Interpretation};
use crate::{
    decode::events as decode,
    error::{DecodeError, RefusalKind, Result},
};

/// Reads the lines of one source.
#[derive(Debug, Clone)]
pub struct Interpreter {
    provider: Arc<str>,
    /// Whether lines may refer to matches by another provider's key, or by an id of the hub.
    foreign: bool,
    clock_us: Option<Micros>,
}

/// A usable line.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadLine {
    /// The sender's own id of it.
    pub id: Option<String>,
    pub timed: Timed,
}

impl Interpreter {
    /// For a source that may only refer to its own matches. `provider` is the source's name, to
    /// which its keys belong.
    #[must_use]
    pub fn new(provider: Arc<str>) -> Self {
        Self { provider, foreign: false, clock_us: None }
    }

    /// The same, but lines may name any provider, and matches by an id of the hub.
    #[must_use]
    pub fn of_all_matches(self) -> Self {
        Self { foreign: true, ..self }
    }

    /// Reads one line. One without `at` is played with the one before it.
    ///
    /// # Errors
    ///
    /// When it is not of the format, or a value of it cannot be.
    pub fn line(&mut self, bytes: &[u8], received: Micros) -> Result<ReadLine> {
        let (line, references) = decode::line(bytes)?;
        let (at, id, facts) = match line {
            Line::One(line) => {
                let line::Message { at, id, provider, sport, r#match, fact } = *line;
                (at, id, vec![BatchFact { provider, sport, r#match, fact }])
            }
            Line::Batch(line::Batch { at, id, batch }) => (at, id, batch),
        };
        // A recording may count from 0.
        if !self.foreign {
            check::sent(at)?;
        }
        id.as_deref().map_or(Ok(()), |id| check::key("id", id))?;
        let mut batch = Batch { at, ..Batch::default() };
        for fact in facts {
            let event = self.event(fact, &references)?;
            batch.price_changes = batch.price_changes.saturating_add(price_changes(&event.fact));
            batch.events.push(event);
        }
        let before = self.clock_us.or(at).unwrap_or(received);
        let clock_us = at.unwrap_or(before).max(before);
        self.clock_us = Some(clock_us);
        Ok(ReadLine { id, timed: Timed { clock_us, batch } })
    }

    fn event(&self, fact: BatchFact<'_>, references: &[Reference]) -> Result<Event> {
        let BatchFact { provider, sport, r#match, fact } = fact;
        let provider = match provider {
            Some(other) if *other != *self.provider && !self.foreign => {
                let reason = format!("provider {other:?} is not this source, {:?}", self.provider);
                return Err(DecodeError::new(RefusalKind::Value, reason));
            }
            Some(provider) => {
                check::slug("provider", &provider)?;
                provider.into()
            }
            None => Arc::clone(&self.provider),
        };
        let (match_id, key) = match r#match {
            MatchName::Id(_) if !self.foreign => {
                let reason = "this source names its matches by keys of its own, as text";
                return Err(DecodeError::new(RefusalKind::Value, reason));
            }
            MatchName::Key(key) => {
                check::key("match", &key)?;
                (Id::derive(&provider, "match", &key), key)
            }
            MatchName::Id(id) => (Id(check::id(id)?), id.to_string()),
        };
        let mut event = Event { sport, match_id, fact: fact.into_owned() };
        check::sport(&event)?;
        resolve::references(&mut event, &provider, references)?;
        check::values(&mut event.fact)?;
        if let Fact::Fixture(fixture) = &mut event.fact {
            (fixture.provider, fixture.provider_key) = (provider, key.into());
        }
        Ok(event)
    }
}

/// The number of prices and rungs that a fact changes.
fn price_changes(fact: &Fact) -> u32 {
    let Fact::Odds(OddsFact { change: MarketChange::Prices { selections, .. }, .. }) = fact else {
        return 0;
    };
    let count = |change: &SelectionChange| {
        let ladders = change.back.len() + change.lay.len() + change.traded.len();
        ladders + usize::from(change.price.is_some()) + usize::from(change.last.is_some())
    };
    u32::try_from(selections.iter().map(count).sum::<usize>()).unwrap_or(u32::MAX)
}

impl Interpret for Interpreter {
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let ReadLine { timed, .. } = self.line(bytes, received)?;
        out.batches.push(timed);
        Ok(())
    }
}
