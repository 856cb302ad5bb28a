//! The latest signals in memory, for HTTP requests.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    mem,
    sync::{Arc, PoisonError, RwLock},
};

use base::Micros;

use crate::write_progress::WriteProgress;
use record::{Key, signal::SignalRecord};

/// Maximum number in memory; the oldest ended ones are dropped first, and stay in the archive.
const SIGNALS_MAX: usize = 20_000;

/// A handle on them; clones share it.
#[derive(Debug, Clone, Default)]
pub struct SignalBoard {
    state: Arc<RwLock<BoardState>>,
    progress: WriteProgress,
}

#[derive(Debug, Default)]
struct BoardState {
    /// By begin and id.
    signals: BTreeMap<(Micros, Key), Arc<SignalRecord>>,
    began: HashMap<Key, Micros>,
    /// Signals with changes that the archive does not have.
    unwritten: HashSet<Key>,
    /// Signals that may be dropped: they have ended, and the archive has them.
    stored: BTreeSet<(Micros, Key)>,
}

impl SignalBoard {
    /// Adds or replaces signals.
    pub fn put(&self, records: &[Arc<SignalRecord>]) {
        if records.is_empty() {
            return;
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            state.unwritten.insert(record.id);
            state.take(record);
        }
        state.forget();
        self.progress.add();
    }

    /// How much of what was put is in the archive.
    #[must_use]
    pub fn progress(&self) -> &WriteProgress {
        &self.progress
    }

    /// Adds signals from the archive.
    pub fn restore(&self, records: &[Arc<SignalRecord>]) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        records.iter().for_each(|record| state.take(record));
        state.forget();
    }

    /// Ends the active signals but for these: the hub that found the others has not continued with them, so
    /// they ended when they were updated last.
    pub fn end_all_but(&self, active: &BTreeSet<Key>) {
        let cut_off = self.find(|record| record.ended.is_none() && !active.contains(&record.id));
        let cut_off = cut_off.into_iter();
        let ended =
            cut_off.map(|it| Arc::new(SignalRecord { ended: Some(it.updated), ..(*it).clone() }));
        self.put(&ended.collect::<Vec<_>>());
    }

    /// Takes the signals with unwritten changes, which count as written from now on.
    #[must_use]
    pub fn take_unwritten(&self) -> Vec<Arc<SignalRecord>> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let ids = mem::take(&mut state.unwritten);
        let records: Vec<_> = ids.into_iter().filter_map(|id| state.get(id)).collect();
        records.iter().for_each(|record| state.note_stored(record));
        records
    }

    /// Marks signals as unwritten again after a failure.
    pub fn not_written(&self, records: &[Arc<SignalRecord>]) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            state.unwritten.insert(record.id);
            state.stored.remove(&(record.began, record.id));
        }
    }

    #[must_use]
    pub fn get(&self, id: Key) -> Option<Arc<SignalRecord>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.get(id)
    }

    /// The signals that match a condition, newest first.
    #[must_use]
    pub fn find(&self, condition: impl Fn(&SignalRecord) -> bool) -> Vec<Arc<SignalRecord>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let found = state.signals.values().rev().filter(|record| condition(record));
        found.map(Arc::clone).collect()
    }
}

impl BoardState {
    /// An ended signal never begins again: an active record of it is an earlier one, repeated after
    /// a crash.
    fn take(&mut self, record: &Arc<SignalRecord>) {
        let existing = self.get(record.id);
        if record.ended.is_none()
            && existing.is_some_and(|it| it.ended.is_some() && it.digest() == record.digest())
        {
            return;
        }
        if let Some(before) = self.began.insert(record.id, record.began) {
            self.stored.remove(&(before, record.id));
            self.signals.remove(&(before, record.id));
        }
        self.signals.insert((record.began, record.id), Arc::clone(record));
        self.note_stored(record);
    }

    /// Notes that a signal may be dropped, if so.
    fn note_stored(&mut self, record: &SignalRecord) {
        if record.ended.is_some() && !self.unwritten.contains(&record.id) {
            self.stored.insert((record.began, record.id));
        }
    }

    fn get(&self, id: Key) -> Option<Arc<SignalRecord>> {
        self.signals.get(&(*self.began.get(&id)?, id)).map(Arc::clone)
    }

    fn forget(&mut self) {
        while self.signals.len() > SIGNALS_MAX
            && let Some((began, id)) = self.stored.pop_first()
        {
            self.signals.remove(&(began, id));
            self.began.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use facts::event::{Id, Sport};

    use super::*;
    use record::signal::{Finding, Signal, SignalKind, Topic};

    fn record(number: i64, ended: Option<Micros>) -> Arc<SignalRecord> {
        let topic =
            Topic { kind: SignalKind::Suspended, market: None, outcome: None, bookmaker: None };
        let finding = Finding::Suspended { open: 3, suspended: 1 };
        let signal = Signal { topic, strength: 75, finding };
        let record = SignalRecord::new(Id(7), Sport::Football, None, number, signal);
        Arc::new(SignalRecord { ended, ..(*record).clone() })
    }

    #[test]
    fn standing_signals_outlive_ended_ones() {
        let board = SignalBoard::default();
        let standing = record(0, None);
        board.put(&[Arc::clone(&standing)]);
        let ended: Vec<_> = (1..=20_000).map(|number| record(number, Some(number))).collect();
        board.put(&ended);
        assert_eq!(
            board.find(|_| true).len(),
            SIGNALS_MAX + 1,
            "the archive does not have them yet"
        );
        assert_eq!(board.take_unwritten().len(), SIGNALS_MAX + 1);
        board.put(&[record(20_001, None)]);
        assert_eq!(board.get(standing.id), Some(standing));
        assert_eq!(board.get(ended[0].id), None);
        let found = board.find(|_| true);
        assert_eq!(found.len(), SIGNALS_MAX);
        assert_eq!(found[0].began, 20_001, "the newest comes first");
    }

    #[test]
    fn repeated_begin_does_not_undo_the_end() {
        let board = SignalBoard::default();
        board.put(&[record(5, None)]);
        board.put(&[record(5, Some(9))]);
        board.put(&[record(5, None)]);
        let found = board.find(|_| true);
        assert_eq!(found.iter().map(|it| it.ended).collect::<Vec<_>>(), [Some(9)]);
    }

    #[test]
    fn later_record_replaces_the_earlier_one() {
        let board = SignalBoard::default();
        board.put(&[record(5, None)]);
        board.put(&[record(5, Some(9))]);
        let found = board.find(|_| true);
        assert_eq!(found.iter().map(|it| it.ended).collect::<Vec<_>>(), [Some(9)]);
    }
}
