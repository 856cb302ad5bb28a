//! Commands on the database of a running hub, which notices at once.

use super::{command, hub, hub_on, id, key, refused, run};
use crate::support::{Client, Closed, TestDatabase, on_sqlite};

#[tokio::test]
async fn block_closes_sockets_and_unblock_allows_them_again() {
    on_sqlite(async |database: TestDatabase| {
        let hub = hub_on(&database);
        let key = key(&hub, "ann@example.org", &["websocket"]);
        let mut client = Client::connect(&hub.address, &key).await;
        client.next_of("hello").await;
        assert_eq!(command(&hub, &["account", "block", "ann@example.org"]), "blocked\n");
        let closed = client.until_closed().await;
        assert_eq!(closed, Closed(Some((4410, "token_revoked".to_owned()))));
        let mut again = Client::connect(&hub.address, &key).await;
        assert_eq!(again.until_closed().await, Closed(Some((4401, "auth_failed".to_owned()))));
        assert_eq!(command(&hub, &["account", "unblock", "ann@example.org"]), "unblocked\n");
        let mut back = Client::connect(&hub.address, &key).await;
        back.next_of("hello").await;
    })
    .await;
}

#[tokio::test]
async fn deletion_closes_sockets() {
    let hub = hub();
    let key = key(&hub, "ann@deletion.example.org", &["websocket"]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.next_of("hello").await;
    assert_eq!(command(&hub, &["account", "delete", "ann@deletion.example.org"]), "deleted\n");
    assert_eq!(client.until_closed().await, Closed(Some((4410, "token_revoked".to_owned()))));
    assert!(!command(&hub, &["account", "list"]).contains("ann@deletion.example.org"));
}

#[tokio::test]
async fn granted_addon_opens_its_product() {
    on_sqlite(async |database: TestDatabase| {
        let hub = hub_on(&database);
        let key = key(&hub, "ann@example.org", &[]);
        let mut before = Client::connect(&hub.address, &key).await;
        assert_eq!(before.until_closed().await, Closed(Some((4402, "addon_required".to_owned()))));
        let words =
            ["addon", "gift", "ann@example.org", "websocket", "--days", "30", "--note", "a try"];
        let given = command(&hub, &words);
        assert!(given.starts_with("websocket\tuntil\t20"), "{given}");
        // The hub checks for changes ten times a second.
        let hello = async {
            loop {
                let mut client = Client::connect(&hub.address, &key).await;
                match client.next().await {
                    Ok(frame) if frame["type"] == "hello" => return,
                    _ => crate::support::pause().await,
                }
            }
        };
        tokio::time::timeout(crate::support::PATIENCE, hello).await.expect("the gift is noticed");
        let ledger = command(&hub, &["ledger", "--account", "ann@example.org"]);
        assert!(ledger.contains("\tgift\t30\t0\t-\t"), "{ledger}");
        assert!(ledger.contains("\ta try\n"), "{ledger}");
        assert!(ledger.contains("sum\twebsocket\tgift\t1\t30\t0\t-\n"), "{ledger}");
    })
    .await;
}

/// SPEC section 3, rule 2: the badge is granted once, and cannot be obtained afterwards.
#[tokio::test]
async fn founders_are_granted_once() {
    on_sqlite(async |database: TestDatabase| {
        let hub = hub_on(&database);
        key(&hub, "ann@example.org", &[]);
        let shown = command(&hub, &["account", "show", "ann@example.org"]);
        assert!(shown.contains("\nfounder\t-\n"), "{shown}");
        // The account was created after that day.
        assert_eq!(command(&hub, &["founders", "grant", "--at", "2026-08-03"]), "granted to\t0\n");
        let again = refused(&hub, &["founders", "grant", "--at", "2026-08-03"]);
        assert!(again.contains("granted only once"), "{again}");
        let later = refused(&hub, &["founders", "grant", "--at", "2099-01-01"]);
        assert!(later.contains("is in the future"), "{later}");
    })
    .await;
}

#[tokio::test]
async fn missing_objects_are_reported_with_exit_code_1() {
    let hub = hub();
    assert!(refused(&hub, &["account", "show", "nobody@example.org"]).contains("no account"));
    assert!(refused(&hub, &["order", "show", "0a0a"]).contains("no order `0a0a`"));
    assert!(refused(&hub, &["refund", "0a0a"]).contains("no order `0a0a`"));
    assert!(refused(&hub, &["admin", "remove", "nobody"]).contains("no operator `nobody`"));
    let words = ["addon", "gift", "nobody@example.org", "odds", "--days", "1", "--note", "x"];
    assert!(refused(&hub, &words).contains("no account"));
}

#[tokio::test]
async fn password_is_read_only_from_standard_input() {
    let hub = hub_on(&TestDatabase::file());
    let weak = run(&hub, &["admin", "create", "ada"], "short\n");
    assert_eq!(weak.status.code(), Some(1));
    let none = run(&hub, &["admin", "create", "ada"], "");
    assert!(String::from_utf8_lossy(&none.stderr).contains("standard input"));
    let argument = run(&hub, &["admin", "create", "ada", "--password", "a long password"], "");
    assert_eq!(argument.status.code(), Some(2), "a password on the command line is taken");
    assert_eq!(command(&hub, &["admin", "list"]), "NAME\tCREATED\n");
    let made = run(&hub, &["admin", "create", "ada"], "a long password\n");
    assert_eq!(String::from_utf8_lossy(&made.stdout), "created\tada\n");
    assert!(command(&hub, &["admin", "list"]).starts_with("NAME\tCREATED\nada\t20"));
    assert!(command(&hub, &["admin", "list", "--json"]).starts_with("{\"name\":\"ada\","));
}

#[tokio::test]
async fn accounts_are_found_by_address_or_key_prefix() {
    let hub = hub_on(&TestDatabase::file());
    let ann = key(&hub, "ann@example.org", &["odds"]);
    key(&hub, "bob@example.net", &[]);
    let found = |text: &str| command(&hub, &["account", "list", "--search", text]);
    for text in ["ANN", &ann[..11], "ann@example.org"] {
        let found = found(text);
        assert_eq!(found.lines().count(), 2, "{text}: {found}");
        assert!(found.contains("\tann@example.org\tactive\t"), "{text}: {found}");
    }
    assert!(!found("").contains(&ann), "a key is shown in full");
    let id = id(&hub, "ann@example.org");
    assert!(command(&hub, &["account", "show", &id]).contains("address\tann@example.org\n"));
}
