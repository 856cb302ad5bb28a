//! Typed passwords. They are zeroed when dropped and never displayed.

use std::{collections::HashSet, fmt};

use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use super::{Accounts, Email, common_passwords};

/// A password typed to authenticate.
///
/// It is in Unicode normal form NFKC, so that the same letters are the same password on every
/// keyboard.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Zeroizing<String>);

/// A password that is strong enough to be set: see [`Accounts::new_password`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPassword(Password);

/// Why a password is rejected. The messages are for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    #[error("use at least {chars_min} characters")]
    TooShort { chars_min: usize },
    #[error("the password must not be longer than {bytes_max} bytes")]
    TooLong { bytes_max: usize },
    #[error("the password must not contain control characters")]
    Control,
    #[error(
        "use at least {} different characters, not counting spaces",
        NewPassword::DIFFERENT_MIN
    )]
    Repetition,
    #[error("this password is too easy to guess; choose a few random words")]
    Common,
    #[error("the password must not be your email address")]
    IsAddress,
}

impl Password {
    /// Maximum bytes of a password, enough for sentences. Bounds the work of reading one.
    pub const BYTES_MAX: usize = 256;

    /// Accepts input to compare with a stored password.
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
        // Allocated at the maximum size, so that growing leaves no copy behind: a character grows
        // eighteenfold at most.
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
    /// Minimum number of different characters in a new password, not counting white space.
    pub(super) const DIFFERENT_MIN: usize = 4;

    /// `owner`: the address of the account, if there is one.
    pub(super) fn parse(
        text: String,
        chars_min: usize,
        owner: Option<&Email>,
    ) -> Result<Self, WeakPassword> {
        let password = Password::parse(text)?;
        let chars = || password.0.chars();
        let different = chars().filter(|letter| !letter.is_whitespace()).collect::<HashSet<_>>();
        if chars().any(char::is_control) {
            Err(WeakPassword::Control)
        } else if chars().count() < chars_min {
            Err(WeakPassword::TooShort { chars_min })
        } else if different.len() < Self::DIFFERENT_MIN {
            Err(WeakPassword::Repetition)
        } else if common_passwords::contains(&password.0) {
            Err(WeakPassword::Common)
        } else if owner.is_some_and(|owner| is_address(&password.0, owner)) {
            Err(WeakPassword::IsAddress)
        } else {
            Ok(Self(password))
        }
    }

    pub(super) fn from_accepted(password: Password) -> Self {
        Self(password)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Whether this is the address, or the part before its `@`.
fn is_address(password: &str, owner: &Email) -> bool {
    let (local, _) = owner.as_str().split_once('@').unwrap_or_default();
    [owner.as_str(), local].iter().any(|part| password.trim().eq_ignore_ascii_case(part))
}

impl Accounts {
    /// Accepts input as a new password for the account of this address.
    ///
    /// # Errors
    ///
    /// If it is shorter than `accounts.password_chars_min`, too long, or easy to guess.
    pub fn new_password(
        &self,
        text: String,
        owner: Option<&Email>,
    ) -> Result<NewPassword, WeakPassword> {
        NewPassword::parse(text, self.password_chars_min(), owner)
    }

    /// `accounts.password_chars_min`, for pages with a password field.
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
    fn length_is_counted_in_characters() {
        let check = |text: &str, chars_min, good| {
            let parsed = NewPassword::parse(text.to_owned(), chars_min, None);
            assert_eq!(parsed.is_ok(), good, "{text}");
        };
        check("ten chars!", 10, true);
        check("nine char", 10, false);
        check("éèàüéèàüé", 10, false);
        check(&"wxyz".repeat(64), 10, true);
        check(&"wxyz5".repeat(52), 10, false);
    }

    #[test]
    fn easily_guessed_passwords_are_refused() {
        let owner = Email::parse("ann.smith1@x.org").unwrap();
        let check = |text: &str, expected| {
            let parsed = NewPassword::parse(text.to_owned(), 10, Some(&owner));
            assert_eq!(parsed.err(), expected, "{text:?}");
        };
        check("          ", Some(WeakPassword::Repetition));
        check("\u{a0}\u{2003}         ", Some(WeakPassword::Repetition));
        check("aaaaaaaaaa", Some(WeakPassword::Repetition));
        check("abababababab", Some(WeakPassword::Repetition));
        check("a            b", Some(WeakPassword::Repetition));
        check("\0\0\0\0\0\0\0\0\0\0\0\0", Some(WeakPassword::Control));
        check("four words\r\nhere", Some(WeakPassword::Control));
        check("Password123", Some(WeakPassword::Common));
        check("1234567890", Some(WeakPassword::Common));
        check("QWERTYUIOP", Some(WeakPassword::Common));
        check("Ann.Smith1@x.org", Some(WeakPassword::IsAddress));
        check("ann.smith1", Some(WeakPassword::IsAddress));
        check("ann.smith1 likes tea", None);
        check("four words in a row", None);
        check("  correct horse  ", None);
    }

    #[test]
    fn password_is_the_same_in_every_unicode_form() {
        let composed = Password::parse("caf\u{e9} au lait".to_owned()).unwrap();
        let decomposed = Password::parse("cafe\u{301} au lait".to_owned()).unwrap();
        assert_eq!(composed, decomposed);
    }

    #[test]
    fn normalisation_cannot_exceed_the_maximum_length() {
        // One character of three bytes that is eighteen characters in its normal form.
        let text = "\u{fdfa}".repeat(85);
        assert!(text.len() <= Password::BYTES_MAX);
        let too_long = WeakPassword::TooLong { bytes_max: Password::BYTES_MAX };
        assert_eq!(Password::parse(text).unwrap_err(), too_long);
    }

    #[test]
    fn debug_output_has_no_password() {
        let password = NewPassword::parse("correct horse".to_owned(), 1, None).unwrap();
        assert!(!format!("{password:?}").contains("horse"));
    }
}
