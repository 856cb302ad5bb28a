//! The same match from several providers becomes one match.
//!
//! It owns the mapping of provider matches to match ids. The hub resolves every fixture with it; it
//! answers from earlier decisions, else by the [`rule`], and returns new decisions to be stored. It
//! has no socket, no clock and no SQL, except in `store`.
//!
//! Every match has an id derived from its provider's key. The first of several providers gives its
//! id to all; the others are **bound** to it permanently. Where the rule is not certain, it records
//! a **doubt**, which the operator can review and then order to join or to split.
//!
//! In reading order: `grade`, `class`, `country`, `aliases`, `team`, `player`, `when`, `rule`; then
//! `decision`, `groups`, `index`, `doubts`, `search`, `orders`; then `store`, `writer`, `watch`.

mod aliases;
mod class;
mod competition;
mod country;
mod decision;
mod doubts;
mod grade;
mod groups;
mod index;
mod orders;
mod player;
pub mod rule;
mod search;
pub mod store;
mod team;
mod watch;
mod when;
mod writer;

use std::{borrow::Cow, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use facts::event::{Fact, Fixture, Id, Sport};
use rustc_hash::{FxHashMap, FxHashSet};

use self::{
    decision::pair, doubts::Doubts, groups::Groups, index::NameIndex, rule::Reading, search::Join,
};
pub use self::{
    decision::{
        CompetitionsOrder, DecidedBy, DecidedRelation, Decision, Doubt, MatchDescription,
        MatchMapping, MatchOrder, Move, NewBinding, NumberedOrder, ProviderCompetition, Resolution,
        local_id,
    },
    doubts::DOUBTS_MAX,
    grade::Grade,
    watch::watch,
    writer::{DecisionWriter, QUEUE_MAX, StoredCount, TakenDecisions},
};
use crate::ids::PublicIds;

/// Decisions that may wait to be stored, about 500 bytes each. Beyond it, new ones only hold for
/// this run.
const DECISIONS_MAX: usize = 65_536;

/// Why two matches that fit are not joined.
const BOTH_HAD_IDS: &str = "it fits, but both had ids before it did";

/// The mapping of provider matches to matches.
#[derive(Debug, Clone, Default, BorshSerialize, BorshDeserialize)]
#[borsh(init = reindex)]
pub struct Identity {
    /// By local id, all matches that were ever mapped to another id: 40 bytes each.
    bindings: FxHashMap<Id, MatchMapping>,
    /// By local id, the ids of sides and competition that the match shows under other ids.
    aliases: FxHashMap<Id, Vec<Alias>>,
    /// The public ids of local ids, which are digests without it.
    #[borsh(skip)]
    ids: Option<PublicIds>,
    groups: Groups,
    splits: FxHashSet<(Id, Id)>,
    /// What the operator said of pairs of competitions, the smaller id first.
    competitions: FxHashMap<(Id, Id), DecidedRelation>,
    /// The present provider matches, by local id.
    matches: FxHashMap<Id, ProviderMatch>,
    #[borsh(skip)]
    index: NameIndex,
    doubts: Doubts,
    decisions: Vec<Decision>,
    /// How many were dropped since the start because the database has them.
    #[borsh(skip)]
    dropped: u64,
}

/// A provider's match that is present.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
#[borsh(init = read)]
struct ProviderMatch {
    sport: Sport,
    fixture: Fixture,
    /// `None` while the fixture is not sufficient for the rule.
    #[borsh(skip)]
    reading: Option<Reading>,
    /// Whether the rule was applied once.
    judged: bool,
    mapping: MatchMapping,
}

/// An id of a side or a competition of a provider, and the id under which the match shows it.
pub type Alias = (Id, Id);

/// The decisions of earlier runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredDecisions {
    pub bindings: Vec<Binding>,
    pub splits: Vec<(Id, Id)>,
    pub competitions: Vec<((Id, Id), DecidedRelation)>,
    /// Oldest first.
    pub doubts: Vec<(Id, Id)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    pub local_id: Id,
    pub provider: Arc<str>,
    pub mapping: MatchMapping,
    /// The local id and the provider of the match that it was joined with, if known.
    pub with: Option<(Id, Arc<str>)>,
    pub aliases: Vec<Alias>,
}

