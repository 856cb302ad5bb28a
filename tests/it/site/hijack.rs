//! An attacker registers another person's address, guesses the password, or uses up the mail limit.
//!
//! The cases come from an independent trial. In each, the attacker and the owner have one browser
//! each, and only the owner reads the owner's mail.

use super::{PASSWORD, QUICK, customer, demo, log_in, mailed};
use crate::support::{Browser, Hub, Setting};

const ATTACKERS: &str = "the password of a stranger";
const CHOSEN: &str = "what the owner chooses";

async fn register(browser: &mut Browser<'_>, address: &str, password: &str) {
    let fields = [("email", address), ("password", password)];
    let answer = browser.fill("/register/", "/register/", &fields).await;
    assert_eq!(answer.status, 303, "{answer:?}");
}

async fn enters(hub: &Hub, address: &str, password: &str) -> bool {
    let fields = [("email", address), ("password", password)];
    let answer = Browser::new(hub).fill("/login/", "/login/", &fields).await;
    assert!(matches!(answer.status, 303 | 422), "{answer:?}");
    answer.status == 303
}

/// The owner follows a link in a browser that did not register, and chooses the password there.
async fn choose(hub: &Hub, owner: &mut Browser<'_>, address: &str, path: &str) {
    let page = owner.get(path).await;
    assert!(page.status == 200 && page.body.contains("Choose a password"), "{page:?}");
    assert!(!enters(hub, address, ATTACKERS).await, "opening the link let the attacker in");
    let link = &path["/verify/?link=".len()..];
    let chosen = owner.send("/verify/", &[("link", link), ("password", CHOSEN)]).await;
    assert_eq!(chosen.header("location"), Some("/dashboard/"), "{chosen:?}");
    assert_eq!(owner.get("/dashboard/").await.status, 200);
    assert!(enters(hub, address, CHOSEN).await && !enters(hub, address, ATTACKERS).await);
}

/// In each case an attacker registers the address. All cases use one hub.
#[tokio::test]
async fn owners_click_never_sets_an_attackers_password() {
    let hub = demo();
    // A: the owner gets the mail.
    register(&mut Browser::new(&hub), "a@example.org", ATTACKERS).await;
    let link = mailed(&hub, "a@example.org", "/verify/", 1).await;
    choose(&hub, &mut Browser::new(&hub), "a@example.org", &link).await;

    // B: both register, and the owner follows either mail in the browser she registered with. After
    // one click her password is set.
    for (address, newest) in [("b1@example.org", false), ("b2@example.org", true)] {
        let (mut owner, mut attacker) = (Browser::new(&hub), Browser::new(&hub));
        register(&mut owner, address, PASSWORD).await;
        let first = mailed(&hub, address, "/verify/", 1).await;
        register(&mut attacker, address, ATTACKERS).await;
        let second = mailed(&hub, address, "/verify/", 2).await;
        let followed = owner.get(if newest { &second } else { &first }).await;
        assert_eq!(followed.header("location"), Some("/dashboard/"), "{followed:?}");
        assert!(enters(&hub, address, PASSWORD).await && !enters(&hub, address, ATTACKERS).await);
    }

    // C and D: the owner requests the mail again, or a password reset.
    for (address, page) in [("c@example.org", "/register/sent/"), ("d@example.org", "/reset/")] {
        register(&mut Browser::new(&hub), address, ATTACKERS).await;
        mailed(&hub, address, "/verify/", 1).await;
        let mut owner = Browser::new(&hub);
        let requested = owner.fill(page, page, &[("email", address)]).await;
        assert_eq!(requested.status, 303, "{page}: {requested:?}");
        let link = mailed(&hub, address, "/verify/", 2).await;
        choose(&hub, &mut owner, address, &link).await;
    }

    // E: the operator made the account, with a paid add-on and a key.
    let mut command = hub.database.program();
    let made = command.args(["key", "create", "--email", "e@example.org", "--addon", "websocket"]);
    let made = made.args(["--db", &hub.db()]).output().expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    register(&mut Browser::new(&hub), "e@example.org", ATTACKERS).await;
    let link = mailed(&hub, "e@example.org", "/verify/", 1).await;
    let mut owner = Browser::new(&hub);
    choose(&hub, &mut owner, "e@example.org", &link).await;
    let dashboard = owner.get("/dashboard/").await;
    assert!(dashboard.body.contains("days left"), "the add-on is gone: {dashboard:?}");
}

