//! The dialect of the older sockets, `/live/football/` and `/ws/live/`: frames about one match,
//! each self-contained.
//!
//! [`protocol`] reads commands and renders replies. All other frames are rendered from the typed state at
//! one time and contain only facts from feeds. The hub decides when each of them is sent.

pub mod football;
pub mod odds;
pub mod protocol;
pub mod tennis;

#[cfg(test)]
mod tests;

use std::io::Write as _;

use facts::event::{Participant, Sport};
use fanout::{Epoch, Micros, Seq, encode::Encode};

use base::time_format as time;

use crate::{
    document::{Node, Object},
    hub::{
        Header,
        feeds::FeedState,
        state::{Life, Match, Play},
    },
};

/// A match at the time of rendering.
#[derive(Debug, Clone, Copy)]
pub struct MatchScene<'a> {
    pub state: &'a Match,
    pub header: Header,
    /// The time up to which its clock runs: now, or when its feed was last live.
    pub until: Micros,
}

impl MatchScene<'_> {
    /// Whether the match is in play, as far as its feed can be trusted.
    #[must_use]
    pub fn is_in_play(&self) -> bool {
        self.header.life == Life::Live
    }

    /// Whether the match has not ended.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.header.life != Life::Ended
    }
}

/// A frame with its number. The number's fields come last, because older clients do not know them.
#[derive(Debug)]
pub struct NumberedFrame {
    pub frame: Object,
    pub epoch: Epoch,
    pub seq: Seq,
}

impl Encode for NumberedFrame {
    fn encode(&self, out: &mut Vec<u8>) {
        self.frame.write(out);
        out.pop();
        let Self { epoch, seq, .. } = self;
        write!(out, r#","epoch":"{epoch}","seq":{seq}}}"#).expect("memory takes what is written");
    }
}

/// The common fields at the start of each frame.
#[must_use]
pub fn frame(kind: &'static str, state: &Match) -> Object {
    let mut out = Object::default();
    out.set("type", kind);
    out.set("event_id", state.id.0);
    if state.sport != Sport::Football {
        out.set("sport", state.sport.as_str());
    }
    out
}

/// The `event` frame: the state of the match.
#[must_use]
pub fn event(scene: &MatchScene<'_>) -> Object {
    let mut out = frame("event", scene.state);
    let sides = scene.state.fixture.sides.as_ref();
    out.set("home", side(sides.map(|sides| &sides[0])));
    out.set("away", side(sides.map(|sides| &sides[1])));
    match &scene.state.play {
        Play::Football(football) => football::event(&mut out, scene, football),
        Play::Tennis(tennis) => tennis::event(&mut out, scene, tennis),
        Play::Scoreboard(_) | Play::Race(_) | Play::None => {}
    }
    out.set("feed", scene.header.feed.as_str());
    out
}

/// `{id, name, short_name}`. Feeds provide one name, which is also the short one, as in the REST
/// API.
fn side(participant: Option<&Participant>) -> Object {
    let mut out = Object::default();
    out.set_or_null("id", participant.map(|it| it.id.0));
    out.set_or_null("name", participant.map(|it| &it.name));
    out.set_or_null("short_name", participant.map(|it| &it.name));
    out
}

/// The start of a subscription: the snapshot and the recent history.
#[derive(Debug)]
pub struct SubscriptionSnapshot<'a> {
    pub scene: MatchScene<'a>,
    pub odds: Object,
    pub odds_book: Option<Object>,
    pub livedata: Vec<Object>,
    pub history: Vec<Object>,
    /// Why the hub could not resume from the client's position, if it gave one.
    pub why: Option<&'static str>,
}

#[must_use]
pub fn subscribed(snapshot: SubscriptionSnapshot<'_>) -> Object {
    let SubscriptionSnapshot { scene, odds, odds_book, livedata, history, why } = snapshot;
    let mut out = begun(scene.state);
    out.set("event", event(&scene));
    out.set("livedata", list(livedata));
    out.set("history", list(history));
    out.set("odds", odds);
    out.set_some("odds_book", odds_book);
    out.set("resumed", false);
    out.set_some("why", why);
    out
}

/// The start of a subscription that resumes from the client's position: the frames that it missed
/// follow.
#[must_use]
pub fn resumed(state: &Match, odds_book: Option<Object>) -> Object {
    let mut out = begun(state);
    out.set("livedata", Node::List(Vec::new()));
    out.set("history", Node::List(Vec::new()));
    out.set_some("odds_book", odds_book);
    out.set("resumed", true);
    out
}

fn begun(state: &Match) -> Object {
    let mut out = frame("subscribed", state);
    out.set("source", if state.is_full() { "full" } else { "basic" });
    out
}

fn list(frames: Vec<Object>) -> Node {
    Node::List(frames.into_iter().map(Node::Object).collect())
}

/// Milliseconds since 1970, 13 digits.
#[must_use]
pub fn uts(at: Micros) -> i64 {
    at.div_euclid(1000)
}

fn kickoff(state: &Match) -> Option<Node> {
    state.fixture.start.and_then(time::offset).map(Node::from)
}

/// The reason for holding prices back if the feed is the cause.
fn late(feed: FeedState) -> Option<&'static str> {
    match feed {
        FeedState::Live => None,
        FeedState::Late => Some("feed_late"),
        FeedState::Down => Some("feed_down"),
        FeedState::Recovering => Some("feed_recovering"),
    }
}
