//! Another Matchwire's frames to facts, so that hubs can be chained: see `docs/PROTOCOL.md`.
//!
//! Keeps the document of each channel and emits what differs from the reported state, so an image
//! that repeats it produces nothing. The documents of football and tennis matches and of books are
//! used. Boards, consensus and `feeds` are ignored, because the receiving hub derives its own, and so
//! are `match_seq`, `transitions`, `prev`, `life` and unknown fields. Of events only the points of
//! tennis are used, because everything else is in the documents.
//!
//! Ids are derived from the other hub's ids, under the provider `matchwire`. This module does not
//! know subscriptions and positions: the caller ensures that no frame is missing.

mod book;
mod field;
mod football;
mod tennis;

use std::{collections::HashMap, sync::Arc};

use facts::{
    event::{Batch, Competition, Event, Fact, Fixture, MarketChange, Micros, OddsFact, Sport},
    merge_patch,
};
use serde::Deserialize;
use serde_json::Value;

use self::{
    book::{Book, BookChange},
    field::{PROVIDER, derived, number, participant, shared},
    football::{Football, replace_if_changed},
    tennis::Tennis,
};
use super::{Interpret, Interpretation, Signal};
use crate::error::{DecodeError, RefusalKind, Result};

/// The state of another hub's channels.
#[derive(Debug, Default)]
pub struct Matchwire {
    documents: HashMap<String, Document>,
    /// The other hub's clock less ours.
    ahead: Micros,
}

/// The most documents held; a hub allows a thousand channels per socket unless configured
/// otherwise.
const DOCUMENTS_MAX: usize = 50_000;
/// Bytes of a document, as text.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
struct Document {
    about: ChannelMatch,
    value: Value,
    /// Bytes of its image and of all patches since: an upper bound of its size.
    bytes: usize,
    state: DocumentState,
}

/// The match of a channel.
#[derive(Debug, Clone)]
struct ChannelMatch {
    sport: Sport,
    /// The other hub's own id of the match.
    key: u64,
}

/// The reported state of a document.
#[derive(Debug)]
enum DocumentState {
    Match(Box<MatchState>),
    /// By the bookmaker's slug.
    Book(Arc<str>, Book),
}

#[derive(Debug, Default)]
struct MatchState {
    fixture: Option<Fixture>,
    football: Football,
    tennis: Tennis,
}

/// The time of a frame: by the source behind the other hub if given, else by the other hub's clock.
#[derive(Debug, Clone, Copy)]
struct Moment {
    source: Option<Micros>,
    theirs: Micros,
}

impl Moment {
    /// Microseconds that have passed since `at`, which the other hub wrote by the same clock.
    fn since(self, at: Micros) -> Micros {
        self.source.unwrap_or(self.theirs).saturating_sub(at)
    }
}

