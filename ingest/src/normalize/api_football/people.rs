//! Changed match details, line-ups and players' statistics of an image.

use std::{collections::BTreeMap, sync::Arc};

use facts::event::{
    About, Analysis, Class, FootballFact, Id, LineUp, LineUpPlayer, Pair, Participant,
    PlayerPosition, PlayerRating, PlayerStat, Side, Venue,
};

use super::{PROVIDER, image::player};
use crate::decode::api_football::{
    ApiFootballFixture, NamedEntity, PlayerStatistics, Sheet, SheetPlayer,
};

/// The reported state of the people of a match.
#[derive(Debug, Default)]
pub(super) struct People {
    about: About,
    line_ups: Pair<Option<LineUp>>,
    counts: BTreeMap<(Id, PlayerStat), u32>,
    ratings: BTreeMap<Id, u16>,
}

impl People {
    /// What an image says of the match apart from its fixture, if that is new.
    pub(super) fn about(&mut self, image: &ApiFootballFixture) -> Option<About> {
        let mut about = about(image);
        // A list of a day's fixtures knows nothing of the coaches.
        about.fill_from(&self.about);
        let new = about != self.about;
        self.about = about;
        new.then(|| self.about.clone())
    }

    pub(super) fn line_ups(&mut self, image: &ApiFootballFixture) -> Vec<FootballFact> {
        let mut facts = Vec::new();
        for sheet in &image.line_ups {
            let Some(side) = side(image, &sheet.team) else { continue };
            let mut line_up = line_up(sheet, &image.players);
            let last = &mut self.line_ups[side.index()];
            // Only the statistics of the team's players say who is captain.
            let unknown = !image.players.iter().any(|player| player.team == sheet.team);
            if let (true, Some(last)) = (unknown, &last) {
                let captains = last.players.iter().filter(|it| it.captain);
                let captains: Vec<_> = captains.map(|it| it.player.id).collect();
                for player in &mut line_up.players {
                    player.captain = captains.contains(&player.player.id);
                }
            }
            if !line_up.players.is_empty() && last.as_ref() != Some(&line_up) {
                *last = Some(line_up.clone());
                facts.push(FootballFact::LineUp { side, line_up });
            }
        }
        facts
    }

    pub(super) fn statistics(&mut self, image: &ApiFootballFixture) -> Vec<FootballFact> {
        let mut facts = Vec::new();
        for statistics in &image.players {
            let Some(side) = side(image, &statistics.team) else { continue };
            let player = player(&statistics.player);
            let mut values = counts(statistics);
            values.retain(|(stat, n)| self.counts.insert((player.id, *stat), *n) != Some(*n));
            if !values.is_empty() {
                facts.push(FootballFact::PlayerStats { side, player, values });
            }
        }
        facts.extend(self.ratings(image));
        facts
    }

    fn ratings(&mut self, image: &ApiFootballFixture) -> Vec<FootballFact> {
        let mut changed: Pair<Vec<PlayerRating>> = Pair::default();
        for statistics in &image.players {
            let Some(side) = side(image, &statistics.team) else { continue };
            let Some(rating) = statistics.rating else { continue };
            let player = player(&statistics.player);
            if self.ratings.insert(player.id, rating) != Some(rating) {
                changed[side.index()].push(PlayerRating { player, rating });
            }
        }
        let ratings =
            Side::BOTH.into_iter().zip(changed).filter(|(_, players)| !players.is_empty());
        ratings
            .map(|(side, players)| FootballFact::Analysis(Analysis::Ratings { side, players }))
            .collect()
    }
}

fn side(image: &ApiFootballFixture, team: &Arc<str>) -> Option<Side> {
    let is = |side: &Side| image.teams[side.index()].id.as_ref() == Some(team);
    Side::BOTH.into_iter().find(is)
}

fn person(kind: &str, named: &NamedEntity) -> Participant {
    let key = named.id.as_ref().map_or_else(|| format!("name {}", named.name), ToString::to_string);
    Participant { id: Id::derive(PROVIDER, kind, &key), name: named.name.clone() }
}

