//! Point strings to tennis facts.
//!
//! The marks of a string are the authority: they say where games and sets end, what is a tie-break,
//! and who serves in it. Our rules give the score within that, and the end of the match; where they
//! disagree the marks prevail, and a notice reports it. The `score` and `winner` columns come from
//! elsewhere: they are compared with the points and change nothing, except that `winner` says who
//! goes on after a retirement.
//!
//! The strings hold no time. All matches begin together, where the recording does, and a point is
//! played every [`POINT_US`], which is what a match of two hours with 150 points comes to less its
//! changes of ends.

mod column;
mod tournament;

use std::{collections::HashSet, sync::Arc};

use facts::{
    event::{
        Class, Competition, Eid, Fact, Fixture, GameScore, Gender, Id, Micros, Pair, Participant,
        Point, PointKind, SetScore, Side, Sport, TennisFact, TennisScore, TennisStatus,
    },
    tennis::MatchFormat,
};
use jiff::civil::Date;

use self::tournament::Tournament;
use super::{Interpret, Interpretation, Signal, batch};
use crate::{
    decode::point_strings::{self as decode, Form, PointEnd, Row, Stroke},
    error::{DecodeError, RefusalKind, Result},
};

const PROVIDER: &str = "pointbypoint-strings";

/// From one point of a match to its next: 25 seconds.
pub const POINT_US: Micros = 25_000_000;

/// The matches of a file, played side by side.
#[derive(Debug, Default)]
pub struct Program {
    matches: Vec<Match>,
    /// Points that each of them has played.
    ticks: i64,
}

/// One match, as far as it has been played.
#[derive(Debug)]
struct Match {
    row: Row,
    id: Id,
    fixture: Fixture,
    format: MatchFormat,
    score: TennisScore,
    /// Who serves the game in progress, in a tie-break its first point.
    serves_game: Side,
    /// Sets won by the marks.
    sets_won: Pair<u8>,
    at: usize,
}

impl Program {
    /// Takes a file's matches; what of it cannot be used is refused with its line.
    ///
    /// # Errors
    ///
    /// If the file is none of its kind, or holds no match.
    pub fn new(
        bytes: &[u8],
        notices: &mut Vec<DecodeError>,
        refused: &mut Vec<decode::RefusedRow>,
    ) -> Result<Self> {
        let mut program = Self::default();
        let mut seen = HashSet::new();
        for row in decode::rows(bytes)? {
            match row {
                Ok(row) if !seen.insert(row.id.clone()) => {
                    notices.push(value(format!("match {} comes twice", row.id)));
                }
                Ok(row) => program.matches.push(Match::new(row, notices)),
                Err(it) => refused.push(it),
            }
        }
        if program.matches.is_empty() {
            return Err(value("no match that can be played".to_owned()));
        }
        Ok(program)
    }

    /// Plays the next point of every match that has one; first of all each is introduced. `false`
    /// when all are through.
    pub fn tick(&mut self, out: &mut Interpretation) -> bool {
        let clock_us = self.ticks * POINT_US;
        if self.ticks == 0 {
            self.matches.iter().for_each(|it| it.open(out));
        } else {
            self.matches.iter_mut().for_each(|it| it.next(clock_us, out));
            self.matches.retain(Match::goes_on);
        }
        self.ticks += 1;
        !self.matches.is_empty()
    }
}

/// Plays whole files at once: for who has one in hand. A recording plays it point by point.
#[derive(Debug, Default)]
pub struct Interpreter;

impl Interpret for Interpreter {
    fn message(&mut self, bytes: &[u8], _received: Micros, out: &mut Interpretation) -> Result<()> {
        let mut refused = Vec::new();
        let mut program = Program::new(bytes, &mut out.notices, &mut refused)?;
        out.notices.extend(refused.into_iter().map(|it| it.error));
        while program.tick(out) {}
        out.signals.push(Signal::Fresh);
        Ok(())
    }
}

impl Match {
    fn new(row: Row, notices: &mut Vec<DecodeError>) -> Self {
        if !row.strange.is_empty() {
            let reason = format!("points of match {} with {:?} among them", row.id, row.strange);
            notices.push(value(reason));
        }
        let date = Date::strptime("%d %b %y", &row.date).ok();
        if date.is_none() {
            notices.push(value(format!("{:?} is no date of match {}", row.date, row.id)));
        }
        let tournament = Tournament::from_name(&row.tournament);
        let year = date.map_or(0, |date| date.year().unsigned_abs());
        let ended = row.points.iter().filter(|stroke| stroke.ends == PointEnd::Set).count();
        let open = row.points.last().is_some_and(|last| last.ends != PointEnd::Set);
        let format = tournament.format(&row, year, ended + usize::from(open));
        Self {
            id: Id::derive(PROVIDER, "match", &row.id),
            fixture: fixture(&row, &tournament, date),
            format,
            row,
            score: TennisScore::start(Side::First),
            serves_game: Side::First,
            sets_won: [0; 2],
            at: 0,
        }
    }

