//! The details of a match: round, ground, referee, coaches.

use std::sync::Arc;

use facts::event::{About, Id, Pair, Venue, Weather};

use super::{
    names,
    programme::{Entry, GameKind},
    scoreboard_sport::Setting,
};

/// Referees of a sport.
const REFEREES: usize = 24;

/// Courts and stages of a tournament.
const COURTS: usize = 8;

impl Entry {
    pub(super) fn about(&self) -> About {
        let [home_country, away_country] = self.side_countries();
        let mut about = About {
            round: Some(self.round),
            venue: self.venue(),
            referee: self.referee(),
            country: Some(names::country(&self.competition).into()),
            home_country,
            away_country,
            weather: self.weather(),
            ..About::default()
        };
        match &self.game {
            GameKind::Football => self.in_league(&mut about),
            GameKind::Scoreboard(game) => match game.setting {
                Setting::League { .. } => self.in_league(&mut about),
                Setting::Tournament { category, best_of, .. } => {
                    about.category = category.map(Into::into);
                    about.best_of = Some(best_of);
                }
            },
            GameKind::Tennis(format, tournament) => {
                let (surface, category) = names::court(*tournament);
                about.surface = Some(surface.into());
                about.category = Some(category.into());
                about.best_of = Some(format.sets_to_win * 2 - 1);
            }
            GameKind::Race(card) => {
                about.round_name = Some(Arc::clone(&card.name));
                about.category = Some(if card.jumps { "jumps" } else { "flat" }.into());
                about.surface = Some("turf".into());
            }
        }
        about
    }

    /// Teams of a league have coaches, and one of them is at home.
    fn in_league(&self, about: &mut About) {
        [about.home_coach, about.away_coach] = [0, 1].map(|side: usize| {
            let team = &self.sides.as_ref()?[side];
            Some(names::official("coach", &team.name, team.id.0 as usize % 9973))
        });
        about.neutral = Some(false);
    }

    fn side_countries(&self) -> Pair<Option<Arc<str>>> {
        let of_players = self.sport().is_of_players();
        [0, 1].map(|side: usize| {
            let side = &self.sides.as_ref()?[side];
            let country = if of_players {
                names::country_of_player(side)
            } else {
                names::country_of_team(side)
            };
            Some(country.into())
        })
    }

    /// The weather of a ground under the sky.
    fn weather(&self) -> Option<Weather> {
        let outdoors = matches!(self.game, GameKind::Football | GameKind::Race(_));
        let digits = self.id.0 >> 7;
        outdoors.then(|| {
            let code = [1, 1, 2, 2, 3, 3, 5, 6][(digits % 8) as usize];
            let wind_speed = (digits / 8 % 11) as u8;
            Weather { code, wind_speed, temperature_c: (digits / 88 % 19) as i8 + 3 }
        })
    }

    fn venue(&self) -> Option<Venue> {
        let court = self.id.0 as usize % COURTS + 1;
        let competition = &self.competition.name;
        let of_home = |kind| Some(ground(&self.sides.as_ref()?[0].name, kind));
        let (name, city) = match &self.game {
            GameKind::Football => of_home("Park")?,
            GameKind::Tennis(..) => (format!("{competition} Court {court}"), None),
            GameKind::Scoreboard(game) => match game.setting {
                Setting::League { ground } => of_home(ground)?,
                Setting::Tournament { is_on_stage: true, .. } => {
                    (format!("{competition} Stage {}", court % 2 + 1), None)
                }
                Setting::Tournament { is_on_stage: false, .. } => return None,
            },
            GameKind::Race(_) => (competition.to_string(), None),
        };
        let id = Id::derive(names::PROVIDER, "venue", &name);
        Some(Venue { id, name: name.into(), city: city.map(Into::into) })
    }

    fn referee(&self) -> Option<facts::event::Participant> {
        let sport = self.sport();
        let has_one = match &self.game {
            GameKind::Football | GameKind::Tennis(..) => true,
            GameKind::Scoreboard(game) => {
                !matches!(game.setting, Setting::Tournament { is_on_stage: false, .. })
            }
            GameKind::Race(_) => false,
        };
        let number = self.id.0 as usize / COURTS % REFEREES;
        has_one.then(|| names::official("referee", sport.as_str(), number))
    }
}

/// The ground of a club is named after its town: all but the last word of its name.
fn ground(club: &str, kind: &str) -> (String, Option<String>) {
    let town = club.rsplit_once(' ').map_or(club, |(town, _)| town);
    (format!("{town} {kind}"), Some(town.to_owned()))
}
