use std::fs;

use super::*;
use base::config::SecretError;
use hub::restart::RestartError;

const NOW: i64 = 1_788_280_000;

/// The problems of these settings: each setting, its message, and whether the hub does not start.
fn problems(text: &str) -> Vec<(String, String, bool)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _guard = runtime.as_ref().expect("a runtime").enter();
    let config: Config = toml::from_str(text).expect("settings");
    let (_, problems) = resolve(&config, &RunMode::from_config(&config), NOW);
    let shown = |problem: SettingProblem| {
        (problem.setting, crate::with_causes(&problem.error), problem.is_fatal)
    };
    problems.into_iter().map(shown).collect()
}

#[test]
fn each_thing_that_is_named_and_missing_is_a_problem_of_its_setting() {
    let source = |rest: &str| format!("[[source]]\nname = \"x\"\n{rest}");
    let betfair = |rest: &str| {
        let keys = "kind = \"betfair-stream\"\napp_key = \"k\"\nsession = \"s\"\n";
        source(&format!("{keys}{rest}"))
    };
    let unset = "env:MATCHWIRE_TEST_NOBODY_SETS_THIS";
    let not_set = "MATCHWIRE_TEST_NOBODY_SETS_THIS is not set";
    let session = "kind = \"betfair-stream\"\napp_key = \"k\"\nsession = \"file:/nowhere/s\"\n";
    let app_key = format!("kind = \"betfair-stream\"\napp_key = \"{unset}\"\nsession = \"s\"\n");
    let polled = format!("kind = \"api-football\"\nkey = \"{unset}\"\n");
    let smtp = format!("[mail]\nfrom = \"a@example.org\"\nsmtp_url = \"{unset}\"\n");
    let stripe = format!(
        "[payments]\nstripe_url = \"http://127.0.0.1:1\"\nstripe_key = \"{unset}\"\nstripe_webhook_secret = \"w\"\n"
    );
    let tls = "[tls]\ncertificate = \"/nowhere/a.pem\"\nkey = \"/nowhere/a.key\"\n";
    let authority = betfair("authority = \"/nowhere/ca.pem\"\n");
    let nats = |rest: &str| format!("[cluster]\nname = \"c\"\nnats = \"nats://h:1\"\n{rest}\n");
    let bad_host = betfair("host = \"no host\"\n");
    for (text, setting, message, is_fatal) in [
        (&*source(&app_key), "source \"x\"", not_set, true),
        (&*source(&polled), "source \"x\"", not_set, true),
        (&*bad_host, "source \"x\"", "host", true),
        (&*authority, "source \"x\"", "/nowhere/ca.pem", true),
        (&*source(session), "source \"x\"", "/nowhere/s", false),
        (&*smtp, "mail", not_set, true),
        (&*stripe, "payments", not_set, true),
        (tls, "tls.certificate", "/nowhere/a.pem", true),
        (
            &*nats("nats_user = \"env:MATCHWIRE_TEST_NOBODY_SETS_THIS\"\nnats_password = \"p\""),
            "cluster.nats_user",
            not_set,
            true,
        ),
        (&*nats("nats_ca = \"/nowhere/ca.pem\""), "cluster.nats_ca", "/nowhere/ca.pem", true),
        ("[logging]\nfilter = \"a=loud\"\n", "logging.filter", "filter", true),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let (name, shown, fatal) = &found[0];
        assert_eq!((&**name, *fatal), (setting, is_fatal), "{text}");
        assert!(shown.contains(message), "{text}: {shown}");
    }
    let all = problems(&format!("{smtp}{tls}{}", source(&polled)));
    assert_eq!(all.len(), 3, "{all:?}");
}

#[test]
fn settings_that_name_nothing_have_no_problem() {
    assert_eq!(problems(""), []);
    assert_eq!(problems("[demo]\nenabled = false\n"), []);
}

#[test]
fn only_what_the_operator_must_mend_ends_with_the_code_that_stops_restarts() {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let folder = AppError::Folder { path: "a".into(), source: missing() };
    let address = "127.0.0.1:1".parse().expect("an address");
    for (error, code) in [
        (AppError::Part, 70),
        (AppError::Mail(mail::MailError::Sender), 2),
        (AppError::NatsLogin(SecretError::NotSet { name: "A".to_owned() }), 2),
        (AppError::Listen { address, source: io::ErrorKind::AddrInUse.into() }, 1),
        (AppError::Listen { address, source: io::ErrorKind::PermissionDenied.into() }, 2),
        (AppError::Restart(RestartError::Snapshot(missing())), 1),
        (folder, 1),
    ] {
        assert_eq!(error.exit_code(), code, "{error}");
    }
}

#[test]
fn folder_is_tried_where_it_is_or_would_be_made() {
    let root = tempfile::tempdir().expect("a temporary folder");
    check_writable(&root.path().join("a/b/c"), true).expect("it can be made");
    check_writable(&root.path().join("a"), false).expect_err("nobody makes it");
    check_writable(root.path(), false).expect("it is there");
    assert_eq!(fs::read_dir(root.path()).expect("a folder").count(), 0, "nothing is left");
    fs::write(root.path().join("file"), "").expect("a file");
    check_writable(&root.path().join("file/log"), true).expect_err("a file is no folder");
}

#[test]
fn check_names_the_folder_and_the_address_too() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let _guard = runtime.as_ref().expect("a runtime").enter();
    let root = tempfile::tempdir().expect("a temporary folder");
    fs::write(root.path().join("file"), "").expect("a file");
    let mut config = Config::default();
    config.server.db = DatabaseName::File(root.path().join("hub.db"));
    config.server.listen = "127.0.0.1:0".parse().expect("an address");
    assert!(check(&config, NOW).is_empty());
    config.log.folder = root.path().join("file/log");
    // An address of TEST-NET-1 (RFC 5737), which no machine has.
    config.server.listen = "192.0.2.1:80".parse().expect("an address");
    let named: Vec<_> = check(&config, NOW).into_iter().map(|problem| problem.setting).collect();
    assert_eq!(named, ["server.listen", "log.folder"]);
}
