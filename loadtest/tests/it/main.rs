//! The program as a whole, against small servers of our own that do what they should, or on purpose
//! do not: over real sockets, judged by the exit code and the JSON file.

mod bare;
mod stream;
mod support;
