//! A feed's own messages to our events: order, corrections, stable ids; pure, without a clock.

pub mod betfair;
