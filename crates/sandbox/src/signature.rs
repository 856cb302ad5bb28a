//! Signatures of webhooks, as Stripe makes them.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Stripe's header for a body sent at this time, in seconds.
#[must_use]
pub fn header(time: i64, body: &[u8], secret: &[u8]) -> String {
    format!("t={time},v1={}", sum(secret, &time.to_string(), body))
}

/// A signature over a text and a body, in hexadecimal.
pub(crate) fn sum(secret: &[u8], text: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
    let mac = mac.chain_update(text).chain_update(b".").chain_update(body);
    HEXLOWER.encode(&mac.finalize().into_bytes())
}
