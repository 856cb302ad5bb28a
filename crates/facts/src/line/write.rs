//! Facts of any source as lines of the format, for exports and for pushing them elsewhere.
//!
//! Reading a line again, as a source of all matches, gives the same facts with the same ids.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use super::{BatchFact, Line, MatchName, Message};
use crate::event::{Batch, Event, Fact, Fixture, Id, Micros, Timed};

/// Writes batches as lines. It keeps the provider's key of each match of which it saw the fixture.
#[derive(Debug, Default)]
pub struct LineWriter {
    keys: HashMap<Id, (Arc<str>, Arc<str>)>,
}

impl LineWriter {
    /// One line, without its end. It has no moment where the batch has none.
    pub fn batch(&mut self, batch: &Batch) -> String {
        self.line(batch.at, batch)
    }

    /// The same with the clock as its moment where the batch has none: a line of a recording.
    pub fn timed(&mut self, timed: &Timed) -> String {
        self.line(Some(timed.batch.at.unwrap_or(timed.clock_us)), &timed.batch)
    }

    fn line(&mut self, at: Option<Micros>, batch: &Batch) -> String {
        let mut all: Vec<_> = batch.events.iter().map(|event| self.batch_fact(event)).collect();
        let line = match (all.pop(), all.is_empty()) {
            (Some(BatchFact { provider, sport, r#match, fact }), true) => {
                let id = None;
                let line = Message { at, id, provider, sport, r#match, fact };
                Line::One(Box::new(line))
            }
            (last, _) => {
                all.extend(last);
                Line::Batch(super::Batch { at, id: None, batch: all })
            }
        };
        serde_json::to_string(&line).expect("a line is JSON")
    }

    fn batch_fact<'a>(&mut self, event: &'a Event) -> BatchFact<'a> {
        if let Fact::Fixture(Fixture { provider, provider_key, .. }) = &event.fact
            && Id::derive(provider, "match", provider_key) == event.match_id
        {
            let names = (Arc::clone(provider), Arc::clone(provider_key));
            self.keys.insert(event.match_id, names);
        }
        let (provider, name) = match self.keys.get(&event.match_id) {
            Some((provider, key)) => (Some(provider.to_string()), MatchName::Key(key.to_string())),
            None => (None, MatchName::Id(event.match_id.0)),
        };
        let fact = Cow::Borrowed(&event.fact);
        BatchFact { provider, sport: event.sport, r#match: name, fact }
    }
}
