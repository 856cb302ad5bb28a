//! Carries out the operator's orders.
//!
//! An order overrides the rule. It may concern matches that are not present: then it takes effect
//! when they are introduced. Orders are idempotent.

use std::collections::{BTreeMap, BTreeSet};

use facts::event::Id;

use super::{
    CompetitionsOrder, DecidedBy, DecidedRelation, Decision, Identity, MatchDescription,
    MatchMapping, MatchOrder, Move, NewBinding, NumberedOrder,
    decision::pair,
    search::{Join, competitions},
};

/// Why an order is not carried out.
type Refusal = &'static str;

const TWO_OF_ONE: &str = "two matches of one provider are never the same";
const TWO_COMPETITIONS_OF_ONE: &str = "two competitions of one provider are never the same";
const UNKNOWN: &str = "unknown match: use PROVIDER/KEY instead";

/// The match to be joined, and the one to join it with, as the operator named them.
struct JoinRequest {
    description: MatchDescription,
    with: Option<MatchDescription>,
}

impl Identity {
    /// Carries out an order, and returns the moves for the hub, in order.
    pub fn follow(&mut self, NumberedOrder { number, order }: &NumberedOrder) -> Vec<Move> {
        let done = match order {
            MatchOrder::Join { provider, key, into, swapped, with } => {
                let with = with.as_ref().map(|(provider, key)| self.describe_by_key(provider, key));
                let request =
                    JoinRequest { description: self.describe_by_key(provider, key), with };
                self.follow_join(&request, MatchMapping { id: *into, swapped: *swapped })
            }
            MatchOrder::Split { provider, key } => {
                Ok(self.follow_split(self.local_id(provider, key)))
            }
            MatchOrder::Competitions(order) => self.follow_competitions(order),
        };
        let refused = done.as_ref().err().copied();
        self.decide(Decision::Done { order: *number, refused });
        done.unwrap_or_default()
    }

    /// Matches that were joined before stay joined, whatever is said of their competitions now.
    fn follow_competitions(&mut self, order: &CompetitionsOrder) -> Result<Vec<Move>, Refusal> {
        if order.one.provider == order.other.provider {
            return Err(TWO_COMPETITIONS_OF_ONE);
        }
        let both = order.pair();
        match order.relation {
            Some(relation) => self.competitions.insert(both, relation),
            None => self.competitions.remove(&both),
        };
        self.decide(Decision::Competitions(Box::new(order.clone())));
        if order.relation != Some(DecidedRelation::Same) {
            return Ok(Vec::new());
        }
        let is_of_both = |identity: &Self, one: Id, other: Id| {
            let (one, other) = (identity.matches.get(&one), identity.matches.get(&other));
            one.zip(other).and_then(|(one, other)| competitions(&one.fixture, &other.fixture))
                == Some(both)
        };
        let doubts = self.doubts.pairs().collect::<Vec<_>>();
        let mut moves = Vec::new();
        for (one, other) in doubts {
            if !is_of_both(self, one, other) || self.mapping(one).id == self.mapping(other).id {
                continue;
            }
            // A match is moved with all that took its id.
            let pairs = [(one, other), (other, one)].into_iter();
            let mut pairs = pairs.filter(|(mover, _)| self.mapping(*mover).id == *mover);
            let joined = pairs.find_map(|(mover, to)| {
                let Join { with, mapping } = self.search(mover).ok()?;
                (mapping.id == self.mapping(to).id).then_some((mover, with, mapping))
            });
            if let Some((mover, with, mapping)) = joined {
                let request = JoinRequest {
                    description: self.describe(mover),
                    with: Some(self.describe(with)),
                };
                moves.extend(self.follow_join(&request, mapping).unwrap_or_default());
            }
            if self.mapping(one).id != self.mapping(other).id {
                // The order hides the older doubts, so what is left is reported again.
                if let Some(doubt) = self.doubt_left(one, other) {
                    self.decide(Decision::Doubt(Box::new(doubt)));
                }
            }
        }
        Ok(moves)
    }

    fn describe_by_key(&self, provider: &str, key: &str) -> MatchDescription {
        let id = self.local_id(provider, key);
        MatchDescription { id, ..MatchDescription::by_key(provider, key) }
    }

    fn follow_join(
        &mut self,
        request: &JoinRequest,
        into: MatchMapping,
    ) -> Result<Vec<Move>, Refusal> {
        let local_id = request.description.id;
        let here = self.mapping(local_id);
        // The target may have been joined with another match since.
        let there = self.mapping(into.id);
        let to = MatchMapping { id: there.id, swapped: into.swapped ^ there.swapped };
        if to == here || to.id == local_id {
            return Ok(Vec::new());
        }
        let movers = self.movers(local_id, here.id);
        if here.id != to.id {
            self.check_providers(&movers, request, to.id)?;
        }
        let moved = movers.into_iter().filter_map(|mover| {
            let turned = mover != local_id && self.mapping(mover).swapped;
            self.put(mover, request, MatchMapping { id: to.id, swapped: turned ^ to.swapped })
        });
        Ok(moved.collect())
    }

    /// The match itself, and all that are mapped to its id.
    fn movers(&self, local_id: Id, here: Id) -> Vec<Id> {
        let mut movers = vec![local_id];
        if here == local_id {
            let members = self.groups.members(local_id).iter().map(|member| member.id);
            movers.extend(members.filter(|member| *member != local_id));
            movers[1..].sort_unstable();
        }
        movers
    }

