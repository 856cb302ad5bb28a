//! Keys of the hub in foreign text.

use std::borrow::Cow;

/// How a customer's key begins.
pub const LABEL: &str = "mw_";

/// How a feed's key begins: neither kind can be mistaken for the other.
pub const FEED_LABEL: &str = "mwf_";

/// Hexadecimal digits of a key that may be printed: 32 bits, enough to identify it, and no help in guessing it.
pub const PUBLIC_DIGITS: usize = 8;

/// Redacts keys in foreign text, such as a feed's message: replaces their secret digits by `*`. The
/// public part stays, so that the key can be revoked.
#[must_use]
pub fn redact_keys(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut redacted = Cow::Borrowed(bytes);
    for label in [LABEL.as_bytes(), FEED_LABEL.as_bytes()] {
        let places = bytes.windows(label.len()).enumerate().filter(|(_, own)| *own == label);
        for (place, _) in places {
            let digits = place + label.len();
            let count = bytes[digits..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            if count > PUBLIC_DIGITS {
                redacted.to_mut()[digits + PUBLIC_DIGITS..digits + count].fill(b'*');
            }
        }
    }
    redacted
}
