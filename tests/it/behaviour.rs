//! Behaviour common to all responses: compression, methods, origins, slashes, addresses.

use std::{io::Read as _, sync::Arc};

use serde_json::json;

use crate::{
    docs_formats::PUBLIC,
    support::{Hub, QUIET, Raw, Setting, raw},
};

async fn ask(hub: &Hub, method: &str, path: &str, headers: &[(&str, &str)]) -> Raw {
    raw(&hub.address, method, path, headers).await
}

fn quiet(more: &[Setting]) -> Arc<Hub> {
    Hub::shared(&["serve"], &[&[QUIET], more].concat())
}

#[tokio::test]
async fn long_text_is_compressed_and_short_is_not() {
    // Without it the document contains the request's host, and so varies by it too.
    let hub = quiet(&[PUBLIC]);
    let plain = ask(&hub, "GET", "/api/schema/", &[]).await;
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    let tag = plain.header("etag").expect("a tag").to_owned();
    let plain = plain.body;
    for coding in ["br", "zstd", "gzip"] {
        let answer = ask(&hub, "GET", "/api/schema/", &[("accept-encoding", coding)]).await;
        assert_eq!(answer.header("content-encoding"), Some(coding));
        assert_eq!(answer.header("etag"), Some(&*tag), "{coding}");
        let body = answer.body;
        assert!(body.len() < plain.len() / 3, "{coding}: {} of {}", body.len(), plain.len());
        let mut again = Vec::new();
        match coding {
            "gzip" => {
                let mut reader = flate2::read::GzDecoder::new(&*body);
                reader.read_to_end(&mut again).expect("gzip");
            }
            "zstd" => again = zstd::decode_all(&*body).expect("zstd"),
            _ => {
                let mut reader = brotli::Decompressor::new(&*body, 4096);
                reader.read_to_end(&mut again).expect("brotli");
            }
        }
        assert_eq!(again, plain, "{coding}");
        let headers = [("accept-encoding", coding), ("if-none-match", tag.as_str())];
        assert_eq!(ask(&hub, "GET", "/api/schema/", &headers).await.status, 304, "{coding}");
    }
    for path in ["/healthz", "/api/nothing/", "/"] {
        let answer = ask(&hub, "GET", path, &[("accept-encoding", "br, gzip")]).await;
        assert_eq!(answer.header("content-encoding"), None, "{path}");
    }
    let script = ask(&hub, "GET", "/static/view.js", &[("accept-encoding", "br")]).await;
    let tag = script.header("etag").expect("a tag");
    assert!(tag.starts_with("W/"), "the bytes are not those of {tag}");
}

#[tokio::test]
async fn cross_origin_requests_are_allowed_for_the_api_and_no_page() {
    let hub = quiet(&[]);
    let wish = [
        ("origin", "https://page.test"),
        ("access-control-request-method", "GET"),
        ("access-control-request-headers", "authorization"),
    ];
    for path in [
        "/api/v2/events/live/",
        "/tennis/api/v2/matches/",
        "/odds/api/sports/",
        "/img/team/1/",
        "/api/schema/",
        "/api/asyncapi/",
        "/api/schema/documents/",
        "/api/v2/coverage/",
        "/stream/v1/channels/football",
    ] {
        let answer = ask(&hub, "OPTIONS", path, &wish).await;
        assert_eq!(answer.status, 204, "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(answer.header("access-control-allow-headers"), Some("authorization"));
        assert!(answer.header("access-control-allow-methods").expect("methods").contains("GET"));
        let bare = ask(&hub, "OPTIONS", path, &[]).await;
        let allowed = bare.header("allow").expect("allowed methods").to_owned();
        assert_eq!((bare.status, allowed.contains("HEAD")), (204, true), "{path}");
        let answer = ask(&hub, "GET", path, &[]).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        let exposed = answer.header("access-control-expose-headers").expect("names");
        for name in [
            "ratelimit",
            "ratelimit-policy",
            "x-cache-status",
            "etag",
            "retry-after",
            "x-matchwire-seq",
        ] {
            assert!(
                exposed.split(", ").any(|exposed_name| exposed_name == name),
                "{path}: {name} in {exposed}"
            );
        }
    }
    for path in ["/", "/dashboard/", "/docs/", "/healthz"] {
        let answer = ask(&hub, "GET", path, &wish[..1]).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}

#[tokio::test]
async fn head_and_missing_slash_work_and_other_methods_get_405() {
    let hub = quiet(&[]);
    let key = format!("Token {}", hub.key(&["sports", "odds", "websocket"]));
    let key = [("authorization", key.as_str())];
    let path = "/api/v2/events/live/";
    let get = ask(&hub, "GET", path, &key).await;
    let (length, tag) = (get.body.len(), get.header("etag").map(str::to_owned));
    assert_eq!(get.status, 200);
    let head = ask(&hub, "HEAD", path, &key).await;
    assert_eq!((head.status, head.header("etag")), (200, tag.as_deref()));
    let content_length = head.header("content-length").map(|it| it.parse().expect("a number"));
    assert_eq!(content_length, Some(length));
    let bare = ask(&hub, "GET", path.trim_end_matches('/'), &key).await;
    assert_eq!((bare.status, bare.header("etag")), (200, tag.as_deref()));
    for (method, path) in [
        ("POST", path),
        ("DELETE", "/api/v2/account/"),
        ("GET", "/api/v2/stream/ticket/"),
        ("POST", "/img/team/1/"),
        ("POST", "/api/schema/"),
    ] {
        let answer = ask(&hub, method, path, &key).await;
        let allow = answer.header("allow").unwrap_or_default().to_owned();
        assert_eq!(answer.status, 405, "{method} {path}");
        assert!(!allow.is_empty() && !allow.contains(method), "{path}: {allow}");
        let body = answer.json();
        let expected = json!({"error": true, "status": 405, "detail": "Method not allowed"});
        assert_eq!(body, expected, "{path}");
    }
}

#[tokio::test]
async fn overlong_urls_are_refused_with_a_json_error() {
    let hub = quiet(&[]);
    let key = format!("Token {}", hub.key(&[]));
    let long = format!("/api/v2/events/live/?tz={}", "x".repeat(9000));
    let many = format!("/api/v2/events/live/?{}", "tz=x&".repeat(300));
    for (path, status) in [(long, 414), (many, 400)] {
        let answer = ask(&hub, "GET", &path, &[("authorization", &key)]).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let body = answer.json();
        assert_eq!((&body["error"], &body["status"]), (&json!(true), &json!(status)));
    }
}

#[tokio::test]
async fn urls_in_responses_use_the_host_of_the_request() {
    let servers = async |hub: &Hub, headers: &[(&str, &str)]| {
        let answer = hub.request("GET", "/api/schema/", headers).await.json();
        answer["servers"][0]["url"].as_str().expect("an address").to_owned()
    };
    let forwarded = [("x-forwarded-host", "proxy.test"), ("x-forwarded-proto", "https")];
    let hub = quiet(&[]);
    assert_eq!(
        servers(&hub, &forwarded).await,
        format!("http://{}", hub.address),
        "no proxy is trusted"
    );
    let hub = quiet(&[("SERVER_FORWARDED_HEADER", "x-forwarded-for")]);
    assert_eq!(servers(&hub, &forwarded).await, "https://proxy.test");
    let hub = quiet(&[PUBLIC]);
    assert_eq!(servers(&hub, &forwarded).await, "https://api.test");
}
