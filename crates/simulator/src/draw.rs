//! The draw: the pairs of a day, and the fields of its races.

use std::sync::Arc;

use facts::event::{Competition, Id, Micros, Pair, Participant};

use super::{
    dice::Dice,
    names,
    programme::{Entry, GameKind},
    race::{RUNNERS, RaceCard},
    rounds::{DayNumber, ROUND_DAYS, Season, round_robin},
    scoreboard_sport::Setting,
};

/// Races of a day for which there are horses.
const RACES: usize = 300;

/// Courses that race on a day.
pub(super) const RACING_COURSES: usize = 3;

/// A match before it has its number and its time.
#[derive(Debug, Clone)]
pub(super) struct Booking {
    competition: Competition,
    sides: Option<Pair<Participant>>,
    game: GameKind,
}

impl Booking {
    pub(super) fn entry(
        self,
        key: Arc<str>,
        number: u64,
        announced: Micros,
        start: Micros,
        round: u16,
    ) -> Entry {
        let Self { mut competition, sides, game } = self;
        let season = Season::containing(start);
        competition.season = match &game {
            GameKind::Football => Some(season.name),
            GameKind::Tennis(..) => Some(season.year),
            GameKind::Scoreboard(game) => Some(match game.setting {
                Setting::League { .. } => season.name,
                Setting::Tournament { .. } => season.year,
            }),
            GameKind::Race(_) => None,
        };
        let id = Id::derive(names::PROVIDER, "match", &key);
        Entry { number, id, key, announced, start, competition, round, sides, game }
    }
}

/// All matches of a day, in random order, and so for the other sports.
pub(super) fn football(day: DayNumber, dice: &mut Dice) -> Vec<Booking> {
    let pairs = league_pairs(names::LEAGUE_COUNT, names::TEAMS_PER_LEAGUE, day, dice);
    bookings(pairs, |league, teams| {
        let sides = teams.map(|team| names::team(league, team));
        (names::league(league), sides, GameKind::Football)
    })
}

pub(super) fn tennis(day: DayNumber, dice: &mut Dice) -> Vec<Booking> {
    let pairs = daily_pairs(names::TOURNAMENT_COUNT, names::PLAYERS_PER_TOURNAMENT, day, dice);
    bookings(pairs, |tournament, players| {
        let (competition, format) = names::tournament(tournament);
        let sides = players.map(|player| names::tennis_player(tournament, player));
        (competition, sides, GameKind::Tennis(format, tournament))
    })
}

/// Books each pair of members of a competition. `names` looks up the competition, the members and
/// the kind of game.
pub(super) fn bookings(
    pairs: Vec<(usize, Pair<usize>)>,
    names: impl Fn(usize, Pair<usize>) -> (Competition, Pair<Participant>, GameKind),
) -> Vec<Booking> {
    let booking = |(competition, members)| {
        let (competition, sides, game) = names(competition, members);
        Booking { competition, sides: Some(sides), game }
    };
    pairs.into_iter().map(booking).collect()
}

/// The races of a day, at [`RACING_COURSES`] of the courses in turn.
pub(super) fn races(day: DayNumber, dice: &mut Dice) -> Vec<Booking> {
    let mut horses: Vec<usize> = (0..names::HORSE_COUNT).collect();
    dice.shuffle(&mut horses);
    let mut horses = horses.into_iter();
    let mut jockeys: Vec<usize> = (0..names::JOCKEY_COUNT).collect();
    let mut races = Vec::new();
    while races.len() < RACES {
        let count = dice.between(RUNNERS.0, RUNNERS.1) as usize;
        let field: Vec<_> = horses.by_ref().take(count).collect();
        if field.len() < count {
            break;
        }
        dice.shuffle(&mut jockeys);
        let runners = field.into_iter().zip(&jockeys);
        let runners = runners.map(|(horse, jockey)| (names::horse(horse), names::jockey(*jockey)));
        let runners = runners.collect();
        let (name, jumps) =
            names::race(dice.between(0, 200) as usize, dice.between(0, 200) as usize);
        let course = (day + races.len() % RACING_COURSES) % names::COURSE_COUNT;
        races.push(Booking {
            competition: names::course(course),
            sides: None,
            game: GameKind::Race(Arc::new(RaceCard { name, jumps, runners })),
        });
    }
    races
}

/// The pairs of the leagues that play on a day, in random order. Each league plays on one day of [`ROUND_DAYS`].
pub(super) fn league_pairs(
    leagues: usize,
    teams: usize,
    day: DayNumber,
    dice: &mut Dice,
) -> Vec<(usize, Pair<usize>)> {
    let plays = |league: &usize| league % ROUND_DAYS == day % ROUND_DAYS;
    pairs((0..leagues).filter(plays), teams, day / ROUND_DAYS, dice)
}

/// The pairs of every competition, in random order: everyone plays daily.
pub(super) fn daily_pairs(
    competitions: usize,
    members: usize,
    day: DayNumber,
    dice: &mut Dice,
) -> Vec<(usize, Pair<usize>)> {
    pairs(0..competitions, members, day, dice)
}

/// The pairs of a round of some competitions, in random order; they are not all in the same turn.
fn pairs(
    competitions: impl Iterator<Item = usize>,
    members: usize,
    round: usize,
    dice: &mut Dice,
) -> Vec<(usize, Pair<usize>)> {
    let of_competition = |competition: usize| {
        let pairs = round_robin(members, round + competition * 5);
        pairs.into_iter().map(move |pair| (competition, pair))
    };
    let mut pairs: Vec<_> = competitions.flat_map(of_competition).collect();
    dice.shuffle(&mut pairs);
    pairs
}
