//! Mails in the database, rendered, in a folder, and at a real server.

mod outbox;
mod rendering;
#[path = "../../../../../tests/smtp/server.rs"]
mod server;
mod smtp;
mod tls;

use std::{path::PathBuf, time::Duration};

use sqlx::AnyConnection;
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle, time};

use super::*;
use crate::clock::now;

/// How long an awaited event may take before the test says that it did not come.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn skipped(why: &str) {
    println!("skipped: {why}");
}

const DAY_US: Micros = 24 * 60 * 60 * 1_000_000;

/// The stored row of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    attempts: i64,
    sent_us: Option<i64>,
    failed_us: Option<i64>,
    error: Option<String>,
}

/// A database and the workers that send its mails.
struct TestMailer {
    database: Database,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    _folder: TempDir,
}

impl TestMailer {
    async fn start(config: &MailConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("test.db").into();
        let database = Database::open(&name).await.unwrap();
        let (stop, tasks) = empty_outbox(&database, config, None);
        Self { database, stop, tasks, _folder: folder }
    }

    /// Enqueues a mail without a link.
    async fn put(&self, address: &str) -> i64 {
        put(&self.database, address, MailKind::PasswordChanged, None).await
    }

    /// Waits until the mail's row satisfies the condition.
    async fn until(&self, mail: i64, what: impl Fn(&Row) -> bool) -> Row {
        until(&self.database, mail, what).await
    }

    async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            time::timeout(PATIENCE, task).await.expect("it stops").unwrap();
        }
        self.database.close().await;
    }
}

/// Sends a mail with a link, and stops the workers; the ids of the mail and the link.
async fn send_with_link(
    database: &Database,
    config: &MailConfig,
    demo_folder: Option<PathBuf>,
) -> (i64, i64) {
    let (stop, tasks) = empty_outbox(database, config, demo_folder);
    let link = link(database, "verify", now() + DAY_US).await;
    let mail = put(database, "ann@example.com", MailKind::Verify, Some(link)).await;
    until(database, mail, |row| row.sent_us.is_some()).await;
    stop.send_replace(true);
    for task in tasks {
        task.await.unwrap();
    }
    (mail, link)
}

/// The text of each link is made up of its number.
fn empty_outbox(
    database: &Database,
    config: &MailConfig,
    demo_folder: Option<PathBuf>,
) -> (watch::Sender<bool>, Vec<JoinHandle<()>>) {
    let (stop, stopped) = watch::channel(false);
    let context = MailContext {
        database: database.clone(),
        site: "https://hub.example.org".to_owned(),
        demo_folder,
        clock: now,
    };
    let link = async |id| Ok((id > 0).then(|| format!("{id}.5ec2e7")));
    let link = move |id| Box::pin(link(id)) as LinkText;
    (stop, start(config, context, link, &stopped).unwrap())
}

type LinkText = std::pin::Pin<Box<dyn Future<Output = Result<Option<String>>> + Send>>;

/// Settings with which a test does not wait long.
fn settings(port: u16) -> MailConfig {
    MailConfig {
        smtp_url: url(&format!("smtp://127.0.0.1:{port}?tls=none")),
        from: "hub@example.org".to_owned(),
        poll_ms: 5,
        retry_ms: 5,
        retry_max_ms: 20,
        ..MailConfig::default()
    }
}

fn url(text: &str) -> base::config::SecretRef {
    base::config::SecretRef::Given(text.to_owned().into())
}

async fn put(database: &Database, address: &str, kind: MailKind, link: Option<i64>) -> i64 {
    let mut tx = database.begin().await.unwrap();
    enqueue(&mut tx, address, kind, link, now()).await.unwrap();
    let id = newest(&mut tx).await;
    tx.commit().await.unwrap();
    id
}

async fn newest(connection: &mut AnyConnection) -> i64 {
    sqlx::query_scalar("SELECT max(id) FROM mails").fetch_one(connection).await.unwrap()
}

/// A link of a new account with this expiry.
async fn link(database: &Database, kind: &str, expires: Micros) -> i64 {
    let mut tx = database.begin().await.unwrap();
    let account: i64 =
        sqlx::query_scalar("INSERT INTO accounts (created_us) VALUES (1) RETURNING id")
            .fetch_one(&mut *tx)
            .await
            .unwrap();
    let link = sqlx::query_scalar(
        "INSERT INTO links (account_id, kind, created_us, expires_us)
         VALUES ($1, $2, 1, $3) RETURNING id",
    )
    .bind(account)
    .bind(kind)
    .bind(expires)
    .fetch_one(&mut *tx)
    .await
    .unwrap();
    tx.commit().await.unwrap();
    link
}

async fn until(database: &Database, mail: i64, what: impl Fn(&Row) -> bool) -> Row {
    let coming = async {
        loop {
            let (attempts, sent_us, failed_us, error) = sqlx::query_as(
                "SELECT attempts, sent_us, failed_us, error FROM mails WHERE id = $1",
            )
            .bind(mail)
            .fetch_one(database.pool())
            .await
            .unwrap();
            let row = Row { attempts, sent_us, failed_us, error };
            if what(&row) {
                return row;
            }
            // There is no notification of a changed row.
            time::sleep(Duration::from_millis(5)).await;
        }
    };
    time::timeout(PATIENCE, coming).await.expect("the mail comes so far")
}
