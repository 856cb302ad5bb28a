//! The flags that all profiles share, and the plan derived from them.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use anyhow::{Result, bail, ensure};
use tokio_tungstenite::tungstenite::http::Uri;

use crate::{
    address, documents, follow, hub,
    machine::{self, Process},
    outcome::{Context, Documents, Options, Outcome},
    payload,
    plan::{ChannelList, Class, Endpoint, Plan, Spec, Timeline, View},
    publisher::PublishOptions,
    run::{Run, Setup},
    verdict::Limits,
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Common {
    /// The hub's stream socket, on this machine; repeatable, for the nodes of a cluster. Sockets
    /// are spread over them. One that is cut or closed continues at the next node.
    #[arg(
        long = "url", default_value = "ws://127.0.0.1:8080/stream/v1", value_parser = address::loopback
    )]
    urls: Vec<Uri>,
    /// Certificates in PEM that are trusted in addition to those of the system, for `wss://`.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Measure fan-out only, on a server of bare channels on this machine.
    #[arg(long, value_name = "URL", value_parser = address::loopback)]
    raw: Option<Uri>,
    /// A key with the WebSocket add-on. Set it in the environment to keep it out of the process
    /// list.
    #[arg(long, env = "LOADTEST_KEY", hide_env_values = true, default_value = "")]
    key: String,
    /// A channel or a pattern of the hub; repeatable.
    #[arg(long = "channel", default_value = "football/*/odds/steady")]
    follows: Vec<String>,
    /// Pick this part of the documents: JSON pointers, separated by commas; empty for everything.
    /// Repeatable: the sockets of a channel take the picks in turn.
    #[arg(long = "pick", value_name = "POINTERS")]
    picks: Vec<String>,
    /// The share of the sockets that take compressed frames: all without a value.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, default_missing_value = "1", num_args = 0..=1)]
    deflate: f64,
    #[arg(long, default_value_t = 100)]
    pub(crate) sockets: usize,
    /// Measured seconds.
    #[arg(long, default_value_t = 10.0)]
    pub(crate) seconds: f64,
    /// Seconds of warm-up under the same load.
    #[arg(long, default_value_t = 2.0)]
    pub(crate) warmup: f64,
    /// Threads that hold the sockets.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Messages a second in all; bare channels only, the hub has its own rate.
    #[arg(long, default_value_t = 1000.0)]
    pub(crate) rate: f64,
    /// Publish as fast as the server accepts; bare channels only.
    #[arg(long, requires = "raw")]
    saturate: bool,
    /// Bytes of a message; bare channels only.
    #[arg(long, default_value_t = 200)]
    bytes: usize,
    /// Number of bare channels.
    #[arg(long)]
    channels: Option<u32>,
    /// Connections started per second; 0 is unlimited.
    #[arg(long, default_value_t = 0.0)]
    connect_rate: f64,
    /// Concurrent handshakes.
    #[arg(long, default_value_t = 256)]
    in_flight: usize,
    /// Source addresses from 127.0.0.1 on; 0 uses one per 25,000 sockets of a hub.
    #[arg(long, default_value_t = 0)]
    addresses: u8,
    /// The server's process, for its resource usage; by default the process that listens on its
    /// port. Repeatable, in the order of the hubs.
    #[arg(long = "pid")]
    pids: Vec<u32>,
    /// Sockets that keep their documents for a comparison with new images at the end.
    #[arg(long, default_value_t = 4)]
    documents: usize,
    /// Write the results to this JSON file.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a page with plots to this HTML file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// No progress bar.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    limits: Limits,
}

/// Sockets per source address and hub: the kernel has some 28,000 ports for each pair.
const SOCKETS_AN_ADDRESS: usize = 25_000;

/// Open files needed in addition to the sockets.
const OTHER_FILES: usize = 64;

/// The upper bound of every count: beyond it a run would not end.
const SECONDS_MAX: f64 = 7.0 * 24.0 * 3600.0;
const SOCKETS_MAX: usize = 2_000_000;

