//! The usage journal: counts that the database does not have yet, in a file next to it.
//!
//! The new total of a tally is appended before the response to its call is sent. A flush appends its
//! number and the totals that it writes before it commits. After a `kill -9`, the file and the number of
//! the last flush in the database show what the database lacks, and nothing is added twice. Totals only
//! increase, so entries may be appended in any order and repeated.
//!
//! The file is not fsynced: it survives a kill of the process, but may lack its last second after a power
//! failure. After each flush it is reduced to what the database still lacks.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use borsh::{BorshDeserialize, BorshSerialize};
use metrics::counter;

use super::{
    Counts, Day,
    flush::WrittenTally,
    tally::{Slot, Tally},
};
use crate::{accounts::AccountId, products::Product};

/// The first byte of an entry.
const MARK: u8 = 0xa7;
/// Before the body of an entry: the mark, and the length of the body.
const HEAD: usize = 3;
/// After the body: its checksum.
const CHECKSUM: usize = 4;
/// Bytes of unwritten entries that are kept while writes fail.
const UNWRITTEN_MAX: usize = 1 << 20;
/// An upper bound of the length of a body.
const BODY_MAX: usize = 256;

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
enum Entry {
    /// The first entry. The database stores the number of the last flush under this writer.
    Writer(i64),
    /// Precedes the counts of a tally. `stored`: the part of its counts that the database has.
    Tally { id: u64, account: i64, product: String, day: i64, stored: Totals },
    /// What a tally has counted.
    Count { id: u64, counted: Totals },
    /// What a tally had counted when a flush wrote it, which may or may not have been committed.
    Flush { number: i64, id: u64, counted: Totals },
}

/// [`Counts`] in the order of its fields.
type Totals = [u64; 4];

/// The file. Appends of several threads share a write.
#[derive(Debug)]
pub(super) struct Journal {
    writer: i64,
    path: PathBuf,
    state: Mutex<JournalState>,
}

#[derive(Debug)]
struct JournalState {
    file: File,
    /// Bytes in the file.
    len: u64,
    /// Distinguishes the contents of the file before and after it was reduced.
    version: u64,
    /// Entries to be written.
    buffer: Vec<u8>,
    /// Appended entries, and how many of them are in the file.
    appended: u64,
    written: u64,
}

/// The number of an appended entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket(u64);

/// What a file contains.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    /// Absent if the file is empty.
    pub(super) writer: Option<i64>,
    /// The highest number of a flush.
    pub(super) last_number: i64,
    /// Bytes that are not part of a valid entry: a torn end, or damage.
    pub(super) unreadable: usize,
    tallies: BTreeMap<u64, RecoveredTally>,
}

#[derive(Debug, Default)]
struct RecoveredTally {
    slot: Option<Slot>,
    counted: Counts,
    stored: Counts,
    flushes: Vec<(i64, Counts)>,
}

/// An exclusively locked file, and its bytes.
pub(super) struct OpenedFile {
    file: File,
    path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl OpenedFile {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    ///
    /// If it cannot be used; `WouldBlock` if another process uses it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        loop {
            let mut file = options().create(true).open(path)?;
            file.try_lock()?;
            // Another process may have replaced the file before it was locked here.
            if !is_at(&file, path) {
                continue;
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            return Ok(Self { file, path: path.to_owned(), bytes });
        }
    }
}

impl Journal {
    /// Continues the file for this writer.
    pub(super) fn new(opened: OpenedFile, writer: i64) -> Self {
        let OpenedFile { file, path, bytes } = opened;
        let state = JournalState {
            file,
            len: bytes.len() as u64,
            version: 1,
            buffer: Vec::new(),
            appended: 0,
            written: 0,
        };
        Self { writer, path, state: state.into() }
    }

    /// Appends the total of a tally to the entries that are written next.
    pub(super) fn append(&self, slot: Slot, tally: &Tally) -> Ticket {
        let mut state = self.lock();
        let version = state.version;
        if tally.journaled_in(version) {
            push(&mut state.buffer, &tally_entry(slot, tally));
        }
        let counted = totals(tally.counted());
        push(&mut state.buffer, &Entry::Count { id: tally.id(), counted });
        state.appended += 1;
        Ticket(state.appended)
    }

