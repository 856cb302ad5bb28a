//! Publications in, frames out.
