//! Access and payment: accounts, products, payments, mail, usage and limits.
//!
//! **In:** forms, log-ins, keys, orders, webhooks, requests to count, and `now`. **Out:** callers with
//! their entitlements, changes of keys for open sockets, mails. **Must not know** matches, channels,
//! sockets, or the pages that call it.
//!
//! # Accounts
//!
//! Keys are stored as keyed hashes only. `Accounts::authenticate` answers from a cache; a change, by this
//! or another program, invalidates the cache first and then reaches the receivers of `Accounts::changes`,
//! which close sockets. If the database does not answer, no key is declared invalid: the request gets
//! 503.
//!
//! Registration hashes the password whether or not the address is known, and writes a link and its mail
//! in one transaction. The password waits in the row of the link, with the digest of the browser. A link
//! is its row's number and a signature, made when the mail is sent. It proves only the address: the
//! account's password becomes the one of the browser that registered, or one typed on the link's page.
//! Links work once; an update of an unused row decides between two simultaneous uses.
//!
//! **Lock order:** a change of an account locks its row first, then the rows that belong
//! to it, then the number of the change. No transaction uses another order.
//!
//! # Access
//!
//! `access::decide` is the only place that says whether a caller may have something: REST, sockets, MCP and webhooks ask
//! it, and render its denial as a status, a close or an error. `access/tests.rs` has the answers as a table.
//!
//! # Payments
//!
//! Providers are slow, repeat themselves and report out of order, and this process may stop between two
//! steps. So reports are stored as facts that only grow, paid days follow from the facts, and every
//! request to a provider can be repeated. The ledger records every day granted or removed.
//!
//! # Mail
//!
//! A mail is a row, written in the transaction of its cause. A `MailWorker` polls twice a second for rows
//! that are due and claims one by moving its due time, which fails if another worker was faster. It
//! renders the mail with its link at that moment, and sends it. Delivery is at least once, with the same
//! `Message-ID`.
//!
//! # Connected applications
//!
//! `OAuth` keeps the grants by which applications use the MCP servers for a customer. A grant is a row of
//! the table of keys, so everything that changes or revokes keys covers it. `clients` fetches the metadata
//! documents by which applications identify themselves, from public addresses only.
//!
//! # Usage and limits
//!
//! The fan-out reports deliveries and socket time at each beat and at the end; handlers report requests.
//! Tallies in memory are written in one transaction every few seconds. `Limits` bounds addresses, wrong
//! keys, log-ins, mails, daily quotas, and the CPU time of an account's requests.
//!
//! | resource | limit | beyond it |
//! |---|---|---|
//! | CPU time of an account's requests | `limits.account_cpu_percent`, `limits.account_cpu_burst_ms`, `limits.account_waiting_max` | they queue; then 429 |
//! | password hashes at a time; waiting | `accounts.password_hashes_max`; `accounts.password_waiting_max` | they queue; then 503 |
//! | PayPal webhook checks | 2 per account, 4 for all unknown orders, `payments.webhook_checks_per_minute` | 503; PayPal repeats |
//! | grants of an account | `oauth.grants_max_per_account` | the one not used for the longest time is revoked |
//! | client documents: bytes, time, fetched at a time, cached | `oauth.client_bytes_max`, `oauth.client_timeout_ms`, `oauth.client_fetches_max`, `oauth.clients_cached_max` | refused; refused; refused; the oldest is dropped |
//! | usage counters | `usage.entries_max` | not counted, and reported by a metric |

mod accounts;
pub mod books;
pub mod clients;
pub mod config;
pub mod limits;
pub mod mail;
pub mod payments;
pub mod products;
pub mod usage;

pub use base::{clock, percent, supervisor};

pub use self::accounts::*;
