//! Secrets in browser cookies: 256 random bits, of which only the digest is stored.
//!
//! They are uniformly random, so a fast digest is as good as a slow one, and the duration of a
//! look-up by digest reveals nothing.

use std::fmt;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::key::EntropyError;

const BYTES: usize = 32;

/// The digest of a secret, as stored.
pub(super) type Hash = [u8; 32];

/// The secret of a session cookie.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSecret(Zeroizing<String>);

/// The secret in the cookie of a browser that is not logged in. It identifies the browser that
/// registered an address when it follows the link.
#[derive(Clone, PartialEq, Eq)]
pub struct Visitor(Zeroizing<String>);

macro_rules! secret {
    ($name:ident) => {
        impl $name {
            /// Generates one from the system's random bytes.
            ///
            /// # Errors
            ///
            /// If the system provides none.
            pub fn generate() -> Result<Self, EntropyError> {
                random().map(Self)
            }

            /// Parses a cookie; `None` if it is malformed.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                is_secret(text).then(|| Self(Zeroizing::new(text.to_owned())))
            }

            /// The secret itself, 64 hex digits. The caller is responsible for where it goes.
            #[must_use]
            pub fn expose(&self) -> &str {
                &self.0
            }

            pub(super) fn hash(&self) -> Hash {
                Sha256::digest(self.0.as_bytes()).into()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    };
}

secret!(SessionSecret);
secret!(Visitor);

fn random() -> Result<Zeroizing<String>, EntropyError> {
    let mut random = Zeroizing::new([0; BYTES]);
    getrandom::fill(&mut *random)?;
    let mut text = Zeroizing::new(String::with_capacity(2 * BYTES));
    HEXLOWER.encode_append(&*random, &mut text);
    Ok(text)
}

fn is_secret(text: &str) -> bool {
    text.len() == 2 * BYTES && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_is_parsed_back_and_absent_from_debug_output() {
        let secret = SessionSecret::generate().unwrap();
        assert_eq!(SessionSecret::parse(secret.expose()), Some(secret.clone()));
        assert!(!format!("{secret:?}").contains(&secret.expose()[..8]));
        assert_ne!(SessionSecret::generate().unwrap(), secret);
    }

    #[test]
    fn invalid_secret_is_refused() {
        let good = "0a".repeat(32);
        assert!(Visitor::parse(&good).is_some());
        for bad in ["", &good[1..], &format!("{good}0"), &good.to_uppercase(), &"' OR ".repeat(13)]
        {
            assert!(Visitor::parse(bad).is_none(), "{bad}");
        }
    }
}
