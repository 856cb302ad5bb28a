//! A match with a scoreboard: `score`, `periods`, `period`, `clock`, `winner`, and its events.

use std::sync::Arc;

use facts::event::{Pair, Scoreboard};

use super::football;
use crate::{
    document::{FieldKey, Node, Object},
    hub::state::{Moment, ScoreboardEvent, ScoreboardPart, Scores},
};

pub(super) fn image(out: &mut Object, state: &Scores) {
    let Some(board) = &state.board else { return };
    out.set_some("score", state.reported_score().map(pair));
    let periods = out.object("periods");
    for (number, score) in (1..).zip(&board.periods) {
        periods.set(FieldKey::Int(number), pair(*score));
    }
    out.set_some("period", board.period.as_ref());
    out.set_some("clock", state.clock.map(football::clock));
    out.set_some("winner", board.winner.map(football::side_name));
}

pub(super) fn patch(out: &mut Object, state: &Scores, parts: &[ScoreboardPart]) {
    let Some(board) = &state.board else { return };
    for part in parts {
        match *part {
            // The status is in the header. If it is the first fact, `periods` exists from now on,
            // even if empty.
            ScoreboardPart::Status => drop(out.object("periods")),
            ScoreboardPart::Score => out.set_or_null("score", state.reported_score().map(pair)),
            ScoreboardPart::Part(number) => {
                let score = board.periods.get(number - 1).map(|score| pair(*score));
                out.object("periods").set_or_null(FieldKey::Int(number as u64), score);
            }
            ScoreboardPart::PartGone(number) => {
                // Two scoreboards of one batch may remove a period and add it again.
                let score = board.periods.get(number - 1).map(|score| pair(*score));
                out.object("periods").set_or_null(FieldKey::Int(number as u64), score);
            }
            ScoreboardPart::Period => out.set_or_null("period", board.period.as_ref()),
            ScoreboardPart::Clock => out.set_or_null("clock", state.clock.map(football::clock)),
            ScoreboardPart::Winner => {
                out.set_or_null("winner", board.winner.map(football::side_name));
            }
        }
    }
}

pub(super) fn events(state: &Scores, events: &[ScoreboardEvent], moment: Moment) -> Vec<Node> {
    let Some(board) = &state.board else { return Vec::new() };
    let score = state.reported_score().map(pair);
    let new_event = |event| Node::Object(self::event(board, score.clone(), event, moment));
    events.iter().map(new_event).collect()
}

fn event(
    board: &Scoreboard,
    current: Option<Object>,
    event: &ScoreboardEvent,
    moment: Moment,
) -> Object {
    let mut out = match event {
        ScoreboardEvent::Score { eid, score } => {
            let mut out = named("score", eid);
            out.set("score", pair(*score));
            out.set_some("period", board.period.as_ref());
            out
        }
        ScoreboardEvent::Finish { eid } => {
            let mut out = named("finish", eid);
            out.set("status", board.status.as_str());
            out.set_some("score", current);
            out.set_some("winner", board.winner.map(football::side_name));
            out
        }
        ScoreboardEvent::Correct { eid, corrected } => {
            let mut out = named("correct", eid);
            out.set("of", corrected);
            out.set("status", board.status.as_str());
            out.set_some("score", current);
            out
        }
    };
    out.set_some("at", moment.source);
    out
}

pub(super) fn named(kind: &'static str, eid: &Arc<str>) -> Object {
    let mut event = Object::default();
    event.set("kind", kind);
    event.set("eid", eid);
    event
}

fn pair(score: Pair<u32>) -> Object {
    let mut out = Object::default();
    out.set("home", score[0]);
    out.set("away", score[1]);
    out
}
