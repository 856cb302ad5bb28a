//! How late data is when the hub receives it, by source and by bookmaker.

use std::{collections::HashMap, sync::Arc};

use facts::event::{Batch, Fact, MarketChange};
use fanout::Micros;
use metrics::{Gauge, Histogram, gauge, histogram};
use tracing::warn;

use crate::hub::feeds::{Source, SourceNumber};

/// The number of bookmakers that have a histogram of their own. The names come from feeds; those beyond share one.
const BOOKMAKERS_MAX: usize = 64;

/// The label of the bookmakers beyond. No bookmaker has such a name.
const OTHERS: &str = "(others)";

/// No source lags by a day. A message that is older is of a recording.
const DELAY_US_MAX: Micros = 24 * 3600 * 1_000_000;

/// From here on the clock of the source or of the hub is wrong: messages state later times than when they are received.
const AHEAD_US_MAX: Micros = 2_000_000;

/// What is measured of a source.
#[derive(Debug)]
struct SourceDelay {
    delay: Histogram,
    /// How far the time in its last message was ahead.
    ahead: Gauge,
    /// It was beyond [`AHEAD_US_MAX`].
    was_ahead: bool,
}

/// The delays of messages that say when their facts happened.
#[derive(Debug, Default)]
pub(super) struct FeedDelays {
    /// By the number of the source; `None` until it has sent a message with a time.
    sources: Vec<Option<SourceDelay>>,
    bookmakers: HashMap<Arc<str>, Histogram>,
    /// Of the bookmakers beyond [`BOOKMAKERS_MAX`].
    others: Option<Histogram>,
}

impl FeedDelays {
    /// `source`: the one that the batch came from, with its number.
    pub(super) fn record(
        &mut self,
        (number, source): (SourceNumber, &Source),
        batch: &Batch,
        received: Micros,
    ) {
        let Some(delay) = batch.at.map(|at| received.saturating_sub(at)) else { return };
        if !(-DELAY_US_MAX..=DELAY_US_MAX).contains(&delay) {
            return;
        }
        let seconds = seconds(delay);
        self.source(number, source).record(delay, &source.name);
        let mut last = None;
        for event in &batch.events {
            let Fact::Odds(odds) = &event.fact else { continue };
            let has_prices = matches!(odds.change, MarketChange::Prices { .. });
            // Nearly always, all odds of a message are of one bookmaker.
            if has_prices && last != Some(&odds.book) {
                self.bookmaker(&odds.book).record(seconds);
                last = Some(&odds.book);
            }
        }
    }

    fn source(&mut self, number: SourceNumber, source: &Source) -> &mut SourceDelay {
        if self.sources.len() <= number.0 {
            self.sources.resize_with(number.0 + 1, || None);
        }
        self.sources[number.0].get_or_insert_with(|| SourceDelay::new(&source.name))
    }

    fn bookmaker(&mut self, slug: &Arc<str>) -> &Histogram {
        let is_full = self.bookmakers.len() >= BOOKMAKERS_MAX;
        if is_full && !self.bookmakers.contains_key(slug) {
            return self.others.get_or_insert_with(|| of_bookmaker(OTHERS));
        }
        self.bookmakers.entry(Arc::clone(slug)).or_insert_with_key(|slug| of_bookmaker(slug))
    }
}

impl SourceDelay {
    fn new(source: &str) -> Self {
        let delay = histogram!("matchwire_source_delay_seconds", "source" => source.to_owned());
        let ahead = gauge!("matchwire_source_ahead_seconds", "source" => source.to_owned());
        Self { delay, ahead, was_ahead: false }
    }

    /// `delay`: negative if the message states a later time than that of its receipt.
    fn record(&mut self, delay: Micros, source: &str) {
        self.delay.record(seconds(delay));
        self.ahead.set(seconds(-delay));
        if self.begins_ahead(-delay) {
            warn!(source, "messages state times ahead of the clock: compare it with an NTP server");
        }
    }

    fn begins_ahead(&mut self, ahead: Micros) -> bool {
        !std::mem::replace(&mut self.was_ahead, ahead > AHEAD_US_MAX) && self.was_ahead
    }
}

/// A delay for a histogram, and what a message is ahead for a gauge; never negative.
fn seconds(span: Micros) -> f64 {
    span.max(0) as f64 / 1e6
}

fn of_bookmaker(slug: &str) -> Histogram {
    histogram!("matchwire_bookmaker_delay_seconds", "bookmaker" => slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_from_the_future_is_reported_when_that_begins() {
        let mut source = SourceDelay::new("acme");
        let begins = [0, 1_999_999, 2_000_001, 9_000_000, 0, 2_000_001]
            .map(|ahead| source.begins_ahead(ahead));
        assert_eq!(begins, [false, false, true, false, false, true]);
        assert_eq!([-5, 1_500_000].map(|span| seconds(span).to_string()), ["0", "1.5"]);
    }
}
