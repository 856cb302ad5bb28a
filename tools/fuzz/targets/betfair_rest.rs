//! Responses of `listMarketBook` to one interpreter, with one market listed beforehand.

#![no_main]

use ingest::normalize::betfair::book::{Interpreter, Listing};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, interpret};

fuzz_target!(|bytes: &[u8]| {
    let mut interpreter = Interpreter::default();
    let listing = Listing {
        event_id: "77".to_owned(),
        event_type_id: Some("2".to_owned()),
        event_name: Some("Ann v Bea".to_owned()),
        market_type: Some("MATCH_ODDS".to_owned()),
        selections: vec![1, 2],
        ..Listing::default()
    };
    interpreter.list("1.5".to_owned(), listing);
    interpret(bytes, &mut interpreter, Promises::default());
});
