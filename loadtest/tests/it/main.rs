//! The program as a whole, over real sockets, against small test servers that behave correctly or
//! have a deliberate fault. The tests check the exit code and the JSON file.

mod bare;
mod hubs;
mod stream;
mod support;
mod tls;
