//! What is known of each source: its health, its rank, and its counts.

use std::{collections::VecDeque, sync::Arc};

use fanout::Micros;
use ingest::event::Id;

/// A source's place in the hub's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SourceNumber(pub usize);

/// How a feed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeedState {
    Live,
    /// Nothing was heard for longer than its deadline, or its provider says that it lags.
    Late,
    Down,
    /// It is back, and its image is not complete yet.
    Recovering,
}

impl FeedState {
    pub const ALL: [Self; 4] = [Self::Live, Self::Late, Self::Down, Self::Recovering];
}

/// What a source says, or what its silence does, that changes how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub feed: FeedState,
    /// A lower-case fragment; absent where there is nothing to say.
    pub why: Option<Arc<str>>,
}

/// The kinds of fact for which sources of one match have an order of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FactKind {
    /// Names, competition, start.
    Fixture,
    /// Status, clock and score; of a tennis match its points too; a scoreboard, a race.
    Score,
    /// Goals, cards, substitutions, and what becomes of them.
    Incidents,
    Stats,
    Ball,
    /// One bookmaker's book that several sources carry.
    Odds,
}

impl FactKind {
    pub const ALL: [Self; 6] =
        [Self::Fixture, Self::Score, Self::Incidents, Self::Stats, Self::Ball, Self::Odds];
    pub const COUNT: usize = Self::ALL.len();

    /// Its name among the settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixture => "fixture",
            Self::Score => "score",
            Self::Incidents => "incidents",
            Self::Stats => "stats",
            Self::Ball => "ball",
            Self::Odds => "odds",
        }
    }
}

/// Which source is believed where several tell the same kind of fact of one match: the highest rank
/// that is live; among equals who came first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranks(pub [u8; FactKind::COUNT]);

impl Ranks {
    /// The rank of a source of which nothing else is said.
    pub const DEFAULT: u8 = 100;

    #[must_use]
    pub fn of(self, kind: FactKind) -> u8 {
        self.0[kind as usize]
    }
}

impl Default for Ranks {
    fn default() -> Self {
        Self([Self::DEFAULT; FactKind::COUNT])
    }
}

/// What was agreed with a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourcePolicy {
    /// After how much silence it is late, in microseconds. `None`: it may be silent for ever, as a
    /// recording may.
    pub deadline_us: Option<Micros>,
    pub ranks: Ranks,
}

#[derive(Debug)]
pub struct Source {
    pub name: Arc<str>,
    /// `simulator`, `push`, or the format of a recording or a live feed.
    pub kind: &'static str,
    pub policy: SourcePolicy,
    pub state: FeedState,
    /// Why it is so, if there is something to say.
    pub why: Option<Arc<str>>,
    /// Since when it is so.
    pub since: Option<Micros>,
    /// When its last message was received.
    pub last: Option<Micros>,
    /// It is late because of its silence alone, while its own last word is that it is live.
    silent: bool,
    /// When anything was heard of it: a message, a heartbeat, an unchanged answer.
    heard: Option<Micros>,
    pub messages: u64,
    pub price_changes: u64,
    pub quarantined: u64,
    /// A recording has been played to its end.
    pub ended: bool,
    /// Something of it changed since it was last published.
    pub(super) changed: bool,
    /// Matches that it introduced and that are known.
    pub(super) matches: usize,
    /// Its matches that have ended and when, by its own time; the first to end in front.
    pub(super) over: VecDeque<(Micros, Id)>,
}

impl Source {
    #[must_use]
    pub fn new(name: Arc<str>, kind: &'static str, policy: SourcePolicy) -> Self {
        Self {
            name,
            kind,
            policy,
            state: FeedState::Live,
            why: None,
            since: None,
            last: None,
            silent: false,
            heard: None,
            messages: 0,
            price_changes: 0,
            quarantined: 0,
            ended: false,
            changed: true,
            matches: 0,
            over: VecDeque::new(),
        }
    }

    /// Whether what it says can be relied on.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state == FeedState::Live
    }

    /// Whether its channels are held back: it is not live, and not because all has been played.
    #[must_use]
    pub fn is_sick(&self) -> bool {
        !self.is_live() && !self.ended
    }

    pub(super) fn message(&mut self, price_changes: u32, received: Micros) {
        self.messages += 1;
        self.price_changes += u64::from(price_changes);
        self.last = Some(received);
        self.heard(received);
        self.changed = true;
    }

    pub(super) fn heard(&mut self, at: Micros) {
        self.heard = self.heard.max(Some(at));
    }

    /// What was heard after the jump bears the new time already.
    pub(super) fn clock_jumped(&mut self, by: Micros, now: Micros) {
        self.heard = self.heard.map(|heard| heard.saturating_add(by).min(now.max(heard)));
    }

    /// When it becomes late if nothing is heard before. One that is not live already is late.
    pub(super) fn late_at(&self) -> Option<Micros> {
        let deadline = self.policy.deadline_us.filter(|_| self.is_live())?;
        Some(self.heard?.saturating_add(deadline))
    }

    /// Whether the next sign of life makes it live again: what a source tells over one connection
    /// comes in order, so nothing was lost by its silence, and who pushes tells facts that are whole
    /// in themselves. A source that has lost anything says so itself.
    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Notes that nothing was heard for too long; returns whether that is news.
    pub(super) fn mark_silent(&mut self, now: Micros) -> bool {
        let ms = self.policy.deadline_us.unwrap_or(0) / 1000;
        let why = Some(format!("silent for {ms} ms").into());
        let turned = self.turn(&Health { feed: FeedState::Late, why }, now);
        self.silent = true;
        turned
    }

    /// Notes how it is now; returns whether that is another state than before.
    pub(super) fn turn(&mut self, health: &Health, now: Micros) -> bool {
        self.silent = false;
        let turned = self.state != health.feed;
        if turned || self.why != health.why {
            self.changed = true;
            self.why.clone_from(&health.why);
        }
        if turned {
            self.state = health.feed;
            self.since = Some(now);
            // The deadline runs from here on, or a source that is back would be late at once.
            self.heard(now);
        }
        turned
    }
}
