//! Files that cannot be opened as a recording.

use ingest::recording::{Format, Limits, OpenError, plan};

use super::{
    Outcome, Scratch,
    fixtures::{document, gz, match_events, match_file, record, stream},
};

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, reason: &str) {
    let scratch = Scratch::new();
    let path = scratch.file("file", bytes);
    let error = Outcome::read(&path, &Limits::default()).err().unwrap();
    let source = std::error::Error::source(&error).map(|it| format!(": {it}"));
    let message = format!("{error}{}", source.unwrap_or_default());
    assert_eq!(message.replace(&path.display().to_string(), "it"), reason);
}

#[test]
fn empty_files_are_not_recordings() {
    refused("", "it is empty");
    refused(" \n\n", "it is empty");
    refused(gz(b""), "it is empty");
}

#[test]
fn unknown_content_is_not_a_recording() {
    let formats = Format::ALL.map(Format::as_str).join(", ");
    let formats = format!("({formats})");
    refused("Div,Date,HomeTeam\n", &format!("it is in no known format {formats}"));
    refused([0xff; 300], &format!("it is in no known format {formats}"));
}

#[test]
fn missing_file_is_named() {
    let error = plan(&["/nowhere/at/all".into()]).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }));
    assert_eq!(error.to_string(), "/nowhere/at/all cannot be read");
}

#[test]
fn companion_alone_names_the_missing_file() {
    let wyscout = "it only goes with a wyscout recording and cannot be played alone: name the file \
        with the match's events as well";
    refused(record("1", "1"), wyscout);
    let slam = "it only goes with a slam-pointbypoint recording and cannot be played alone: name \
        the points file as well";
    refused(match_file("m", "", ""), slam);
}

#[test]
fn missing_columns_and_missing_events_are_reported() {
    refused("match_id,PointNumber\nm,1\n", "it cannot be played: column PointWinner is missing");
    refused(r#"{"matchPeriod":1,"events":[]}"#, "it cannot be played: no events");
    refused(r#"{"events":[{"eventSec":1}]}"#, "it cannot be played: no event that says its match");
}

#[test]
fn document_over_the_limit_is_refused() {
    let scratch = Scratch::new();
    let path = scratch.file("a.json", document(&match_events()));
    let limits = Limits { document_bytes_max: 100, ..Limits::default() };
    let error = Outcome::read(&path, &limits).err().unwrap();
    assert!(matches!(error, OpenError::TooLong { limit: 100, .. }), "{error}");
}

#[test]
fn plan_keeps_recordings_in_the_order_named() {
    let scratch = Scratch::new();
    let one = scratch.file("one", stream(1));
    let names = scratch.file("names", match_file("m", "", ""));
    let two = scratch.file("two", gz(document(&match_events()).as_bytes()));
    assert_eq!(plan(&[two.clone(), names, one.clone()]).unwrap(), [two, one]);
}
