//! A race: `runners`, and its events.

use facts::event::RaceRunner;

use super::{scoreboard::named, set};
use crate::{
    document::{FieldKey, Node, Object},
    hub::state::{Match, Moment, RaceEvent, RacePart, Racing},
};

/// The title of the race, its distance and its venue.
pub(super) fn title(out: &mut Object, m: &Match, patch: bool) {
    let meeting = m.fixture.competition.as_ref().map(|it| &it.name);
    set(out, "name", m.about.round_name.as_ref(), patch);
    set(out, "course", m.about.venue.as_ref().map(|it| &it.name).or(meeting), patch);
    set(out, "country", m.about.country.as_ref(), patch);
    set(out, "distance", m.about.distance.as_ref(), patch);
}

pub(super) fn image(out: &mut Object, state: &Racing) {
    if state.status.is_none() {
        return;
    }
    let runners = out.object("runners");
    for (id, entry) in &state.runners {
        runners.set(FieldKey::Int(id.0), runner(entry, false));
    }
}

pub(super) fn patch(out: &mut Object, state: &Racing, parts: &[RacePart]) {
    for part in parts {
        match part {
            // The status is in the header. From the first status on, `runners` exists, even if
            // empty.
            RacePart::Status => drop(out.object("runners")),
            RacePart::Runner(id) | RacePart::RunnerGone(id) => {
                let rendered = state.runners.get(id).map(|entry| runner(entry, true));
                out.object("runners").set_or_null(FieldKey::Int(id.0), rendered);
            }
        }
    }
}

fn runner(entry: &RaceRunner, patch: bool) -> Object {
    let RaceRunner { participant, number, jockey, status, position } = entry;
    let mut out = Object::default();
    out.set("name", &participant.name);
    out.set("status", status.as_str());
    set(&mut out, "number", *number, patch);
    set(&mut out, "jockey", jockey.as_ref(), patch);
    set(&mut out, "position", *position, patch);
    out
}

pub(super) fn events(state: &Racing, events: &[RaceEvent], moment: Moment) -> Vec<Node> {
    let event = |event: &RaceEvent| {
        let mut out = match event {
            RaceEvent::Off { eid } => named("off", eid),
            RaceEvent::Finish { eid } => {
                let mut out = named("finish", eid);
                out.set("order", order(state));
                out
            }
            RaceEvent::Correct { eid, corrected } => {
                let mut out = named("correct", eid);
                out.set("of", corrected);
                out.set_some("status", state.status.map(|status| status.as_str()));
                out.set("order", order(state));
                out
            }
        };
        out.set_some("at", moment.source);
        Node::Object(out)
    };
    events.iter().map(event).collect()
}

/// `[{id, position}]`, the winner first.
fn order(state: &Racing) -> Node {
    let placed = state.order().into_iter().map(|(position, id)| {
        let mut out = Object::default();
        out.set("id", id.0);
        out.set("position", position);
        Node::Object(out)
    });
    Node::List(placed.collect())
}
