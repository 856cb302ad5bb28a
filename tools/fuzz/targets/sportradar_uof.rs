//! Messages of the Unified Odds Feed to one interpreter. The first message is the sport of events
//! that are unknown.

#![no_main]

use facts::event::Sport;
use ingest::{decode::sportradar_uof::ControlMessage, normalize::sportradar_uof::Interpreter};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, choice, interpret, messages};

fuzz_target!(|bytes: &[u8]| {
    let (name, rest) = choice(bytes);
    let sport = Sport::ALL.into_iter().find(|sport| sport.as_str().as_bytes() == name);
    let mut interpreter = sport.map_or_else(Interpreter::default, Interpreter::with_default);
    messages(rest).for_each(|message| drop(ControlMessage::parse(message)));
    interpret(rest, &mut interpreter, Promises::default());
});
