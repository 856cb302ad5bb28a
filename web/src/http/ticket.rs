//! Tickets: a credential for one socket, issued for a key, that may appear in a URL.
//!
//! A ticket lives for 30 seconds and works once, so in a log it is soon worthless. A hub that runs alone keeps its
//! tickets in memory; the nodes of a cluster keep theirs in the database, so that each accepts those of the others.

use accounts::{Accounts, AccountsError, Caller};
use dashmap::DashMap;
use data_encoding::HEXLOWER;
use fanout::Micros;
use sha2::{Digest, Sha256};

use crate::clock::{monotonic, wall};

/// How long a ticket lives, in microseconds.
const LIFE_US: Micros = 30_000_000;

/// The maximum number of open tickets in memory, 100 bytes each.
const OPEN_MAX: usize = 100_000;

/// The SHA-256 of a ticket, so that what is kept is no credential.
type Hash = [u8; 32];

#[derive(Debug)]
pub(super) enum Tickets {
    OfThisHub(OpenTickets),
    OfAllNodes(Accounts),
}

/// The tickets of a hub that runs alone. `now` is the monotonic clock.
#[derive(Debug, Default)]
pub(super) struct OpenTickets {
    open: DashMap<Hash, (Caller, Micros)>,
}

impl Tickets {
    pub(super) fn new(accounts: &Accounts, is_in_cluster: bool) -> Self {
        if is_in_cluster {
            Self::OfAllNodes(accounts.clone())
        } else {
            Self::OfThisHub(OpenTickets::default())
        }
    }

    /// Issues a ticket; `None` if too many are open, or the system returns no random bytes.
    ///
    /// # Errors
    ///
    /// If the account store fails.
    pub(super) async fn sell(&self, caller: Caller) -> Result<Option<String>, AccountsError> {
        let mut random = [0; 20];
        if getrandom::fill(&mut random).is_err() {
            return Ok(None);
        }
        let ticket = HEXLOWER.encode(&random);
        let hash = hash(&ticket);
        let is_issued = match self {
            Self::OfThisHub(tickets) => tickets.insert(hash, caller, monotonic()),
            Self::OfAllNodes(accounts) => {
                let now = wall();
                accounts.store_ticket(&hash, &caller, now + LIFE_US, now).await?
            }
        };
        Ok(is_issued.then_some(ticket))
    }

    /// Redeems a ticket; returns its caller if it is still valid.
    ///
    /// # Errors
    ///
    /// If the account store fails.
    pub(super) async fn redeem(
        &self,
        ticket: &str,
        accounts: &Accounts,
    ) -> Result<Option<Caller>, AccountsError> {
        match self {
            Self::OfThisHub(tickets) => match tickets.take(&hash(ticket), monotonic()) {
                // The key may have been revoked since the ticket was bought.
                Some(caller) => accounts.renew(&caller).await,
                None => Ok(None),
            },
            Self::OfAllNodes(accounts) => accounts.redeem_ticket(&hash(ticket), wall()).await,
        }
    }
}

impl OpenTickets {
    /// False if too many are open.
    fn insert(&self, hash: Hash, caller: Caller, now: Micros) -> bool {
        if self.open.len() >= OPEN_MAX {
            self.open.retain(|_, (_, until)| *until > now);
        }
        let has_room = self.open.len() < OPEN_MAX;
        if has_room {
            self.open.insert(hash, (caller, now + LIFE_US));
        }
        has_room
    }

    fn take(&self, hash: &Hash, now: Micros) -> Option<Caller> {
        let (_, (caller, until)) = self.open.remove(hash)?;
        (until > now).then_some(caller)
    }
}

fn hash(ticket: &str) -> Hash {
    Sha256::digest(ticket.as_bytes()).into()
}
