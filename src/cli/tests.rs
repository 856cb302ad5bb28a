use clap::{CommandFactory, error::ErrorKind};

use super::{
    accounts::{
        AccountArgs, AccountCommand, AccountListArgs, AddonCommand, AddonGrantArgs, AdminArgs,
        AdminCommand, AdminListArgs, FoundersCommand, FoundersGrantArgs,
    },
    feeds::{
        FeedKeyCommand, FeedKeyListArgs, FeedsCommand, QuarantineArgs, QuarantineCommand,
        QuarantineListArgs,
    },
    orders::{
        LedgerArgs, LedgerFilterArgs, OrderCommand, OrderListArgs, OrderShowArgs, RefundArgs,
    },
    *,
};

const JSON: OutputArgs = OutputArgs { json: true };

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
        db: db.map(DatabaseName::from),
        tls_certificate: None,
        tls_key: None,
    }
}

#[test]
fn definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn serve_is_the_default_command() {
    let serve = |hub| {
        Command::Serve(ServeArgs { hub, demo_speed: None, bench_rate: None, bench_channels: None })
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
fn serve_takes_options_of_the_steady_load() {
    let Ok(Command::Serve(serve)) = parse("serve --bench-rate 500 --bench-channels 7") else {
        panic!()
    };
    let (bench_rate, bench_channels) = (Some(500), Some(7));
    assert_eq!(serve.flags(), Flags { bench_rate, bench_channels, ..Flags::default() });
}

#[test]
fn replay_takes_files_and_their_speed() {
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
fn replay_disables_the_demo() {
    let Ok(Command::Replay(replay)) = parse("replay --listen 0.0.0.0:1 a") else { panic!() };
    let listen = "0.0.0.0:1".parse().ok();
    let expected = Flags {
        listen,
        demo: Some(false),
        bench_rate: Some(0),
        plays_recordings: true,
        ..Flags::default()
    };
    assert_eq!(replay.flags(), expected);
    let Ok(Command::Serve(serve)) = parse("serve --db a.db") else { panic!() };
    assert_eq!(serve.flags(), Flags { db: Some("a.db".into()), ..Flags::default() });
}

#[test]
fn key_commands_are_parsed() {
    check(
        "key create --db a.db",
        &Command::Key(KeyCommand::Create(KeyCreateArgs {
            db: "a.db".into(),
            email: None,
            addons: vec![],
            days: 30,
            named: NamedKeyArgs::default(),
        })),
    );
    check(
        "key create --db a.db --email me@here --addon websocket --addon odds --days 7",
        &Command::Key(KeyCommand::Create(KeyCreateArgs {
            db: "a.db".into(),
            email: Some("me@here".to_owned()),
            addons: vec![Addon::Websocket, Addon::Odds],
            days: 7,
            named: NamedKeyArgs::default(),
        })),
    );
    check(
        "key create --db a.db --email me@here --name ci --scope stream --scope odds --from 10.0.0.0/8 \
         --ends-after-days 90",
        &Command::Key(KeyCommand::Create(KeyCreateArgs {
            db: "a.db".into(),
            email: Some("me@here".to_owned()),
            addons: vec![],
            days: 30,
            named: NamedKeyArgs {
                name: Some("ci".to_owned()),
                scopes: vec![Scope::Stream, Scope::Odds],
                networks: vec!["10.0.0.0/8".to_owned()],
                ends_after_days: Some(90),
            },
        })),
    );
    for line in [
        "key create --db a.db --email me@here --name ci",
        "key create --db a.db --name ci --scope odds",
        "key create --db a.db --email me@here --scope odds",
        "key create --db a.db --email me@here --name ci --scope everything",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
    for (line, json) in [("key list --db a.db", false), ("key list --db a.db --json", true)] {
        let list = KeyListArgs { db: "a.db".into(), output: OutputArgs { json } };
        check(line, &Command::Key(KeyCommand::List(list)));
    }
    let revoke = KeyRevokeArgs { db: "a.db".into(), key: "mw_12345678".to_owned() };
    check("key revoke --db a.db mw_12345678", &Command::Key(KeyCommand::Revoke(revoke)));
}

fn checked(line: &str, expected: OperatorCommand) {
    check(line, &Command::Operator(expected));
}

#[test]
fn account_and_addon_commands_are_parsed() {
    let db = || DatabaseName::from("a.db");
    let account = "me@here".to_owned();
    let (search, before) = (Some("me".to_owned()), Some(9));
    let list = AccountListArgs { db: db(), search, before, limit: 5, output: JSON };
    let line = "account list --db a.db --search me --before 9 --limit 5 --json";
    checked(line, OperatorCommand::Account(AccountCommand::List(list)));
    let args = || AccountArgs { db: db(), account: account.clone() };
    for (word, command) in [
        ("show", AccountCommand::Show(args())),
        ("block", AccountCommand::Block(args())),
        ("unblock", AccountCommand::Unblock(args())),
        ("delete", AccountCommand::Delete(args())),
    ] {
        checked(&format!("account {word} --db a.db me@here"), OperatorCommand::Account(command));
    }
    let note = "late".to_owned();
    let gift = AddonGrantArgs { db: db(), account, addon: Addon::Sports, days: 3, note };
    let line = "addon gift --db a.db me@here sports --days 3 --note late";
    checked(line, OperatorCommand::Addon(AddonCommand::Grant(gift)));
}

#[test]
fn order_ledger_and_refund_commands_are_parsed() {
    let db = || DatabaseName::from("a.db");
    let filter = LedgerFilterArgs {
        db: db(),
        account: Some("7".to_owned()),
        since: Some(1_785_715_200_000_000),
        until: Some(1_785_801_599_999_999),
    };
    let words = "--db a.db --account 7 --since 2026-08-03 --until 2026-08-03";
    let list = OrderListArgs { filter: filter.clone(), limit: 1000, output: JSON };
    let line = format!("order list {words} --json");
    checked(&line, OperatorCommand::Order(OrderCommand::List(list)));
    let ledger = LedgerArgs { filter, output: JSON };
    checked(&format!("ledger {words} --json"), OperatorCommand::Ledger(ledger));
    let order = "o1".to_owned();
    let show = OrderShowArgs { db: db(), order: order.clone() };
    checked("order show --db a.db o1", OperatorCommand::Order(OrderCommand::Show(show)));
    let amount = Some(rust_decimal::dec!(2.50));
    let refund = RefundArgs { db: db(), config: Some("c.toml".into()), order, amount };
    let line = "refund --db a.db --config c.toml o1 --amount 2.50";
    checked(line, OperatorCommand::Refund(refund));
}

#[test]
fn founders_and_admin_commands_are_parsed() {
    let db = || DatabaseName::from("a.db");
    let grant = FoundersGrantArgs { db: db(), at: 1_785_715_200_000_000 };
    let line = "founders grant --db a.db --at 2026-08-03";
    checked(line, OperatorCommand::Founders(FoundersCommand::Grant(grant)));
    let args = || AdminArgs { db: db(), name: "ada".to_owned() };
    checked("admin create --db a.db ada", OperatorCommand::Admin(AdminCommand::Create(args())));
    checked("admin remove --db a.db ada", OperatorCommand::Admin(AdminCommand::Remove(args())));
    let list = AdminListArgs { db: db(), output: JSON };
    checked("admin list --db a.db --json", OperatorCommand::Admin(AdminCommand::List(list)));
    // Everyone on the machine could see a password.
    assert!(parse("admin create --db a.db ada secret").is_err());
    assert!(parse("admin create --db a.db ada --password secret").is_err());
}

#[test]
fn simulate_command_is_parsed() {
    let day = SimulateArgs {
        seed: 7,
        truth: false,
        events: false,
        sport: None,
        matches: None,
        bookmakers: None,
    };
    check("simulate --seed 7", &Command::Simulate(day.clone()));
    let truth = SimulateArgs { truth: true, ..day };
    check("simulate --seed 7 --truth", &Command::Simulate(truth));
    let sport = Some(Sport::Football);
    let events = SimulateArgs { events: true, sport, matches: Some(1), bookmakers: Some(2), ..day };
    check(
        "simulate --seed 7 --events --sport football --matches 1 --bookmakers 2",
        &Command::Simulate(events),
    );
}

#[test]
fn feeds_commands_are_parsed() {
    let db = || DatabaseName::from("a.db");
    let source = Some("acme".to_owned());
    let keys = FeedKeyListArgs { db: db(), source: source.clone(), output: JSON };
    let line = "feeds key list --db a.db --json acme";
    check(line, &Command::Feeds(FeedsCommand::Key(FeedKeyCommand::List(keys))));
    let which = QuarantineArgs { db: db(), source, kind: None };
    let list = QuarantineListArgs { which, output: JSON };
    let line = "feeds quarantine list --db a.db --source acme --json";
    check(line, &Command::Feeds(FeedsCommand::Quarantine(QuarantineCommand::List(list))));
    // It always prints JSON.
    assert!(parse("feeds quarantine export --db a.db --json").is_err());
    let create = |ms: &str| parse(&format!("feeds key create --db a.db --deadline-ms {ms} acme"));
    assert!(create("1000").is_ok() && create("999").is_err() && create("86400001").is_err());
}

#[test]
fn backup_command_is_parsed() {
    let args = BackupArgs { db: "a.db".into(), to: "b.db".into() };
    check("backup --db a.db --to b.db", &Command::Backup(args));
}

#[test]
fn probe_command_is_parsed() {
    check(
        "probe --listen 127.0.0.1:1",
        &Command::Probe(ProbeArgs { hub: hub(None, Some("127.0.0.1:1"), None), timeout: 3 }),
    );
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
        "account",
        "account list",
        "account list --db a.db --limit 0",
        "account show --db a.db",
        "addon gift --db a.db me@here sports --days 3",
        "addon gift --db a.db me@here sports --days 0 --note x",
        "addon gift --db a.db me@here tv --days 3 --note x",
        "ledger",
        "ledger --db a.db --since monday",
        "order show --db a.db",
        "refund --db a.db",
        "refund --db a.db o1 --amount -1",
        "founders grant --db a.db",
        "founders grant --db a.db --at now",
        "admin create --db a.db <b>",
        "backup --db a.db",
        "backup --to b.db",
        "probe --timeout 0",
        "simulate",
        "simulate --seed x",
    ] {
        let error = parse(line).expect_err(line);
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}

#[test]
fn help_and_version_are_not_errors() {
    for (line, kind) in
        [("--help", ErrorKind::DisplayHelp), ("--version", ErrorKind::DisplayVersion)]
    {
        let error = parse(line).expect_err(line);
        assert_eq!((error.kind(), error.exit_code()), (kind, 0));
    }
}

#[test]
fn matches_commands_are_parsed() {
    let db = DatabaseName::from("a.db");
    let args = || MatchesArgs { db: db.clone(), output: JSON };
    check("matches list --db a.db --json", &Command::Matches(MatchesCommand::List(args())));
    check("matches doubtful --json --db a.db", &Command::Matches(MatchesCommand::Doubtful(args())));
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

#[test]
fn conformance_takes_cases_and_the_client_after_two_dashes() {
    let conformance = |case: &[&str], json, program: &[&str]| {
        Command::Conformance(ConformanceArgs {
            case: case.iter().copied().map(str::to_owned).collect(),
            list: false,
            json,
            listen: "127.0.0.1:0".parse().expect("an address"),
            patience_s: 20,
            program: program.iter().map(Into::into).collect(),
        })
    };
    check("conformance", &conformance(&[], false, &[]));
    let line = "conformance --case gap --case cut --json -- node client.js --json";
    check(line, &conformance(&["gap", "cut"], true, &["node", "client.js", "--json"]));
    assert!(parse("conformance node").is_err(), "the client stands after two dashes");
}

#[test]
fn mcp_takes_a_url_and_a_key() {
    let mcp = |key: &str, sport: Option<&str>, timeout| {
        Command::Mcp(McpArgs {
            url: "https://api.test".to_owned(),
            key: key.into(),
            sport: sport.map(str::to_owned),
            timeout,
        })
    };
    check("mcp --url https://api.test", &mcp("env:MATCHWIRE_KEY", None, 120));
    check(
        "mcp --url https://api.test --key file:key.txt --sport tennis --timeout 9",
        &mcp("file:key.txt", Some("tennis"), 9),
    );
    assert_eq!(parse("mcp").unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
    let chess = parse("mcp --url https://api.test --sport chess");
    assert_eq!(chess.unwrap_err().kind(), ErrorKind::InvalidValue);
}

#[test]
fn running_hub_is_found_by_its_settings_or_its_database() {
    use super::running::{ConnectionsCloseArgs, ConnectionsListArgs};
    let running = |config: Option<&str>, db: Option<&str>| RunningHubArgs {
        config: config.map(PathBuf::from),
        db: db.map(DatabaseName::from),
    };
    check("check --config c.toml", &Command::Check(hub(Some("c.toml"), None, None)));
    check("reload --config c.toml", &Command::Reload(running(Some("c.toml"), None)));
    check("reload --db a.db", &Command::Reload(running(None, Some("a.db"))));
    let list = ConnectionsListArgs { hub: running(None, None), account: Some(7), output: JSON };
    check(
        "connections list --account 7 --json",
        &Command::Connections(ConnectionsCommand::List(list)),
    );
    let close = ConnectionsCloseArgs { hub: running(None, None), id: "0-17".to_owned() };
    check("connections close 0-17", &Command::Connections(ConnectionsCommand::Close(close)));
    assert!(parse("connections close").is_err() && parse("connections").is_err());
}
