//! The clubs of several sports, and who runs.

use std::sync::Arc;

use facts::event::{Competition, Id, Participant};

use super::{PROVIDER, SURNAME_HEADS, TOWNS, competition, person, placed};

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
pub(crate) const TEAMS_OF_OTHERS: usize = TOWNS.len();
pub(crate) const COURSE_COUNT: usize = COURSES.len();
pub(crate) const HORSE_COUNT: usize = SURNAME_HEADS.len() * HORSE_ENDS.len() * HORSE_NOUNS.len();
pub(crate) const JOCKEY_COUNT: usize = 96;

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

/// A side of a kind, by its name.
pub(crate) fn side_of(kind: &str, name: &str) -> Participant {
    Participant { id: Id::derive(PROVIDER, kind, name), name: name.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{basketball, cs2, darts, hockey};

    #[test]
    fn participants_of_a_sport_have_unique_names() {
        let all = |participant: fn(usize, usize) -> Participant, leagues: usize, members: usize| {
            let all = (0..leagues).flat_map(|l| (0..members).map(move |m| participant(l, m)));
            all.map(|it| it.id).collect::<BTreeSet<_>>().len()
        };
        for team in [hockey::team, basketball::team, cs2::team] {
            assert_eq!(all(team, LEAGUES_OF_OTHERS, TEAMS_OF_OTHERS), 198);
        }
        assert_eq!(all(darts::player, darts::TOURNAMENTS.len(), darts::FIELD), 160);
        let horses: BTreeSet<_> = (0..HORSE_COUNT).map(|number| horse(number).id).collect();
        assert_eq!(horses.len(), HORSE_COUNT);
        let jockeys: BTreeSet<_> = (0..JOCKEY_COUNT).map(jockey).collect();
        assert_eq!(jockeys.len(), JOCKEY_COUNT);
    }
}
