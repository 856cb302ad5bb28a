//! Merges the current record of a match over the one stored before the hub was started.
//!
//! After a start, a hub only knows what its feeds have reported since. Current data wins; what is
//! not reported now stays as it was. A match with stored goals does not lose them if only its odds
//! are reported after a restart, and one that is reported completely is as reported.

use std::{collections::HashSet, sync::Arc};

use crate::{
    MatchRecord, MatchSummary, PlayRecord, PointRecord, PriceRecord, RaceRecord, RunnerPriceRecord,
    ScoreboardRecord, Status, TennisRecord, football::or,
};

impl MatchRecord {
    /// This record, completed by the one stored before.
    ///
    /// - The status comes from a source that follows the play. If none does now and one did, an end
    ///   stays an end, and a match in play stays in play until reported otherwise.
    /// - Score, parts and winner come from a source that follows the play; particulars and names are merged one by one.
    /// - Incidents that are only in the stored record come first, then the current ones; see
    ///   `FootballRecord::merged_over`.
    /// - Prices that are only in the stored record stay, and are not open.
    #[must_use]
    pub fn merged_over(&self, old: &Self) -> Self {
        let mut refs = old.refs.clone();
        refs.extend(self.refs.clone());
        let mut names = self.names.clone();
        names.fill(&old.names);
        let play = play(&self.play, &old.play);
        let mut summary = summary(self, old);
        if let Some(analysis) = play.football().and_then(|it| it.analysis.as_ref()) {
            summary.expected_goals = analysis.expected_goals();
        }
        Self {
            summary: summary.into(),
            refs,
            names,
            play,
            prices: prices(self, old),
            freshness: self.freshness,
        }
    }
}

fn status(new: &MatchRecord, old: &MatchRecord) -> Status {
    let (now, before) = (new.summary.status, old.summary.status);
    if new.play.is_followed() || !old.play.is_followed() || before == Status::Unresolved {
        return now;
    }
    if before.is_over() {
        before
    } else if now.is_over() || now.is_live() {
        now
    } else {
        before
    }
}

fn summary(new: &MatchRecord, old: &MatchRecord) -> MatchSummary {
    let keeps_play = old.play.is_followed() && !new.play.is_followed();
    let status = status(new, old);
    let (new, old) = (&new.summary, &old.summary);
    let (of_play, other) = if keeps_play { (old, new) } else { (new, old) };
    let parts = if of_play.parts.is_empty() { &other.parts } else { &of_play.parts };
    let mut summary = MatchSummary {
        status,
        score: of_play.score.or(other.score),
        half_time: of_play.half_time.or(other.half_time),
        extra_time: of_play.extra_time.or(other.extra_time),
        penalties: of_play.penalties.or(other.penalties),
        parts: parts.clone(),
        winner: of_play.winner.or(other.winner),
        ..MatchSummary::clone(new)
    };
    summary.fill_particulars(old);
    summary
}

fn prices(new: &MatchRecord, old: &MatchRecord) -> Vec<PriceRecord> {
    let mut prices = new.prices.clone();
    if old.prices.is_empty() {
        return prices;
    }
    let id = |price: &PriceRecord| price.id(new.summary.id);
    let reported: HashSet<_> = new.prices.iter().map(id).collect();
    let before = old.prices.iter().filter(|price| !reported.contains(&id(price)));
    prices.extend(before.map(|price| PriceRecord { open: false, ..price.clone() }));
    prices
}

fn play(new: &PlayRecord, old: &PlayRecord) -> PlayRecord {
    match (new, old) {
        (PlayRecord::Football(new), PlayRecord::Football(old)) => {
            PlayRecord::Football(Box::new(new.merged_over(old)))
        }
        (PlayRecord::Tennis(new), PlayRecord::Tennis(old)) => {
            PlayRecord::Tennis(Box::new(tennis(new, old)))
        }
        (PlayRecord::Scoreboard(new), PlayRecord::Scoreboard(old)) => {
            PlayRecord::Scoreboard(scoreboard(new, old))
        }
        (PlayRecord::Race(new), PlayRecord::Race(old)) => PlayRecord::Race(race(new, old)),
        (PlayRecord::None, old) => old.clone(),
        (new, _) => new.clone(),
    }
}

fn tennis(new: &TennisRecord, old: &TennisRecord) -> TennisRecord {
    let of_play = if new.followed { new } else { old };
    TennisRecord { points: points(&new.points, &old.points), ..of_play.clone() }
}

/// The points before the first current one, and then the current ones. The overlap of both lists is
/// found by comparison; without one, the old points stay if they are earlier.
fn points(new: &[PointRecord], old: &[PointRecord]) -> Vec<PointRecord> {
    let Some(first) = new.first() else { return old.to_vec() };
    let is_here = |overlap: &usize| old[*overlap..].iter().zip(new).all(|(old, new)| old == new);
    let overlap = (0..old.len()).find(is_here);
    let when = |point: &PointRecord| (point.set, point.games.iter().sum::<u8>());
    let lies_before = old.last().is_some_and(|last| when(last) <= when(first));
    let before = match overlap {
        Some(overlap) => &old[..overlap],
        None if lies_before => old,
        None => &[],
    };
    before.iter().chain(new).cloned().collect()
}

fn scoreboard(new: &ScoreboardRecord, old: &ScoreboardRecord) -> ScoreboardRecord {
    ScoreboardRecord {
        followed: new.followed || old.followed,
        period: or(&new.period, &old.period),
        clock: new.clock.or(old.clock),
    }
}

fn race(new: &RaceRecord, old: &RaceRecord) -> RaceRecord {
    let mut runners = new.runners.clone();
    let is_reported = |id| new.runners.iter().any(|it| it.id == id);
    runners.extend(old.runners.iter().filter(|it| !is_reported(it.id)).cloned());
    let mut prices = new.prices.clone();
    let is_quoted = |price: &RunnerPriceRecord| {
        let key = |price: &RunnerPriceRecord| {
            (Arc::clone(&price.bookmaker), Arc::clone(&price.market), Arc::clone(&price.selection))
        };
        new.prices.iter().any(|it| key(it) == key(price))
    };
    let gone = old.prices.iter().filter(|price| !is_quoted(price));
    // A price that is no longer reported is no longer on offer.
    prices.extend(gone.map(|price| RunnerPriceRecord { open: false, ..price.clone() }));
    RaceRecord { followed: new.followed || old.followed, runners, prices }
}

/// The record completed by the stored one, if there is one; the same record if nothing is added.
#[must_use]
pub fn completed(record: &Arc<MatchRecord>, old: Option<&MatchRecord>) -> Arc<MatchRecord> {
    let Some(old) = old else { return Arc::clone(record) };
    let merged = record.merged_over(old);
    if merged == **record { Arc::clone(record) } else { Arc::new(merged) }
}

#[cfg(test)]
mod tests;
