//! Codes, access tokens and refresh tokens: generation and parsing.
//!
//! Each is a label, the 8 public hex digits of its grant, and secret hex digits. Only keyed hashes
//! are stored. A refresh token has two secrets: one that all refresh tokens of the grant share, and
//! one of its own. The shared one tells a token that was replaced from a forged one, so that no old
//! token has to be stored to notice its reuse.

use std::fmt;

use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use base::redact::{ACCESS_LABEL, CODE_LABEL, PUBLIC_DIGITS, REFRESH_LABEL};

use crate::accounts::key::EntropyError;

/// How the public part of a grant begins, in the table of keys. No key begins like this.
const GRANT_LABEL: &str = "mwg_";
/// 160 random bits, as in a key.
const SECRET_BYTES: usize = 20;
const SECRET_DIGITS: usize = 2 * SECRET_BYTES;

/// A complete code or token. It exists only where it is issued.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// The code of the grant with these public digits.
    pub(super) fn code(digits: &str) -> Result<Self, EntropyError> {
        Self::with_secrets(CODE_LABEL, digits, &[&*secret()?])
    }

    pub(super) fn access(digits: &str) -> Result<Self, EntropyError> {
        Self::with_secrets(ACCESS_LABEL, digits, &[&*secret()?])
    }

    /// The first refresh token of a grant.
    pub(super) fn first_refresh(digits: &str) -> Result<Self, EntropyError> {
        Self::with_secrets(REFRESH_LABEL, digits, &[&*secret()?, &*secret()?])
    }

    /// The refresh token that replaces another one.
    pub(super) fn next_refresh(old: PresentedRefresh<'_>) -> Result<Self, EntropyError> {
        let mut text = Zeroizing::new(String::with_capacity(old.0.len()));
        text.push_str(old.family());
        text.push_str(&secret()?);
        Ok(Self(text))
    }

    fn with_secrets(label: &str, digits: &str, secrets: &[&String]) -> Result<Self, EntropyError> {
        let length = label.len() + PUBLIC_DIGITS + secrets.len() * SECRET_DIGITS;
        // Allocated at its full size, so that growing leaves no copy behind.
        let mut text = Zeroizing::new(String::with_capacity(length));
        text.push_str(label);
        text.push_str(digits);
        secrets.iter().for_each(|secret| text.push_str(secret));
        Ok(Self(text))
    }

    /// The token itself. The caller is responsible for where it goes.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// It as a client will present it, if it is a refresh token.
    pub(super) fn as_refresh(&self) -> Option<PresentedRefresh<'_>> {
        PresentedRefresh::parse(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}..)", &self.0[..CODE_LABEL.len() + PUBLIC_DIGITS])
    }
}

fn secret() -> Result<Zeroizing<String>, EntropyError> {
    let mut random = Zeroizing::new([0; SECRET_BYTES]);
    getrandom::fill(&mut *random)?;
    let mut text = Zeroizing::new(String::with_capacity(SECRET_DIGITS));
    HEXLOWER.encode_append(&*random, &mut text);
    Ok(text)
}

/// The public digits of a new grant.
pub(super) fn new_digits() -> Result<String, EntropyError> {
    let mut random = [0; PUBLIC_DIGITS / 2];
    getrandom::fill(&mut random)?;
    Ok(HEXLOWER.encode(&random))
}

/// The public part of a grant, in the table of keys.
pub(super) fn grant_prefix(digits: &str) -> String {
    format!("{GRANT_LABEL}{digits}")
}

/// A well-formed code or access token as presented by a client; it need not exist.
#[derive(Clone, Copy)]
pub(super) struct PresentedToken<'a>(&'a str);

impl<'a> PresentedToken<'a> {
    pub(super) fn code(text: &'a str) -> Option<Self> {
        is_token(text, CODE_LABEL, SECRET_DIGITS).then_some(Self(text))
    }

    pub(super) fn access(text: &'a str) -> Option<Self> {
        is_token(text, ACCESS_LABEL, SECRET_DIGITS).then_some(Self(text))
    }

    pub(super) fn as_str(self) -> &'a str {
        self.0
    }

    pub(super) fn digits(self) -> &'a str {
        digits(self.0)
    }
}

/// A well-formed refresh token.
#[derive(Clone, Copy)]
pub(super) struct PresentedRefresh<'a>(&'a str);

impl<'a> PresentedRefresh<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        is_token(text, REFRESH_LABEL, 2 * SECRET_DIGITS).then_some(Self(text))
    }

    pub(super) fn as_str(self) -> &'a str {
        self.0
    }

    /// What all refresh tokens of the grant begin with, including the secret that they share.
    pub(super) fn family(self) -> &'a str {
        &self.0[..self.0.len() - SECRET_DIGITS]
    }

    pub(super) fn digits(self) -> &'a str {
        digits(self.0)
    }
}

fn is_token(text: &str, label: &str, secret_digits: usize) -> bool {
    let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    let length = PUBLIC_DIGITS + secret_digits;
    text.strip_prefix(label).is_some_and(|it| it.len() == length && it.bytes().all(is_hex))
}

/// All labels are equally long.
fn digits(token: &str) -> &str {
    &token[CODE_LABEL.len()..CODE_LABEL.len() + PUBLIC_DIGITS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_parsed_back_by_kind() {
        let (code, access) = (Token::code("0a1b2c3d").unwrap(), Token::access("0a1b2c3d").unwrap());
        let refresh = Token::first_refresh("0a1b2c3d").unwrap();
        assert_eq!(PresentedToken::code(code.expose()).unwrap().digits(), "0a1b2c3d");
        assert_eq!(PresentedToken::access(access.expose()).unwrap().digits(), "0a1b2c3d");
        assert_eq!(refresh.as_refresh().unwrap().digits(), "0a1b2c3d");
        assert!(PresentedToken::access(code.expose()).is_none());
        assert!(PresentedToken::code(access.expose()).is_none());
        assert!(PresentedRefresh::parse(access.expose()).is_none());
    }

    #[test]
    fn refresh_tokens_of_a_grant_share_their_family() {
        let first = Token::first_refresh("0a1b2c3d").unwrap();
        let next = Token::next_refresh(first.as_refresh().unwrap()).unwrap();
        let (first, next) = (first.as_refresh().unwrap(), next.as_refresh().unwrap());
        assert_eq!(first.family(), next.family());
        assert_ne!(first.as_str(), next.as_str());
        let other = Token::first_refresh("0a1b2c3d").unwrap();
        assert_ne!(first.family(), other.as_refresh().unwrap().family());
    }

    #[test]
    fn printed_token_has_no_secret_and_is_redacted_in_text() {
        for token in [
            Token::code("0a1b2c3d").unwrap(),
            Token::access("0a1b2c3d").unwrap(),
            Token::first_refresh("0a1b2c3d").unwrap(),
        ] {
            let secret = &token.expose()[12..20];
            assert!(!format!("{token:?}").contains(secret));
            let redacted = base::redact::redact_keys(token.expose().as_bytes()).into_owned();
            assert!(!String::from_utf8(redacted).unwrap().contains(secret));
        }
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let good = format!("mwa_{}", "0a".repeat(24));
        assert!(PresentedToken::access(&good).is_some());
        for bad in ["", "mwa_", &good[1..], &format!("{good}0"), &good.to_uppercase()] {
            assert!(PresentedToken::access(bad).is_none(), "{bad}");
        }
    }
}
