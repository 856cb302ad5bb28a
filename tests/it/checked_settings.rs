//! Settings that cannot be used: a start, `matchwire check` and `matchwire reload` say the same of them.

use std::{fs, process::Output};

use crate::support::{ReloadedHub, TestDatabase, program};

const NO_DEMO: &str = "[demo]\nenabled = false\n";

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

/// Only the settings are at fault, so the code is the one after which systemd does not start the hub again, and no part is
/// named that ended because the start was given up.
#[test]
fn start_and_check_fail_with_the_reason() {
    let source = |rest: &str| format!("{NO_DEMO}[[source]]\nname = \"x\"\n{rest}");
    let betfair = "kind = \"betfair-stream\"\nsession = \"s\"\n";
    for (text, reason) in [
        (source(&format!("{betfair}app_key = \"env:NOPE\"\n")), "variable NOPE is not set"),
        (source(&format!("{betfair}app_key = \"k\"\nhost = \"no host\"\n")), "host"),
        (
            source("kind = \"api-football\"\nkey = \"file:/nowhere/key\"\n"),
            "cannot read the file /nowhere/key",
        ),
        (
            format!("{NO_DEMO}[tls]\ncertificate = \"/nowhere/a.pem\"\nkey = \"/nowhere/a.key\"\n"),
            "no certificate can be read from /nowhere/a.pem",
        ),
        (format!("{NO_DEMO}[hub]\nmatches_max = 0\n"), "hub.matches_max must not be 0"),
        (format!("{NO_DEMO}[hub]\ncolour = 1\n"), "unknown field `colour`"),
    ] {
        let database = TestDatabase::file();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("matchwire.toml");
        fs::write(&file, &text).expect("a file");
        for command in ["serve", "check"] {
            let mut program = program();
            program.args([command, "--listen", "127.0.0.1:0", "--db", &database.db(), "--config"]);
            let output = program.arg(&file).output().expect("it runs");
            let said = said(&output);
            assert_eq!(output.status.code(), Some(2), "{command}: {text}: {said}");
            assert!(said.contains(reason), "{command}: {said}");
            assert!(!said.contains("ended unexpectedly"), "{command}: {said}");
        }
    }
}

#[test]
fn check_prints_all_problems_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("matchwire.toml");
    let check = |text: &str| {
        fs::write(&file, text).expect("a file");
        let mut program = program();
        program.args(["check", "--listen", "127.0.0.1:0", "--db"]);
        program.arg(folder.path().join("hub.db")).arg("--config").arg(&file);
        let output = program.output().expect("it runs");
        (output.status.code(), said(&output))
    };
    assert_eq!(check(NO_DEMO), (Some(0), "no problem was found\n".to_owned()));
    let mail = "[mail]\nfrom = \"a@example.org\"\nsmtp_url = \"env:NOPE\"\n";
    let tls = "[tls]\ncertificate = \"/nowhere/a.pem\"\nkey = \"/nowhere/a.key\"\n";
    let (code, said) = check(&format!("{NO_DEMO}{mail}{tls}[hub]\nmatches_max = 0\n"));
    assert_eq!(code, Some(2));
    let lines: Vec<_> = said.lines().collect();
    for (line, begin) in lines.iter().zip(["hub.matches_max", "tls.certificate", "mail"]) {
        assert!(line.starts_with(begin), "{said}");
    }
    assert_eq!(lines.len(), 3, "{said}");
    let left = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 1, "only the settings are there");
}

#[tokio::test]
async fn reload_by_command_prints_the_outcome_and_fails_if_it_is_refused() {
    let reloaded = ReloadedHub::start(NO_DEMO);
    let reload = |settings: &str| {
        reloaded.write(settings);
        let output =
            program().args(["reload", "--db", &reloaded.hub.db()]).output().expect("it runs");
        (output.status.code(), said(&output))
    };
    let limits = format!("{NO_DEMO}[limits]\nfootball_per_day = 9\n");
    let (code, said) = reload(&limits);
    assert_eq!((code, &*said), (Some(0), "reloaded: limits.football_per_day changed\n"));
    let (code, said) = reload(&format!("{limits}[hub]\ntail_bytes = 1\n"));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not reloaded: hub.tail_bytes changed, which takes a restart"), "{said}");
    assert!(reloaded.hub.metric("matchwire_settings_refused").await > 0.5, "it is not shown");
    let (code, said) = reload(&limits);
    assert_eq!((code, &*said), (Some(0), "reloaded: no setting has changed\n"));
}

#[test]
fn reload_without_a_hub_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let db = folder.path().join("hub.db");
    let output = program().args(["reload", "--db"]).arg(db).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("no hub can be reached at"));
}
