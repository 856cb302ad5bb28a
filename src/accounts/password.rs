//! Passwords as they are typed. They are wiped from memory when they are dropped and are never shown.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use super::Accounts;

/// A password that somebody typed to prove who they are.
///
/// The same letters are the same password whatever keyboard they came from: it is kept in the
/// normal form NFKC of Unicode.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Zeroizing<String>);

/// A password that is good enough to be set: see [`Accounts::new_password`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPassword(Password);

/// Why a password cannot be taken. The words are for whoever typed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    #[error("a password needs at least {chars_min} characters")]
    TooShort { chars_min: usize },
    #[error("a password must not be longer than {bytes_max} bytes")]
    TooLong { bytes_max: usize },
}

impl Password {
    /// Bytes of a password at most, which leaves room for sentences. It bounds the work of reading one.
    pub const BYTES_MAX: usize = 256;

    /// Takes what was typed, to be compared with what is stored.
    ///
    /// # Errors
    ///
    /// If it is longer than any password that can be set.
    pub fn parse(text: String) -> Result<Self, WeakPassword> {
        let text = Zeroizing::new(text);
        let too_long = WeakPassword::TooLong { bytes_max: Self::BYTES_MAX };
        if text.len() > Self::BYTES_MAX {
            return Err(too_long);
        }
        // With room for all of it from the start, no copy is left behind by growing: a character grows
        // to eighteen at most.
        let mut normal = Zeroizing::new(String::with_capacity(18 * text.len()));
        normal.extend(text.nfkc());
        if normal.len() > Self::BYTES_MAX {
            return Err(too_long);
        }
        Ok(Self(normal))
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl NewPassword {
    pub(super) fn parse(text: String, chars_min: usize) -> Result<Self, WeakPassword> {
        let password = Password::parse(text)?;
        match password.0.chars().count() {
            chars if chars < chars_min => Err(WeakPassword::TooShort { chars_min }),
            _ => Ok(Self(password)),
        }
    }

    pub(super) fn of_before(password: Password) -> Self {
        Self(password)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Accounts {
    /// Takes what was typed as a password to be set.
    ///
    /// # Errors
    ///
    /// If it is shorter than `accounts.password_chars_min`, or too long.
    pub fn new_password(&self, text: String) -> Result<NewPassword, WeakPassword> {
        NewPassword::parse(text, self.password_chars_min())
    }

    /// `accounts.password_chars_min`, for a page that asks for a password.
    #[must_use]
    pub fn password_chars_min(&self) -> usize {
        self.shared.config.password_chars_min
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_and_not_bytes() {
        let check = |text: &str, chars_min, good| {
            let parsed = NewPassword::parse(text.to_owned(), chars_min);
            assert_eq!(parsed.is_ok(), good, "{text}");
        };
        check("ten chars!", 10, true);
        check("nine char", 10, false);
        check("ééééééééé", 10, false);
        check(&"x".repeat(256), 10, true);
        check(&"x".repeat(257), 10, false);
    }

    #[test]
    fn one_password_is_the_same_from_every_keyboard() {
        let composed = Password::parse("caf\u{e9} au lait".to_owned()).unwrap();
        let decomposed = Password::parse("cafe\u{301} au lait".to_owned()).unwrap();
        assert_eq!(composed, decomposed);
    }

    #[test]
    fn normalising_makes_no_password_longer_than_allowed() {
        // One character of three bytes that is eighteen characters in its normal form.
        let text = "\u{fdfa}".repeat(85);
        assert!(text.len() <= Password::BYTES_MAX);
        let too_long = WeakPassword::TooLong { bytes_max: Password::BYTES_MAX };
        assert_eq!(Password::parse(text).unwrap_err(), too_long);
    }

    #[test]
    fn a_password_is_never_shown() {
        let password = NewPassword::parse("correct horse".to_owned(), 1).unwrap();
        assert!(!format!("{password:?}").contains("horse"));
    }
}