    /// Writes all appended entries unless this one has been written.
    pub(super) fn write(&self, ticket: Ticket) {
        let mut state = self.lock();
        if state.written < ticket.0
            && let Err(error) = state.write(self.writer)
        {
            report(&error);
        }
    }

    /// Appends what a flush is about to commit. If that fails, the journal is emptied until the next
    /// [`Self::reduce`]: counts may be lost, but are not added twice.
    pub(super) fn flush(&self, number: i64, written: &[(Slot, Arc<Tally>, Counts)]) {
        let mut state = self.lock();
        for (_, tally, counted) in written {
            let flush = Entry::Flush { number, id: tally.id(), counted: totals(*counted) };
            push(&mut state.buffer, &flush);
        }
        if let Err(error) = state.write(self.writer) {
            report(&error);
            if let Err(error) = state.clear() {
                report(&error);
            }
        }
    }

    /// Reduces the file to tallies with counts that the database lacks, and to the flush that may
    /// have been committed. If that fails, the file stays as it is; returns whether it succeeded.
    pub(super) fn reduce(
        &self,
        unstored: impl FnOnce() -> Vec<(Slot, Arc<Tally>)>,
        unsettled: Option<(i64, &[WrittenTally])>,
    ) -> bool {
        let mut state = self.lock();
        // Read under the lock: later counts are appended to the reduced file.
        let (version, mut left) = (state.version + 1, Vec::new());
        let mut add = |slot: Slot, tally: &Tally| {
            if tally.journaled_in(version) {
                push(&mut left, &tally_entry(slot, tally));
                let counted = totals(tally.counted());
                push(&mut left, &Entry::Count { id: tally.id(), counted });
            }
        };
        unstored().iter().for_each(|(slot, tally)| add(*slot, tally));
        let (number, written) = unsettled.unwrap_or((0, &[]));
        written.iter().for_each(|(slot, tally, _)| add(*slot, tally));
        for (_, tally, counted) in written {
            let counted = totals(*counted);
            push(&mut left, &Entry::Flush { number, id: tally.id(), counted });
        }
        let reduced = match left.is_empty() {
            true => state.clear(),
            false => state.replace(&self.path, self.writer, &left),
        };
        if let Err(error) = reduced {
            // Later entries follow in the file as it is.
            state.version = version + 1;
            report(&error);
            return false;
        }
        true
    }

    /// Removes all entries.
    pub(super) fn clear(&self) {
        if let Err(error) = self.lock().clear() {
            report(&error);
        }
    }

