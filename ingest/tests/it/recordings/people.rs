//! The players of the shared football recordings, what each of them did, and other details.

use std::collections::BTreeMap;

use facts::{
    event::{About, Fact, FootballFact, LineUp, Pair, PlayerStat, Side, Stat, Timed},
    line::LineWriter,
};
use ingest::normalize::events::Interpreter;
use serde_json::Value;

use super::{
    facts,
    football::{incidents, last_stat},
    recording,
};

const EVENT_BY_EVENT: [&str; 6] = [
    "statsbomb/15986.events.json.gz",
    "statsbomb/3788741.events.json.gz",
    "statsperform/hsv-svs-2021-09-11.ma3.json.gz",
    "wyscout/2058009.events.json.gz",
    "wyscout/2058017.events.json.gz",
    "wyscout/2516847.events.json.gz",
];

/// The content of the last facts.
#[derive(Default)]
struct People {
    about: About,
    line_ups: Pair<LineUp>,
    /// By side and name.
    counts: BTreeMap<(Side, String), BTreeMap<PlayerStat, u32>>,
}

impl People {
    fn from_batches(batches: &[Timed]) -> Self {
        let mut people = Self::default();
        for fact in facts(batches) {
            match fact {
                Fact::About(about) => people.about = (**about).clone(),
                Fact::Football(FootballFact::LineUp { side, line_up }) => {
                    people.line_ups[side.index()] = line_up.clone();
                }
                Fact::Football(FootballFact::PlayerStats { side, player, values }) => {
                    let counts = people.counts.entry((*side, player.name.to_string()));
                    counts.or_default().extend(values.iter().copied());
                }
                _ => {}
            }
        }
        people
    }

    fn sum(&self, side: Side, stat: PlayerStat) -> u32 {
        let counts = self.counts.iter().filter(|((counted, _), _)| *counted == side);
        counts.filter_map(|(_, counts)| counts.get(&stat)).sum()
    }

    fn sizes(&self) -> Pair<(usize, usize)> {
        self.line_ups.each_ref().map(|line_up| {
            let starters = line_up.players.iter().filter(|it| it.starter).count();
            (starters, line_up.players.len() - starters)
        })
    }
}

#[test]
fn players_of_a_side_add_up_to_what_the_side_did() {
    for file in EVENT_BY_EVENT {
        let Some((batches, _)) = recording(file) else { return };
        let people = People::from_batches(&batches);
        for side in Side::BOTH {
            for (stat, of_players) in [
                (Stat::TotalShots, PlayerStat::TotalShots),
                (Stat::ShotsOnTarget, PlayerStat::ShotsOnTarget),
                (Stat::Passes, PlayerStat::TotalPasses),
                (Stat::AccuratePasses, PlayerStat::AccuratePasses),
                (Stat::Fouls, PlayerStat::Fouls),
                (Stat::Saves, PlayerStat::Saves),
            ] {
                let total = last_stat(&batches, side, stat).unwrap_or(0);
                assert_eq!(people.sum(side, of_players), total, "{stat:?} of {side:?} in {file}");
            }
        }
    }
}

#[test]
fn eleven_players_are_on_the_pitch_until_a_red_card() {
    for file in EVENT_BY_EVENT {
        let Some((batches, sheet)) = recording(file) else { return };
        let people = People::from_batches(&batches);
        let length = if file.contains("2058009") { 120 } else { 90 };
        for side in Side::BOTH {
            let red = last_stat(&batches, side, Stat::RedCards).unwrap_or(0);
            let minutes = people.sum(side, PlayerStat::MinutesPlayed);
            if red == 0 {
                assert_eq!(minutes, 11 * length, "minutes of {side:?} in {file}");
            } else {
                let least = (11 - red) * length;
                assert!((least..11 * length).contains(&minutes), "{minutes} of {side:?} in {file}");
            }
        }
        let goals = sheet["goals"].as_array().expect("goals");
        let own_goals = goals.iter().filter(|goal| goal["own_goal"] == true).count();
        let scored: u32 = Side::BOTH.map(|side| people.sum(side, PlayerStat::Goals)).iter().sum();
        assert_eq!(scored as usize, goals.len() - own_goals, "goals in {file}");
    }
}

#[test]
fn line_ups_are_as_long_as_the_answer_sheets_say() {
    for file in ["statsbomb/15986", "statsbomb/3788741"] {
        let Some((batches, _)) = recording(&format!("{file}.events.json.gz")) else { return };
        let (_, sheet) = recording_sheet(&format!("{file}.lineups.json"));
        let people = People::from_batches(&batches);
        let sides = super::fixture(&batches).sides.as_ref().expect("two sides");
        for side in Side::BOTH {
            let name = &*sides[side.index()].name;
            let mut teams = sheet["teams"].as_array().expect("teams").iter();
            let team = teams.find(|team| team["team"] == name).expect("its sheet");
            let (starters, bench) = people.sizes()[side.index()];
            assert_eq!(starters, 11, "{name} in {file}");
            assert_eq!(Some((starters + bench) as u64), team["players"].as_u64(), "{name}");
        }
    }
    let Some((batches, _)) = recording(EVENT_BY_EVENT[0]) else { return };
    let formations =
        People::from_batches(&batches).line_ups.map(|it| it.formation.map(|it| it.to_string()));
    assert_eq!(formations, [Some("4-1-2-2-1".to_owned()), Some("3-2-3-2".to_owned())]);
}

