use clap::{CommandFactory, error::ErrorKind};

use super::*;

fn parse(line: &str) -> Result<Command, clap::Error> {
    let arguments = line.split_whitespace();
    Cli::try_parse_from(["matchwire"].into_iter().chain(arguments)).map(Cli::into_command)
}

#[track_caller]
fn check(line: &str, expected: &Command) {
    assert_eq!(&parse(line).unwrap_or_else(|error| panic!("{line}: {error}")), expected);
}

fn hub(config: Option<&str>, listen: Option<&str>, db: Option<&str>) -> HubArgs {
    HubArgs {
        config: config.map(PathBuf::from),
        listen: listen.map(|listen| listen.parse().unwrap()),
        db: db.map(PathBuf::from),
        tls_certificate: None,
        tls_key: None,
    }
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn to_serve_is_the_default() {
    let serve = |hub| {
        Command::Serve(ServeArgs { hub, bench_rate: None, bench_channels: None, bench_port: None })
    };
    check("", &serve(hub(None, None, None)));
    check("serve", &serve(hub(None, None, None)));
    check("--listen 127.0.0.1:0", &serve(hub(None, Some("127.0.0.1:0"), None)));
    check(
        "serve --config c.toml --listen [::1]:80 --db a.db",
        &serve(hub(Some("c.toml"), Some("[::1]:80"), Some("a.db"))),
    );
}

#[test]
fn a_steady_load_may_take_the_place_of_the_demo() {
    let Ok(Command::Serve(serve)) =
        parse("serve --bench-rate 500 --bench-channels 7 --bench-port 9")
    else {
        panic!()
    };
    let (bench_rate, bench_channels, bench_port) = (Some(500), Some(7), Some(9));
    assert_eq!(serve.flags(), Flags { bench_rate, bench_channels, bench_port, ..Flags::default() });
}

#[test]
fn a_replay_takes_files_and_their_pace() {
    let replay = |hub, speed, repeat, hold, files: &[&str]| {
        let files = files.iter().map(PathBuf::from).collect();
        Command::Replay(ReplayArgs { hub, speed, repeat, hold, files })
    };
    let none = || hub(None, None, None);
    check("replay a.bz2", &replay(none(), Speed::Times(1.0), false, false, &["a.bz2"]));
    check(
        "replay --db a.db --speed max --loop --hold a b",
        &replay(hub(None, None, Some("a.db")), Speed::Max, true, true, &["a", "b"]),
    );
    check("replay --speed 2.5 a", &replay(none(), Speed::Times(2.5), false, false, &["a"]));
}

#[test]
fn a_replay_is_no_demo() {
    let Ok(Command::Replay(replay)) = parse("replay --listen 0.0.0.0:1 a") else { panic!() };
    let listen = "0.0.0.0:1".parse().ok();
    assert_eq!(
        replay.flags(),
        Flags { listen, demo: Some(false), bench_rate: Some(0), ..Flags::default() }
    );
    let Ok(Command::Serve(serve)) = parse("serve --db a.db") else { panic!() };
    assert_eq!(serve.flags(), Flags { db: Some("a.db".into()), ..Flags::default() });
}

#[test]
fn keys_are_made_listed_and_revoked() {
    check(
        "key create --db a.db",
        &Command::Key(KeyCommand::Create(KeyCreateArgs {
            db: "a.db".into(),
            email: None,
            addons: vec![],
            days: 30,
        })),
    );
    check(
        "key create --db a.db --email me@here --addon websocket --addon odds --days 7",
        &Command::Key(KeyCommand::Create(KeyCreateArgs {
            db: "a.db".into(),
            email: Some("me@here".to_owned()),
            addons: vec![Addon::Websocket, Addon::Odds],
            days: 7,
        })),
    );
    check("key list --db a.db", &Command::Key(KeyCommand::List(KeyListArgs { db: "a.db".into() })));
    let revoke = KeyRevokeArgs { db: "a.db".into(), key: "mw_12345678".to_owned() };
    check("key revoke --db a.db mw_12345678", &Command::Key(KeyCommand::Revoke(revoke)));
}

#[test]
fn a_day_is_simulated() {
    check("simulate --seed 7", &Command::Simulate(SimulateArgs { seed: 7, truth: false }));
    check("simulate --seed 7 --truth", &Command::Simulate(SimulateArgs { seed: 7, truth: true }));
}

#[test]
fn wrong_usage_exits_with_2() {
    for line in [
        "sing",
        "serve now",
        "serve --listen here",
        "serve --listen 127.0.0.1",
        "serve --port 80",
        "--db a.db serve",
        "replay",
        "replay --speed 0 a",
        "replay --speed -1 a",
        "replay --speed inf a",
        "replay --speed 1e3 a",
        "replay --speed . a",
        "replay --speed fast a",
        "key",
        "key create",
        "key create --db a.db --addon tv",
        "key create --db a.db --days 0",
        "key create --db a.db --days 36501",
        "key create --db a.db --email nobody",
        "key create --db a.db --email a@b@c",
        "key create --db a.db --email @b",
        "key list",
        "key revoke --db a.db",
        "simulate",
        "simulate --seed x",
    ] {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_and_version_are_no_mistakes() {
    for (line, kind) in
        [("--help", ErrorKind::DisplayHelp), ("--version", ErrorKind::DisplayVersion)]
    {
        let error = parse(line).expect_err(line);
        assert_eq!((error.kind(), error.exit_code()), (kind, 0));
    }
}

#[test]
fn matches_are_looked_at_and_decided() {
    let db = PathBuf::from("a.db");
    let args = || MatchesArgs { db: db.clone() };
    check("matches list --db a.db", &Command::Matches(MatchesCommand::List(args())));
    check("matches doubtful --db a.db", &Command::Matches(MatchesCommand::Doubtful(args())));
    let (one, other) = ("betfair/1".to_owned(), "42".to_owned());
    let join = MatchesJoinArgs { db: db.clone(), swapped: true, one, other };
    let line = "matches join --db a.db --swapped betfair/1 42";
    check(line, &Command::Matches(MatchesCommand::Join(join)));
    let (provider, key) = ("sportradar".to_owned(), "sr:match:1".to_owned());
    let split = MatchesSplitArgs { db, provider, key };
    let line = "matches split --db a.db sportradar sr:match:1";
    check(line, &Command::Matches(MatchesCommand::Split(split)));
    assert!(parse("matches").is_err() && parse("matches join --db a.db a/1").is_err());
}
