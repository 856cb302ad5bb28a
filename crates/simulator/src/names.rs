//! Who plays: leagues, teams, tournaments and players, all made up.
//!
//! Names are composed of syllables and are fictitious. Ids are derived from the name alone, so a
//! team and its players are the same ones on every day and with every seed.

use std::sync::Arc;

use facts::{
    event::{Competition, Id, Participant},
    tennis::{FinalSet, MatchFormat},
};

use super::dice::Dice;

mod others;

pub(super) use self::others::{
    COURSE_COUNT, HORSE_COUNT, JOCKEY_COUNT, LEAGUES_OF_OTHERS, TEAMS_OF_OTHERS, course, horse,
    jockey, race, side_of,
};

pub(super) const PROVIDER: &str = "simulator";

/// Leagues by name, each with the ending of its towns.
const LEAGUES: [(&str, &str); 18] = [
    ("Northmark First Division", "wick"),
    ("Holmland Premier", "holm"),
    ("Sundstad Elite", "stad"),
    ("Liga Marenova", "enova"),
    ("Meredon League One", "mere"),
    ("Primeira Portagem", "porto"),
    ("Gatewater Championship", "gate"),
    ("Division Valmont", "ville"),
    ("Havenmark League", "haven"),
    ("Dalarsk Cup Series", "dal"),
    ("Burgmark Oberliga", "burg"),
    ("Fordland Premier", "ford"),
    ("Minster Conference", "minster"),
    ("Nordvik Division", "vik"),
    ("Alpenbruck Liga", "bruck"),
    ("Sundmark Series", "sund"),
    ("Croftland League One", "croft"),
    ("Polisara Super League", "polis"),
];

/// The country of each league: ISO 3166-1 alpha-2, or the name of one that has none.
const LEAGUE_COUNTRIES: [&str; LEAGUES.len()] = [
    "England", "DK", "SE", "ES", "IE", "PT", "NL", "FR", "DE", "NO", "AT", "CA", "BE", "IS", "CH",
    "FI", "AU", "GR",
];

/// Where players are from whose league has no country, and some whose league has one.
const COUNTRIES: [&str; 16] = [
    "AR", "AT", "BE", "BR", "CH", "CZ", "DE", "ES", "FR", "GB", "HR", "IT", "NL", "PL", "SE", "US",
];

pub(super) const TOWNS: [&str; 22] = [
    "Arven", "Brask", "Corvel", "Dunmor", "Eskel", "Farrow", "Grent", "Hollin", "Istal", "Jorv",
    "Kesk", "Lorram", "Marrow", "Nask", "Orlen", "Pravic", "Quarr", "Rusk", "Selvan", "Torrem",
    "Ulver", "Vannic",
];

const CLUBS: [&str; 11] = [
    "United",
    "City",
    "Rovers",
    "Athletic",
    "Town",
    "Wanderers",
    "Albion",
    "Sporting",
    "Union",
    "Racing",
    "Olympic",
];

/// Tournaments and how their matches are played.
const TOURNAMENTS: [(&str, MatchFormat); 6] = [
    ("Arvenholm Open", MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreak }),
    ("Lakeside Masters Corvel", MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreak }),
    ("Quarrmere Indoors", MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreakTo10 }),
    ("Selvan Clay Classic", MatchFormat { sets_to_win: 2, final_set: FinalSet::TieBreak }),
    ("Old Garden Trophy", MatchFormat { sets_to_win: 2, final_set: FinalSet::Advantage }),
    ("Grand Meridian", MatchFormat { sets_to_win: 3, final_set: FinalSet::TieBreakTo10 }),
];

/// The surface and the category of each tournament.
const COURTS: [(&str, &str); TOURNAMENTS.len()] = [
    ("hard", "atp_500"),
    ("hard", "masters_1000"),
    ("carpet", "atp_250"),
    ("clay", "atp_500"),
    ("grass", "atp_250"),
    ("hard", "grand_slam"),
];

const GIVEN: [&str; 24] = [
    "Adan", "Bero", "Cael", "Davor", "Elio", "Faris", "Goran", "Hugo", "Ilmar", "Jarek", "Kaito",
    "Leif", "Mateo", "Nils", "Oren", "Pavle", "Quim", "Rafe", "Sorin", "Tavi", "Ugo", "Viggo",
    "Wim", "Yaro",
];

const SURNAME_HEADS: [&str; 24] = [
    "Alm", "Bresk", "Cald", "Drov", "Ebb", "Fenk", "Galt", "Harv", "Ister", "Jask", "Kolv", "Lund",
    "Morr", "Navr", "Ostr", "Pell", "Quist", "Rond", "Sand", "Tolm", "Urb", "Varg", "Wend", "Zell",
];

const SURNAME_TAILS: [&str; 12] =
    ["ano", "berg", "aric", "enko", "ez", "ida", "ington", "ovic", "qvist", "sen", "ulis", "wen"];

const SURNAMES: usize = SURNAME_HEADS.len() * SURNAME_TAILS.len();

pub(super) const LEAGUE_COUNT: usize = LEAGUES.len();
pub(super) const TEAMS_PER_LEAGUE: usize = TOWNS.len();
pub(super) const TOURNAMENT_COUNT: usize = TOURNAMENTS.len();
/// Six fields of 40 use 240 of the 288 surnames, so that no two players share one.
pub(super) const PLAYERS_PER_TOURNAMENT: usize = 40;

