//! How the sources are: counted, published on the `feeds` channel, and told in every document that
//! depends on one.

use fanout::{Change, Micros};
use ingest::event::{Id, Sport};

use super::{
    FEEDS_EVERY_US, Header, Hub,
    feeds::{Feed, SourceNumber},
    sequence::Stamp,
    state::Life,
};
use crate::{
    channels::{Entry, Subject},
    document::Object,
    wire,
};

impl Hub {
    /// Counts a refused message of a source.
    pub fn refused(&mut self, source: SourceNumber) {
        self.sources[source.0].quarantined += 1;
        self.sources[source.0].changed = true;
    }

    /// A source has ended or failed: everything that depends on it says so, unless it is over.
    pub fn source_down(
        &mut self,
        source: SourceNumber,
        ended: bool,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        let own = &mut self.sources[source.0];
        own.state = Feed::Down;
        own.ended = ended;
        own.changed = true;
        let stamp = Stamp { source: None, received: now, published: now };
        let matches: Vec<Id> =
            self.matches.iter().filter(|(_, k)| k.source == source).map(|(id, _)| *id).collect();
        let mut all_subjects: Vec<Subject> = Vec::new();
        for id in matches {
            all_subjects.extend([Subject::Match(id), Subject::Consensus(id)]);
            let books = self.matches[&id].state.books.len();
            all_subjects.extend((0..books).map(|book| Subject::Book(id, book)));
        }
        all_subjects.extend(Sport::ALL.map(Subject::Board));
        for subject in all_subjects {
            self.refresh_feed(subject, stamp, changes);
        }
        // Whoever hears of it on `feeds` has all that it changed.
        self.flush_lanes_until(Micros::MAX, now, changes);
        self.feeds_due = 0;
        self.tick(now, changes);
    }

    /// A source begins again: what it said is forgotten, and its channels end. Those that come anew
    /// under their names have another epoch.
    pub fn source_restarted(
        &mut self,
        source: SourceNumber,
        now: Micros,
        changes: &mut Vec<Change>,
    ) {
        let stamp = Stamp { source: None, received: now, published: now };
        let matches: Vec<Id> =
            self.matches.iter().filter(|(_, k)| k.source == source).map(|(id, _)| *id).collect();
        for id in matches {
            self.remove(id, stamp, changes);
        }
        self.sources[source.0].over.clear();
    }

    fn refresh_feed(&mut self, subject: Subject, stamp: Stamp, changes: &mut Vec<Change>) {
        let Some(Entry { header: before, .. }) = self.channels.get(subject) else { return };
        let before = *before;
        let after = match subject {
            Subject::Board(sport) => self.board_header(sport),
            _ if before.life == Life::Ended => before,
            _ => Header { feed: Feed::Down, ..before },
        };
        let patch = wire::header_patch(before, after);
        self.publish(subject, after, patch, Vec::new(), stamp, changes);
    }

    /// What time alone makes due: the counts of the `feeds` channel, tails that have aged, and lanes
    /// that nobody follows any more. What lanes hold is due more often: see [`Hub::flush_lanes`].
    pub fn tick(&mut self, now: Micros, changes: &mut Vec<Change>) {
        if now < self.feeds_due {
            return;
        }
        self.feeds_due = now + FEEDS_EVERY_US;
        self.ensure(Subject::Feeds, Sport::Other, None, changes);
        let mut patch = Object::default();
        let header = Header { life: Life::Live, ..Header::EMPTY };
        let is_first = self.channels.get(Subject::Feeds).is_some_and(|e| e.header != header);
        if is_first {
            wire::set_header(&mut patch, header);
            patch.object("sources");
        }
        for source in self.sources.iter_mut().filter(|source| source.changed) {
            wire::feeds::source(patch.object("sources"), source);
            wire::feeds::source(&mut self.feeds_published, source);
            source.changed = false;
        }
        let stamp = Stamp { source: None, received: now, published: now };
        self.publish(Subject::Feeds, header, patch, Vec::new(), stamp, changes);
        let window = self.settings.window;
        self.lanes_open = 0;
        for entry in self.channels.iter_mut() {
            entry.sequence.trim(now, window);
            entry.lanes.close_unfollowed();
            self.lanes_open += entry.lanes.len();
        }
    }
}
