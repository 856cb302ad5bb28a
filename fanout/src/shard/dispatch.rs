//! Handles what clients send, in their dialect.

use bytes::Bytes;
use metrics::counter;
use serde_json::Value;

use super::Shard;
use crate::{
    Micros,
    close::Close,
    dialect::{Dialect, Notice},
    encode,
    inbound::InboundEvent,
    protocol::{self, Code, Refusal},
    subscribers::Command,
};

impl Shard {
    pub(super) fn handle(&mut self, slot: usize, event: InboundEvent, now: Micros) {
        match event {
            InboundEvent::Text(text) => self.command(slot, &text, now),
            InboundEvent::Binary(payload) => {
                let message = "commands are text messages";
                let frame = match self.dialect(slot) {
                    Dialect::Stream => Some(error(Code::BadCommand, message)),
                    Dialect::Hosted(dialect) => {
                        dialect.render(Notice::BinaryMessage { payload: &payload })
                    }
                };
                if let Some(frame) = frame {
                    self.subscribers.reply(slot, frame, now);
                }
            }
            InboundEvent::Ping(payload) => {
                self.subscribers.reply(slot, encode::pong_frame(&payload), now);
            }
            InboundEvent::Pong => {}
            InboundEvent::End(close) => self.close(slot, close, now),
        }
    }

    fn dialect(&self, slot: usize) -> Dialect {
        self.subscribers
            .get(slot)
            .map(|subscriber| subscriber.session.dialect())
            .unwrap_or_default()
    }

    fn command(&mut self, slot: usize, text: &str, now: Micros) {
        let is_long = text.len() > self.shared.limits.command_bytes_max;
        self.shared.token_buckets.charge_command(self.payer(slot), text.len(), now);
        let command = match self.dialect(slot) {
            Dialect::Stream => protocol::StreamCommand::parse(text)
                .map(Command::Stream)
                .map_err(|refusal| protocol::error(&refusal)),
            Dialect::Hosted(dialect) => dialect.parse(text).map(Command::Hosted),
        };
        let may_be_long = matches!(&command, Ok(Command::Stream(command)) if command.may_be_long());
        if is_long && !may_be_long {
            return self.close(slot, Close::CommandTooLarge, now);
        }
        if let Ok(Command::Stream(command)) = &command
            && let Some(id) = command.replay_id()
            && !self.shared.host.offers_replays()
        {
            let refusal = Refusal::new(id, Code::BadCommand, "replays are not offered here");
            return self.subscribers.reply(slot, protocol::error(&refusal), now);
        }
        match command {
            Ok(command) => self.subscribers.apply_command(slot, command, now),
            Err(frame) => {
                counter!("matchwire_commands_refused_total").increment(1);
                self.subscribers.reply(slot, frame, now);
            }
        }
    }
}

pub(super) fn error(code: Code, message: &str) -> Bytes {
    protocol::error(&Refusal::new(&Value::Null, code, message))
}
