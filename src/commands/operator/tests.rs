//! Commands in, lines out, on a database of each kind.

use std::net::Ipv4Addr;

use rust_decimal::{Decimal, dec};
use serde_json::{Value, json};

use super::*;
use crate::cli::{
    OutputArgs,
    accounts::{
        AccountArgs, AccountCommand, AccountListArgs, AddonCommand, AddonGrantArgs, AdminArgs,
        AdminCommand, AdminListArgs, FoundersCommand, FoundersGrantArgs,
    },
    orders::{LedgerArgs, OrderCommand, OrderListArgs, OrderShowArgs, RefundArgs},
};
use accounts::Addon;
use database::{Database, DatabaseName, testing::on_each};

const TEXT: OutputArgs = OutputArgs { json: false };
const JSON: OutputArgs = OutputArgs { json: true };

/// 2026-09-01T16:26:40Z
const NOW: Micros = 1_788_280_000_000_000;
const DAY: Micros = 86_400_000_000;

/// Runs a test of commands on a new database of each kind.
async fn on_each_operator(test: impl AsyncFn(OperatorFixture)) {
    on_each(async |database| test(OperatorFixture::new(database)).await).await;
}

/// Runs commands on one database.
struct OperatorFixture {
    database: Database,
    config: Config,
}

impl OperatorFixture {
    fn new(database: Database) -> Self {
        let mut config = Config::default();
        // The allowed minimum: these tests do not depend on the cost of hashing.
        config.accounts.password_memory_kib = 8;
        config.accounts.password_passes = 1;
        Self { database, config }
    }

    fn db(&self) -> DatabaseName {
        self.database.name().clone()
    }

    async fn accounts(&self) -> Accounts {
        Accounts::new(self.database.clone(), &self.config.accounts).await.unwrap()
    }

    async fn at(
        &self,
        command: OperatorCommand,
        input: &str,
        now: Micros,
    ) -> Result<String, OperatorError> {
        let mut out = Vec::new();
        run(command, &self.config, now, &mut input.as_bytes(), &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    async fn answer(&self, command: OperatorCommand) -> Result<String, OperatorError> {
        self.at(command, "", NOW).await
    }

    async fn refused(&self, command: OperatorCommand) -> String {
        self.answer(command).await.expect_err("it is refused").to_string()
    }

    fn account(&self, account: &str) -> AccountArgs {
        AccountArgs { db: self.db(), account: account.to_owned() }
    }

    async fn show(&self, account: &str) -> String {
        let show = AccountCommand::Show(self.account(account));
        self.answer(OperatorCommand::Account(show)).await.unwrap()
    }

    async fn id_of(&self, account: &str) -> String {
        lines(&self.show(account).await, "id")[0][1].to_owned()
    }

    fn gift(&self, account: &str, addon: Addon, days: u32, note: &str) -> OperatorCommand {
        let (account, note) = (account.to_owned(), note.to_owned());
        let args = AddonGrantArgs { db: self.db(), account, addon, days, note };
        OperatorCommand::Addon(AddonCommand::Grant(args))
    }

    fn filter(&self, account: Option<&str>, since: Option<Micros>) -> LedgerFilterArgs {
        LedgerFilterArgs { db: self.db(), account: account.map(str::to_owned), since, until: None }
    }

    async fn ledger(&self, account: Option<&str>, since: Option<Micros>) -> String {
        let filter = self.filter(account, since);
        let args = LedgerArgs { filter, output: TEXT };
        self.answer(OperatorCommand::Ledger(args)).await.unwrap()
    }

    fn grant(&self, at: Micros) -> OperatorCommand {
        let args = FoundersGrantArgs { db: self.db(), at };
        OperatorCommand::Founders(FoundersCommand::Grant(args))
    }

    fn admin(&self, name: &str) -> AdminArgs {
        AdminArgs { db: self.db(), name: name.to_owned() }
    }

    /// An account with a key and days of the Sports add-on.
    async fn customer(&self, email: &str) {
        let accounts = self.accounts().await;
        accounts.create_key(Some(email), &[(Addon::Sports, 2)], NOW - DAY).await.unwrap();
    }

    /// An order as payments leave it: paid at a moment, or open.
    async fn order(&self, id: &str, account: i64, amount: Decimal, paid: Option<Micros>) {
        sqlx::query(
            "INSERT INTO orders (id, account_id, rail, addon, months, days, amount, currency, \
             founder, created_us, paid_us, days_granted) \
             VALUES ($1, $2, 'card', 'sports', 1, 30, $3, 'USD', 0, $4, $5, $6)",
        )
        .bind(id)
        .bind(account)
        .bind(amount.to_string())
        .bind(NOW)
        .bind(paid)
        .bind(if paid.is_some() { 30_i64 } else { 0 })
        .execute(self.database.pool())
        .await
        .unwrap();
        if let Some(at) = paid {
            self.entry((account, Some(id)), "purchase", 30, amount, at).await;
        }
    }

    async fn entry(
        &self,
        (account, order): (i64, Option<&str>),
        kind: &str,
        days: i64,
        amount: Decimal,
        at: Micros,
    ) {
        sqlx::query(
            "INSERT INTO ledger (account_id, addon, order_id, kind, days, amount, currency, \
             expires_us, note, at_us) VALUES ($1, 'sports', $2, $3, $4, $5, 'USD', $6, 'card', $6)",
        )
        .bind(account)
        .bind(order.map(str::to_owned))
        .bind(kind)
        .bind(days)
        .bind(amount.to_string())
        .bind(at)
        .execute(self.database.pool())
        .await
        .unwrap();
    }
}

fn fields(line: &str) -> Vec<&str> {
    line.split('\t').collect()
}

/// The lines that begin with this word, each by its fields.
fn lines<'a>(answer: &'a str, word: &str) -> Vec<Vec<&'a str>> {
    answer.lines().map(fields).filter(|fields| fields[0] == word).collect()
}

