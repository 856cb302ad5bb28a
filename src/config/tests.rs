use std::fs;

use super::{reading::default_table, *};

impl Config {
    fn from_sources(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        flags: &Flags,
    ) -> Result<Self, ConfigError> {
        let config = Self::read(file, environment, flags)?;
        config.problems().into_iter().next().map_or(Ok(config), Err)
    }
}

/// Loads settings from each layer as text. Returns the settings or the whole error chain.
fn load(file: &str, environment: &[(&str, &str)], flags: &Flags) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("matchwire.toml");
    fs::write(&path, file).unwrap();
    let environment = environment.iter().map(|&(name, value)| (name.into(), value.into()));
    Config::from_sources(Some(&path), environment, flags)
        .map_err(|error| crate::with_causes(&error))
}

#[track_caller]
fn check_refused(file: &str, environment: &[(&str, &str)], parts: &[&str]) {
    let error = load(file, environment, &Flags::default()).unwrap_err();
    for part in parts {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn defaults_apply_without_any_source() {
    let config = Config::from_sources(None, [], &Flags::default()).unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:8080");
}

#[test]
fn later_source_wins() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\ndb = \"file.db\"\ndrain_ms = 1\n";
    let environment =
        [("MATCHWIRE_SERVER_LISTEN", "127.0.0.1:2"), ("MATCHWIRE_SERVER_DB", "env.db")];
    let flags = Flags { listen: Some(([127, 0, 0, 1], 3).into()), ..Flags::default() };
    let server = load(file, &environment, &flags).unwrap().server;
    assert_eq!(server.listen.port(), 3);
    assert_eq!(server.db, "env.db".into());
    assert_eq!(server.drain_ms, 1);
    assert_eq!(server.command_bytes_max, 16_384);
}

#[test]
fn every_setting_can_be_set_by_the_environment() {
    let environment = default_table()
        .into_iter()
        .flat_map(|(section, knobs)| variables(&section, knobs.as_table().unwrap()))
        .collect::<Vec<_>>();
    assert!(environment.iter().any(|(name, _)| name == "MATCHWIRE_HUB_TAIL_BYTES"));
    let config = Config::from_sources(None, environment, &Flags::default()).unwrap();
    assert_eq!(config, Config::default());
}

fn variables(section: &str, knobs: &Table) -> Vec<(OsString, OsString)> {
    let name = |knob: &str| format!("MATCHWIRE_{section}_{knob}").to_ascii_uppercase().into();
    knobs.iter().map(|(knob, value)| (name(knob), text(value).into())).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        other => other.as_str().unwrap().to_owned(),
    }
}

#[test]
fn other_variables_are_ignored() {
    let config = load("", &[("PATH", "/bin"), ("matchwire_hub_x", "1")], &Flags::default());
    assert_eq!(config, Ok(Config::default()));
}

#[test]
fn unknown_names_are_refused_by_name() {
    check_refused("[hub]\ntail_byte = 1\n", &[], &["matchwire.toml", "line 2", "`tail_byte`"]);
    check_refused("[hubb]\n", &[], &["`hubb`"]);
    for name in
        ["MATCHWIRE_HUB_TAIL_BYTE", "MATCHWIRE_HUBB_X", "MATCHWIRE_", "MATCHWIRE_HUB_tail_ms"]
    {
        check_refused("", &[(name, "1")], &[name, "is not a setting"]);
    }
}

#[test]
fn invalid_values_are_refused_with_their_location() {
    check_refused("[hub]\ntail_ms = \"x\"\n", &[], &["line 2", "tail_ms"]);
    check_refused("[hub]\ntail_ms = -1\n", &[], &["line 2"]);
    // Quotes are missing. The value is not repeated, since it may be a secret.
    let unquoted = load("[mail]\nsmtp_url = smtps://me:secret@host\n", &[], &Flags::default());
    let refused = unquoted.expect_err("not TOML");
    assert!(refused.contains("line 2 (smtp_url)") && !refused.contains("secret"), "{refused}");
    check_refused("", &[("MATCHWIRE_HUB_TAIL_MS", "1s")], &["HUB_TAIL_MS must be a whole number"]);
    check_refused("", &[("MATCHWIRE_DEMO_ENABLED", "1")], &["DEMO_ENABLED must be true or false"]);
    check_refused("", &[("MATCHWIRE_SERVER_LISTEN", "here")], &["environment", "listen"]);
    check_refused("", &[("MATCHWIRE_LOGGING_FORMAT", "xml")], &["environment", "`xml`", "`json`"]);
}

