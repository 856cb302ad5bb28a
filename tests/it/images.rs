//! Images, as requested by third-party pages and their browsers.

use std::{fs, sync::Arc};

use serde_json::Value;

use crate::support::{Client, Hub, Raw, raw};

/// Of a hub that plays its demo: the ids of a football team, of its competition and of a tennis player.
async fn demo(hub: &Hub) -> [u64; 3] {
    let key = hub.key(&["websocket"]);
    let mut client = Client::connect(&hub.address, &key).await;
    client.subscribe("*/*").await;
    let id = |client: &Client, sport: &str, way: &str| {
        let documents = client.channels.values().filter(|it| it.data["sport"] == sport);
        documents.into_iter().find_map(|it| it.data.pointer(way).and_then(Value::as_u64))
    };
    let find = |client: &Client| {
        let team = id(client, "football", "/home/id")?;
        let league = id(client, "football", "/competition/id")?;
        Some([team, league, id(client, "tennis", "/p1/id")?])
    };
    client.until(|client| find(client).is_some()).await;
    let ids = find(&client).expect("found just now");
    // The subject of the image is archived with a delay.
    let types = ["team", "league", "tennis-player"];
    for (kind, id) in types.into_iter().zip(ids) {
        while get(hub, &format!("/img/{kind}/{id}/"), &[]).await.status == 404 {
            client.next().await.expect("the hub does not close");
        }
    }
    ids
}

async fn get(hub: &Hub, path: &str, headers: &[(&str, &str)]) -> Raw {
    raw(&hub.address, "GET", path, headers).await
}

#[tokio::test]
async fn images_are_public_and_cacheable_for_a_year() {
    let hub = Hub::demo();
    let [team, league, player] = demo(&hub).await;
    for path in
        [format!("team/{team}"), format!("league/{league}"), format!("tennis-player/{player}")]
    {
        let path = format!("/img/{path}/");
        let png = get(&hub, &path, &[("accept", "image/png,*/*")]).await;
        assert_eq!(png.status, 200, "{path}");
        assert_eq!(png.header("content-type"), Some("image/png"));
        assert_eq!(png.header("cache-control"), Some("public, max-age=31536000"));
        assert_eq!(png.header("access-control-allow-origin"), Some("*"));
        assert_eq!(png.header("x-content-type-options"), Some("nosniff"));
        let body = &png.body;
        assert!(body.starts_with(b"\x89PNG") && body.len() > 500, "{path}: {}", body.len());
        let tag = png.header("etag").expect("a tag");
        let again = get(&hub, &path, &[("if-none-match", tag), ("accept", "image/png")]).await;
        assert_eq!((again.status, again.header("etag")), (304, Some(tag)));
        let webp = get(&hub, path.trim_end_matches('/'), &[("accept", "image/webp,*/*")]).await;
        assert_eq!(webp.header("content-type"), Some("image/webp"), "{path}");
        assert_eq!(&webp.body[8..12], b"WEBP");
        let other = get(&hub, &format!("{path}?size=512&bg=transparent&v=2"), &[]).await;
        assert!(other.body.len() > body.len(), "{path} in large");
    }
    let head = raw(&hub.address, "HEAD", &format!("/img/team/{team}/"), &[]).await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("image/png")));
}

#[tokio::test]
async fn unknown_subject_has_no_image() {
    let hub = Hub::demo();
    let [team, ..] = demo(&hub).await;
    for path in [
        "/img/team/1/".to_owned(),
        format!("/img/referee/{team}/"),
        format!("/img/basketball/team/{team}/"),
        format!("/img/team/0{team}/"),
        format!("/img/team/+{team}/"),
        format!("/img/team/{team}/more/"),
        format!("/img/team/{team}.png"),
        "/img/team/../../etc/passwd".to_owned(),
        "/img/team/%2e%2e%2f%2e%2e%2fetc%2fpasswd".to_owned(),
        "/img/team/".to_owned(),
        "/img/".to_owned(),
    ] {
        let answer = hub.get(&path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.json()["detail"], "Not found", "{path}");
    }
    for query in ["size=big", "format=gif", "size=-4"] {
        let answer = hub.get(&format!("/img/team/{team}/?{query}")).await;
        assert_eq!((answer.status, answer.json()["status"].as_u64()), (400, Some(400)), "{query}");
    }
}

#[tokio::test]
async fn own_file_replaces_the_drawing_and_drawing_can_be_disabled() {
    let folder = Arc::new(tempfile::tempdir().expect("a folder"));
    let images = folder.path().join("images");
    fs::create_dir_all(images.join("team")).expect("a folder");
    let images_path: &'static str = images.to_str().expect("text").to_owned().leak();
    let settings = [("IMAGES_FOLDER", images_path), ("IMAGES_DRAW", "false")];
    let hub = Hub::start_in_with(folder, &["serve"], &settings);
    let [team, league, _] = demo(&hub).await;
    let path = format!("/img/team/{team}/?format=png");
    assert_eq!(get(&hub, &path, &[]).await.status, 204);
    let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path fill="red" d="M0 0H1V1H0Z"/></svg>"#;
    fs::write(images.join(format!("team/{team}.svg")), svg).expect("a file");
    let first = get(&hub, &path, &[]).await;
    assert_eq!(first.status, 200);
    let tag = first.header("etag").expect("a tag").to_owned();
    fs::write(images.join(format!("team/{team}.svg")), svg.replace("red", "teal")).expect("a file");
    let second = get(&hub, &path, &[("if-none-match", &tag)]).await;
    assert_eq!(second.status, 200, "the file has changed");
    assert_eq!(get(&hub, &format!("/img/league/{league}/"), &[]).await.status, 204);
}
