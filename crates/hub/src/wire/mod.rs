//! The public JSON shapes of the stream protocol: how clients see each part of the state.
//!
//! Each type is declared (`declare.rs`) once, and the hub renders by its declaration; the published schema is made from it.
//! Every part is rendered in one place, for snapshots and patches alike; a snapshot consists of all
//! parts. In a patch, an absent optional value is `null`, which deletes the field.

#[macro_use]
mod declare;

pub mod board;
pub mod book;
pub mod consensus;
pub mod feeds;
pub mod football;
pub mod odds;
pub mod race;
pub mod scoreboard;
pub mod signals;
pub mod tennis;
pub mod values;

use facts::event::{self, Fixture};

use self::{
    declare::Field,
    odds::OddsHeader,
    race::RaceSides,
    tennis::Players,
    values::{FeedState, Id, Life, Map, Text, Timestamp},
};
use crate::{
    document::{Node, Object},
    hub::{
        Header,
        state::{Match, MatchDelta, Moment, Play},
    },
};

wire! {
    /// The fields of every document.
    document DocumentHeader {
        /// The life cycle of what the document describes.
        life: Life,
        /// The state of the source on which the document depends.
        feed: FeedState,
        /// Milliseconds: treat the document as stale if neither a frame of its channel nor a beat has arrived for
        /// this long.
        stale_after_ms: u32,
    }

    /// The fields of every match.
    document MatchHead {
        /// The public id, as in the name of the channel.
        id: Id,
        /// Each provider that reports the match, with its own key of it: `{"wyscout": "2058017"}`.
        refs: Map<Text>,
        /// The competition; absent if no source names it.
        competition: Option<Competition>,
        /// The scheduled or actual start.
        start: Option<Timestamp>,
    }

    /// The sides of a match.
    document Sides {
        /// The home side; absent if no source names it.
        home: Option<Participant>,
        /// The away side; absent if no source names it.
        away: Option<Participant>,
    }

    /// A team, a player, or a pair of players.
    object Participant {
        /// The public id.
        id: Id,
        /// The name, as the source spells it.
        name: Text,
    }

    /// A competition: a league, a cup, a tournament.
    object Competition {
        /// The public id.
        id: Id,
        /// The name, as the source spells it.
        name: Text,
        /// The season, as the source names it, such as `2026/27`.
        season: Option<Text>,
    }
}

/// The complete document of a match.
#[must_use]
pub fn match_image(m: &Match, header: Header, stale_after_ms: u32) -> Object {
    let mut image = Object::default();
    image.put(MatchHead::id(), m.id.0);
    image.set("sport", m.sport.as_str());
    set_header(&mut image, header);
    image.put(DocumentHeader::stale_after_ms(), stale_after_ms);
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
            patch.object(MatchHead::refs()).set(provider, Node::Null);
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
    let refs = out.object(MatchHead::refs());
    for member in &m.members {
        refs.set(&member.provider, &member.key);
    }
    competition(out, MatchHead::competition(), m, patch);
    out.put_optional(MatchHead::start(), m.fixture.start, patch);
    sides(out, m, patch);
    if matches!(m.play, Play::Race(_)) {
        race::title(out, m, patch);
    }
}

fn competition(out: &mut Object, field: Field<Option<Competition>>, m: &Match, patch: bool) {
    match &m.fixture.competition {
        Some(competition) => out.set(field, Competition::from(competition).object(patch)),
        None if patch => out.set(field, Node::Null),
        None => {}
    }
}

fn sides(out: &mut Object, m: &Match, patch: bool) {
    let Fixture { sides, .. } = &m.fixture;
    let fields = match m.play {
        Play::Tennis(_) => [Players::p1(), Players::p2()],
        Play::Race(_) => [RaceSides::home(), RaceSides::away()],
        Play::Football(_) | Play::Scoreboard(_) | Play::None => [Sides::home(), Sides::away()],
    };
    for (field, side) in fields.into_iter().zip([0, 1]) {
        out.put_optional(field, sides.as_ref().map(|sides| &sides[side]), patch);
    }
}

impl From<&event::Participant> for Participant {
    fn from(participant: &event::Participant) -> Self {
        Self { id: participant.id.0.into(), name: (&participant.name).into() }
    }
}

impl From<&event::Competition> for Competition {
    fn from(competition: &event::Competition) -> Self {
        Self {
            id: competition.id.0.into(),
            name: (&competition.name).into(),
            season: competition.season.as_ref().map(Text::from),
        }
    }
}

/// The fields that every document has, and the optional fields next to them.
pub fn set_header(out: &mut Object, header: Header) {
    out.put(DocumentHeader::life(), header.life);
    out.put(DocumentHeader::feed(), header.feed);
    out.set_some("status", header.status);
    out.set_some(OddsHeader::suspended(), header.suspended);
    out.put_some(OddsHeader::match_seq(), header.match_seq);
}

/// The changed header fields.
#[must_use]
pub fn header_patch(before: Header, after: Header) -> Object {
    let mut patch = Object::default();
    if before.life != after.life {
        patch.put(DocumentHeader::life(), after.life);
    }
    if before.feed != after.feed {
        patch.put(DocumentHeader::feed(), after.feed);
    }
    if before.status != after.status {
        patch.set_or_null("status", after.status);
    }
    if before.suspended != after.suspended {
        patch.set_or_null(OddsHeader::suspended(), after.suspended);
    }
    if before.match_seq != after.match_seq {
        patch.put_or_null(OddsHeader::match_seq(), after.match_seq);
    }
    patch
}
