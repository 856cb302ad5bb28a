//! API keys: generation, parsing and hashing.
//!
//! A key is `mw_`, 8 public hex digits that identify it, and 40 secret ones; every character is
//! safe in a header, a URL and the name of a WebSocket subprotocol. Only a keyed hash of it is
//! stored. Nothing here prints a secret by accident: that takes a call of [`Key::expose`].

use std::fmt;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use base::redact::{FEED_LABEL, LABEL, PUBLIC_DIGITS};

/// 20 random bytes: 160 bits, at which guessing is infeasible and a fast hash is as good as a slow
/// one.
const SECRET_BYTES: usize = 20;
const DIGITS: usize = PUBLIC_DIGITS + 2 * SECRET_BYTES;

/// The operating system provided no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes")]
pub struct EntropyError(#[from] getrandom::Error);

/// A complete API key. It exists only where it is created.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Zeroizing<String>);

impl Key {
    /// Generates a key from the operating system's random bytes.
    pub(super) fn generate() -> Result<Self, EntropyError> {
        Self::labelled(LABEL)
    }

    /// Generates a feed key.
    pub(super) fn generate_for_feed() -> Result<Self, EntropyError> {
        Self::labelled(FEED_LABEL)
    }

    fn labelled(label: &str) -> Result<Self, EntropyError> {
        let mut random = Zeroizing::new([0; DIGITS / 2]);
        getrandom::fill(&mut *random)?;
        // Allocated at its full size, so that growing leaves no copy behind.
        let mut key = Zeroizing::new(String::with_capacity(label.len() + DIGITS));
        key.push_str(label);
        HEXLOWER.encode_append(&*random, &mut key);
        Ok(Self(key))
    }

    /// Parses a key that was stored in full; `None` if it is malformed.
    pub(super) fn parse(text: String) -> Option<Self> {
        let text = Zeroizing::new(text);
        PresentedKey::parse(&text)?;
        Some(Self(text))
    }

    /// The key itself. The caller is responsible for where it goes.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The public part, which lists and revocations use: `mw_1f09c3d2`.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.as_presented().prefix()
    }

    pub(super) fn as_presented(&self) -> PresentedKey<'_> {
        PresentedKey(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}..)", self.prefix())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..", self.prefix())
    }
}

/// A well-formed key as presented by a caller; it need not exist.
#[derive(Clone, Copy)]
pub(super) struct PresentedKey<'a>(&'a str);

impl<'a> PresentedKey<'a> {
    /// `None` if it cannot be a key, which then costs neither a hash nor a look-up.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        is_label_and_hex(text, LABEL, DIGITS).then_some(Self(text))
    }

    /// Parses a feed key.
    pub(super) fn parse_of_feed(text: &'a str) -> Option<Self> {
        is_label_and_hex(text, FEED_LABEL, DIGITS).then_some(Self(text))
    }

    pub(super) fn prefix(self) -> &'a str {
        &self.0[..self.0.len() - 2 * SECRET_BYTES]
    }
}

impl fmt::Debug for PresentedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PresentedKey({}..)", self.prefix())
    }
}

/// Whether this can be the public part of a key.
pub(super) fn is_prefix(text: &str) -> bool {
    is_label_and_hex(text, LABEL, PUBLIC_DIGITS)
}

/// Whether this can be the public part of a feed key.
pub(super) fn is_feed_prefix(text: &str) -> bool {
    is_label_and_hex(text, FEED_LABEL, PUBLIC_DIGITS)
}

fn is_label_and_hex(text: &str, label: &str, digits: usize) -> bool {
    let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    text.strip_prefix(label).is_some_and(|it| it.len() == digits && it.bytes().all(is_hex))
}

/// The keyed hash of a key, which is stored and used by the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KeyHash([u8; 32]);

impl KeyHash {
    /// A stored one; `None` if it has another length.
    pub(super) fn from_stored(stored: &[u8]) -> Option<Self> {
        stored.try_into().ok().map(Self)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Compares in constant time.
    pub(super) fn matches(&self, stored: &[u8]) -> bool {
        self.0.ct_eq(stored).into()
    }
}

/// The secret of the keyed hash. With a pepper from the settings, a stolen database alone allows no
/// check of guesses; the default pepper is random and stored in the database.
#[derive(Clone)]
pub(super) struct Pepper {
    secret: Zeroizing<String>,
    /// Initialised with the secret, which is half of the work for input as short as a key.
    begun: Hmac<Sha256>,
}

impl Pepper {
    pub(super) fn new(secret: String) -> Self {
        Self::from_secret(Zeroizing::new(secret))
    }

    pub(super) fn generate() -> Result<Self, EntropyError> {
        let mut random = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *random)?;
        let mut pepper = Zeroizing::new(String::with_capacity(64));
        HEXLOWER.encode_append(&*random, &mut pepper);
        Ok(Self::from_secret(pepper))
    }

    fn from_secret(secret: Zeroizing<String>) -> Self {
        let begun =
            Hmac::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
        Self { secret, begun }
    }

