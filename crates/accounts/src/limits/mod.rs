//! Rate limits: per address, per account and day, and of CPU time.
//!
//! This module does not know HTTP, and stores nothing: limits by address restart with the process,
//! and an account's usage of today is the [`Meter`](crate::usage::Meter)'s. Every table is bounded.
//!
//! With a shared key, nodes limit together: each tells the others what was used there
//! ([`Limits::uses_here`]), and they take it from their own ([`Limits::use_elsewhere`]).

mod address;
mod buckets;
mod origin;
mod quota;
mod shared;

use std::{
    hash::Hash,
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use base::work::{Payer, Permit, Pool, Work, WorkLimits};

pub use self::quota::{Allowance, Quota, QuotaStatus};
use self::{
    address::AddressLimit,
    buckets::{Buckets, per_hour, per_minute, per_second},
};
pub use self::{
    address::RequestPermit,
    origin::Origin,
    shared::{LimitUse, LimitsKey},
};
use crate::{
    accounts::{AccountId, Addon, Caller, Device, Micros},
    config::LimitsConfig,
    products::Product,
};

/// A limit is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("rate limit exceeded, wait {seconds} s")]
pub struct RetryAfter {
    /// Whole seconds until one more request is allowed, at least 1: `Retry-After`.
    pub seconds: u64,
}

impl RetryAfter {
    /// This wait, in whole seconds. Its end may have come since it was measured.
    fn after(wait: Duration) -> Self {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        Self { seconds: seconds.max(1) }
    }
}

/// The limits in force. Clones share them.
#[derive(Debug, Clone)]
pub struct Limits {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    key: LimitsKey,
    work: Work,
    tables: RwLock<Arc<Tables>>,
}

/// What is counted for each limit; `None` for one that is off.
#[derive(Debug)]
struct Tables {
    config: LimitsConfig,
    requests: Option<Arc<AddressLimit>>,
    wrong_keys: Option<Buckets>,
    new_feed_keys: Option<Buckets>,
    log_ins: Option<Buckets>,
    log_ins_by_email: Option<Buckets>,
    log_ins_by_account: Option<Buckets>,
    log_ins_by_device: Option<Buckets>,
    confirmations: Option<Buckets>,
    registrations: Option<Buckets>,
    mails: Option<Buckets>,
    mails_by_email: Option<Buckets>,
    mails_by_device: Option<Buckets>,
    token_requests: Option<Buckets>,
    client_documents: Option<Buckets>,
}

impl Limits {
    /// The configured limits.
    #[must_use]
    pub fn new(config: &LimitsConfig, key: LimitsKey) -> Self {
        let work = Work::new(work_limits(config), key.is_shared());
        let tables = RwLock::new(Arc::new(Tables::new(config, &key)));
        Self { shared: Arc::new(Shared { key, work, tables }) }
    }

    /// The account of work, which has the CPU budgets.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.shared.work
    }

    /// Replaces the limits, if they differ. What was counted is forgotten, but for the usage of the day and of processors.
    pub fn replace(&self, config: &LimitsConfig) {
        if self.tables().config != *config {
            self.shared.work.set_limits(work_limits(config));
            let tables = Arc::new(Tables::new(config, &self.shared.key));
            *self.shared.tables.write().unwrap_or_else(PoisonError::into_inner) = tables;
        }
    }

    /// The settings in force.
    #[must_use]
    pub fn config(&self) -> LimitsConfig {
        self.tables().config.clone()
    }

    fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.shared.tables.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was used at this node since this was last called, for other nodes. Nothing without a shared key.
    #[must_use]
    pub fn uses_here(&self) -> Vec<LimitUse> {
        let tables = self.tables();
        let of_buckets = tables.buckets().into_iter().flatten().map(Buckets::drain_taken);
        let of_cpu = self.shared.work.drain_unreported();
        let mut uses = Vec::new();
        for (limit, of_limit) in (0..).zip([of_cpu].into_iter().chain(of_buckets)) {
            uses.extend(of_limit.into_iter().map(|(whose, amount)| LimitUse {
                limit,
                whose,
                amount,
            }));
        }
        uses
    }

    /// Takes what was used at another node.
    pub fn use_elsewhere(&self, uses: &[LimitUse]) {
        let tables = self.tables();
        let buckets = tables.buckets();
        for &LimitUse { limit, whose, amount } in uses {
            match limit.checked_sub(1) {
                None => {
                    let (work, used) = (&self.shared.work, Duration::from_micros(amount.into()));
                    work.charge_elsewhere(whose, used, work.now());
                }
                Some(index) => {
                    if let Some(Some(buckets)) = buckets.get(usize::from(index)) {
                        buckets.take_elsewhere(whose, amount);
                    }
                }
            }
        }
    }

    /// Counts a request from this address to a path that is limited by address. Waits for its turn while no other request of
    /// the address is in flight.
    ///
    /// # Errors
    ///
    /// If the limit is exceeded; likewise below.
    pub async fn request(&self, address: IpAddr) -> Result<RequestPermit, RetryAfter> {
        let requests = self.tables().requests.clone();
        match requests {
            Some(limit) => limit.acquire(Origin::from(address)).await,
            None => Ok(RequestPermit::UNLIMITED),
        }
    }

    /// Waits until a payer is within its CPU budget. The permit runs its request and charges what that uses.
    ///
    /// # Errors
    ///
    /// If too many of its requests are waiting.
    pub async fn cpu_permit(&self, payer: Payer, pool: Pool) -> Result<Permit, RetryAfter> {
        self.shared.work.permit(payer, pool).await.map_err(RetryAfter::after)
    }

    /// Counts a wrong key from this address.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn wrong_key(&self, address: IpAddr) -> Result<(), RetryAfter> {
        take(self.tables().wrong_keys.as_ref(), address)
    }

    /// Counts an unknown feed key from this address. Must be called before the key is looked up.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn new_feed_key(&self, address: IpAddr) -> Result<(), RetryAfter> {
        take(self.tables().new_feed_keys.as_ref(), address)
    }

    /// Counts a log-in from this address with this e-mail address, in lower case. Must be called
    /// before the password is compared, whether there is such an account or not. A browser known to
    /// the account has its own limit, so that strangers cannot exhaust it.
    ///
    /// # Errors
    ///
    /// If the address has tried too often, with this or any e-mail address; or if all addresses
    /// together have tried this e-mail address too often.
    pub fn log_in(
        &self,
        address: IpAddr,
        email: &str,
        device: Option<Device>,
    ) -> Result<(), RetryAfter> {
        let tables = self.tables();
        if let Some(device) = device {
            return take_of(tables.log_ins_by_device.as_ref(), device);
        }
        self.log_in_operator(address, email)?;
        take_of(tables.log_ins_by_account.as_ref(), email)
    }

    /// Counts a log-in from this address with an operator's name. There is no limit across
    /// addresses: operators have no known browsers, and strangers could lock them out.
    ///
    /// # Errors
    ///
    /// If the address has tried too often.
    pub fn log_in_operator(&self, address: IpAddr, name: &str) -> Result<(), RetryAfter> {
        take(self.tables().log_ins.as_ref(), address)?;
        take_of(self.tables().log_ins_by_email.as_ref(), (Origin::from(address), name))
    }

    /// Counts a password confirmation in a session of this account.
    ///
    /// # Errors
    ///
    /// If there were too many for this account.
    pub fn confirm(&self, account: AccountId) -> Result<(), RetryAfter> {
        take_of(self.tables().confirmations.as_ref(), account)
    }

    /// Counts a registration of this e-mail address, in lower case, from this address.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn register(&self, address: IpAddr, email: &str) -> Result<(), RetryAfter> {
        take(self.tables().registrations.as_ref(), address)?;
        take_of(self.tables().mails_by_email.as_ref(), (Origin::from(address), email))
    }

    /// Counts a request from this address for a mail to this e-mail address, other than a
    /// registration's. A browser known to the account has its own limit.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn mail(
        &self,
        address: IpAddr,
        email: &str,
        device: Option<Device>,
    ) -> Result<(), RetryAfter> {
        if let Some(device) = device {
            return take_of(self.tables().mails_by_device.as_ref(), device);
        }
        take(self.tables().mails.as_ref(), address)?;
        take_of(self.tables().mails_by_email.as_ref(), (Origin::from(address), email))
    }

    /// Counts a request from this address for tokens of a connected application.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn token_request(&self, address: IpAddr) -> Result<(), RetryAfter> {
        take(self.tables().token_requests.as_ref(), address)
    }

    /// Counts a metadata document that is fetched for a visitor from this address.
    ///
    /// # Errors
    ///
    /// If there were too many.
    pub fn client_document(&self, address: IpAddr) -> Result<(), RetryAfter> {
        take(self.tables().client_documents.as_ref(), address)
    }

    /// The daily quota of a request of this caller; `None` if there is none, as for paying
    /// customers.
    #[must_use]
    pub fn quota(&self, caller: &Caller, product: Product, now: Micros) -> Option<Quota> {
        let tables = self.tables();
        let LimitsConfig { football_per_day, tennis_taster_per_day, .. } = tables.config;
        // Of the account, whatever an access token covers.
        let pays = || caller.addons.iter().any(|(addon, _)| caller.addons.has(addon, now));
        let quota = match product {
            Product::Football if !pays() => (Allowance::Football, football_per_day),
            Product::TENNIS if !caller.has(Addon::Sports, now) => {
                (Allowance::Tennis, tennis_taster_per_day)
            }
            _ => return None,
        };
        let (allowance, per_day) = quota;
        (per_day > 0).then_some(Quota { allowance, per_day: per_day.into() })
    }
}

