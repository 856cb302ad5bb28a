//! Which webhooks have a round. Data only.
//!
//! The connections are shared: an account has an eighth of them, and the webhooks whose endpoints are slow have half
//! together, so that those that answer at once never wait for long.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

/// An endpoint whose last answer took longer is slow.
const SLOW_AFTER: Duration = Duration::from_secs(1);
/// Maximum slow endpoints that are remembered.
const SLOW_MAX: usize = 16_384;

/// The rounds that run, and the endpoints that are slow.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// The account, by webhook.
    running: HashMap<i64, i64>,
    slow: HashSet<i64>,
}

impl Rounds {
    /// Starts rounds of webhooks that are due, each with its account, as far as there are connections.
    pub(super) fn start(&mut self, due: &[(i64, i64)], connections: usize) -> Vec<i64> {
        let (by_account, by_slow) = (connections.div_ceil(8), connections.div_ceil(2));
        let mut of_accounts: HashMap<i64, usize> = HashMap::new();
        for account in self.running.values() {
            *of_accounts.entry(*account).or_default() += 1;
        }
        let mut slow = self.running.keys().filter(|webhook| self.slow.contains(webhook)).count();
        let mut started = Vec::new();
        for (webhook, account) in due {
            if self.running.len() >= connections {
                break;
            }
            let of_account = of_accounts.entry(*account).or_default();
            let is_slow = self.slow.contains(webhook);
            let has_room = *of_account < by_account && (!is_slow || slow < by_slow);
            if !has_room || self.running.contains_key(webhook) {
                continue;
            }
            self.running.insert(*webhook, *account);
            *of_account += 1;
            slow += usize::from(is_slow);
            started.push(*webhook);
        }
        started
    }

    pub(super) fn end(&mut self, webhook: i64) {
        self.running.remove(&webhook);
    }

    pub(super) fn is_running(&self, webhook: i64) -> bool {
        self.running.contains_key(&webhook)
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Remembers how long an attempt took.
    pub(super) fn note_attempt(&mut self, webhook: i64, took: Duration) {
        if took <= SLOW_AFTER {
            self.slow.remove(&webhook);
        } else {
            // Most of so many are deleted; the others are slow once more.
            if self.slow.len() >= SLOW_MAX {
                self.slow.clear();
            }
            self.slow.insert(webhook);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(webhooks: impl IntoIterator<Item = i64>, account: i64) -> Vec<(i64, i64)> {
        webhooks.into_iter().map(|webhook| (webhook, account)).collect()
    }

    #[test]
    fn account_has_a_share_of_the_connections() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.start(&due(0..10, 1), 32), [0, 1, 2, 3]);
        assert_eq!(rounds.start(&due(0..10, 1), 32), [0_i64; 0], "it has its share");
        assert_eq!(rounds.start(&due(20..22, 2), 32), [20, 21]);
        rounds.end(2);
        let both = [due(0..10, 1), due(20..30, 2)].concat();
        assert_eq!(rounds.start(&both, 32), [2, 22, 23]);
        assert_eq!(Rounds::default().start(&due(0..9, 1), 1), [0], "one at least");
    }

    /// The attack of four accounts with ten webhooks each whose endpoints answer after 9.5 s.
    #[test]
    fn slow_endpoints_leave_half_of_the_connections() {
        let mut rounds = Rounds::default();
        let slow: Vec<_> = (0..400).map(|webhook| (webhook, webhook / 10)).collect();
        for webhook in rounds.start(&slow, 32) {
            rounds.note_attempt(webhook, Duration::from_millis(9_500));
            rounds.end(webhook);
        }
        (0..400).for_each(|webhook| rounds.note_attempt(webhook, Duration::from_millis(9_500)));
        assert_eq!(rounds.start(&slow, 32).len(), 16);
        let quick = [slow, due([1_000], 100)].concat();
        assert_eq!(rounds.start(&quick, 32), [1_000], "a quick one does not wait");
        rounds.note_attempt(0, Duration::from_millis(20));
        rounds.end(0);
        assert_eq!(rounds.start(&due([0], 0), 32), [0], "it is quick again");
    }

    #[test]
    fn deleted_webhooks_do_not_keep_others_from_being_slow() {
        let mut rounds = Rounds::default();
        for webhook in 0..=i64::try_from(SLOW_MAX).unwrap() {
            rounds.note_attempt(webhook, 2 * SLOW_AFTER);
            assert!(rounds.slow.contains(&webhook) && rounds.slow.len() <= SLOW_MAX);
        }
    }
}
