//! A peer that speaks the Betfair Exchange Stream protocol and plays a recording of it over TLS, to
//! try a hub by hand. It takes any key and session, one connection at a time.
//!
//! ```text
//! cargo run -p matchwire-sources --example betfair_peer -- racing.live.jsonl.gz --drop-after 500
//! ```
//!
//! Options, each with a value: `--address 127.0.0.1:0`, `--authority betfair-peer.pem` (where its
//! certificate is written, for the hub to trust), `--drop-after` (messages after which each
//! connection breaks off in the middle of the next; default never), `--missed` (messages published
//! while nobody is connected; default 0), `--segments` (of an image; default 1) and `--speed`
//! (times as fast as recorded; default 1).

#![expect(clippy::print_stdout, reason = "it says where it listens and what happens")]

#[path = "../tests/it/support/betfair/mod.rs"]
#[expect(dead_code, reason = "tests use all of it")]
mod betfair;
#[path = "../tests/it/support/recorded.rs"]
mod recorded;

use std::{fs, io, path::PathBuf, str::FromStr, time::Duration};

use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use self::betfair::{Caller, Peer, stream::Stream};

/// Betfair's default.
const HEARTBEAT_MS: u64 = 5000;

struct Options {
    recording: PathBuf,
    address: String,
    authority: PathBuf,
    drop_after: usize,
    missed: usize,
    segments: usize,
    speed: f64,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            recording: words.next().ok_or("which recording?")?.into(),
            address: "127.0.0.1:0".to_owned(),
            authority: "betfair-peer.pem".into(),
            drop_after: usize::MAX,
            missed: 0,
            segments: 1,
            speed: 1.0,
        };
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| format!("{name} has no value"))?;
            match name.as_str() {
                "--address" => options.address = value,
                "--authority" => options.authority = value.into(),
                "--drop-after" => options.drop_after = number(&name, &value)?,
                "--missed" => options.missed = number(&name, &value)?,
                "--segments" => options.segments = number::<usize>(&name, &value)?.max(1),
                "--speed" => options.speed = number(&name, &value)?,
                _ => return Err(format!("{name} is not known")),
            }
        }
        Ok(options)
    }
}

fn number<T: FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} {value} is no number"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::read(std::env::args().skip(1))?;
    let lines = recorded::lines(&options.recording)?;
    let stream = Stream::new(lines.iter().map(String::as_str));
    let peer = Peer::bind(&options.address).await?;
    fs::write(&options.authority, &peer.identity().certificate)?;
    println!("listens on {}, for who trusts {}", peer.address(), options.authority.display());
    let mut at = 0;
    loop {
        let ended = match peer.accept().await {
            Ok(caller) => serve(&options, &stream, caller, &mut at).await,
            Err(error) => Err(error),
        };
        let why = ended.map_or_else(|error| error.to_string(), |()| "dropped".to_owned());
        println!("connection ended at {at} of {}: {why}", stream.end());
    }
}

/// Serves one connection until it ends or is to be dropped. `at`: how far the stream is.
async fn serve(
    options: &Options,
    stream: &Stream,
    mut caller: Caller,
    at: &mut usize,
) -> io::Result<()> {
    caller.authenticate().await?;
    let subscription = caller.subscription().await?;
    println!("subscribed: {subscription}");
    *at = stream.catch_up(&mut caller, &subscription, *at, options.segments).await?;
    let until = at.saturating_add(options.drop_after).min(stream.end());
    let id = &subscription["id"];
    let beat = subscription["heartbeatMs"].as_u64().unwrap_or(HEARTBEAT_MS);
    let beat = Duration::from_millis(beat);
    while *at < until {
        wait(options, stream, &mut caller, id, *at, beat).await?;
        stream.play(&mut caller, &subscription, *at..*at + 1).await?;
        *at += 1;
    }
    if until < stream.end() {
        let next = stream.message(id, until);
        *at = (until + options.missed).min(stream.end());
        return caller.send_part(&next[..next.len() / 2]).await;
    }
    loop {
        sleep(beat).await;
        caller.send(&Stream::heartbeat(id, *at, false)).await?;
    }
}

/// Waits until the next message is due, and says in the meantime that nothing happens.
async fn wait(
    options: &Options,
    stream: &Stream,
    caller: &mut Caller,
    id: &Value,
    at: usize,
    beat: Duration,
) -> io::Result<()> {
    let gap_ms = stream.pt(at + 1).abs_diff(if at == 0 { stream.pt(1) } else { stream.pt(at) });
    let due = Instant::now() + Duration::from_millis(gap_ms).div_f64(options.speed);
    while due > Instant::now() + beat {
        sleep(beat).await;
        caller.send(&Stream::heartbeat(id, at, false)).await?;
    }
    sleep_until(due).await;
    Ok(())
}