    /// Checks that no provider is in the match twice after the move, and that the target is known
    /// by a provider, without which that could not be checked.
    fn check_providers(&self, movers: &[Id], request: &JoinRequest, to: Id) -> Result<(), Refusal> {
        let there = self.groups.members(to).iter().map(|member| (member.id, &*member.provider));
        let with = request.with.iter().map(|with| (with.id, &*with.provider));
        let there = there.chain(with).filter(|(member, _)| !movers.contains(member));
        let there = there.collect::<BTreeMap<_, _>>();
        if there.is_empty() {
            return Err(UNKNOWN);
        }
        let here = self.groups.members(self.mapping(movers[0]).id).iter();
        let coming = here.filter(|member| movers.contains(&member.id));
        let mut all =
            coming.map(|member| (member.id, &*member.provider)).collect::<BTreeMap<_, _>>();
        all.insert(request.description.id, &request.description.provider);
        all.extend(there);
        let providers = all.values().collect::<BTreeSet<_>>();
        if providers.len() < all.len() { Err(TWO_OF_ONE) } else { Ok(()) }
    }

    /// Maps one match to an id, whether it is present or not.
    fn put(&mut self, mover: Id, request: &JoinRequest, to: MatchMapping) -> Option<Move> {
        let from = self.mapping(mover).id;
        // The named match becomes a member of the target.
        let with = request.with.as_ref().filter(|with| with.id == to.id);
        if let Some(with) = with {
            self.groups.add(to.id, with.id, &with.provider);
        }
        let here = self.matches.get(&to.id).map(|it| MatchDescription::new(to.id, &it.fixture));
        let with = here.or_else(|| with.cloned());
        if self.matches.contains_key(&mover) {
            self.bind(mover, to, with, DecidedBy::Operator);
            return Some(Move { id: mover, from, to: to.id, swapped: to.swapped });
        }
        let member = self.groups.members(from).iter().find(|member| member.id == mover);
        let provider =
            member.map_or_else(|| request.description.provider.clone(), |it| it.provider.clone());
        self.groups.remove(from, mover);
        self.groups.add(to.id, mover, &provider);
        let bound = self.bindings.insert(mover, to).is_some();
        if mover == request.description.id {
            let (description, aliases) = (request.description.clone(), Vec::new());
            let bound =
                NewBinding { description, mapping: to, with, by: DecidedBy::Operator, aliases };
            self.decide(Decision::Bind(Box::new(bound)));
        } else if bound {
            self.decide(Decision::Rebind(mover, to));
        }
        None
    }

    fn follow_split(&mut self, local_id: Id) -> Vec<Move> {
        let here = self.mapping(local_id).id;
        let others = self.groups.members(here).iter().map(|member| member.id);
        let mut others = others.filter(|other| *other != local_id).collect::<Vec<_>>();
        if here != local_id && !others.contains(&here) {
            others.push(here);
        }
        others.sort_unstable();
        if others.is_empty() {
            // It is split from all that it was suspected to be.
            let pairs = self.doubts.pairs_with(local_id).collect::<Vec<_>>();
            pairs.into_iter().for_each(|pair| self.split(pair));
            return Vec::new();
        }
        others.iter().for_each(|other| self.split(pair(local_id, *other)));
        if here == local_id {
            self.give_up_id(local_id, &others)
        } else {
            self.release(local_id).into_iter().collect()
        }
    }

    /// The match whose id all had keeps it; the others get that of the first of them.
    fn give_up_id(&mut self, local_id: Id, others: &[Id]) -> Vec<Move> {
        let first = others[0];
        let turned = self.mapping(first).swapped;
        let mut moves = self.release(first).into_iter().collect::<Vec<_>>();
        for other in &others[1..] {
            let to = MatchMapping { id: first, swapped: self.mapping(*other).swapped ^ turned };
            moves.extend(self.rebind(*other, local_id, to));
        }
        moves
    }

    /// Maps a match back to its local id.
    fn release(&mut self, local_id: Id) -> Option<Move> {
        let to = MatchMapping { id: local_id, swapped: false };
        let from = self.mapping(local_id).id;
        let moved = self.shift(local_id, from, to);
        self.bindings.remove(&local_id);
        self.aliases.remove(&local_id);
        self.decide(Decision::Unbind(local_id));
        moved
    }

    fn rebind(&mut self, local_id: Id, from: Id, to: MatchMapping) -> Option<Move> {
        let moved = self.shift(local_id, from, to);
        self.bindings.insert(local_id, to);
        self.aliases.remove(&local_id);
        self.decide(Decision::Rebind(local_id, to));
        moved
    }

    fn shift(&mut self, local_id: Id, from: Id, to: MatchMapping) -> Option<Move> {
        let member = self.groups.members(from).iter().find(|member| member.id == local_id).cloned();
        self.groups.remove(from, local_id);
        if let Some(member) = member {
            self.groups.add(to.id, local_id, &member.provider);
        }
        let entry = self.matches.get_mut(&local_id)?;
        entry.mapping = to;
        Some(Move { id: local_id, from, to: to.id, swapped: to.swapped })
    }

    fn split(&mut self, pair: (Id, Id)) {
        if self.splits.insert(pair) {
            self.decide(Decision::Split(pair.0, pair.1));
        }
    }
}
