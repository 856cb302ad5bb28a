//! The program as a stranger meets it: the real binary, real sockets, real recordings.

mod replay;
mod resume;
mod support;