#[test]
fn log_settings_out_of_bounds_are_refused() {
    check_refused("[log]\nsegment_bytes = 1000\n", &[], &["`log.segment_bytes` is 1000"]);
    check_refused("[log]\nfsync_ms = 6000\n", &[], &["`log.fsync_ms` is 6000", "at most 5000"]);
}

#[test]
fn missing_file_is_an_error() {
    let error =
        Config::from_sources(Some(Path::new("nowhere.toml")), [], &Flags::default()).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the config file nowhere.toml");
}

#[test]
fn contradictory_limits_are_refused() {
    check_refused(
        "[fanout]\nwrite_bytes_max = 20\noutbox_bytes = 10\n",
        &[],
        &["fanout.write_bytes_max is 20, more than fanout.outbox_bytes, which is 10"],
    );
    check_refused("[fanout]\nsockets_max = 99\n", &[], &["fanout.sockets_max_per_account is 100"]);
    let channels = "[fanout]\nchannels_max_per_account = 9999\n";
    check_refused(channels, &[], &["fanout.channels_max is 10000"]);
    check_refused("[fanout]\nidle_ms = 4999\n", &[], &["fanout.beat_ms is 5000"]);
    check_refused("[hub]\ntail_bytes = 0\n", &[], &["hub.tail_bytes must not be 0"]);
    assert!(load("[fanout]\nidle_ms = 5000\n", &[], &Flags::default()).is_ok());
    for (setting, problem) in [
        ("bookmakers_min = 0", "signals.bookmakers_min must not be 0"),
        ("steam_ms = 0", "signals.steam_ms must not be 0"),
        ("steam_ms = 3600001", "signals.steam_ms is 3600001, more than an hour"),
        ("steam_bp = 10001", "signals.steam_bp is 10001, more than the whole price"),
        ("price_gap_bp = 100001", "signals.price_gap_bp is 100001, more than ten times"),
        ("profit_min = 1.5", "signals.profit_min must be a fraction from 0 to 1"),
        ("profit_min = 0.00001", "signals.profit_min must be a fraction from 0 to 1"),
        ("profit_min = -0.01", "signals.profit_min must be a fraction from 0 to 1"),
        ("commission = { smarkets = 1 }", "signals.commission must be fractions"),
        ("commission = { smarkets = \"-0.02\" }", "signals.commission must be fractions"),
    ] {
        check_refused(&format!("[signals]\n{setting}\n"), &[], &[problem]);
    }
    // A number or text.
    for share in ["0.002", "\"0.002\""] {
        let file = format!("[signals]\nprofit_min = {share}\ncommission.smarkets = {share}\n");
        let settings = load(&file, &[], &Flags::default()).unwrap().signals.settings();
        assert_eq!((settings.profit_min, settings.commissions["smarkets"]), (20, 2_000));
    }
}

#[test]
fn demo_listens_on_loopback_only() {
    let open = "[server]\nlisten = \"0.0.0.0:8080\"\n";
    check_refused(open, &[], &["not on 0.0.0.0:8080", "demo.enabled = false"]);
    assert!(load(open, &[("MATCHWIRE_DEMO_ENABLED", "false")], &Flags::default()).is_ok());
    let flags = Flags { demo: Some(false), ..Flags::default() };
    assert!(load(open, &[], &flags).is_ok());
    assert!(load("[server]\nlisten = \"[::1]:0\"\n", &[], &Flags::default()).is_ok());
}

#[test]
fn steady_load_listens_on_loopback_only() {
    let open = "[server]\nlisten = \"0.0.0.0:8080\"\n[demo]\nenabled = false\n";
    let rate = ("MATCHWIRE_BENCH_RATE", "20000");
    check_refused(open, &[rate], &["not on 0.0.0.0:8080", "bench.rate = 0"]);
    assert_eq!(load("", &[rate], &Flags::default()).map(|it| it.bench.rate), Ok(20_000));
    let flags = Flags { bench_rate: Some(0), ..Flags::default() };
    assert!(load(open, &[rate], &flags).is_ok());
    check_refused("[bench]\nrate = 1000001\n", &[], &["bench.rate is 1000001", "a microsecond"]);
    check_refused("[bench]\nchannels = 0\n", &[], &["bench.channels must not be 0"]);
    check_refused(
        "[bench]\nchannels = 10001\n",
        &[],
        &["hub.matches_max_per_source, which is 10000"],
    );
}

