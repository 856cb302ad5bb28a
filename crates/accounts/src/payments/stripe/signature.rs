//! Verifies Stripe's webhook signature: `Stripe-Signature: t=..,v1=..`.
//!
//! The signature covers the time and the body, so that an observer cannot replay a webhook later.

use data_encoding::HEXLOWER_PERMISSIVE;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::accounts::Micros;

/// Maximum signatures that are checked. There are two while the secret is being rotated.
const SIGNATURES_MAX: usize = 8;

/// Verifies a header against a body.
pub(super) fn check(
    header: &str,
    body: &[u8],
    secret: &[u8],
    age_max: Micros,
    now: Micros,
) -> Result<(), &'static str> {
    let fields = || header.split(',').filter_map(|field| field.trim().split_once('='));
    let time = fields().find(|(name, _)| *name == "t").map(|(_, time)| time);
    let time = time.ok_or("its signature has no time")?;
    let signatures = fields().filter(|(name, _)| *name == "v1").take(SIGNATURES_MAX);
    let signed = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
    let signed = signed.chain_update(time).chain_update(b".").chain_update(body);
    let mut matches = false;
    let decode = |hex: &str| HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok();
    for signature in signatures.filter_map(|(_, hex)| decode(hex)) {
        matches |= signed.clone().verify_slice(&signature).is_ok();
    }
    if !matches {
        return Err("its signature is not Stripe's");
    }
    let at = time.parse::<i64>().ok().and_then(|seconds| seconds.checked_mul(1_000_000));
    let at = at.ok_or("its signature has no time")?;
    if now.abs_diff(at) > age_max.unsigned_abs() {
        return Err("its signature is too old");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sandbox::signature::header;

    use super::*;

    const SECRET: &[u8] = b"whsec_test";
    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    const TIME: i64 = 1_790_000_000;
    const MINUTES_5: Micros = 300_000_000;

    fn check_at(header: &str, body: &[u8], late_s: i64) -> Result<(), &'static str> {
        check(header, body, SECRET, MINUTES_5, (TIME + late_s) * 1_000_000)
    }

    #[test]
    fn valid_signature_is_accepted_for_five_minutes() {
        let header = header(TIME, BODY, SECRET);
        for late_s in [-300, 0, 300] {
            assert_eq!(check_at(&header, BODY, late_s), Ok(()), "{late_s}");
        }
        for late_s in [-301, 301, 86_400] {
            let refused = check_at(&header, BODY, late_s);
            assert_eq!(refused, Err("its signature is too old"), "{late_s}");
        }
    }

    /// RFC 4231 has no example of this form; the sum was made with `openssl dgst -sha256 -hmac`.
    #[test]
    fn signature_equals_that_of_openssl() {
        assert_eq!(
            header(TIME, BODY, SECRET),
            "t=1790000000,v1=e32657f3e678d33b41ec084c16ac0e125d25480a06cb3902286dc5942c6fd259"
        );
    }

    #[test]
    fn one_valid_signature_among_several_is_enough() {
        let good = header(TIME, BODY, SECRET);
        let (time, v1) = good.split_once(',').unwrap();
        let wrong = format!("v1={}", "0".repeat(64));
        for header in [
            format!("{time},{wrong},{v1}"),
            format!("{time},{v1},{wrong},v0=6ffb"),
            format!("{time}, {v1}"),
        ] {
            assert_eq!(check_at(&header, BODY, 0), Ok(()), "{header}");
        }
    }

    #[test]
    fn signature_by_another_secret_or_of_other_data_is_refused() {
        let good = header(TIME, BODY, SECRET);
        assert!(check_at(&good, br#"{"id":"evt_2"}"#, 0).is_err());
        assert!(check_at(&header(TIME, BODY, b"other"), BODY, 0).is_err());
        // The time is signed too.
        let later = good.replacen(&TIME.to_string(), &(TIME + 1).to_string(), 1);
        assert!(check_at(&later, BODY, 0).is_err());
        let v0 = good.replacen("v1=", "v0=", 1);
        for header in ["", "t=", "v1=", "t=1,v1=zz", "t=x,v1=é", &*v0, &good[..good.len() - 2]] {
            assert!(check_at(header, BODY, 0).is_err(), "{header}");
        }
    }
}