impl Tables {
    fn new(config: &LimitsConfig, key: &LimitsKey) -> Self {
        let buckets = |quota| Buckets::new(quota, config.addresses_max, key);
        Self {
            config: config.clone(),
            requests: AddressLimit::new(buckets(per_second(
                config.address_per_second,
                config.address_burst,
            ))),
            wrong_keys: buckets(per_minute(config.wrong_keys_per_minute)),
            new_feed_keys: buckets(per_minute(config.wrong_keys_per_minute)),
            log_ins: buckets(per_hour(config.log_ins_per_hour_by_address)),
            log_ins_by_email: buckets(per_hour(config.log_ins_per_hour_by_email)),
            log_ins_by_account: buckets(per_hour(config.log_ins_per_hour_by_account)),
            log_ins_by_device: buckets(per_hour(config.log_ins_per_hour_by_email)),
            confirmations: buckets(per_hour(config.log_ins_per_hour_by_email)),
            registrations: buckets(per_hour(config.registrations_per_hour)),
            mails: buckets(per_hour(config.mails_per_hour)),
            mails_by_email: buckets(per_hour(config.mails_per_hour_by_email)),
            mails_by_device: buckets(per_hour(config.mails_per_hour_by_email)),
            token_requests: buckets(per_minute(config.token_requests_per_minute)),
            client_documents: buckets(per_hour(config.client_documents_per_hour)),
        }
    }

