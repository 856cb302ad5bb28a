//! Who has to wait because its sockets keep asking to be brought forward: a token bucket for each key.
//!
//! Every answer of the host is charged to the key that asked. A key in debt is not refused: commands
//! of its sockets wait until the debt is paid off, and nobody else waits. Publications are never
//! charged, nor is a reader that is slow kept from catching up.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::Micros;

/// What an account may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CreditLimits {
    /// Answers that a key may use up at once.
    pub(crate) burst: u32,
    /// Answers that it gets back in a second.
    pub(crate) per_second: u32,
    /// The longest that a key waits for one debt, in microseconds.
    pub(crate) debt_us_max: Micros,
}

/// An answer that cost so many bytes of work counts as one more.
const WORK_BYTES: usize = 16 * 1024;

/// A command of so many bytes counts as one more.
const COMMAND_BYTES: usize = 1024;

#[derive(Debug)]
pub(super) struct Credit {
    limits: CreditLimits,
    keys: HashMap<u64, Account, FxBuildHasher>,
}

/// In millionths of an answer, so that no microsecond is lost in rounding.
#[derive(Debug)]
struct Account {
    credit: i64,
    refilled: Micros,
    sockets: usize,
}

const ONE: i64 = 1_000_000;

impl Credit {
    pub(super) fn new(limits: CreditLimits) -> Self {
        Self { limits, keys: HashMap::default() }
    }

    /// A socket of this key has come.
    pub(super) fn enter(&mut self, key: u64, now: Micros) {
        let credit = self.full();
        let account = self.keys.entry(key);
        account.or_insert(Account { credit, refilled: now, sockets: 0 }).sockets += 1;
    }

    /// A socket of this key has gone. What it used stays charged until it is paid off, so that coming
    /// back brings no new credit.
    pub(super) fn leave(&mut self, key: u64) {
        if let Some(account) = self.keys.get_mut(&key) {
            account.sockets = account.sockets.saturating_sub(1);
        }
    }

    /// Charges an answer that cost so many bytes of work.
    pub(super) fn charge_answer(&mut self, key: u64, work: usize, now: Micros) {
        self.charge(key, 1 + work / WORK_BYTES, now);
    }

    /// Charges a long command for reading it.
    pub(super) fn charge_command(&mut self, key: u64, bytes: usize, now: Micros) {
        self.charge(key, bytes / COMMAND_BYTES, now);
    }

    fn charge(&mut self, key: u64, answers: usize, now: Micros) {
        self.refill(key, now);
        let debt_max = i64::from(self.limits.per_second).saturating_mul(self.limits.debt_us_max);
        let Some(account) = self.keys.get_mut(&key) else { return };
        let cost = i64::try_from(answers).unwrap_or(i64::MAX).saturating_mul(ONE);
        account.credit = account.credit.saturating_sub(cost).max(-debt_max);
    }

    /// Whether commands of this key have to wait.
    pub(super) fn is_in_debt(&mut self, key: u64, now: Micros) -> bool {
        self.refill(key, now);
        self.keys.get(&key).is_some_and(|account| account.credit < 0)
    }

    fn full(&self) -> i64 {
        i64::from(self.limits.burst) * ONE
    }

    fn refill(&mut self, key: u64, now: Micros) {
        let full = self.full();
        let Some(account) = self.keys.get_mut(&key) else { return };
        let passed = (now - account.refilled).max(0);
        account.refilled = now;
        let earned = passed.saturating_mul(i64::from(self.limits.per_second));
        account.credit = account.credit.saturating_add(earned).min(full);
    }

    /// Forgets keys that have no socket and owe nothing.
    pub(super) fn sweep(&mut self, now: Micros) {
        let gone: Vec<u64> =
            self.keys.iter().filter(|(_, own)| own.sockets == 0).map(|(key, _)| *key).collect();
        for key in gone {
            self.refill(key, now);
            if self.keys.get(&key).is_some_and(|account| account.credit >= self.full()) {
                self.keys.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CreditLimits = CreditLimits { burst: 10, per_second: 5, debt_us_max: 2_000_000 };

    #[test]
    fn key_that_asks_on_and_on_waits_and_others_do_not() {
        let mut credit = Credit::new(LIMITS);
        credit.enter(1, 0);
        credit.enter(2, 0);
        (0..10).for_each(|_| credit.charge_answer(1, 0, 0));
        assert!(!credit.is_in_debt(1, 0), "its burst is just used up");
        credit.charge_answer(1, 0, 0);
        assert!(credit.is_in_debt(1, 0));
        assert!(!credit.is_in_debt(2, 0));
        assert!(credit.is_in_debt(1, 199_999));
        assert!(!credit.is_in_debt(1, 200_000));
    }

    #[test]
    fn dear_answer_counts_as_several_and_debt_has_an_end() {
        let mut credit = Credit::new(LIMITS);
        credit.enter(1, 0);
        credit.charge_answer(1, 10 * WORK_BYTES, 0);
        assert!(credit.is_in_debt(1, 0));
        credit.charge_answer(1, usize::MAX / 2, 0);
        assert!(credit.is_in_debt(1, 1_999_999));
        assert!(!credit.is_in_debt(1, 2_000_000), "the longest wait is over");
    }

    #[test]
    fn coming_back_brings_no_new_credit() {
        let mut credit = Credit::new(LIMITS);
        credit.enter(1, 0);
        credit.charge_answer(1, 20 * WORK_BYTES, 0);
        credit.leave(1);
        credit.sweep(0);
        credit.enter(1, 0);
        assert!(credit.is_in_debt(1, 0));
        credit.leave(1);
        credit.sweep(60_000_000);
        assert!(credit.keys.is_empty(), "a key that owes nothing is forgotten");
    }
}
