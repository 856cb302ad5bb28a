//! A file of points, preceded by a file of matches.

#![no_main]

use ingest::{
    decode::slam::{self, PointColumns},
    normalize::{Interpretation, slam::Normalizer},
};
use libfuzzer_sys::fuzz_target;
use matchwire_fuzz::{Promises, Witness, choice};

fuzz_target!(|bytes: &[u8]| {
    let (matches, points) = choice(bytes);
    let record = slam::matches(matches).unwrap_or_default().into_iter().next();
    let mut lines = points.split(|byte| *byte == b'\n');
    let Ok(columns) = PointColumns::from_header(lines.next().unwrap_or_default()) else { return };
    let mut normalizer = Normalizer::new("2012-ausopen-1701", record, 0);
    let mut played = Interpretation::default();
    let rows: Vec<_> = lines.filter_map(|line| columns.row(line).ok()).collect();
    for (at, row) in rows.iter().enumerate() {
        if matches!(normalizer.admit(row), Ok(true)) {
            let _wrong = normalizer.row(row, rows.get(at + 1), &mut played);
        }
    }
    normalizer.finish(&mut played);
    // Each row has its own.
    let notices_max = 8 + bytes.len();
    Witness::new(Promises { notices_max, ..Promises::default() }).check(&played);
});
