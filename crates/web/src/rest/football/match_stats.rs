//! The numbers of a match that sums over many matches need beyond its summary: cards, fouls, possession,
//! formations. Read from the record once and cached until the match changes.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use fanout::Micros;

use super::{head_to_head::ratio, player_sums::PlayerSums, snapshot::Matches};
use crate::rest::ApiError;
use history::query::MatchQuery;
use record::{FootballRecord, Key, MatchRecord, MatchSummary};

/// The maximum number of cached matches; each takes a few hundred bytes. Beyond it the cache is cleared and
/// filled again.
const MATCHES_MAX: usize = 100_000;

/// Records in memory at a time: one of the demo takes some 50 KB, and a page of managers needs thousands.
const RECORDS_AT_ONCE: usize = 64;

/// The numbers of one match. `None` means that no feed provides them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::rest) struct MatchStats {
    pub yellow: Option<[u32; 2]>,
    pub red: Option<[u32; 2]>,
    pub fouls: Option<[u32; 2]>,
    pub possession: Option<[u32; 2]>,
    pub shots: Option<[u32; 2]>,
    pub shots_on_target: Option<[u32; 2]>,
    pub corners: Option<[u32; 2]>,
    pub passes: Option<[u32; 2]>,
    pub accurate_passes: Option<[u32; 2]>,
    pub key_passes: Option<[u32; 2]>,
    /// Those that a side did not win, the other won.
    pub duels_won: Option<[u32; 2]>,
    pub aerials_won: Option<[u32; 2]>,
    /// The mean of the players with a rating.
    pub ratings: [Option<f64>; 2],
    pub formations: [Option<Arc<str>>; 2],
}

/// Numbers by match, with the time of the match's last change; clones share them.
#[derive(Debug, Clone, Default)]
pub(in crate::rest) struct MatchStatsCache {
    cached: Arc<Mutex<HashMap<Key, (Micros, MatchStats)>>>,
}

impl MatchStatsCache {
    /// The numbers of these matches.
    ///
    /// # Errors
    ///
    /// If the archive fails.
    pub(in crate::rest) async fn load(
        &self,
        matches: &Matches<'_>,
        summaries: &[Arc<MatchSummary>],
    ) -> Result<HashMap<Key, MatchStats>, ApiError> {
        let mut match_stats = HashMap::with_capacity(summaries.len());
        let mut missing = Vec::new();
        {
            let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
            for summary in summaries {
                match cached.get(&summary.id) {
                    Some((updated, stats)) if *updated == summary.updated => {
                        match_stats.insert(summary.id, stats.clone());
                    }
                    Some(_) | None => missing.push(Arc::clone(summary)),
                }
            }
        }
        for some in missing.chunks(RECORDS_AT_ONCE) {
            let read = matches.records(&MatchQuery::default(), some).await?;
            let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
            if cached.len() + read.len() > MATCHES_MAX {
                cached.clear();
            }
            for record in read {
                let stats = MatchStats::new(&record);
                cached.insert(record.summary.id, (record.summary.updated, stats.clone()));
                match_stats.insert(record.summary.id, stats);
            }
        }
        Ok(match_stats)
    }
}

impl MatchStats {
    /// By the definitions of `record::counters`, which `stats/` and the sockets follow too.
    fn new(record: &MatchRecord) -> Self {
        let Some(football) = record.play.football() else { return Self::default() };
        let [home, away] = &football.counters();
        let stat = |name: &str| Some([*home.get(name)?, *away.get(name)?]);
        let players = PlayerSums::both(football);
        let sum = |name: &str| PlayerSums::get_both(&players, name);
        Self {
            yellow: stat("yellow_cards"),
            red: stat("red_cards"),
            fouls: stat("fouls"),
            possession: stat("ball_possession"),
            shots: stat("total_shots"),
            shots_on_target: stat("shots_on_target"),
            corners: stat("corner_kicks"),
            passes: stat("passes"),
            accurate_passes: stat("accurate_passes"),
            key_passes: sum("key_pass"),
            duels_won: sum("duel_won"),
            aerials_won: sum("aerial_won"),
            ratings: [0, 1].map(|side| mean_rating(football, side)),
            formations: football.line_ups.each_ref().map(|it| it.as_ref()?.formation.clone()),
        }
    }
}

/// From ratings in hundredths, to three digits.
fn mean_rating(football: &FootballRecord, side: u8) -> Option<f64> {
    let players = football.players.iter().filter(|player| player.side == side);
    let ratings: Vec<_> =
        players.filter_map(|player| player.values.get("rating").copied()).collect();
    ratio(f64::from(ratings.iter().sum::<u32>()) / 100.0, ratings.len(), 3)
}
