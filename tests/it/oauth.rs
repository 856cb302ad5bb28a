//! Applications that connect by OAuth: discovery, consent, tokens, and their end.

mod client;
mod documents;
mod ends;
mod refusals;

use serde_json::{Value, json};

use self::client::{REDIRECT, TestClient, parameter};
use crate::{
    site::{QUICK, customer, demo},
    support::{Answer, Browser, Hub, between, on_each, until},
};

const MCP_SERVERS: [&str; 9] = [
    "/mcp",
    "/mcp/",
    "/api/mcp/",
    "/tennis/mcp",
    "/csgo/mcp",
    "/darts/mcp/",
    "/hockey/mcp",
    "/basketball/mcp",
    "/horseracing/mcp",
];

async fn bearer(hub: &Hub, token: &str, path: &str) -> Answer {
    hub.request("POST", path, &[("authorization", &format!("Bearer {token}"))]).await
}

/// Whether a request with this token passes authorization, whatever the server answers then.
async fn is_admitted(hub: &Hub, token: &str, path: &str) -> bool {
    ![401, 402, 403].contains(&bearer(hub, token, path).await.status)
}

/// Gives an add-on, as an operator does. The hub notices with a delay.
fn gift(hub: &Hub, email: &str, addon: &str) {
    let gift = ["addon", "gift", email, addon, "--days", "30", "--note", "a test"];
    let mut command = hub.database.program();
    let given = command.args(gift).args(["--db", &hub.db()]).output().expect("it runs");
    assert!(given.status.success(), "{}", String::from_utf8_lossy(&given.stderr));
}

fn text<'a>(json: &'a Value, name: &str) -> &'a str {
    json[name].as_str().unwrap_or_else(|| panic!("no {name} in {json}"))
}

/// A client that knows only the address of an MCP server finds the token endpoint.
#[tokio::test]
async fn challenge_leads_to_the_authorization_server() {
    let hub = demo();
    let base = format!("http://{}", hub.address);
    for path in MCP_SERVERS {
        let answer = hub.request("POST", path, &[]).await;
        assert_eq!(answer.status, 401, "{path}");
        let body = answer.json();
        assert_eq!(body["code"], "authentication_required", "{path}");
        assert_eq!(body["register"], format!("{base}/register/"), "{path}");
        let challenges: Vec<_> = answer.headers("www-authenticate").collect();
        let is_football = path.starts_with("/mcp") || path.starts_with("/api/");
        let scope = if is_football { "football" } else { "sports" };
        let url = format!("{base}/.well-known/oauth-protected-resource{path}");
        let expected = format!("Bearer resource_metadata=\"{url}\", scope=\"{scope}\"");
        assert_eq!(challenges, ["Token", &*expected], "{path}");
        let metadata = hub.get(url.strip_prefix(&base).expect("of this hub")).await;
        assert_eq!(metadata.status, 200, "{path}: {metadata:?}");
        assert_eq!(metadata.header("access-control-allow-origin"), Some("*"), "{path}");
        let metadata = metadata.json();
        assert_eq!(metadata["resource"], format!("{base}{path}"));
        assert_eq!(metadata["authorization_servers"], json!([base]));
        assert_eq!(metadata["scopes_supported"], json!([scope, "odds"]));
        assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
        assert_eq!(metadata["resource_documentation"], format!("{base}/mcp-info/"));
    }
    let first = hub.get("/.well-known/oauth-protected-resource").await.json();
    assert_eq!(first["resource"], format!("{base}/mcp"));
    assert_eq!(hub.get("/.well-known/oauth-protected-resource/odds/mcp").await.status, 404);
    let server = hub.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(
        server,
        json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/oauth/authorize/"),
            "token_endpoint": format!("{base}/oauth/token/"),
            "revocation_endpoint": format!("{base}/oauth/revoke/"),
            "scopes_supported": ["football", "sports", "odds"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": true,
            "authorization_response_iss_parameter_supported": true,
            "service_documentation": format!("{base}/mcp-info/"),
        })
    );
    // A key that is wrong, elsewhere than on an MCP server.
    let elsewhere = bearer(&hub, "mwa_x", "/api/v2/events/").await;
    assert_eq!(elsewhere.headers("www-authenticate").collect::<Vec<_>>(), ["Token"]);
}

