//! A points file: its header, and then a point on each line.

#![no_main]

use ingest::{
    decode::slam::{self, PointColumns},
    normalize::{Played, slam::Normalizer},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _names = slam::matches(bytes);
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let Ok(columns) = PointColumns::from_header(lines.next().unwrap_or_default()) else { return };
    let mut normalizer = Normalizer::new("2012-ausopen-1701", None, 0, 0);
    let mut played = Played::default();
    for line in lines {
        if let Ok(row) = columns.row(line) {
            let _any = normalizer.row(&row, &mut played);
        }
    }
    normalizer.finish(&mut played);
});
