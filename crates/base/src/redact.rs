//! Keys and tokens of the hub in foreign text.

use std::borrow::Cow;

/// How a customer's key begins.
pub const LABEL: &str = "mw_";

/// How a feed's key begins: neither kind can be mistaken for the other.
pub const FEED_LABEL: &str = "mwf_";

/// How the tokens of a connected application begin: the code, the access token, the refresh token.
pub const CODE_LABEL: &str = "mwc_";
pub const ACCESS_LABEL: &str = "mwa_";
pub const REFRESH_LABEL: &str = "mwr_";

const LABELS: [&str; 5] = [LABEL, FEED_LABEL, CODE_LABEL, ACCESS_LABEL, REFRESH_LABEL];

/// Hexadecimal digits of a key that may be printed: 32 bits, enough to identify it, and no help in guessing it.
pub const PUBLIC_DIGITS: usize = 8;

/// Redacts keys in foreign text, such as a feed's message: replaces their secret digits by `*`. The
/// public part stays, so that the key can be revoked.
#[must_use]
pub fn redact_keys(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut redacted = Cow::Borrowed(bytes);
    for label in LABELS.map(str::as_bytes) {
        let places = bytes.windows(label.len()).enumerate().filter(|(_, window)| *window == label);
        for (begin, _) in places {
            let digits = begin + label.len();
            let count = bytes[digits..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            if count > PUBLIC_DIGITS {
                redacted.to_mut()[digits + PUBLIC_DIGITS..digits + count].fill(b'*');
            }
        }
    }
    redacted
}
