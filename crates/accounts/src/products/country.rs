//! Countries, by which prices and taxes can differ.

use std::{fmt, str::FromStr};

/// A country by its code in ISO 3166-1: two capital letters. Whether there is such a country is not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Country([u8; 2]);

/// The text is no code of a country.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a country is two capital letters")]
pub struct InvalidCountry;

impl FromStr for Country {
    type Err = InvalidCountry;

    fn from_str(text: &str) -> Result<Self, InvalidCountry> {
        let code: [u8; 2] = text.as_bytes().try_into().map_err(|_| InvalidCountry)?;
        code.iter().all(u8::is_ascii_uppercase).then_some(Self(code)).ok_or(InvalidCountry)
    }
}

impl fmt::Display for Country {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([first, second]) = self;
        write!(f, "{}{}", char::from(*first), char::from(*second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_round_trip() {
        for code in ["DE", "CH"] {
            assert_eq!(code.parse::<Country>().unwrap().to_string(), code);
        }
        for wrong in ["", "D", "DEU", "de", "D1", "é"] {
            assert_eq!(wrong.parse::<Country>(), Err(InvalidCountry), "{wrong}");
        }
    }
}
