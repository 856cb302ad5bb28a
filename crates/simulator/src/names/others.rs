//! Who plays hockey, basketball, CS2 and darts, and who runs.

use std::sync::Arc;

use facts::event::{Competition, Id, Participant};

use super::{PROVIDER, SURNAME_HEADS, TOWNS, competition, person, placed};
use crate::darts;

/// Leagues by name, each with the ending of its towns.
const HOCKEY: [(&str, &str); LEAGUES_OF_OTHERS] = [
    ("Frostmark Hockey League", "frost"),
    ("Norrland Ice Series", "norr"),
    ("Glacier Premier", "berg"),
    ("Winterhold Division", "hold"),
    ("Tundra League", "tun"),
    ("Polar Conference", "pol"),
    ("Icefall Series", "fall"),
    ("Boreal Premier", "bor"),
    ("Snowline Division", "line"),
];

const HOCKEY_CLUBS: [&str; 7] =
    ["Ravens", "Icemen", "Lynxes", "Foresters", "Comets", "Pikes", "Hammers"];

/// Leagues by name, each with the ending of its towns and the seconds of a quarter.
const BASKETBALL: [(&str, &str, u32); LEAGUES_OF_OTHERS] = [
    ("Meridian Basketball Association", "port", 720),
    ("Solvara Liga", "ara", 600),
    ("Highland Hoops League", "field", 600),
    ("Coastline Conference", "bay", 720),
    ("Canyon Basket League", "yon", 600),
    ("Lakefront Association", "lake", 720),
    ("Summit Hoops", "mont", 600),
    ("Harbour Basketball Cup", "harb", 600),
    ("Prairie Division", "prair", 720),
];

const BASKETBALL_CLUBS: [&str; 7] =
    ["Herons", "Pilots", "Foundry", "Tides", "Bisons", "Lanterns", "Stags"];

const CS2: [&str; LEAGUES_OF_OTHERS] = [
    "Gridlock Masters",
    "Ember Cup",
    "Northlight League",
    "Quartz Invitational",
    "Rampart Series",
    "Overclock Open",
    "Sentinel Cup",
    "Drift Circuit",
    "Parallax League",
];

/// As many as leagues: a town has a team in each, under another name.
const CS2_CLUBS: [&str; LEAGUES_OF_OTHERS] =
    ["Vortex", "Relay", "Static", "Quanta", "Hexa", "Cipher", "Nova", "Pulse", "Vertex"];

/// Tournaments and how their matches are played.
const DARTS: [(&str, darts::Format, &str); 4] = [
    ("Harrowgate Matchplay", darts::Format { sets_to_win: 0, legs_to_win: 8 }, "major"),
    ("Tungsten Tour", darts::Format { sets_to_win: 0, legs_to_win: 6 }, "tour"),
    ("Oche Grand Prix", darts::Format { sets_to_win: 3, legs_to_win: 3 }, "major"),
    ("Midwinter Championship", darts::Format { sets_to_win: 4, legs_to_win: 3 }, "major"),
];

const COURSES: [&str; 6] =
    ["Ashgrove Downs", "Millbrook Vale", "Stonewick", "Larkham Park", "Penmarrow", "Eastfold"];

const RACES: [(&str, bool); 8] = [
    ("Maiden Stakes", false),
    ("Handicap", false),
    ("Novices' Hurdle", true),
    ("Handicap Chase", true),
    ("Conditions Stakes", false),
    ("Selling Stakes", false),
    ("Juvenile Hurdle", true),
    ("Mile", false),
];

const HORSE_ENDS: [&str; 6] = ["a", "en", "is", "ora", "ul", "ette"];
const HORSE_NOUNS: [&str; 24] = [
    "Lantern", "Parade", "Tempest", "Whisper", "Fable", "Compass", "Harvest", "Signal", "Meadow",
    "Verdict", "Anthem", "Ferry", "Orchard", "Marble", "Cascade", "Bramble", "Errand", "Saffron",
    "Quarry", "Ribbon", "Tinder", "Voyage", "Willow", "Zephyr",
];

