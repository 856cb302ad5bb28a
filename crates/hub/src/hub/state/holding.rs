//! Suspends and resumes the books of a match on behalf of the hub.

use facts::event::MarketStatus;
use fanout::Micros;

use super::{
    Book, BookDelta, BookEvent, FootballEvent, HoldReason, Life, Match, MatchDelta, Moment, Play,
    guard::PlayHold,
};
use crate::hub::feeds::SourceNumber;

impl Match {
    /// Suspends the books of a source while it is not live.
    pub fn hold_for_feed(&mut self, source: SourceNumber, sick: bool, delta: &mut MatchDelta) {
        for index in 0..self.books.len() {
            if self.books[index].source == source {
                let change = self.books[index].guard.set_feed_sick(sick);
                if let Some(change) = change {
                    self.touched.all = true;
                    delta.book(index).events.push(BookEvent::Guard(change));
                }
            }
        }
    }

    /// Updates the guards after a batch: incidents suspend books that are not suspended themselves,
    /// later prices resume them.
    pub fn guard(&mut self, moment: Moment, hold_us: Micros, delta: &mut MatchDelta) {
        for book in &mut delta.books {
            let change = self.books[book.book].guard.accept_prices(moment, reopened(book));
            self.touched.all |= change.is_some();
            // A definition alone carries no price.
            book.events.extend(change.map(BookEvent::Guard));
        }
        let Play::Football(football) = &self.play else { return };
        let happened = delta.football_events.iter().filter_map(|event| match event {
            FootballEvent::Happened(index) => Some(&football.incidents[*index].incident),
            _ => None,
        });
        let holds: Vec<PlayHold> = happened
            .filter_map(|incident| {
                let why = HoldReason::for_incident(incident)?;
                Some(PlayHold::new(why, incident.eid.clone(), moment, hold_us))
            })
            .collect();
        for hold in holds {
            for (index, book) in self.books.iter_mut().enumerate() {
                if can_be_bet_on(book) {
                    let change = book.guard.hold_for_play(hold.clone());
                    self.touched.all |= change.is_some();
                    delta.book(index).events.extend(change.map(BookEvent::Guard));
                }
            }
        }
    }
}

/// Whether the book has an open market to suspend.
fn can_be_bet_on(book: &Book) -> bool {
    book.life() != Life::Ended && !book.has_suspended_itself()
}

/// Whether a market was suspended and is open again.
fn reopened(delta: &BookDelta) -> bool {
    delta.events.iter().any(|event| match event {
        BookEvent::Moved { transition, before, .. } => {
            transition.status == MarketStatus::Open
                && before.is_some_and(|(status, _)| status != MarketStatus::Open)
        }
        BookEvent::Resettled { .. } | BookEvent::Guard(_) => false,
    })
}
