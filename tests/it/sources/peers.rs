//! The peers of the tests of the crate `sources`, which serve as providers here too.

#[path = "../../../crates/sources/tests/it/support/betfair/mod.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod betfair;
#[path = "../../../crates/sources/tests/it/live/broker.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod broker;
#[path = "../../../crates/sources/tests/it/live/http.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod http;
#[path = "../../../crates/sources/tests/it/live/provider.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod provider;
#[path = "../../../crates/sources/tests/it/support/recorded.rs"]
pub(crate) mod recorded;
#[path = "../../../crates/sources/tests/it/live/socket.rs"]
#[expect(dead_code, reason = "the tests of the source use all of it")]
pub(crate) mod socket;
