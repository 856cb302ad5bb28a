//! The reported incidents of a fixture, and the changes that an image makes to them.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::{Eid, FootballFact, FootballScore, IncidentKind, Side, VarDecision};

use super::image::{IncidentClass, IncidentImage, REVIEW_MINUTES_MAX};

#[derive(Debug, Default)]
pub(super) struct IncidentHistory {
    /// With their ids, in the order in which they were reported.
    incidents: Vec<IncidentImage>,
    /// How many ids of each class and side were assigned.
    assigned: BTreeMap<(IncidentClass, Side), u32>,
}

impl IncidentHistory {
    pub(super) fn is_empty(&self) -> bool {
        self.incidents.is_empty()
    }

    /// Applies an image and returns the difference as facts. `score` is the current score; while there is none, nothing is
    /// retracted, because a retraction states the score after it.
    pub(super) fn update(
        &mut self,
        image: Vec<IncidentImage>,
        score: Option<FootballScore>,
    ) -> Vec<FootballFact> {
        let reported = std::mem::take(&mut self.incidents);
        let matched = matched(&reported, &image);
        let mut facts = Vec::new();
        for (at, incident) in reported.iter().enumerate() {
            if matched.contains(&Some(at)) {
                continue;
            }
            match score {
                Some(score) => facts.push(retraction(incident, &image, score)),
                None => self.incidents.push(incident.clone()),
            }
        }
        for (mut incident, before) in image.into_iter().zip(matched) {
            match before.map(|at| &reported[at]) {
                Some(before) => {
                    incident.incident.eid = before.incident.eid.clone();
                    if incident.incident != before.incident {
                        facts.push(FootballFact::Correct(incident.incident.clone()));
                    }
                }
                None => {
                    incident.incident.eid = self.assign_id(&incident);
                    facts.push(FootballFact::Incident(incident.incident.clone()));
                }
            }
            self.incidents.push(incident);
        }
        facts
    }

    fn assign_id(&mut self, incident: &IncidentImage) -> Eid {
        let number = self.assigned.entry((incident.class, incident.side)).or_default();
        *number += 1;
        let side = match incident.side {
            Side::First => "home",
            Side::Second => "away",
        };
        format!("{}-{side}-{number}", incident.class.name()).into()
    }
}

/// Matches each incident of an image to a reported one: first those that agree in everything, then
/// by weaker criteria, each only once.
fn matched(reported: &[IncidentImage], image: &[IncidentImage]) -> Vec<Option<usize>> {
    let ways: [fn(&IncidentImage, &IncidentImage) -> bool; 5] = [
        IncidentImage::agrees,
        IncidentImage::is_of_moment,
        IncidentImage::is_of_minute,
        IncidentImage::is_of_player,
        IncidentImage::is_near,
    ];
    let mut matched = vec![None; image.len()];
    let mut free = vec![true; reported.len()];
    for way in ways {
        for (incident, found) in image.iter().zip(&mut matched).filter(|(_, found)| found.is_none())
        {
            let same = |image: &IncidentImage| {
                (image.class, image.side) == (incident.class, incident.side) && way(image, incident)
            };
            *found = (0..reported.len()).find(|at| free[*at] && same(&reported[*at]));
            if let Some(at) = *found {
                free[at] = false;
            }
        }
    }
    matched
}

fn retraction(
    missing: &IncidentImage,
    image: &[IncidentImage],
    score: FootballScore,
) -> FootballFact {
    let overturned = |image: &&IncidentImage| {
        image.incident.kind == IncidentKind::Var(VarDecision::Overturned)
            && image.side == missing.side
            && missing.class != IncidentClass::Var
            && image.incident.minute.abs_diff(missing.incident.minute) <= REVIEW_MINUTES_MAX
    };
    let review = image.iter().find(overturned).map(|it| it.detail.clone());
    let why: Arc<str> = review.unwrap_or_else(|| "no longer reported by the provider".into());
    FootballFact::Retract { eid: missing.incident.eid.clone(), why, score }
}