#[tokio::test]
async fn accounts_are_listed_with_their_addons() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        operator.customer("bob@two.org").await;
        let list = |search: Option<&str>| {
            let search = search.map(str::to_owned);
            let (db, output) = (operator.db(), TEXT);
            let args = AccountListArgs { db, search, before: None, limit: 10, output };
            OperatorCommand::Account(AccountCommand::List(args))
        };
        let all = operator.answer(list(None)).await.unwrap();
        let all: Vec<_> = all.lines().map(fields).collect();
        let addresses: Vec<_> = all.iter().map(|it| it[1]).collect();
        assert_eq!(addresses, ["ADDRESS", "bob@two.org", "ann@one.org"]);
        let found = operator.answer(list(Some("ONE"))).await.unwrap();
        assert_eq!(
            fields(found.lines().nth(1).unwrap())[1..],
            [
                "ann@one.org",
                "active",
                "2026-08-31T16:26:40Z",
                "-",
                "sports until 2026-09-02T16:26:40Z"
            ]
        );
        let none = operator.answer(list(Some("nobody"))).await.unwrap();
        assert_eq!(none, "ID\tADDRESS\tSTATE\tCREATED\tFOUNDER\tADDONS\n");
    })
    .await;
}

#[tokio::test]
async fn account_is_shown_by_address_or_id_without_its_secrets() {
    on_each_operator(async |operator| {
        let key =
            operator.accounts().await.create_key(Some("ann@one.org"), &[], NOW).await.unwrap();
        let shown = operator.show("Ann@One.org").await;
        assert_eq!(lines(&shown, "address"), [["address", "ann@one.org"]]);
        assert_eq!(lines(&shown, "key"), [["key", key.prefix(), "2026-09-01T16:26:40Z", "-", "-"]]);
        assert!(!shown.contains(key.expose()), "the key itself is shown");
        let id = lines(&shown, "id")[0][1].to_owned();
        assert_eq!(operator.show(&id).await, shown);
        let show = AccountCommand::Show(operator.account("nobody@one.org"));
        let refused = operator.refused(OperatorCommand::Account(show)).await;
        assert_eq!(refused, "no account `nobody@one.org`");
    })
    .await;
}

#[tokio::test]
async fn gift_is_added_to_the_remaining_days_and_is_in_the_ledger() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        let gift = operator.gift("ann@one.org", Addon::Sports, 30, "for the outage");
        // One of two days is left.
        let given = operator.answer(gift).await.unwrap();
        assert_eq!(given, "sports\tuntil\t2026-10-02T16:26:40Z\n");
        let ledger = operator.ledger(Some("ann@one.org"), Some(NOW)).await;
        let entry = fields(ledger.lines().nth(1).unwrap());
        assert_eq!(entry[3..8], ["sports", "gift", "30", "0", "-"]);
        assert_eq!(entry[8..], ["2026-10-02T16:26:40Z", "-", "for the outage"]);
        assert_eq!(lines(&ledger, "sum"), [["sum", "sports", "gift", "1", "30", "0", "-"]]);
        let refused = operator.refused(operator.gift("nobody", Addon::Odds, 1, "x")).await;
        assert_eq!(refused, "no account `nobody`");
    })
    .await;
}

