//! The header fields of every document: its life cycle and the state of its feed.

use facts::event::{FootballStatus, Sport};

use super::{
    Header, Hub, MatchEntry,
    feeds::{FactKind, FeedState, Source, SourceNumber},
    state::{Book, Life, Match, Play},
};
use crate::channels::Subject;

impl Hub {
    /// The current header of a channel. `None` for channels whose header never changes.
    pub(super) fn header_now(&self, subject: Subject) -> Option<Header> {
        match subject {
            Subject::Match(id) => Some(self.match_header(self.matches.get(id)?)),
            Subject::Consensus(id) => Some(self.consensus_header(self.matches.get(id)?)),
            Subject::Book(id, book) => {
                let entry = self.matches.get(id)?;
                Some(self.book_header(entry, entry.state.books.get(book)?))
            }
            Subject::Board(sport) => Some(self.board_header(sport)),
            Subject::Feeds | Subject::Signals => None,
        }
    }

    pub(super) fn match_header(&self, entry: &MatchEntry) -> Header {
        let state = &entry.state;
        let status = match &state.play {
            Play::Football(football) => state.football_status(football).map(FootballStatus::as_str),
            Play::Tennis(tennis) => Some(state.tennis_status(tennis).as_str()),
            Play::Scoreboard(scores) => Some(state.scoreboard_status(scores).as_str()),
            Play::Race(racing) => Some(state.race_status(racing).as_str()),
            Play::None => None,
        };
        let source = self.main_source(entry);
        // The state of play is unknown while its source is not live.
        let life = match state.life() {
            Life::Live if source.is_sick() => Life::Suspended,
            life => life,
        };
        Header { life, feed: source.state, status, suspended: None, match_seq: None }
    }

    pub(super) fn book_header(&self, entry: &MatchEntry, book: &Book) -> Header {
        Header {
            life: book.life(),
            feed: self.sources[book.source.0].state,
            status: None,
            suspended: Some(book.is_suspended()),
            match_seq: entry.channels.match_seq(),
        }
    }

    pub(super) fn consensus_header(&self, entry: &MatchEntry) -> Header {
        let state = &entry.state;
        let all_closed = state.consensus.is_closed();
        let suspended = !all_closed && !state.consensus.is_open();
        let life = match (all_closed, suspended) {
            (true, _) => Life::Ended,
            (false, true) => Life::Suspended,
            (false, false) if state.life() == Life::Prematch => Life::Prematch,
            (false, false) => Life::Live,
        };
        let feed = self.books_feed(state);
        let match_seq = entry.channels.match_seq();
        Header { life, feed, status: None, suspended: Some(suspended), match_seq }
    }

    pub(super) fn board_header(&self, sport: Sport) -> Header {
        let entries = self.matches.values().filter(|entry| entry.state.sport == sport);
        let live = entries.map(|entry| self.main_source(entry)).any(Source::is_live);
        let feed = if live { FeedState::Live } else { FeedState::Down };
        Header { life: Life::Live, feed, ..Header::EMPTY }
    }

    /// The source that a match's own document depends on: the primary source of its score, else the
    /// first source of the match, unless that one is down while a source of its books is live.
    pub(super) fn main_source(&self, entry: &MatchEntry) -> &Source {
        let source = |number: SourceNumber| &self.sources[number.0];
        let primary = entry
            .state
            .primaries
            .get(FactKind::Score)
            .or_else(|| entry.state.primaries.get(FactKind::Incidents));
        if let Some(primary) = primary {
            return source(primary);
        }
        let mut tellers = entry.state.books.iter().map(|book| source(book.source));
        let first = source(entry.source);
        if first.is_live() { first } else { tellers.find(|it| it.is_live()).unwrap_or(first) }
    }

    /// Live while the source of any book is live.
    fn books_feed(&self, state: &Match) -> FeedState {
        let mut feeds = state.books.iter().map(|book| self.sources[book.source.0].state);
        let first = feeds.clone().next().unwrap_or(FeedState::Live);
        if feeds.any(|feed| feed == FeedState::Live) { FeedState::Live } else { first }
    }
}