/// What a profile adds to the shared flags.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Without the control class, which is always the first.
    pub(crate) classes: Vec<Class>,
    pub(crate) phases: &'static [&'static str],
    /// The total seconds of all phases, for the width of an interval.
    pub(crate) seconds: f64,
    /// The number of bare channels if no flag sets it.
    pub(crate) channels: u32,
    pub(crate) sockets: usize,
}

/// Figures that only some profiles have.
pub(crate) type Extra = BTreeMap<String, serde_json::Value>;

impl Common {
    pub(crate) fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// A profile of these classes and phases in which all sockets follow the same channel.
    pub(crate) fn shape(
        &self,
        name: &'static str,
        classes: Vec<Class>,
        phases: &'static [&'static str],
    ) -> Shape {
        Shape { name, classes, phases, seconds: self.seconds, channels: 1, sockets: self.sockets }
    }

    /// A share of the sockets.
    pub(crate) fn sockets_of(&self, share: f64) -> usize {
        (self.sockets as f64 * share.clamp(0.0, 1.0)) as usize
    }

    pub(crate) fn bare_channels(&self, shape: &Shape) -> u32 {
        self.channels.unwrap_or(shape.channels).clamp(1, 1_000_000)
    }

    /// Runs a profile: opens sockets by the specs, carries out the steps, and builds the report.
    ///
    /// # Errors
    ///
    /// If the run could not be carried out.
    pub(crate) fn measure(
        &self,
        shape: &Shape,
        specs: Vec<Spec>,
        steps: impl FnOnce(&mut Run, Vec<Spec>) -> Result<Extra>,
    ) -> Result<Outcome> {
        self.check()?;
        let plan = self.plan(shape)?;
        let controls = self.threads * plan.hubs.len();
        machine::raise_open_files((specs.len() + controls + OTHER_FILES) as u64)?;
        let setup = self.setup(shape, self.servers(&plan));
        let mut run = Run::start(plan, &setup)?;
        let plan = Arc::clone(&run.plan);
        let extra = steps(&mut run, specs)?;
        let mut findings = run.finish()?;
        let documents = std::mem::take(&mut findings.tally.documents);
        let documents = if documents.is_empty() {
            Documents::default()
        } else {
            documents::compare(&self.follow_plan()?, documents, &mut findings.tally.faults)?
        };
        let context = Context {
            profile: shape.name,
            target: if self.is_raw() { "raw" } else { "stream" },
            command: command(),
            options: self.options(shape),
            servers: setup.servers,
            limits: self.limits,
            documents,
            extra,
        };
        Ok(Outcome::new(findings, &plan, context))
    }

    fn check(&self) -> Result<()> {
        ensure!(self.sockets <= SOCKETS_MAX, "more than {SOCKETS_MAX} sockets");
        let seconds = [self.seconds, self.warmup];
        ensure!(
            seconds.iter().all(|seconds| (0.0..=SECONDS_MAX).contains(seconds)),
            "seconds have to be from 0 to {SECONDS_MAX}"
        );
        ensure!(self.rate > 0.0 && self.rate <= 1e8, "a rate has to be above 0 and bearable");
        ensure!(self.bytes <= 1 << 20, "a message has at most a mebibyte");
        ensure!((1..=256).contains(&self.threads), "threads have to be from 1 to 256");
        ensure!((0.0..=1.0).contains(&self.deflate), "a share has to be from 0 to 1");
        ensure!(
            !self.is_raw() || self.picks.is_empty() && self.deflate == 0.0,
            "bare channels have neither picks nor compression"
        );
        ensure!(self.in_flight > 0, "at least one handshake has to be under way");
        if !self.is_raw() && self.key.is_empty() {
            bail!("the hub wants a key: --key, or LOADTEST_KEY in the environment");
        }
        Ok(())
    }

    fn plan(&self, shape: &Shape) -> Result<Plan> {
        let endpoint = match &self.raw {
            Some(_) => Endpoint::Raw,
            None => Endpoint::Stream { key: self.key.clone() },
        };
        let mut classes = vec![Class::plain("control")];
        classes.extend(shape.classes.iter().cloned());
        Ok(Plan {
            hubs: hub::hubs(self.hub_urls(), self.ca.as_deref())?,
            endpoint,
            classes,
            saturate: self.saturate,
            addresses: self.source_addresses(shape.sockets),
            in_flight: self.in_flight,
            connect_rate: self.connect_rate / self.threads as f64,
            interval_us: interval_us(shape.seconds),
            timeline: Timeline::new(shape.phases),
        })
    }

    fn hub_urls(&self) -> &[Uri] {
        self.raw.as_ref().map_or(&self.urls, std::slice::from_ref)
    }

    /// The process of each hub. Several URLs may be those of one process, which counts once.
    fn servers(&self, plan: &Plan) -> Vec<Option<Process>> {
        let mut servers: Vec<Option<Process>> = Vec::new();
        for (nth, hub) in plan.hubs.iter().enumerate() {
            let named = self.pids.get(nth).copied().map(Process);
            let found = named.or_else(|| machine::listener(hub.address));
            servers.push(found.filter(|process| !servers.contains(&Some(*process))));
        }
        servers
    }

    fn source_addresses(&self, sockets: usize) -> u8 {
        // So many that the other hubs can take the sockets of one that is gone.
        let hubs = self.hub_urls().len().saturating_sub(1).max(1);
        let needed = sockets.div_ceil(hubs).div_ceil(SOCKETS_AN_ADDRESS);
        let needed = u8::try_from(needed).unwrap_or(u8::MAX);
        if self.addresses > 0 { self.addresses } else { needed.max(1) }
    }

    fn setup(&self, shape: &Shape, servers: Vec<Option<Process>>) -> Setup {
        Setup {
            threads: self.threads,
            bare_channels: if self.is_raw() { self.bare_channels(shape) as usize } else { 0 },
            control: (!self.is_raw()).then(|| self.follows.clone().into()),
            servers,
            is_quiet: self.quiet,
        }
    }

    fn options(&self, shape: &Shape) -> Options {
        let raw = self.is_raw();
        Options {
            sockets: shape.sockets,
            follows: if raw { Vec::new() } else { self.follows.clone() },
            picks: self.picks.clone(),
            deflate: self.deflate,
            threads: self.threads,
            seconds: shape.seconds,
            warmup: self.warmup,
            rate: (raw && !self.saturate).then_some(self.rate),
            bytes: raw.then_some(self.bytes.max(payload::BYTES_MIN)),
            bare_channels: raw.then_some(self.bare_channels(shape)),
            saturate: self.saturate,
            addresses: self.source_addresses(shape.sockets),
        }
    }

    fn follow_plan(&self) -> Result<follow::Plan> {
        Ok(follow::Plan {
            hubs: hub::hubs(&self.urls, self.ca.as_deref())?,
            key: self.key.clone(),
            channels: self.follows.clone(),
        })
    }

    /// What a socket follows when each follows all requested channels, or its one bare channel.
    pub(crate) fn follow_all(&self, shape: &Shape) -> Vec<ChannelList> {
        if self.is_raw() {
            return (0..self.bare_channels(shape))
                .map(|channel| {
                    let name = String::from_utf8_lossy(&payload::digits(channel)).into_owned();
                    ChannelList::from([name])
                })
                .collect();
        }
        vec![self.follows.clone().into()]
    }

    /// What the sockets follow when each follows this many of all channels.
    ///
    /// # Errors
    ///
    /// If the hub does not list its channels.
    pub(crate) fn follow_some(&self, shape: &Shape, each: usize) -> Result<Vec<ChannelList>> {
        if self.is_raw() {
            return Ok(self.follow_all(shape));
        }
        let names = documents::discover(&self.follow_plan()?)?;
        ensure!(!names.is_empty(), "no channel matches");
        let each = each.clamp(1, names.len());
        let follows = (0..names.len()).map(|first| {
            let some = (first..first + each).map(|nth| names[nth % names.len()].clone());
            some.collect::<Vec<_>>().into()
        });
        Ok(follows.collect())
    }

    /// The view of a socket, by its number among those of its channel.
    fn view(&self, nth: usize) -> View {
        let picks = self.picks.len().max(1);
        let pick = self.picks.get(nth % picks).filter(|pick| !pick.is_empty());
        let turn = nth / picks;
        let deflating = |turns: usize| (turns as f64 * self.deflate) as usize;
        View {
            pick: pick.map(|pick| pick.split(',').map(str::to_owned).collect()),
            deflates: deflating(turn + 1) > deflating(turn),
        }
    }

    /// This many sockets of a class, which take the targets and the hubs in turn, and those of a
    /// target the views. The first ones without a pick keep documents.
    pub(crate) fn specs(&self, class: u8, sockets: usize, follows: &[ChannelList]) -> Vec<Spec> {
        let mut keep = if self.is_raw() { 0 } else { self.documents };
        let hubs = self.hub_urls().len();
        (0..sockets)
            .map(|nth| {
                let view = self.view(nth / follows.len());
                let documents = view.pick.is_none() && keep > 0;
                keep -= usize::from(documents);
                Spec {
                    class,
                    // Evenly, for each target too, and not all classes from the first on.
                    hub: (usize::from(class) + nth % follows.len() + nth / follows.len()) % hubs,
                    follows: Arc::clone(&follows[nth % follows.len()]),
                    view,
                    documents,
                }
            })
            .collect()
    }

    /// Opens the sockets, and starts the publisher for bare channels.
    ///
    /// # Errors
    ///
    /// If the server refuses a connection.
    pub(crate) fn warm_up(&self, run: &mut Run, shape: &Shape, specs: Vec<Spec>) -> Result<()> {
        run.open(specs)?;
        if self.is_raw() {
            run.publish(PublishOptions {
                rate: (!self.saturate).then_some(self.rate),
                channels: self.bare_channels(shape),
                bytes: self.bytes,
            })?;
        }
        run.hold(self.warmup)
    }
}

