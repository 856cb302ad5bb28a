//! Live sources against scripted peers on real sockets.

mod betfair;
mod support;
