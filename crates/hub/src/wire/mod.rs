//! The public JSON shapes of the stream protocol: how clients see each part of the state.
//!
//! Every part is rendered in one place, for snapshots and patches alike; a snapshot consists of all
//! parts. In a patch, an absent optional value is `null`, which deletes the field.

pub mod board;
pub mod book;
pub mod consensus;
pub mod feeds;
pub mod football;
pub mod race;
pub mod scoreboard;
pub mod signals;
pub mod tennis;

use std::sync::Arc;

use facts::event::{Competition, Fixture, Id, Participant};

use crate::{
    document::{Node, Object},
    hub::{
        Header,
        state::{Match, MatchDelta, Moment, Play},
    },
};

/// The complete document of a match.
#[must_use]
pub fn match_image(m: &Match, header: Header, stale_after_ms: u32) -> Object {
    let mut image = Object::default();
    image.set("id", m.id.0);
    image.set("sport", m.sport.as_str());
    set_header(&mut image, header);
    image.set("stale_after_ms", stale_after_ms);
    fixture(&mut image, m, false);
    match &m.play {
        Play::Football(state) => football::image(&mut image, state),
        Play::Tennis(state) => tennis::image(&mut image, state),
        Play::Scoreboard(state) => scoreboard::image(&mut image, state),
        Play::Race(state) => race::image(&mut image, state),
        Play::None => {}
    }
    image
}

/// The patch of a batch's changes.
#[must_use]
pub fn match_patch(m: &Match, delta: &MatchDelta, before: Header, after: Header) -> Object {
    let mut patch = header_patch(before, after);
    if delta.fixture {
        for provider in &delta.left {
            patch.object("refs").set(provider, Node::Null);
        }
        fixture(&mut patch, m, true);
    }
    match &m.play {
        Play::Football(state) => football::patch(&mut patch, state, &delta.football),
        Play::Tennis(state) => tennis::patch(&mut patch, state, &delta.tennis),
        Play::Scoreboard(state) => scoreboard::patch(&mut patch, state, &delta.scoreboard),
        Play::Race(state) => race::patch(&mut patch, state, &delta.race),
        Play::None => {}
    }
    patch
}

/// The events of a batch.
#[must_use]
pub fn match_events(m: &Match, delta: &MatchDelta, moment: Moment) -> Vec<Node> {
    match &m.play {
        Play::Football(state) => football::events(state, &delta.football_events),
        Play::Tennis(_) => tennis::events(&delta.tennis_events, moment),
        Play::Scoreboard(state) => scoreboard::events(state, &delta.scoreboard_events, moment),
        Play::Race(state) => race::events(state, &delta.race_events, moment),
        Play::None => Vec::new(),
    }
}

fn fixture(out: &mut Object, m: &Match, patch: bool) {
    let Fixture { competition, start, sides, .. } = &m.fixture;
    let refs = out.object("refs");
    for member in &m.members {
        refs.set(&member.provider, &member.key);
    }
    let competition = competition.as_ref().map(|c| competition_node(c, patch));
    set(out, "competition", competition, patch);
    set(out, "start", *start, patch);
    for (name, side) in side_names(m).into_iter().zip([0, 1]) {
        let participant = sides.as_ref().map(|sides| participant(&sides[side]));
        set(out, name, participant, patch);
    }
    if matches!(m.play, Play::Race(_)) {
        race::title(out, m, patch);
    }
}

/// Sets an optional field; in a patch, `None` becomes `null`.
fn set(out: &mut Object, name: &'static str, value: Option<impl Into<Node>>, patch: bool) {
    if patch {
        out.set_or_null(name, value);
    } else {
        out.set_some(name, value);
    }
}

/// The names of the two sides in the documents of this sport.
#[must_use]
pub fn side_names(m: &Match) -> [&'static str; 2] {
    if matches!(m.play, Play::Tennis(_)) { ["p1", "p2"] } else { ["home", "away"] }
}

fn competition_node(competition: &Competition, patch: bool) -> Object {
    let mut out = entity(competition.id, &competition.name);
    set(&mut out, "season", competition.season.as_ref(), patch);
    out
}

/// `{id, name}` of a participant.
#[must_use]
pub fn participant(participant: &Participant) -> Object {
    entity(participant.id, &participant.name)
}

/// `{id, name}`.
fn entity(id: Id, name: &Arc<str>) -> Object {
    let mut out = Object::default();
    out.set("id", id.0);
    out.set("name", name);
    out
}

/// The fields that every document has, and the optional fields next to them.
pub fn set_header(out: &mut Object, header: Header) {
    out.set("life", header.life.as_str());
    out.set("feed", header.feed.as_str());
    out.set_some("status", header.status);
    out.set_some("suspended", header.suspended);
    out.set_some("match_seq", header.match_seq);
}

/// The changed header fields.
#[must_use]
pub fn header_patch(before: Header, after: Header) -> Object {
    let mut patch = Object::default();
    if before.life != after.life {
        patch.set("life", after.life.as_str());
    }
    if before.feed != after.feed {
        patch.set("feed", after.feed.as_str());
    }
    if before.status != after.status {
        patch.set_or_null("status", after.status);
    }
    if before.suspended != after.suspended {
        patch.set_or_null("suspended", after.suspended);
    }
    if before.match_seq != after.match_seq {
        patch.set_or_null("match_seq", after.match_seq);
    }
    patch
}