/// About 120 intervals per run, none shorter than a tenth of a second.
fn interval_us(seconds: f64) -> u64 {
    ((seconds * 1e6 / 120.0) as u64).max(100_000)
}

/// The command line without its secret.
fn command() -> String {
    let mut words = Vec::new();
    let mut is_secret = false;
    for word in std::env::args().skip(1) {
        let hidden = std::mem::replace(&mut is_secret, word == "--key");
        let word = if hidden {
            "***".to_owned()
        } else if word.starts_with("--key=") {
            "--key=***".to_owned()
        } else {
            word
        };
        words.push(word);
    }
    format!("matchwire-loadtest {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        common: Common,
    }

    #[track_caller]
    fn views(arguments: &[&str], sockets: usize, channels: &[&str]) -> Vec<(String, String, bool)> {
        let cli = Cli::parse_from(["loadtest"].iter().chain(arguments));
        let follows: Vec<ChannelList> =
            channels.iter().map(|it| ChannelList::from([(*it).to_owned()])).collect();
        let specs = cli.common.specs(1, sockets, &follows);
        let view = |spec: Spec| {
            let pick = spec.view.pick.map(|it| it.join(",")).unwrap_or_default();
            (spec.follows[0].clone(), pick, spec.view.deflates)
        };
        specs.into_iter().map(view).collect()
    }

    #[test]
    fn sockets_of_each_channel_take_the_picks_in_turn() {
        let found = views(&["--pick", "/a,/b", "--pick", ""], 4, &["x", "y"]);
        let view = |ch: &str, pick: &str| (ch.to_owned(), pick.to_owned(), false);
        assert_eq!(found, [view("x", "/a,/b"), view("y", "/a,/b"), view("x", ""), view("y", "")]);
    }

    #[test]
    fn share_of_the_sockets_with_each_pick_takes_compressed_frames() {
        let found = views(&["--pick", "/a", "--pick", "/b", "--deflate", "0.25"], 400, &["x"]);
        for pick in ["/a", "/b"] {
            let deflating = found.iter().filter(|view| view.1 == pick && view.2).count();
            assert_eq!(deflating, 50, "sockets with {pick}");
        }
        assert!(views(&["--deflate"], 3, &["x"]).iter().all(|view| view.2));
    }
}
