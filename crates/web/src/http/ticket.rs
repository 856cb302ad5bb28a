//! Tickets: a credential for one socket, issued for a key, that may appear in a URL.
//!
//! A ticket lives for 30 seconds and works once, so in a log it is soon worthless. A hub that runs alone keeps its
//! tickets in memory; the nodes of a cluster keep theirs in the database, so that each accepts those of the others.

use std::sync::Arc;

use accounts::{Accounts, AccountsError, Caller};
use axum::{
    Extension, Json,
    extract::State,
    response::{IntoResponse, Response},
};
use dashmap::DashMap;
use data_encoding::HEXLOWER;
use fanout::Micros;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Shared, error::HttpError};
use crate::clock::{monotonic, wall};

/// How long a ticket lives, in microseconds.
const LIFE_US: Micros = 30_000_000;

/// The maximum number of open tickets in memory, 100 bytes each.
const OPEN_MAX: usize = 100_000;

/// The SHA-256 of a ticket, so that what is kept is no credential.
type Hash = [u8; 32];

#[derive(Debug)]
pub(crate) enum Tickets {
    OfThisHub(OpenTickets),
    OfAllNodes(Accounts),
}

/// The tickets of a hub that runs alone. `now` is the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct OpenTickets {
    open: DashMap<Hash, (Caller, Micros)>,
}

impl Tickets {
    pub(crate) fn new(accounts: &Accounts, is_in_cluster: bool) -> Self {
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
    pub(crate) async fn sell(&self, caller: Caller) -> Result<Option<String>, AccountsError> {
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
    pub(crate) async fn redeem(
        &self,
        ticket: &str,
        accounts: &Accounts,
    ) -> Result<Option<Caller>, AccountsError> {
        match self {
            Self::OfThisHub(tickets) => {
                let hash = hash(ticket);
                let Some((caller, until)) = tickets.take(&hash, monotonic()) else {
                    return Ok(None);
                };
                // The key may have been revoked since the ticket was bought.
                let renewed = accounts.renew(&caller).await;
                if renewed.is_err() {
                    // Its owner is asked to repeat the request.
                    tickets.open.insert(hash, (caller, until));
                }
                renewed
            }
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

    /// Its caller, and until when it can be redeemed.
    fn take(&self, hash: &Hash, now: Micros) -> Option<(Caller, Micros)> {
        let (_, ticket) = self.open.remove(hash)?;
        (ticket.1 > now).then_some(ticket)
    }
}

fn hash(ticket: &str) -> Hash {
    Sha256::digest(ticket.as_bytes()).into()
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Ticket {
    ticket: String,
    expires_in_ms: u32,
}

/// A credential for one socket.
///
/// It stands in for the key where an address may end up in a log: it opens one socket within 30 seconds.
#[utoipa::path(
    post, path = "/api/v2/stream/ticket/",
    responses(
        (status = 200, description = "A ticket", body = Ticket),
        (status = 503, description = "Too many unused tickets"),
    )
)]
pub(crate) async fn sell(
    State(shared): State<Arc<Shared>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, HttpError> {
    let ticket = shared.tickets.sell(caller).await?.ok_or(HttpError::Unavailable)?;
    let mut response = Json(Ticket { ticket, expires_in_ms: 30_000 }).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use accounts::config::AccountsConfig;
    use database::testing::on_each;

    use super::*;

    /// The response asks its owner to repeat the request.
    #[tokio::test]
    async fn ticket_is_not_used_up_while_the_database_does_not_answer() {
        on_each(async |database| {
            let accounts = Accounts::new(database, &AccountsConfig::default()).await.unwrap();
            let key = accounts.create_key(None, &[], 0).await.unwrap();
            let other = accounts.create_key(None, &[], 0).await.unwrap();
            let from = Ipv4Addr::LOCALHOST.into();
            let caller = accounts.authenticate(key.expose(), from, 0).await.unwrap().unwrap();
            let tickets = Tickets::OfThisHub(OpenTickets::default());
            let ticket = tickets.sell(caller).await.unwrap().unwrap();
            // After any change the key must be read again.
            accounts.revoke(other.prefix(), 1).await.unwrap();
            accounts.close().await;
            for _ in 0..2 {
                tickets.redeem(&ticket, &accounts).await.unwrap_err();
            }
        })
        .await;
    }
}
