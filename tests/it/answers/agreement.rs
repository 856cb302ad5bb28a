//! Each figure has one definition: every match of the recordings tells the same in all answers that have it. `tests/hub` has
//! the matches of the demo.

use serde_json::Value;

use super::RecordedHub;
use crate::{
    agreement::{
        Rest, check_document, check_football, score_on_board,
        seasons::check_seasons,
        sports::{self, SPORTS, check_sport},
    },
    mcp::recordings::check_boards,
    support::Hub,
};

/// A hub, and the key with which it is asked.
pub(crate) struct HubRest<'a> {
    pub(crate) hub: &'a Hub,
    pub(crate) key: &'a str,
}

impl Rest for HubRest<'_> {
    async fn get(&self, path: &str) -> Value {
        self.hub.json(self.key, path).await
    }
}

#[tokio::test]
async fn figures_of_every_match_agree() {
    let Some(RecordedHub { hub, key }) = RecordedHub::imported() else { return };
    let rest = HubRest { hub: &hub, key: &key };
    let football = check_football(&rest).await;
    let detailed = football.iter().filter(|it| it.is_detailed).count();
    assert!(detailed >= 5, "{detailed} of {} matches", football.len());
    check_seasons(&rest, &football).await;
    check_predictions(&rest).await;
    let rows: Vec<_> = football.into_iter().map(|it| it.event).collect();
    check_boards(&hub, "/mcp", &rows, score_on_board).await;
    for product in SPORTS {
        let rows = check_sport(&rest, product).await;
        let path = format!("/{product}/mcp");
        check_boards(&hub, &path, &rows, |row| sports::score(product, row)).await;
    }
}

/// A prediction says of its match what the match says.
async fn check_predictions(rest: &impl Rest) {
    for row in rest.all("/api/v2/predictions/?").await {
        let event = rest.get(&format!("/api/v2/events/{}/", row["id"])).await;
        for (name, reported) in row["event"].as_object().expect("an event") {
            // Rows of matches have the id of the league only.
            if name != "league_name" {
                assert_eq!(*reported, event[name], "{name}: {row}");
            }
        }
    }
}

/// The stream's document of a match, if the hub still has it, tells what REST's row tells. Returns whether it does.
pub(crate) async fn check_stream(hub: &Hub, key: &str, product: &str, row: &Value) -> bool {
    let id = &row["id"];
    let image = hub.get_as(key, &format!("/stream/v1/channels/{product}/{id}")).await;
    if image.status == 404 {
        return false;
    }
    assert_eq!(image.status, 200, "{id}: {}", image.body);
    let document = &image.json()["data"];
    match product {
        "football" => check_document(&HubRest { hub, key }, document, row).await,
        product => sports::check_document(product, document, row),
    }
    true
}
