//! What clients say, in the words of their dialect.

use bytes::Bytes;
use metrics::counter;
use serde_json::Value;

use super::Shard;
use crate::{
    Micros,
    audience::Command,
    inbound::Received,
    live,
    protocol::{self, Code, Refusal},
    session::Dialect,
};

impl Shard {
    pub(super) fn received(&mut self, slot: usize, received: Received, now: Micros) {
        match received {
            Received::Text(text) => self.command(slot, &text, now),
            Received::Binary => {
                let message = "commands are text messages";
                let frame = match self.dialect(slot) {
                    Dialect::Stream => error(Code::BadCommand, message),
                    Dialect::Live(_) => live_error(live::Code::BadAction, message),
                    Dialect::Bare => return,
                };
                self.audience.reply(slot, frame, now);
            }
            Received::Control(answer) if answer.is_empty() => {}
            Received::Control(answer) => self.audience.reply(slot, answer.into(), now),
            Received::End(close) => self.close(slot, close, now),
        }
    }

    fn dialect(&self, slot: usize) -> Dialect {
        self.audience.get(slot).map(|member| member.session.dialect()).unwrap_or_default()
    }

    fn command(&mut self, slot: usize, text: &str, now: Micros) {
        let command = match self.dialect(slot) {
            Dialect::Stream => protocol::Command::parse(text)
                .map(Command::Stream)
                .map_err(|refusal| protocol::error(&refusal)),
            Dialect::Live(sports) => live::Command::parse(text, sports)
                .map(Command::Live)
                .map_err(|refusal| live::error(&refusal)),
            Dialect::Bare => return,
        };
        match command {
            Ok(command) => self.audience.command(slot, command, now),
            Err(frame) => {
                counter!("matchwire_commands_refused_total").increment(1);
                self.audience.reply(slot, frame, now);
            }
        }
    }
}

pub(super) fn error(code: Code, message: &str) -> Bytes {
    protocol::error(&Refusal::new(&Value::Null, code, message))
}

pub(super) fn live_error(code: live::Code, message: &str) -> Bytes {
    live::error(&live::Refusal::new(code, message))
}