impl ProviderMatch {
    /// Reads the names again, after the match was restored.
    fn read(&mut self) {
        self.reading = Reading::from_fixture(self.sport, &self.fixture);
    }
}

impl Identity {
    /// Finds candidates by name again, after the matches were restored.
    fn reindex(&mut self) {
        for (local_id, entry) in &self.matches {
            if let Some(reading) = &entry.reading {
                self.index.insert(*local_id, reading);
            }
        }
    }

    #[must_use]
    pub fn new(stored: StoredDecisions) -> Self {
        let mut identity = Self::default();
        for Binding { local_id, provider, mapping, with, aliases } in stored.bindings {
            identity.bindings.insert(local_id, mapping);
            identity.alias(local_id, aliases);
            identity.groups.add(mapping.id, local_id, &provider);
            // It is in the group unless it was moved away since.
            if let Some((with, provider)) = with.filter(|(with, _)| *with == mapping.id) {
                identity.groups.add(mapping.id, with, &provider);
            }
        }
        identity.splits.extend(stored.splits);
        identity.competitions.extend(stored.competitions);
        for doubt in stored.doubts {
            identity.doubts.insert(doubt);
        }
        identity
    }

    /// Uses these public ids for local ids.
    pub fn use_ids(&mut self, ids: PublicIds) {
        self.ids = Some(ids);
    }

    /// The local id of a provider's match.
    pub(crate) fn local_id(&self, provider: &str, key: &str) -> Id {
        let digest = local_id(provider, key);
        self.ids.as_ref().and_then(|ids| ids.number(digest)).unwrap_or(digest)
    }

