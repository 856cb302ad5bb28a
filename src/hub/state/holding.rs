//! When books of a match are held back, and when they are let go.

use fanout::Micros;
use ingest::event::MarketStatus;

use super::{
    Book, BookEvent, FootballEvent, HoldReason, Life, Match, Moment, Play, Touched, TouchedBook,
    guard::PlayHold,
};
use crate::hub::feeds::SourceNumber;

impl Match {
    /// The books of a source are held back while it is sick.
    pub fn hold_for_feed(&mut self, source: SourceNumber, sick: bool, touched: &mut Touched) {
        for place in 0..self.books.len() {
            if self.books[place].source == source {
                let turn = self.books[place].guard.feed(sick);
                let events = turn.map(BookEvent::Guard);
                if let Some(event) = events {
                    touched.book(place).events.push(event);
                }
            }
        }
    }

    /// What one batch did to the guards: incidents hold books back that have not suspended
    /// themselves, prices from after them let them go.
    pub fn guard(&mut self, moment: Moment, hold_us: Micros, touched: &mut Touched) {
        for book in &mut touched.books {
            let turn = self.books[book.book].guard.told(moment, reopened(book));
            // Whether a word counts at all depends on what it is: a mere definition says no price.
            book.events.extend(turn.map(BookEvent::Guard));
        }
        let Play::Football(football) = &self.play else { return };
        let happened = touched.football_events.iter().filter_map(|event| match event {
            FootballEvent::Happened(place) => Some(&football.incidents[*place].incident),
            _ => None,
        });
        let holds: Vec<PlayHold> = happened
            .filter_map(|it| {
                Some(PlayHold::new(HoldReason::of(it)?, it.eid.clone(), moment, hold_us))
            })
            .collect();
        for hold in holds {
            for (place, book) in self.books.iter_mut().enumerate() {
                if can_be_bet_on(book) {
                    let turn = book.guard.play(hold.clone());
                    touched.book(place).events.extend(turn.map(BookEvent::Guard));
                }
            }
        }
    }
}

/// Whether anything of it is left to be held back.
fn can_be_bet_on(book: &Book) -> bool {
    book.life() != Life::Ended && !book.has_suspended_itself()
}

/// Whether a market was suspended and is open again.
fn reopened(touched: &TouchedBook) -> bool {
    touched.events.iter().any(|event| match event {
        BookEvent::Moved { transition, before, .. } => {
            transition.status == MarketStatus::Open
                && before.is_some_and(|(status, _)| status != MarketStatus::Open)
        }
        BookEvent::Resettled { .. } | BookEvent::Guard(_) => false,
    })
}
