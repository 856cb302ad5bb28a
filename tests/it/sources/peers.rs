//! The peers of the ingest crate's tests, which serve as providers here too.

#[path = "../../../ingest/tests/source/support/betfair/mod.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod betfair;
#[path = "../../../ingest/tests/live/broker.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod broker;
#[path = "../../../ingest/tests/live/http.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod http;
#[path = "../../../ingest/tests/live/provider.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod provider;
#[path = "../../../ingest/tests/source/support/recorded.rs"]
pub(crate) mod recorded;
#[path = "../../../ingest/tests/live/socket.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod socket;
