//! The conductor of a run: starts generators and publisher, announces each phase, samples the
//! server meanwhile, and gathers the results. The profile decides the steps.

use std::{
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    clock, machine,
    machine::{Process, Usage},
    plan::{
        Action, CONTROL, ChannelList, Endpoint, Order, Phases, Plan, Progress, ReadRate, Spec, View,
    },
    publisher::{PublishOptions, Publisher, PublisherReport},
    receiver::Receiver,
    tally::Tally,
};

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) plan: Arc<Plan>,
    progress: Arc<Progress>,
    generators: Vec<Generator>,
    publisher: Option<Publisher>,
    servers: Vec<Option<Process>>,
    bar: ProgressBar,
    started: u64,
    marks: Vec<Mark>,
    samples: Vec<Sample>,
    connecting: ConnectProgress,
}

#[derive(Debug)]
struct Generator {
    orders: SyncSender<Order>,
    thread: JoinHandle<Result<Tally>>,
    /// Sockets of each class.
    sockets: Vec<usize>,
}

/// What a run needs in addition to the plan.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) threads: usize,
    pub(crate) bare_channels: usize,
    /// What each generator's control sockets follow; none for bare channels.
    pub(crate) control: Option<ChannelList>,
    /// The process of each hub, if it is known and not that of an earlier hub.
    pub(crate) servers: Vec<Option<Process>>,
    pub(crate) is_quiet: bool,
}

/// What the servers have used at the beginning or the end of a phase.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    /// By hub.
    pub(crate) used: Vec<Usage>,
    pub(crate) tcp_bytes: Option<u64>,
    /// Frames received so far.
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) at: u64,
}

/// What the servers have used at some moment.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) at: u64,
    /// By hub, without the PSS.
    pub(crate) used: Vec<Usage>,
    pub(crate) tcp_bytes: Option<u64>,
}

/// How opening the connections went.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ConnectProgress {
    pub(crate) wanted: u64,
    pub(crate) joined: u64,
    pub(crate) upgraded: u64,
    pub(crate) took_us: u64,
}

/// All results of a run.
#[derive(Debug)]
pub(crate) struct RunResults {
    pub(crate) tally: Tally,
    pub(crate) published: Option<PublisherReport>,
    pub(crate) phases: Phases,
    pub(crate) marks: Vec<Mark>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) connecting: ConnectProgress,
    pub(crate) started: u64,
}

/// How long all sockets may take to reach the heads of their channels.
const BARRIER_US: u64 = 15_000_000;

/// How long connecting may take when no rate is set.
const CONNECT_US: u64 = 60_000_000;

const TICK_US: u64 = 100_000;

/// The sampling interval; it grows in a long run.
const SAMPLES_MAX: usize = 600;

/// Commands queued for a generator; it reads them every few milliseconds.
const ORDERS_MAX: usize = 64;