#[test]
fn pepper_is_read_and_never_shown() {
    let file = "[accounts]\npepper = \"12345-secret\"\n";
    let config = load(file, &[("MATCHWIRE_LOGGING_FILTER", "warn")], &Flags::default()).unwrap();
    assert_eq!(config.accounts.pepper.expose(), Some("12345-secret"));
    assert!(!format!("{config:?}").contains("12345"));
    assert!(!format!("{:?}", Table::try_from(&config)).contains("12345"));
}

#[test]
fn example_file_has_every_setting_with_its_default() {
    let text = include_str!("../../matchwire.toml.example");
    assert_eq!(toml::from_str::<Table>(text).unwrap(), default_table());
    assert_eq!(load(text, &[], &Flags::default()), Ok(Config::default()));
}

#[test]
fn certificate_and_key_are_required_together() {
    let certificate = ("MATCHWIRE_TLS_CERTIFICATE", "own.pem");
    check_refused("", &[certificate], &["tls.certificate and tls.key go together"]);
    check_refused("[tls]\nkey = \"own.key\"\n", &[], &["tls.certificate and tls.key go together"]);
    let flags = Flags { tls_key: Some("own.key".into()), ..Flags::default() };
    let tls = load("", &[certificate], &flags).map(|it| it.tls);
    let expected =
        TlsConfig { certificate: "own.pem".into(), key: "own.key".into(), ..TlsConfig::default() };
    assert_eq!(tls, Ok(expected));
}

#[test]
fn source_is_parsed_by_its_kind_without_exposing_secrets() {
    let config = load(
        r#"
        [[source]]
        name = "exchange"
        kind = "betfair-stream"
        deadline_ms = 900
        ranks = { odds = 200 }
        app_key = "the-app-key"
        session = "file:/run/betfair"
        market_filter = { eventTypeIds = ["1"] }
        "#,
        &[],
        &Flags::default(),
    );
    let config = config.expect("it is whole");
    let [source] = &config.sources[..] else { panic!("{:?}", config.sources) };
    assert_eq!((source.deadline_ms, source.rank, source.ranks["odds"]), (Some(900), 100, 200));
    assert_eq!(source.kind.as_str(), "betfair-stream");
    assert!(!config.plays_demo(), "there is something real to follow");
    let debug = format!("{config:?}");
    assert!(!debug.contains("the-app-key"), "{debug}");
    assert!(debug.contains("/run/betfair"), "{debug}");
}

#[test]
fn changes_have_the_names_of_the_settings() {
    let source = |key: &str| {
        format!("[[source]]\nname = \"a\"\nkind = \"matchwire\"\nurl = \"ws://a\"\nkey = {key:?}\n")
    };
    let config = |text: &str| load(text, &[], &Flags::default()).expect("it is valid");
    let before = config(&source("first"));
    assert_eq!(before.changes(&before), [""; 0]);
    let text = format!("[hub]\ntail_bytes = 1000\n[tls]\nwatch_ms = 1\n{}", source("other"));
    assert_eq!(before.changes(&config(&text)), ["hub.tail_bytes", "tls.watch_ms", "source"]);
}

#[test]
fn recordings_have_their_log_in_memory_unless_a_folder_is_set() {
    let flags = Flags { plays_recordings: true, ..Flags::default() };
    let engine = |text: &str| load(text, &[], &flags).expect("it is valid").log.engine;
    assert_eq!(engine(""), LogEngine::Memory);
    assert_eq!(engine("[log]\nfolder = \"here\"\n"), LogEngine::Files);
}

#[test]
fn settings_that_need_an_absent_feature_are_refused_with_its_name() {
    let source =
        "[[source]]\nname = \"odds\"\nkind = \"sportradar-uof\"\ntoken = \"t\"\nbookmaker = 1\n";
    for (text, feature, needed_by) in [
        ("[acme]\ndomains = \"a.example.org\"", "acme", "acme.domains"),
        (source, "amqp", "sportradar-uof"),
        ("[cluster]\nname = \"c\"", "cluster", "cluster.name"),
        ("[server]\ndb = \"postgres://h/db\"", "postgres", "postgres://"),
        ("[demo]\nenabled = true", "demo", "demo.enabled"),
        ("[server]\ntest_channels = true\n[demo]\nenabled = false", "demo", "server.test_channels"),
        ("[log]\nfilms_keep_ms = 1", "films", "log.films_keep_ms"),
        ("[payments]\nsandbox = true", "sandbox", "payments.sandbox"),
    ] {
        let config: Config = toml::from_str(text).unwrap();
        let missing = config.missing_features(|built| built != feature).next().expect(text);
        assert_eq!(missing.feature, feature);
        let message = missing.to_string();
        let command = format!("`cargo build --release --features {feature}`");
        assert!(message.contains(needed_by) && message.contains(&command), "{message}");
        assert_eq!(config.missing_features(|_| true).next(), None, "{text}");
    }
    let is_on_by_default = |feature: &str| {
        ["demo", "films", "legacy-sockets", "sandbox", "webhooks"].contains(&feature)
    };
    assert_eq!(Config::default().missing_features(is_on_by_default).next(), None);
}

