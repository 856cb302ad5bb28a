//! Decisions of identity, which others store and carry out, and the operator's orders.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use facts::codec;
use facts::event::{Fixture, Id};

/// The match that a provider's match is mapped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct MatchMapping {
    pub id: Id,
    /// Whether the provider has the sides in the opposite order.
    pub swapped: bool,
}

/// The result of resolving a fixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// The id of the match.
    pub id: Id,
    pub swapped: bool,
    /// The number of new doubts.
    pub doubts: u32,
    /// The previous id, if it has changed because names were reported later.
    pub from: Option<Id>,
}

/// A move of a provider's match: its facts belong to `to` from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The id derived from the provider's key, which its facts carry.
    pub id: Id,
    pub from: Id,
    pub to: Id,
    /// Whether the provider has the sides in the opposite order of `to`.
    pub swapped: bool,
}

/// A decision to be stored.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum Decision {
    Bind(Box<NewBinding>),
    /// The match of this local id, which is bound already, is mapped to another one.
    Rebind(Id, MatchMapping),
    /// The match is mapped to its local id again.
    Unbind(Id),
    /// These two are never one match, by their local ids, the smaller one first.
    Split(Id, Id),
    Doubt(Box<Doubt>),
    /// What the operator says of two competitions.
    Competitions(Box<CompetitionsOrder>),
    /// The operator's order of this number was carried out, or refused for this reason.
    Done {
        order: i64,
        #[borsh(
            serialize_with = "codec::optional_word::write",
            deserialize_with = "codec::optional_word::read"
        )]
        refused: Option<&'static str>,
    },
}

/// A binding of a match to another id than its local one.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct NewBinding {
    pub description: MatchDescription,
    pub mapping: MatchMapping,
    /// The match that it was joined with, if known.
    pub with: Option<MatchDescription>,
    pub by: DecidedBy,
    pub aliases: Vec<super::Alias>,
}

base::words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
    pub enum DecidedBy {
        Rule = "rule",
        Operator = "operator",
    }
}

/// Two matches that may be one.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct Doubt {
    pub one: MatchDescription,
    pub other: MatchDescription,
    pub swapped: bool,
    /// From 0 to 1.
    pub score: f64,
    pub why: String,
}

/// A human-readable description of a provider's match.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct MatchDescription {
    pub id: Id,
    pub provider: Arc<str>,
    pub key: Arc<str>,
    /// `A v B`, the start and the competition; empty if unknown.
    pub sides: String,
    pub start: String,
    pub competition: String,
    pub competition_id: Option<Id>,
}

/// An operator's order.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum MatchOrder {
    /// Join this provider's match, and all joined with it, with the match `into`: that of provider
    /// and key `with`, unless the operator named it by its id.
    Join {
        provider: String,
        key: String,
        into: Id,
        swapped: bool,
        with: Option<(String, String)>,
    },
    /// Split this provider's match from those that it was joined or suspected with.
    Split {
        provider: String,
        key: String,
    },
    Competitions(Box<CompetitionsOrder>),
}

/// What the operator says of two competitions of two providers. It settles the doubts between their matches, those of later
/// too.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct CompetitionsOrder {
    pub one: ProviderCompetition,
    pub other: ProviderCompetition,
    /// `None` takes back what was said before.
    pub relation: Option<DecidedRelation>,
}

/// A competition of a provider.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ProviderCompetition {
    pub id: Id,
    pub provider: String,
    pub name: String,
}

base::words! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
    pub enum DecidedRelation {
        /// Their names and countries do not count, and what one feed states of them holds for the other.
        Same = "same",
        /// No match of one is a match of the other.
        Apart = "apart",
    }
}

/// An order with its number in the store.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct NumberedOrder {
    pub number: i64,
    pub order: MatchOrder,
}

impl CompetitionsOrder {
    /// The ids of both, the smaller one first.
    #[must_use]
    pub fn pair(&self) -> (Id, Id) {
        pair(self.one.id, self.other.id)
    }
}

impl Doubt {
    /// What the operator may say of its competitions; `None` if one of them is not known.
    #[must_use]
    pub fn competitions(&self, relation: Option<DecidedRelation>) -> Option<CompetitionsOrder> {
        let competition = |side: &MatchDescription| {
            let (provider, name) = (side.provider.to_string(), side.competition.clone());
            Some(ProviderCompetition { id: side.competition_id?, provider, name })
        };
        let (one, other) = (competition(&self.one)?, competition(&self.other)?);
        Some(CompetitionsOrder { one, other, relation })
    }

    /// Whether it is about these two, by their local ids.
    #[must_use]
    pub fn is_of(&self, one: Id, other: Id) -> bool {
        pair(self.one.id, self.other.id) == pair(one, other)
    }
}

impl MatchDescription {
    #[must_use]
    pub fn new(id: Id, fixture: &Fixture) -> Self {
        let sides =
            fixture.sides.as_ref().map(|[one, other]| format!("{} v {}", one.name, other.name));
        let start = fixture.start.and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
        let start = start.map(|at| format!("{at:.0}"));
        let start = start.or_else(|| fixture.date.map(|date| date.to_string()));
        let competition = fixture.competition.as_ref();
        Self {
            id,
            provider: fixture.provider.clone(),
            key: fixture.provider_key.clone(),
            sides: sides.unwrap_or_default(),
            start: start.unwrap_or_default(),
            competition: competition.map(|it| it.name.to_string()).unwrap_or_default(),
            competition_id: competition.map(|it| it.id),
        }
    }

    /// The description of a match that is not present.
    #[must_use]
    pub fn by_key(provider: &str, key: &str) -> Self {
        Self {
            id: local_id(provider, key),
            provider: provider.into(),
            key: key.into(),
            sides: String::new(),
            start: String::new(),
            competition: String::new(),
            competition_id: None,
        }
    }
}

/// The id derived from a provider's key of a match, as normalisers derive it.
#[must_use]
pub fn local_id(provider: &str, key: &str) -> Id {
    Id::derive(provider, "match", key)
}

/// Two ids in ascending order.
pub(super) fn pair(one: Id, other: Id) -> (Id, Id) {
    (one.min(other), one.max(other))
}
