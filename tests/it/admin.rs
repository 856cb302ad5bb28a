//! The operator's tools on a running hub: commands, and the pages under `/admin/`.

mod commands;
mod deductions;
mod matches;
mod pages;
mod public;
mod sockets;
mod sources;

use std::{
    io::Write,
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::support::{Browser, Hub, Setting, TestDatabase, program};

const PASSWORD: &str = "an operator's password";

/// Fast hashing, and no demo: customers come from the key command.
const QUICK: [Setting; 3] = [
    ("ACCOUNTS_PASSWORD_MEMORY_KIB", "64"),
    ("ACCOUNTS_PASSWORD_PASSES", "1"),
    ("DEMO_ENABLED", "false"),
];

/// The hub that tests share, so each has operators and customers of its own.
fn hub() -> Arc<Hub> {
    Hub::shared(&["serve"], &QUICK)
}

fn hub_on(database: &TestDatabase) -> Hub {
    Hub::start_on(database, &["serve"], &QUICK)
}

/// Runs a command on the hub's database, with this as standard input.
fn run(hub: &Hub, words: &[&str], input: &str) -> Output {
    let mut command: Command = program();
    let mut process = command
        .args(words)
        .args(["--db", &hub.db()])
        .env("MATCHWIRE_ACCOUNTS_PASSWORD_MEMORY_KIB", "64")
        .env("MATCHWIRE_ACCOUNTS_PASSWORD_PASSES", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = process.stdin.take().expect("its input is piped");
    // A command that reads nothing may have exited.
    stdin.write_all(input.as_bytes()).ok();
    drop(stdin);
    process.wait_with_output().expect("the command ends")
}

/// The output of a command, which must succeed.
#[track_caller]
fn command(hub: &Hub, words: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(hub, words, "");
    assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("an answer is text")
}

/// The error of a command that refuses, with exit code 1.
#[track_caller]
fn refused(hub: &Hub, words: &[&str]) -> String {
    let Output { status, stdout, stderr } = run(hub, words, "");
    assert_eq!(status.code(), Some(1), "{words:?}: {}", String::from_utf8_lossy(&stdout));
    String::from_utf8(stderr).expect("an error is text")
}

/// Makes a key for this address.
fn key(hub: &Hub, email: &str, addons: &[&str]) -> String {
    let addons = addons.iter().flat_map(|addon| ["--addon", addon]);
    let words: Vec<&str> = ["key", "create", "--email", email].into_iter().chain(addons).collect();
    command(hub, &words).trim().to_owned()
}

/// The id of the account of this address.
fn id(hub: &Hub, email: &str) -> String {
    let shown = command(hub, &["account", "show", email]);
    let line = shown.lines().find_map(|line| line.strip_prefix("id\t"));
    line.expect("an account has an id").to_owned()
}

/// Creates an operator's account.
fn create_admin(hub: &Hub, name: &str) {
    let Output { status, stderr, .. } =
        run(hub, &["admin", "create", name], &format!("{PASSWORD}\n"));
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
}

/// A name that no other operator has.
fn new_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("ada-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The browser session of a new operator.
async fn operator(hub: &Hub) -> Browser<'_> {
    let name = new_name();
    create_admin(hub, &name);
    let mut browser = Browser::new(hub);
    let answer = log_in(&mut browser, &name, PASSWORD).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/admin/")), "{answer:?}");
    browser
}

async fn log_in(browser: &mut Browser<'_>, name: &str, password: &str) -> crate::support::Answer {
    let fields = [("name", name), ("password", password)];
    browser.fill("/admin/login/", "/admin/login/", &fields).await
}
