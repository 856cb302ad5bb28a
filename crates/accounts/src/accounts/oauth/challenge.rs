//! PKCE (RFC 7636): the proof that a code is redeemed by the client that requested it.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Characters of the digest in Base64.
const CHARACTERS: usize = 43;

/// The digest of the verifier that a client keeps to itself until it redeems the code. The method
/// is S256; `plain` is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeChallenge(String);

impl CodeChallenge {
    /// Parses the parameter `code_challenge`; `None` if it cannot be a digest.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digest = text.len() == CHARACTERS && BASE64URL_NOPAD.decode(text.as_bytes()).is_ok();
        is_digest.then(|| Self(text.to_owned()))
    }

    /// A stored one.
    pub(crate) fn from_stored(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the digest of this verifier; compared in constant time.
    pub(super) fn matches(&self, verifier: &str) -> bool {
        let unreserved = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
        let is_verifier = (43..=128).contains(&verifier.len()) && verifier.bytes().all(unreserved);
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(verifier.as_bytes()));
        is_verifier && bool::from(digest.as_bytes().ct_eq(self.0.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifier_proves_its_challenge() {
        // RFC 7636, appendix B.
        let challenge =
            CodeChallenge::parse("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap();
        assert!(challenge.matches("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        assert!(!challenge.matches("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl"));
        assert!(!challenge.matches("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"), "not `plain`");
        assert!(!challenge.matches(""));
    }

    #[test]
    fn short_and_long_verifiers_are_refused() {
        for length in [42, 129] {
            let verifier = "a".repeat(length);
            let digest = BASE64URL_NOPAD.encode(&Sha256::digest(verifier.as_bytes()));
            assert!(!CodeChallenge::parse(&digest).unwrap().matches(&verifier), "{length}");
        }
    }

    #[test]
    fn malformed_challenges_are_refused() {
        for bad in ["", "abc", &"=".repeat(43), &"a".repeat(44), &"a+".repeat(21)] {
            assert!(CodeChallenge::parse(bad).is_none(), "{bad}");
        }
    }
}