fn recording_sheet(file: &str) -> (String, Value) {
    let path = format!("{}/expected/{}", super::FEEDS, file.replace('/', "__"));
    let sheet = std::fs::read(&path).expect("an answer sheet");
    (path, serde_json::from_slice(&sheet).expect("JSON"))
}

/// Each substitute was on the bench, and each substituted player was on the pitch.
#[test]
fn substitutes_were_on_the_bench() {
    for file in EVENT_BY_EVENT {
        let Some((batches, _)) = recording(file) else { return };
        let people = People::from_batches(&batches);
        for (_, incident) in incidents(&batches) {
            let facts::event::IncidentKind::Substitution = incident.kind else { continue };
            let side = incident.side.expect("a side");
            let on = incident.assist.as_ref().expect("who comes on");
            let players = &people.line_ups[side.index()].players;
            let starter = players.iter().find(|it| it.player.id == on.id);
            assert_eq!(starter.map(|it| it.starter), Some(false), "{} in {file}", on.name);
        }
    }
}

#[test]
fn match_details_equal_those_of_the_documents() {
    let Some((batches, _)) = recording(EVENT_BY_EVENT[2]) else { return };
    let about = People::from_batches(&batches).about;
    let coaches = about.coaches().map(|it| it.map(|it| it.name.to_string()));
    let About { round, country, venue, referee, attendance, neutral, .. } = about;
    assert_eq!((round, country.as_deref()), (Some(6), Some("Germany")));
    assert_eq!(venue.map(|it| it.name).as_deref(), Some("Volksparkstadion"));
    assert_eq!(referee.map(|it| it.name).as_deref(), Some("Bastian Dankert"));
    let expected = ["Tim Walter", "Gerhard Kleppinger"].map(|name| Some(name.to_owned()));
    assert_eq!((coaches, attendance, neutral), (expected, Some(19_950), Some(false)));

    let Some((batches, _)) = recording("wyscout/2516847.events.json.gz") else { return };
    let About { round, venue, referee, .. } = People::from_batches(&batches).about;
    assert_eq!(venue.map(|it| it.name).as_deref(), Some("Signal-Iduna-Park"));
    assert_eq!((round, referee), (Some(13), None));
}

#[test]
fn summary_and_events_have_the_same_line_ups() {
    let Some((events, _)) = recording(EVENT_BY_EVENT[2]) else { return };
    let (summary, _) = recording("statsperform/hsv-svs-2021-09-11.ma1.json.gz").expect("it");
    let (events, summary) = (People::from_batches(&events), People::from_batches(&summary));
    assert_eq!(events.line_ups, summary.line_ups);
    assert_eq!(events.about, summary.about);
    let captains = summary.line_ups.map(|line_up| {
        let mut players = line_up.players.into_iter();
        players.find(|it| it.captain).map(|it| it.player.name.to_string())
    });
    assert_eq!(captains, ["S. Schonlau", "A. Zhirov"].map(|name| Some(name.to_owned())));
}

#[test]
fn responses_emit_line_ups_and_players_once() {
    let Some((batches, sheet)) = recording("api-football/fixtures-cl-penalties.json") else {
        return;
    };
    assert_eq!(sheet["fixtures"][0]["round"], "Round of 16");
    let people = People::from_batches(&batches[..1]);
    assert_eq!(people.about.round_name.as_deref(), Some("Round of 16"));
    assert_eq!((people.about.round, people.about.country.clone()), (None, None));
    assert_eq!(people.line_ups[0].formation.as_deref(), Some("3-5-2"));
    assert_eq!(people.sizes()[0].0, 11);
    assert!(people.counts.len() > 22, "{} players", people.counts.len());
}

/// Facts about people survive writing and parsing Matchwire's own lines.
#[test]
fn event_lines_preserve_all_facts() {
    for file in EVENT_BY_EVENT.into_iter().chain(["api-football/fixtures-cl-penalties.json"]) {
        let Some((batches, _)) = recording(file) else { return };
        let mut lines = LineWriter::default();
        let mut interpreter = Interpreter::new("other".into()).of_all_matches();
        let written = batches.iter().map(|timed| {
            let line = lines.timed(timed);
            interpreter.line(line.as_bytes(), 0).unwrap_or_else(|e| panic!("{e}: {line}")).timed
        });
        let written: Vec<_> = written.collect();
        let of_people = |batches: &[Timed]| {
            let of_people = facts(batches).filter(|fact| {
                matches!(
                    fact,
                    Fact::About(_)
                        | Fact::Football(
                            FootballFact::LineUp { .. } | FootballFact::PlayerStats { .. }
                        )
                )
            });
            of_people.cloned().collect::<Vec<_>>()
        };
        assert_eq!(of_people(&written), of_people(&batches), "{file}");
    }
}
