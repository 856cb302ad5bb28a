//! How much may be asked: by one address, and by one account in a day.
//!
//! Nothing here knows HTTP, and nothing is stored: addresses start anew with the program, and what an
//! account has used today is the [`Meter`](crate::usage::Meter)'s. Every table is bounded.

mod buckets;
mod origin;
mod quota;

use std::{net::IpAddr, sync::Arc};

pub use self::quota::{Allowance, Quota, Standing};
use self::{
    buckets::{Buckets, per_hour, per_minute, per_second},
    origin::Origin,
};
use crate::{
    accounts::{Addon, Caller, Micros},
    config::LimitsConfig,
    products::Product,
};

/// Too much was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too much was asked, wait {seconds} s")]
pub struct Wait {
    /// Whole seconds until one more request is allowed, at least 1: `Retry-After`.
    pub seconds: u64,
}

/// The limits in force. Clones share them.
#[derive(Debug, Clone)]
pub struct Limits {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    requests: Option<Buckets>,
    wrong_keys: Option<Buckets>,
    log_ins: Option<Buckets>,
    log_ins_by_email: Option<Buckets>,
    registrations: Option<Buckets>,
    mails: Option<Buckets>,
    football_per_day: u64,
    tennis_taster_per_day: u64,
}

impl Limits {
    /// The limits of the settings.
    #[must_use]
    pub fn new(config: &LimitsConfig) -> Self {
        let buckets = |quota| Buckets::new(quota, config.addresses_max);
        Self {
            shared: Arc::new(Shared {
                requests: buckets(per_second(config.address_per_second, config.address_burst)),
                wrong_keys: buckets(per_minute(config.wrong_keys_per_minute)),
                log_ins: buckets(per_hour(config.log_ins_per_hour_by_address)),
                log_ins_by_email: buckets(per_hour(config.log_ins_per_hour_by_email)),
                registrations: buckets(per_hour(config.registrations_per_hour)),
                mails: buckets(per_hour(config.mails_per_hour)),
                football_per_day: config.football_per_day.into(),
                tennis_taster_per_day: config.tennis_taster_per_day.into(),
            }),
        }
    }

    /// One more request to a product from this address.
    ///
    /// # Errors
    ///
    /// If it has asked too much; the same holds for all that follow.
    pub fn request(&self, address: IpAddr) -> Result<(), Wait> {
        take(self.shared.requests.as_ref(), address)
    }

    /// One more wrong key from this address.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn wrong_key(&self, address: IpAddr) -> Result<(), Wait> {
        take(self.shared.wrong_keys.as_ref(), address)
    }

    /// One more log-in from this address with this e-mail address, in lower case. To be asked before
    /// the password is looked at, and whether there is such an account or not.
    ///
    /// # Errors
    ///
    /// If the address has tried too often, with this e-mail address or with any.
    pub fn log_in(&self, address: IpAddr, email: &str) -> Result<(), Wait> {
        take(self.shared.log_ins.as_ref(), address)?;
        match &self.shared.log_ins_by_email {
            Some(buckets) => buckets.take((Origin::from(address), email)),
            None => Ok(()),
        }
    }

    /// One more registration from this address.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn register(&self, address: IpAddr) -> Result<(), Wait> {
        take(self.shared.registrations.as_ref(), address)
    }

    /// One more wish for a mail from this address, other than a registration's.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn mail(&self, address: IpAddr) -> Result<(), Wait> {
        take(self.shared.mails.as_ref(), address)
    }

    /// The daily quota that holds for a request of this caller; `None` where there is none, as for
    /// whoever pays for anything.
    #[must_use]
    pub fn quota(&self, caller: &Caller, product: Product, now: Micros) -> Option<Quota> {
        let Shared { football_per_day, tennis_taster_per_day, .. } = *self.shared;
        let pays = || caller.addons.iter().any(|(addon, _)| caller.has(addon, now));
        let quota = match product {
            Product::Football if !pays() => (Allowance::Football, football_per_day),
            Product::Tennis if !caller.has(Addon::Sports, now) => {
                (Allowance::Tennis, tennis_taster_per_day)
            }
            _ => return None,
        };
        let (allowance, per_day) = quota;
        (per_day > 0).then_some(Quota { allowance, per_day })
    }
}

fn take(buckets: Option<&Buckets>, address: IpAddr) -> Result<(), Wait> {
    buckets.map_or(Ok(()), |buckets| buckets.take(Origin::from(address)))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(198, 51, 100, last).into()
    }

    fn passing(tries: u8, mut one: impl FnMut(u8) -> Result<(), Wait>) -> usize {
        (0..tries).filter(|it| one(*it).is_ok()).count()
    }

    /// Issue 5, point 2: throttled log-in, by address and by address and account together.
    #[test]
    fn log_ins_are_limited_by_address_and_by_account() {
        let limits = Limits::new(&LimitsConfig {
            log_ins_per_hour_by_address: 8,
            log_ins_per_hour_by_email: 3,
            ..LimitsConfig::default()
        });
        assert_eq!(passing(9, |_| limits.log_in(address(1), "me@x.org")), 3);
        assert!(limits.log_in(address(2), "me@x.org").is_ok(), "its owner is elsewhere");
        let many = |it: u8| limits.log_in(address(3), &format!("{it}@x.org"));
        assert_eq!(passing(20, many), 8, "many accounts from one address");
        let wait = limits.log_in(address(3), "9@x.org").expect_err("used up").seconds;
        assert!((1..=450).contains(&wait), "{wait}");
    }

    #[test]
    fn registrations_and_mails_have_limits_of_their_own() {
        let config =
            LimitsConfig { registrations_per_hour: 2, mails_per_hour: 1, ..Default::default() };
        let limits = Limits::new(&config);
        assert_eq!(passing(9, |_| limits.register(address(1))), 2);
        assert_eq!(passing(9, |_| limits.mail(address(1))), 1);
        assert_eq!(passing(9, |it| limits.register(address(it + 2))), 9, "each its own");
    }

    #[test]
    fn zero_is_without_limit() {
        let config = LimitsConfig {
            address_per_second: 0,
            log_ins_per_hour_by_address: 0,
            log_ins_per_hour_by_email: 0,
            ..LimitsConfig::default()
        };
        let limits = Limits::new(&config);
        assert_eq!(passing(250, |_| limits.request(address(1))), 250);
        assert_eq!(passing(250, |_| limits.log_in(address(1), "me@x.org")), 250);
    }
}