/// SPEC section 3, rule 2: the badge is granted once, to every account existing at that moment, and
/// cannot be obtained afterwards.
#[tokio::test]
async fn founder_badge_is_granted_once() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        let early = operator.refused(operator.grant(NOW + DAY)).await;
        assert_eq!(early, "2026-09-02T16:26:40Z is in the future");
        let accounts = operator.accounts().await;
        accounts.create_key(Some("late@two.org"), &[], NOW).await.unwrap();
        assert_eq!(operator.answer(operator.grant(NOW - 1)).await.unwrap(), "granted to\t1\n");
        accounts.create_key(Some("later@two.org"), &[], NOW).await.unwrap();
        for at in [NOW - 1, NOW] {
            let again = operator.refused(operator.grant(at)).await;
            assert_eq!(
                again,
                "the badge was already granted as of 2026-09-01T16:26:39Z: it can be granted only once"
            );
        }
        for (name, since) in
            [("ann@one.org", "2026-09-01T16:26:39Z"), ("late@two.org", "-"), ("later@two.org", "-")]
        {
            assert_eq!(
                lines(&operator.show(name).await, "founder"),
                [["founder", since]],
                "{name}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn block_holds_until_unblocked() {
    on_each_operator(async |operator| {
        let accounts = operator.accounts().await;
        let key = accounts.create_key(Some("ann@one.org"), &[], NOW).await.unwrap();
        let works = async || {
            // Another program, with nothing in its cache.
            operator
                .accounts()
                .await
                .authenticate(key.expose(), Ipv4Addr::LOCALHOST.into(), NOW)
                .await
                .unwrap()
                .is_some()
        };
        let block =
            || OperatorCommand::Account(AccountCommand::Block(operator.account("ann@one.org")));
        let unblock =
            || OperatorCommand::Account(AccountCommand::Unblock(operator.account("ann@one.org")));
        assert_eq!(operator.answer(block()).await.unwrap(), "blocked\n");
        assert!(!works().await, "the key of a blocked account works");
        assert_eq!(operator.answer(block()).await.unwrap(), "had been blocked before\n");
        assert_eq!(lines(&operator.show("ann@one.org").await, "state"), [["state", "blocked"]]);
        assert_eq!(operator.answer(unblock()).await.unwrap(), "unblocked\n");
        assert!(works().await, "the key works again");
        assert_eq!(operator.answer(unblock()).await.unwrap(), "had not been blocked\n");
    })
    .await;
}

#[tokio::test]
async fn deleted_account_leaves_only_its_ledger() {
    on_each_operator(async |operator| {
        let accounts = operator.accounts().await;
        let key = accounts.create_key(Some("ann@one.org"), &[(Addon::Odds, 3)], NOW).await.unwrap();
        let id = operator.id_of("ann@one.org").await;
        let delete =
            |name: &str| OperatorCommand::Account(AccountCommand::Delete(operator.account(name)));
        assert_eq!(operator.answer(delete("ann@one.org")).await.unwrap(), "deleted\n");
        assert!(
            operator
                .accounts()
                .await
                .authenticate(key.expose(), Ipv4Addr::LOCALHOST.into(), NOW)
                .await
                .unwrap()
                .is_none()
        );
        let shown = operator.show(&id).await;
        assert_eq!(lines(&shown, "address"), [["address", "-"]]);
        assert_eq!(lines(&shown, "state"), [["state", "deleted"]]);
        assert!(lines(&operator.ledger(Some(&id), None).await, "sum")[0].contains(&"3"));
        assert_eq!(operator.answer(delete(&id)).await.unwrap(), "had been deleted before\n");
        let refused = operator.refused(operator.gift(&id, Addon::Odds, 1, "x")).await;
        assert_eq!(refused, "the account is deleted");
    })
    .await;
}

#[tokio::test]
async fn ledger_sums_and_totals_add_up() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        operator.customer("bob@two.org").await;
        let ann = operator.id_of("ann@one.org").await.parse().unwrap();
        let bob = operator.id_of("bob@two.org").await.parse().unwrap();
        operator.order("a1", ann, dec!(5.00), Some(NOW)).await;
        operator.order("a2", ann, dec!(2.50), Some(NOW + 1)).await;
        operator.order("b1", bob, dec!(5.00), Some(NOW + DAY)).await;
        operator.entry((ann, Some("a1")), "refund", -15, dec!(-2.50), NOW + 2).await;
        let all = operator.ledger(None, Some(NOW)).await;
        let sums = [
            ["sum", "sports", "purchase", "3", "90", "12.50", "USD"],
            ["sum", "sports", "refund", "1", "-15", "-2.50", "USD"],
        ];
        assert_eq!(lines(&all, "sum"), sums);
        assert_eq!(lines(&all, "total"), [["total", "-", "-", "4", "-", "10.00", "USD"]]);
        let head = ["ROW", "ADDON", "KIND", "ENTRIES", "DAYS", "AMOUNT", "CURRENCY"];
        assert_eq!(lines(&all, "ROW"), [head]);
        let one = [["total", "-", "-", "1", "-", "5.00", "USD"]];
        let bobs = operator.ledger(Some("bob@two.org"), Some(NOW)).await;
        assert_eq!(lines(&bobs, "total"), one);
        let later = operator.ledger(None, Some(NOW + 3)).await;
        assert_eq!(lines(&later, "total"), one);
        let filter = LedgerFilterArgs { until: Some(NOW), ..operator.filter(None, Some(NOW)) };
        let args = LedgerArgs { filter, output: TEXT };
        let first = operator.answer(OperatorCommand::Ledger(args)).await.unwrap();
        assert_eq!(lines(&first, "total"), one);
        let none = operator.ledger(None, Some(NOW + 2 * DAY)).await;
        let head =
            "NUMBER\tTIME\tACCOUNT\tADDON\tKIND\tDAYS\tAMOUNT\tCURRENCY\tEXPIRES\tORDER\tNOTE\n";
        assert_eq!(none, head);
    })
    .await;
}

