//! A tennis match: `server`, `sets`, `game`, `points`, `winner`, and its events.

use std::sync::Arc;

use facts::event::{GameScore, Pair, Point, PointKind, SetScore, TennisScore};

use crate::{
    document::{FieldKey, Node, Object},
    hub::state::{Moment, PointEndings, Tennis, TennisEvent, TennisPart, number},
};

pub(super) fn image(out: &mut Object, state: &Tennis) {
    if let Some(current) = state.reported_score() {
        score(out, current, None);
    }
}

pub(super) fn patch(out: &mut Object, state: &Tennis, parts: &[TennisPart]) {
    // The status is in the header.
    if !parts.contains(&TennisPart::Score) {
        return;
    }
    match state.reported_score() {
        Some(current) => score(out, current, Some(parts)),
        None => ["server", "winner", "sets", "game", "points"]
            .into_iter()
            .for_each(|field| out.set(field, Node::Null)),
    }
}

/// The score's fields. In a patch (`Some`, with the changed parts), absent values are deleted.
fn score(out: &mut Object, score: &TennisScore, patch: Option<&[TennisPart]>) {
    let server = score.server.map(number);
    let winner = score.winner.map(number);
    match patch {
        Some(_) => {
            out.set_or_null("server", server);
            out.set_or_null("winner", winner);
        }
        None => {
            out.set_some("server", server);
            out.set_some("winner", winner);
        }
    }
    sets(out.object("sets"), score, patch);
    out.set("game", game(score.game));
    out.set("points", score.points);
}

/// `{"1":{p1,p2,tb{p1,p2}}}`: by the number of the set.
pub(super) fn sets(out: &mut Object, score: &TennisScore, patch: Option<&[TennisPart]>) {
    for part in patch.into_iter().flatten() {
        if let TennisPart::SetGone(number) = part {
            out.set(FieldKey::Int(*number as u64), Node::Null);
        }
    }
    for (number, set) in (1..).zip(&score.sets) {
        out.set(FieldKey::Int(number), set_node(set, patch.is_some()));
    }
}

fn set_node(set: &SetScore, patch: bool) -> Object {
    let mut out = pair(set.games.map(Node::from));
    let tie_break = set.tie_break.map(|points| pair(points.map(Node::from)));
    if patch {
        out.set_or_null("tb", tie_break);
    } else {
        out.set_some("tb", tie_break);
    }
    out
}

fn pair(values: Pair<Node>) -> Object {
    let [first, second] = values;
    let mut out = Object::default();
    out.set("p1", first);
    out.set("p2", second);
    out
}

#[must_use]
pub fn game(game: GameScore) -> Object {
    match game {
        GameScore::Points(points) => pair(points.map(|won| Node::Word(call(won)))),
        GameScore::TieBreak(points) => pair(points.map(|won| Node::Text(won.to_string().into()))),
    }
}

/// The points of a game as texts, in order of the sides.
#[must_use]
pub fn calls(game: GameScore) -> Pair<Arc<str>> {
    match game {
        GameScore::Points(points) => points.map(|won| call(won).into()),
        GameScore::TieBreak(points) => points.map(|won| won.to_string().into()),
    }
}

/// The umpire's call for the points won in a game.
fn call(points: u8) -> &'static str {
    match points {
        0 => "0",
        1 => "15",
        2 => "30",
        3 => "40",
        _ => "A",
    }
}

pub(super) fn events(events: &[TennisEvent], moment: Moment) -> Vec<Node> {
    let mut out = Vec::new();
    for event in events {
        match event {
            TennisEvent::Point { point, ended, set } => {
                self::point(&mut out, point, *ended, *set, moment);
            }
            TennisEvent::Retracted { point, why, ended } => retracted(&mut out, point, why, *ended),
            TennisEvent::Corrected(number) => out.push(corrected(*number).into()),
        }
    }
    out
}

fn point(out: &mut Vec<Node>, point: &Point, ended: PointEndings, set: u8, moment: Moment) {
    let Point { eid, winner, server, how, score } = point;
    let mut event = named("point", eid);
    event.set("winner", number(*winner));
    event.set("server", number(*server));
    event.set_some("how", how.map(PointKind::as_str));
    event.set("set", set);
    event.set("point", score.points);
    event.set_some("at", moment.source);
    out.push(event.into());
    for ending in endings(eid, ended) {
        let mut event = ending;
        event.set("winner", number(*winner));
        event.set("set", set);
        if let Some(won) = score.sets.get(usize::from(set) - 1) {
            event.set("games", pair(won.games.map(Node::from)));
        }
        out.push(event.into());
    }
}

/// The game, set and match that a point ended, named after the point. If a point is taken back and
/// replayed, they end again under another name.
fn endings(eid: &Arc<str>, ended: PointEndings) -> impl Iterator<Item = Object> {
    let kinds = [("game", ended.game), ("set", ended.set), ("match", ended.match_)];
    kinds
        .into_iter()
        .filter(|(_, it)| *it)
        .map(move |(kind, _)| named(kind, &format!("{eid}:{kind}").into()))
}

fn retracted(out: &mut Vec<Node>, point: &Arc<str>, why: &Arc<str>, ended: PointEndings) {
    let kinds = [("match", ended.match_), ("set", ended.set), ("game", ended.game)];
    let endings = kinds.into_iter().filter(|(_, it)| *it);
    let all = endings.map(|(kind, _)| format!("{point}:{kind}").into()).chain([Arc::clone(point)]);
    for point in all {
        let mut event = named("retract", &format!("retract-{point}").into());
        event.set("of", &point);
        event.set("why", why);
        out.push(event.into());
    }
}

/// The score decreased although no point was taken back; the current score is in the same update.
fn corrected(number: u32) -> Object {
    let mut event = named("correct", &format!("correct-score-{number}").into());
    event.set("of", "score");
    event
}

fn named(kind: &'static str, eid: &Arc<str>) -> Object {
    let mut event = Object::default();
    event.set("kind", kind);
    event.set("eid", eid);
    event
}
