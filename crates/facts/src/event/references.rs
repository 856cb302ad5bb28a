//! How lines name participants, competitions and venues: by the sender's key, by an id, or by the
//! name alone.
//!
//! The id of a key depends on the provider and on what the key names ([`Id::derive`]), which stand
//! elsewhere in the line, and serde passes no context to the types that it reads. So each reference
//! of a line goes to a list of the thread, and its [`Id`] is its place in that list until
//! the normaliser replaces it. Nothing of this remains after [`collect`] has returned,
//! and outside of it no reference can be read.
//!
//! The list is thread-local because the alternatives cost more than they clarify.
//! `serde::de::DeserializeSeed` cannot be derived: some twenty types on the way from a line to a
//! reference would need visitors written by hand, instead of the derives that also make the schema.
//! A raw form of the facts, or a type parameter for references, would repeat or spread through the
//! vocabulary of [`crate::event`]. Both build each fact twice.

use std::{cell::RefCell, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{Competition, Id, Participant, Venue};

thread_local! {
    /// The references of the line that the thread is reading.
    static READ: RefCell<Option<Vec<Reference>>> = const { RefCell::new(None) };
}

/// A reference as a line has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The sender's key; the name is the key if there is neither a key nor an id.
    pub key: Option<Arc<str>>,
    pub id: Option<u64>,
}

/// Reads a line, and returns the references in it: the ids of what was read are places in the list.
pub fn collect<T>(read: impl FnOnce() -> T) -> (T, Vec<Reference>) {
    READ.set(Some(Vec::new()));
    let line = read();
    (line, READ.take().unwrap_or_default())
}

fn resolve(reference: Reference) -> Result<Id, &'static str> {
    READ.with_borrow_mut(|read| {
        let list = read.as_mut().ok_or("a reference outside of a line")?;
        list.push(reference);
        Ok(Id(list.len() as u64 - 1))
    })
}

/// A side, a player, a horse. Without `key` and `id` it is known by its name.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Participant"))]
pub(super) struct NamedParticipant {
    name: Arc<str>,
    /// The sender's own key of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Arc<str>>,
    /// An id of Matchwire's own, in place of a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
}

impl TryFrom<NamedParticipant> for Participant {
    type Error = &'static str;

    fn try_from(
        NamedParticipant { name, key, id }: NamedParticipant,
    ) -> Result<Self, &'static str> {
        Ok(Self { id: resolve(Reference { key, id })?, name })
    }
}

impl From<Participant> for NamedParticipant {
    fn from(Participant { id, name }: Participant) -> Self {
        Self { name, key: None, id: Some(id.0) }
    }
}

/// Without `key` and `id` it is known by its name.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Competition"))]
pub(super) struct NamedCompetition {
    name: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    season: Option<Arc<str>>,
}

impl TryFrom<NamedCompetition> for Competition {
    type Error = &'static str;

    fn try_from(named: NamedCompetition) -> Result<Self, &'static str> {
        let NamedCompetition { name, key, id, season } = named;
        Ok(Self { id: resolve(Reference { key, id })?, name, season })
    }
}

impl From<Competition> for NamedCompetition {
    fn from(Competition { id, name, season }: Competition) -> Self {
        Self { name, key: None, id: Some(id.0), season }
    }
}

/// A ground, a court, a race course. Without `key` and `id` it is known by its name.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Venue"))]
pub(super) struct NamedVenue {
    name: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<Arc<str>>,
}

impl TryFrom<NamedVenue> for Venue {
    type Error = &'static str;

    fn try_from(NamedVenue { name, key, id, city }: NamedVenue) -> Result<Self, &'static str> {
        Ok(Self { id: resolve(Reference { key, id })?, name, city })
    }
}

impl From<Venue> for NamedVenue {
    fn from(Venue { id, name, city }: Venue) -> Self {
        Self { name, key: None, id: Some(id.0), city }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_is_read_within_a_line_only() {
        let read = || serde_json::from_str::<Participant>(r#"{"name":"A","key":"a"}"#);
        let (participant, references) = collect(read);
        assert_eq!(participant.unwrap(), Participant { id: Id(0), name: "A".into() });
        assert_eq!(references, [Reference { key: Some("a".into()), id: None }]);
        assert!(read().is_err());
    }
}