    fn lock(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JournalState {
    /// Writes all appended entries. If that fails, they are kept for the next write, and the file ends
    /// as before.
    fn write(&mut self, writer: i64) -> io::Result<()> {
        if self.len == 0 {
            let mut head = Vec::new();
            push(&mut head, &Entry::Writer(writer));
            self.buffer.splice(0..0, head);
        }
        if let Err(error) = self.file.write_all(&self.buffer) {
            if self.buffer.len() > UNWRITTEN_MAX {
                // The next count of a tally appends its total again.
                self.buffer.clear();
                self.version += 1;
            }
            self.file.set_len(self.len)?;
            return Err(error);
        }
        self.len += self.buffer.len() as u64;
        self.buffer.clear();
        self.written = self.appended;
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.emptied();
        if self.len > 0 {
            self.file.set_len(0)?;
            self.len = 0;
        }
        Ok(())
    }

    /// Replaces the file atomically.
    fn replace(&mut self, path: &Path, writer: i64, entries: &[u8]) -> io::Result<()> {
        let new = beside(path, ".new");
        let file = options().create(true).open(&new)?;
        file.try_lock()?;
        file.set_len(0)?;
        let mut bytes = Vec::with_capacity(entries.len() + BODY_MAX);
        push(&mut bytes, &Entry::Writer(writer));
        bytes.extend(entries);
        (&file).write_all(&bytes)?;
        fs::rename(&new, path)?;
        (self.file, self.len) = (file, bytes.len() as u64);
        self.emptied();
        Ok(())
    }

    /// The appended entries are in the new contents of the file, or in the database.
    fn emptied(&mut self) {
        self.version += 1;
        self.buffer.clear();
        self.written = self.appended;
    }
}

impl Recovered {
    /// Reads the entries of a file, and skips bytes that are not part of one.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let (mut recovered, mut at) = (Self::default(), 0);
        while at < bytes.len() {
            if let Some((entry, len)) = entry_at(&bytes[at..]) {
                recovered.take(entry);
                at += len;
            } else {
                recovered.unreadable += 1;
                at += 1;
            }
        }
        recovered
    }

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::Writer(writer) => self.writer = Some(writer),
            Entry::Tally { id, account, product, day, stored } => {
                let tally = self.tallies.entry(id).or_default();
                // A product that this version does not know is not counted.
                tally.slot = Product::named(&product).map(|product| Slot {
                    account: AccountId::numbered(account),
                    product,
                    day: Day(day),
                });
                tally.stored = tally.stored.max(counts(stored));
            }
            Entry::Count { id, counted } => {
                let tally = self.tallies.entry(id).or_default();
                tally.counted = tally.counted.max(counts(counted));
            }
            Entry::Flush { number, id, counted } => {
                self.last_number = self.last_number.max(number);
                self.tallies.entry(id).or_default().flushes.push((number, counts(counted)));
            }
        }
    }

    /// What the database lacks, given the number of the last flush that it has. A flush with a lower
    /// number was committed, or its counts are part of that one.
    pub(super) fn unstored(self, last_flush: i64) -> impl Iterator<Item = (Slot, Counts)> {
        self.tallies.into_values().filter_map(move |tally| {
            let committed = tally.flushes.iter().filter(|(number, _)| *number <= last_flush);
            let stored = committed.fold(tally.stored, |stored, (_, counted)| stored.max(*counted));
            let unstored = tally.counted.since(stored);
            Some((tally.slot?, unstored)).filter(|_| !unstored.is_zero())
        })
    }
}