    /// All buckets. A limit is numbered by its place here from 1 on; CPU time is 0.
    fn buckets(&self) -> [Option<&Buckets>; 14] {
        [
            self.requests.as_ref().map(|limit| &limit.buckets),
            self.wrong_keys.as_ref(),
            self.new_feed_keys.as_ref(),
            self.log_ins.as_ref(),
            self.log_ins_by_email.as_ref(),
            self.log_ins_by_account.as_ref(),
            self.log_ins_by_device.as_ref(),
            self.confirmations.as_ref(),
            self.registrations.as_ref(),
            self.mails.as_ref(),
            self.mails_by_email.as_ref(),
            self.mails_by_device.as_ref(),
            self.token_requests.as_ref(),
            self.client_documents.as_ref(),
        ]
    }
}

fn work_limits(config: &LimitsConfig) -> WorkLimits {
    WorkLimits {
        percent: config.account_cpu_percent,
        burst: Duration::from_millis(config.account_cpu_burst_ms),
        waiting_max: config.account_waiting_max,
    }
}

fn take(buckets: Option<&Buckets>, address: IpAddr) -> Result<(), RetryAfter> {
    take_of(buckets, Origin::from(address))
}

fn take_of(buckets: Option<&Buckets>, whose: impl Hash) -> Result<(), RetryAfter> {
    buckets.map_or(Ok(()), |buckets| buckets.take(whose))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn address(last: u8) -> IpAddr {
        Ipv4Addr::new(198, 51, 100, last).into()
    }

    fn passing(tries: u8, mut one: impl FnMut(u8) -> Result<(), RetryAfter>) -> usize {
        (0..tries).filter(|it| one(*it).is_ok()).count()
    }

    /// Issue 5, point 2: throttled log-in, by address and by address and account together.
    #[test]
    fn log_ins_are_limited_by_address_and_by_account() {
        let config = LimitsConfig {
            log_ins_per_hour_by_address: 8,
            log_ins_per_hour_by_email: 3,
            ..LimitsConfig::default()
        };
        let limits = Limits::new(&config, LimitsKey::random());
        assert_eq!(passing(9, |_| limits.log_in(address(1), "me@x.org", None)), 3);
        assert!(limits.log_in(address(2), "me@x.org", None).is_ok(), "its owner is elsewhere");
        let many = |it: u8| limits.log_in(address(3), &format!("{it}@x.org"), None);
        assert_eq!(passing(20, many), 8, "many accounts from one address");
        let wait = limits.log_in(address(3), "9@x.org", None).expect_err("used up").seconds;
        assert!((1..=450).contains(&wait), "{wait}");
    }

    #[test]
    fn registrations_and_mails_have_separate_limits() {
        let config =
            LimitsConfig { registrations_per_hour: 2, mails_per_hour: 1, ..Default::default() };
        let limits = Limits::new(&config, LimitsKey::random());
        assert_eq!(passing(9, |it| limits.register(address(1), &format!("{it}@x.org"))), 2);
        assert_eq!(passing(9, |_| limits.mail(address(1), "me@x.org", None)), 1);
        assert_eq!(
            passing(9, |it| limits.register(address(it + 2), "me@x.org")),
            9,
            "each its own"
        );
    }

    /// A stranger with many addresses hits the account's limit; the owner does not, in a known
    /// browser.
    #[test]
    fn distributed_guesses_are_limited_by_account_without_locking_out_owner() {
        let config = LimitsConfig { log_ins_per_hour_by_account: 5, ..Default::default() };
        let limits = Limits::new(&config, LimitsKey::random());
        let guess = |it: u8| limits.log_in(address(it), "me@x.org", None);
        assert_eq!(passing(200, guess), 5, "of the account");
        assert!(limits.log_in(address(201), "you@x.org", None).is_ok(), "another account");
        let (mine, other) = (Device::for_test(1), Device::for_test(2));
        let by_device =
            |device| passing(50, |_| limits.log_in(address(1), "me@x.org", Some(device)));
        assert_eq!((by_device(mine), by_device(other)), (20, 20), "each known browser");
    }

    #[test]
    fn mails_to_one_recipient_are_limited_by_address_and_by_known_browser() {
        let config = LimitsConfig { mails_per_hour_by_email: 2, ..Default::default() };
        let limits = Limits::new(&config, LimitsKey::random());
        assert_eq!(passing(9, |_| limits.register(address(1), "me@x.org")), 2);
        assert_eq!(passing(9, |_| limits.mail(address(1), "me@x.org", None)), 0, "it is the same");
        assert_eq!(passing(9, |_| limits.mail(address(1), "you@x.org", None)), 2);
        let device = Some(Device::for_test(1));
        assert_eq!(passing(9, |_| limits.mail(address(1), "me@x.org", device)), 2);
    }

    #[tokio::test]
    async fn zero_disables_a_limit() {
        let config = LimitsConfig {
            address_per_second: 0,
            log_ins_per_hour_by_address: 0,
            log_ins_per_hour_by_email: 0,
            log_ins_per_hour_by_account: 0,
            ..LimitsConfig::default()
        };
        let limits = Limits::new(&config, LimitsKey::random());
        for _ in 0..250 {
            assert!(limits.request(address(1)).await.is_ok());
        }
        assert_eq!(passing(250, |_| limits.log_in(address(1), "me@x.org", None)), 250);
    }

    /// What is used at one node is taken at the other, as with one node.
    #[tokio::test]
    async fn nodes_limit_together() {
        let config = LimitsConfig {
            wrong_keys_per_minute: 10,
            registrations_per_hour: 4,
            account_cpu_percent: 10,
            account_cpu_burst_ms: 100,
            account_waiting_max: 0,
            ..LimitsConfig::default()
        };
        let key = LimitsKey::shared([7; 32].into());
        let (one, other) = (Limits::new(&config, key.clone()), Limits::new(&config, key));
        assert_eq!(passing(6, |_| one.wrong_key(address(1))), 6);
        assert_eq!(passing(3, |it| one.register(address(1), &format!("{it}@x.org"))), 3);
        let account = AccountId::numbered(7);
        one.work().charge(account.payer(), Pool::Rest, Duration::from_secs(1), one.work().now());
        let uses = one.uses_here();
        other.use_elsewhere(&uses);
        assert_eq!(passing(9, |_| other.wrong_key(address(1))), 4, "the rest of ten");
        assert_eq!(passing(9, |_| other.wrong_key(address(2))), 9, "another address");
        assert_eq!(passing(9, |it| other.register(address(1), &format!("{it}@y.org"))), 1);
        assert!(
            other.cpu_permit(account.payer(), Pool::Rest).await.is_err(),
            "the account has used its burst"
        );
        assert_eq!(one.uses_here(), [], "each use is reported once");
        one.use_elsewhere(&other.uses_here());
        assert!(one.wrong_key(address(1)).is_err(), "ten were used together");
        one.use_elsewhere(&[LimitUse { limit: 200, whose: 1, amount: 1 }]);
    }

    #[test]
    fn uses_of_a_single_hub_are_not_kept() {
        let limits = Limits::new(&LimitsConfig::default(), LimitsKey::random());
        assert!(limits.wrong_key(address(1)).is_ok());
        assert_eq!(limits.uses_here(), []);
    }
}