#[tokio::test]
async fn ledger_is_printed_as_json() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        let id = operator.id_of("ann@one.org").await;
        operator.order("a1", id.parse().unwrap(), dec!(5.00), Some(NOW)).await;
        let args = LedgerArgs { filter: operator.filter(None, Some(NOW)), output: JSON };
        let printed = operator.answer(OperatorCommand::Ledger(args)).await.unwrap();
        let objects: Vec<Value> =
            printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [entry, sum, total] = &*objects else { panic!("{printed}") };
        assert_eq!((&entry["account"], &entry["order"]), (&json!(id), &json!("a1")));
        assert_eq!((&entry["days"], &entry["amount"]), (&json!("30"), &json!("5.00")));
        assert_eq!((&sum["row"], &sum["kind"]), (&json!("sum"), &json!("purchase")));
        let expected = json!({
            "row": "total",
            "addon": null,
            "kind": null,
            "entries": "1",
            "days": null,
            "amount": "5.00",
            "currency": "USD",
        });
        assert_eq!(*total, expected);
        let args = LedgerArgs { filter: operator.filter(None, Some(NOW + 1)), output: JSON };
        assert_eq!(operator.answer(OperatorCommand::Ledger(args)).await.unwrap(), "");
    })
    .await;
}

/// Entries beyond one batch are all printed and counted.
#[tokio::test]
async fn long_ledger_is_printed_completely() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        let mut tx = operator.database.begin().await.unwrap();
        for _ in 0..1003 {
            sqlx::query(
                "INSERT INTO ledger (account_id, addon, kind, days, amount, currency, expires_us, \
                 note, at_us) SELECT id, 'odds', 'purchase', 30, '0.10', 'USD', 0, '', 0 \
                 FROM accounts",
            )
            .execute(&mut *tx)
            .await
            .unwrap();
        }
        tx.commit().await.unwrap();
        let printed = operator.ledger(None, None).await;
        let entries = printed.lines().filter(|line| line.contains("\tpurchase\t30\t0.10\t"));
        assert_eq!(entries.count(), 1003);
        let total = ["total", "-", "-", "1003", "-", "100.30", "USD"];
        assert_eq!(lines(&printed, "total"), [total]);
    })
    .await;
}