/// Leagues of each of hockey, basketball and CS2.
pub(crate) const LEAGUES_OF_OTHERS: usize = 9;
pub(crate) const DARTS_COUNT: usize = DARTS.len();
pub(crate) const TEAMS_OF_OTHERS: usize = TOWNS.len();
pub(crate) const DARTS_FIELD: usize = 40;
pub(crate) const COURSE_COUNT: usize = COURSES.len();
pub(crate) const HORSE_COUNT: usize = SURNAME_HEADS.len() * HORSE_ENDS.len() * HORSE_NOUNS.len();
pub(crate) const JOCKEY_COUNT: usize = 96;

pub(crate) fn hockey_league(league: usize) -> Competition {
    competition(HOCKEY[league].0)
}

pub(crate) fn hockey_team(league: usize, team: usize) -> Participant {
    let club = HOCKEY_CLUBS[(team + league * 2) % HOCKEY_CLUBS.len()];
    club_of("hockey team", &format!("{}{} {club}", TOWNS[team], HOCKEY[league].1))
}

/// A league and the seconds of its quarters.
pub(crate) fn basketball_league(league: usize) -> (Competition, u32) {
    let (name, _, quarter_s) = BASKETBALL[league];
    (competition(name), quarter_s)
}

pub(crate) fn basketball_team(league: usize, team: usize) -> Participant {
    let club = BASKETBALL_CLUBS[(team + league * 2) % BASKETBALL_CLUBS.len()];
    club_of("basketball team", &format!("{}{} {club}", TOWNS[team], BASKETBALL[league].1))
}

pub(crate) fn cs2_tournament(tournament: usize) -> Competition {
    competition(CS2[tournament])
}

pub(crate) fn cs2_team(tournament: usize, team: usize) -> Participant {
    let club = CS2_CLUBS[(team + tournament) % CS2_CLUBS.len()];
    club_of("csgo team", &format!("{} {club}", TOWNS[team]))
}

/// A tournament, how it is played, and its category.
pub(crate) fn darts_tournament(tournament: usize) -> (Competition, darts::Format, &'static str) {
    let (name, format, category) = DARTS[tournament];
    (competition(name), format, category)
}

pub(crate) fn darts_player(tournament: usize, player: usize) -> Participant {
    let number = tournament * DARTS_FIELD + player;
    let name = person(number * 7 + 3, number + 97);
    Participant { id: Id::derive(PROVIDER, "darts player", &name), name: name.into() }
}

pub(crate) fn course(course: usize) -> Competition {
    competition(COURSES[course])
}

/// What a race is called, and whether it is over jumps.
pub(crate) fn race(sponsor: usize, kind: usize) -> (Arc<str>, bool) {
    let (name, jumps) = RACES[kind % RACES.len()];
    (format!("{} {name}", placed(sponsor)).into(), jumps)
}

pub(crate) fn horse(number: usize) -> Participant {
    let head = SURNAME_HEADS[number % SURNAME_HEADS.len()];
    let rest = number / SURNAME_HEADS.len();
    let end = HORSE_ENDS[rest % HORSE_ENDS.len()];
    let noun = HORSE_NOUNS[rest / HORSE_ENDS.len() % HORSE_NOUNS.len()];
    let name = format!("{head}{end} {noun}");
    Participant { id: Id::derive(PROVIDER, "horse", &name), name: name.into() }
}

pub(crate) fn jockey(number: usize) -> Arc<str> {
    person(number * 11 + 5, number * 3 + 1).into()
}

fn club_of(kind: &str, name: &str) -> Participant {
    Participant { id: Id::derive(PROVIDER, kind, name), name: name.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn participants_of_a_sport_have_unique_names() {
        let all = |participant: fn(usize, usize) -> Participant, leagues: usize, members: usize| {
            let all = (0..leagues).flat_map(|l| (0..members).map(move |m| participant(l, m)));
            all.map(|it| it.id).collect::<BTreeSet<_>>().len()
        };
        for team in [hockey_team, basketball_team, cs2_team] {
            assert_eq!(all(team, LEAGUES_OF_OTHERS, TEAMS_OF_OTHERS), 198);
        }
        assert_eq!(all(darts_player, DARTS_COUNT, DARTS_FIELD), 160);
        let horses: BTreeSet<_> = (0..HORSE_COUNT).map(|number| horse(number).id).collect();
        assert_eq!(horses.len(), HORSE_COUNT);
        let jockeys: BTreeSet<_> = (0..JOCKEY_COUNT).map(jockey).collect();
        assert_eq!(jockeys.len(), JOCKEY_COUNT);
    }
}
