//! The single writer: facts of all sources in, numbered changes of channels out.
//!
//! **In:** facts of recordings, live sources and pushes; catch-up requests; operators' orders about
//! matches. **Out:** records of the log; publications for the fan-out, images of channels, exports of what
//! changed in matches, refused messages. **Must not know** client sockets, HTTP, accounts or the archive.
//!
//! The state has no clock, no I/O and no lock: it is a function of its inputs ([`HubInput`]). One thread, the
//! writer, owns it. Each turn takes the inputs that are ready (at most 64), applies them, hands the turn over,
//! and then answers requests (at most 64). The committer (`commit`) appends turns to the log, then publishes
//! them, then sends the answers, so an answer comes after every change that it contains, and nothing is shown
//! that is not in the log. The follower ([`follower`]) applies the inputs of the log to a hub of its own, for the
//! history and for snapshots. [`restart`] opens the log at a start, and [`recovery`] restores a hub from a snapshot and
//! the records after it.
//!
//! # Identity
//!
//! A fact arrives under the id that follows from its provider's key. `Identity::resolve` returns the id
//! of the match: by an earlier decision, otherwise by a rule that compares sides, start and sport. The
//! rule joins, separates, or is in doubt. Decisions are stored and loaded at the next start, so ids are
//! permanent. If late names or an operator's order join or split matches, `Match::take_contribution`
//! moves what one provider reported. If a feed has the sides in the other order, `Hub::orient_sides`
//! swaps its facts.
//!
//! # State
//!
//! `Match::apply` changes typed state and records which parts of the documents changed. For each kind of
//! fact (fixture, score, incidents, statistics, ball, odds) one source is primary: the highest rank that
//! is live, and among equals the first (`PrimarySources`). With a second source, each source has a
//! `SourceView` next to the public state. When the primary source fails, `Match::succeed` applies the
//! view of the next one as new facts, except a score that is behind the public one. Sources name a goal
//! differently: `Match::public_name` finds a public incident of the same kind and side within three
//! minutes, so clients see one `eid`.
//!
//! Books are never merged. A second source's book of the same bookmaker is a standby. When it takes over,
//! the channel is closed and reopened with another epoch.
//!
//! # Health of sources
//!
//! A source reports its health, or misses its deadline. The writer checks deadlines only while its queue
//! is empty, because a source with waiting input is not silent. `Hub::set_source_health` performs in one
//! turn, in this order: other sources take over what they can; the remaining books are suspended, with
//! the consensus; boards and headers change; rate tiers flush; the channel `feeds` changes last. A source
//! is live again when it reports completeness: an image, a resume, a complete answer.
//!
//! A guard suspends a whole book while its feed is not live, or after a goal, a red card or the start of a
//! VAR check, until a market reopens or a price is late enough by the source's clock. The bookmaker's own
//! statuses stay underneath. The consensus ignores suspended books.
//!
//! # Channels
//!
//! A match owns its channels, so one look-up finds its state, sequences, tails and rate tiers.
//! `Sequence::push` numbers a change and appends it to the tail, bounded in bytes and age. Prices are
//! the bulk of it: their patches are flat lists of fields (`patch`), which become trees when they are
//! merged. A client that resumes gets the tail since its position, merged between events, or the image.
//! The tail is merged in aligned blocks of 64 updates that all clients share. One answer costs at most
//! 64 KiB of merging and rendering, all answers of a turn at most 128 KiB; the rest comes later. A
//! channel that reports on others (`feeds`) is delivered last.
//!
//! A rate tier is one channel at one `every_ms`. It holds at most one merged patch, and closes with
//! the last lease. Events and suspensions pass immediately, after the pending patch.
//!
//! The older sockets follow a match as a *legacy channel* with its own numbers and tail. It exists while it
//! is followed, and one minute longer. The hub's tick finds periodic frames that are due, without timers.
//!
//! # Exports
//!
//! Every 100 ms of the records' time the follower exports what changed in each match: the play, and the markets
//! with a change. The cost does not grow with prices that stay the same. Its receiver adds the changes to records
//! (`record::LiveRecords`). The writer has no part in it. After a restart the first export is one of everything that the
//! hub has. What it no longer has (the last state of removed matches, signals) and the database did not have yet is part
//! of the saved state ([`Unwritten`]).
//!
//! # Saving
//!
//! The whole state has a binary form (`saved`): a hub that is restored from it does exactly what the saved
//! one would have done. What readers have made (tails, rate tiers, cached images) is not part of it; frames of
//! the log can be put back into the tails ([`tails`]), where each is read when a reader needs it. Nothing that leaves the
//! hub may depend on the order of a hash map, since a restored one has another order.
//!
//! # Test channels
//!
//! The channels below `test/` belong to another hub ([`test_channels`]), which is a function of the time and has neither a
//! log nor a part in any list. It answers the fan-out's requests about them.
//!
//! # Limits
//!
//! | queue or resource | limit | beyond it |
//! |---|---|---|
//! | inputs waiting for the writer | `hub.inbox_batches` | feeds wait |
//! | pushed bodies per source, lines handed in at once | 1, 64 | wait for `ingest.wait_ms`, then 409 or 503 |
//! | matches | `hub.matches_max`, `hub.matches_max_per_source` | an ended match is evicted, or the new one refused |
//! | tail of a channel | `hub.tail_bytes`, `hub.tail_ms` | an image |
//! | identity decisions waiting to be stored; doubts | 65,536; 10,000 | valid for this run only; the oldest go |
//! | remembered lines per source; ids of signals | `ingest.ids_max`; 65,536 | the oldest count as new |
//! | frames of a legacy channel; balls and actions of a match | 256 and `hub.tail_ms`; 30 each | a snapshot; the oldest go |
//! | turns and answers waiting for the committer; those that it holds while the log refuses records | 128; 1,024 | the writer waits |
//! | turns waiting for the follower, with requests for images | 1,024 | it reads them from the log; readers wait |
//! | traces under way or waiting for their receiver | 256 | messages are not traced, and counted |
//! | requests about test channels | one for each socket | dropped, only while stopping |
//! | readers waiting for a sequence over HTTP, and those of an account | 1,024; 64 | the oldest gets the current image |
//! | readers waiting for a document that takes more than 1 ms to render | 100,000; nine times as long as it took | it is rendered |
//! | quarantine | `feeds.quarantine_bytes_max`, `feeds.quarantine_age_ms` | the oldest messages go |
//! | states of sources that wait for the database, kept of each | 1,024, 100 | not in the history; the oldest go |

mod canonical;
pub mod catch_up;
pub mod channels;
mod commit;
pub mod config;
pub mod dialect;
pub mod document;
pub mod follower;
mod formats;
pub mod forward;
mod hub;
pub mod identity;
pub mod load_source;
pub mod log_state;
pub mod patch;
pub mod pipeline;
pub mod push;
pub mod quarantine;
pub mod recovery;
pub mod restart;
pub mod signals;
pub mod sources;
pub mod tails;
pub mod test_channels;
pub mod trace;
pub mod turn;
pub mod watch;
pub mod wire;

use base::{clock, supervisor};
use record::ids;

pub use self::{commit::LoggedTurn, hub::*};
