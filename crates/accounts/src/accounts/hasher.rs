//! Password hashing: argon2id, a few at a time, off the serving threads.
//!
//! Hashing is slow on purpose, which makes it attractive for denial of service. So a configured
//! number runs at a time, in turn between addresses, a bounded number waits for a bounded time, and
//! the rest is refused as busy. An unregistered address takes just as long: it is compared with a hash that no password
//! matches.

use std::{fmt, sync::Arc, time::Duration};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, PasswordVerifier},
};
use base::work::{FairQueue, Pool, QueueLimits};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use metrics::counter;
use tokio::time;
use zeroize::Zeroizing;

use super::{
    AccountsError, Result,
    key::EntropyError,
    password::{NewPassword, Password},
};
use crate::config::AccountsConfig;

const PARALLELISM: u32 = 1;
const SALT_BYTES: usize = 16;
const OUTPUT_BYTES: usize = 32;

pub(super) struct Hasher {
    params: Params,
    /// Added to every hash, so that a stolen database alone allows no guessing if the pepper comes
    /// from the settings.
    secret: Arc<Zeroizing<[u8; 32]>>,
    /// The beginning of hashes with the current parameters.
    beginning: String,
    /// A hash that no password matches.
    dummy_hash: String,
    turns: FairQueue,
    wait: Duration,
}

/// The result of comparing a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PasswordMatch {
    Wrong,
    Right,
    /// It matches, but was hashed with other than the current parameters.
    RightButOld,
}

/// The password of a log-in is right.
#[derive(Debug)]
pub(super) struct VerifiedPassword {
    /// The hash to store, if the stored one has other than the current parameters.
    pub(super) rehashed: Option<String>,
}

impl Hasher {
    /// # Errors
    ///
    /// If argon2 rejects the parameters, or the system provides no random bytes.
    pub(super) fn new(config: &AccountsConfig, secret: Zeroizing<[u8; 32]>) -> Result<Self> {
        let (memory, passes) = (config.password_memory_kib, config.password_passes);
        let params = Params::new(memory, passes, PARALLELISM, Some(OUTPUT_BYTES))
            .map_err(|_| AccountsError::Hashing)?;
        let beginning = format!("$argon2id$v=19$m={memory},t={passes},p={PARALLELISM}$");
        let dummy_hash =
            format!("{beginning}{}${}", noise::<SALT_BYTES>()?, noise::<OUTPUT_BYTES>()?);
        Ok(Self {
            params,
            secret: Arc::new(secret),
            beginning,
            dummy_hash,
            turns: FairQueue::new(QueueLimits::shared(
                config.password_hashes_max,
                config.password_waiting_max,
            )),
            wait: Duration::from_millis(config.password_wait_ms),
        })
    }

    /// The hash to store, in PHC form.
    pub(super) async fn hash(&self, password: NewPassword) -> Result<String> {
        self.in_turn(move |argon2| argon2.hash_password(password.as_bytes()))
            .await?
            .map(|hash| hash.to_string())
            .map_err(|_| AccountsError::Hashing)
    }

    /// Compares a password with the stored hash. Takes as long if there is none.
    pub(super) async fn compare(
        &self,
        password: Password,
        stored: Option<&str>,
    ) -> Result<PasswordMatch> {
        let hash = stored.unwrap_or(&self.dummy_hash).to_owned();
        let fits = self
            .in_turn(move |argon2| argon2.verify_password(password.as_bytes(), hash.as_str()))
            .await?
            .is_ok();
        Ok(match stored {
            Some(stored) if fits && stored.starts_with(&self.beginning) => PasswordMatch::Right,
            Some(_) if fits => PasswordMatch::RightButOld,
            _ => PasswordMatch::Wrong,
        })
    }

    /// Verifies the password of a log-in; `None` if it is wrong. Hashes it again if the stored hash
    /// has other than the current parameters.
    pub(super) async fn verify_at_log_in(
        &self,
        password: Password,
        stored: Option<&str>,
    ) -> Result<Option<VerifiedPassword>> {
        match self.compare(password.clone(), stored).await? {
            PasswordMatch::Right => Ok(Some(VerifiedPassword { rehashed: None })),
            PasswordMatch::RightButOld => {
                let rehashed = Some(self.hash(NewPassword::from_accepted(password)).await?);
                Ok(Some(VerifiedPassword { rehashed }))
            }
            PasswordMatch::Wrong => Ok(None),
        }
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Argon2<'_>) -> T + Send + 'static,
    ) -> Result<T> {
        let turn = time::timeout(self.wait, self.turns.enter_current(Pool::Passwords));
        let turn = turn.await.ok().and_then(Result::ok).ok_or_else(busy)?;
        counter!("matchwire_passwords_hashed_total").increment(1);
        let (secret, params) = (Arc::clone(&self.secret), self.params.clone());
        let hashing = turn.run(move || {
            let (algorithm, version) = (Algorithm::Argon2id, Version::V0x13);
            Argon2::new_with_secret(&**secret, algorithm, version, params).map(|it| work(&it))
        });
        hashing.await.ok().and_then(Result::ok).ok_or(AccountsError::Hashing)
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher").field("beginning", &self.beginning).finish_non_exhaustive()
    }
}

