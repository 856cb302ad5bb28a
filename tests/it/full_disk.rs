//! A database that refuses writes for a while, because its disk is full or another program holds
//! it. Afterwards the same process writes again without help.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use sqlx::{Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::{
    site::{PASSWORD, QUICK},
    support::{
        Answer, Browser, Hub, QUIET, Setting,
        bank::{Bank, Event},
        until,
    },
};

/// A small disk for a test. It is unmounted on drop.
pub(crate) struct Disk {
    folder: Arc<TempDir>,
}

impl Disk {
    /// `None`, with a message, if this process may not mount one.
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    pub(crate) fn mount_or_skipped() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(folder.path());
        let mounted = mount.stderr(Stdio::null()).status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("skipped: a file system cannot be mounted here");
            return None;
        }
        Some(Self { folder: Arc::new(folder) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills it to the last byte.
    pub(crate) fn fill(&self) {
        let mut piece = vec![0; 64 * 1024];
        let path = self.filling();
        let mut file = fs::File::create(path).expect("a file");
        while !piece.is_empty() {
            if file.write_all(&piece).is_err() {
                piece.truncate(piece.len() / 2);
            }
        }
    }

    /// Frees the space again.
    pub(crate) fn free(&self) {
        fs::remove_file(self.filling()).expect("it is there");
    }

    fn filling(&self) -> PathBuf {
        self.path().join("filling")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        Command::new("umount").arg("--lazy").arg(self.path()).status().ok();
    }
}

/// A hub, one customer, and an order that awaits payment.
struct PendingOrder {
    hub: Hub,
    bank: Bank,
    webhooks: mpsc::Receiver<Event>,
    order: String,
}

const EMAIL: &str = "me@x.org";
const FIELDS: [(&str, &str); 2] = [("email", EMAIL), ("password", PASSWORD)];

impl PendingOrder {
    async fn open(folder: &Arc<TempDir>) -> Self {
        let (bank, webhooks) = Bank::open().await;
        let order_settings: [Setting; 5] = [
            QUIET,
            ("LIMITS_LOG_INS_PER_HOUR_BY_ADDRESS", "0"),
            ("LIMITS_LOG_INS_PER_HOUR_BY_EMAIL", "0"),
            ("DATABASE_PROBE_MS", "100"),
            // The payment must arrive by the webhook only.
            ("PAYMENTS_SWEEP_AFTER_MS", "600000"),
        ];
        let settings = [&QUICK[..], &order_settings, &bank.settings()].concat();
        let hub = Hub::start_in_with(Arc::clone(folder), &["serve"], &settings);
        let mut create = hub.database.program();
        let made = create.args(["key", "create", "--db", &hub.db(), "--email", EMAIL]).output();
        assert!(made.expect("it runs").status.success());
        let mut pending_order = Self { hub, bank, webhooks, order: String::new() };
        pending_order.set_password().await;
        let mut browser = Browser::new(&pending_order.hub);
        let answer = browser.fill("/login/", "/login/", &FIELDS).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        let wish = [("addon", "websocket"), ("months", "1"), ("rail", "card")];
        let answer = browser.fill("/addons/", "/addons/", &wish).await;
        let location = answer.header("location").expect("it leads to the checkout").to_owned();
        drop(browser);
        pending_order.order =
            location.trim_matches('/').rsplit('/').next().expect("an order").to_owned();
        pending_order
    }

    /// Registers another address with the customer's password.
    async fn set_password(&self) {
        let answer = self.register("first@x.org").await;
        assert!(answer.status < 400, "{answer:?}");
        let taken = "UPDATE accounts SET active_us = 1, password = \
                     (SELECT password FROM links WHERE password IS NOT NULL LIMIT 1)";
        let mut connection = self.connection().await;
        connection.execute(taken).await.expect("it is written");
        connection.close().await.expect("it closes");
    }

    async fn connection(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.hub.db());
        SqliteConnection::connect_with(&options).await.expect("it opens")
    }

    async fn register(&self, email: &str) -> Answer {
        let fields = [("email", email), ("password", PASSWORD)];
        Browser::new(&self.hub).fill("/register/", "/register/", &fields).await
    }

    async fn log_in(&self) -> Answer {
        Browser::new(&self.hub).fill("/login/", "/login/", &FIELDS).await
    }

    async fn until_writable(&self, wanted: f64) {
        let writable = async || self.hub.metric("matchwire_database_writable").await;
        let what = format!("writable {wanted}");
        until(&what, async || (writable().await - wanted).abs() < 0.1).await;
    }

    /// All writes fail for now, and reads continue.
    async fn refuses(&self) {
        let log_ins = [self.log_in(), self.log_in(), self.log_in()];
        let (all, registered, ()) = tokio::join!(
            futures_util::future::join_all(log_ins),
            self.register("late@x.org"),
            self.until_writable(0.0)
        );
        for answer in all.into_iter().chain([registered]) {
            assert_eq!(answer.status, 503, "{answer:?}");
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
        }
        assert_eq!(self.hub.get("/readyz").await.status, 200);
    }

    /// The first attempt of each succeeds, and payments from the meantime are granted once.
    async fn works_again(mut self) {
        assert_eq!(self.log_in().await.status, 303);
        assert!(self.register("late@x.org").await.status < 400);
        self.until_writable(1.0).await;
        let event = self.webhooks.recv().await.expect("the bank reports the payment");
        for _ in 0..3 {
            event.deliver(&self.hub.address).await;
        }
        let mut connection = self.connection().await;
        let granted: Vec<(String, i64)> = sqlx::query_as("SELECT kind, days FROM ledger")
            .fetch_all(&mut connection)
            .await
            .expect("it is read");
        assert_eq!(granted, [("purchase".to_owned(), 30)], "granted once");
        connection.close().await.expect("it closes");
        assert_eq!(self.hub.stop(), Some(0));
    }
}

#[tokio::test]
async fn writes_work_again_after_a_full_disk() {
    let Some(disk) = Disk::mount_or_skipped() else { return };
    let pending_order = PendingOrder::open(&disk.folder).await;
    // Every connection of the pool meets the full disk, more than once.
    for _ in 0..2 {
        disk.fill();
        pending_order.refuses().await;
        disk.free();
        assert_eq!(pending_order.log_in().await.status, 303, "{}", pending_order.hub.printed());
    }
    disk.fill();
    pending_order.refuses().await;
    pending_order.bank.agree(&pending_order.order).await;
    disk.free();
    pending_order.works_again().await;
}

/// Another program holds the database for longer than a writer waits.
#[tokio::test]
async fn writes_work_again_after_a_lock() {
    let folder = Arc::new(tempfile::tempdir().expect("a temporary folder"));
    let pending_order = PendingOrder::open(&folder).await;
    let mut holder = pending_order.connection().await;
    holder.execute("BEGIN EXCLUSIVE").await.expect("it is locked");
    pending_order.bank.agree(&pending_order.order).await;
    pending_order.refuses().await;
    holder.execute("ROLLBACK").await.expect("it is free");
    holder.close().await.expect("it closes");
    pending_order.works_again().await;
}
