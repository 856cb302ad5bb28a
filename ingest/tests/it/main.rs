//! What feeds send, damaged files among it, and the facts that come of it.

mod bad_input;
mod recordings;
