//! `matchwire import`: imports recordings and tables of results into the archive.
//!
//! A private hub applies everything at full speed, with the sources' own times as its clock, so
//! that the same files always give the same result. What the archive already knows of a match
//! stays, unless the files contain newer data ([`MatchRecord::fill_from`]). It serves no clients; a
//! hub that runs on the same database is not disturbed.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{self, Write},
    mem,
    path::Path,
    sync::Arc,
};

use facts::event::{Fact, Timed};
use fanout::{Epoch, Micros};
use ingest::{
    error::Refusal,
    recording::{Format, Limits, OpenError, Recording, Step, plan},
};

use crate::{cli::ImportArgs, config::Config};
use base::clock::now;
use database::{Database, DatabaseError};
use history::archive::{Archive, PriceTrail};
use hub::{
    Epochs, Hub, HubSettings,
    feeds::SourceNumber,
    feeds::SourcePolicy,
    identity::{Identity, store::IdentityStore},
    sequence::TailWindow,
};
use record::{
    Key, LiveRecords, MatchRecord, PlayRecord,
    ids::{IdsError, PublicIds},
};

/// Why the import failed, at least partly.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the database failed")]
    IdentityStore(#[from] sqlx::Error),
    #[error(transparent)]
    Ids(#[from] IdsError),
    #[error(transparent)]
    Plan(OpenError),
    #[error("cannot read {failed} of {all} files")]
    Files { failed: usize, all: usize },
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// Maximum matches in memory, so that files about the same match produce one record. About 100 KB
/// each with all their prices; beyond it, the match that ended first is evicted, which is stored by
/// then.
const MATCHES_MAX: usize = 5_000;
/// Maximum time, by the clock of the files, and messages between two writes.
const STORE_EVERY_US: Micros = 30 * 60 * 1_000_000;
const STORE_EVERY_BATCHES: usize = 4_096;
/// Matches written in one transaction.
const TRANSACTION_MATCHES_MAX: usize = 200;
/// Maximum refusals listed for a file.
const REFUSALS_LISTED_MAX: usize = 10;
/// The clock's start for recordings without a date. Times before 1990 are treated as unknown.
const BEGIN: Micros = 0;
const PLAUSIBLE_FROM: Micros = 631_152_000_000_000;

/// Imports the files, and prints a summary of each.
///
/// # Errors
///
/// If a file has an unknown format, if any file cannot be read (the others are imported then), if
/// the database fails, or if the output cannot be written.
pub async fn run(
    args: &ImportArgs,
    config: &Config,
    out: &mut impl Write,
) -> Result<(), ImportError> {
    let recordings = plan(&args.files).map_err(ImportError::Plan)?;
    let database = Database::open_with(&config.server.db, &config.database).await?;
    let mut import = Import::begin(&database, config.hub.ids_max).await?;
    let mut failed = 0;
    for path in &recordings {
        match Recording::open(path, &args.files, BEGIN, &Limits::default()) {
            Ok(recording) => {
                let summary = import.play(recording).await?;
                summary.write(path, out)?;
            }
            Err(error) => {
                failed += 1;
                writeln!(out, "{}: {}", path.display(), crate::with_causes(&error))?;
            }
        }
    }
    database.close().await;
    if failed > 0 {
        return Err(ImportError::Files { failed, all: recordings.len() });
    }
    Ok(())
}

/// The result of importing a file.
struct FileSummary {
    format: Format,
    matches: HashSet<Key>,
    prices: u64,
    refused: usize,
    /// The first refusals.
    refusals: Vec<String>,
}

struct Import {
    hub: Hub,
    records: LiveRecords,
    /// The latest records of what changed since the last write, in an order that is always the same, and its prices.
    changed: BTreeMap<Key, Arc<MatchRecord>>,
    trail: PriceTrail,
    archive: Archive,
    identities: IdentityStore,
    ids: PublicIds,
    /// The archive's records from before the import.
    archived: HashMap<Key, Option<Arc<MatchRecord>>>,
}

impl Import {
    async fn begin(database: &Database, ids_max: usize) -> Result<Self, ImportError> {
        let ids = PublicIds::open(database, ids_max).await?;
        let identities = IdentityStore::new(database);
        let identity = Identity::new(identities.load().await?);
        let settings = HubSettings {
            // No client resumes.
            window: TailWindow { bytes: 1, age_us: 1 },
            matches_max: MATCHES_MAX,
            matches_max_per_source: usize::MAX,
            ended_keep_us: Micros::MAX / 4,
            stale_after_ms: u32::MAX,
            hold_us: 0,
        };
        let hub = Hub::new(settings, Epochs { matches: Epoch(1), feeds: Epoch(1) }, identity)
            .with_ids(ids.clone());
        let archive = Archive::open(database).await?;
        let records = LiveRecords::default();
        let (changed, trail, archived) = (BTreeMap::new(), PriceTrail::default(), HashMap::new());
        Ok(Self { hub, records, changed, trail, archive, identities, ids, archived })
    }

    async fn play(&mut self, recording: Recording) -> Result<FileSummary, ImportError> {
        let format = recording.format();
        let source =
            self.hub.source(Arc::clone(recording.name()), format.as_str(), SourcePolicy::default());
        let mut summary = FileSummary::new(format);
        let (mut since, mut stored_at, mut clock) = (0, None, BEGIN);
        for step in recording {
            match step {
                Step::Batch(mut timed) => {
                    let at = timed.batch.at.unwrap_or(timed.clock_us);
                    let due = stored_at
                        .is_some_and(|stored: Micros| (at - stored).abs() > STORE_EVERY_US);
                    if due || since >= STORE_EVERY_BATCHES {
                        self.store_changes(clock, &mut summary).await?;
                        (since, stored_at) = (0, None);
                    }
                    stored_at.get_or_insert(at);
                    (since, clock) = (since + 1, at);
                    clear_implied_start(&mut timed, format);
                    self.ids.number_batch(&mut timed.batch);
                    self.apply(source, &timed, &mut summary);
                }
                Step::Refused(refusal) => summary.refuse(describe(&refusal)),
            }
        }
        self.store_changes(clock, &mut summary).await?;
        Ok(summary)
    }

    fn apply(&mut self, source: SourceNumber, timed: &Timed, summary: &mut FileSummary) {
        summary.prices += u64::from(timed.batch.price_changes);
        let at = timed.clock_us;
        // There are no subscribers: the changes are dropped.
        let errors = self.hub.apply(source, &timed.batch, at, at, &mut Vec::new());
        for error in errors {
            summary.refuse(error.to_string());
        }
        if timed.batch.events.iter().any(|event| matches!(event.fact, Fact::Odds(_))) {
            self.take_changes(timed.batch.at.unwrap_or(at));
        }
    }

    /// Adds what has changed in the hub to the records and the prices to be written.
    fn take_changes(&mut self, clock: Micros) {
        let changes = self.hub.take_changed(clock);
        if clock >= PLAUSIBLE_FROM {
            self.trail.add(&changes);
        }
        let records = self.records.apply(changes).records;
        self.changed.extend(records.into_iter().map(|record| (record.summary.id, record)));
    }

    /// Stores what has changed since the last call.
    async fn store_changes(
        &mut self,
        clock: Micros,
        summary: &mut FileSummary,
    ) -> Result<(), ImportError> {
        let decisions = self.hub.identity().take_decisions();
        if !decisions.is_empty() {
            self.identities.write(&decisions, now()).await?;
        }
        self.take_changes(clock);
        let (changed, trail) = (mem::take(&mut self.changed), mem::take(&mut self.trail));
        let records: Vec<_> = changed.into_values().collect();
        // Before the records that refer to them.
        self.ids.flush().await?;
        summary.matches.extend(records.iter().map(|record| record.summary.id));
        for some in records.chunks(TRANSACTION_MATCHES_MAX) {
            let mut all = Vec::with_capacity(some.len());
            for record in some {
                all.push(self.with_archived(record).await?);
            }
            self.archive.replace(&all, &trail, now()).await?;
        }
        Ok(())
    }

    /// Combines a record with what was known of the match before this import.
    async fn with_archived(&mut self, new: &Arc<MatchRecord>) -> sqlx::Result<Arc<MatchRecord>> {
        let id = new.summary.id;
        if !self.archived.contains_key(&id) {
            let archived = self.archive.record(id).await?;
            self.archived.insert(id, archived);
        }
        let mut record = MatchRecord::clone(new);
        record.freshness = None;
        let archived = self.archived.get(&id).and_then(Option::as_ref);
        if record.summary.updated < PLAUSIBLE_FROM {
            let before = archived.map(|archived| archived.summary.updated);
            record.summary_mut().updated = record.summary.start.or(before).unwrap_or_else(now);
        }
        if let PlayRecord::Football(football) = &mut record.play {
            football.clock = football.clock.filter(|clock| clock.at >= PLAUSIBLE_FROM);
        }
        if let Some(archived) = archived {
            record.fill_from(archived);
        }
        Ok(Arc::new(record))
    }
}

/// Removes the start of a match if its recording does not contain it and the reader has put the
/// start of play in its place.
fn clear_implied_start(timed: &mut Timed, format: Format) {
    let of_one_match = matches!(
        format,
        Format::Wyscout | Format::StatsBomb | Format::StatsPerform | Format::SlamPointByPoint
    );
    for event in timed.batch.events.iter_mut().filter(|_| of_one_match) {
        if let Fact::Fixture(fixture) = &mut event.fact {
            fixture.start = fixture.start.filter(|start| *start >= PLAUSIBLE_FROM);
        }
    }
}

impl FileSummary {
    fn new(format: Format) -> Self {
        Self { format, matches: HashSet::new(), prices: 0, refused: 0, refusals: Vec::new() }
    }

    fn refuse(&mut self, why: String) {
        self.refused += 1;
        if self.refusals.len() < REFUSALS_LISTED_MAX {
            self.refusals.push(why);
        }
    }

    fn write(&self, path: &Path, out: &mut impl Write) -> io::Result<()> {
        let Self { format, matches, prices, refused, refusals } = self;
        let (path, format, matches) = (path.display(), format.as_str(), matches.len());
        writeln!(
            out,
            "{path}: {format}, {matches} matches, {prices} prices, {refused} messages refused"
        )?;
        for refusal in refusals {
            writeln!(out, "  refused: {refusal}")?;
        }
        match refused - refusals.len() {
            0 => Ok(()),
            more => writeln!(out, "  and {more} more"),
        }
    }
}

fn describe(refusal: &Refusal) -> String {
    format!("{}: {}", refusal.location, refusal.reason)
}
