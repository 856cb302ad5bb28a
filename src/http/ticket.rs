//! Tickets: a credential for one socket, bought with a key, that may stand in a URL.
//!
//! A ticket lives 30 seconds and works once, so one that ends in a log is worth nothing by then. `now` is
//! the monotonic clock.

use dashmap::DashMap;
use fanout::Micros;
use sha2::{Digest, Sha256};

use crate::accounts::Caller;

/// How long a ticket lives, in microseconds.
const LIFE_US: Micros = 30_000_000;

/// Tickets that may wait at a time; 100 bytes each.
const WAITING_MAX: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Tickets {
    /// By the ticket's hash, so that the table itself opens nothing.
    waiting: DashMap<[u8; 32], (Caller, Micros)>,
}

impl Tickets {
    /// Sells a ticket; `None` when too many wait, or the system gives no random bytes.
    pub(super) fn sell(&self, caller: Caller, now: Micros) -> Option<String> {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.retain(|_, (_, until)| *until > now);
        }
        if self.waiting.len() >= WAITING_MAX {
            return None;
        }
        let mut random = [0; 20];
        getrandom::fill(&mut random).ok()?;
        let ticket: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        self.waiting.insert(hash(&ticket), (caller, now + LIFE_US));
        Some(ticket)
    }

    /// Takes a ticket in; who bought it, if it is still good.
    pub(super) fn redeem(&self, ticket: &str, now: Micros) -> Option<Caller> {
        let (_, (caller, until)) = self.waiting.remove(&hash(ticket))?;
        (until > now).then_some(caller)
    }
}

fn hash(ticket: &str) -> [u8; 32] {
    Sha256::digest(ticket.as_bytes()).into()
}
