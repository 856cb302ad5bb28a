//! Lines of a stream that cannot be used or read.

use ingest::recording::{Limits, Recording, Step};

use super::{
    Outcome, Scratch,
    fixtures::{bz2, gz, market, stream},
};

#[test]
fn garbage_is_refused_with_its_line_and_the_stream_goes_on() {
    let text = format!("{}\r\n}}}}garbage\n\n{}\n[1,\n{}\n", market(1), market(2), market(3));
    let outcome = Outcome::of_bytes("a.jsonl", text);
    assert_eq!(outcome.batches, 3);
    assert_eq!(outcome.refused(), [("syntax", 2), ("syntax", 5)]);
    assert_eq!(outcome.refusals[0].bytes, b"}}garbage");
}

#[test]
fn garbage_in_the_first_line_does_not_hide_the_format() {
    let outcome = Outcome::of_bytes("a", format!("\u{0}?\n{}", stream(2)));
    assert_eq!((outcome.batches, outcome.refused()), (2, vec![("syntax", 1)]));
}

#[test]
fn complete_last_line_without_newline_is_used() {
    let outcome = Outcome::of_bytes("a", stream(2).trim_end());
    assert_eq!((outcome.batches, outcome.refused()), (2, vec![]));
}

#[test]
fn last_line_that_is_cut_is_truncated() {
    let mut text = stream(3);
    text.truncate(text.len() - 40);
    let outcome = Outcome::of_bytes("a", text);
    assert_eq!((outcome.batches, outcome.refused()), (2, vec![("truncated", 3)]));
}

#[test]
fn everything_before_the_cut_of_a_gz_is_delivered() {
    // Stored without compression, so that the location of the cut is known.
    let text = stream(1000);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let mut packed = packed.finish().unwrap();
    packed.truncate(packed.len() / 2);
    let outcome = Outcome::of_bytes("a.jsonl", packed);
    assert!((480..=500).contains(&outcome.batches), "{} before the cut", outcome.batches);
    assert_eq!(outcome.refused(), [("truncated", outcome.batches as u64 + 1)]);
}

#[test]
fn cut_bz2_ends_with_a_refusal() {
    let whole = bz2(stream(5).as_bytes());
    let packed = [&whole, &whole[..whole.len() / 2]].concat();
    let outcome = Outcome::of_bytes("a", packed);
    assert_eq!((outcome.batches, outcome.refused()), (5, vec![("truncated", 6)]));
}

#[test]
fn all_members_of_a_compressed_file_are_read() {
    let text = stream(5);
    let (head, tail) = text.as_bytes().split_at(text.len() / 3);
    for packed in [[gz(head), gz(tail)].concat(), [bz2(head), bz2(tail)].concat()] {
        let outcome = Outcome::of_bytes("named.wrong.txt", packed);
        assert_eq!((outcome.batches, outcome.refused()), (5, vec![]));
    }
}

#[test]
fn line_over_the_limit_is_refused_once() {
    let scratch = Scratch::new();
    let text = format!("{}\n{}\n{}\n", market(1), "x".repeat(1 << 20), market(2));
    let path = scratch.file("a", text);
    let limits = Limits { message_bytes_max: 1 << 16, ..Limits::default() };
    let outcome = Outcome::read(&path, &limits).unwrap();
    assert_eq!((outcome.batches, outcome.refused()), (2, vec![("too_long", 2)]));
    assert_eq!(outcome.refusals[0].bytes.len(), ingest::error::Refusal::BYTES_MAX);
}

#[test]
fn clock_is_the_publish_time() {
    let scratch = Scratch::new();
    let path = scratch.file("a", stream(2));
    let recording = Recording::open(&path, &[], 0, &Limits::default()).unwrap();
    let clocks = recording.filter_map(|step| match step {
        Step::Batch(timed) => Some(timed.clock_us),
        Step::Refused(_) => None,
    });
    assert_eq!(clocks.collect::<Vec<_>>(), [1000, 2000]);
}
