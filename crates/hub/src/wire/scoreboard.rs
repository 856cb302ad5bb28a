//! A match with a scoreboard: `score`, `periods`, `period`, `clock`, `winner`, and its events.

use facts::event;

use super::{
    DocumentHeader, MatchHead, Sides,
    football::{Clock, HomeAway},
    values::{Map, ScoreboardStatus, Side, Text, Timestamp},
};
use crate::{
    document::{FieldKey, Node, Object},
    hub::state::{self, Moment, ScoreboardPart, Scores},
};

wire! {
    /// A match that is followed by its scoreboard.
    document ScoreboardMatch {
        #[schemars(flatten)] header: @shared DocumentHeader,
        #[schemars(flatten)] head: @shared MatchHead,
        /// The sport.
        sport: @shared Text,
        #[schemars(flatten)] sides: @shared Sides,
        #[schemars(flatten)] scoreboard: @shared Scoreboard,
    }

    /// The fields of the scoreboard.
    document Scoreboard {
        /// The status.
        status: @shared ScoreboardStatus,
        /// What decides the match: maps in CS2, sets in darts (or legs, if it is played in legs only), goals in
        /// hockey, points in basketball.
        score: Option<HomeAway>,
        /// The same by part, by its number from `"1"`: rounds of each map, legs of each set, periods, quarters.
        /// Absent if no source reports the play.
        periods: Option<Map<HomeAway>>,
        /// The part in progress, as the source names it: `map 2`, `p2`, `overtime`.
        period: Option<Text>,
        /// The clock of the match.
        clock: Option<Clock>,
        /// The winner of the match.
        winner: Option<Side>,
    }

    /// An event of a match that is followed by its scoreboard.
    union ScoreboardEvent { ScoreChange, Finish, ScoreboardCorrect }

    /// The score increased.
    event ScoreChange = "score" {
        /// The score now.
        score: HomeAway,
        /// The part in progress, as the source names it.
        period: Option<Text>,
        /// When it happened, if the source says.
        at: Option<Timestamp>,
    }

    /// The match has ended.
    event Finish = "finish" {
        /// The status now.
        status: ScoreboardStatus,
        /// The final score.
        score: Option<HomeAway>,
        /// The winner.
        winner: Option<Side>,
        /// When it happened, if the source says.
        at: Option<Timestamp>,
    }

    /// A score decreased, or a match had not ended.
    event ScoreboardCorrect = "correct" {
        /// The `eid` of the `score` or the `finish` that was wrong.
        of: Text,
        /// The current status.
        status: ScoreboardStatus,
        /// The current score.
        score: Option<HomeAway>,
        /// When it happened, if the source says.
        at: Option<Timestamp>,
    }
}

pub(super) fn image(out: &mut Object, state: &Scores) {
    let Some(board) = &state.board else { return };
    out.put_some(Scoreboard::score(), state.reported_score());
    let periods = out.object(Scoreboard::periods());
    for (number, score) in (1..).zip(&board.periods) {
        periods.set(FieldKey::Int(number), HomeAway::from(*score));
    }
    out.put_some(Scoreboard::period(), board.period.as_ref());
    out.put_some(Scoreboard::clock(), state.clock);
    out.put_some(Scoreboard::winner(), board.winner);
}

pub(super) fn patch(out: &mut Object, state: &Scores, parts: &[ScoreboardPart]) {
    let Some(board) = &state.board else { return };
    for part in parts {
        match *part {
            // The status is in the header. If it is the first fact, `periods` exists from now on,
            // even if empty.
            ScoreboardPart::Status => drop(out.object(Scoreboard::periods())),
            ScoreboardPart::Score => out.put_or_null(Scoreboard::score(), state.reported_score()),
            // Two scoreboards of one batch may remove a period and add it again.
            ScoreboardPart::Part(number) | ScoreboardPart::PartGone(number) => {
                let score = board.periods.get(number - 1).map(|score| HomeAway::from(*score));
                out.object(Scoreboard::periods()).set_or_null(FieldKey::Int(number as u64), score);
            }
            ScoreboardPart::Period => {
                out.put_or_null(Scoreboard::period(), board.period.as_ref());
            }
            ScoreboardPart::Clock => out.put_or_null(Scoreboard::clock(), state.clock),
            ScoreboardPart::Winner => out.put_or_null(Scoreboard::winner(), board.winner),
        }
    }
}

pub(super) fn events(
    state: &Scores,
    events: &[state::ScoreboardEvent],
    moment: Moment,
) -> Vec<Node> {
    let Some(board) = &state.board else { return Vec::new() };
    let score = || state.reported_score().map(HomeAway::from);
    let rendered = |event: &state::ScoreboardEvent| {
        ScoreboardEvent::from_state(board, score(), event, moment).into()
    };
    events.iter().map(rendered).collect()
}

impl ScoreboardEvent {
    fn from_state(
        board: &event::Scoreboard,
        current: Option<HomeAway>,
        event: &state::ScoreboardEvent,
        moment: Moment,
    ) -> Self {
        let at = moment.source.map(Timestamp::from);
        match event {
            state::ScoreboardEvent::Score { eid, score } => ScoreChange {
                eid: eid.into(),
                score: (*score).into(),
                period: board.period.as_ref().map(Text::from),
                at,
            }
            .into(),
            state::ScoreboardEvent::Finish { eid } => Finish {
                eid: eid.into(),
                status: board.status.into(),
                score: current,
                winner: board.winner.map(Side::from),
                at,
            }
            .into(),
            state::ScoreboardEvent::Correct { eid, corrected } => ScoreboardCorrect {
                eid: eid.into(),
                of: corrected.into(),
                status: board.status.into(),
                score: current,
                at,
            }
            .into(),
        }
    }
}
