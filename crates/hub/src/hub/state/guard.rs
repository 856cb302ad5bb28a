//! Suspensions of a book by the hub: because its feed is not live, or because of an incident that
//! its prices cannot reflect yet.
//!
//! A hold covers the whole book. The bookmaker's own market statuses are unchanged beneath it.

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Eid, Incident, IncidentKind, VarDecision};
use fanout::Micros;

use super::Moment;

/// The holds of one book.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
pub struct Guard {
    feed: bool,
    play: Option<PlayHold>,
    /// The number of holds so far, which identifies them.
    number: u32,
}

/// A hold after an incident, while prices may predate it.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub(super) struct PlayHold {
    pub why: HoldReason,
    /// The incident.
    pub eid: Eid,
    /// Prices from this moment on lift the hold, compared by the sources' clocks, or by the hub's
    /// if either source reports no time.
    pub until: Moment,
}

base::words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
    pub enum HoldReason {
        Feed = "feed",
        Goal = "goal",
        RedCard = "red_card",
        Var = "var",
    }
}

impl HoldReason {
    /// The reason of a hold if an incident invalidates earlier prices.
    #[must_use]
    pub fn for_incident(incident: &Incident) -> Option<Self> {
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

/// A change of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardChange {
    /// The hub suspends the book.
    Suspended { number: u32, why: HoldReason, eid: Option<Eid> },
    /// The hub no longer suspends the book.
    Resumed { number: u32 },
}

impl PlayHold {
    /// `hold_us`: how long prices may predate the incident.
    pub(super) fn new(why: HoldReason, eid: Eid, moment: Moment, hold_us: Micros) -> Self {
        let source = moment.source.map(|at| at.saturating_add(hold_us));
        let until = Moment { source, received: moment.received.saturating_add(hold_us) };
        Self { why, eid, until }
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

    /// Records whether the feed is not live.
    pub(super) fn set_feed_sick(&mut self, sick: bool) -> Option<GuardChange> {
        let held = self.holds();
        self.feed = sick;
        self.change_since(held, HoldReason::Feed, None)
    }

    /// Starts a hold after an incident.
    pub(super) fn hold_for_play(&mut self, hold: PlayHold) -> Option<GuardChange> {
        let held = self.holds();
        let (why, eid) = (hold.why, hold.eid.clone());
        self.play = Some(hold);
        self.change_since(held, why, Some(eid))
    }

    /// Lifts the hold if prices of this moment postdate the incident, or if a market was reopened.
    pub(super) fn accept_prices(&mut self, moment: Moment, reopened: bool) -> Option<GuardChange> {
        let held = self.holds();
        self.play.take_if(|hold| reopened || hold.is_over(moment));
        self.change_since(held, HoldReason::Feed, None)
    }

    fn change_since(
        &mut self,
        held: bool,
        why: HoldReason,
        eid: Option<Eid>,
    ) -> Option<GuardChange> {
        match (held, self.holds()) {
            (false, true) => {
                self.number += 1;
                Some(GuardChange::Suspended { number: self.number, why, eid })
            }
            (true, false) => Some(GuardChange::Resumed { number: self.number }),
            _ => None,
        }
    }
}