/// The whole way: log-in, consent, code, tokens, a new pair of tokens, the dashboard.
#[tokio::test]
async fn customer_connects_an_application() {
    on_each(async |database| {
        let hub = Hub::start_on(&database, &["serve"], &QUICK);
        let (_, key) = customer(&hub, "ann@example.org").await;
        let client = TestClient::start(&hub).await;
        let path = client.authorize_path(&[("scope", "football odds offline_access")]);

        let mut browser = Browser::new(&hub);
        let early = browser.get(&path).await;
        assert_eq!(early.status, 303);
        let log_in = early.header("location").expect("a page").to_owned();
        assert!(log_in.starts_with("/login/?next=/oauth/authorize/"), "{log_in}");
        let shown = browser.get(&log_in).await;
        let next = between(&shown.body, "name=\"next\" value=\"", "\"").expect("where to go");
        let fields = [
            ("email", "ann@example.org"),
            ("password", crate::site::PASSWORD),
            ("next", &*next.replace("&#38;", "&").replace("&amp;", "&")),
        ];
        let back = browser.send("/login/", &fields).await;
        assert_eq!(back.header("location"), Some(&*path), "{back:?}");

        let page = browser.get(&path).await;
        assert_eq!(page.status, 200, "{page:?}");
        for part in [
            "A test client",
            &*client.address,
            "this device",
            "ann@example.org",
            "Read football matches",
            "odds of individual bookmakers",
        ] {
            assert!(page.body.contains(part), "{part}: {}", page.body);
        }
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.contains("form-action 'self' http://127.0.0.1:49152;"), "{policy}");

        let location = client.allow(&mut browser, &path).await;
        assert!(location.starts_with(&format!("{REDIRECT}?code=mwc_")), "{location}");
        assert_eq!(parameter(&location, "state").as_deref(), Some("a state/?&"));
        assert_eq!(parameter(&location, "iss"), Some(format!("http://{}", hub.address)));
        let code = parameter(&location, "code").expect("a code");

        let answer = client.redeem(&hub, &code, &[]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let tokens = answer.json();
        assert_eq!(tokens["token_type"], "Bearer");
        assert_eq!(tokens["expires_in"], 3600);
        assert_eq!(tokens["scope"], "football odds");
        let access = text(&tokens, "access_token");
        assert!(access.starts_with("mwa_"), "{access}");
        assert!(is_admitted(&hub, access, "/mcp").await);
        assert!(is_admitted(&hub, access, "/api/mcp/").await);
        assert!(is_admitted(&hub, &key, "/mcp").await, "a key works as before");
        for elsewhere in ["/api/v2/account/", "/api/v2/events/", "/mcp/x/", "/tennis/mcp"] {
            assert_eq!(bearer(&hub, access, elsewhere).await.status, 401, "{elsewhere}");
        }
        let in_query = hub.request("POST", &format!("/mcp?token={access}"), &[]).await;
        assert_eq!(in_query.status, 401, "a token in a URL");

        let refreshed = client.refresh(&hub, text(&tokens, "refresh_token"), &[]).await;
        assert_eq!(refreshed.status, 200, "{refreshed:?}");
        let newer = refreshed.json();
        assert!(is_admitted(&hub, text(&newer, "access_token"), "/mcp").await);
        assert_eq!(bearer(&hub, access, "/mcp").await.status, 401, "a replaced token");

        let dashboard = browser.get("/dashboard/").await.body;
        for part in ["Connected apps", "A test client", &*client.address, "football odds"] {
            assert!(dashboard.contains(part), "{part}: {dashboard}");
        }
        let app = between(&dashboard, "name=\"app\" value=\"", "\"").expect("an app").to_owned();
        let done = browser.send("/dashboard/disconnect/", &[("app", &app)]).await;
        assert_eq!(done.header("location"), Some("/dashboard/#apps"), "{done:?}");
        let access = text(&newer, "access_token");
        assert_eq!(bearer(&hub, access, "/mcp").await.status, 401, "at once");
        let dashboard = browser.get("/dashboard/").await.body;
        assert!(!dashboard.contains("A test client"), "{dashboard}");
        assert!(is_admitted(&hub, &key, "/mcp").await, "the key has nothing to do with it");
        for secret in [access, &*code, text(&newer, "refresh_token")] {
            assert!(!hub.printed().contains(&secret[12..]), "a secret is in the log");
        }
    })
    .await;
}

