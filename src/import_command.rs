//! `matchwire import`: what recordings and tables of results tell, kept in the archive.
//!
//! A hub of its own is told everything at full speed, with the sources' own moments as its clock, so
//! that the same files always leave the same. What the archive knows of a match already stays, as far
//! as the files do not tell it anew ([`MatchRecord::fill_from`]). It serves nobody; a hub that runs on
//! the same database meanwhile is not disturbed.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use fanout::{Epoch, Micros};
use ingest::{
    error::Refusal,
    event::{Fact, Timed},
    recording::{Format, Limits, OpenError, Recording, Step, plan},
};

use crate::{
    archive::{self, Archive},
    cli::ImportArgs,
    clock::now,
    config::Config,
    database::{Database, DatabaseError},
    hub::{
        Epochs, Hub, HubSettings, feeds::SourceNumber, feeds::SourcePolicy, sequence::TailWindow,
    },
    identity::{Identity, store::IdentityStore},
    ids::{IdsError, PublicIds},
    record::{Key, MatchRecord, PlayRecord},
};

/// Why not everything was kept.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the database failed")]
    Store(#[from] sqlx::Error),
    #[error(transparent)]
    Ids(#[from] IdsError),
    #[error(transparent)]
    Plan(OpenError),
    #[error("{failed} of {all} files could not be read")]
    Files { failed: usize, all: usize },
    #[error("cannot write the answer")]
    Output(#[from] io::Error),
}

/// Matches that are held at a time, so that files which tell of the same ones make one of them. Some
/// 100 KB each with all their prices; past it the one that ended first is let go, which is kept by
/// then.
const MATCHES_MAX: usize = 5_000;
/// What has changed is kept at least so often, so that a price is kept as it was before it moved: by
/// the clock of the files, and in messages.
const KEEP_EVERY_US: Micros = 30 * 60 * 1_000_000;
const KEEP_EVERY_BATCHES: usize = 4_096;
/// Matches that are written in one transaction.
const WRITTEN_AT_ONCE: usize = 200;
/// Refused messages of a file that are told one by one.
const REFUSALS_TOLD: usize = 10;
/// Where recordings begin that do not say when their match was. No moment before 1990 is believed of
/// them: what nobody told stays unknown.
const BEGIN: Micros = 0;
const BELIEVED_FROM: Micros = 631_152_000_000_000;

/// Keeps what the files tell, and says of each what that was.
///
/// # Errors
///
/// If one of the files is of no known format, if any of them could not be read (the others are kept
/// then), if the database fails, or if nobody reads the answer.
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
                let told = import.play(recording).await?;
                told.write(path, out)?;
            }
            Err(error) => {
                failed += 1;
                writeln!(out, "{}: {}", path.display(), with_causes(&error))?;
            }
        }
    }
    database.close().await;
    if failed > 0 {
        return Err(ImportError::Files { failed, all: recordings.len() });
    }
    Ok(())
}

/// What came of a file.
struct Told {
    format: Format,
    matches: HashSet<Key>,
    prices: u64,
    refused: usize,
    /// The first of them.
    refusals: Vec<String>,
}

struct Import {
    hub: Hub,
    archive: Archive,
    identities: IdentityStore,
    ids: PublicIds,
    /// What the archive knew before of the matches that were told of.
    kept: HashMap<Key, Option<Arc<MatchRecord>>>,
}

