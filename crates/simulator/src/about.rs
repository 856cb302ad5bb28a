//! The details of a match: round, ground, referee, coaches.

use std::sync::Arc;

use facts::event::{About, Id, Pair, Sport, Venue, Weather};

use super::{
    day::{Entry, GameKind},
    names,
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
            GameKind::Football | GameKind::Hockey | GameKind::Basketball { .. } => {
                [about.home_coach, about.away_coach] = [0, 1].map(|side: usize| {
                    let team = &self.sides.as_ref()?[side];
                    Some(names::official("coach", &team.name, team.id.0 as usize % 9973))
                });
                about.neutral = Some(false);
            }
            GameKind::Tennis(format, tournament) => {
                let (surface, category) = names::court(*tournament);
                about.surface = Some(surface.into());
                about.category = Some(category.into());
                about.best_of = Some(format.sets_to_win * 2 - 1);
            }
            GameKind::Darts(format, category) => {
                about.category = Some((*category).into());
                about.best_of = Some(format.best_of());
            }
            GameKind::Cs2 => about.best_of = Some(3),
            GameKind::Race(card) => {
                about.round_name = Some(Arc::clone(&card.name));
                about.category = Some(if card.jumps { "jumps" } else { "flat" }.into());
                about.surface = Some("turf".into());
            }
        }
        about
    }

    fn side_countries(&self) -> Pair<Option<Arc<str>>> {
        let of_players = matches!(self.game, GameKind::Tennis(..) | GameKind::Darts(..));
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
        let (name, city) = match (&self.game, &self.sides) {
            (GameKind::Football, Some([home, _])) => ground(&home.name, "Park"),
            (GameKind::Hockey, Some([home, _])) => ground(&home.name, "Ice Hall"),
            (GameKind::Basketball { .. }, Some([home, _])) => ground(&home.name, "Arena"),
            (GameKind::Tennis(..), _) => (format!("{competition} Court {court}"), None),
            (GameKind::Darts(..), _) => (format!("{competition} Stage {}", court % 2 + 1), None),
            (GameKind::Race(_), _) => (competition.to_string(), None),
            // Played over the network.
            _ => return None,
        };
        let id = Id::derive(names::PROVIDER, "venue", &name);
        Some(Venue { id, name: name.into(), city: city.map(Into::into) })
    }

    fn referee(&self) -> Option<facts::event::Participant> {
        let sport = self.sport();
        let has_one = matches!(
            sport,
            Sport::Football | Sport::Hockey | Sport::Basketball | Sport::Tennis | Sport::Darts
        );
        let number = self.id.0 as usize / COURTS % REFEREES;
        has_one.then(|| names::official("referee", sport.as_str(), number))
    }
}

/// The ground of a club is named after its town: all but the last word of its name.
fn ground(club: &str, kind: &str) -> (String, Option<String>) {
    let town = club.rsplit_once(' ').map_or(club, |(town, _)| town);
    (format!("{town} {kind}"), Some(town.to_owned()))
}
