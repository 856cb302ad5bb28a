//! What a run found, as it stands in the JSON file. Names of fields are kept: other programs read
//! them, and the README lists them.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::{
    latency::{self, Percentiles},
    machine::Machine,
    plan::{CONTROL, Plan},
    run::{Findings, Mark},
    tally::{Counts, ThreadShare},
    verdict::{self, Limits, Verdict},
};

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Outcome {
    /// Raised when a field changes its meaning.
    pub(crate) version: u32,
    pub(crate) verdict: Verdict,
    pub(crate) profile: &'static str,
    pub(crate) target: &'static str,
    pub(crate) command: String,
    /// When the run began, in UTC.
    pub(crate) at: String,
    pub(crate) machine: Machine,
    pub(crate) options: Options,
    pub(crate) connections: Connections,
    /// Over all sockets but those of control.
    pub(crate) totals: Counts,
    /// Received over expected; 1 when nothing was missing.
    pub(crate) reach: f64,
    pub(crate) channels: u64,
    /// Over all phases that count.
    pub(crate) throughput: Throughput,
    /// Over all phases and classes but control and those that are slow on purpose.
    pub(crate) latency: Latency,
    pub(crate) phases: Vec<Phase>,
    pub(crate) classes: Vec<Class>,
    pub(crate) spread: Percentiles,
    pub(crate) documents: Documents,
    pub(crate) generator: Generator,
    pub(crate) publisher: Option<Publisher>,
    pub(crate) server: Option<Server>,
    /// What the profile has to say beside the others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) extra: BTreeMap<String, serde_json::Value>,
    pub(crate) series: Vec<Point>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) curves: Curves,
    /// The first faults in words.
    pub(crate) faults: Vec<String>,
}

