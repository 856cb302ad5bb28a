//! The boards: one row for each match of the day.

use facts::event::Fixture;

use super::{competition_node, football, participant, race, scoreboard, set, side_names, tennis};
use crate::{
    document::{FieldKey, Node, Object},
    hub::{
        Header,
        state::{FootballPart, Match, MatchDelta, Play, Tennis, TennisPart, number},
    },
};

/// Adds the complete row of a match.
pub fn line(matches: &mut Object, m: &Match, header: Header) {
    let out = matches.object(FieldKey::Int(m.id.0));
    fixture(out, m, false);
    out.set("life", header.life.as_str());
    out.set_some("status", header.status);
    match &m.play {
        Play::Football(state) => {
            out.set_some("clock", state.clock.map(football::clock));
            let score = state.reported_score();
            out.set_some("score", score.map(|score| football::score(&score, false)));
        }
        Play::Tennis(state) => play(out, state, None),
        Play::Scoreboard(state) => scoreboard::image(out, state),
        // The race's own document lists the runners.
        Play::Race(_) | Play::None => {}
    }
}

/// Adds what a batch changed in the row of a match.
pub fn line_patch(
    patch: &mut Object,
    m: &Match,
    delta: &MatchDelta,
    before: Header,
    after: Header,
) {
    let mut out = Object::default();
    if delta.fixture {
        fixture(&mut out, m, true);
    }
    if before.life != after.life {
        out.set("life", after.life.as_str());
    }
    if before.status != after.status {
        out.set_or_null("status", after.status);
    }
    match &m.play {
        Play::Football(state) => {
            if delta.football.contains(&FootballPart::Clock) {
                out.set_some("clock", state.clock.map(football::clock));
            }
            if delta.football.contains(&FootballPart::Score) {
                let score = state.reported_score();
                out.set_or_null("score", score.map(|score| football::score(&score, true)));
            }
        }
        Play::Tennis(state) if delta.tennis.contains(&TennisPart::Score) => {
            play(&mut out, state, Some(&delta.tennis));
        }
        Play::Scoreboard(state) => scoreboard::patch(&mut out, state, &delta.scoreboard),
        Play::Tennis(_) | Play::Race(_) | Play::None => {}
    }
    if !out.is_empty() {
        patch.object("matches").set(FieldKey::Int(m.id.0), out);
    }
}

/// Removes the row of a match.
pub fn gone(patch: &mut Object, m: &Match) {
    patch.object("matches").set(FieldKey::Int(m.id.0), Node::Null);
}

fn fixture(out: &mut Object, m: &Match, patch: bool) {
    let Fixture { competition, start, sides, .. } = &m.fixture;
    for (name, side) in side_names(m).into_iter().zip([0, 1]) {
        let participant = sides.as_ref().map(|sides| participant(&sides[side]));
        set(out, name, participant, patch);
    }
    set(out, "competition", competition.as_ref().map(|it| competition_node(it, patch)), patch);
    set(out, "start", *start, patch);
    if matches!(m.play, Play::Race(_)) {
        race::title(out, m, patch);
    }
}

fn play(out: &mut Object, state: &Tennis, patch: Option<&[TennisPart]>) {
    let Some(score) = state.reported_score() else {
        let fields = ["sets", "game", "server"].into_iter().filter(|_| patch.is_some());
        return fields.for_each(|field| out.set(field, Node::Null));
    };
    tennis::sets(out.object("sets"), score, patch);
    out.set("game", tennis::game(score.game));
    set(out, "server", score.server.map(number), patch.is_some());
}
