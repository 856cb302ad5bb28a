//! What a feed can say about a match apart from its fixture and its state.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Id, Pair, Participant};

/// The particulars of a match. What is absent is not known, and takes nothing back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The number of the round or matchday, from 1.
    pub round: Option<u16>,
    /// What the round is called where it has a name: `Semi-final`.
    pub round_name: Option<Arc<str>>,
    /// The group of a cup: `Group A`.
    pub group: Option<Arc<str>>,
    /// The country of the competition, as ISO 3166-1 alpha-2 where the feed has it, else its name.
    pub country: Option<Arc<str>>,
    pub venue: Option<Venue>,
    pub referee: Option<Participant>,
    pub coaches: Pair<Option<Participant>>,
    pub attendance: Option<u32>,
    /// Whether neither side is at home.
    pub neutral: Option<bool>,
    /// Tennis: the surface, and the category of the tournament.
    pub surface: Option<Arc<str>>,
    pub category: Option<Arc<str>>,
    /// How many sets, legs or maps are played at most.
    pub best_of: Option<u8>,
    /// The countries of both sides: ISO 3166-1 alpha-2 where the feed has them, else the names.
    pub side_countries: Pair<Option<Arc<str>>>,
    pub weather: Option<Weather>,
}

/// The weather at the ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weather {
    /// 1 clear, 2 partly cloudy, 3 cloudy, 4 fog, 5 light rain, 6 rain, 7 snow, 8 thunderstorm.
    pub code: u8,
    /// In metres per second.
    pub wind_speed: u8,
    /// In degrees Celsius.
    pub temperature_c: i8,
}

/// A ground, a court, a race course.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Venue {
    pub id: Id,
    pub name: Arc<str>,
    pub city: Option<Arc<str>>,
}

impl About {
    /// Takes over what the other one knows and this one does not.
    pub fn fill_from(&mut self, other: &Self) {
        fn fill<T: Clone>(own: &mut Option<T>, other: &Option<T>) {
            if own.is_none() {
                own.clone_from(other);
            }
        }
        fill(&mut self.round, &other.round);
        fill(&mut self.round_name, &other.round_name);
        fill(&mut self.group, &other.group);
        fill(&mut self.country, &other.country);
        fill(&mut self.venue, &other.venue);
        fill(&mut self.referee, &other.referee);
        fill(&mut self.coaches[0], &other.coaches[0]);
        fill(&mut self.coaches[1], &other.coaches[1]);
        fill(&mut self.attendance, &other.attendance);
        fill(&mut self.neutral, &other.neutral);
        fill(&mut self.surface, &other.surface);
        fill(&mut self.category, &other.category);
        fill(&mut self.best_of, &other.best_of);
        fill(&mut self.side_countries[0], &other.side_countries[0]);
        fill(&mut self.side_countries[1], &other.side_countries[1]);
        fill(&mut self.weather, &other.weather);
    }
}
