//! What Matchwire stores of matches, and the answers to queries about them.
//!
//! **In:** records of changed matches, every 100 ms. **Out:** the live reader, the archive with its price
//! history, Elo ratings, football predictions, and the query layer that REST and pages use. **Must not
//! know** HTTP, channels, accounts or the hub.
//!
//! # From the hub to the archive
//!
//! The program adds the hub's exports to records. The `Reader` holds these in memory for requests. The
//! inbox holds the latest record of each match, so it does not grow while the database is unavailable.
//! `ArchiveWorker` writes two hundred matches at a time: first the matches and the entities that they name, in
//! one transaction, then their prices. Failed writes are repeated.
//!
//! Written are the record as JSON, its summary, the entities (teams, players, competitions, venues),
//! appearances of players, and prices that changed. A cache of the last written state makes an unchanged
//! match free. Prices that come and go between two writes are kept too (`PriceTrail`), one per second of the
//! source's clock, so that neither an import nor a quick replay leaves them out. Ticks of a price always
//! increase in time, even if the source sends them out of order. Only a price that its source withdraws gets a
//! tick without a price.
//!
//! **After a restart** the hub may know less of a match than the archive. Reported values win; missing
//! ones stay (`MatchRecord::merged_over`, sport by sport). The merge starts from the record as it was
//! when this program first saw the match, so later retractions take effect. A match that no source
//! reports for long after its start, or that was in play when the hub was killed, becomes `unresolved`.
//!
//! **Several programs** may write to one database: an import next to the hub, or another hub. Every write
//! takes the next number of one row and holds that row until its commit, so changes become visible in
//! order and a reload misses none.
//!
//! # Queries
//!
//! Every list of matches is a `MatchQuery`, from the interface that reads it to the index that answers it.
//! Lists are answered from memory: the index holds the summaries of all matches in list order, with
//! posting lists of competitions, seasons, teams, venues, referees and coaches. Rows are in blocks with
//! counts, so the last page costs as much as the first. Details are read by primary key.
//!
//! A view combines both states by one rule: while the hub has a match, its record counts; afterwards the
//! archive's. Entities of a match are searchable as soon as it is exported (`Archive::announce`), before
//! they are written.
//!
//! # Ratings and predictions
//!
//! Both read archived results only. Ratings are Elo. Predictions fit one Dixon-Coles model per football
//! competition, and refit it when results arrive. Neither uses bookmakers' prices.

pub mod archive;
pub mod config;
mod match_query;
pub mod predict;
pub mod query;
pub mod rating;
pub mod reader;
pub mod signal_board;
pub mod write_progress;

use base::{clock, supervisor};
use record::ids;
