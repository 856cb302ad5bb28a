//! The references of a line to ids.

use facts::event::{EntityKind, Event, Id, Sport, references::Reference};

use super::check::{self, wrong};
use crate::error::Result;

/// Replaces the places of references by ids: those in the line, or digests of the provider's keys.
pub(super) fn references(
    event: &mut Event,
    provider: &str,
    references: &[Reference],
) -> Result<()> {
    let sport = event.sport;
    let mut result = Ok(());
    event.fact.each_entity(&mut |kind, id, name| {
        if result.is_ok() {
            let reference = references.get(id.0 as usize);
            match reference.map(|it| resolve(it, provider, word(kind, sport), name)) {
                Some(Ok(resolved)) => *id = resolved,
                Some(Err(error)) => result = Err(error),
                None => result = Err(wrong(format!("{name:?} has no reference"))),
            }
        }
    });
    result
}

fn resolve(reference: &Reference, provider: &str, kind: &str, name: &str) -> Result<Id> {
    check::key("name", name)?;
    match (&reference.key, reference.id) {
        (None, Some(id)) => Ok(Id(check::id(id)?)),
        (Some(_), Some(_)) => Err(wrong(format!("{name:?} has both a key and an id"))),
        (key, None) => {
            let key = key.as_deref().unwrap_or(name);
            check::key("key", key)?;
            Ok(Id::derive(provider, kind, key))
        }
    }
}

/// The kind in the digest of a key; see [`Id::derive`].
fn word(kind: EntityKind, sport: Sport) -> &'static str {
    match kind {
        EntityKind::Side if !sport.is_of_players() => "team",
        EntityKind::Side | EntityKind::Player => "player",
        EntityKind::Competition => "competition",
        EntityKind::Venue => "venue",
        EntityKind::Referee => "referee",
        EntityKind::Coach => "manager",
        EntityKind::Runner => "runner",
    }
}