/// The frames that are used.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Frame {
    Hello {
        now: Micros,
    },
    Beat {
        now: Micros,
    },
    Image {
        ch: String,
        at: FrameTime,
        data: Value,
    },
    Update {
        ch: String,
        at: FrameTime,
        patch: Option<Value>,
        #[serde(default)]
        events: Vec<Value>,
    },
    Unsubscribed {
        ch: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct FrameTime {
    src: Option<Micros>,
}

impl Interpret for Matchwire {
    fn message(&mut self, bytes: &[u8], received: Micros, out: &mut Interpretation) -> Result<()> {
        let frame = serde_json::from_slice(bytes)
            .map_err(|error| DecodeError::new(RefusalKind::Syntax, error.to_string()))?;
        match frame {
            Frame::Hello { now } | Frame::Beat { now } => {
                self.ahead = now.saturating_sub(received);
                out.signals.push(Signal::Alive);
            }
            Frame::Image { ch, at, data } => {
                self.image(&ch, data, bytes.len())?;
                self.emit(&ch, None, &[], at, received, out);
            }
            Frame::Update { ch, at, patch, events } => {
                self.update(&ch, patch.as_ref(), bytes.len())?;
                let patch = Some(patch.unwrap_or(Value::Null));
                self.emit(&ch, patch.as_ref(), &events, at, received, out);
            }
            Frame::Unsubscribed { ch } => self.remove(&ch, received, out),
            Frame::Other => {}
        }
        Ok(())
    }
}

impl Matchwire {
    fn image(&mut self, ch: &str, value: Value, bytes: usize) -> Result<()> {
        if let Some(document) = self.documents.get_mut(ch) {
            document.value = value;
            document.bytes = bytes;
            return Ok(());
        }
        let Some((about, state)) = channel(ch) else { return Ok(()) };
        if self.documents.len() >= DOCUMENTS_MAX {
            let why = format!("{ch}: more than {DOCUMENTS_MAX} channels");
            return Err(DecodeError::new(RefusalKind::TooLong, why));
        }
        self.documents.insert(ch.to_owned(), Document { about, value, bytes, state });
        Ok(())
    }

    fn update(&mut self, ch: &str, patch: Option<&Value>, bytes: usize) -> Result<()> {
        let Some(document) = self.documents.get_mut(ch) else {
            let is_used = channel(ch).is_some();
            let why = format!("{ch}: an update before its image");
            return if is_used { Err(DecodeError::new(RefusalKind::Unknown, why)) } else { Ok(()) };
        };
        if let Some(patch) = patch {
            merge_patch(&mut document.value, patch);
        }
        document.bytes = document.bytes.saturating_add(bytes);
        if document.bytes > DOCUMENT_BYTES_MAX {
            document.bytes = document.value.to_string().len();
        }
        if document.bytes > DOCUMENT_BYTES_MAX {
            self.documents.remove(ch);
            let why = format!("{ch}: its document is longer than {DOCUMENT_BYTES_MAX} bytes");
            return Err(DecodeError::new(RefusalKind::TooLong, why));
        }
        Ok(())
    }

    fn emit(
        &mut self,
        ch: &str,
        patch: Option<&Value>,
        events: &[Value],
        at: FrameTime,
        received: Micros,
        out: &mut Interpretation,
    ) {
        let theirs = received.saturating_add(self.ahead);
        let moment = Moment { source: at.src, theirs };
        let introduced = self.is_introduced(ch);
        let Some(Document { about, value, state, .. }) = self.documents.get_mut(ch) else { return };
        let facts = match state {
            DocumentState::Match(of_match) => of_match.diff(about, value, patch, events, moment),
            DocumentState::Book(slug, book) => {
                let mut wrong = Vec::new();
                let changed = book.diff(value, patch, &mut wrong);
                let notice = |why| DecodeError::new(RefusalKind::Value, format!("{ch}: {why}"));
                out.notices.extend(wrong.into_iter().map(notice));
                let first = !introduced && !changed.is_empty();
                let introduction = first.then(|| Fact::Fixture(about.unknown_fixture()));
                introduction.into_iter().chain(odds(slug, changed)).collect()
            }
        };
        about.push(out, received, at.src, facts);
    }

    /// Whether the match of a book was reported, by its own channel or by this one.
    fn is_introduced(&self, ch: &str) -> bool {
        let Some(Document { state: DocumentState::Book(_, book), .. }) = self.documents.get(ch)
        else {
            return true;
        };
        let of_match = parent(ch).and_then(|ch| self.documents.get(ch));
        let is_reported = |of_match: &Document| match &of_match.state {
            DocumentState::Match(of_match) => of_match.fixture.is_some(),
            DocumentState::Book(..) => false,
        };
        !book.is_empty() || of_match.is_some_and(is_reported)
    }

    fn remove(&mut self, ch: &str, received: Micros, out: &mut Interpretation) {
        let Some(Document { about, state, .. }) = self.documents.remove(ch) else { return };
        if let DocumentState::Book(slug, mut book) = state {
            about.push(out, received, None, odds(&slug, book.ended()).collect());
        }
    }
}

/// Parses the name of a channel: `football/7`, `football/7/odds/amberline`.
fn channel(ch: &str) -> Option<(ChannelMatch, DocumentState)> {
    let mut segments = ch.split('/');
    let sport = Sport::from_word(segments.next()?)?;
    let about = ChannelMatch { sport, key: segments.next()?.parse().ok()? };
    let state = match (segments.next(), segments.next(), segments.next()) {
        (None, ..) if matches!(sport, Sport::Football | Sport::Tennis) => {
            DocumentState::Match(Box::default())
        }
        (Some("odds"), Some(slug), None) => DocumentState::Book(slug.into(), Book::default()),
        _ => return None,
    };
    Some((about, state))
}

impl ChannelMatch {
    /// The fixture of a match of which only odds are known.
    fn unknown_fixture(&self) -> Fixture {
        Fixture {
            provider: PROVIDER.into(),
            provider_key: self.key.to_string().into(),
            competition: None,
            start: None,
            date: None,
            sides: None,
            ..Fixture::default()
        }
    }

    /// `None` for an image at sequence 0, which holds next to nothing.
    fn fixture(&self, document: &Value) -> Option<Fixture> {
        document.get("refs")?;
        let (names, kind) = match self.sport {
            Sport::Tennis => (["p1", "p2"], "player"),
            _ => (["home", "away"], "team"),
        };
        let [first, second] = names.map(|name| participant(document, name, kind));
        Some(Fixture {
            competition: document.get("competition").and_then(competition),
            start: number(document, "start"),
            sides: first.zip(second).map(<[_; 2]>::from),
            ..self.unknown_fixture()
        })
    }

    fn push(
        &self,
        out: &mut Interpretation,
        received: Micros,
        at: Option<Micros>,
        facts: Vec<Fact>,
    ) {
        if facts.is_empty() {
            return;
        }
        let (sport, match_id) = (self.sport, derived("match", self.key));
        let price_changes = facts.iter().map(price_changes).sum();
        let events = facts.into_iter().map(|fact| Event { sport, match_id, fact }).collect();
        out.push(received, Batch { at, price_changes, events });
    }
}

impl MatchState {
    fn diff(
        &mut self,
        about: &ChannelMatch,
        document: &Value,
        patch: Option<&Value>,
        events: &[Value],
        moment: Moment,
    ) -> Vec<Fact> {
        let Some(fixture) = about.fixture(document) else { return Vec::new() };
        // Nothing was reported before the fixture, even if patches arrived.
        let patch = patch.filter(|_| self.fixture.is_some());
        let mut facts = Vec::new();
        facts.extend(replace_if_changed(&mut self.fixture, Some(fixture)).map(Fact::Fixture));
        if about.sport == Sport::Football {
            facts.extend(
                self.football.diff(document, patch, moment).into_iter().map(Fact::Football),
            );
        } else {
            facts.extend(self.tennis.diff(document, events).into_iter().map(Fact::Tennis));
        }
        facts
    }
}

fn competition(node: &Value) -> Option<Competition> {
    let id = derived("competition", number(node, "id")?);
    Some(Competition { id, name: shared(node, "name")?, season: shared(node, "season") })
}

/// `football/7` of `football/7/odds/amberline`.
fn parent(ch: &str) -> Option<&str> {
    let (end, _) = ch.match_indices('/').nth(1)?;
    Some(&ch[..end])
}

fn odds(slug: &Arc<str>, changed: Vec<BookChange>) -> impl Iterator<Item = Fact> {
    changed.into_iter().map(move |(market, change)| {
        Fact::Odds(OddsFact { book: Arc::clone(slug), market, change })
    })
}

fn price_changes(fact: &Fact) -> u32 {
    let Fact::Odds(OddsFact { change: MarketChange::Prices { selections, .. }, .. }) = fact else {
        return 0;
    };
    let changes = selections.iter().map(|change| {
        let rungs = change.back.len() + change.lay.len() + change.traded.len();
        rungs + usize::from(change.price.is_some()) + usize::from(change.last.is_some())
    });
    u32::try_from(changes.sum::<usize>()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
