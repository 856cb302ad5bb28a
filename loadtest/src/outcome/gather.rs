//! Combines the results of the generators into an outcome.

use hdrhistogram::Histogram;

use super::{
    Class, ClassInPhase, Connections, Context, Curves, Generator, Hub, Latency, Memory, Outcome,
    Phase, Point, Publisher, Server, ServerMark, Throughput,
};
use crate::{
    latency::{self, Series},
    machine::{Machine, Process, Usage},
    plan::{self, CONTROL, PHASES_MAX, Phases, Plan},
    publisher::PublisherReport,
    run::{ConnectProgress, Mark, RunResults, Sample},
    tally::{ClassTally, Counts, Durations, Tally, ThreadShare},
    verdict::{self, Verdict},
};

/// Samples over which the cores in use are averaged.
const CPU_SAMPLES: usize = 5;

/// The sum of all measured classes.
struct ClassTotals {
    totals: Counts,
    messages: u64,
    corrected: Histogram<u64>,
    uncorrected: Histogram<u64>,
    spread: Histogram<u64>,
}

impl Outcome {
    pub(crate) fn new(results: RunResults, plan: &Plan, context: Context) -> Self {
        let RunResults { mut tally, published, phases, marks, samples, connecting, started } =
            results;
        let sums = ClassTotals::sum(&mut tally, plan);
        let mut outcome = Self {
            version: 1,
            verdict: Verdict::default(),
            profile: context.profile,
            target: context.target,
            command: context.command,
            at: utc(started),
            machine: Machine::this(),
            connections: Connections::new(connecting, &tally.durations),
            reach: reach(&sums.totals),
            totals: sums.totals,
            channels: tally.channels_seen,
            throughput: throughput(sums.messages, &phases, &marks, context.options.saturate),
            options: context.options,
            latency: Latency {
                corrected: (&sums.corrected).into(),
                uncorrected: (&sums.uncorrected).into(),
            },
            phases: (0..plan.timeline.names.len())
                .map(|nth| phase(nth, &tally, plan, &phases, started))
                .collect(),
            classes: classes(&tally, plan).map(|(found, class)| Class::new(found, class)).collect(),
            spread: (&sums.spread).into(),
            documents: context.documents,
            generator: Generator::new(&tally),
            publisher: published.as_ref().map(Publisher::new),
            server: server(&context.servers, &marks, &samples, started),
            hubs: (0..plan.hubs.len())
                .map(|nth| hub(nth, plan, &tally, &context.servers, &marks, &samples, started))
                .collect(),
            extra: context.extra,
            series: series(&tally.series, seconds_of(phases.starts[0].saturating_sub(started))),
            memory: memory(&samples, started),
            curves: Curves {
                corrected: latency::curve(&sums.corrected),
                uncorrected: latency::curve(&sums.uncorrected),
                spread: latency::curve(&sums.spread),
                lag: latency::curve(&tally.durations.lag),
            },
            faults: tally.faults,
        };
        outcome.verdict = verdict::judge(&outcome, plan, context.limits);
        outcome
    }
}

impl ClassTotals {
    fn sum(tally: &mut Tally, plan: &Plan) -> Self {
        let mut sums = Self {
            totals: Counts::default(),
            messages: 0,
            corrected: latency::histogram(3),
            uncorrected: latency::histogram(3),
            spread: latency::histogram(3),
        };
        for (_, receipts) in std::mem::take(&mut tally.spreads) {
            sums.spread.saturating_record(receipts.last - receipts.first);
        }
        for (found, class) in tally.classes.iter().zip(&plan.classes).skip(1 + usize::from(CONTROL))
        {
            sums.totals.add(&found.counts);
            if class.excused {
                continue;
            }
            for phase in found.phases.iter().flatten() {
                sums.messages += phase.messages;
                latency::add(&mut sums.corrected, &phase.latencies.corrected);
                latency::add(&mut sums.uncorrected, &phase.latencies.uncorrected);
            }
        }
        sums
    }
}

/// The classes that had sockets: there is no control class if the tool publishes.
fn classes<'a>(
    tally: &'a Tally,
    plan: &'a Plan,
) -> impl Iterator<Item = (&'a ClassTally, &'a plan::Class)> {
    tally.classes.iter().zip(&plan.classes).filter(|(found, _)| found.sockets > 0)
}

