//! Bytes to a feed's own messages: pure, one module for each format, none knows another.

pub mod betfair;
