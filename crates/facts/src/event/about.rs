//! Particulars of a match apart from its fixture and its state.

use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

use super::{Id, Pair, Participant, references::NamedVenue};

/// Particulars of the match. What is omitted is unknown, and takes nothing back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct About {
    /// The number of the round or matchday, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u16>,
    /// What the round is called: `Semi-final`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_name: Option<Arc<str>>,
    /// The group of a cup: `Group A`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<Arc<str>>,
    /// The country of the competition: two letters of ISO 3166-1, or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub venue: Option<Venue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referee: Option<Participant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home_coach: Option<Participant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_coach: Option<Participant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attendance: Option<u32>,
    /// Neither side is at home.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neutral: Option<bool>,
    /// Tennis: `grass`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<Arc<str>>,
    /// Tennis: of the tournament.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Arc<str>>,
    /// Racing: as the source writes it, `1m2f` or `1200m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Arc<str>>,
    /// How many sets, legs or maps are played at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_of: Option<u8>,
    /// The country of the home side or player 1: two letters of ISO 3166-1, or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home_country: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away_country: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weather: Option<Weather>,
}

/// The weather at the ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "NamedVenue", into = "NamedVenue")]
pub struct Venue {
    pub id: Id,
    pub name: Arc<str>,
    pub city: Option<Arc<str>>,
}

impl About {
    /// The coaches of both sides.
    #[must_use]
    pub fn coaches(&self) -> Pair<Option<&Participant>> {
        [self.home_coach.as_ref(), self.away_coach.as_ref()]
    }

    /// The countries of both sides.
    #[must_use]
    pub fn side_countries(&self) -> Pair<Option<&Arc<str>>> {
        [self.home_country.as_ref(), self.away_country.as_ref()]
    }

    /// Takes over what the other one knows and this one does not.
    pub fn fill_from(&mut self, other: &Self) {
        fn fill<T: Clone>(target: &mut Option<T>, other: &Option<T>) {
            if target.is_none() {
                target.clone_from(other);
            }
        }
        fill(&mut self.round, &other.round);
        fill(&mut self.round_name, &other.round_name);
        fill(&mut self.group, &other.group);
        fill(&mut self.country, &other.country);
        fill(&mut self.venue, &other.venue);
        fill(&mut self.referee, &other.referee);
        fill(&mut self.home_coach, &other.home_coach);
        fill(&mut self.away_coach, &other.away_coach);
        fill(&mut self.attendance, &other.attendance);
        fill(&mut self.neutral, &other.neutral);
        fill(&mut self.surface, &other.surface);
        fill(&mut self.category, &other.category);
        fill(&mut self.distance, &other.distance);
        fill(&mut self.best_of, &other.best_of);
        fill(&mut self.home_country, &other.home_country);
        fill(&mut self.away_country, &other.away_country);
        fill(&mut self.weather, &other.weather);
    }
}
