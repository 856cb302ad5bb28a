//! The life of accounts on both databases, with time moved by hand.

mod entering;
mod grants;
mod keys;
mod leaving;
mod named_keys;
mod operators;
mod races;
mod recovery;
mod registering;
mod sessions;

use super::*;
use crate::mail::MailKind;
use database::{Database, testing::on_each};

const NOW: Micros = 1_788_280_000_000_000;
const ME: &str = "me@x.org";
const PASSWORD: &str = "correct horse";

/// Passwords are cheap to hash here, and responses are not delayed.
fn quick() -> AccountsConfig {
    AccountsConfig {
        password_memory_kib: 8,
        password_passes: 1,
        answer_ms: 1,
        ..AccountsConfig::default()
    }
}

fn email(text: &str) -> Email {
    Email::parse(text).unwrap()
}

fn password(text: &str) -> Password {
    Password::parse(text.to_owned()).unwrap()
}

/// Runs a test on new accounts in a database of each kind.
async fn on_each_accounts(test: impl AsyncFn(TestAccounts)) {
    on_each(async |database| test(TestAccounts::new(&database).await).await).await;
}

/// Accounts, and what came by mail.
struct TestAccounts {
    accounts: Accounts,
    /// The default browser of all requests.
    browser: Visitor,
}

impl TestAccounts {
    async fn new(database: &Database) -> Self {
        Self::with(database, quick()).await
    }

    async fn with(database: &Database, config: AccountsConfig) -> Self {
        let accounts = Accounts::new(database.clone(), &config).await.unwrap();
        Self { accounts, browser: Visitor::parse(&"0a".repeat(32)).unwrap() }
    }

    fn new_password(&self, text: &str) -> NewPassword {
        self.accounts.new_password(text.to_owned(), None).unwrap()
    }

    async fn register(&self, address: &str, typed: &str, now: Micros) {
        self.register_in(&self.browser, address, typed, now).await;
    }

    async fn register_in(&self, browser: &Visitor, address: &str, typed: &str, now: Micros) {
        let typed = self.new_password(typed);
        self.accounts.register(&email(address), typed, Some(browser), now).await.unwrap();
    }

    async fn verify(&self, link: &str, now: Micros) -> VerificationOutcome {
        self.verify_in(&self.browser, link, now).await
    }

    async fn verify_in(&self, browser: &Visitor, link: &str, now: Micros) -> VerificationOutcome {
        self.accounts.follow_verification(link, Some(browser), None, now).await.unwrap()
    }

    /// Chooses the password on the page of the link.
    async fn verify_with(&self, link: &str, typed: &str, now: Micros) -> VerificationOutcome {
        let typed = self.new_password(typed);
        self.accounts.follow_verification(link, None, Some(typed), now).await.unwrap()
    }

    async fn request_reset(&self, address: &str, now: Micros) {
        let stranger = Requester::Stranger;
        self.accounts.request_reset(&email(address), stranger, now).await.unwrap();
    }

    /// Registers an address; the link that confirms it.
    async fn verification_link(&self, address: &str) -> String {
        self.register(address, PASSWORD, NOW).await;
        self.link(address, MailKind::Verify).await
    }

    /// Requests another password; the link to choose it.
    async fn reset_link(&self, address: &str) -> String {
        self.request_reset(address, NOW).await;
        self.link(address, MailKind::Reset).await
    }

    /// An active account whose key was not viewed yet.
    async fn confirmed(&self, address: &str) -> AccountId {
        let link = self.verification_link(address).await;
        let VerificationOutcome::Now { account } = self.verify(&link, NOW).await else {
            panic!("{address} could not be confirmed");
        };
        account
    }

    /// An active account and its key.
    async fn active(&self, address: &str) -> (AccountId, Key) {
        let account = self.confirmed(address).await;
        (
            account,
            self.accounts.take_new_key(account, NewKeyKind::Main, NOW).expect("it was just made"),
        )
    }

    /// The kinds of mail to an address, the oldest first.
    async fn mails(&self, address: &str) -> Vec<MailKind> {
        let kinds: Vec<String> =
            sqlx::query_scalar("SELECT kind FROM mails WHERE address = $1 ORDER BY id")
                .bind(address)
                .fetch_all(self.accounts.database().pool())
                .await
                .unwrap();
        kinds.iter().map(|kind| kind.parse().unwrap()).collect()
    }

    /// The links that came to an address, the oldest first; those that are of no use are left out.
    async fn links(&self, address: &str, kind: MailKind) -> Vec<String> {
        let rows: Vec<i64> = sqlx::query_scalar(
            "SELECT link_id FROM mails WHERE address = $1 AND kind = $2 ORDER BY id",
        )
        .bind(address)
        .bind(kind.as_str())
        .fetch_all(self.accounts.database().pool())
        .await
        .unwrap();
        let mut links = Vec::new();
        for row in rows {
            links.extend(self.accounts.link_text(row).await.unwrap());
        }
        links
    }

    async fn link(&self, address: &str, kind: MailKind) -> String {
        self.links(address, kind).await.pop().expect("a link came")
    }

    async fn log_in(&self, address: &str, typed: &str, now: Micros) -> Option<SessionSecret> {
        match self.accounts.log_in(&email(address), password(typed), now).await.unwrap() {
            LogInOutcome::In { secret, .. } => Some(secret),
            LogInOutcome::Refused => None,
        }
    }

    async fn session(&self, secret: &SessionSecret, now: Micros) -> Option<Session> {
        self.accounts.session(secret.expose(), now).await.unwrap()
    }

    async fn works(&self, key: &Key, now: Micros) -> bool {
        self.accounts.authenticate(key.expose(), HERE, now).await.unwrap().is_some()
    }

    async fn customer(&self, account: AccountId) -> Option<Customer> {
        self.accounts.customer(account).await.unwrap()
    }

    async fn find(&self, address: &str) -> Option<AccountId> {
        let store = &self.accounts.shared.store;
        let found = store.account_by_email(email(address).as_str()).await.unwrap();
        found.map(|account| account.id)
    }

    async fn execute(&self, sql: &'static str) {
        sqlx::query(sql).execute(self.accounts.database().pool()).await.unwrap();
    }

    async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.accounts.database().pool()).await.unwrap()
    }
}
