//! The peers of the ingest crate's tests, which serve as providers here too.

#[path = "../../../ingest/tests/it/support/betfair/mod.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod betfair;
#[path = "../../../ingest/tests/it/live/broker.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod broker;
#[path = "../../../ingest/tests/it/live/http.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod http;
#[path = "../../../ingest/tests/it/live/provider.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod provider;
#[path = "../../../ingest/tests/it/support/recorded.rs"]
pub(crate) mod recorded;
#[path = "../../../ingest/tests/it/live/socket.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod socket;
