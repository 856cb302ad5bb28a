//! The results of a run, for the terminal.

use std::fmt::{self, Write as _};

use crate::{
    latency::Percentiles,
    outcome::{Hub, Outcome},
    tally::HubTally,
};

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.latencies(f)?;
        self.counts(f)?;
        self.resources(f)?;
        for (name, value) in &self.extra {
            writeln!(f, "{name:<26}{value}")?;
        }
        for fault in &self.faults {
            writeln!(f, "fault: {fault}")?;
        }
        for note in &self.verdict.notes {
            writeln!(f, "note: {note}")?;
        }
        for reason in &self.verdict.reasons {
            writeln!(f, "reason: {reason}")?;
        }
        writeln!(f, "\n{}", self.verdict)
    }
}

impl Outcome {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, target, connections, channels, throughput, .. } = self;
        writeln!(
            f,
            "{profile} on {target}: {} sockets, {channels} channels, {:.1} s",
            connections.joined, throughput.seconds
        )?;
        writeln!(
            f,
            "{:.0} upgrades/s; {:.0} messages/s received, {:.1} MB/s\n",
            connections.upgrades_per_s, throughput.messages_per_s, throughput.mb_per_s
        )
    }

    fn latencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = ["messages", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
        write!(f, "{:<34}", "milliseconds")?;
        for column in columns {
            write!(f, "{column:>11}")?;
        }
        writeln!(f)?;
        for phase in &self.phases {
            for class in &phase.classes {
                let name = format!("{} / {}", phase.name, class.class);
                row(f, &format!("{name}, corrected"), &class.latency.corrected)?;
                row(f, &format!("{name}, uncorrected"), &class.latency.uncorrected)?;
                row(f, &format!("{name}, unseen"), &class.unseen)?;
            }
        }
        row(f, "first to last receiver", &self.spread)?;
        let connections = &self.connections;
        row(f, "connect", &connections.connect)?;
        row(f, "join", &connections.join)?;
        row(f, "resume", &connections.resume)?;
        row(f, "caught up", &connections.caught_up)?;
        if let Some(publisher) = &self.publisher {
            row(f, "slip of the publisher", &publisher.slip)?;
        }
        row(f, "lag of the generator", &self.generator.lag)?;
        writeln!(f)
    }

    fn counts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let totals = &self.totals;
        writeln!(f, "{:<26}{:.6}", "reach", self.reach)?;
        let counts = [
            ("expected", totals.expected),
            ("received", totals.received),
            ("covered by images", totals.by_image),
            ("missing", totals.missing),
            ("gaps", totals.gaps),
            ("duplicates", totals.duplicates),
            ("reorders", totals.reorders),
            ("merged updates", totals.merged),
            ("resyncs", totals.resyncs),
            ("resumed", totals.resumed),
            ("not resumed", totals.not_resumed),
            ("errors", totals.errors),
            ("refused", totals.refused),
            ("closed", totals.closed),
            ("moved to the next hub", totals.moved),
            ("hub not reached", totals.unreached),
            ("documents compared", self.documents.compared as u64),
            ("documents different", self.documents.different as u64),
        ];
        // Counts that must be zero are printed even if they are.
        let always = ["expected", "received", "missing", "gaps", "duplicates", "reorders"];
        for (name, count) in counts {
            if count > 0 || always.contains(&name) {
                writeln!(f, "{name:<26}{count}")?;
            }
        }
        Ok(())
    }

    fn resources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generator = &self.generator;
        let (busy, starved) = (generator.busy_max * 100.0, generator.starved_max * 100.0);
        writeln!(f, "{:<26}{busy:.1} % busy, {starved:.1} % without a core", "generator")?;
        if let Some(publisher) = &self.publisher {
            let blocked = publisher.blocked * 100.0;
            writeln!(
                f,
                "{:<26}{:.0} messages/s, {blocked:.1} % waiting for the server",
                "publisher", publisher.sent_per_s
            )?;
        }
        if self.hubs.len() > 1 {
            for hub in &self.hubs {
                writeln!(f, "{:<38}{}", hub.url, hub.summary())?;
            }
        }
        let Some(server) = &self.server else { return Ok(()) };
        if let (Some(cores), Some(each)) = (server.cores, server.messages_per_cpu_s) {
            writeln!(f, "{:<26}{cores:.2} cores, {each:.0} messages per second of CPU", "server")?;
        }
        for mark in &server.marks {
            let mb = |bytes: Option<u64>| {
                bytes.map_or_else(|| "?".into(), |b| format!("{} KiB", b >> 10))
            };
            writeln!(
                f,
                "{:<26}PSS {}, RSS {}, TCP of the kernel {}",
                format!("server at {:.1} s", mark.t_s),
                mb(mark.pss_bytes),
                mb(mark.rss_bytes),
                mb(mark.tcp_bytes)
            )?;
        }
        Ok(())
    }
}

impl Hub {
    /// Its sockets and its process in words.
    pub(crate) fn summary(&self) -> String {
        let HubTally { sockets, upgrades, closed, unreached, sockets_at_end } = self.tally;
        let mut summary = format!(
            "{sockets} sockets, {sockets_at_end} at the end; {upgrades} upgrades, {closed} closed, \
             {unreached} not reached"
        );
        if let Some(cores) = self.server.as_ref().and_then(|server| server.cores) {
            write!(summary, "; {cores:.2} cores").ok();
        }
        summary
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, percentiles: &Percentiles) -> fmt::Result {
    if percentiles.count == 0 {
        return Ok(());
    }
    write!(f, "{name:<34}{:>11}", percentiles.count)?;
    for value in percentiles.ascending() {
        write!(f, "{:>11.3}", value as f64 / 1e3)?;
    }
    writeln!(f)
}
