//! Takes pushes, and keeps the deadlines of the sources that push.

use std::{collections::HashMap, sync::Arc};

use fanout::Micros;
use ingest::error::{DecodeError, Refusal, RefusalKind};

use super::{Driver, Writer};
use crate::{
    commit::Answer,
    hub::{
        Hub, HubInput,
        feeds::{SourceNumber, SourcePolicy},
    },
    push::{self, PushAnswer, PushDeadlines, PushDuty, PushRequest, PushedLine},
};

/// Before the name of a pushing source, if another source has its name.
const PUSHED: &str = "push:";

/// How often it is looked whether matches of pushing sources have begun or ended.
const DUTIES_EVERY_US: Micros = 5_000_000;

/// A source that has pushed.
#[derive(Debug)]
pub(super) struct Pusher {
    number: SourceNumber,
    duty: PushDuty,
    /// The deadline that its last push has stated.
    stated_us: Option<Micros>,
}

/// The sources that have pushed, by name.
pub(super) type Pushers = HashMap<Arc<str>, Pusher>;

/// The sources that have pushed to this hub.
pub(super) fn pushers(hub: &Hub, deadlines: PushDeadlines) -> Pushers {
    let pushers = hub.sources().iter().enumerate();
    let pushers = pushers.filter(|(_, source)| source.kind == push::KIND);
    let pushers = pushers.map(|(number, source)| {
        let name = source.name.strip_prefix(PUSHED).map_or_else(|| source.name.clone(), Arc::from);
        let stated_us = source.policy.deadline_us.filter(|deadline| !deadlines.has(*deadline));
        let number = SourceNumber(number);
        (name, Pusher { number, duty: PushDuty::default(), stated_us })
    });
    pushers.collect()
}

impl Writer {
    pub(super) fn pushed(&mut self, pushed: PushRequest) {
        let PushRequest { source, received, deadline_us, lines, refusals, is_forwarded, reply } =
            pushed;
        let number = self.pusher(&source);
        let has_lines = !lines.is_empty();
        if has_lines && !self.push_order.admits(number, received) && is_forwarded {
            return;
        }
        for refusal in &refusals {
            self.refused(number, refusal);
        }
        let mut verdicts = Vec::with_capacity(lines.len());
        let pusher = self.driver.pusher(&source);
        let mut duty = pusher.map_or(PushDuty::Nothing, |pusher| pusher.duty);
        let mut is_applied = false;
        for line in lines {
            if self.push_order.has_taken(number, &line) {
                verdicts.push(None);
                continue;
            }
            let PushedLine { batch, location, bytes, fingerprint } = line;
            let (at, mut ids) = (batch.at, Vec::new());
            // More than a match in play is not to be found.
            if duty < PushDuty::InPlay {
                ids.extend(batch.events.iter().map(|event| event.match_id));
                ids.dedup();
            }
            let errors = self.apply(number, batch, received);
            is_applied = true;
            let reason = errors.first().map(ToString::to_string);
            if let Some(reason) = &reason {
                let error = DecodeError::new(RefusalKind::Unknown, reason.clone());
                self.refused(number, &Refusal::new(error, location, &bytes));
            } else {
                self.push_order.take(number, fingerprint, at);
            }
            let hub = &self.builder.hub;
            duty = ids.into_iter().map(|id| hub.duty_of(number, id)).fold(duty, PushDuty::max);
            verdicts.push(reason);
        }
        // Repetitions are signs of life, as is an empty push.
        if !is_applied && (has_lines || refusals.is_empty()) {
            let now = self.time();
            self.builder.take(HubInput::Alive { source: number, received, now });
        }
        if let Some(pusher) = self.driver.pusher(&source) {
            (pusher.duty, pusher.stated_us) = (duty, deadline_us);
        }
        self.renew_deadline(&source);
        let deadline_us = self.builder.hub.sources()[number.0].policy.deadline_us;
        // What is acknowledged is in the log.
        self.end_turn();
        self.answer(Answer::Pushed(reply, PushAnswer { verdicts, deadline_us }));
    }

    /// The source that pushes under this name. If a source of another kind has the name, it gets
    /// another one.
    fn pusher(&mut self, name: &Arc<str>) -> SourceNumber {
        if let Some(pusher) = self.driver.pusher(name) {
            return pusher.number;
        }
        let sources = self.builder.hub.sources();
        let is_taken = sources.iter().any(|source| source.name == *name);
        let shown = if is_taken { format!("{PUSHED}{name}").into() } else { Arc::clone(name) };
        let (kind, policy) = (push::KIND, SourcePolicy::default());
        self.builder.take(HubInput::Source { name: Arc::clone(&shown), kind, policy });
        let number = self.builder.hub.source_number(&shown, push::KIND);
        let number = number.expect("it was registered above");
        let pusher = Pusher { number, duty: PushDuty::default(), stated_us: None };
        if let Driver::Leading(leading) = &mut self.driver {
            leading.pushers.insert(Arc::clone(name), pusher);
        }
        number
    }

    /// Looks what of each pushing source somebody may rely on now, if that is due.
    pub(super) fn renew_deadlines(&mut self, now: Micros) {
        let Driver::Leading(leading) = &mut self.driver else { return };
        if leading.pushers.is_empty() || now < leading.duties_due {
            return;
        }
        leading.duties_due = now.saturating_add(DUTIES_EVERY_US);
        let duties = self.builder.hub.duties();
        let mut names = Vec::with_capacity(leading.pushers.len());
        for (name, pusher) in &mut leading.pushers {
            pusher.duty = duties[pusher.number.0];
            names.push((pusher.number, Arc::clone(name)));
        }
        // In an order that does not depend on the hash.
        names.sort_unstable_by_key(|(number, _)| *number);
        for (_, name) in names {
            self.renew_deadline(&name);
        }
    }

    /// Sets the deadline of a pushing source that is in force now, if it is another one.
    fn renew_deadline(&mut self, name: &Arc<str>) {
        let Some(Pusher { number, duty, stated_us }) = self.driver.pusher(name) else { return };
        let deadline_us = stated_us.or(self.push_deadlines.deadline_us(*duty));
        let source = &self.builder.hub.sources()[number.0];
        if source.policy.deadline_us != deadline_us {
            let policy = SourcePolicy { deadline_us, ..source.policy };
            let name = Arc::clone(&source.name);
            self.builder.take(HubInput::Source { name, kind: push::KIND, policy });
        }
    }
}
