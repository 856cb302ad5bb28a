//! Archives the results from before the demo began, and the fixtures of the coming days.
//!
//! It runs in the background, and until it is done the archive counts as partial. Matches go through a separate,
//! offline hub, so that the same rules make their records. The progress is stored, so that no work is repeated.

use std::{cmp::Reverse, collections::VecDeque, error::Error, sync::Arc, time::Duration};

use facts::event::{Sport, Timed};
use fanout::{Epoch, Micros};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use simulator::ScheduledMatch;
use tokio::sync::watch;
use tracing::{info, warn};

use crate::{
    pace::WorldClock,
    run::{DAY_US, DemoRun},
};
use accounts::{Accounts, AccountsError};
use base::clock::now;
use database::WriteBudget;
use history::{archive::Archive, query::MatchQuery, reader::Reader};
use hub::{
    Epochs, Hub, HubSettings,
    feeds::SourcePolicy,
    identity::{Identity, StoredDecisions},
    sequence,
};
use record::{
    Key, LiveRecords, MatchRecord, Status,
    ids::{IdsError, PublicIds},
};

/// The key of the progress in the store.
const META: &str = "demo_chronicle";

/// The wait after a failure, such as a disk that stalls.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Days after today that have fixtures, so that each league has its next round. Those of today have prices.
const DAYS_AHEAD: u64 = 3;

/// The day by which every league has played: each does on one of three.
const ALL_PLAYED: u64 = 2;

/// How long before the start the matches were that are stored with all that a feed reports, which is most of the archive: the
/// last round of each league. Those before have their results.
const DETAILED_US: Micros = 3 * DAY_US;

/// Days after today for which the matches of a sport are announced: leagues publish their fixtures long before, and
/// draws and race cards come out late.
fn days_ahead(sport: Sport) -> u64 {
    match sport {
        Sport::HorseRacing => 1,
        sport if sport.is_of_players() => 2,
        _ => DAYS_AHEAD,
    }
}

/// Past days that are filled in if the demo was not running.
const DAYS_MISSED_MAX: u64 = 7;

/// The longest time before its start at which the demo itself announces a match.
const NOTICE_US: Micros = DAY_US / 6;

/// Matches that are generated and written together, in one transaction: their rows are all over the indexes, so each transaction
/// writes most pages of these again.
const TOGETHER: usize = 200;
/// Batches that are generated while one is written.
const MADE_AHEAD: usize = 2;

/// The progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChronicleProgress {
    seed: u64,
    start: Micros,
    /// Number of days whose fixtures are in the archive, of those that have prices, and of those whose leagues have their
    /// past: all days before these.
    fixtures: u64,
    priced: u64,
    past: u64,
}

/// What is read and written.
#[derive(Debug)]
pub struct ChronicleStores {
    pub accounts: Accounts,
    pub archive: Archive,
    pub reader: Reader,
    pub ids: PublicIds,
}

#[derive(Debug)]
pub struct Chronicle {
    run: DemoRun,
    stores: ChronicleStores,
    settings: HubSettings,
    pace: WriteBudget,
    stopped: watch::Receiver<bool>,
}