#[test]
fn certificate_is_of_files_or_of_an_authority() {
    let tls = "[tls]\ncertificate = \"a.pem\"\nkey = \"a.key\"\n";
    let acme = "[acme]\ndomains = \"a.example.org\"\n";
    check_refused(&format!("{tls}{acme}"), &[], &["acme.domains and tls.certificate exclude"]);
    assert!(load(acme, &[], &Flags::default()).is_ok());
    for domains in ["*.example.org", "https://example.org", "a.example.org b.example.org"] {
        check_refused(&format!("[acme]\ndomains = {domains:?}\n"), &[], &["acme.domains"]);
    }
}

#[test]
fn invalid_source_is_refused() {
    let table = |rest: &str| format!("[[source]]\nname = \"a\"\n{rest}");
    for (rest, expected) in [
        ("kind = \"fax\"", "kind \"fax\" is none of"),
        ("kind = \"betfair-stream\"\napp_key = \"k\"", "missing field `session`"),
        (
            "kind = \"matchwire\"\nurl = \"ws://h\"\nkey = \"k\"\ncolour = 1",
            "unknown field `colour`",
        ),
        (
            "kind = \"matchwire\"\nurl = \"ws://h\"\nkey = \"k\"\nranks = { luck = 1 }",
            "ranks are by",
        ),
        ("kind = \"matchwire\"\nurl = \"ws://h\"\nkey = \"k\"\ndeadline_ms = 0", "must not be 0"),
    ] {
        check_refused(&table(rest), &[], &[expected]);
    }
    let twice = table("kind = \"matchwire\"\nurl = \"ws://h\"\nkey = \"k\"\n").repeat(2);
    check_refused(&twice, &[], &["the name is taken"]);
}

#[test]
fn mail_needs_a_sender_and_only_one_transport() {
    let smtp = "[mail]\nsmtp_url = \"smtps://mx.example.org\"\n";
    check_refused(smtp, &[], &["mail.from", "an address"]);
    let from = format!("{smtp}from = \"hub@example.org\"\n");
    assert!(load(&from, &[], &Flags::default()).is_ok());
    let nobody = format!("{smtp}from = \"hub\"\n");
    check_refused(&nobody, &[], &["mail.from"]);
    let both = format!("{from}folder = \"mails\"\n");
    check_refused(&both, &[], &["mail.folder", "empty"]);
    check_refused("[mail]\nfrom_name = \"a\\nb\"\n", &[], &["mail.from"]);
    let impatient = "[mail]\nretry_ms = 9\nretry_max_ms = 8\n";
    check_refused(impatient, &[], &["mail.retry_ms", "mail.retry_max_ms"]);
}

#[test]
fn mail_server_password_is_never_shown() {
    let from = ("MATCHWIRE_MAIL_FROM", "hub@example.org");
    for url in ["http://me:s3cret@h", "smtp://me:s3cret@h?tls=none", "smtps://me:s3cret%@h"] {
        let error = load("", &[("MATCHWIRE_MAIL_SMTP_URL", url), from], &Flags::default());
        let error = error.unwrap_err();
        assert!(error.contains("mail.smtp_url") && !error.contains("s3cret"), "{error}");
    }
    let good = [("MATCHWIRE_MAIL_SMTP_URL", "smtps://me:s3cret@h"), from];
    let config = load("", &good, &Flags::default()).unwrap();
    assert!(!format!("{config:?}").contains("s3cret"));
    let elsewhere = [("MATCHWIRE_MAIL_SMTP_URL", "env:SMTP_URL"), from];
    assert!(load("", &elsewhere, &Flags::default()).is_ok());
}