#[tokio::test]
async fn orders_are_listed_and_shown() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        let id = operator.id_of("ann@one.org").await.parse().unwrap();
        operator.order("open", id, dec!(5.00), None).await;
        operator.order("paid", id, dec!(2.50), Some(NOW)).await;
        let filter = operator.filter(Some("ann@one.org"), None);
        let list = OrderCommand::List(OrderListArgs { filter, limit: 10, output: TEXT });
        let listed = operator.answer(OperatorCommand::Order(list)).await.unwrap();
        assert!(listed.starts_with("ID\tACCOUNT\tRAIL\tADDON\t"), "{listed}");
        assert_eq!(lines(&listed, "open")[0][2..8], ["card", "sports", "1", "5.00", "USD", "open"]);
        assert_eq!(
            lines(&listed, "paid")[0][7..],
            ["paid", "2026-09-01T16:26:40Z", "2026-09-01T16:26:40Z", "0"]
        );
        let show = |order: &str| {
            let args = OrderShowArgs { db: operator.db(), order: order.to_owned() };
            OperatorCommand::Order(OrderCommand::Show(args))
        };
        let shown = operator.answer(show("paid")).await.unwrap();
        assert_eq!(lines(&shown, "amount"), [["amount", "2.50", "USD"]]);
        assert!(shown.contains("\tsports\tpurchase\t30\t2.50\tUSD\t"), "{shown}");
        assert_eq!(operator.refused(show("none")).await, "no order `none`");
    })
    .await;
}

#[tokio::test]
async fn refund_needs_an_order_and_its_provider() {
    on_each_operator(async |operator| {
        operator.customer("ann@one.org").await;
        let id = operator.id_of("ann@one.org").await.parse().unwrap();
        operator.order("paid", id, dec!(5.00), Some(NOW)).await;
        let refund = |order: &str| {
            let order = order.to_owned();
            OperatorCommand::Refund(RefundArgs {
                db: operator.db(),
                config: None,
                order,
                amount: None,
            })
        };
        assert_eq!(operator.refused(refund("none")).await, "no order `none`");
        let why = "card payments are not set up: the settings have no key for this provider";
        assert_eq!(operator.refused(refund("paid")).await, why);
    })
    .await;
}

#[tokio::test]
async fn operators_are_created_with_a_password_from_stdin() {
    on_each_operator(async |operator| {
        let create = |name| OperatorCommand::Admin(AdminCommand::Create(operator.admin(name)));
        let list = || {
            let args = AdminListArgs { db: operator.db(), output: TEXT };
            OperatorCommand::Admin(AdminCommand::List(args))
        };
        let remove = |name| OperatorCommand::Admin(AdminCommand::Remove(operator.admin(name)));
        let made = operator.at(create("ada"), "correct horse battery\n", NOW).await.unwrap();
        assert_eq!(made, "created\tada\n");
        let listed = operator.answer(list()).await.unwrap();
        assert_eq!(listed, "NAME\tCREATED\nada\t2026-09-01T16:26:40Z\n");
        let again = operator.at(create("ada"), "another password\n", NOW).await.unwrap_err();
        assert_eq!(again.to_string(), "the operator `ada` already exists");
        for (input, weak) in [("", false), ("\n", false), ("short\n", true)] {
            let error = operator.at(create("bob"), input, NOW).await.unwrap_err();
            assert_eq!(matches!(error, OperatorError::WeakPassword(_)), weak, "{input:?} {error}");
        }
        assert_eq!(operator.answer(remove("ada")).await.unwrap(), "removed\tada\n");
        assert_eq!(operator.refused(remove("ada")).await, "no operator `ada`");
        assert_eq!(operator.answer(list()).await.unwrap(), "NAME\tCREATED\n");
    })
    .await;
}

#[test]
fn mistyped_path_creates_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let command = OperatorCommand::Ledger(LedgerArgs {
        filter: LedgerFilterArgs { db: (&*db).into(), account: None, since: None, until: None },
        output: TEXT,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config::default();
    let (mut input, mut out) = (&b""[..], Vec::new());
    let done = run(command, &config, NOW, &mut input, &mut out);
    assert!(runtime.block_on(done).is_err());
    assert!(!db.exists());
}
