//! Points of the majors to tennis facts.
//!
//! Each row holds the score after its point, and that is the authority. Our rules say the rest: the
//! points of a tie-break when its last row shows 0-0, who serves next, and that the match is over.
//! Where rules and columns disagree the columns prevail, and a notice reports it.

pub(super) mod fixture;
pub(super) mod format;
mod score;

use std::{collections::HashSet, mem, sync::Arc};

use facts::{
    event::{
        Fact, GameScore, Id, Micros, Pair, Point, PointKind, SetScore, Side, Sport, TennisFact,
        TennisScore, TennisStatus,
    },
    tennis::MatchFormat,
};

use super::{Interpretation, batch};
use crate::{
    decode::slam::{MatchRow, PointRow},
    error::{DecodeError, RefusalKind},
};

const PROVIDER: &str = "slam-pointbypoint";
const SECOND_US: Micros = 1_000_000;

/// Makes facts of one match. Rows are given to it in order, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Normalizer {
    match_key: Arc<str>,
    match_id: Id,
    format: MatchFormat,
    record: Option<MatchRow>,
    start: Micros,
    /// The recording's clock when the match starts.
    base_us: Micros,
    clock_us: Micros,
    /// `PointNumber` of every point played, each of which counts once.
    seen: HashSet<String>,
    score: TennisScore,
    /// Sets won as the columns have it.
    sets_won: Pair<u8>,
    opened: bool,
    /// Whether the match was over once and is not.
    reopened: bool,
}

impl Normalizer {
    /// `start` is when the match starts, which the data does not say; `base_us` is where the
    /// recording's clock stands then.
    #[must_use]
    pub fn new(match_key: &str, record: Option<MatchRow>, start: Micros, base_us: Micros) -> Self {
        Self {
            match_key: match_key.into(),
            match_id: Id::derive(PROVIDER, "match", match_key),
            format: format::of(match_key),
            record,
            start,
            base_us,
            clock_us: base_us,
            seen: HashSet::new(),
            score: TennisScore::default(),
            sets_won: [0; 2],
            opened: false,
            reopened: false,
        }
    }

    /// The provider's key of the match: `2012-ausopen-1701`.
    #[must_use]
    pub fn match_key(&self) -> &str {
        &self.match_key
    }

    #[must_use]
    pub fn clock_us(&self) -> Micros {
        self.clock_us
    }

    /// Takes the next row. One that is no point moves nothing but the clock.
    ///
    /// # Errors
    ///
    /// If the point was already played, or has no server.
    pub fn row(&mut self, row: &PointRow, out: &mut Interpretation) -> Result<(), DecodeError> {
        self.advance(row.elapsed_s, out);
        let Some(winner) = side(row.winner) else { return Ok(()) };
        let server = side(row.server)
            .or(self.score.server)
            .ok_or_else(|| value(format!("point {} has no server", row.number)))?;
        self.admit(row, out)?;
        self.seen.insert(row.number.clone());
        if !self.opened {
            self.open(server, out);
        }
        let score = self.after(row, server, winner, out);
        let eid = format!("p{}", row.number).into();
        self.play(Point { eid, winner, server, how: how(row), score }, out);
        Ok(())
    }

    /// Ends the match. The points have decided it, or else the match file, where it says.
    pub fn finish(&mut self, out: &mut Interpretation) {
        let stated = self.record.as_ref().and_then(|record| side(record.winner));
        match (self.score.winner, stated) {
            _ if !self.opened => {}
            (Some(won), Some(stated)) if won != stated => out.notices.push(value(format!(
                "player {} has won by the points, player {} by the match file",
                won.index() + 1,
                stated.index() + 1
            ))),
            (Some(_), _) => {}
            (None, stated) => self.decide(stated, out),
        }
    }

    /// Ends a match that the points leave open: by the match file, or, where its last set is over
    /// and one side is ahead, because it was shorter than its format made believe.
    fn decide(&mut self, stated: Option<Side>, out: &mut Interpretation) {
        let [first, second] = self.sets_won;
        let fresh = self.score.sets.last().is_some_and(|set| *set == SetScore::default());
        let complete = fresh && self.score.game == GameScore::default();
        let ahead = if first > second { Side::First } else { Side::Second };
        let by_sets = (complete && first != second && first.max(second) >= 2).then_some(ahead);
        let Some(winner) = stated.or(by_sets) else { return };
        if complete {
            self.score.sets.pop();
        }
        self.score.winner = Some(winner);
        self.score.server = None;
        let status = self.record.as_ref().map_or(TennisStatus::Finished, |it| status(&it.status));
        let facts = [TennisFact::Score(self.score.clone()), TennisFact::Status(status)];
        self.emit(facts.into(), out);
    }

