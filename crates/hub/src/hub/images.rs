//! Complete documents, as last published.

use facts::event::Sport;

use super::{Header, Hub};
use crate::{channels::Subject, document::Object, wire};

impl Hub {
    /// The complete current document of a channel.
    #[must_use]
    pub fn image(&self, subject: Subject) -> Option<Object> {
        let header = self.channel(subject)?.header;
        let stale = self.settings.stale_after_ms;
        match subject {
            Subject::Match(id) => {
                Some(wire::match_image(&self.matches.get(id)?.state, header, stale))
            }
            Subject::Consensus(id) => {
                let state = &self.matches.get(id)?.state;
                Some(wire::consensus::image(&state.consensus, header, stale))
            }
            Subject::Book(id, book) => {
                let book = self.matches.get(id)?.state.books.get(book)?;
                Some(wire::book::image(book, header, stale))
            }
            Subject::Board(sport) => Some(self.board(sport, header)),
            Subject::Feeds => Some(self.feeds(header)),
            Subject::Signals => Some(self.signals(header)),
        }
    }

    fn board(&self, sport: Sport, header: Header) -> Object {
        let mut image = Object::default();
        wire::set_header(&mut image, header);
        image.put(wire::DocumentHeader::stale_after_ms(), self.settings.stale_after_ms);
        let matches = image.object("matches");
        let mut entries: Vec<_> =
            self.matches.values().filter(|it| it.state.sport == sport).collect();
        entries.sort_by_key(|entry| entry.state.id);
        for entry in entries {
            wire::board::line(matches, &entry.state, self.match_header(entry));
        }
        image
    }

    fn feeds(&self, header: Header) -> Object {
        let mut image = Object::default();
        wire::set_header(&mut image, header);
        image.put(wire::DocumentHeader::stale_after_ms(), self.settings.stale_after_ms);
        image.set(wire::feeds::Feeds::sources(), self.feeds_published.clone());
        image
    }
}
