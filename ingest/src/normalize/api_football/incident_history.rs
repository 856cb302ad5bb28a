//! The incidents that were told of a fixture, and what an image makes of them.

use std::{collections::BTreeMap, sync::Arc};

use super::image::{Class, Seen};
use crate::event::{Eid, FootballFact, FootballScore, IncidentKind, Side, VarDecision};

#[derive(Debug, Default)]
pub(super) struct Known {
    /// With their names, in the order in which they were told.
    incidents: Vec<Seen>,
    /// How many of each were named.
    named: BTreeMap<(Class, Side), u32>,
}

impl Known {
    pub(super) fn is_empty(&self) -> bool {
        self.incidents.is_empty()
    }

    /// Makes an image what is known, and tells the difference. `score` is what stands now.
    pub(super) fn update(&mut self, image: Vec<Seen>, score: FootballScore) -> Vec<FootballFact> {
        let told = std::mem::take(&mut self.incidents);
        let matched = matched(&told, &image);
        let gone = told.iter().enumerate().filter(|(at, _)| !matched.contains(&Some(*at)));
        let mut facts: Vec<_> = gone.map(|(_, seen)| retraction(seen, &image, score)).collect();
        for (mut seen, before) in image.into_iter().zip(matched) {
            match before.map(|at| &told[at]) {
                Some(before) => {
                    seen.incident.eid = before.incident.eid.clone();
                    if seen.incident != before.incident {
                        facts.push(FootballFact::Correct(seen.incident.clone()));
                    }
                }
                None => {
                    seen.incident.eid = self.name(&seen);
                    facts.push(FootballFact::Incident(seen.incident.clone()));
                }
            }
            self.incidents.push(seen);
        }
        facts
    }

    fn name(&mut self, seen: &Seen) -> Eid {
        let number = self.named.entry((seen.class, seen.side)).or_default();
        *number += 1;
        let side = match seen.side {
            Side::First => "home",
            Side::Second => "away",
        };
        format!("{}-{side}-{number}", seen.class.name()).into()
    }
}

/// Which of those told each of an image is: first those that agree in everything, then by less and
/// less, each only once.
fn matched(told: &[Seen], image: &[Seen]) -> Vec<Option<usize>> {
    let ways: [fn(&Seen, &Seen) -> bool; 5] =
        [Seen::agrees, Seen::is_of_moment, Seen::is_of_minute, Seen::is_of_player, Seen::is_near];
    let mut matched = vec![None; image.len()];
    let mut free = vec![true; told.len()];
    for way in ways {
        for (seen, found) in image.iter().zip(&mut matched).filter(|(_, found)| found.is_none()) {
            let same = |it: &Seen| (it.class, it.side) == (seen.class, seen.side) && way(it, seen);
            *found = (0..told.len()).find(|at| free[*at] && same(&told[*at]));
            if let Some(at) = *found {
                free[at] = false;
            }
        }
    }
    matched
}

fn retraction(gone: &Seen, image: &[Seen], score: FootballScore) -> FootballFact {
    let overturned = |it: &&Seen| {
        it.incident.kind == IncidentKind::Var(VarDecision::Overturned)
            && it.side == gone.side
            && gone.class != Class::Var
            && it.incident.minute.abs_diff(gone.incident.minute) <= REVIEW_MINUTES_MAX
    };
    let review = image.iter().find(overturned).map(|it| it.detail.clone());
    let why: Arc<str> = review.unwrap_or_else(|| "no longer told by the provider".into());
    FootballFact::Retract { of: gone.incident.eid.clone(), why, score }
}

/// A review takes some minutes, in which the clock runs on.
const REVIEW_MINUTES_MAX: u16 = 6;
