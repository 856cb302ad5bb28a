//! Responses of The Odds API to one interpreter, recorded or as from polling. The first message is
//! the price format, with a leading `r` for recorded responses.

#![no_main]

use ingest::normalize::the_odds_api::{Interpreter, PriceFormat};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, choice, interpret};

fuzz_target!(|bytes: &[u8]| {
    let (name, rest) = choice(bytes);
    let format = match name.strip_prefix(b"r").unwrap_or(name) {
        b"american" => PriceFormat::American,
        b"decimal" => PriceFormat::Decimal,
        _ => PriceFormat::Auto,
    };
    let mut interpreter = match name.first() {
        Some(b'r') => Interpreter::recorded(format),
        _ => Interpreter::new(format),
    };
    interpret(rest, &mut interpreter, Promises::default());
});