/// Clients that send no `resource`, or only the address of the hub, mean the first server.
#[tokio::test]
async fn client_without_resource_gets_football() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@resource.example.org").await;
    let client = TestClient::start(&hub).await;
    let bare = format!("http://{}/", hub.address);
    for resource in ["", &bare] {
        let path = client.authorize_path(&[("resource", resource)]);
        let location = client.allow(&mut browser, &path).await;
        let code = parameter(&location, "code").expect("a code");
        let tokens = client.redeem(&hub, &code, &[("resource", "")]).await.json();
        assert_eq!(tokens["scope"], "football");
        let access = text(&tokens, "access_token");
        assert!(is_admitted(&hub, access, "/mcp").await);
        assert_eq!(bearer(&hub, access, "/tennis/mcp").await.status, 401);
    }
}

/// A token has what its scopes allow and the account has, on the server that it was issued for.
#[tokio::test]
async fn token_has_its_scopes_and_the_addons_of_the_account() {
    let hub = demo();
    let (mut browser, _) = customer(&hub, "ann@scopes.example.org").await;
    let client = TestClient::start(&hub).await;
    let tennis = format!("http://{}/tennis/mcp", hub.address);
    let path = client.authorize_path(&[("resource", &tennis)]);
    let page = browser.get(&path).await;
    assert!(page.body.contains("needs the Sports add-on"), "{page:?}");
    let tokens = client.connect(&hub, &mut browser, &[("resource", &tennis)]).await;
    assert_eq!(tokens["scope"], "sports");
    let sports = text(&tokens, "access_token");
    let unpaid = bearer(&hub, sports, "/tennis/mcp").await;
    assert_eq!((unpaid.status, &unpaid.json()["code"]), (402, &json!("addon_required")));
    assert_eq!(bearer(&hub, sports, "/darts/mcp").await.status, 401, "another server");
    assert_eq!(bearer(&hub, sports, "/mcp").await.status, 401, "another server");

    gift(&hub, "ann@scopes.example.org", "sports");
    until("the gift", async || is_admitted(&hub, sports, "/tennis/mcp").await).await;

    let odds = [("resource", &*tennis), ("scope", "odds")];
    let narrow = client.connect(&hub, &mut browser, &odds).await;
    let refused = bearer(&hub, text(&narrow, "access_token"), "/tennis/mcp").await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(refused.json()["code"], "insufficient_scope");
    let url = format!("http://{}/.well-known/oauth-protected-resource/tennis/mcp", hub.address);
    let expected = format!(
        "Bearer error=\"insufficient_scope\", resource_metadata=\"{url}\", scope=\"sports\""
    );
    assert_eq!(refused.headers("www-authenticate").collect::<Vec<_>>(), [expected]);

    // A refresh may ask for less, and never for more.
    let both = [("resource", &*tennis), ("scope", "sports odds")];
    let tokens = client.connect(&hub, &mut browser, &both).await;
    let less = [("scope", "odds")];
    let narrow = client.refresh(&hub, text(&tokens, "refresh_token"), &less).await.json();
    assert_eq!(narrow["scope"], "odds");
    assert_eq!(bearer(&hub, text(&narrow, "access_token"), "/tennis/mcp").await.status, 403);
    let more = [("scope", "football sports")];
    let refused = client.refresh(&hub, text(&narrow, "refresh_token"), &more).await;
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("invalid_scope")));
    let all = client.refresh(&hub, text(&narrow, "refresh_token"), &[]).await.json();
    assert_eq!(all["scope"], "sports odds");
    assert!(is_admitted(&hub, text(&all, "access_token"), "/tennis/mcp").await);
}
