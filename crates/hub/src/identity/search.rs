//! Searches the present matches for the one that a new match is.
//!
//! The result does not depend on the order of introduction: all candidates are compared, and if two
//! fit equally well, none is chosen.

use std::collections::BTreeMap;

use facts::event::{Fixture, Id, Micros};

use super::{
    BOTH_HAD_IDS, Identity, MatchMapping, ProviderMatch,
    decision::{DecidedRelation, Doubt, pair},
    rule::Comparison,
    when,
};

/// Maximum number of doubts per match; the likeliest are recorded.
const DOUBTS_OF_ONE_MAX: usize = 8;

/// The match to join with.
#[derive(Debug)]
pub(super) struct Join {
    pub(super) with: Id,
    pub(super) mapping: MatchMapping,
}

/// The other match, whether it is the other way round, the score, and why.
type Doubtful = (Id, bool, f64, String);

/// The evidence for and against one group.
#[derive(Debug, Default)]
struct Evidence {
    same: Option<Fit>,
    doubtful: Vec<Doubtful>,
    /// A member of the group is certainly a different match.
    different: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fit {
    apart: Micros,
    with: Id,
    swapped: bool,
}

impl Identity {
    /// The match to join with, or else the likeliest doubts.
    pub(super) fn search(&self, local_id: Id) -> Result<Join, Vec<Doubt>> {
        self.search_all(local_id).map_err(|doubts| self.likeliest(local_id, doubts))
    }

    /// The doubt that is left of two matches in two groups.
    pub(super) fn doubt_left(&self, one: Id, other: Id) -> Option<Doubt> {
        let there = self.mapping(other);
        match self.search_all(one) {
            Ok(Join { mapping, .. }) if mapping.id == there.id => {
                let swapped = mapping.swapped ^ there.swapped;
                Some(self.doubt(one, other, swapped, 0.99, BOTH_HAD_IDS.to_owned()))
            }
            Ok(_) => None,
            Err(doubts) => {
                let of_pair = doubts.iter().find(|(with, ..)| *with == other);
                let of_group =
                    || doubts.iter().find(|(with, ..)| self.mapping(*with).id == there.id);
                let (with, swapped, score, why) = of_pair.or_else(of_group)?;
                let swapped = swapped ^ self.mapping(*with).swapped ^ there.swapped;
                Some(self.doubt(one, other, swapped, *score, why.clone()))
            }
        }
    }

    /// The match to join with, or else all doubts.
    fn search_all(&self, local_id: Id) -> Result<Join, Vec<Doubtful>> {
        let Some(entry) = self.matches.get(&local_id) else { return Err(Vec::new()) };
        let mut fits = Vec::new();
        let mut doubts = Vec::new();
        for (id, evidence) in self.evidence(local_id, entry) {
            doubts.extend(evidence.doubtful);
            let Some(fit) = evidence.same else { continue };
            if self.has_other_of(id, local_id, &entry.fixture.provider) {
                let why = "it fits, but another match of the same provider is part of it";
                doubts.push((fit.with, fit.swapped, 0.7, why.to_owned()));
            } else if evidence.different {
                let why = "it fits, but not with all that make up the match";
                doubts.push((fit.with, fit.swapped, 0.7, why.to_owned()));
            } else {
                fits.push(fit);
            }
        }
        fits.sort_by_key(|fit| (fit.apart, fit.with));
        match fits[..] {
            [fit] => Ok(self.join(fit)),
            [fit, next, ..] if next.apart >= fit.apart + when::window(entry.sport) / 3 => {
                Ok(self.join(fit))
            }
            _ => {
                let why = "several matches fit as well";
                let several = fits.iter().map(|fit| (fit.with, fit.swapped, 0.95, why.to_owned()));
                doubts.extend(several);
                Err(doubts)
            }
        }
    }

    fn join(&self, Fit { with, swapped, .. }: Fit) -> Join {
        let MatchMapping { id, swapped: with_swapped } = self.mapping(with);
        Join { with, mapping: MatchMapping { id, swapped: swapped ^ with_swapped } }
    }

    fn likeliest(&self, local_id: Id, mut doubts: Vec<Doubtful>) -> Vec<Doubt> {
        doubts.sort_by(|one, other| other.2.total_cmp(&one.2).then(one.0.cmp(&other.0)));
        doubts.truncate(DOUBTS_OF_ONE_MAX);
        let doubts = doubts.into_iter();
        doubts
            .map(|(other, swapped, score, why)| self.doubt(local_id, other, swapped, score, why))
            .collect()
    }

    /// The evidence by id of the candidate matches, without its own.
    fn evidence(&self, local_id: Id, entry: &ProviderMatch) -> BTreeMap<Id, Evidence> {
        let mut groups = BTreeMap::<Id, Evidence>::new();
        let Some(reading) = &entry.reading else { return groups };
        let here = entry.mapping.id;
        for other in self.index.candidates(reading) {
            let Some(candidate) = self.matches.get(&other) else { continue };
            if candidate.mapping.id == here || self.is_split_from(local_id, candidate.mapping.id) {
                continue;
            }
            if candidate.fixture.provider == entry.fixture.provider {
                continue;
            }
            let Some(comparison) = self.compare(entry, candidate) else { continue };
            let evidence = groups.entry(candidate.mapping.id).or_default();
            evidence.add(other, comparison);
        }
        groups
    }

    /// By the rule, and what the operator said of their competitions.
    fn compare(&self, one: &ProviderMatch, other: &ProviderMatch) -> Option<Comparison> {
        let relation = competitions(&one.fixture, &other.fixture);
        let relation = relation.and_then(|both| self.competitions.get(&both));
        let (one, other) = (one.reading.as_ref()?, other.reading.as_ref()?);
        Some(match relation {
            Some(DecidedRelation::Same) => one.compare_in_one_competition(other),
            Some(DecidedRelation::Apart) => Comparison::Different,
            None => one.compare(other),
        })
    }

    fn has_other_of(&self, id: Id, local_id: Id, provider: &str) -> bool {
        self.groups.members(id).iter().any(|it| it.id != local_id && &*it.provider == provider)
    }

    fn is_split_from(&self, local_id: Id, id: Id) -> bool {
        let members = self.groups.members(id).iter().map(|member| member.id);
        !self.splits.is_empty()
            && members.chain([id]).any(|other| self.splits.contains(&pair(local_id, other)))
    }
}

/// The ids of the competitions of two fixtures, the smaller one first.
pub(super) fn competitions(one: &Fixture, other: &Fixture) -> Option<(Id, Id)> {
    Some(pair(one.competition.as_ref()?.id, other.competition.as_ref()?.id))
}

impl Evidence {
    fn add(&mut self, with: Id, verdict: Comparison) {
        match verdict {
            Comparison::Same { swapped, apart } => {
                if self.same.is_none_or(|fit| apart < fit.apart) {
                    self.same = Some(Fit { apart, with, swapped });
                }
            }
            Comparison::Different => self.different = true,
            Comparison::Doubtful { swapped, score, why, differs } => {
                self.different |= differs;
                self.doubtful.push((with, swapped, score, why));
            }
        }
    }
}
