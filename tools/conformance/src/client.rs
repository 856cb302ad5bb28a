//! The client under test: a program that is started for each case, or one that somebody starts by hand.

use std::{
    ffi::OsString,
    io,
    net::SocketAddr,
    pin::pin,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command},
    time::timeout,
};

use crate::{
    play::{self, KEY},
    report::Report,
    script::Script,
};

/// Bytes of a line of a report, and of the body of a request with reports.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// The last bytes of what the client printed to stderr that are shown.
const ERRORS_BYTES_MAX: usize = 2_000;

/// How long to wait for connections that wait to be accepted.
const LEFT_BEHIND_MAX: Duration = Duration::from_millis(5);

/// How long the last close may take after the client has ended.
const LAST_CLOSE_MAX: Duration = Duration::from_secs(1);

/// Starts a program for one case, plays the case, and compares what the program printed.
///
/// # Errors
///
/// Why the client failed, in words.
pub async fn grade_program(
    program: &[OsString],
    listener: &TcpListener,
    script: &Script,
    patience: Duration,
) -> Result<(), String> {
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    // What a client of an earlier case has left behind.
    while timeout(LEFT_BEHIND_MAX, listener.accept()).await.is_ok() {}
    let mut child = start(program, address, script)
        .map_err(|error| format!("cannot start {}: {error}", program[0].to_string_lossy()))?;
    let report = tokio::spawn(read_report(child.stdout.take()));
    let errors = tokio::spawn(read_errors(child.stderr.take()));
    let mut playing = pin!(play::play(listener, script, patience));
    let played = tokio::select! {
        played = &mut playing => played.map_err(|fault| fault.to_string()),
        // It may end before the last close is complete on this side.
        status = child.wait() => match timeout(LAST_CLOSE_MAX, playing).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(early(status)),
        },
    };
    let ended = match played {
        Ok(()) => end(&mut child, listener, patience).await,
        Err(why) => Err(why),
    };
    // It may have ended by itself; otherwise it is of no use any more.
    child.kill().await.ok();
    // A program that it has started itself may keep the pipes open.
    let printed = timeout(patience, async { (report.await, errors.await) }).await;
    let Ok((Ok(report), Ok(errors))) = printed else {
        return ended.and_then(|()| Err("its output does not end".to_owned()));
    };
    match ended.and_then(|()| report.check(script)) {
        Err(why) if !errors.is_empty() => Err(format!("{why}\n{errors}")),
        graded => graded,
    }
}

fn start(program: &[OsString], address: SocketAddr, script: &Script) -> io::Result<Child> {
    Command::new(&program[0])
        .args(&program[1..])
        .env("MATCHWIRE_URL", url(address))
        .env("MATCHWIRE_KEY", KEY)
        .env("MATCHWIRE_CHANNELS", script.head.follow.join(" "))
        .env("MATCHWIRE_CASE", &script.head.case)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// The address that clients connect to.
#[must_use]
pub fn url(address: SocketAddr) -> String {
    format!("ws://{address}/stream/v1")
}

/// Waits for the end of a client that was closed for good.
async fn end(child: &mut Child, listener: &TcpListener, patience: Duration) -> Result<(), String> {
    let status = tokio::select! {
        status = timeout(patience, child.wait()) => status,
        returned = play::stays_away(listener, patience) => return returned,
    };
    match status {
        Err(_) => Err("it does not end after it was closed for good".to_owned()),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(status) => Err(early(status)),
    }
}

fn early(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("the program ended: {status}"),
        Err(error) => format!("the program ended: {error}"),
    }
}

async fn read_report(from: Option<impl AsyncRead + Unpin>) -> Report {
    let mut report = Report::default();
    let Some(from) = from else { return report };
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match (&mut from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return report,
            Ok(_) => report.add(&String::from_utf8_lossy(&line)),
        }
    }
}

/// The end of what comes; the rest is read, so that the client is not blocked.
async fn read_errors(from: Option<impl AsyncRead + Unpin>) -> String {
    let (mut last, mut buffer) = (Vec::new(), [0; 4096]);
    let Some(mut from) = from else { return String::new() };
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        last.extend_from_slice(&buffer[..read]);
        let surplus = last.len().saturating_sub(ERRORS_BYTES_MAX);
        last.drain(..surplus);
    }
    String::from_utf8_lossy(&last).trim_end().to_owned()
}

/// Plays a case to a client that somebody starts by hand, such as a page in a browser, and compares the report that it posts.
///
/// # Errors
///
/// Why the client failed, in words.
pub async fn grade_by_hand(
    listener: &TcpListener,
    script: &Script,
    patience: Duration,
) -> Result<(), String> {
    play::play(listener, script, patience).await.map_err(|fault| fault.to_string())?;
    let report = timeout(patience, posted(listener)).await;
    let report = report.map_err(|_| "it does not post its report".to_owned())?;
    report.map_err(|error| format!("its report cannot be read: {error}"))?.check(script)
}

/// The report of the next request that posts one.
async fn posted(listener: &TcpListener) -> io::Result<Report> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        if let Some(body) = answer(&mut stream).await? {
            let mut report = Report::default();
            body.lines().for_each(|line| report.add(line));
            return Ok(report);
        }
    }
}

/// Answers one request; returns the body of a POST. A client that comes back for a socket is an error. Pages of other origins may post, and ask first whether they may.
async fn answer(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut reader = BufReader::new(&mut *stream).take(LINE_BYTES_MAX);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await? == 0 || line.trim_end().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    let is_report = head.starts_with("POST ");
    if head.to_ascii_lowercase().contains("\r\nupgrade: websocket") {
        return Err(io::Error::other("it comes back after it was closed for good"));
    }
    let mut body = String::new();
    if is_report {
        reader.take(length).read_to_string(&mut body).await?;
    }
    let allowed = "access-control-allow-origin: *\r\naccess-control-allow-headers: *\r\n";
    let answer = format!("HTTP/1.1 204 No Content\r\n{allowed}connection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    Ok(is_report.then_some(body))
}