/// What was asked for.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Options {
    pub(crate) sockets: usize,
    pub(crate) follows: Vec<String>,
    pub(crate) threads: usize,
    pub(crate) seconds: f64,
    pub(crate) warmup: f64,
    pub(crate) rate: Option<f64>,
    pub(crate) bytes: Option<usize>,
    pub(crate) bare_channels: Option<u32>,
    pub(crate) saturate: bool,
    pub(crate) addresses: u8,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Connections {
    pub(crate) wanted: u64,
    pub(crate) upgraded: u64,
    pub(crate) joined: u64,
    pub(crate) seconds: f64,
    pub(crate) upgrades_per_s: f64,
    pub(crate) connect: Percentiles,
    pub(crate) join: Percentiles,
    pub(crate) resume: Percentiles,
    pub(crate) caught_up: Percentiles,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Throughput {
    pub(crate) seconds: f64,
    pub(crate) messages: u64,
    pub(crate) messages_per_s: f64,
    pub(crate) mb_per_s: f64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Latency {
    pub(crate) corrected: Percentiles,
    pub(crate) uncorrected: Percentiles,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    /// When it began, in seconds since the run did.
    pub(crate) t_s: f64,
    pub(crate) seconds: f64,
    pub(crate) classes: Vec<ClassInPhase>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClassInPhase {
    pub(crate) class: &'static str,
    pub(crate) messages: u64,
    pub(crate) messages_per_s: f64,
    #[serde(flatten)]
    pub(crate) latency: Latency,
    /// How long the oldest change in each update had been unseen; for modest rates only.
    pub(crate) unseen: Percentiles,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) sockets: u64,
    /// Whether it is the purpose of these sockets to miss something.
    pub(crate) excused: bool,
    pub(crate) reach: f64,
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Documents {
    pub(crate) compared: usize,
    pub(crate) different: usize,
    pub(crate) not_compared: usize,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Generator {
    pub(crate) threads: Vec<ThreadShare>,
    /// The greatest share of time in which a thread ran or waited for a core.
    pub(crate) busy_max: f64,
    /// The greatest share of time in which a thread waited for a core.
    pub(crate) starved_max: f64,
    /// From the kernel's receipt to ours, of a few sockets.
    pub(crate) lag: Percentiles,
    /// Sockets that had not come to where their channels were when the patience ended.
    pub(crate) behind: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Publisher {
    pub(crate) sent: u64,
    pub(crate) unsent: u64,
    pub(crate) sent_per_s: f64,
    /// How late the thread was, without what it waited for the server.
    pub(crate) slip: Percentiles,
    /// The share of time in which the server took nothing.
    pub(crate) blocked: f64,
    pub(crate) thread: ThreadShare,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Server {
    pub(crate) pid: u32,
    /// Seconds of a core that it used while it was measured.
    pub(crate) cpu_seconds: Option<f64>,
    /// Cores in use on average.
    pub(crate) cores: Option<f64>,
    pub(crate) messages_per_cpu_s: Option<f64>,
    /// At the beginning of each phase and at the end.
    pub(crate) marks: Vec<ServerMark>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct ServerMark {
    pub(crate) t_s: f64,
    pub(crate) pss_bytes: Option<u64>,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) tcp_bytes: Option<u64>,
}

/// One interval of the measured time.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Point {
    pub(crate) t_s: f64,
    pub(crate) received_per_s: f64,
    pub(crate) p50_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) max_us: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Memory {
    pub(crate) t_s: f64,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) tcp_bytes: Option<u64>,
    /// Cores of the server in use over the last few points.
    pub(crate) cores: Option<f64>,
}

/// Histograms as points: the share of messages that took longer, and how long in microseconds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Curves {
    pub(crate) corrected: Vec<(f64, u64)>,
    pub(crate) uncorrected: Vec<(f64, u64)>,
    pub(crate) spread: Vec<(f64, u64)>,
    pub(crate) lag: Vec<(f64, u64)>,
}

/// Samples over which the cores in use are averaged.
const CPU_SAMPLES: usize = 5;

/// What the outcome says of the run itself.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) profile: &'static str,
    pub(crate) target: &'static str,
    pub(crate) command: String,
    pub(crate) options: Options,
    pub(crate) pid: Option<u32>,
    pub(crate) limits: Limits,
    pub(crate) documents: Documents,
    pub(crate) extra: BTreeMap<String, serde_json::Value>,
}

impl Outcome {
    pub(crate) fn new(findings: Findings, plan: &Plan, context: Context) -> Self {
        let Findings { mut tally, published, phases, marks, samples, connecting, started } =
            findings;
        let seconds: f64 = (0..plan.timeline.names.len()).map(|nth| phases.seconds(nth)).sum();
        let spreads = std::mem::take(&mut tally.spreads);
        let mut spread = latency::histogram(3);
        for (_, receipts) in spreads {
            spread.saturating_record(receipts.last - receipts.first);
        }
        let mut totals = Counts::default();
        let (mut corrected, mut uncorrected) = (latency::histogram(3), latency::histogram(3));
        let (mut messages, mut has_control) = (0, false);
        for (nth, class) in tally.classes.iter().enumerate() {
            if nth == usize::from(CONTROL) {
                has_control = class.sockets > 0;
                continue;
            }
            totals.add(&class.counts);
            if plan.classes[nth].excused {
                continue;
            }
            for phase in class.phases.iter().flatten() {
                messages += phase.messages;
                latency::add(&mut corrected, &phase.latencies.corrected);
                latency::add(&mut uncorrected, &phase.latencies.uncorrected);
            }
        }
        let first_class = usize::from(!has_control);
        let in_phases = (0..plan.timeline.names.len()).map(|nth| {
            let seconds = phases.seconds(nth);
            let classes = tally.classes.iter().zip(&plan.classes).skip(first_class);
            let classes = classes.filter_map(|(found, class)| {
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
        });
        let in_phases: Vec<Phase> = in_phases.collect();
        let classes = tally.classes.iter().zip(&plan.classes).skip(first_class);
        let classes = classes.map(|(found, class)| Class {
            name: class.name,
            sockets: found.sockets,
            excused: class.excused,
            reach: reach(&found.counts),
            counts: found.counts,
        });
        let server = context.pid.map(|pid| server(pid, &marks, started));
        let interval_s = seconds_of(tally.series.interval_us());
        let offset = seconds_of(phases.starts[0].saturating_sub(started));
        let intervals = tally.series.intervals().iter().enumerate();
        let series = intervals.map(|(nth, interval)| {
            let at = |quantile| {
                interval
                    .latencies
                    .as_ref()
                    .map_or(0, |h: &Histogram<u64>| h.value_at_quantile(quantile))
            };
            #[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
            let t_s = offset + nth as f64 * interval_s;
            Point {
                t_s,
                received_per_s: per_second(interval.received, interval_s),
                p50_us: at(0.5),
                p99_us: at(0.99),
                max_us: at(1.0),
            }
        });
        let memory = samples.iter().enumerate().map(|(nth, sample)| {
            // Ticks are 10 ms: over a few samples they make a smooth line.
            let before = nth.checked_sub(CPU_SAMPLES).map(|nth| samples[nth]);
            let cores = before.and_then(|before| {
                let used = sample.cpu_seconds? - before.cpu_seconds?;
                Some(used / seconds_of(sample.at - before.at).max(1e-6))
            });
            Memory {
                t_s: seconds_of(sample.at.saturating_sub(started)),
                rss_bytes: sample.rss_bytes,
                tcp_bytes: sample.tcp_bytes,
                cores,
            }
        });
        let share = |part: fn(&ThreadShare) -> u64| {
            let shares = tally.threads.iter().map(|thread| ratio(part(thread), thread.wall_us));
            shares.fold(0.0, f64::max)
        };
        let generator = Generator {
            busy_max: share(|thread| thread.running_us + thread.waiting_us),
            starved_max: share(|thread| thread.waiting_us),
            threads: tally.threads.clone(),
            lag: (&tally.durations.lag).into(),
            behind: tally.behind,
        };
        let publisher = published.as_ref().map(|published| Publisher {
            sent: published.sent,
            unsent: published.unsent,
            sent_per_s: per_second(published.sent, seconds_of(published.lasted_us)),
            slip: (&published.slip).into(),
            blocked: ratio(published.blocked_us, published.lasted_us).min(1.0),
            thread: published.share,
        });
        let (first, last) = (marks.first(), marks.last());
        let received = first.zip(last).map_or((0, 1, 0), |(first, last)| {
            (last.frames - first.frames, (last.at - first.at).max(1), last.bytes - first.bytes)
        });
        let throughput = if context.options.saturate {
            // By when it was received: there is no schedule to belong to.
            Throughput {
                seconds: seconds_of(received.1),
                messages: received.0,
                messages_per_s: per_second(received.0, seconds_of(received.1)),
                mb_per_s: per_second(received.2, seconds_of(received.1)) / 1e6,
            }
        } else {
            Throughput {
                seconds,
                messages,
                messages_per_s: per_second(messages, seconds),
                mb_per_s: per_second(received.2, seconds_of(received.1)) / 1e6,
            }
        };
        let mut outcome = Self {
            version: 1,
            verdict: Verdict::default(),
            profile: context.profile,
            target: context.target,
            command: context.command,
            at: jiff::Timestamp::from_second(i64::try_from(started / 1_000_000).unwrap_or(0))
                .map_or_else(|_| String::new(), |at| at.to_string()),
            machine: Machine::this(),
            options: context.options,
            connections: Connections {
                wanted: connecting.wanted,
                upgraded: connecting.upgraded,
                joined: connecting.joined,
                seconds: seconds_of(connecting.took_us),
                upgrades_per_s: per_second(connecting.upgraded, seconds_of(connecting.took_us)),
                connect: (&tally.durations.connect).into(),
                join: (&tally.durations.join).into(),
                resume: (&tally.durations.resume).into(),
                caught_up: (&tally.durations.caught_up).into(),
            },
            reach: reach(&totals),
            totals,
            channels: tally.channels_seen,
            throughput,
            latency: Latency { corrected: (&corrected).into(), uncorrected: (&uncorrected).into() },
            phases: in_phases,
            classes: classes.collect(),
            spread: (&spread).into(),
            documents: context.documents,
            generator,
            publisher,
            server,
            extra: context.extra,
            series: series.collect(),
            memory: memory.collect(),
            curves: Curves {
                corrected: latency::curve(&corrected),
                uncorrected: latency::curve(&uncorrected),
                spread: latency::curve(&spread),
                lag: latency::curve(&tally.durations.lag),
            },
            faults: tally.faults,
        };
        if let Some(server) = &mut outcome.server {
            let cpu = server.cpu_seconds.filter(|cpu| *cpu > 0.0);
            server.messages_per_cpu_s = cpu.map(|cpu| per_second(received.0, cpu).round());
        }
        outcome.verdict = verdict::of(&outcome, plan, context.limits);
        outcome
    }
}

fn server(pid: u32, marks: &[Mark], started: u64) -> Server {
    let (first, last) = (marks.first(), marks.last());
    let used = first.zip(last).and_then(|(first, last)| {
        let cpu = last.cpu_seconds? - first.cpu_seconds?;
        Some((cpu, seconds_of(last.at - first.at)))
    });
    Server {
        pid,
        cpu_seconds: used.map(|(cpu, _)| cpu),
        cores: used.map(|(cpu, seconds)| cpu / seconds.max(1e-6)),
        messages_per_cpu_s: None,
        marks: marks
            .iter()
            .map(|mark| ServerMark {
                t_s: seconds_of(mark.at.saturating_sub(started)),
                pss_bytes: mark.pss_bytes,
                rss_bytes: mark.rss_bytes,
                tcp_bytes: mark.tcp_bytes,
            })
            .collect(),
    }
}

/// What came over what ought to have come, as far as no image was announced in its place.
fn reach(counts: &Counts) -> f64 {
    let expected = counts.expected.saturating_sub(counts.by_image);
    if expected == 0 { 1.0 } else { ratio(counts.received, expected) }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for eyes")]
fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { (count as f64 / seconds * 10.0).round() / 10.0 } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for eyes")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
fn seconds_of(us: u64) -> f64 {
    us as f64 / 1e6
}
