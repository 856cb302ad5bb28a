//! Known browsers of an account, identified by a signed cookie.
//!
//! A browser gets a cookie when it has proved that it belongs to the account's owner: by the
//! password, or by a link from a mail. The cookie grants no access. It only gives the browser its
//! own rate limits, so that strangers who guess the password or request mails cannot exhaust the
//! owner's. Nothing is stored: the signature covers the address, so a cookie is worthless for any
//! other.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{Accounts, Email, Micros, key::EntropyError};

const NONCE_BYTES: usize = 16;

/// A known browser. Each cookie is a device of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device(u128);

/// The secret that signs device cookies.
pub(super) struct DeviceKey(Zeroizing<[u8; 32]>);

impl DeviceKey {
    pub(super) fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        Self(secret)
    }

    /// `1788280000.0a1b….5c0ffee…`: the time of issue in seconds, a random number, and the
    /// signature.
    fn text(&self, given_s: Micros, nonce: u128, email: &Email) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&*self.0).expect("HMAC takes a key of any length");
        mac.update(format!("{given_s}|{nonce:032x}|{email}").as_bytes());
        let mut text = format!("{given_s}.{nonce:032x}.");
        HEXLOWER.encode_append(&mac.finalize().into_bytes(), &mut text);
        text
    }
}

#[cfg(test)]
impl Device {
    pub(crate) fn for_test(number: u128) -> Self {
        Self(number)
    }
}

impl Accounts {
    /// Creates a cookie that identifies a browser to the account of this address.
    ///
    /// # Errors
    ///
    /// If the system provides no random bytes.
    pub fn new_device(&self, email: &Email, now: Micros) -> Result<String, EntropyError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce)?;
        let nonce = u128::from_be_bytes(nonce);
        Ok(self.shared.device_key.text(now / 1_000_000, nonce, email))
    }

    /// The device of a cookie; `None` if its signature is wrong, it has expired, or it is for
    /// another address.
    #[must_use]
    pub fn device(&self, cookie: &str, email: &Email, now: Micros) -> Option<Device> {
        let mut parts = cookie.split('.');
        let given_s: Micros = parts.next()?.parse().ok()?;
        let nonce = u128::from_str_radix(parts.next()?, 16).ok()?;
        let ends_s = given_s.checked_add(self.device_age_s())?;
        let good = self.shared.device_key.text(given_s, nonce, email);
        let is_good = bool::from(good.as_bytes().ct_eq(cookie.as_bytes()));
        (is_good && now / 1_000_000 < ends_s).then_some(Device(nonce))
    }

    /// Seconds for which a cookie is valid.
    #[must_use]
    pub fn device_age_s(&self) -> i64 {
        i64::from(self.shared.config.device_days) * 24 * 60 * 60
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{accounts::DAY_US, config::AccountsConfig};
    use database::testing::on_each;

    #[tokio::test]
    async fn device_cookie_is_valid_for_one_address_until_it_expires() {
        on_each(async |database| {
            let config = AccountsConfig { device_days: 2, ..AccountsConfig::default() };
            let accounts = Accounts::new(database, &config).await.unwrap();
            let (me, you) = ("me@x.org", "you@x.org");
            let email = |text: &str| Email::parse(text).unwrap();
            let cookie = accounts.new_device(&email(me), 7_000_000).unwrap();
            let device = |cookie: &str, whose, now| accounts.device(cookie, &email(whose), now);
            assert!(device(&cookie, me, 8_000_000).is_some());
            assert_eq!(device(&cookie, you, 8_000_000), None, "of another account");
            assert_eq!(device(&cookie, me, 7_000_000 + 2 * DAY_US), None, "too old");
            let other = accounts.new_device(&email(me), 7_000_000).unwrap();
            assert_ne!(device(&cookie, me, 8_000_000), device(&other, me, 8_000_000));
            let later = cookie.replacen('7', "8", 1);
            let longer = format!("{cookie}0");
            for forged in ["", ".", "..", "7.00.00", &cookie[1..], &*longer, &*later] {
                assert_eq!(device(forged, me, 8_000_000), None, "{forged}");
            }
        })
        .await;
    }

    #[test]
    fn cookie_depends_on_the_secret() {
        let text = |byte| {
            let email = Email::parse("me@x.org").unwrap();
            DeviceKey::new(Zeroizing::new([byte; 32])).text(7, 1, &email)
        };
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }
}
