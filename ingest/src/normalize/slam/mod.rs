//! Points of the majors to tennis facts.
//!
//! Each row holds the score after its point, and that is the authority, except on who won a set: that
//! column is wrong now and then, so the next row decides whether play goes on in the set. The next row also shows whether a
//! game is a tie-break. Our rules say the rest: the points of a tie-break when its last row shows 0-0, who serves next, and that
//! the match is over. Where rules and columns disagree the columns prevail, and a notice reports it. A
//! score that no match can have is refused with its row.

pub(super) mod fixture;
pub(super) mod format;
mod score;

use std::{collections::HashSet, sync::Arc};

use facts::{
    event::{
        Fact, GameScore, Id, Micros, Point, PointKind, SetScore, Side, Sport, TennisFact,
        TennisScore, TennisStatus,
    },
    tennis::{FinalSet, MatchFormat},
};

use super::{Interpretation, batch};
use crate::{
    decode::slam::{MatchRow, PointRow},
    error::{DecodeError, RefusalKind, Result},
};

const PROVIDER: &str = "slam-pointbypoint";
const SECOND_US: Micros = 1_000_000;

/// From one point to the next where the file has no times: 25 seconds.
const POINT_US: Micros = 25 * SECOND_US;

/// Makes facts of one match. Rows that [`admit`](Self::admit) accepts are given to it in order, then
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct Normalizer {
    match_key: Arc<str>,
    match_id: Id,
    format: MatchFormat,
    record: Option<MatchRow>,
    /// The recording's clock when the match starts.
    base_us: Micros,
    clock_us: Micros,
    /// `PointNumber` of every point, each of which counts once.
    seen: HashSet<String>,
    /// Of the last point that was played.
    number: Option<u32>,
    score: TennisScore,
    opened: bool,
}