fn phase(nth: usize, tally: &Tally, plan: &Plan, phases: &Phases, started: u64) -> Phase {
    let seconds = phases.seconds(nth);
    let classes = classes(tally, plan).filter_map(|(found, class)| {
        let found = found.phases[nth].as_ref()?;
        Some(ClassInPhase {
            class: class.name,
            messages: found.messages,
            messages_per_s: per_second(found.messages, seconds),
            latency: Latency {
                corrected: (&found.latencies.corrected).into(),
                uncorrected: (&found.latencies.uncorrected).into(),
            },
            unseen: (&found.latencies.unseen).into(),
        })
    });
    let t_s = seconds_of(phases.starts[nth].saturating_sub(started));
    Phase { name: plan.timeline.names[nth], t_s, seconds, classes: classes.collect() }
}

impl Class {
    fn new(found: &ClassTally, class: &plan::Class) -> Self {
        Self {
            name: class.name,
            sockets: found.sockets,
            excused: class.excused,
            reach: reach(&found.counts),
            counts: found.counts,
        }
    }
}

impl Connections {
    fn new(connecting: ConnectProgress, durations: &Durations) -> Self {
        let seconds = seconds_of(connecting.took_us);
        Self {
            wanted: connecting.wanted,
            upgraded: connecting.upgraded,
            joined: connecting.joined,
            seconds,
            upgrades_per_s: per_second(connecting.upgraded, seconds),
            connect: (&durations.connect).into(),
            join: (&durations.join).into(),
            resume: (&durations.resume).into(),
            caught_up: (&durations.caught_up).into(),
        }
    }
}

impl Generator {
    fn new(tally: &Tally) -> Self {
        let share = |part: fn(&ThreadShare) -> u64| {
            let shares = tally.threads.iter().map(|thread| ratio(part(thread), thread.wall_us));
            shares.fold(0.0, f64::max)
        };
        Self {
            busy_max: share(|thread| thread.running_us + thread.waiting_us),
            starved_max: share(|thread| thread.waiting_us),
            threads: tally.threads.clone(),
            lag: (&tally.durations.lag).into(),
            behind: tally.behind,
        }
    }
}

impl Publisher {
    fn new(published: &PublisherReport) -> Self {
        Self {
            sent: published.sent,
            unsent: published.unsent,
            sent_per_s: per_second(published.sent, seconds_of(published.lasted_us)),
            slip: (&published.slip).into(),
            blocked: ratio(published.blocked_us, published.lasted_us).min(1.0),
            thread: published.share,
        }
    }
}

/// With `--saturate`, messages count by their time of arrival: they belong to no schedule.
fn throughput(messages: u64, phases: &Phases, marks: &[Mark], saturate: bool) -> Throughput {
    let received = ReceiverTotals::between(marks);
    let in_phases = (0..PHASES_MAX).map(|nth| phases.seconds(nth)).sum();
    let (messages, seconds) =
        if saturate { (received.frames, received.seconds) } else { (messages, in_phases) };
    Throughput {
        seconds,
        messages,
        messages_per_s: per_second(messages, seconds),
        mb_per_s: per_second(received.bytes, received.seconds) / 1e6,
    }
}

/// What all sockets received between the first and the last mark.
#[derive(Debug, Default)]
struct ReceiverTotals {
    frames: u64,
    bytes: u64,
    seconds: f64,
}

impl ReceiverTotals {
    fn between(marks: &[Mark]) -> Self {
        let (Some(first), Some(last)) = (marks.first(), marks.last()) else {
            return Self::default();
        };
        Self {
            frames: last.frames - first.frames,
            bytes: last.bytes - first.bytes,
            seconds: seconds_of(last.at - first.at),
        }
    }
}

fn series(series: &Series, offset: f64) -> Vec<Point> {
    let interval_s = seconds_of(series.interval_us());
    let points = series.intervals().iter().enumerate().map(|(nth, interval)| {
        let at = |quantile| {
            let latencies = interval.latencies.as_ref();
            latencies.map_or(0, |latencies: &Histogram<u64>| latencies.value_at_quantile(quantile))
        };
        Point {
            t_s: offset + nth as f64 * interval_s,
            received_per_s: per_second(interval.received, interval_s),
            p50_us: at(0.5),
            p99_us: at(0.99),
            max_us: at(1.0),
        }
    });
    points.collect()
}