    fn advance(&mut self, elapsed_s: Option<u32>, out: &mut Interpretation) {
        let Some(elapsed_s) = elapsed_s else { return };
        let clock_us = self.base_us + Micros::from(elapsed_s) * SECOND_US;
        if clock_us < self.clock_us {
            let reason = format!("second {elapsed_s} after a later one");
            out.notices.push(DecodeError::new(RefusalKind::TimeBackwards, reason));
        }
        self.clock_us = self.clock_us.max(clock_us);
    }

    fn open(&mut self, server: Side, out: &mut Interpretation) {
        self.opened = true;
        self.score = TennisScore::start(server);
        let fixture = fixture::of(&self.match_key, self.record.as_ref(), self.start);
        let facts = [TennisFact::Status(TennisStatus::Live), TennisFact::Score(self.score.clone())];
        let facts = [Fact::Fixture(fixture)].into_iter().chain(facts.map(Fact::Tennis));
        out.push(self.clock_us, batch(Sport::Tennis, self.match_id, facts));
    }

    /// Refuses a point that was already played, or that follows the end of the match. A third set
    /// after two that were expected to decide it shows that the match is best of five.
    fn admit(&mut self, row: &PointRow, out: &mut Interpretation) -> Result<(), DecodeError> {
        if self.seen.contains(&row.number) {
            return Err(value(format!("point {} comes twice", row.number)));
        }
        let sets = self.score.sets.len();
        if usize::from(row.set) < sets {
            return Err(value(format!("point {} in set {} after set {sets}", row.number, row.set)));
        }
        if self.score.winner.is_none() {
            return Ok(());
        }
        if self.format.sets_to_win >= 3 || usize::from(row.set) == sets {
            return Err(value(format!("point {} after the end of the match", row.number)));
        }
        let reason = format!("point {} in a match that two sets were to decide", row.number);
        out.notices.push(value(reason));
        self.format.sets_to_win = 3;
        self.score.winner = None;
        self.score.sets.push(SetScore::default());
        self.reopened = true;
        Ok(())
    }

    /// The score after a point: by the rules, or by the columns where they say something else.
    fn after(
        &mut self,
        row: &PointRow,
        server: Side,
        winner: Side,
        out: &mut Interpretation,
    ) -> TennisScore {
        let mut before = self.score.clone();
        if before.server.replace(server).is_some_and(|expected| expected != server) {
            out.notices.push(value(format!("server of point {} is not in turn", row.number)));
        }
        let mut after = before.clone();
        after.point(winner, self.format);
        let by_rules = score::agrees(&after, row);
        if !by_rules {
            let reason = format!("score after point {} is not by the rules", row.number);
            out.notices.push(value(reason));
            after = score::by_columns(&before, &after, row, winner, self.format);
        }
        if let Some(side) = set_winner(row, &after) {
            self.sets_won[side.index()] += 1;
        }
        if !by_rules {
            self.conclude(&mut after);
        }
        after
    }

    /// Ends the match by the sets that the columns have counted, some of which may have ended in a
    /// way that our rules do not know.
    fn conclude(&self, score: &mut TennisScore) {
        let decided = |side: &Side| self.sets_won[side.index()] >= self.format.sets_to_win;
        score.winner = Side::BOTH.into_iter().find(decided);
        if score.winner.is_some() {
            score.server = None;
            score.sets.pop_if(|set| *set == SetScore::default());
        }
    }

    fn play(&mut self, point: Point, out: &mut Interpretation) {
        let reopened = mem::take(&mut self.reopened);
        let status = match point.score.winner {
            Some(_) => Some(TennisStatus::Finished),
            None => reopened.then_some(TennisStatus::Live),
        };
        self.score = point.score.clone();
        let mut facts = vec![TennisFact::Point(point)];
        facts.extend(status.map(TennisFact::Status));
        self.emit(facts, out);
    }

    fn emit(&self, facts: Vec<TennisFact>, out: &mut Interpretation) {
        let facts = facts.into_iter().map(Fact::Tennis);
        out.push(self.clock_us, batch(Sport::Tennis, self.match_id, facts));
    }
}

/// 1 and 3 serve and win for side 1, 2 and 4 for side 2; 0 is none.
fn side(player: u8) -> Option<Side> {
    match player {
        1 | 3 => Some(Side::First),
        2 | 4 => Some(Side::Second),
        _ => None,
    }
}

fn how(row: &PointRow) -> Option<PointKind> {
    match (row.ace, row.double_fault) {
        (true, _) => Some(PointKind::Ace),
        (_, true) => Some(PointKind::DoubleFault),
        _ => None,
    }
}

/// Who won the set that a row ends, by its column, or by the rules where there is none.
fn set_winner(row: &PointRow, score: &TennisScore) -> Option<Side> {
    match row.set_winner {
        Some(column) => side(column),
        None => score.sets.get(usize::from(row.set) - 1).and_then(SetScore::winner),
    }
}

fn status(text: &str) -> TennisStatus {
    match text.to_ascii_lowercase().as_str() {
        "retired" => TennisStatus::Retired,
        "walkover" => TennisStatus::Walkover,
        _ => TennisStatus::Finished,
    }
}

fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}