    pub(super) fn expose(&self) -> &str {
        &self.secret
    }

    pub(super) fn hash(&self, key: PresentedKey<'_>) -> KeyHash {
        self.mac(key.0.as_bytes())
    }

    /// The keyed hash of a token of a connected application, or of its beginning. It cannot be the
    /// hash of a key, because tokens begin differently.
    pub(super) fn hash_token(&self, token: &str) -> KeyHash {
        self.mac(token.as_bytes())
    }

    /// A fingerprint that identifies the pepper without revealing it. It cannot be the hash of a
    /// key, because its input is not a well-formed one.
    pub(super) fn mark(&self) -> String {
        HEXLOWER.encode(&self.mac(b"matchwire pepper").0[..8])
    }

    /// Derives a secret for one purpose from the pepper, without revealing it. It cannot be the
    /// hash of a key, because its input is not a well-formed one.
    pub(super) fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.mac(format!("matchwire {purpose} secret").as_bytes()).0)
    }

    fn mac(&self, message: &[u8]) -> KeyHash {
        let mut mac = self.begun.clone();
        mac.update(message);
        KeyHash(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_foreign_text_are_redacted() {
        let check = |text: &str, expected: &str| {
            assert_eq!(base::redact::redact_keys(text.as_bytes()), expected.as_bytes(), "{text}");
        };
        let (public, secret) = ("1f09c3d2", "0a".repeat(20));
        for label in ["mw_", "mwf_", "mwc_", "mwa_", "mwr_"] {
            let (text, expected) = (
                format!("{{\"token\":\"{label}{public}{secret}\", caf\u{e9}"),
                format!("{{\"token\":\"{label}{public}{}\", caf\u{e9}", "*".repeat(40)),
            );
            check(&text, &expected);
        }
        check(
            &format!("mw_{public}0a mw_{public}{secret}"),
            &format!("mw_{public}** mw_{public}{}", "*".repeat(40)),
        );
        for harmless in ["", "mw_", "mw_1f09c3d2", "mw_home", "xmw_12"] {
            check(harmless, harmless);
        }
    }

    #[test]
    fn generated_key_is_parsed_back() {
        let key = Key::generate().unwrap();
        let presented = PresentedKey::parse(key.expose()).unwrap();
        assert_eq!(presented.prefix(), key.prefix());
        assert!(is_prefix(key.prefix()));
        assert_eq!(key.expose().len(), 51);
    }

    #[test]
    fn client_and_feed_keys_are_not_interchangeable() {
        let (client, feed) = (Key::generate().unwrap(), Key::generate_for_feed().unwrap());
        assert!(PresentedKey::parse(feed.expose()).is_none());
        assert!(PresentedKey::parse_of_feed(client.expose()).is_none());
        assert_eq!(PresentedKey::parse_of_feed(feed.expose()).unwrap().prefix(), feed.prefix());
        assert!(is_feed_prefix(feed.prefix()) && !is_prefix(feed.prefix()));
    }

    #[test]
    fn keys_differ_in_both_parts() {
        let (one, other) = (Key::generate().unwrap(), Key::generate().unwrap());
        assert_ne!(one.prefix(), other.prefix());
        assert_ne!(one.expose()[11..], other.expose()[11..]);
    }

    #[test]
    fn printed_key_has_no_secret() {
        let key = Key::generate().unwrap();
        let secret = &key.expose()[11..17];
        for shown in [format!("{key:?}"), format!("{key}"), format!("{:?}", key.as_presented())] {
            assert!(shown.contains(key.prefix()), "{shown}");
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn malformed_keys_are_refused() {
        let good = format!("mw_{}", "0a".repeat(24));
        assert!(PresentedKey::parse(&good).is_some());
        for bad in [
            "",
            "mw_",
            &good[..50],
            &format!("{good}0"),
            &good.to_uppercase(),
            &good.replace("mw_", "xx_"),
            &good.replace('a', "g"),
            &good.replace('a', " "),
            &format!("mw_{}", "é".repeat(24)),
            "' OR 1=1 --",
        ] {
            assert!(PresentedKey::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn hash_depends_on_key_and_pepper() {
        let (pepper, other) = (Pepper::new("a".to_owned()), Pepper::new("b".to_owned()));
        let key = Key::generate().unwrap();
        let hash = pepper.hash(key.as_presented());
        assert!(hash.matches(pepper.hash(key.as_presented()).as_bytes()));
        assert!(!hash.matches(other.hash(key.as_presented()).as_bytes()));
        assert!(!hash.matches(pepper.hash(Key::generate().unwrap().as_presented()).as_bytes()));
        assert!(!hash.matches(&[]));
        assert_ne!(pepper.mark(), other.mark());
    }

    #[test]
    fn keyed_hash_is_hmac_sha_256() {
        // RFC 4231, test case 2.
        let KeyHash(hash) = Pepper::new("Jefe".to_owned()).mac(b"what do ya want for nothing?");
        let hex = HEXLOWER.encode(&hash);
        assert_eq!(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