#[test]
fn key_of_the_bridge_is_no_setting() {
    let key = [("MATCHWIRE_KEY", "mw_key")];
    assert_eq!(load("", &key, &Flags::default()).unwrap(), Config::default());
}

/// The times that watch nothing periodic: intervals, delays, limits of single steps, and how long things are kept.
const WATCH_NOTHING: &str = "\
    accounts.answer_ms accounts.cache_ms accounts.password_wait_ms accounts.watch_ms \
    archive.reload_ms archive.unresolved_after_ms archive.untold_after_ms archive.write_ms \
    cluster.answer_ms cluster.log_age_ms database.acquire_ms database.probe_ms \
    fanout.beat_ms fanout.outbox_age_ms feeds.hold_ms feeds.quarantine_age_ms \
    hub.ended_keep_ms hub.tail_ms ingest.body_ms ingest.wait_ms \
    limits.account_cpu_burst_ms log.films_keep_ms log.fsync_ms log.records_keep_ms \
    log.snapshot_ms log.snapshot_work_ms mail.poll_ms mail.retry_max_ms mail.retry_ms \
    mail.timeout_ms mcp.notify_ms oauth.client_cache_ms oauth.client_timeout_ms oauth.code_ms \
    payments.retry_ms payments.sweep_after_ms payments.sweep_ms payments.timeout_ms \
    payments.webhook_age_ms predictions.refit_ms server.body_timeout_ms server.drain_ms \
    server.failure_exit_ms server.handshake_timeout_ms server.keep_alive_ms \
    server.write_timeout_ms signals.steam_ms tls.watch_ms usage.flush_ms webhooks.poll_ms \
    webhooks.retry_max_ms webhooks.retry_ms webhooks.timeout_ms";

/// What is watched comes again before the limit, even once late by a whole period. Those of sources have a test of their
/// own.
#[test]
fn default_limits_are_at_least_twice_the_period_that_they_watch() {
    let Config { fanout, .. } = Config::default();
    let beat_ms = fanout.beat_ms;
    // A quiet leader appends every 250 ms, and notes in the database each second that it leads. Sources that push should
    // do so every third of their deadline.
    let watched = [
        ("fanout.idle_ms", beat_ms),
        ("fanout.stall_ms", beat_ms),
        ("feeds.stale_after_ms", beat_ms),
        ("cluster.lease_ms", 250),
        ("cluster.stale_ms", 250),
        ("cluster.isolated_ms", 1_000),
        ("ingest.deadline_ms", 20_000),
        ("ingest.prices_deadline_ms", 300_000),
    ];
    for (section, settings) in default_table() {
        let Value::Table(settings) = settings else { continue };
        for (setting, value) in settings.iter().filter(|(setting, _)| setting.ends_with("_ms")) {
            let name = format!("{section}.{setting}");
            let limit_ms = value.as_integer().and_then(|ms| u64::try_from(ms).ok()).unwrap();
            let period_ms = watched.iter().find(|(limit, _)| *limit == name).map(|found| found.1);
            let watches_nothing = WATCH_NOTHING.split_whitespace().any(|listed| listed == name);
            assert_ne!(period_ms.is_some(), watches_nothing, "does {name} watch anything?");
            assert!(limit_ms >= 2 * period_ms.unwrap_or(0), "{name} is {limit_ms} ms");
        }
    }
}

#[test]
fn every_problem_is_named_and_the_first_one_refuses_the_settings() {
    let text = "[hub]\nmatches_max = 0\n[fanout]\nstall_ms = 0\n[tls]\nkey = \"a.key\"\n";
    let config: Config = toml::from_str(text).unwrap();
    let problems: Vec<_> =
        config.problems().iter().map(|error| crate::with_causes(error)).collect();
    let parts = ["fanout.stall_ms must not be 0", "hub.matches_max must not be 0", "tls.key"];
    assert_eq!(problems.len(), parts.len(), "{problems:?}");
    for (problem, part) in problems.iter().zip(parts) {
        assert!(problem.contains(part), "{problems:?}");
    }
    check_refused(text, &[], &[parts[0]]);
    assert!(Config::default().problems().is_empty());
}

#[test]
fn settings_that_may_be_zero_are_numbers() {
    let defaults = default_table();
    for name in MAY_BE_ZERO.split_whitespace() {
        let (section, setting) = name.split_once('.').unwrap();
        assert!(defaults[section][setting].is_integer(), "{name}");
    }
}
