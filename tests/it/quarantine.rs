//! Refused input, inspected from the operator's terminal while the hub runs.

use serde_json::Value;

use crate::support::{Hub, QUIET, program};

const FIXTURE: &str = r#"{"id":"f","sport":"hockey","match":"m1","fact":{"fixture":{}}}"#;
const SCORE: &str = r#"{"id":"s","sport":"hockey","match":"m1","fact":{"scoreboard":{"status":"live","score":[1,0]}}}"#;

fn quarantine(hub: &Hub, word: &str, more: &[&str]) -> String {
    let mut command = program();
    let output = command.args(["feeds", "quarantine", word, "--db"]).arg(hub.db()).args(more);
    let output = output.output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("an answer is text")
}

#[tokio::test]
async fn refused_lines_can_be_retried() {
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let key = hub.feed_key("acme", &[]);
    let token = format!("Token {key}");
    let headers = [("authorization", &*token)];
    let post = async |body: &[u8]| hub.post("/ingest/v1/acme", &headers, body).await.json();
    // Its match is not known yet; the other is not valid at all.
    let answer = post(&[SCORE.as_bytes(), b"\n\xff\x00"].concat()).await;
    assert_eq!(answer["refused"], 2, "{answer}");

    let list = quarantine(&hub, "list", &[]);
    let rows: Vec<Vec<&str>> = list.lines().map(|row| row.split('\t').collect()).collect();
    assert_eq!(rows.len(), 3, "{list}");
    assert_eq!(rows[1][1..5], ["syntax", "acme", "matchwire-events", "acme:2"], "{list}");
    assert_eq!(rows[2][1..5], ["unknown", "acme", "matchwire-events", "acme:1"], "{list}");
    assert_eq!(quarantine(&hub, "list", &["--kind", "unknown"]).lines().count(), 2);
    assert_eq!(quarantine(&hub, "list", &["--source", "other"]).lines().count(), 1);
    assert_eq!(quarantine(&hub, "list", &["--source", "other", "--json"]), "");
    let listed = quarantine(&hub, "list", &["--kind", "unknown", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("one object");
    assert_eq!(listed["place"], "acme:1", "{listed}");
    let exported = quarantine(&hub, "export", &[]);
    let exported: Vec<Value> =
        exported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&exported[0]["base64"], &exported[1]["bytes"]), (&"/wA=".into(), &SCORE.into()));

    let tried = quarantine(&hub, "retry", &[]);
    assert!(tried.contains("refused\tacme\tacme:2\tsyntax"), "{tried}");
    assert!(tried.contains("usable\tacme\tacme:1\n1 usable now, 1 not\n"), "{tried}");
    let url = format!("http://{}", hub.address);
    let push = ["--push", &url, "--key", &key];
    // The hub still refuses it for the same reason, and quarantines it again.
    let tried = quarantine(&hub, "retry", &push);
    assert!(tried.contains("refused by the hub\tacme\tacme:1\tmatch"), "{tried}");
    assert!(tried.ends_with("0 pushed and dropped from the quarantine\n"), "{tried}");
    assert_eq!(post(FIXTURE.as_bytes()).await["accepted"], 1);
    let tried = quarantine(&hub, "retry", &push);
    assert!(tried.ends_with("2 pushed and dropped from the quarantine\n"), "{tried}");
    let list = quarantine(&hub, "list", &[]);
    assert!(list.lines().count() == 2 && list.contains("syntax"), "{list}");
    let answer = post(SCORE.as_bytes()).await;
    assert_eq!(answer["duplicate"], 1, "it was pushed with its id: {answer}");
}

#[tokio::test]
async fn wrong_key_is_reported_and_never_shown() {
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let key = hub.feed_key("acme", &[]);
    let token = format!("Token {key}");
    hub.post("/ingest/v1/acme", &[("authorization", &token)], SCORE.as_bytes()).await;
    let wrong = format!("mwf_{}", "5ec2e7".repeat(8));
    let url = format!("http://{}", hub.address);
    let mut command = program();
    let retry = command.args(["feeds", "quarantine", "retry", "--db"]).arg(hub.db());
    let output = retry.args(["--push", &url, "--key", &wrong]).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("/ingest/v1/acme answered 401"), "{error}");
    assert!(!error.contains("5ec2e7"), "{error}");
}
