//! Tickets: a credential for one socket, issued for a key, that may appear in a URL.
//!
//! A ticket lives for 30 seconds and works once, so in a log it is soon worthless. `now` is the monotonic
//! clock.

use dashmap::DashMap;
use data_encoding::HEXLOWER;
use fanout::Micros;
use sha2::{Digest, Sha256};

use accounts::Caller;

/// How long a ticket lives, in microseconds.
const LIFE_US: Micros = 30_000_000;

/// The maximum number of open tickets, 100 bytes each.
const WAITING_MAX: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Tickets {
    /// Keyed by the ticket's hash, so that the table itself is no credential.
    waiting: DashMap<[u8; 32], (Caller, Micros)>,
}

impl Tickets {
    /// Issues a ticket; `None` if too many are open, or the system returns no random bytes.
    pub(super) fn sell(&self, caller: Caller, now: Micros) -> Option<String> {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.retain(|_, (_, until)| *until > now);
        }
        if self.waiting.len() >= WAITING_MAX {
            return None;
        }
        let mut random = [0; 20];
        getrandom::fill(&mut random).ok()?;
        let ticket = HEXLOWER.encode(&random);
        self.waiting.insert(hash(&ticket), (caller, now + LIFE_US));
        Some(ticket)
    }

    /// Redeems a ticket; returns its caller if it is still valid.
    pub(super) fn redeem(&self, ticket: &str, now: Micros) -> Option<Caller> {
        let (_, (caller, until)) = self.waiting.remove(&hash(ticket))?;
        (until > now).then_some(caller)
    }
}

fn hash(ticket: &str) -> [u8; 32] {
    Sha256::digest(ticket.as_bytes()).into()
}