    fn goes_on(&self) -> bool {
        self.at < self.row.points.len()
    }

    fn open(&self, out: &mut Interpretation) {
        let facts = [TennisFact::Status(TennisStatus::Live), TennisFact::Score(self.score.clone())];
        let facts = facts.map(Fact::Tennis);
        let facts = [Fact::Fixture(self.fixture.clone())].into_iter().chain(facts);
        out.push(0, batch(Sport::Tennis, self.id, facts));
    }

    fn next(&mut self, clock_us: Micros, out: &mut Interpretation) {
        let Some(&stroke) = self.row.points.get(self.at) else { return };
        self.at += 1;
        let server = self.score.server.unwrap_or(self.serves_game);
        let winner = if stroke.server_won { server } else { server.other() };
        self.score = self.after(stroke, server, winner, out);
        let eid: Eid = format!("p{}", self.at).into();
        let point = Point { eid, winner, server, how: how(stroke), score: self.score.clone() };
        let mut facts = vec![TennisFact::Point(point)];
        if !self.goes_on() {
            self.finish(&mut facts, out);
        }
        out.push(clock_us, batch(Sport::Tennis, self.id, facts.into_iter().map(Fact::Tennis)));
    }

    /// The score after a point: by the rules, or by the marks where they say something else.
    fn after(
        &mut self,
        stroke: Stroke,
        server: Side,
        winner: Side,
        out: &mut Interpretation,
    ) -> TennisScore {
        let before = &self.score;
        let mut after = before.clone();
        after.point(winner, self.format);
        if after.winner.is_some() && self.goes_on() && self.format.sets_to_win < 3 {
            self.format.sets_to_win = 3;
            after = before.clone();
            after.point(winner, self.format);
        }
        let goes_on = self.goes_on() && after.winner.is_some();
        let agrees = agree(before, &after, stroke.ends) && !goes_on;
        if !agrees {
            after = by_marks(before, stroke.ends, winner);
        }
        let game_over = games(&after) > games(before);
        if game_over && (after.sets.len() > before.sets.len() || after.winner.is_some()) {
            self.sets_won[winner.index()] += 1;
        }
        if game_over {
            self.serves_game = self.serves_game.other();
            self.enter_game(&mut after);
        }
        let next = match (game_over, stroke.changes) {
            (true, _) => self.serves_game,
            (false, true) => server.other(),
            (false, false) => server,
        };
        let next = after.winner.is_none().then_some(next);
        let in_turn = after.server == next;
        after.server = next;
        if !agrees || !in_turn {
            let what = if agrees { "server" } else { "score" };
            let (number, id) = (self.at, &self.row.id);
            let reason = format!("{what} after point {number} of match {id} is not by the rules");
            out.notices.push(value(reason));
        }
        after
    }

    /// Makes the game that begins what its marks say that it is.
    fn enter_game(&self, score: &mut TennisScore) {
        let Some(stroke) = self.row.points.get(self.at) else { return };
        let Some(set) = score.sets.last_mut() else { return };
        match (stroke.game, score.game) {
            (Form::TieBreak, GameScore::Points(_)) => {
                score.game = GameScore::TieBreak([0; 2]);
                set.tie_break = Some([0; 2]);
            }
            (Form::Ordinary, GameScore::TieBreak(_)) => {
                score.game = GameScore::default();
                set.tie_break = None;
            }
            _ => {}
        }
    }

    /// Ends the match with its last point.
    fn finish(&mut self, facts: &mut Vec<TennisFact>, out: &mut Interpretation) {
        let stated = side(self.row.winner);
        let by_points = self.score.winner;
        if let (Some(won), Some(stated)) = (by_points, stated)
            && won != stated
        {
            let (won, stated, id) = (won.index() + 1, stated.index() + 1, &self.row.id);
            let reason =
                format!("player {won} has won match {id} by the points, {stated} by `winner`");
            out.notices.push(value(reason));
        }
        if by_points.is_none() {
            self.decide(stated, facts, out);
        } else {
            facts.push(TennisFact::Status(TennisStatus::Finished));
        }
        let Some(winner) = self.score.winner else { return };
        if let Some(played) = column::disagrees(&self.row.score, &self.score, winner) {
            let (id, column) = (&self.row.id, &self.row.score);
            out.notices
                .push(value(format!("score {column:?} of match {id} is {played} by points")));
        }
    }

