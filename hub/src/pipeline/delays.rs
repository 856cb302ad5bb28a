//! How late data is when the hub receives it, by source and by bookmaker.

use std::{collections::HashMap, sync::Arc};

use facts::event::{Batch, Fact, MarketChange};
use fanout::Micros;
use metrics::{Histogram, histogram};

use crate::hub::feeds::{Source, SourceNumber};

/// The number of bookmakers that have a histogram of their own. The names come from feeds; those beyond share one.
const BOOKMAKERS_MAX: usize = 64;

/// The label of the bookmakers beyond. No bookmaker has such a name.
const OTHERS: &str = "(others)";

/// No source lags by a day. A message that is older is of a recording.
const DELAY_US_MAX: Micros = 24 * 3600 * 1_000_000;

/// The delays of messages that say when their facts happened.
#[derive(Debug, Default)]
pub(super) struct FeedDelays {
    /// By the number of the source; `None` until it has sent a message with a time.
    sources: Vec<Option<Histogram>>,
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
        let Some(delay) = batch.at.map(|at| received.saturating_sub(at).max(0)) else { return };
        if delay > DELAY_US_MAX {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a summary is of floats")]
        let seconds = delay as f64 / 1e6;
        self.source(number, source).record(seconds);
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

    fn source(&mut self, number: SourceNumber, source: &Source) -> &Histogram {
        if self.sources.len() <= number.0 {
            self.sources.resize_with(number.0 + 1, || None);
        }
        self.sources[number.0].get_or_insert_with(
            || histogram!("matchwire_source_delay_seconds", "source" => source.name.to_string()),
        )
    }

    fn bookmaker(&mut self, slug: &Arc<str>) -> &Histogram {
        let is_full = self.bookmakers.len() >= BOOKMAKERS_MAX;
        if is_full && !self.bookmakers.contains_key(slug) {
            return self.others.get_or_insert_with(|| of_bookmaker(OTHERS));
        }
        self.bookmakers.entry(Arc::clone(slug)).or_insert_with_key(|slug| of_bookmaker(slug))
    }
}

fn of_bookmaker(slug: &str) -> Histogram {
    histogram!("matchwire_bookmaker_delay_seconds", "bookmaker" => slug.to_owned())
}