fn busy() -> AccountsError {
    counter!("matchwire_passwords_refused_total").increment(1);
    AccountsError::Busy
}

/// Random bytes in the PHC alphabet.
fn noise<const BYTES: usize>() -> Result<String, EntropyError> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random)?;
    Ok(STANDARD_NO_PAD.encode(random))
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::time::Instant;

    use super::*;

    fn hasher(config: &AccountsConfig) -> Hasher {
        Hasher::new(config, Zeroizing::new([7; 32])).unwrap()
    }

    fn quick() -> AccountsConfig {
        AccountsConfig { password_memory_kib: 8, password_passes: 1, ..AccountsConfig::default() }
    }

    fn new(text: &str) -> NewPassword {
        NewPassword::parse(text.to_owned(), 1, None).unwrap()
    }

    fn typed(text: &str) -> Password {
        Password::parse(text.to_owned()).unwrap()
    }

    #[tokio::test]
    async fn hash_matches_its_password_and_uses_the_configured_parameters() {
        let hasher = hasher(&AccountsConfig::default());
        let hash = hasher.hash(new("correct horse")).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        let compare = async |text| hasher.compare(typed(text), Some(&hash)).await.unwrap();
        assert_eq!(compare("correct horse").await, PasswordMatch::Right);
        assert_eq!(compare("correct horse ").await, PasswordMatch::Wrong);
        assert_ne!(hasher.hash(new("correct horse")).await.unwrap(), hash, "each has its salt");
    }

    #[tokio::test]
    async fn hash_with_other_parameters_matches_and_is_reported_as_old() {
        let old = hasher(&quick()).hash(new("correct horse")).await.unwrap();
        let today = hasher(&AccountsConfig { password_passes: 2, ..quick() });
        let compare = async |text| today.compare(typed(text), Some(&old)).await.unwrap();
        assert_eq!(compare("correct horse").await, PasswordMatch::RightButOld);
        assert_eq!(compare("wrong horse").await, PasswordMatch::Wrong);
    }

    #[tokio::test]
    async fn invalid_hash_matches_no_password() {
        let hasher = hasher(&quick());
        for stored in [None, Some(""), Some("correct horse"), Some("$argon2id$v=19$m=8,t=1,p=1$$")]
        {
            assert_eq!(
                hasher.compare(typed("correct horse"), stored).await.unwrap(),
                PasswordMatch::Wrong
            );
        }
    }

    /// The duration must not reveal which addresses are registered. The shortest of many runs are
    /// compared, which other load on the machine does not change.
    #[tokio::test]
    async fn comparison_without_a_stored_hash_takes_as_long() {
        let hasher = hasher(&AccountsConfig { password_memory_kib: 4096, ..quick() });
        let hash = hasher.hash(new("correct horse")).await.unwrap();
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..31 {
            for (stored, times) in [Some(&*hash), None].into_iter().zip(&mut times) {
                let start = Instant::now();
                assert_eq!(
                    hasher.compare(typed("wrong"), stored).await.unwrap(),
                    PasswordMatch::Wrong
                );
                times.push(start.elapsed());
            }
        }
        let [with_hash, without_hash] =
            times.map(|times| times.into_iter().min().expect("it was measured"));
        assert!(without_hash * 2 > with_hash, "without: {without_hash:?}, with: {with_hash:?}");
        assert!(with_hash * 2 > without_hash, "without: {without_hash:?}, with: {with_hash:?}");
    }

    #[tokio::test]
    async fn hashing_beyond_the_queue_limit_is_refused_as_busy() {
        let config = AccountsConfig { password_hashes_max: 1, password_waiting_max: 2, ..quick() };
        let hasher = hasher(&config);
        let results = join_all((0..8).map(|_| hasher.hash(new("correct horse")))).await;
        let busy = results.iter().filter(|it| matches!(it, Err(AccountsError::Busy))).count();
        assert_eq!(busy, 5, "one is hashed, two wait: {results:?}");
        assert!(hasher.hash(new("correct horse")).await.is_ok(), "there is room again");
    }

    #[tokio::test]
    async fn waiting_longer_than_the_limit_is_refused_as_busy() {
        let config = AccountsConfig { password_hashes_max: 1, password_wait_ms: 1, ..quick() };
        let hasher = hasher(&config);
        let taken = hasher.turns.enter_current(Pool::Passwords).await.unwrap();
        let waited = hasher.hash(new("correct horse")).await;
        assert!(matches!(waited, Err(AccountsError::Busy)), "{waited:?}");
        drop(taken);
        assert!(hasher.hash(new("correct horse")).await.is_ok());
    }
}
