//! A race: `runners`, and its events.

use facts::event::RaceRunner;

use super::{
    DocumentHeader, MatchHead, Participant,
    values::{List, Map, RaceStatus, RunnerStatus, Text, Timestamp},
};
use crate::{
    document::{FieldKey, Node, Object},
    hub::state::{self, Match, Moment, RacePart, Racing},
};

wire! {
    /// A horse race: the document of `horseracing/{id}`.
    document HorseRace {
        #[schemars(flatten)] header: @shared DocumentHeader,
        #[schemars(flatten)] head: @shared MatchHead,
        /// Always `horseracing`.
        #[schemars(extend("const" = "horseracing"))] sport: @shared Text,
        #[schemars(flatten)] sides: @shared RaceSides,
        /// The status.
        status: @shared RaceStatus,
        #[schemars(flatten)] title: @shared RaceTitle,
        /// The runners by id. Absent if no source reports the race.
        runners: Option<Map<Runner>>,
    }

    /// The sides of a race.
    document RaceSides {
        /// The first side, if a source reports the race as one of two sides.
        home: Option<Participant>,
        /// The second side, if a source reports the race as one of two sides.
        away: Option<Participant>,
    }

    /// The title of a race.
    document RaceTitle {
        /// The name of the race.
        name: Option<Text>,
        /// The racecourse.
        course: Option<Text>,
        /// The country of the course: two letters of ISO 3166-1, or its name.
        country: Option<Text>,
        /// The distance as the source writes it: `1m2f`, `1200m`.
        distance: Option<Text>,
    }

    /// A runner of a race.
    object Runner {
        /// The name of the horse.
        name: Text,
        /// The status.
        status: RunnerStatus,
        /// The number on the saddlecloth.
        number: Option<u16>,
        /// The name of the jockey.
        jockey: Option<Text>,
        /// The place: 1 is first. In a dead heat several runners have the same.
        #[schemars(range(min = 1))] position: Option<u16>,
    }

    /// An event of a race.
    union RaceEvent { Off, RaceFinish, RaceCorrect }

    /// A race has begun.
    event Off = "off" {
        /// When it happened, if the source says.
        at: Option<Timestamp>,
    }

    /// A race has ended.
    event RaceFinish = "finish" {
        /// The order of the runners, the winner first.
        order: List<Place>,
        /// When it happened, if the source says.
        at: Option<Timestamp>,
    }

    /// A race had not ended, or its order has changed.
    event RaceCorrect = "correct" {
        /// The `eid` of the wrong `finish`.
        of: Text,
        /// The current status.
        #[schemars(with = "RaceStatus")] status: Option<RaceStatus>,
        /// The current order of the runners, the winner first.
        order: List<Place>,
        /// When it happened, if the source says.
        at: Option<Timestamp>,
    }

    /// A runner's place in a race.
    object Place {
        /// The id of the runner, as in `runners`.
        id: u64,
        /// The place: 1 is first.
        #[schemars(range(min = 1))] position: u16,
    }
}

/// The title of the race, its distance and its venue.
pub(super) fn title(out: &mut Object, m: &Match, patch: bool) {
    let meeting = m.fixture.competition.as_ref().map(|it| &it.name);
    let course = m.about.venue.as_ref().map(|it| &it.name).or(meeting);
    out.put_optional(RaceTitle::name(), m.about.round_name.as_ref(), patch);
    out.put_optional(RaceTitle::course(), course, patch);
    out.put_optional(RaceTitle::country(), m.about.country.as_ref(), patch);
    out.put_optional(RaceTitle::distance(), m.about.distance.as_ref(), patch);
}

pub(super) fn image(out: &mut Object, state: &Racing) {
    if state.status.is_none() {
        return;
    }
    let runners = out.object(HorseRace::runners());
    for (id, entry) in &state.runners {
        runners.set(FieldKey::Int(id.0), Runner::from(entry));
    }
}

pub(super) fn patch(out: &mut Object, state: &Racing, parts: &[RacePart]) {
    for part in parts {
        match part {
            // The status is in the header. From the first status on, `runners` exists, even if
            // empty.
            RacePart::Status => drop(out.object(HorseRace::runners())),
            RacePart::Runner(id) | RacePart::RunnerGone(id) => {
                let runner = state.runners.get(id).map(|entry| Runner::from(entry).object(true));
                out.object(HorseRace::runners()).set_or_null(FieldKey::Int(id.0), runner);
            }
        }
    }
}

impl From<&RaceRunner> for Runner {
    fn from(runner: &RaceRunner) -> Self {
        let RaceRunner { participant, number, jockey, status, position } = runner;
        Self {
            name: (&participant.name).into(),
            status: (*status).into(),
            number: *number,
            jockey: jockey.as_ref().map(Text::from),
            position: *position,
        }
    }
}

pub(super) fn events(state: &Racing, events: &[state::RaceEvent], moment: Moment) -> Vec<Node> {
    let at = || moment.source.map(Timestamp::from);
    let rendered = |event: &state::RaceEvent| -> RaceEvent {
        match event {
            state::RaceEvent::Off { eid } => Off { eid: eid.into(), at: at() }.into(),
            state::RaceEvent::Finish { eid } => {
                RaceFinish { eid: eid.into(), order: order(state), at: at() }.into()
            }
            state::RaceEvent::Correct { eid, corrected } => RaceCorrect {
                eid: eid.into(),
                of: corrected.into(),
                status: state.status.map(RaceStatus::from),
                order: order(state),
                at: at(),
            }
            .into(),
        }
    };
    events.iter().map(|event| rendered(event).into()).collect()
}

/// The winner first.
fn order(state: &Racing) -> List<Place> {
    let placed = state.order().into_iter();
    placed.map(|(position, id)| Place { id: id.0, position }).collect()
}
