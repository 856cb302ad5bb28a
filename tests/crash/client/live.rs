//! What a client of the older sockets does.

use serde_json::{Value, json};

use super::{Client, Socket};

impl Client {
    pub(super) async fn subscribe_live(&mut self, socket: &mut Socket) -> Option<()> {
        let wanted: &[&str] = match self.behaviour.live {
            Some("/ws/live/") => &["football", "tennis"],
            _ => &["football"],
        };
        let is_match = |name: &str| {
            name.split('/').count() == 2 && wanted.iter().any(|sport| name.starts_with(sport))
        };
        self.names.retain(|name| self.positions.contains_key(name));
        self.choose_names(8, is_match);
        for name in self.names.clone() {
            let (sport, id) = name.split_once('/').expect("a match");
            let mut command =
                json!({"action": "subscribe", "event_id": id.parse::<u64>().expect("a number")});
            if sport != "football" {
                command["sport"] = sport.into();
            }
            if self.behaviour.number.is_multiple_of(3) {
                command["bookmaker_slug"] = "alpha".into();
            }
            if let Some((epoch, seq)) = self.positions.get(&name) {
                command["from"] = json!({"epoch": epoch, "seq": seq});
            }
            self.send(socket, &command).await?;
        }
        Some(())
    }

    pub(super) fn receive_live(&mut self, text: &str) {
        let frame: Value = serde_json::from_str(text).expect("a frame is JSON");
        let kind = frame["type"].as_str().unwrap_or_default();
        let Some(id) = frame["event_id"].as_u64() else { return };
        let Some(name) = self.names.iter().find(|name| name.ends_with(&format!("/{id}"))).cloned()
        else {
            return;
        };
        self.confirm(&format!("~{name}"));
        match (kind, frame["epoch"].as_str(), frame["seq"].as_u64()) {
            ("unsubscribed", ..) => self.lost_live(&name),
            // The match may have no prices of the bookmaker yet.
            ("error", ..)
                if frame["code"] == "not_tracked" || frame["code"] == "unknown_bookmaker" =>
            {
                self.lost_live(&name);
            }
            // The frames since follow, and lead there.
            ("subscribed", ..) if frame["resumed"] == true => {}
            ("odds_book", ..) => {}
            (_, Some(epoch), Some(seq)) => {
                self.positions.insert(name, (epoch.to_owned(), seq));
            }
            _ => {}
        }
    }

    fn lost_live(&mut self, name: &str) {
        self.positions.remove(name);
        self.names.retain(|it| it != name);
        if let Some(pending) = &mut self.pending {
            pending.remove(&format!("~{name}"));
        }
    }
}