impl Run {
    /// Starts the generators and their control sockets.
    ///
    /// # Errors
    ///
    /// If the system lacks resources for them, or the hub refuses a connection.
    pub(crate) fn start(plan: Plan, setup: &Setup) -> Result<Self> {
        let plan = Arc::new(plan);
        let progress = Arc::new(Progress::default());
        let generators = (0..setup.threads.max(1))
            .map(|nth| generator(&plan, &progress, setup.bare_channels, nth))
            .collect::<Result<Vec<_>>>()?;
        let bar = if setup.is_quiet { ProgressBar::hidden() } else { ProgressBar::new_spinner() };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {elapsed_precise} {prefix}: {msg}")
                .expect("the template is a constant"),
        );
        let mut run = Self {
            plan,
            progress,
            generators,
            publisher: None,
            servers: setup.servers.clone(),
            bar,
            started: clock::now(),
            marks: Vec::new(),
            samples: Vec::new(),
            connecting: ConnectProgress::default(),
        };
        if let Some(follows) = &setup.control {
            // Generators take the sockets in turn, so each of them gets one for each hub.
            let controls: Vec<_> = (0..run.plan.hubs.len())
                .flat_map(|hub| vec![hub; run.generators.len()])
                .map(|hub| Spec {
                    class: CONTROL,
                    hub,
                    follows: Arc::clone(follows),
                    view: View::default(),
                    documents: false,
                })
                .collect();
            let wanted = controls.len() as u64;
            run.open(controls)?;
            let joined = run.progress.joined.swap(0, Ordering::Relaxed);
            run.progress.upgraded.store(0, Ordering::Relaxed);
            run.connecting = ConnectProgress::default();
            if joined < wanted {
                let faults = run.finish()?.tally.faults;
                anyhow::bail!("the hub did not let us in: {}", faults.join("; "));
            }
        }
        Ok(run)
    }

    /// Opens sockets, spread over the generators, and waits until they have joined their channels
    /// or have clearly failed to.
    ///
    /// # Errors
    ///
    /// If a generator has ended.
    pub(crate) fn open(&mut self, specs: Vec<Spec>) -> Result<()> {
        let wanted = specs.len() as u64;
        let before = self.progress.joined.load(Ordering::Relaxed);
        let upgraded_before = self.progress.upgraded.load(Ordering::Relaxed);
        let failed_before = self.progress.failed.load(Ordering::Relaxed);
        let count = self.generators.len();
        let mut shares = vec![Vec::new(); count];
        for (nth, spec) in specs.into_iter().enumerate() {
            shares[nth % count].push(spec);
        }
        let began = clock::now();
        for (generator, share) in self.generators.iter_mut().zip(shares) {
            for spec in &share {
                generator.sockets[usize::from(spec.class)] += 1;
            }
            generator.order(Order::Open(share))?;
        }
        self.bar.set_prefix("connecting");
        let deadline = began + self.patience_us(wanted);
        loop {
            let joined = self.progress.joined.load(Ordering::Relaxed) - before;
            let failed = self.progress.failed.load(Ordering::Relaxed) - failed_before;
            self.bar.set_message(format!("{joined} of {wanted} sockets, {failed} failed"));
            self.bar.tick();
            self.connecting.took_us = clock::now() - began;
            if joined + failed >= wanted || clock::now() >= deadline {
                self.connecting.wanted += wanted;
                self.connecting.joined += joined;
                let upgraded = self.progress.upgraded.load(Ordering::Relaxed);
                self.connecting.upgraded += upgraded - upgraded_before;
                return Ok(());
            }
            clock::wait(2_000);
        }
    }

    fn patience_us(&self, sockets: u64) -> u64 {
        let rate = self.plan.connect_rate * self.generators.len() as f64;
        let paced = if rate > 0.0 { sockets as f64 / rate * 1e6 } else { 0.0 };
        // A thousand a second is slow but acceptable.
        CONNECT_US + paced as u64 + sockets * 1_000
    }

    /// Starts the publisher.
    ///
    /// # Errors
    ///
    /// If the server refuses the publisher.
    pub(crate) fn publish(&mut self, work: PublishOptions) -> Result<()> {
        // The socket upgraded last may not be subscribed yet: the response is written first.
        clock::wait(200_000);
        self.publisher = Some(Publisher::start(&self.plan, work)?);
        Ok(())
    }

    /// Begins a phase and stays in it.
    ///
    /// # Errors
    ///
    /// If the run has become pointless.
    pub(crate) fn phase(&mut self, phase: usize, seconds: f64) -> Result<()> {
        self.begin(phase);
        self.hold(seconds)
    }

    pub(crate) fn begin(&mut self, phase: usize) {
        let mark = self.mark();
        self.marks.push(mark);
        self.plan.timeline.begin(phase, clock::now());
        self.bar.set_prefix(self.plan.timeline.names[phase]);
    }

    /// Waits.
    ///
    /// # Errors
    ///
    /// If the run has become pointless.
    pub(crate) fn hold(&mut self, seconds: f64) -> Result<()> {
        self.hold_while(seconds, |_, _| Ok(true))
    }

    /// Waits as long as the predicate returns true; it is called at every tick.
    ///
    /// # Errors
    ///
    /// If the run has become pointless, or the predicate fails.
    pub(crate) fn hold_while(
        &mut self,
        seconds: f64,
        mut goes_on: impl FnMut(&mut Self, u64) -> Result<bool>,
    ) -> Result<()> {
        let until = clock::now() + (seconds * 1e6) as u64;
        let (mut frames, mut at) = (self.progress.frames.load(Ordering::Relaxed), clock::now());
        loop {
            let now = clock::now();
            if now >= until || !goes_on(self, now)? {
                return Ok(());
            }
            let hopeless = self.progress.hopeless.load(Ordering::Relaxed);
            ensure!(!hopeless, "the control socket was cut off");
            if self.publisher.as_ref().is_some_and(Publisher::has_ended) {
                let publisher = self.publisher.take().context("there is a publisher")?;
                publisher.stop().context("the publisher has ended early")?;
            }
            self.sample(now);
            let received = self.progress.frames.load(Ordering::Relaxed);
            if now - at >= 2 * TICK_US {
                let per_second = (received - frames) * 1_000_000 / (now - at);
                let left = (until - now) / 1_000_000;
                self.bar.set_message(format!("{per_second} messages/s, {left} s left"));
                (frames, at) = (received, now);
            }
            self.bar.tick();
            clock::wait(TICK_US.min(until - now));
        }
    }

    /// What the server has used at the beginning of each phase so far.
    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    pub(crate) fn mark(&self) -> Mark {
        let used = self
            .used()
            .zip(&self.servers)
            .map(|(used, server)| Usage { pss_bytes: server.and_then(Process::pss_bytes), ..used });
        Mark {
            used: used.collect(),
            tcp_bytes: machine::tcp_memory_bytes(),
            frames: self.progress.frames.load(Ordering::Relaxed),
            bytes: self.progress.bytes.load(Ordering::Relaxed),
            at: clock::now(),
        }
    }

    /// What each server has used, without the PSS.
    fn used(&self) -> impl Iterator<Item = Usage> {
        self.servers.iter().map(|server| Usage {
            cpu_seconds: server.and_then(Process::cpu_seconds),
            rss_bytes: server.and_then(Process::rss_bytes),
            pss_bytes: None,
        })
    }

    fn sample(&mut self, now: u64) {
        if self.samples.len() >= SAMPLES_MAX {
            // Drops every second sample, and halves the sampling rate from now on.
            let mut nth = 0;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 0
            });
        }
        let between = match self.samples.as_slice() {
            [first, .., last] if self.samples.len() > SAMPLES_MAX / 2 => {
                (last.at - first.at) / self.samples.len() as u64
            }
            _ => 0,
        };
        if self.samples.last().is_some_and(|last| now - last.at < between) {
            return;
        }
        self.samples.push(Sample {
            at: now,
            used: self.used().collect(),
            tcp_bytes: machine::tcp_memory_bytes(),
        });
    }

    /// Sends a command to part of a class, given as shares of all its sockets.
    ///
    /// # Errors
    ///
    /// If a generator has ended.
    pub(crate) fn act(
        &self,
        class: u8,
        which: std::ops::Range<usize>,
        action: Action,
    ) -> Result<()> {
        let count = self.generators.len();
        for (nth, generator) in self.generators.iter().enumerate() {
            let share = |index: usize| index.saturating_sub(nth).div_ceil(count);
            let which = share(which.start)..share(which.end);
            generator.order(Order::Do { class, which, action })?;
        }
        Ok(())
    }

    /// Sends a command to all of a class.
    ///
    /// # Errors
    ///
    /// If a generator has ended.
    pub(crate) fn act_all(&self, class: u8, action: Action) -> Result<()> {
        let all = self.generators.iter().map(|generator| generator.sockets[usize::from(class)]);
        self.act(class, 0..all.sum(), action)
    }

    /// Sets the read rate of all of a class.
    ///
    /// # Errors
    ///
    /// If a generator has ended.
    pub(crate) fn set_read_rate(&self, class: u8, read_rate: ReadRate) -> Result<()> {
        self.act_all(class, Action::Read(read_rate))
    }

    /// Sockets that were cut and have not caught up.
    pub(crate) fn away(&self) -> u64 {
        self.progress.away.load(Ordering::Relaxed)
    }

    /// Ends the last phase, waits until everything due has arrived, and gathers the results.
    ///
    /// # Errors
    ///
    /// If a generator or the publisher was lost.
    pub(crate) fn finish(mut self) -> Result<RunResults> {
        self.plan.timeline.finish(clock::now());
        let mark = self.mark();
        self.marks.push(mark);
        self.bar.set_prefix("waiting for the last");
        self.bar.set_message("");
        self.bar.tick();
        let published = self.publisher.take().map(Publisher::stop).transpose()?;
        let heads = match (&published, &self.plan.endpoint) {
            (Some(published), _) => Some(Arc::clone(&published.heads)),
            (None, Endpoint::Raw) => Some(Arc::from([])),
            (None, Endpoint::Stream { .. }) => None,
        };
        let deadline = clock::now() + BARRIER_US;
        for generator in &self.generators {
            generator.order(Order::Finish { heads: heads.clone(), deadline })?;
        }
        let mut tally = Tally::new(&self.plan);
        for generator in self.generators {
            let found = generator.thread.join().ok().context("a generator panicked")??;
            tally.add(found);
        }
        self.bar.finish_and_clear();
        Ok(RunResults {
            tally,
            published,
            phases: self.plan.timeline.phases(),
            marks: self.marks,
            samples: self.samples,
            connecting: self.connecting,
            started: self.started,
        })
    }
}

fn generator(
    plan: &Arc<Plan>,
    progress: &Arc<Progress>,
    bare_channels: usize,
    nth: usize,
) -> Result<Generator> {
    let (orders, receiver) = sync_channel(ORDERS_MAX);
    let (theirs, progress) = (Arc::clone(plan), Arc::clone(progress));
    let receiver = Receiver::new(theirs, progress, receiver, bare_channels)?;
    let thread =
        thread::Builder::new().name(format!("generator-{nth}")).spawn(move || receiver.run())?;
    Ok(Generator { orders, thread, sockets: vec![0; plan.classes.len()] })
}

impl Generator {
    fn order(&self, order: Order) -> Result<()> {
        self.orders.send(order).ok().context("a generator has ended early")
    }
}