    /// Replaces the ids of sides and competition in a fixture by those that its match shows, which
    /// are those of the first provider.
    #[must_use]
    pub fn with_public_ids<'a>(&self, local_id: Id, fact: Cow<'a, Fact>) -> Cow<'a, Fact> {
        let Some(aliases) = self.aliases.get(&local_id) else { return fact };
        if !matches!(*fact, Fact::Fixture(_)) {
            return fact;
        }
        let mut fact = fact;
        fact.to_mut().each_id(&mut |id| *id = shown(aliases, *id));
        fact
    }

    fn alias(&mut self, local_id: Id, aliases: Vec<Alias>) {
        if aliases.is_empty() {
            self.aliases.remove(&local_id);
        } else {
            self.aliases.insert(local_id, aliases);
        }
    }

    /// The aliases of a match for the ids of another present one. Both are the same match, in this
    /// order of the sides.
    fn aliases_of(&self, local_id: Id, swapped: bool, with: Id) -> Vec<Alias> {
        let (Some(one), Some(other)) = (self.matches.get(&local_id), self.matches.get(&with))
        else {
            return Vec::new();
        };
        let before = self.aliases.get(&with).map_or(&[][..], Vec::as_slice);
        let turn = swapped != other.mapping.swapped;
        let mut aliases = Vec::new();
        if let (Some(local), Some(with)) = (&one.fixture.sides, &other.fixture.sides) {
            let with = if turn { [&with[1], &with[0]] } else { [&with[0], &with[1]] };
            aliases.extend(local.iter().zip(with).map(|(local, with)| (local.id, with.id)));
        }
        let competitions = one.fixture.competition.as_ref().zip(other.fixture.competition.as_ref());
        aliases.extend(competitions.map(|(local, with)| (local.id, with.id)));
        let aliases = aliases.into_iter().map(|(local, with)| (local, shown(before, with)));
        aliases.filter(|(local, with)| local != with).collect()
    }

    /// Resolves the match of a fixture. To be called when a match is introduced, and whenever its
    /// fixture changes.
    ///
    /// `local_id` is the id derived from the fixture's provider and key. The resolved id is permanent,
    /// with one exception: a match introduced without names gets its final id when they are
    /// reported.
    ///
    /// With 20,000 present matches it takes about 20 microseconds.
    pub fn resolve(&mut self, sport: Sport, local_id: Id, fixture: &Fixture) -> Resolution {
        let before = self.matches.get(&local_id);
        if let Some(before) = before
            && (before.sport, &before.fixture) == (sport, fixture)
        {
            let MatchMapping { id, swapped } = before.mapping;
            return Resolution { id, swapped, doubts: 0, from: None };
        }
        let from = before.map(|before| before.mapping.id);
        let settled = self.settled(local_id);
        self.enter(local_id, sport, fixture);
        let doubts = match settled {
            Some(_) if self.bindings.contains_key(&local_id) => 0,
            Some(_) => self.doubt_only(local_id),
            None => self.join_or_doubt(local_id),
        };
        let MatchMapping { id, swapped } = self.mapping(local_id);
        Resolution { id, swapped, doubts, from: from.filter(|from| *from != id) }
    }

    /// The match that a provider's match is mapped to.
    #[must_use]
    pub fn mapping(&self, local_id: Id) -> MatchMapping {
        let here = self.matches.get(&local_id).map(|entry| entry.mapping);
        here.or_else(|| self.bindings.get(&local_id).copied())
            .unwrap_or(MatchMapping { id: local_id, swapped: false })
    }

    /// The local ids of all present members of this match.
    pub fn members(&self, id: Id) -> impl Iterator<Item = Id> {
        let members = self.groups.members(id).iter().map(|member| member.id);
        members.filter(|local_id| self.matches.contains_key(local_id))
    }

    /// A provider's fixture of its match, while it is present.
    #[must_use]
    pub fn fixture(&self, local_id: Id) -> Option<&Fixture> {
        self.matches.get(&local_id).map(|entry| &entry.fixture)
    }

    /// Drops a match that the hub removes, with all its members. Decisions about it stay.
    pub fn forget(&mut self, id: Id) {
        for local_id in self.members(id).collect::<Vec<_>>() {
            self.leave(local_id);
        }
        let members = self.groups.members(id).iter().map(|member| member.id).collect::<Vec<_>>();
        if !members.iter().any(|local_id| self.bindings.contains_key(local_id)) {
            members.into_iter().for_each(|local_id| self.groups.remove(id, local_id));
        }
    }

    /// Takes the decisions to be stored since the last call, in order.
    pub fn take_decisions(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.decisions)
    }

    /// Drops the oldest decisions, so that this many are left.
    pub fn keep_newest_decisions(&mut self, count: usize) {
        let excess = self.decisions.len().saturating_sub(count);
        self.decisions.drain(..excess);
    }

    /// Drops the decisions that the database has. `stored`: their number since the start.
    pub fn drop_stored(&mut self, stored: u64) {
        let more = usize::try_from(stored.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let more = more.min(self.decisions.len());
        self.decisions.drain(..more);
        self.dropped += more as u64;
    }

    #[must_use]
    pub fn has_decisions(&self) -> bool {
        !self.decisions.is_empty()
    }

    /// The mapping of a match that the rule may no longer change.
    fn settled(&self, local_id: Id) -> Option<MatchMapping> {
        let judged = self.matches.get(&local_id).filter(|entry| entry.judged);
        if let Some(mapping) = self.bindings.get(&local_id) {
            return Some(*mapping);
        }
        let followed =
            self.groups.follow(local_id).then_some(MatchMapping { id: local_id, swapped: false });
        judged.map(|entry| entry.mapping).or(followed)
    }

    /// Adds or updates a match under its current mapping.
    fn enter(&mut self, local_id: Id, sport: Sport, fixture: &Fixture) {
        let mapping = self.mapping(local_id);
        let before = self.matches.get(&local_id).is_some_and(|entry| entry.judged);
        self.leave(local_id);
        let reading = Reading::from_fixture(sport, fixture);
        if let Some(reading) = &reading {
            self.index.insert(local_id, reading);
        }
        self.groups.add(mapping.id, local_id, &fixture.provider);
        let (judged, fixture) = (before || reading.is_some(), fixture.clone());
        self.matches.insert(local_id, ProviderMatch { sport, fixture, reading, judged, mapping });
    }

    fn leave(&mut self, local_id: Id) {
        let Some(entry) = self.matches.remove(&local_id) else { return };
        if let Some(reading) = &entry.reading {
            self.index.remove(local_id, reading);
        }
    }

    fn join_or_doubt(&mut self, local_id: Id) -> u32 {
        match self.search(local_id) {
            Ok(Join { with, mapping }) => {
                let with =
                    self.matches.get(&with).map(|it| MatchDescription::new(with, &it.fixture));
                self.bind(local_id, mapping, with, DecidedBy::Rule);
                0
            }
            Err(doubts) => self.report_doubts(doubts),
        }
    }

    /// Records doubts only, since the match has a permanent id already.
    fn doubt_only(&mut self, local_id: Id) -> u32 {
        let doubts = match self.search(local_id) {
            Ok(Join { with, mapping }) if mapping.id != self.mapping(local_id).id => {
                vec![self.doubt(local_id, with, mapping.swapped, 0.99, BOTH_HAD_IDS.to_owned())]
            }
            Ok(_) => Vec::new(),
            Err(doubts) => doubts,
        };
        self.report_doubts(doubts)
    }

    fn report_doubts(&mut self, doubts: Vec<Doubt>) -> u32 {
        let mut new = 0;
        for doubt in doubts {
            if self.doubts.insert(pair(doubt.one.id, doubt.other.id)) {
                self.decide(Decision::Doubt(Box::new(doubt)));
                new += 1;
            }
        }
        new
    }

    /// Maps a present match to an id.
    fn bind(
        &mut self,
        local_id: Id,
        mapping: MatchMapping,
        with: Option<MatchDescription>,
        by: DecidedBy,
    ) {
        let Some(entry) = self.matches.get_mut(&local_id) else { return };
        self.groups.remove(entry.mapping.id, local_id);
        entry.mapping = mapping;
        self.groups.add(mapping.id, local_id, &entry.fixture.provider);
        self.bindings.insert(local_id, mapping);
        let description = MatchDescription::new(local_id, &entry.fixture);
        let aliases = with.as_ref().map(|with| self.aliases_of(local_id, mapping.swapped, with.id));
        let aliases = aliases.unwrap_or_default();
        self.alias(local_id, aliases.clone());
        self.decide(Decision::Bind(Box::new(NewBinding {
            description,
            mapping,
            with,
            by,
            aliases,
        })));
    }

    fn doubt(&self, one: Id, other: Id, swapped: bool, score: f64, why: String) -> Doubt {
        let (one, other) = (self.describe(one), self.describe(other));
        Doubt { one, other, swapped, score, why }
    }

    fn describe(&self, local_id: Id) -> MatchDescription {
        match self.matches.get(&local_id) {
            Some(entry) => MatchDescription::new(local_id, &entry.fixture),
            None => MatchDescription { id: local_id, ..MatchDescription::by_key("", "") },
        }
    }

    fn decide(&mut self, decision: Decision) {
        if self.decisions.len() < DECISIONS_MAX {
            self.decisions.push(decision);
        }
    }
}

/// The id under which this one is shown.
fn shown(aliases: &[Alias], id: Id) -> Id {
    aliases.iter().find(|(local, _)| *local == id).map_or(id, |(_, shown)| *shown)
}

#[cfg(test)]
mod tests;
