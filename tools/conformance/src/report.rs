//! What a client reports, and whether that is what the script expects.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::script::Script;

/// Lines that are counted; a client that prints more is not believed.
const LINES_MAX: usize = 100_000;

/// The last state of each channel, and all its events in order.
#[derive(Debug, Default)]
pub struct Report {
    channels: BTreeMap<String, Line>,
    lines: usize,
}

/// One line: a channel as it is now, and the events since the channel's line before.
#[derive(Debug, Default, Deserialize)]
struct Line {
    ch: String,
    #[serde(default)]
    epoch: Option<String>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    sha256: Option<String>,
    #[serde(default)]
    events: Vec<String>,
}

impl Report {
    /// Adds a line. Lines that are no report are the client's own output, and ignored.
    pub fn add(&mut self, line: &str) {
        let Ok(mut line) = serde_json::from_str::<Line>(line) else { return };
        self.lines += 1;
        if self.lines > LINES_MAX {
            return;
        }
        if let Some(earlier) = self.channels.remove(&line.ch) {
            line.events.splice(0..0, earlier.events);
        }
        self.channels.insert(line.ch.clone(), line);
    }

    /// Compares with what the script expects at its end.
    ///
    /// # Errors
    ///
    /// The first difference, in words.
    pub fn check(&self, script: &Script) -> Result<(), String> {
        let nothing = Line::default();
        for (ch, expected) in script.outcome() {
            let reported = self.channels.get(ch).unwrap_or(&nothing);
            if reported.events != expected.events {
                let (events, expected) = (&reported.events, &expected.events);
                return Err(format!("{ch}: events {events:?}, expected {expected:?}"));
            }
            if expected.gone {
                continue;
            }
            let (Some(epoch), Some(seq), Some(sha256)) =
                (&reported.epoch, reported.seq, &reported.sha256)
            else {
                return Err(format!("{ch}: no document is reported"));
            };
            if (epoch, seq) != (&expected.epoch, expected.seq) {
                let (expected_epoch, expected_seq) = (&expected.epoch, expected.seq);
                return Err(format!(
                    "{ch}: at {epoch}/{seq}, expected {expected_epoch}/{expected_seq}"
                ));
            }
            if *sha256 != expected.sha256 {
                let expected = &expected.sha256;
                return Err(format!("{ch}: another document: hash {sha256}, expected {expected}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = r#"{"case":"x","about":"","follow":["a","b"]}
{"expect":{"ch":"a","epoch":"e","seq":1,"sha256":"00","events":["g1"],"health":"live"}}
{"expect":{"ch":"b","gone":true,"events":[]}}
{"expect":{"ch":"a","epoch":"e","seq":4,"sha256":"ff","events":["g2","g3"],"health":"live"}}
"#;

    #[track_caller]
    fn check(lines: &[&str], expected: Result<(), &str>) {
        let script = Script::parse(SCRIPT).expect("a script");
        let mut report = Report::default();
        for line in lines {
            report.add(line);
        }
        assert_eq!(report.check(&script), expected.map_err(str::to_owned));
    }

    #[test]
    fn last_line_of_a_channel_and_the_events_of_all_count() {
        let end = r#"{"ch":"a","epoch":"e","seq":4,"sha256":"ff","events":["g1","g2","g3"]}"#;
        check(&[end], Ok(()));
        check(
            &[
                r#"{"ch":"a","epoch":"e","seq":1,"sha256":"12","events":["g1"]}"#,
                "a line of a log",
                r#"{"ch":"b","epoch":"e","seq":9,"sha256":"34"}"#,
                r#"{"ch":"a","epoch":"e","seq":3,"sha256":"56","events":["g2"],"more":1}"#,
                r#"{"ch":"a","epoch":"e","seq":4,"sha256":"ff","events":["g3"]}"#,
            ],
            Ok(()),
        );
    }

    #[test]
    fn differences_are_named() {
        let events = r#"a: events ["g1", "g1", "g2"], expected ["g1", "g2", "g3"]"#;
        check(&[r#"{"ch":"a","events":["g1","g1","g2"]}"#], Err(events));
        let all = r#""events":["g1","g2","g3"]"#;
        check(&[&format!(r#"{{"ch":"a",{all}}}"#)], Err("a: no document is reported"));
        check(
            &[&format!(r#"{{"ch":"a","epoch":"e","seq":3,"sha256":"ff",{all}}}"#)],
            Err("a: at e/3, expected e/4"),
        );
        check(
            &[&format!(r#"{{"ch":"a","epoch":"e","seq":4,"sha256":"fe",{all}}}"#)],
            Err("a: another document: hash fe, expected ff"),
        );
    }
}
