//! Public ids derived from other ids or from names.

use facts::event::Id;

use super::Key;
use crate::ids::PublicIds;

/// The digest of a season, from its competition's id and its name.
#[must_use]
pub fn season(competition: Id, season: &str) -> Id {
    Id::derive("matchwire", "season", &format!("{competition}|{season}"))
}

/// The public id of an entity derived from other public ids, or from a name.
#[must_use]
pub fn derived(ids: &PublicIds, kind: &str, key: &str) -> Option<Key> {
    ids.number(Id::derive("matchwire", kind, key)).map(|id| id.0)
}

/// The public id of a horse in a race.
#[must_use]
pub fn runner(ids: &PublicIds, race: Id, horse: Key) -> Option<Key> {
    derived(ids, "runner", &format!("{race}|{horse}"))
}