impl Import {
    async fn begin(database: &Database, ids_max: usize) -> Result<Self, ImportError> {
        let ids = PublicIds::open(database, ids_max).await?;
        archive::adopt(database, &ids, now()).await?;
        let identities = IdentityStore::of(database);
        let identity = Identity::new(identities.load().await?);
        let settings = HubSettings {
            // Nobody resumes.
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
        Ok(Self { hub, archive, identities, ids, kept: HashMap::new() })
    }

    async fn play(&mut self, recording: Recording) -> Result<Told, ImportError> {
        let format = recording.format();
        let source =
            self.hub.source(Arc::clone(recording.name()), format.as_str(), SourcePolicy::default());
        let mut told = Told::new(format);
        let (mut since, mut kept_at, mut clock) = (0, None, BEGIN);
        for step in recording {
            match step {
                Step::Batch(mut timed) => {
                    let at = timed.batch.at.unwrap_or(timed.clock_us);
                    let due = kept_at.is_some_and(|kept: Micros| (at - kept).abs() > KEEP_EVERY_US);
                    if due || since >= KEEP_EVERY_BATCHES {
                        self.keep(clock, &mut told).await?;
                        (since, kept_at) = (0, None);
                    }
                    kept_at.get_or_insert(at);
                    (since, clock) = (since + 1, at);
                    believe(&mut timed, format);
                    self.ids.number_batch(&mut timed.batch);
                    self.apply(source, &timed, &mut told);
                }
                Step::Refused(refusal) => told.refuse(shown(&refusal)),
            }
        }
        self.keep(clock, &mut told).await?;
        Ok(told)
    }

    fn apply(&mut self, source: SourceNumber, timed: &Timed, told: &mut Told) {
        told.prices += u64::from(timed.batch.price_changes);
        let at = timed.clock_us;
        // Nobody follows: what would be published is dropped.
        let errors = self.hub.apply(source, &timed.batch, at, at, &mut Vec::new());
        for error in errors {
            told.refuse(error.to_string());
        }
    }

    /// Keeps what has changed since this was called last.
    async fn keep(&mut self, clock: Micros, told: &mut Told) -> Result<(), ImportError> {
        let decisions = self.hub.identity().take_decisions();
        if !decisions.is_empty() {
            self.identities.write(&decisions, now()).await?;
        }
        let (mut records, _) = self.hub.take_changed(clock);
        // In an order that does not change from run to run.
        records.sort_by_key(|record| record.brief.id);
        // Before what goes by them.
        self.ids.flush().await?;
        told.matches.extend(records.iter().map(|record| record.brief.id));
        for some in records.chunks(WRITTEN_AT_ONCE) {
            let mut all = Vec::with_capacity(some.len());
            for record in some {
                all.push(self.with_kept(record).await?);
            }
            self.archive.replace(&all, now()).await?;
        }
        Ok(())
    }

    /// A record with what was known of the match before this import.
    async fn with_kept(
        &mut self,
        told: &Arc<MatchRecord>,
    ) -> Result<Arc<MatchRecord>, sqlx::Error> {
        let id = told.brief.id;
        if !self.kept.contains_key(&id) {
            let kept = self.archive.record(id).await?;
            self.kept.insert(id, kept);
        }
        let mut record = MatchRecord::clone(told);
        record.position = None;
        let kept = self.kept.get(&id).and_then(Option::as_ref);
        if record.brief.updated < BELIEVED_FROM {
            let before = kept.map(|kept| kept.brief.updated);
            record.brief_mut().updated = record.brief.start.or(before).unwrap_or_else(now);
        }
        if let PlayRecord::Football(football) = &mut record.play {
            football.clock = football.clock.filter(|clock| clock.at >= BELIEVED_FROM);
        }
        if let Some(kept) = kept {
            record.fill_from(kept);
        }
        Ok(Arc::new(record))
    }
}

/// Takes away when a match starts where its recording does not say it, and the reader has put when
/// playing begins in its place.
fn believe(timed: &mut Timed, format: Format) {
    let of_one_match = matches!(
        format,
        Format::Wyscout | Format::StatsBomb | Format::StatsPerform | Format::SlamPointByPoint
    );
    for event in timed.batch.events.iter_mut().filter(|_| of_one_match) {
        if let Fact::Fixture(fixture) = &mut event.fact {
            fixture.start = fixture.start.filter(|start| *start >= BELIEVED_FROM);
        }
    }
}

impl Told {
    fn new(format: Format) -> Self {
        Self { format, matches: HashSet::new(), prices: 0, refused: 0, refusals: Vec::new() }
    }

    fn refuse(&mut self, why: String) {
        self.refused += 1;
        if self.refusals.len() < REFUSALS_TOLD {
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

fn shown(refusal: &Refusal) -> String {
    format!("{}: {}", refusal.place, refusal.reason)
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