fn memory(samples: &[Sample], started: u64) -> Vec<Memory> {
    let points = samples.iter().enumerate().map(|(nth, sample)| {
        // Ticks are 10 ms: averaging a few samples gives a smooth line.
        let before = nth.checked_sub(CPU_SAMPLES).map(|nth| &samples[nth]);
        let cores = before.and_then(|before| {
            let used = sample.used.iter().zip(&before.used);
            let used =
                used.filter_map(|(now, before)| Some(now.cpu_seconds? - before.cpu_seconds?));
            let used = used.reduce(|one, other| one + other)?;
            Some(used / seconds_of(sample.at - before.at).max(1e-6))
        });
        Memory {
            t_s: seconds_of(sample.at.saturating_sub(started)),
            rss_bytes: Usage::sum(&sample.used, |used| used.rss_bytes),
            tcp_bytes: sample.tcp_bytes,
            cores,
        }
    });
    points.collect()
}

fn utc(us: u64) -> String {
    let at = i64::try_from(us / 1_000_000).ok().and_then(|s| jiff::Timestamp::from_second(s).ok());
    at.map_or_else(String::new, |at| at.to_string())
}

/// What the processes of all hubs have used, if one is known.
fn server(
    servers: &[Option<Process>],
    marks: &[Mark],
    samples: &[Sample],
    started: u64,
) -> Option<Server> {
    let Process(pid) = servers.iter().flatten().next()?;
    let used = (0..servers.len()).filter_map(|hub| cpu_seconds(hub, marks, samples));
    let cpu_seconds = used.reduce(|one, other| one + other);
    Some(Server {
        pid: *pid,
        cpu_seconds,
        cores: cpu_seconds.map(|used| cores(used, marks)),
        messages_per_cpu_s: cpu_seconds
            .filter(|used| *used > 0.0)
            .map(|used| per_second(ReceiverTotals::between(marks).frames, used).round()),
        marks: server_marks(marks, started, |used| used),
    })
}

/// The sockets of one hub, and what its process has used.
fn hub(
    nth: usize,
    plan: &Plan,
    tally: &Tally,
    servers: &[Option<Process>],
    marks: &[Mark],
    samples: &[Sample],
    started: u64,
) -> Hub {
    let server = servers[nth].map(|Process(pid)| {
        let cpu_seconds = cpu_seconds(nth, marks, samples);
        let mut marks_of_it = server_marks(marks, started, |used| &used[nth..=nth]);
        // These are the buffers of the whole machine.
        marks_of_it.iter_mut().for_each(|mark| mark.tcp_bytes = None);
        Server {
            pid,
            cpu_seconds,
            cores: cpu_seconds.map(|used| cores(used, marks)),
            messages_per_cpu_s: None,
            marks: marks_of_it,
        }
    });
    Hub { url: plan.hubs[nth].url.clone(), tally: tally.hubs[nth], server }
}

/// What a hub's process has used from the first mark to the last, or until it ended.
fn cpu_seconds(hub: usize, marks: &[Mark], samples: &[Sample]) -> Option<f64> {
    let (first, last) = (marks.first()?, marks.last()?);
    let first = first.used[hub].cpu_seconds?;
    let until_it_ended = || samples.iter().rev().find_map(|sample| sample.used[hub].cpu_seconds);
    // A process that ended before the first sample has used nothing that is known.
    let last = last.used[hub].cpu_seconds.or_else(until_it_ended)?;
    Some((last - first).max(0.0))
}

fn cores(cpu_seconds: f64, marks: &[Mark]) -> f64 {
    cpu_seconds / ReceiverTotals::between(marks).seconds.max(1e-6)
}

/// The marks of the hubs that are selected.
fn server_marks(
    marks: &[Mark],
    started: u64,
    select: impl Fn(&[Usage]) -> &[Usage],
) -> Vec<ServerMark> {
    let marks = marks.iter().map(|mark| {
        let used = select(&mark.used);
        ServerMark {
            t_s: seconds_of(mark.at.saturating_sub(started)),
            pss_bytes: Usage::sum(used, |used| used.pss_bytes),
            rss_bytes: Usage::sum(used, |used| used.rss_bytes),
            tcp_bytes: mark.tcp_bytes,
        }
    });
    marks.collect()
}

/// Received over expected changes, except those that an announced image replaced.
fn reach(counts: &Counts) -> f64 {
    let expected = counts.expected.saturating_sub(counts.by_image);
    if expected == 0 { 1.0 } else { ratio(counts.received, expected) }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { (count as f64 / seconds * 10.0).round() / 10.0 } else { 0.0 }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn seconds_of(us: u64) -> f64 {
    us as f64 / 1e6
}
