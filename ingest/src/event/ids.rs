//! Access to the ids in a fact, for replacing them by other numbers.

use super::{
    About, Analysis, Batch, Competition, Event, Fact, Fixture, FootballFact, Id, Incident,
    Participant,
};

impl Batch {
    /// Visits every id in the batch: of matches, participants, competitions and venues.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        self.events.iter_mut().for_each(|event| event.each_id(visit));
    }
}

impl Event {
    /// Visits every id in the event, the match first.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        visit(&mut self.match_id);
        self.fact.each_id(visit);
    }
}

impl Fact {
    /// Visits every id in the fact.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        match self {
            Self::Fixture(fixture) => fixture.each_id(visit),
            Self::About(about) => about.each_id(visit),
            Self::Football(fact) => fact.each_id(visit),
            Self::Race(race) => {
                race.runners.iter_mut().for_each(|runner| visit(&mut runner.participant.id));
            }
            Self::Tennis(_) | Self::Scoreboard(_) | Self::Odds(_) => {}
        }
    }
}

impl Fixture {
    /// Visits the ids of the competition and of both sides.
    pub fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        if let Some(Competition { id, .. }) = &mut self.competition {
            visit(id);
        }
        self.sides.iter_mut().flatten().for_each(|side| visit(&mut side.id));
    }
}

impl About {
    fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        self.venue.iter_mut().for_each(|venue| visit(&mut venue.id));
        let people = self.referee.iter_mut().chain(self.coaches.iter_mut().flatten());
        people.for_each(|person| visit(&mut person.id));
    }
}

impl FootballFact {
    fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        match self {
            Self::Incident(incident) | Self::Correct(incident) => incident.each_id(visit),
            Self::LineUp { line_up, .. } => {
                line_up.players.iter_mut().for_each(|it| visit(&mut it.player.id));
            }
            Self::PlayerStats { player, .. } => visit(&mut player.id),
            Self::Analysis(analysis) => analysis.each_id(visit),
            Self::Status(_)
            | Self::Clock { .. }
            | Self::Score(_)
            | Self::Retract { .. }
            | Self::Stats { .. }
            | Self::Ball(_) => {}
        }
    }
}

impl Analysis {
    fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        match self {
            Self::Shot(shot) => shot.player.iter_mut().for_each(|player| visit(&mut player.id)),
            Self::AveragePositions { players, .. } => {
                players.iter_mut().for_each(|it| visit(&mut it.player.id));
            }
            Self::Ratings { players, .. } => {
                players.iter_mut().for_each(|it| visit(&mut it.player.id));
            }
            Self::ExpectedGoals { .. } | Self::Momentum(_) | Self::HalfStats { .. } => {}
        }
    }
}

impl Incident {
    fn each_id(&mut self, visit: &mut impl FnMut(&mut Id)) {
        let Self { player, assist, .. } = self;
        let people: [&mut Option<Participant>; 2] = [player, assist];
        people.into_iter().flatten().for_each(|person| visit(&mut person.id));
    }
}
