//! What a shard does at ticks: beats, usage reports, lag frames, pings and timeouts.

use metrics::{counter, gauge};

use super::{SLOW_TICK_US, Shard};
use crate::{
    Micros,
    connection::TimerAction,
    encode,
    journal::JournalEvent,
    protocol::{self, LagFrame},
};

/// How often a slow client gets a lag frame.
const LAG_EVERY_US: Micros = 1_000_000;

impl Shard {
    pub(super) fn tick(&mut self, now: Micros) {
        let time_of_day = self.shared.host.time_of_day();
        let (from, to) = self.schedule.next_part(self.subscribers.slots(), now);
        for slot in from..to {
            self.check_timers(slot, now);
            if self.subscribers.get(slot).is_some_and(|subscriber| !subscriber.sink.is_closing()) {
                self.subscribers.renew_permission(slot, time_of_day, now);
                self.subscribers.beat(slot, now);
                self.report_usage(slot, now);
            }
        }
        self.resume_indebted(now);
        self.close_departing(now);
        if now >= self.schedule.slow_due {
            self.schedule.slow_due = now + SLOW_TICK_US;
            if self.number == 0 {
                // All shards share them.
                self.shared.token_buckets.sweep(now);
                gauge!("matchwire_subscriptions").set(f64::from(self.shared.quotas.sweep()));
            }
            self.subscribers.journal().end_watches(now);
            let closing: Vec<usize> = self.closing.iter().copied().collect();
            closing.into_iter().for_each(|slot| self.check_timers(slot, now));
            for slot in self.subscribers.take_slow(now) {
                self.check_timers(slot, now);
                self.send_lag(slot, now);
            }
        }
        self.subscribers.flush(now);
        self.apply_effects(now);
    }

    /// Reports a connection's usage to its guard. Messages are counted in a plain integer of the shard, so
    /// that no shared memory is written for a message.
    pub(super) fn report_usage(&mut self, slot: usize, now: Micros) {
        // It is reported once in a round, or a little later.
        let open_us_max = 2 * self.shared.limits.round_us();
        let time_of_day = self.shared.host.time_of_day();
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        let messages = subscriber.outbox.take_delivered();
        subscriber.tally.delivered += messages;
        subscriber.sink.report_usage(messages, open_us_max, now, time_of_day);
    }

    fn check_timers(&mut self, slot: usize, now: Micros) {
        let time_of_day = self.shared.host.time_of_day();
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        let client = (subscriber.stalled(now), subscriber.session.has_beats());
        let generation = subscriber.sink.generation;
        match subscriber.sink.check_timers(&self.shared.limits, client, now, time_of_day) {
            TimerAction::Nothing => {}
            TimerAction::Ping => self.subscribers.reply(slot, encode::ping_frame(), now),
            TimerAction::Close(close) => self.close(slot, close, now),
            TimerAction::Remove => self.remove(slot, generation, now),
        }
    }

    /// Sends lag frames to a slow client that requested them: when it becomes slow, each second, and when
    /// it has recovered.
    fn send_lag(&mut self, slot: usize, now: Micros) {
        let Some(subscriber) = self.subscribers.get_mut(slot) else { return };
        if subscriber.sink.is_closing() || !subscriber.session.wants_lag() {
            return;
        }
        let is_slow = subscriber.is_slow();
        let sent_at = subscriber.sink.lag_sent_at;
        let is_due = sent_at.is_none_or(|sent_at| now - sent_at >= LAG_EVERY_US);
        if is_slow && !is_due || !is_slow && sent_at.is_none() {
            return;
        }
        let (waiting_bytes, waiting_us) = (subscriber.outbox.bytes(), subscriber.outbox.age(now));
        let lag = LagFrame {
            queued_bytes: waiting_bytes,
            oldest_ms: u64::try_from(waiting_us / 1000).unwrap_or(0),
            merged: subscriber.session.merged(),
        };
        subscriber.sink.lag_sent_at = is_slow.then_some(now);
        if !is_slow {
            subscriber.session.reset_merged();
        }
        self.subscribers.send_lag(slot, protocol::json_frame(&lag), now);
        self.subscribers.note(slot, JournalEvent::Lag { waiting_bytes, waiting_us }, now);
        counter!("matchwire_lag_frames_total").increment(1);
    }
}
