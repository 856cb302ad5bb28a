//! What was last written of matches that go on, so that only what is new is written again.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use fanout::Micros;

use super::{
    appearance::Appearance,
    stored_price::{Line, News},
    merge::completed,
    odds::Tick,
};
use crate::{
    database::Pace,
    record::{Key, MatchRecord},
};

/// By match. What is not here is read from the tables when it is told of again.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    matches: HashMap<Key, Written>,
    /// Of whoever writes.
    pace: Pace,
}

#[derive(Debug, Default)]
struct Written {
    /// The record as it was kept before this program was told of the match, until all of it is told
    /// again.
    earlier: Option<Arc<MatchRecord>>,
    lines: HashMap<Key, Line>,
    appearances: BTreeMap<Key, Appearance>,
}

/// What is to be written of prices and players.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) lines: Vec<Line>,
    pub(super) ticks: Vec<Tick>,
    pub(super) appearances: Vec<Appearance>,
    /// Match and player of appearances that there are no more.
    pub(super) gone: Vec<(Key, Key)>,
}

impl Ledger {
    pub(super) fn pace(&mut self) -> &mut Pace {
        &mut self.pace
    }

    pub(super) fn knows(&self, id: Key) -> bool {
        self.matches.contains_key(&id)
    }

    /// Takes in what the tables have of these matches.
    pub(super) fn learn(
        &mut self,
        ids: &[Key],
        earlier: &[Arc<MatchRecord>],
        lines: Vec<Line>,
        appearances: Vec<Appearance>,
    ) {
        for id in ids {
            self.matches.insert(*id, Written::default());
        }
        for record in earlier {
            let written = self.matches.entry(record.brief.id).or_default();
            written.earlier = Some(Arc::clone(record));
        }
        for line in lines {
            let written = self.matches.entry(line.row.match_id).or_default();
            written.lines.insert(line.row.id, line);
        }
        for appearance in appearances {
            let written = self.matches.entry(appearance.match_id).or_default();
            written.appearances.insert(appearance.player, appearance);
        }
    }

    /// These over what was kept before.
    pub(super) fn completed(&mut self, records: &[Arc<MatchRecord>]) -> Vec<Arc<MatchRecord>> {
        let completed = |record| self.complete(record);
        records.iter().map(completed).collect()
    }

    fn complete(&mut self, record: &Arc<MatchRecord>) -> Arc<MatchRecord> {
        let Some(written) = self.matches.get_mut(&record.brief.id) else {
            return Arc::clone(record);
        };
        let whole = completed(record, written.earlier.as_deref());
        if Arc::ptr_eq(&whole, record) {
            written.earlier = None;
        }
        whole
    }

    /// What these tell that is not written yet.
    pub(super) fn news(&self, records: &[Arc<MatchRecord>], now: Micros) -> Entries {
        let mut entries = Entries::default();
        let nothing = Written::default();
        for record in records {
            let written = self.matches.get(&record.brief.id).unwrap_or(&nothing);
            let News { lines, ticks } = News::of(&written.lines, record, now);
            entries.lines.extend(lines);
            entries.ticks.extend(ticks);
            let appearances = Appearance::of_record(record);
            let gone =
                written.appearances.keys().filter(|player| !appearances.contains_key(player));
            entries.gone.extend(gone.map(|player| (record.brief.id, *player)));
            let news = appearances.into_values().filter_map(|mut it| {
                let before = written.appearances.get(&it.player);
                it.public_id = before.and_then(|before| before.public_id);
                (before != Some(&it)).then_some(it)
            });
            entries.appearances.extend(news);
        }
        entries
    }

    /// These were written.
    pub(super) fn note(&mut self, entries: Entries) {
        for line in entries.lines {
            let written = self.matches.entry(line.row.match_id).or_default();
            written.lines.insert(line.row.id, line);
        }
        for (match_id, player) in entries.gone {
            if let Some(written) = self.matches.get_mut(&match_id) {
                written.appearances.remove(&player);
            }
        }
        for appearance in entries.appearances {
            let written = self.matches.entry(appearance.match_id).or_default();
            written.appearances.insert(appearance.player, appearance);
        }
    }

    pub(super) fn forget(&mut self, id: Key) {
        self.matches.remove(&id);
    }
}