/// The path of the journal of a database: `matchwire.db.usage` for `matchwire.db`.
#[must_use]
pub fn path_beside(db: &Path) -> PathBuf {
    beside(db, ".usage")
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether the path still refers to this file.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let id = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        match (file.metadata(), fs::metadata(path)) {
            (Ok(opened), Ok(there)) => id(opened) == id(there),
            _ => false,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

fn tally_entry(slot: Slot, tally: &Tally) -> Entry {
    Entry::Tally {
        id: tally.id(),
        account: slot.account.number(),
        product: slot.product.as_str().to_owned(),
        day: slot.day.0,
        stored: totals(tally.stored()),
    }
}

fn totals(counts: Counts) -> Totals {
    let Counts { calls, mcp_calls, socket_ms, messages } = counts;
    [calls, mcp_calls, socket_ms, messages]
}

fn counts([calls, mcp_calls, socket_ms, messages]: Totals) -> Counts {
    Counts { calls, mcp_calls, socket_ms, messages }
}

fn push(buffer: &mut Vec<u8>, entry: &Entry) {
    let start = buffer.len();
    buffer.extend([MARK, 0, 0]);
    entry.serialize(buffer).expect("a vector takes all bytes");
    let len = u16::try_from(buffer.len() - start - HEAD).expect("an entry is short");
    buffer[start + 1..start + HEAD].copy_from_slice(&len.to_le_bytes());
    let checksum = checksum(&buffer[start + HEAD..]);
    buffer.extend(checksum.to_le_bytes());
}

/// The entry at the start of these bytes, and its length.
fn entry_at(bytes: &[u8]) -> Option<(Entry, usize)> {
    let ([MARK, low, high], rest) = bytes.split_first_chunk::<HEAD>()? else { return None };
    let len = usize::from(u16::from_le_bytes([*low, *high]));
    if len > BODY_MAX {
        return None;
    }
    let (body, rest) = rest.split_at_checked(len)?;
    let expected = u32::from_le_bytes(*rest.first_chunk::<CHECKSUM>()?);
    let entry = Entry::try_from_slice(body).ok().filter(|_| checksum(body) == expected)?;
    Some((entry, HEAD + len + CHECKSUM))
}

/// FNV-1a: detects every change of a single byte.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The disk may be full. Counts in memory are still flushed to the database.
fn report(error: &io::Error) {
    counter!("matchwire_usage_journal_failures_total").increment(1);
    base::log_limited!(warn, %error, "cannot write to the usage journal");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries() -> impl Strategy<Value = Vec<Entry>> {
        let totals = || prop::array::uniform4(0_u64..1_000);
        let products: Vec<_> = Product::all().collect();
        let tally = (0_u64..5, 1_i64..4, prop::sample::select(products), totals()).prop_map(
            |(id, account, product, stored)| Entry::Tally {
                id,
                account,
                product: product.as_str().to_owned(),
                day: 20_000,
                stored,
            },
        );
        let count = (0_u64..5, totals()).prop_map(|(id, counted)| Entry::Count { id, counted });
        let flush = (1_i64..9, 0_u64..5, totals()).prop_map(|(number, id, counted)| Entry::Flush {
            number,
            id,
            counted,
        });
        prop::collection::vec(prop_oneof![tally, count, flush], 0..20)
    }

    fn bytes_of(entries: &[Entry]) -> Vec<u8> {
        let mut bytes = Vec::new();
        entries.iter().for_each(|entry| push(&mut bytes, entry));
        bytes
    }

    fn all(bytes: &[u8]) -> Vec<Entry> {
        let (mut all, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            match entry_at(&bytes[at..]) {
                Some((entry, len)) => {
                    all.push(entry);
                    at += len;
                }
                None => at += 1,
            }
        }
        all
    }

    proptest! {
        /// A file cut anywhere has the entries before the cut.
        #[test]
        fn torn_end_is_skipped(entries in entries(), cut in any::<prop::sample::Index>()) {
            let bytes = bytes_of(&entries);
            let cut = cut.index(bytes.len() + 1);
            let read = all(&bytes[..cut]);
            prop_assert_eq!(&read[..], &entries[..read.len()]);
            let whole = bytes_of(&read).len();
            prop_assert_eq!(Recovered::read(&bytes[..cut]).unreadable, cut - whole);
        }

        /// Any damaged byte costs one entry.
        #[test]
        fn damage_costs_one_entry(
            entries in entries(),
            index in any::<prop::sample::Index>(),
            change in 1_u8..=255,
        ) {
            prop_assume!(!entries.is_empty());
            let mut bytes = bytes_of(&entries);
            let index = index.index(bytes.len());
            bytes[index] ^= change;
            let read = all(&bytes);
            prop_assert_eq!(read.len(), entries.len() - 1);
            prop_assert!(read.iter().all(|entry| entries.contains(entry)));
        }

        /// The order of entries does not matter, nor do repetitions.
        #[test]
        fn order_and_repetition_do_not_matter(
            (entries, shuffled) in entries().prop_flat_map(|entries| {
                let twice = [entries.clone(), entries.clone()].concat();
                (Just(entries), Just(twice).prop_shuffle())
            }),
            last in 0_i64..9,
        ) {
            // One slot for each tally.
            let slots: BTreeMap<_, _> = entries.iter().filter_map(|entry| match entry {
                Entry::Tally { id, account, product, .. } => Some((*id, (*account, product.clone()))),
                _ => None,
            }).collect();
            let same = |entries: Vec<Entry>| entries.into_iter().map(|entry| match entry {
                Entry::Tally { id, day, stored, .. } => {
                    let (account, product) = slots[&id].clone();
                    Entry::Tally { id, account, product, day, stored }
                }
                other => other,
            }).collect::<Vec<_>>();
            let unstored = |entries: Vec<Entry>| -> Vec<_> {
                Recovered::read(&bytes_of(&same(entries))).unstored(last).collect()
            };
            prop_assert_eq!(unstored(entries), unstored(shuffled));
        }
    }
}
