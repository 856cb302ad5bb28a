//! Lines of Matchwire's own format to facts, and facts to such lines.
//!
//! The vocabulary is the same; this module adds the validation of values, and ids: a match is
//! identified by its key and the provider of the key, which is the source's name unless the line
//! names another provider. No state is kept between lines except the clock for those without `at`.

mod analysis;
mod check;
mod player_words;
mod read;
mod words;
mod write;

use std::sync::Arc;

pub use self::write::LineWriter;
use super::{Interpret, Interpretation};
use crate::{
    decode::events::{self as decode, Line},
    error::{DecodeError, RefusalKind},
    event::{Batch, Micros, Timed},
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
    pub fn line(&mut self, bytes: &[u8], received: Micros) -> Result<ReadLine, DecodeError> {
        let (at, id, facts) = match decode::line(bytes)? {
            Line::One(line) => {
                let decode::Message { at, id, provider, sport, r#match, fact } = *line;
                (at, id, vec![decode::BatchFact { provider, sport, r#match, fact }])
            }
            Line::Batch(decode::Batch { at, id, batch }) => (at, id, batch),
        };
        check::moment("at", at)?;
        id.as_deref().map_or(Ok(()), |id| check::key("id", id))?;
        let mut batch = Batch { at, ..Batch::default() };
        for fact in facts {
            batch.price_changes =
                batch.price_changes.saturating_add(read::price_changes(&fact.fact));
            batch.events.push(self.event(fact)?);
        }
        let before = self.clock_us.or(at).unwrap_or(received);
        let clock_us = at.unwrap_or(before).max(before);
        self.clock_us = Some(clock_us);
        Ok(ReadLine { id, timed: Timed { clock_us, batch } })
    }

    fn event(&self, fact: decode::BatchFact) -> Result<crate::event::Event, DecodeError> {
        let provider = match fact.provider {
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
        if matches!(fact.r#match, decode::MatchName::Id(_)) && !self.foreign {
            let reason = "this source names its matches by keys of its own, as text";
            return Err(DecodeError::new(RefusalKind::Value, reason));
        }
        read::event(&provider, fact.sport, &fact.r#match, fact.fact)
    }
}

impl Interpret for Interpreter {
    fn message(
        &mut self,
        bytes: &[u8],
        received: Micros,
        out: &mut Interpretation,
    ) -> Result<(), DecodeError> {
        let ReadLine { timed, .. } = self.line(bytes, received)?;
        out.batches.push(timed);
        Ok(())
    }
}
