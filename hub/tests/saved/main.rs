//! A hub that is saved and restored does exactly what it would have done otherwise.

mod damage;
mod format;
mod recordings;
mod simulated;
mod speed;
mod tails;
mod twin;
