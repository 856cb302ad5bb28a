//! Converts a record of version 0.1, whose ids are digests, to public ids.

use std::sync::Arc;

use facts::event::Id;

use super::{
    EntityRef, Key, MatchRecord, PlayRecord,
    derived::{derived, runner, season},
    play::runner_key,
};
use crate::ids::PublicIds;

impl MatchRecord {
    /// The same match under public ids. `None` if the limit of public ids is reached.
    #[must_use]
    pub fn renumbered(&self, ids: &PublicIds) -> Option<Self> {
        let mut record = self.clone();
        let number = |id: Key| ids.number(Id(id)).map(|id| id.0);
        let key = |id: &mut Key| number(*id).map(|number| *id = number);
        let named = |it: &mut Option<EntityRef>| match it {
            Some(it) => number(it.id).map(|number| it.id = number),
            None => Some(()),
        };
        let Self { summary, names, play, .. } = &mut record;
        let summary = Arc::make_mut(summary);
        key(&mut summary.id)?;
        summary.sides.iter_mut().flatten().try_for_each(key)?;
        let places = [&mut summary.competition, &mut summary.venue, &mut summary.referee];
        places.into_iter().flatten().try_for_each(key)?;
        summary.coaches.iter_mut().flatten().try_for_each(key)?;
        [&mut names.competition, &mut names.venue, &mut names.referee]
            .into_iter()
            .chain(&mut names.coaches)
            .try_for_each(named)?;
        names.sides.iter_mut().flatten().try_for_each(|side| key(&mut side.id))?;
        // A season's digest is derived from its competition's public id.
        names.season = match (summary.competition, names.season.take()) {
            (Some(competition), Some(EntityRef { name, .. })) => {
                let id = ids.number(season(Id(competition), &name))?.0;
                Some(EntityRef { id, name })
            }
            _ => None,
        };
        summary.season = names.season.as_ref().map(|season| season.id);
        match play {
            PlayRecord::Football(football) => {
                for incident in &mut football.incidents {
                    [&mut incident.player, &mut incident.assist].into_iter().try_for_each(named)?;
                }
                let line_ups = football.line_ups.iter_mut().flatten();
                let in_line_ups = line_ups.flat_map(|it| &mut it.players).map(|it| &mut it.player);
                let players = football.players.iter_mut().map(|it| &mut it.player);
                in_line_ups.chain(players).try_for_each(|player| key(&mut player.id))?;
            }
            PlayRecord::Race(race) => {
                let id = Id(summary.id);
                for entrant in &mut race.runners {
                    key(&mut entrant.id)?;
                    entrant.runner = runner(ids, id, entrant.id)?;
                    entrant.jockey_id =
                        entrant.jockey.as_ref().and_then(|name| derived(ids, "jockey", name));
                }
                for price in &mut race.prices {
                    let key = runner_key(&price.bookmaker, &price.selection, price.name.as_deref());
                    price.horse = derived(ids, "horse", &key)?;
                    price.runner = runner(ids, id, price.horse)?;
                }
            }
            PlayRecord::Tennis(_) | PlayRecord::Scoreboard(_) | PlayRecord::None => {}
        }
        Some(record)
    }
}
