//! The state of each source: health, ranks and counters.

use std::{collections::VecDeque, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec;
use facts::event::Id;
use fanout::Micros;

/// The index of a source in the hub's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(BorshSerialize, BorshDeserialize)]
pub struct SourceNumber(pub usize);

base::words! {
    /// The state of a feed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
    pub enum FeedState {
        Live = "live",
        /// Silent for longer than its deadline, or its provider reports a lag.
        Late = "late",
        Down = "down",
        /// Reconnected, and its image is not complete yet.
        Recovering = "recovering",
    }
}

/// Why a source is down that the settings no longer have.
pub const NOT_CONFIGURED: &str = "it is not configured";

/// A new state of a source, reported by the source or caused by its silence.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Health {
    pub feed: FeedState,
    /// The reason as a lower-case fragment, if there is one.
    pub why: Option<Arc<str>>,
}

/// A change of the state of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceTurn {
    pub source: SourceNumber,
    pub at: Micros,
    pub health: Health,
}

base::words! {
    /// The kinds of fact for which the sources of a match are ranked separately, with their names in the settings.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FactKind {
        /// Names, competition, start.
        Fixture = "fixture",
        /// Status, clock and score; of a tennis match its points too; a scoreboard, a race.
        Score = "score",
        /// Goals, cards, substitutions, and their corrections.
        Incidents = "incidents",
        Stats = "stats",
        Ball = "ball",
        /// A bookmaker's book that several sources carry.
        Odds = "odds",
    }
}

impl FactKind {
    pub const COUNT: usize = Self::ALL.len();
}

/// Decides which source is primary when several report the same kind of fact of a match: the live
/// source of the highest rank, and among equals the first to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Ranks(pub [u8; FactKind::COUNT]);

impl Ranks {
    /// The rank of a source without a setting.
    pub const DEFAULT: u8 = 100;

    #[must_use]
    pub fn get(self, kind: FactKind) -> u8 {
        self.0[kind as usize]
    }
}

impl Default for Ranks {
    fn default() -> Self {
        Self([Self::DEFAULT; FactKind::COUNT])
    }
}

/// How a source is treated, by its settings and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct SourcePolicy {
    /// Silence after which the source is late, in microseconds. `None` for a source that may be
    /// silent forever, such as a recording.
    pub deadline_us: Option<Micros>,
    pub ranks: Ranks,
}

#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Source {
    pub name: Arc<str>,
    /// `simulator`, `push`, or the format of a recording or a live feed.
    #[borsh(serialize_with = "codec::word::write", deserialize_with = "codec::word::read")]
    pub kind: &'static str,
    pub policy: SourcePolicy,
    pub state: FeedState,
    /// The reason of the state, if there is one.
    pub why: Option<Arc<str>>,
    /// When the state changed last.
    pub since: Option<Micros>,
    /// When its last message was received.
    pub last: Option<Micros>,
    /// Late only because of its silence: the source itself last reported that it is live.
    silent: bool,
    /// When it last gave a sign of life: a message, a heartbeat, an unchanged answer.
    alive_at: Option<Micros>,
    pub messages: u64,
    pub price_changes: u64,
    pub quarantined: u64,
    /// A recording has been played to its end.
    pub ended: bool,
    /// Whether it has changed since it was last published.
    pub(super) changed: bool,
    /// Matches that it introduced and the hub still holds.
    pub(super) matches: usize,
    /// Its ended matches with their ends by its own clock, the earliest end first.
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
            alive_at: None,
            messages: 0,
            price_changes: 0,
            quarantined: 0,
            ended: false,
            changed: true,
            matches: 0,
            over: VecDeque::new(),
        }
    }

    /// Whether its facts can be relied on.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.state == FeedState::Live
    }

    /// Whether the settings no longer have it. It keeps its number, and comes back under it.
    #[must_use]
    pub fn is_removed(&self) -> bool {
        self.state == FeedState::Down && self.why.as_deref() == Some(NOT_CONFIGURED)
    }

    /// Whether its channels are suspended: it is not live, and not because its recording has ended.
    #[must_use]
    pub fn is_sick(&self) -> bool {
        !self.is_live() && !self.ended
    }

    pub(super) fn message(&mut self, price_changes: u32, received: Micros) {
        self.messages += 1;
        self.price_changes += u64::from(price_changes);
        self.last = Some(received);
        self.mark_alive(received);
        self.changed = true;
    }

    pub(super) fn mark_alive(&mut self, at: Micros) {
        self.alive_at = self.alive_at.max(Some(at));
    }

    /// Moves the last sign of life along with the clock. One after the jump has the new time already.
    pub(super) fn clock_jumped(&mut self, by: Micros, now: Micros) {
        self.alive_at = self.alive_at.map(|at| at.saturating_add(by).min(now.max(at)));
    }

    /// When it becomes late without a sign of life before. `None` for a source that is not live.
    pub(super) fn late_at(&self) -> Option<Micros> {
        let deadline = self.policy.deadline_us.filter(|_| self.is_live())?;
        Some(self.alive_at?.saturating_add(deadline))
    }

    /// Whether the next sign of life makes it live again. Facts on one connection arrive in order,
    /// so silence loses nothing, and pushed facts are self-contained. A source that has lost facts
    /// reports it itself.
    pub(super) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Marks the source as late because of its silence; returns whether that changes its state.
    pub(super) fn mark_silent(&mut self, now: Micros) -> bool {
        let ms = self.policy.deadline_us.unwrap_or(0) / 1000;
        let why = Some(format!("silent for {ms} ms").into());
        let turned = self.turn(&Health { feed: FeedState::Late, why }, now);
        self.silent = true;
        turned
    }

    /// Sets the state; returns whether it differs from the one before.
    pub(super) fn turn(&mut self, health: &Health, now: Micros) -> bool {
        self.silent = false;
        // The removal of a source that was down is news, too.
        let is_removed = health.why.as_deref() == Some(NOT_CONFIGURED);
        let turned = self.state != health.feed || (is_removed && !self.is_removed());
        if turned || self.why != health.why {
            self.changed = true;
            self.why.clone_from(&health.why);
        }
        if turned {
            self.state = health.feed;
            self.since = Some(now);
            // The deadline restarts, otherwise a source that is back would be late at once.
            self.mark_alive(now);
        }
        turned
    }
}
