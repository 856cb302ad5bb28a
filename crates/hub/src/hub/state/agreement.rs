//! Whether the sources of a match report the same score.

use super::{Match, Play};
use crate::hub::feeds::{FactKind, SourceNumber};

impl Match {
    /// The sources that report a score while clients see that of another one, and whether it is the same.
    pub fn compared_sources(&self) -> impl Iterator<Item = (SourceNumber, bool)> {
        let primary = self.primaries.get(FactKind::Score);
        let others = self.views.iter().filter(move |view| Some(view.source) != primary);
        others.filter_map(|view| Some((view.source, view.play.has_score_of(&self.play)?)))
    }
}

impl Play {
    /// Whether both have the same score; `None` if one of them has none. The points of a game of tennis do not count:
    /// they change every few seconds, and no two feeds are equally fast.
    fn has_score_of(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Football(one), Self::Football(other)) => {
                Some(one.reported_score()? == other.reported_score()?)
            }
            (Self::Tennis(one), Self::Tennis(other)) => {
                Some(one.reported_score()?.sets == other.reported_score()?.sets)
            }
            (Self::Scoreboard(one), Self::Scoreboard(other)) => {
                Some(one.reported_score()? == other.reported_score()?)
            }
            _ => None,
        }
    }
}
