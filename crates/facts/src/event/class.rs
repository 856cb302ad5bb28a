//! What a source states of the kind of a match apart from its names: who plays, which form of the
//! sport, in which country.

use std::{fmt, str::FromStr, sync::Arc};

use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};

/// What a source states itself. What is absent is not stated, which is never a statement of the
/// usual: a feed without `gender` may be one of women.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Class {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<Gender>,
    /// `senior`, `youth` without an age, or `U14` to `U23`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub age: Option<AgeGroup>,
    /// Whether it is a competition of reserve teams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<bool>,
    /// Whether it is played at a console, or by a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Discipline>,
    /// The country of the competition: two or three letters as in ISO 3166-1, or its name. A
    /// competition of several countries has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gender {
    Women,
    Men,
    Mixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgeGroup {
    Senior,
    /// Of an age that is not stated.
    Youth,
    /// Under this age, from 14 to 23.
    Under(u8),
}

/// A form of a sport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[derive(Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Discipline {
    /// The sport as it is usually played: eleven-a-side football, five-a-side basketball.
    Usual,
    Futsal,
    Beach,
    /// Rugby sevens, 3x3 basketball, six-a-side football.
    SmallSided,
    Indoor,
    Inline,
    /// Of former players.
    Legends,
    Exhibition,
    Singles,
    Doubles,
}

impl Class {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Only a country, if the source states one. A part of the world is none.
    #[must_use]
    pub fn in_country(country: Option<&str>) -> Self {
        let country = country.filter(|name| !name.is_empty() && !REGIONS.contains(name));
        Self { country: country.map(Into::into), ..Self::default() }
    }
}

/// What sources write as the country of a competition of several.
const REGIONS: [&str; 8] = [
    "World",
    "International",
    "Europe",
    "South America",
    "North and Central America",
    "Asia",
    "Africa",
    "Oceania",
];

impl Gender {
    /// By the words that sources use: `male`, `Women`, `mixed`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "female" | "women" | "woman" | "womens" => Some(Self::Women),
            "male" | "men" | "man" | "mens" => Some(Self::Men),
            "mixed" => Some(Self::Mixed),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Women => "women",
            Self::Men => "men",
            Self::Mixed => "mixed",
        }
    }
}

impl Discipline {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Futsal => "futsal",
            Self::Beach => "beach",
            Self::SmallSided => "small_sided",
            Self::Indoor => "indoor",
            Self::Inline => "inline",
            Self::Legends => "legends",
            Self::Exhibition => "exhibition",
            Self::Singles => "singles",
            Self::Doubles => "doubles",
        }
    }
}

impl fmt::Display for AgeGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Senior => f.write_str("senior"),
            Self::Youth => f.write_str("youth"),
            Self::Under(age) => write!(f, "U{age}"),
        }
    }
}

impl FromStr for AgeGroup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let under = || {
            let age = text.strip_prefix(['U', 'u'])?.trim_start_matches('-').parse().ok()?;
            (14..=23).contains(&age).then_some(Self::Under(age))
        };
        match text {
            "senior" => Ok(Self::Senior),
            "youth" => Ok(Self::Youth),
            _ => under().ok_or_else(|| format!("age {text:?} is not senior, youth, or U14 to U23")),
        }
    }
}

impl TryFrom<String> for AgeGroup {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AgeGroup> for String {
    fn from(age: AgeGroup) -> Self {
        age.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_is_written_and_read_as_stated() {
        let text = r#"{"gender":"women","age":"U19","reserve":false,"discipline":"futsal","country":"SE"}"#;
        let class: Class = serde_json::from_str(text).unwrap();
        let expected = Class {
            gender: Some(Gender::Women),
            age: Some(AgeGroup::Under(19)),
            reserve: Some(false),
            simulated: None,
            discipline: Some(Discipline::Futsal),
            country: Some("SE".into()),
        };
        assert_eq!(class, expected);
        assert_eq!(serde_json::to_string(&class).unwrap(), text);
        for wrong in [r#"{"age":"U9"}"#, r#"{"age":"old"}"#, r#"{"gender":"x"}"#, r#"{"sex":"f"}"#]
        {
            assert!(serde_json::from_str::<Class>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn part_of_the_world_is_no_country() {
        for (stated, country) in [
            ("Spain", Some("Spain")),
            ("SE", Some("SE")),
            ("South Africa", Some("South Africa")),
            ("World", None),
            ("Europe", None),
            ("International", None),
            ("North and Central America", None),
            ("", None),
        ] {
            assert_eq!(Class::in_country(Some(stated)).country.as_deref(), country, "{stated}");
        }
    }
}