/// The attacker requests mails without end; the owner requests one in a browser that she has used
/// before.
#[tokio::test]
async fn reset_mails_requested_by_an_attacker_keep_earlier_links_valid() {
    const ANN: &str = "ann@mails.example.org";
    let hub = demo();
    let (mut owner, _) = customer(&hub, ANN).await;
    owner.send("/logout/", &[]).await;
    for _ in 0..10 {
        Browser::new(&hub).fill("/reset/", "/reset/", &[("email", ANN)]).await;
    }
    // One of six was that of the registration.
    mailed(&hub, ANN, "/reset/", 5).await;
    owner.fill("/reset/", "/reset/", &[("email", ANN)]).await;
    let path = mailed(&hub, ANN, "/reset/", 6).await;
    let first = mailed(&hub, ANN, "/reset/", 1).await;
    assert_ne!(path, first);
    let link = &first["/reset/?link=".len()..];
    owner.get(&first).await;
    let set = owner.send("/reset/set/", &[("link", link), ("password", CHOSEN)]).await;
    assert_eq!(set.header("location"), Some("/login/?done=reset"), "an earlier link: {set:?}");
    assert!(enters(&hub, ANN, CHOSEN).await);
}

/// Guesses use up the attempts of unknown browsers, and none of those of browsers that the account
/// knows.
#[tokio::test]
async fn guesses_do_not_lock_out_a_known_browser_or_a_mailed_link() {
    const ANN: &str = "ann@example.org";
    let few: [Setting; 1] = [("LIMITS_LOG_INS_PER_HOUR_BY_ACCOUNT", "3")];
    let hub = Hub::start_with(&["serve"], &[&QUICK[..], &few].concat());
    let (mut owner, _) = customer(&hub, ANN).await;
    owner.send("/logout/", &[]).await;
    let guess = [("email", ANN), ("password", "a guess among many")];
    let mut attacker = Browser::new(&hub);
    attacker.get("/login/").await;
    let mut last = attacker.send("/login/", &guess).await;
    for _ in 0..3 {
        last = attacker.send("/login/", &guess).await;
    }
    assert_eq!(last.status, 429, "{last:?}");
    assert!(last.body.contains("/reset/"), "it links to no reset: {last:?}");
    let right = [("email", ANN), ("password", PASSWORD)];
    let unknown = Browser::new(&hub).fill("/login/", "/login/", &right).await;
    assert_eq!(unknown.status, 429, "a new browser waits as well: {unknown:?}");

    let response = owner.fill("/login/", "/login/", &right).await;
    assert_eq!(response.header("location"), Some("/dashboard/"), "{response:?}");
    let mut thief = Browser::new(&hub);
    let device = owner.cookies["mw_device"].clone();
    thief.cookies.insert("mw_device".to_owned(), device);
    thief.get("/login/").await;
    let other = [("email", "bob@example.org"), ("password", PASSWORD)];
    assert_eq!(thief.send("/login/", &other).await.status, 422, "known to one account alone");

    let mut fresh = Browser::new(&hub);
    fresh.fill("/reset/", "/reset/", &[("email", ANN)]).await;
    let path = mailed(&hub, ANN, "/reset/", 1).await;
    fresh.get(&path).await;
    let link = &path["/reset/?link=".len()..];
    fresh.send("/reset/set/", &[("link", link), ("password", CHOSEN)]).await;
    let chosen = [("email", ANN), ("password", CHOSEN)];
    let answer = fresh.fill("/login/", "/login/", &chosen).await;
    assert_eq!(answer.header("location"), Some("/dashboard/"), "{answer:?}");
}

#[tokio::test]
async fn weak_passwords_are_refused_with_a_message() {
    const ANN: &str = "ann@weak.example.org";
    let hub = demo();
    let mut browser = Browser::new(&hub);
    browser.get("/register/").await;
    for (weak, word) in [
        ("          ", "different characters"),
        ("aaaaaaaaaa", "different characters"),
        ("four words\tin a row", "control characters"),
        ("Password123", "easy to guess"),
        ("ANN@weak.example.org", "email address"),
    ] {
        let answer = browser.send("/register/", &[("email", ANN), ("password", weak)]).await;
        assert!(answer.status == 422 && answer.body.contains(word), "{weak:?}: {answer:?}");
    }
    let long = "x1 y2 z3 ".repeat(40);
    let answer = browser.send("/register/", &[("email", ANN), ("password", &long)]).await;
    assert!(answer.status == 422 && answer.body.contains("longer"), "{answer:?}");
    register(&mut browser, ANN, PASSWORD).await;
    browser.get(&mailed(&hub, ANN, "/verify/", 1).await).await;
    log_in(&hub, ANN, PASSWORD).await;
}