fn about(image: &ApiFootballFixture) -> About {
    let round = image.league.as_ref().and_then(|league| league.round.as_deref());
    let (stage, number) = round.map_or((None, None), numbered);
    let country = image.league.as_ref().and_then(|league| league.country.as_deref());
    let coach = |wanted: Side| {
        let mut sheets = image.line_ups.iter();
        let sheet = sheets.find(|sheet| side(image, &sheet.team) == Some(wanted))?;
        sheet.coach.as_ref().map(|coach| person("manager", coach))
    };
    let venue = image.venue.as_ref().map(|venue| {
        let named = NamedEntity { id: venue.id.clone(), name: venue.name.clone() };
        let Participant { id, name } = person("venue", &named);
        Venue { id, name, city: venue.city.clone() }
    });
    let [home_coach, away_coach] = Side::BOTH.map(coach);
    About {
        round: number,
        round_name: round.map(Into::into),
        group: stage.filter(|stage| stage.starts_with("Group ")).map(Into::into),
        country: Class::in_country(country).country,
        venue,
        // The provider gives no id, and writes the country behind the name now and then.
        referee: image.referee.as_ref().map(|name| {
            let name: Arc<str> = name.split(',').next().unwrap_or(name).trim().into();
            person("referee", &NamedEntity { id: None, name })
        }),
        home_coach,
        away_coach,
        ..About::default()
    }
}

/// `Regular Season - 27` is a stage and a number; `Round of 16` is a stage.
fn numbered(round: &str) -> (Option<&str>, Option<u16>) {
    let parts = round.rsplit_once(" - ").and_then(|(stage, number)| {
        let number = number.parse().ok().filter(|number| *number > 0)?;
        Some((Some(stage), Some(number)))
    });
    parts.unwrap_or((Some(round), None))
}

fn line_up(sheet: &Sheet, statistics: &[PlayerStatistics]) -> LineUp {
    let captain = |listed: &SheetPlayer| {
        let mut entries = statistics.iter().filter(|one| one.player.id == listed.player.id);
        listed.player.id.is_some() && entries.any(|one| one.captain == Some(true))
    };
    let player = |it: &SheetPlayer| LineUpPlayer {
        player: player(&it.player),
        number: it.number,
        position: it.position.as_deref().and_then(position),
        country: None,
        starter: it.starter,
        captain: captain(it),
    };
    LineUp {
        formation: sheet.formation.clone(),
        players: sheet.players.iter().map(player).collect(),
    }
}

fn position(letter: &str) -> Option<PlayerPosition> {
    Some(match letter {
        "G" => PlayerPosition::Goalkeeper,
        "D" => PlayerPosition::Defender,
        "M" => PlayerPosition::Midfielder,
        "F" => PlayerPosition::Forward,
        _ => return None,
    })
}

/// `passes.accuracy` is the number of completed passes, despite its name. Duels lost are those
/// that were not won.
fn counts(statistics: &PlayerStatistics) -> Vec<(PlayerStat, u32)> {
    let mut values: Vec<_> = statistics
        .counts
        .iter()
        .filter_map(|(group, name, value)| Some((stat(group, name)?, *value)))
        .collect();
    let value = |group: &str, name: &str| {
        let mut counts = statistics.counts.iter();
        counts.find(|it| (it.0, it.1) == (group, name)).map(|it| it.2)
    };
    if let Some((total, won)) = value("duels", "total").zip(value("duels", "won")) {
        values.extend(total.checked_sub(won).map(|lost| (PlayerStat::DuelsLost, lost)));
    }
    values.sort_unstable();
    values
}

fn stat(group: &str, name: &str) -> Option<PlayerStat> {
    Some(match (group, name) {
        ("games", "minutes") => PlayerStat::MinutesPlayed,
        ("shots", "total") => PlayerStat::TotalShots,
        ("shots", "on") => PlayerStat::ShotsOnTarget,
        ("goals", "total") => PlayerStat::Goals,
        ("goals", "conceded") => PlayerStat::GoalsConceded,
        ("goals", "assists") => PlayerStat::Assists,
        ("goals", "saves") => PlayerStat::Saves,
        ("passes", "total") => PlayerStat::TotalPasses,
        ("passes", "key") => PlayerStat::KeyPasses,
        ("passes", "accuracy") => PlayerStat::AccuratePasses,
        ("tackles", "total") => PlayerStat::Tackles,
        ("tackles", "interceptions") => PlayerStat::Interceptions,
        ("duels", "won") => PlayerStat::DuelsWon,
        ("dribbles", "attempts") => PlayerStat::Dribbles,
        ("dribbles", "success") => PlayerStat::DribblesWon,
        ("fouls", "drawn") => PlayerStat::WasFouled,
        ("fouls", "committed") => PlayerStat::Fouls,
        ("cards", "yellow") => PlayerStat::YellowCards,
        ("cards", "red") => PlayerStat::RedCards,
        _ => return None,
    })
}