impl Normalizer {
    /// `base_us` is where the recording's clock stands when the match starts, of which the data says
    /// no more than the year.
    #[must_use]
    pub fn new(match_key: &str, record: Option<MatchRow>, base_us: Micros) -> Self {
        Self {
            match_key: match_key.into(),
            match_id: Id::derive(PROVIDER, "match", match_key),
            format: format::of_match(match_key),
            record,
            base_us,
            clock_us: base_us,
            seen: HashSet::new(),
            number: None,
            score: TennisScore::default(),
            opened: false,
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

    /// Whether a row is a point.
    ///
    /// # Errors
    ///
    /// If it comes twice.
    pub fn admit(&mut self, row: &PointRow) -> Result<bool> {
        if side(row.winner).is_none() {
            return Ok(false);
        }
        if !self.seen.insert(row.number.clone()) {
            return Err(value(format!("point {} comes twice", row.number)));
        }
        Ok(true)
    }

    /// Takes the next point. `next` is the one after it, if the file has one.
    ///
    /// # Errors
    ///
    /// If the point has no server, does not belong to the set in play, follows the end of the match,
    /// or leads to a score that no match can have.
    pub fn row(
        &mut self,
        row: &PointRow,
        next: Option<&PointRow>,
        out: &mut Interpretation,
    ) -> Result<()> {
        let Some(winner) = side(row.winner) else { return Ok(()) };
        let server = side(row.server)
            .or(self.score.server)
            .ok_or_else(|| value(format!("point {} has no server", row.number)))?;
        self.advance(row.elapsed_s, out);
        if !self.opened {
            self.open(server, out);
        }
        self.enter_set(row, next, out)?;
        let next = next.filter(|next| next.set == row.set || next.set == row.set + 1);
        let score = self.after(row, next, server, winner, out);
        score.check().map_err(|reason| value(format!("{reason} after point {}", row.number)))?;
        self.number = row.number.parse().ok();
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
    /// and one side is ahead, because it was shorter than its format made believe. One that was given up is over without a winner, too.
    fn decide(&mut self, stated: Option<Side>, out: &mut Interpretation) {
        let Some((last, over)) = self.score.sets.split_last() else { return };
        let complete = last.games == [0, 0] && self.score.game == GameScore::default();
        let [first, second] = score::sets_won(over);
        let ahead = if first > second { Side::First } else { Side::Second };
        let shorter = complete && !format::is_certain(&self.match_key);
        let by_sets = (shorter && first != second && first.max(second) >= 2).then_some(ahead);
        let winner = stated.or(by_sets);
        let word = self.record.as_ref().map_or("", |record| &*record.status);
        let status = status(word).unwrap_or_else(|| {
            out.notices.push(value(format!("status {word:?} of a match is not known")));
            TennisStatus::Finished
        });
        if winner.is_none() && status == TennisStatus::Finished {
            return;
        }
        if complete {
            self.score.sets.pop();
        }
        self.score.winner = winner;
        self.score.server = None;
        let facts = [TennisFact::Score(self.score.clone()), TennisFact::Status(status)];
        self.emit(facts.into(), out);
    }

    fn advance(&mut self, elapsed_s: Option<u32>, out: &mut Interpretation) {
        let Some(elapsed_s) = elapsed_s else {
            self.clock_us += if self.opened { POINT_US } else { 0 };
            return;
        };
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
        let fixture = fixture::from_record(&self.match_key, self.record.as_ref());
        if fixture.sides.is_none() && self.record.is_some() {
            out.notices.push(value(format!("the match file lacks names of {}", self.match_key)));
        }
        let facts = [TennisFact::Status(TennisStatus::Live), TennisFact::Score(self.score.clone())];
        let facts = [Fact::Fixture(fixture)].into_iter().chain(facts.map(Fact::Tennis));
        out.push(self.clock_us, batch(Sport::Tennis, self.match_id, facts));
    }

    /// Refuses a point that is not of the set in play. The last point of a set may be missing, if by
    /// the rules one side alone could end it. Of a set whose end is missing otherwise nothing is known,
    /// once a second point is of a later set.
    fn enter_set(
        &mut self,
        row: &PointRow,
        next: Option<&PointRow>,
        out: &mut Interpretation,
    ) -> Result<()> {
        let (sets, set, number) = (self.score.sets.len(), usize::from(row.set), &row.number);
        if self.score.winner.is_some() {
            return Err(value(format!("point {number} after the end of the match")));
        }
        if set < sets {
            return Err(value(format!("point {number} in set {set} after set {sets}")));
        }
        if set == sets {
            return Ok(());
        }
        let one_missing =
            self.number.is_some_and(|last| number.parse() == Ok(last.saturating_add(2)));
        let ended = Side::BOTH.map(|winner| {
            let mut score = self.score.clone();
            score.point(winner, self.format);
            Some(score).filter(|score| one_missing && score.sets.len() == set)
        });
        match ended {
            [Some(score), None] | [None, Some(score)] => {
                let reason = format!("point before point {number} is missing; it ended set {sets}");
                out.notices.push(value(reason));
                self.score = score;
                Ok(())
            }
            _ => {
                let score = self.in_later_set(set);
                if next.is_none_or(|next| next.set != row.set) || score.check().is_err() {
                    let reason = format!("point {number} in set {set}, but set {sets} is not over");
                    return Err(value(reason));
                }
                let reason = format!("the end of set {sets} is missing before point {number}");
                out.notices.push(value(reason));
                self.score = score;
                Ok(())
            }
        }
    }

    /// The score at the start of a later set, where the end of the one in play is missing: 0-0 is a
    /// set that is not known.
    fn in_later_set(&self, set: usize) -> TennisScore {
        let mut score = self.score.clone();
        score.sets.pop();
        score.sets.resize(set, SetScore::default());
        score.game = GameScore::default();
        score.server = None;
        score
    }

    /// The score after a point: by the rules, or by the columns where they say something else.
    fn after(
        &mut self,
        row: &PointRow,
        next: Option<&PointRow>,
        server: Side,
        winner: Side,
        out: &mut Interpretation,
    ) -> TennisScore {
        let mut before = self.score.clone();
        if before.server.replace(server).is_some_and(|expected| expected != server) {
            out.notices.push(value(format!("server of point {} is not in turn", row.number)));
        }
        if before.game == GameScore::Points([3, 3]) && score::is_game_over(row.shown) {
            // Mixed doubles play one point at deuce. It counts as one from advantage.
            let advantage = |side: Side| if side == winner { 4 } else { 3 };
            before.game = GameScore::Points(Side::BOTH.map(advantage));
        }
        let mut after = before.clone();
        after.point(winner, self.format);
        if !score::agrees(&after, row, next) {
            let reason = format!("score after point {} is not by the rules", row.number);
            out.notices.push(value(reason));
            after = score::by_columns(&before, row, winner);
            after.server = next.and_then(|next| side(next.server));
        }
        let at = usize::from(row.set) - 1;
        let over = after.sets.get(at).is_some_and(|set| score::set_is_over(set, row, next));
        if row.set_winner.is_some_and(|winner| (winner != 0) != over) {
            let end = if over { "is over" } else { "goes on" };
            let reason =
                format!("set {} {end} after point {}, against its column", at + 1, row.number);
            out.notices.push(value(reason));
        }
        if over {
            after.sets.truncate(at + 1);
            self.conclude(&mut after, next, out);
        }
        if let Some(next) = next {
            self.enter_game(&mut after, next);
        }
        after
    }

    /// Begins the next set, or ends the match. A third set after two that were expected to decide it
    /// shows that the match is best of five.
    fn conclude(
        &mut self,
        score: &mut TennisScore,
        next: Option<&PointRow>,
        out: &mut Interpretation,
    ) {
        let won = score::sets_won(&score.sets);
        let later = next.filter(|next| usize::from(next.set) > score.sets.len());
        if let Some(later) = later
            && won.iter().max() == Some(&self.format.sets_to_win)
            && self.format.sets_to_win < 3
        {
            let reason = format!("point {} in a match that two sets were to decide", later.number);
            out.notices.push(value(reason));
            self.format.sets_to_win = 3;
            score.server = side(later.server);
        }
        let decided = |side: &Side| won[side.index()] >= self.format.sets_to_win;
        score.winner = Side::BOTH.into_iter().find(decided);
        score.stated_sets = (score.sets_won() != won).then_some(won);
        match score.winner {
            Some(_) => score.server = None,
            None => score.sets.push(SetScore::default()),
        }
    }

    /// Makes the game that begins with the next point what its points show that it is: a tie-break,
    /// which may be in place of the final set and goes to ten then.
    fn enter_game(&mut self, score: &mut TennisScore, next: &PointRow) {
        let fresh = matches!(score.game, GameScore::Points([0, 0]) | GameScore::TieBreak([0, 0]));
        let (sets, Some(set)) = (score.sets.len(), score.sets.last_mut()) else { return };
        let Some(tie_break) = score::is_tie_break_begun(next).filter(|_| fresh) else { return };
        let instead = set.games == [0, 0] && sets == usize::from(self.format.sets_to_win) * 2 - 1;
        let level = set.games[0] == set.games[1] && set.games[0] >= 6;
        if tie_break && (instead || level) {
            set.tie_break = Some([0, 0]);
            score.game = GameScore::TieBreak([0, 0]);
        } else {
            // The points of a tie-break that has ended its set stay.
            set.tie_break.take_if(|points| *points == [0, 0]);
            score.game = GameScore::default();
        }
        if tie_break && instead {
            self.format.final_set = FinalSet::TieBreakTo10;
        }
    }

    fn play(&mut self, point: Point, out: &mut Interpretation) {
        self.score = point.score.clone();
        let mut facts = vec![TennisFact::Point(point)];
        if self.score.winner.is_some() {
            facts.push(TennisFact::Status(TennisStatus::Finished));
        }
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

/// How a match ended; mostly it is not said. A default ends it as a retirement does.
fn status(text: &str) -> Option<TennisStatus> {
    Some(match text.to_ascii_lowercase().as_str() {
        "" | "in progress" | "complete" | "completed" | "finished" => TennisStatus::Finished,
        "retired" | "default" | "defaulted" => TennisStatus::Retired,
        "walkover" => TennisStatus::Walkover,
        _ => return None,
    })
}

fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}
