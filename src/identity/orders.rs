//! What the operator orders, done.
//!
//! An order stands above the rule. It may be about matches that are not here: then it is remembered
//! for when they come. Following the same one twice changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use ingest::event::Id;

use super::{Bound, By, Decision, Identity, Move, Numbered, Order, Place, Told, decision::pair};

const TWO_OF_ONE: &str = "two matches of one provider are never the same";
const UNKNOWN: &str = "nothing is known of the match: name it by PROVIDER/KEY";

/// Which match is to be joined, and with which, as the operator named them.
struct Asked {
    told: Told,
    with: Option<Told>,
}

impl Identity {
    /// Does what the operator orders, and says what the hub has to do, in this order.
    pub fn follow(&mut self, Numbered { number, order }: &Numbered) -> Vec<Move> {
        let done = match order {
            Order::Join { provider, key, into, swapped, with } => {
                let with = with.as_ref().map(|(provider, key)| self.told_by_key(provider, key));
                let asked = Asked { told: self.told_by_key(provider, key), with };
                self.follow_join(&asked, Place { id: *into, swapped: *swapped })
            }
            Order::Split { provider, key } => Ok(self.follow_split(self.own(provider, key))),
        };
        let refused = done.as_ref().err().copied();
        self.decide(Decision::Done { order: *number, refused });
        done.unwrap_or_default()
    }

    fn told_by_key(&self, provider: &str, key: &str) -> Told {
        Told { own: self.own(provider, key), ..Told::by_key(provider, key) }
    }

    fn follow_join(&mut self, asked: &Asked, into: Place) -> Result<Vec<Move>, &'static str> {
        let own = asked.told.own;
        let here = self.place(own);
        // What it is to be joined with may have been joined since.
        let there = self.place(into.id);
        let to = Place { id: there.id, swapped: into.swapped ^ there.swapped };
        if to == here || to.id == own {
            return Ok(Vec::new());
        }
        let movers = self.movers(own, here.id);
        if here.id != to.id {
            self.check_providers(&movers, asked, to.id)?;
        }
        let moved = movers.into_iter().filter_map(|mover| {
            let turned = mover != own && self.place(mover).swapped;
            self.put(mover, asked, Place { id: to.id, swapped: turned ^ to.swapped })
        });
        Ok(moved.collect())
    }

    /// Itself, and all that go by its id.
    fn movers(&self, own: Id, here: Id) -> Vec<Id> {
        let mut movers = vec![own];
        if here == own {
            let members = self.groups.of(own).iter().map(|member| member.own);
            movers.extend(members.filter(|member| *member != own));
            movers[1..].sort_unstable();
        }
        movers
    }

    /// None may be in the match twice when all have moved, and the match must be known by
    /// somebody's name, or that could not be told.
    fn check_providers(&self, movers: &[Id], asked: &Asked, to: Id) -> Result<(), &'static str> {
        let there = self.groups.of(to).iter().map(|member| (member.own, &*member.provider));
        let with = asked.with.iter().map(|with| (with.own, &*with.provider));
        let there = there.chain(with).filter(|(member, _)| !movers.contains(member));
        let there = there.collect::<BTreeMap<_, _>>();
        if there.is_empty() {
            return Err(UNKNOWN);
        }
        let here = self.groups.of(self.place(movers[0]).id).iter();
        let coming = here.filter(|member| movers.contains(&member.own));
        let mut all =
            coming.map(|member| (member.own, &*member.provider)).collect::<BTreeMap<_, _>>();
        all.insert(asked.told.own, &asked.told.provider);
        all.extend(there);
        let providers = all.values().collect::<BTreeSet<_>>();
        if providers.len() < all.len() { Err(TWO_OF_ONE) } else { Ok(()) }
    }

    /// Puts one under an id, whether it is here or not.
    fn put(&mut self, mover: Id, asked: &Asked, to: Place) -> Option<Move> {
        let from = self.place(mover).id;
        // What was only named so far is one of the match from now on.
        let with = asked.with.as_ref().filter(|with| with.own == to.id);
        if let Some(with) = with {
            self.groups.add(to.id, with.own, &with.provider);
        }
        let here = self.known.get(&to.id).map(|known| Told::of(to.id, &known.fixture));
        let with = here.or_else(|| with.cloned());
        if self.known.contains_key(&mover) {
            self.bind(mover, to, with, By::Operator);
            return Some(Move { own: mover, from, to: to.id, swapped: to.swapped });
        }
        let member = self.groups.of(from).iter().find(|member| member.own == mover);
        let provider = member.map_or_else(|| asked.told.provider.clone(), |it| it.provider.clone());
        self.groups.remove(from, mover);
        self.groups.add(to.id, mover, &provider);
        let bound = self.bindings.insert(mover, to).is_some();
        if mover == asked.told.own {
            let (told, aliases) = (asked.told.clone(), Vec::new());
            let bound = Bound { told, place: to, with, by: By::Operator, aliases };
            self.decide(Decision::Bind(Box::new(bound)));
        } else if bound {
            self.decide(Decision::Rebind(mover, to));
        }
        None
    }

    fn follow_split(&mut self, own: Id) -> Vec<Move> {
        let here = self.place(own).id;
        let others = self.groups.of(here).iter().map(|member| member.own);
        let mut others = others.filter(|other| *other != own).collect::<Vec<_>>();
        if here != own && !others.contains(&here) {
            others.push(here);
        }
        others.sort_unstable();
        if others.is_empty() {
            self.reject_doubts(own);
            return Vec::new();
        }
        others.iter().for_each(|other| self.split(pair(own, *other)));
        if here == own {
            self.give_up_id(own, &others)
        } else {
            self.release(own).into_iter().collect()
        }
    }

    /// It was suspected to be others, and is not.
    fn reject_doubts(&mut self, own: Id) {
        let pairs = self.doubts.of(own).collect::<Vec<_>>();
        pairs.into_iter().for_each(|pair| self.split(pair));
    }

    /// The match whose id all went by keeps it; the others go by that of the first of them.
    fn give_up_id(&mut self, own: Id, others: &[Id]) -> Vec<Move> {
        let first = others[0];
        let turned = self.place(first).swapped;
        let mut moves = self.release(first).into_iter().collect::<Vec<_>>();
        for other in &others[1..] {
            let to = Place { id: first, swapped: self.place(*other).swapped ^ turned };
            moves.extend(self.rebind(*other, own, to));
        }
        moves
    }

    /// Back to its own id.
    fn release(&mut self, own: Id) -> Option<Move> {
        let to = Place { id: own, swapped: false };
        let from = self.place(own).id;
        let moved = self.shift(own, from, to);
        self.bindings.remove(&own);
        self.aliases.remove(&own);
        self.decide(Decision::Unbind(own));
        moved
    }

    fn rebind(&mut self, own: Id, from: Id, to: Place) -> Option<Move> {
        let moved = self.shift(own, from, to);
        self.bindings.insert(own, to);
        self.aliases.remove(&own);
        self.decide(Decision::Rebind(own, to));
        moved
    }

    fn shift(&mut self, own: Id, from: Id, to: Place) -> Option<Move> {
        let member = self.groups.of(from).iter().find(|member| member.own == own).cloned();
        self.groups.remove(from, own);
        if let Some(member) = member {
            self.groups.add(to.id, own, &member.provider);
        }
        let known = self.known.get_mut(&own)?;
        known.place = to;
        Some(Move { own, from, to: to.id, swapped: to.swapped })
    }

    fn split(&mut self, pair: (Id, Id)) {
        if self.splits.insert(pair) {
            self.decide(Decision::Split(pair.0, pair.1));
        }
    }
}
