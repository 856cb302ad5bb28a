//! A hub that is saved and restored does exactly what it would have done otherwise.

mod batches;
mod damage;
mod documents;
mod format;
mod recordings;
mod simulated;
mod speed;
mod tails;
mod twin;
