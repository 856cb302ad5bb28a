//! When the hub itself holds a book back: because its feed is sick, or because something happened in
//! the match that its prices cannot know of yet.
//!
//! A hold is of the whole book. What the bookmaker says of its markets stays as it is beneath.

use fanout::Micros;
use ingest::event::{Eid, Incident, IncidentKind, VarDecision};

use super::Moment;

/// The holds of one book.
#[derive(Debug, Default)]
pub struct Guard {
    feed: bool,
    play: Option<PlayHold>,
    /// How often the book was held, which names the holds.
    number: u32,
}

/// A hold because of the play: of prices that may be from before it.
#[derive(Debug, Clone)]
pub(super) struct PlayHold {
    pub why: HoldReason,
    /// The incident.
    pub of: Eid,
    /// Prices are believed again that are of this moment or later: by the sources' own time, or by
    /// ours where one of them does not say.
    pub until: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldReason {
    Feed,
    Goal,
    RedCard,
    Var,
}

impl HoldReason {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feed => "feed",
            Self::Goal => "goal",
            Self::RedCard => "red_card",
            Self::Var => "var",
        }
    }

    /// Why an incident makes prices from before it worthless, if it does.
    #[must_use]
    pub fn of(incident: &Incident) -> Option<Self> {
        match incident.kind {
            IncidentKind::Goal(_) => Some(Self::Goal),
            IncidentKind::Red | IncidentKind::SecondYellow => Some(Self::RedCard),
            IncidentKind::Var(VarDecision::Checking) => Some(Self::Var),
            IncidentKind::Var(VarDecision::Confirmed | VarDecision::Overturned)
            | IncidentKind::Yellow
            | IncidentKind::Substitution
            | IncidentKind::PenaltyMissed
            | IncidentKind::Period(_)
            | IncidentKind::Shootout { .. } => None,
        }
    }
}

/// What became of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardChange {
    /// It holds now, and did not before.
    Suspended { number: u32, why: HoldReason, of: Option<Eid> },
    /// It holds no longer.
    Resumed { number: u32 },
}

impl PlayHold {
    /// `hold_us`: for how long after the incident prices may still be from before it.
    pub(super) fn new(why: HoldReason, of: Eid, moment: Moment, hold_us: Micros) -> Self {
        let source = moment.source.map(|at| at.saturating_add(hold_us));
        let until = Moment { source, received: moment.received.saturating_add(hold_us) };
        Self { why, of, until }
    }

    fn is_over(&self, moment: Moment) -> bool {
        match (self.until.source, moment.source) {
            (Some(until), Some(at)) => at >= until,
            _ => moment.received >= self.until.received,
        }
    }
}

impl Guard {
    #[must_use]
    pub fn holds(&self) -> bool {
        self.feed || self.play.is_some()
    }

    /// The feed has become sick, or well again.
    pub(super) fn set_feed_sick(&mut self, sick: bool) -> Option<GuardChange> {
        let held = self.holds();
        self.feed = sick;
        self.change_since(held, HoldReason::Feed, None)
    }

    /// Something happened in the match.
    pub(super) fn hold_for_play(&mut self, hold: PlayHold) -> Option<GuardChange> {
        let held = self.holds();
        let (why, of) = (hold.why, hold.of.clone());
        self.play = Some(hold);
        self.change_since(held, why, Some(of))
    }

    /// The bookmaker tells prices of this moment, or opens a market again.
    pub(super) fn accept_prices(&mut self, moment: Moment, reopened: bool) -> Option<GuardChange> {
        let held = self.holds();
        self.play.take_if(|hold| reopened || hold.is_over(moment));
        self.change_since(held, HoldReason::Feed, None)
    }

    fn change_since(
        &mut self,
        held: bool,
        why: HoldReason,
        of: Option<Eid>,
    ) -> Option<GuardChange> {
        match (held, self.holds()) {
            (false, true) => {
                self.number += 1;
                Some(GuardChange::Suspended { number: self.number, why, of })
            }
            (true, false) => Some(GuardChange::Resumed { number: self.number }),
            _ => None,
        }
    }
}