/// Why archiving cannot continue.
#[derive(Debug, thiserror::Error)]
enum ChronicleError {
    #[error("the account store failed")]
    Accounts(#[from] AccountsError),
    #[error("the archive failed")]
    Archive(#[from] sqlx::Error),
    #[error(transparent)]
    Ids(#[from] IdsError),
    #[error("cannot generate the matches")]
    Made(#[from] tokio::task::JoinError),
    #[error("the hub is stopping")]
    Stopped,
}

/// Which facts of a match are generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordScope {
    /// Result facts of matches that are over by then, with all details if they began since.
    Results {
        until: Micros,
        detailed_since: Micros,
    },
    Ahead {
        now: Micros,
        priced: bool,
    },
}

impl Chronicle {
    #[must_use]
    pub fn new(
        run: DemoRun,
        stores: ChronicleStores,
        settings: HubSettings,
        stopped: &watch::Receiver<bool>,
    ) -> Self {
        // Nothing is evicted before it is exported, and there are no clients.
        let settings = HubSettings {
            window: sequence::TailWindow { bytes: 0, ..settings.window },
            matches_max: usize::MAX,
            matches_max_per_source: usize::MAX,
            ended_keep_us: Micros::MAX,
            hold_us: 0,
            ..settings
        };
        stores.archive.set_partial(true);
        let pace = WriteBudget::for_starts();
        Self { run, stores, settings, pace, stopped: stopped.clone() }
    }

    /// Brings the archive up to date, and repeats that once a day.
    pub async fn keep(mut self) {
        loop {
            let wait = match self.catch_up().await {
                Ok(()) => {
                    self.stores.archive.set_partial(false);
                    self.pace = WriteBudget::default();
                    self.until_tomorrow()
                }
                Err(ChronicleError::Stopped) => return,
                Err(error) => {
                    // It continues with what is not in the archive yet.
                    warn!(
                        error = &error as &dyn Error,
                        "cannot write the demo's past to the archive; it is tried again"
                    );
                    RETRY_AFTER
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = self.stopped.wait_for(|stop| *stop) => return,
            }
        }
    }

    fn until_tomorrow(&self) -> Duration {
        let world = self.run.world();
        let tomorrow = world.start_of(world.day_at(self.run.pace.in_world(now())) + 1);
        Duration::from_micros(u64::try_from(self.run.pace.ours(tomorrow) - now()).unwrap_or(0))
    }

    async fn catch_up(&mut self) -> Result<(), ChronicleError> {
        let (world, began_at) = (self.run.world(), now());
        let begun = self.run.pace.in_world(began_at);
        let today = world.day_at(begun);
        let stored = self.done().await?;
        let stored_by_key = self.stored_statuses();
        let mut played = self.missed(&stored_by_key);
        // Matches that were not over at the first start are so on the next day, and other leagues play then.
        let past = stored.as_ref().map_or(0, |done| done.past);
        if today <= 1 || past <= today.min(ALL_PLAYED) {
            self.stores.archive.set_partial(true);
            let past = world.past(today);
            played.extend(past.into_iter().filter(|it| !stored_by_key.contains_key(&self.key(it))));
        }
        // The latest first: users look at them most.
        played.sort_by_key(|planned| Reverse(planned.start()));
        let results = RecordScope::Results { until: began_at, detailed_since: begun - DETAILED_US };
        let mut count = self.put(played, results).await?;
        let mut done = stored.unwrap_or(ChronicleProgress {
            seed: world.seed,
            start: world.start,
            fixtures: today,
            priced: today,
            past: 0,
        });
        done.past = done.past.max(today + 1);
        for day in today..=today + DAYS_AHEAD {
            let priced = day == today;
            let gets_prices = priced && day >= done.priced;
            let soonest = begun + if day < done.fixtures { NOTICE_US } else { 0 };
            let mut matches = world.programme(day);
            matches.retain(|planned| {
                let key = self.key(planned);
                let is_new = match stored_by_key.get(&key) {
                    Some(Status::NotStarted) => gets_prices,
                    Some(_) => false,
                    None => day <= today + days_ahead(planned.sport()),
                };
                is_new && planned.start() > soonest && self.stores.reader.get(key).is_none()
            });
            count += self.put(matches, RecordScope::Ahead { now: begun, priced }).await?;
            done.fixtures = done.fixtures.max(day + 1);
            done.priced = done.priced.max(if priced { day + 1 } else { 0 });
            self.remember(&done).await?;
        }
        if count > 0 {
            let took_ms = (now() - began_at) / 1000;
            info!(matches = count, took_ms, "the demo's past and programme are in the archive");
        }
        Ok(())
    }

    /// Matches whose scheduled time passed while the demo was not running.
    fn missed(&self, stored_by_key: &FxHashMap<Key, Status>) -> Vec<ScheduledMatch> {
        let world = self.run.world();
        let last = world.day_at(self.run.from);
        let days = last.saturating_sub(DAYS_MISSED_MAX)..=last;
        let mut missed: Vec<_> = days.flat_map(|day| world.programme(day)).collect();
        missed.retain(|planned| {
            let over = stored_by_key.get(&self.key(planned)).is_some_and(|status| status.is_over());
            planned.start() < self.run.from && !over
        });
        missed
    }

    /// The key of a match in the archive; a key that matches nothing if the match has no public id
    /// yet.
    fn key(&self, planned: &ScheduledMatch) -> Key {
        self.stores.ids.get(planned.id()).map_or(0, |id| id.0)
    }

    fn stored_statuses(&self) -> FxHashMap<Key, Status> {
        let found = self.stores.archive.find(&MatchQuery::default());
        found.summaries.iter().map(|summary| (summary.id, summary.status)).collect()
    }

    async fn done(&self) -> Result<Option<ChronicleProgress>, ChronicleError> {
        let stored = self.stores.accounts.meta(META).await?;
        let stored = stored.and_then(|text| serde_json::from_str::<ChronicleProgress>(&text).ok());
        let world = self.run.world();
        Ok(stored.filter(|done| (done.seed, done.start) == (world.seed, world.start)))
    }

    async fn remember(&self, done: &ChronicleProgress) -> Result<(), ChronicleError> {
        let text = serde_json::to_string(done).expect("a struct of numbers is JSON");
        Ok(self.stores.accounts.set_meta(META, &text).await?)
    }

    /// Generates the records of these matches and writes them to the archive. Returns their number.
    async fn put(
        &mut self,
        matches: Vec<ScheduledMatch>,
        scope: RecordScope,
    ) -> Result<usize, ChronicleError> {
        let (settings, clock) = (self.settings, self.run.pace);
        let ids = self.stores.ids.clone();
        let make = |some: &[ScheduledMatch]| {
            let (some, ids) = (some.to_vec(), ids.clone());
            tokio::task::spawn_blocking(move || records(&some, scope, settings, clock, &ids))
        };
        let mut some = matches.chunks(TOGETHER).map(make);
        let mut making: VecDeque<_> = some.by_ref().take(MADE_AHEAD).collect();
        let mut count = 0;
        while let Some(made) = making.pop_front() {
            if *self.stopped.borrow() {
                return Err(ChronicleError::Stopped);
            }
            let mut records = made.await?;
            // Generate the next batches while this one is written.
            making.extend(some.next());
            // The running hub is responsible for matches in play.
            records.retain(|record| self.stores.reader.get(record.summary.id).is_none());
            // Public ids must be stored before the records that use them.
            self.stores.ids.flush().await?;
            self.stores.archive.put_once(&records, &mut self.pace, now()).await?;
            count += records.len();
        }
        Ok(count)
    }
}

/// The records of these matches, made by an offline hub.
fn records(
    matches: &[ScheduledMatch],
    scope: RecordScope,
    settings: HubSettings,
    pace: WorldClock,
    ids: &PublicIds,
) -> Vec<Arc<MatchRecord>> {
    let epochs = Epochs { matches: Epoch(0), feeds: Epoch(0) };
    let (mut changes, mut records) = (Vec::new(), Vec::with_capacity(matches.len()));
    for planned in matches {
        let batches = match scope {
            RecordScope::Results { detailed_since, .. } => {
                planned.result(planned.start() >= detailed_since)
            }
            RecordScope::Ahead { now, priced } => planned.ahead(now, priced),
        };
        let batches: Vec<_> = batches.into_iter().map(|timed| pace.on_our_clock(timed)).collect();
        let ends = batches.last().map(|timed| timed.clock_us);
        if let (RecordScope::Results { until, .. }, Some(ends)) = (scope, ends)
            && ends > until
        {
            continue;
        }
        // One for each match, so that its state is freed before the next one.
        let identity = Identity::new(StoredDecisions::default());
        let mut hub = Hub::new(settings, epochs, identity).with_ids(ids.clone());
        let source = hub.source("simulator".into(), "simulator", SourcePolicy::default());
        let mut last = Micros::MIN;
        for Timed { clock_us, mut batch } in batches {
            ids.number_batch(&mut batch);
            let errors = hub.apply(source, &batch, clock_us, clock_us, &mut changes);
            debug_assert_eq!(errors, [], "the simulator contradicts itself");
            changes.clear();
            last = clock_us;
        }
        records.extend(LiveRecords::default().apply(hub.take_changed(last)).records);
    }
    records
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use history::query::Appearance;
    use record::{MatchSummary, PlayRecord};
    use simulator::World;

    /// 22 November 2026, 6:40.
    const NOW: Micros = 1_795_329_600_000_000;

    const SETTINGS: HubSettings = HubSettings {
        window: sequence::TailWindow { bytes: 1 << 20, age_us: DAY_US },
        matches_max: usize::MAX,
        matches_max_per_source: usize::MAX,
        ended_keep_us: Micros::MAX,
        stale_after_ms: 15_000,
        hold_us: 0,
    };

    const EVERYTHING: RecordScope =
        RecordScope::Results { until: Micros::MAX, detailed_since: Micros::MIN };

    /// One in `every` matches of each sport.
    fn some(planned: Vec<ScheduledMatch>, every: usize) -> Vec<ScheduledMatch> {
        planned.into_iter().step_by(every).collect()
    }

    #[test]
    fn results_have_scores_scorers_and_prices() {
        let planned = some(World::new(1, NOW).past(ALL_PLAYED), 30);
        let records =
            records(&planned, EVERYTHING, SETTINGS, WorldClock::default(), &PublicIds::default());
        assert_eq!(records.len(), planned.len());
        for record in &records {
            let MatchRecord { play, prices, .. } = &**record;
            let summary = &record.summary;
            assert!(summary.status.has_result(), "{summary:?}");
            assert_eq!(
                summary.season.is_none(),
                matches!(play, PlayRecord::Race(_)),
                "{summary:?}"
            );
            match play {
                PlayRecord::Football(football) => {
                    let goals = football.incidents.iter();
                    let goals = goals.filter(|it| &*it.kind == "goal" && it.retracted.is_none());
                    assert_eq!(goals.count() as u32, summary.score.map_or(99, |it| it[0] + it[1]));
                    assert!(football.line_ups.iter().all(Option::is_some));
                    assert!(football.players.len() >= 22, "{}", football.players.len());
                }
                PlayRecord::Race(race) => {
                    assert!(race.runners.iter().any(|runner| runner.position == Some(1)));
                }
                PlayRecord::Tennis(_) | PlayRecord::Scoreboard(_) => {
                    assert!(summary.winner.is_some() && summary.score.is_some(), "{summary:?}");
                }
                PlayRecord::None => panic!("no play of {summary:?}"),
            }
            let priced = prices.iter().any(|price| &*price.market == "match_winner");
            assert!(priced || matches!(play, PlayRecord::Race(_)), "no prices in {summary:?}");
        }
    }

    /// What is left of a match of football that was played weeks ago.
    #[test]
    fn results_without_details_have_goals_and_few_prices() {
        let mut planned = some(World::new(1, NOW).past(ALL_PLAYED), 25);
        planned.retain(|it| it.sport() == Sport::Football);
        let scope = RecordScope::Results { until: Micros::MAX, detailed_since: Micros::MAX };
        let records =
            records(&planned, scope, SETTINGS, WorldClock::default(), &PublicIds::default());
        assert!(records.len() > 20);
        for record in &records {
            let football = record.play.football().expect("football");
            let goals = football.incidents.iter();
            let goals = goals.filter(|it| &*it.kind == "goal" && it.retracted.is_none());
            let score = record.summary.score.expect("a result");
            assert_eq!(goals.count() as u32, score[0] + score[1], "{:?}", record.summary);
            assert!(football.line_ups.iter().all(Option::is_some));
            let books: BTreeSet<_> = record.prices.iter().map(|it| &*it.bookmaker).collect();
            assert!((1..=3).contains(&books.len()), "{books:?}");
        }
    }

    /// A table computed from the results: all teams have played every round.
    #[test]
    fn tables_add_up() {
        let mut planned = World::new(2, NOW).past(ALL_PLAYED);
        planned.retain(|it| it.sport() == Sport::Football);
        // The first days, to keep the test short: each league plays once in three days, and the past keeps to quarters of
        // an hour.
        planned.retain(|it| it.start() <= NOW - 12 * DAY_US - DAY_US / 96);
        let records =
            records(&planned, EVERYTHING, SETTINGS, WorldClock::default(), &PublicIds::default());
        let mut played: BTreeMap<Key, BTreeMap<Key, u32>> = BTreeMap::new();
        for MatchSummary { competition, season, sides, .. } in records.iter().map(|it| &*it.summary)
        {
            assert!(season.is_some());
            let table = played.entry(competition.expect("a league")).or_default();
            for side in sides.expect("two sides") {
                *table.entry(side).or_default() += 1;
            }
        }
        assert_eq!(played.len(), 18);
        for table in played.values() {
            assert_eq!(table.len(), 22);
            assert!(table.values().all(|count| *count == 1), "{table:?}");
        }
    }

    /// Every figure by its definition in the glossary: the counters of the teams, those of the players, the incidents, the
    /// shots and the halves tell the same.
    #[test]
    fn figures_of_a_match_agree() {
        let mut planned = World::new(3, NOW).past(ALL_PLAYED);
        planned.retain(|it| it.sport() == Sport::Football && it.start() > NOW - 2 * DAY_US);
        for record in
            records(&planned, EVERYTHING, SETTINGS, WorldClock::default(), &PublicIds::default())
        {
            let football = record.play.football().expect("football");
            let analysis = football.analysis.as_deref().expect("shots");
            let (sides, score) = (record.summary.sides.expect("sides"), record.summary.score);
            let appearances = Appearance::of_record(&record);
            let expected = analysis.expected_goals().expect("shots have them");
            for (side, counters) in football.counters().iter().enumerate() {
                let players = || appearances.values().filter(|it| it.team == sides[side]);
                let sum =
                    |name: &str| -> u32 { players().filter_map(|it| it.stats.get(name)).sum() };
                let own_goals = football.incidents.iter().filter(|incident| {
                    incident.retracted.is_none()
                        && incident.detail.as_deref() == Some("own_goal")
                        && incident.side.map(usize::from) == Some(side)
                });
                let goals = players().map(|it| it.goals).sum::<u32>() + own_goals.count() as u32;
                assert_eq!(Some(goals), score.map(|score| score[side]), "{:?}", record.summary);
                let cards: [u32; 2] =
                    [players().map(|it| it.yellow).sum(), players().map(|it| it.red).sum()];
                let counted = ["yellow_cards", "red_cards"].map(|name| counters[name]);
                assert_eq!(counted, cards, "{:?}", record.summary);
                for (of_team, of_players) in [
                    ("passes", "total_pass"),
                    ("accurate_passes", "accurate_pass"),
                    ("total_shots", "total_shots"),
                    ("shots_on_target", "shots_on_target"),
                    ("fouls", "fouls"),
                    ("saves", "saves"),
                ] {
                    assert_eq!(
                        counters[of_team],
                        sum(of_players),
                        "{of_team}: {:?}",
                        record.summary
                    );
                }
                let shots = analysis.shots.iter().filter(|it| usize::from(it.side) == side);
                assert_eq!(counters["total_shots"] as usize, shots.count(), "{:?}", record.summary);
                assert_eq!(expected[side].0, sum("expected_goals"), "{:?}", record.summary);
                for stat in ["total_shots", "shots_on_target", "fouls", "corner_kicks"] {
                    let count = |half: &[BTreeMap<_, u32>; 2]| {
                        half[side]
                            .iter()
                            .find(|(it, _)| facts::event::Stat::as_str(**it) == stat)
                            .map(|(_, n)| *n)
                    };
                    if let [Some(first), Some(second)] = analysis.halves.each_ref().map(count) {
                        assert_eq!(counters[stat], first + second, "{stat}: {:?}", record.summary);
                    }
                }
            }
        }
    }

    #[test]
    fn matches_that_are_not_over_yet_are_left_out() {
        let past = World::new(1, NOW).past(ALL_PLAYED);
        let last: Vec<_> = past.into_iter().rev().take(12).collect();
        let records = |until| {
            let scope = RecordScope::Results { until, detailed_since: Micros::MIN };
            records(&last, scope, SETTINGS, WorldClock::default(), &PublicIds::default())
        };
        assert!(records(NOW - DAY_US).is_empty());
        let until = NOW + DAY_US / 20;
        let records = records(until);
        assert!(!records.is_empty());
        assert!(
            records.iter().all(|it| it.summary.status.has_result() && it.summary.updated <= until)
        );
    }

    #[test]
    fn future_fixtures_have_prices_only_if_priced() {
        let planned = some(World::new(1, NOW).programme(1), 15);
        for priced in [true, false] {
            let scope = RecordScope::Ahead { now: NOW, priced };
            let numbered = PublicIds::default();
            let records = records(&planned, scope, SETTINGS, WorldClock::default(), &numbered);
            assert_eq!(records.len(), planned.len());
            let ids: BTreeSet<_> =
                planned.iter().filter_map(|it| numbered.get(it.id())).map(|id| id.0).collect();
            for record in records {
                assert!(ids.contains(&record.summary.id));
                assert_eq!(record.summary.status, Status::NotStarted);
                assert_eq!(!record.prices.is_empty(), priced, "{:?}", record.summary);
            }
        }
    }
}
