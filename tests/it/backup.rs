//! `matchwire backup` as an operator runs it, on the database of a running hub.

use std::{fs, path::Path, process::Output};

use crate::support::{Hub, QUIET, program};

fn backup(from: &Path, to: &Path) -> (Option<i32>, String) {
    let output = program().args(["backup", "--db"]).arg(from).arg("--to").arg(to).output();
    let Output { status, stdout, stderr } = output.expect("it runs");
    let said = [stdout, stderr].concat();
    (status.code(), String::from_utf8(said).expect("text"))
}

#[tokio::test]
async fn backup_of_a_running_hub_contains_its_keys() {
    let hub = Hub::start_with(&["serve"], &[QUIET]);
    let key = hub.key(&["websocket"]);
    let to = hub.folder.path().join("copy.db");
    let (code, said) = backup(Path::new(&hub.db()), &to);
    let bytes = fs::metadata(&to).expect("a copy").len();
    assert_eq!((code, said), (Some(0), format!("{bytes} bytes in {}\n", to.display())));

    let (code, said) = backup(Path::new(&hub.db()), &to);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("already exists"), "{said}");

    // Replaces another hub's database, as in a restore.
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(&to, folder.path().join("hub.db")).expect("it is put there");
    let restored = Hub::start_in_with(folder.into(), &["serve"], &[QUIET]);
    for hub in [&hub, &restored] {
        hub.json(&key, "/stream/v1/channels/feeds").await;
    }
}

#[test]
fn missing_database_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, said) = backup(&folder.path().join("none.db"), &folder.path().join("copy.db"));
    assert_eq!(code, Some(1));
    assert!(said.starts_with("matchwire: no database at "), "{said}");
    assert!(fs::read_dir(folder.path()).expect("it").next().is_none(), "nothing is left behind");
}