/// Players of a squad: a team names eleven of them and nine for the bench.
pub(super) const SQUAD: usize = 20;

pub(super) fn league(league: usize) -> Competition {
    competition(LEAGUES[league].0)
}

pub(super) fn team(league: usize, team: usize) -> Participant {
    let (town, ending) = (TOWNS[team], LEAGUES[league].1);
    let club = CLUBS[(team + league * 3) % CLUBS.len()];
    let name = format!("{town}{ending} {club}");
    Participant { id: Id::derive(PROVIDER, "team", &name), name: name.into() }
}

pub(super) fn tournament(tournament: usize) -> (Competition, MatchFormat) {
    let (name, format) = TOURNAMENTS[tournament];
    (competition(name), format)
}

pub(super) fn tennis_player(tournament: usize, player: usize) -> Participant {
    let number = tournament * PLAYERS_PER_TOURNAMENT + player;
    let name = person(number * 5, number);
    Participant { id: Id::derive(PROVIDER, "player", &name), name: name.into() }
}

/// The surface of a tournament and its category.
pub(super) fn court(tournament: usize) -> (&'static str, &'static str) {
    COURTS[tournament]
}

/// An official of a sport: a referee or a coach.
pub(super) fn official(office: &str, scope: &str, number: usize) -> Participant {
    let name = person(number * 17 + 9, number * 19 + 3);
    let key = format!("{scope}/{name}");
    Participant { id: Id::derive(PROVIDER, office, &key), name: name.into() }
}

/// A place that gives its name to something.
pub(super) fn placed(number: usize) -> String {
    format!("{}{}", TOWNS[number % TOWNS.len()], LEAGUES[number / TOWNS.len() % LEAGUES.len()].1)
}

/// The squad of a team: always the same people for the same team.
pub(super) fn squad(team: &Participant) -> Vec<Participant> {
    let mut dice = Dice::new(team.id.0, 0);
    let first = dice.between(0, SURNAMES as u32 - 1) as usize;
    (0..SQUAD)
        .map(|number| {
            let given = dice.between(0, GIVEN.len() as u32 - 1) as usize;
            // 13 shares no factor with the number of surnames: no two players of a squad share one.
            footballer(team, &person(given, first + number * 13))
        })
        .collect()
}

/// The country of a competition: of a league its own, of any other one that stays the same.
pub(super) fn country(competition: &Competition) -> &'static str {
    let league = LEAGUES.iter().position(|(name, _)| *name == &*competition.name);
    league.map_or_else(|| of_id(competition.id), |league| LEAGUE_COUNTRIES[league])
}

/// The country of a team: that of its league.
pub(super) fn country_of_team(team: &Participant) -> &'static str {
    let town = team.name.split(' ').next().unwrap_or_default();
    let league = LEAGUES.iter().position(|(_, ending)| town.ends_with(ending));
    league.map_or_else(|| of_id(team.id), |league| LEAGUE_COUNTRIES[league])
}

/// The nationality of a player of a team: three of four are from its country.
pub(super) fn nationality(player: &Participant, of_team: &'static str) -> &'static str {
    if player.id.0.is_multiple_of(4) { of_id(player.id) } else { of_team }
}

/// The country of an individual player.
pub(super) fn country_of_player(player: &Participant) -> &'static str {
    of_id(player.id)
}

fn of_id(id: Id) -> &'static str {
    COUNTRIES[(id.0 >> 5) as usize % COUNTRIES.len()]
}

/// How good a participant is at one thing, from -1 up to 1: a digit of the id, thus for ever.
pub(super) fn skill(participant: &Participant, thing: u32) -> f64 {
    let byte = (participant.id.0 >> (8 * thing)) & 0xff;
    byte as f64 / 128.0 - 1.0
}

fn footballer(team: &Participant, name: &str) -> Participant {
    let key = format!("{}/{name}", team.name);
    Participant { id: Id::derive(PROVIDER, "player", &key), name: name.into() }
}

pub(super) fn person(given: usize, surname: usize) -> String {
    let surname = surname % SURNAMES;
    let head = SURNAME_HEADS[surname % SURNAME_HEADS.len()];
    let tail = SURNAME_TAILS[surname / SURNAME_HEADS.len()];
    format!("{} {head}{tail}", GIVEN[given % GIVEN.len()])
}

pub(super) fn competition(name: &str) -> Competition {
    Competition {
        id: Id::derive(PROVIDER, "competition", name),
        name: Arc::from(name),
        season: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn opponents_have_unique_names() {
        let teams = (0..LEAGUE_COUNT).flat_map(|l| (0..TEAMS_PER_LEAGUE).map(move |t| team(l, t)));
        assert_eq!(teams.map(|team| team.name).collect::<BTreeSet<_>>().len(), 396);
        let players = (0..TOURNAMENT_COUNT)
            .flat_map(|t| (0..PLAYERS_PER_TOURNAMENT).map(move |p| tennis_player(t, p)));
        assert_eq!(players.map(|player| player.id).collect::<BTreeSet<_>>().len(), 240);
    }

    #[test]
    fn squad_is_the_same_every_time_and_has_no_namesakes() {
        let squad = squad(&team(3, 5));
        assert_eq!(squad, super::squad(&team(3, 5)));
        assert_eq!(squad.iter().map(|p| &p.name).collect::<BTreeSet<_>>().len(), SQUAD);
    }
}