    /// Ends a match that the rules leave open: with its last set, if that is over and one side is ahead, else as the columns
    /// say, of which one has the winner, and the other the sets, or that the match was given up.
    fn decide(
        &mut self,
        stated: Option<Side>,
        facts: &mut Vec<TennisFact>,
        out: &mut Interpretation,
    ) {
        let fresh = self.score.sets.last().is_some_and(|set| *set == SetScore::default());
        let complete = fresh && self.score.game == GameScore::default();
        let [first, second] = self.sets_won;
        let ahead = if first > second { Side::First } else { Side::Second };
        let by_sets = (complete && first != second && first.max(second) >= 2).then_some(ahead);
        let Some(winner) = stated.or(by_sets) else { return };
        if complete {
            self.score.sets.pop();
        }
        (self.score.winner, self.score.server) = (Some(winner), None);
        let retired = column::breaks_off(&self.row.score);
        let status = if retired { TennisStatus::Retired } else { TennisStatus::Finished };
        if !retired && by_sets != Some(winner) {
            out.notices.push(value(format!("points of match {} end before it does", self.row.id)));
            let stated = column::stated(&self.row.score, winner).map(|sets| {
                // All of them are over, also those whose tie-break is not known.
                let won = |side| sets.iter().filter(|set| set.leader() == Some(side)).count() as u8;
                let (stated_sets, game) = (Some(Side::BOTH.map(won)), GameScore::default());
                TennisScore { sets, stated_sets, game, ..self.score.clone() }
            });
            let is_won = |score: &TennisScore| {
                let sets = score.sets_won();
                sets[winner.index()] > sets[winner.other().index()]
            };
            if let Some(score) = stated.filter(|score| score.check().is_ok() && is_won(score)) {
                self.score = score;
            }
        }
        facts.push(TennisFact::Score(self.score.clone()));
        facts.push(TennisFact::Status(status));
    }
}

/// Whether the rules have ended with a point what its mark says that it ended.
fn agree(before: &TennisScore, after: &TennisScore, ends: PointEnd) -> bool {
    let game = games(after) > games(before);
    let set = after.sets.len() > before.sets.len() || after.winner.is_some();
    match ends {
        PointEnd::Nothing => !game,
        PointEnd::Game => game && !set,
        PointEnd::Set => game && set,
        PointEnd::String => true,
    }
}

/// The score after a point by the marks alone. A game that goes on although it should be over is
/// left as it stood.
fn by_marks(before: &TennisScore, ends: PointEnd, winner: Side) -> TennisScore {
    let mut score = TennisScore { points: before.points + 1, ..before.clone() };
    let Some(set) = score.sets.last_mut() else { return score };
    if let GameScore::TieBreak(points) = &mut score.game {
        points[winner.index()] = points[winner.index()].saturating_add(1);
        set.tie_break = Some(*points);
    }
    if matches!(ends, PointEnd::Game | PointEnd::Set) {
        set.games[winner.index()] = set.games[winner.index()].saturating_add(1);
        score.game = GameScore::default();
    }
    if ends == PointEnd::Set {
        score.sets.push(SetScore::default());
    }
    score
}

fn games(score: &TennisScore) -> u32 {
    score.sets.iter().flat_map(|set| set.games).map(u32::from).sum()
}

fn how(stroke: Stroke) -> Option<PointKind> {
    match (stroke.ace, stroke.double_fault) {
        (true, _) => Some(PointKind::Ace),
        (_, true) => Some(PointKind::DoubleFault),
        _ => None,
    }
}

fn side(player: u8) -> Option<Side> {
    match player {
        1 => Some(Side::First),
        2 => Some(Side::Second),
        _ => None,
    }
}

fn fixture(row: &Row, tournament: &Tournament, date: Option<Date>) -> Fixture {
    let gender = match row.tour.to_ascii_uppercase().as_str() {
        "ATP" => Some(Gender::Men),
        "WTA" => Some(Gender::Women),
        _ => None,
    };
    let competition = (!tournament.name.is_empty()).then(|| Competition {
        id: Id::derive(PROVIDER, "competition", &tournament.name),
        name: tournament.name.as_str().into(),
        season: date.map(|date| date.year().to_string().into()),
    });
    let player = |name: &String| Participant {
        id: Id::derive(PROVIDER, "player", name),
        name: Arc::from(name.as_str()),
    };
    Fixture {
        provider: PROVIDER.into(),
        provider_key: row.id.as_str().into(),
        competition,
        start: None,
        date,
        sides: Some(row.players.each_ref().map(player)),
        class: Class { gender, ..Class::default() },
    }
}

fn value(reason: String) -> DecodeError {
    DecodeError::new(RefusalKind::Value, reason)
}
