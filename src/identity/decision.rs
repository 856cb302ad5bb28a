//! What identity decides, for others to store and to do, and what the operator orders.

use std::sync::Arc;

use ingest::event::{Fixture, Id};

/// Under which match one of a provider's is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatchMapping {
    pub id: Id,
    /// The provider has the sides in the other order than the match.
    pub swapped: bool,
}

/// What the hub has to do about an introduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// The id of the match.
    pub id: Id,
    pub swapped: bool,
    /// How many doubts are new.
    pub doubts: u32,
    /// Where the match was followed until now, if that was another id: its names were told later.
    pub from: Option<Id>,
}

/// What the hub has to do about an order: the facts of `own` belong to `to` from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// The id derived from the provider's key, under which its facts come.
    pub own: Id,
    pub from: Id,
    pub to: Id,
    /// The provider has the sides in the other order than `to`.
    pub swapped: bool,
}

/// Something to be stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Bind(Box<NewBinding>),
    /// The match of this own id, which is bound already, goes by another one.
    Rebind(Id, MatchMapping),
    /// The match goes by its own id again.
    Unbind(Id),
    /// These two are never one match, by their own ids, the smaller one first.
    Split(Id, Id),
    Doubt(Box<Doubt>),
    /// The operator's order of this number was followed, or why not.
    Done {
        order: i64,
        refused: Option<&'static str>,
    },
}

/// A match that is followed under another id than its own.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBinding {
    pub description: MatchDescription,
    pub mapping: MatchMapping,
    /// The match that it was found to be, where that is known.
    pub with: Option<MatchDescription>,
    pub by: DecidedBy,
    pub aliases: Vec<super::Alias>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    Rule,
    Operator,
}

/// Two matches that may be one.
#[derive(Debug, Clone, PartialEq)]
pub struct Doubt {
    pub one: MatchDescription,
    pub other: MatchDescription,
    pub swapped: bool,
    /// From 0 to 1.
    pub score: f64,
    pub why: String,
}

/// What a provider told of a match, for people to read.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchDescription {
    pub own: Id,
    pub provider: Arc<str>,
    pub key: Arc<str>,
    /// `A v B`, the start and the competition; empty where they are not told.
    pub sides: String,
    pub start: String,
    pub competition: String,
}

/// What the operator wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchOrder {
    /// The match of this provider, and all that was found to be it, is the match `into`: that of
    /// provider and key `with`, unless the operator named it by its id.
    Join { provider: String, key: String, into: Id, swapped: bool, with: Option<(String, String)> },
    /// The match of this provider is one of its own, and not what it was found or thought to be.
    Split { provider: String, key: String },
}

/// An order with its number in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedOrder {
    pub number: i64,
    pub order: MatchOrder,
}

impl MatchOrder {
    /// The own id of the match that it is about.
    #[must_use]
    pub fn own(&self) -> Id {
        let (Self::Join { provider, key, .. } | Self::Split { provider, key }) = self;
        own(provider, key)
    }
}

impl Doubt {
    /// Whether it is about these two, by their own ids.
    #[must_use]
    pub fn is_of(&self, one: Id, other: Id) -> bool {
        pair(self.one.own, self.other.own) == pair(one, other)
    }
}

impl DecidedBy {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Operator => "operator",
        }
    }
}

impl MatchDescription {
    #[must_use]
    pub fn of(own: Id, fixture: &Fixture) -> Self {
        let sides =
            fixture.sides.as_ref().map(|[one, other]| format!("{} v {}", one.name, other.name));
        let start = fixture.start.and_then(|at| jiff::Timestamp::from_microsecond(at).ok());
        let start = start.map(|at| format!("{at:.0}"));
        let start = start.or_else(|| fixture.date.map(|date| date.to_string()));
        let competition = fixture.competition.as_ref().map(|it| it.name.to_string());
        Self {
            own,
            provider: fixture.provider.clone(),
            key: fixture.provider_key.clone(),
            sides: sides.unwrap_or_default(),
            start: start.unwrap_or_default(),
            competition: competition.unwrap_or_default(),
        }
    }

    /// Of a match that is not here.
    #[must_use]
    pub fn by_key(provider: &str, key: &str) -> Self {
        Self {
            own: own(provider, key),
            provider: provider.into(),
            key: key.into(),
            sides: String::new(),
            start: String::new(),
            competition: String::new(),
        }
    }
}

/// The id that follows from a provider's own key of a match, as normalisers derive it.
#[must_use]
pub fn own(provider: &str, key: &str) -> Id {
    Id::derive(provider, "match", key)
}

/// Two ids in their order.
pub(super) fn pair(one: Id, other: Id) -> (Id, Id) {
    (one.min(other), one.max(other))
}
