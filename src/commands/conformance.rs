//! `matchwire conformance`: plays the corpus of frame scripts to a client of the stream protocol, and grades it.

use std::{
    io::{self, Write},
    net::SocketAddr,
    time::Duration,
};

use conformance::{
    client::{self, url},
    play::KEY,
    script::{self, Script, ScriptError},
};
use serde_json::json;
use tokio::net::TcpListener;

use crate::cli::ConformanceArgs;

/// Why the client could not be graded.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    #[error(transparent)]
    Corpus(#[from] ScriptError),
    #[error("no case {0:?}; --list names all")]
    Unknown(String),
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

/// How a client did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// It passed all cases.
    Passed,
    /// It failed at least one.
    Failed,
}

/// Grades a client, and prints a line for each case.
///
/// # Errors
///
/// If there is no such case, if the address is in use, or if the output cannot be written.
pub async fn run(args: &ConformanceArgs, out: &mut impl Write) -> Result<Grade, ConformanceError> {
    let mut corpus = script::corpus()?;
    let unknown = args.case.iter().find(|name| !corpus.iter().any(|it| it.head.case == **name));
    if let Some(name) = unknown {
        return Err(ConformanceError::Unknown(name.clone()));
    }
    corpus.retain(|it| args.case.is_empty() || args.case.contains(&it.head.case));
    if args.list {
        for Script { head, .. } in &corpus {
            writeln!(out, "{}: {}", head.case, head.about)?;
        }
        return Ok(Grade::Passed);
    }
    let address = args.listen;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|source| ConformanceError::Listen { address, source })?;
    let patience = Duration::from_secs(args.patience_s);
    let mut results = Vec::new();
    for script in &corpus {
        let result = if args.program.is_empty() {
            invite(&listener, script, out)?;
            client::grade_by_hand(&listener, script, patience).await
        } else {
            client::grade_program(&args.program, &listener, script, patience).await
        };
        if !args.json {
            print(script, &result, out)?;
        }
        results.push((script.head.case.as_str(), result));
    }
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    let passed = results.len() - failed;
    if args.json {
        let case = |(name, result): &(&str, Result<(), String>)| json!({"case": name, "passed": result.is_ok(), "why": result.as_ref().err()});
        let cases: Vec<_> = results.iter().map(case).collect();
        writeln!(out, "{}", json!({"passed": passed, "failed": failed, "cases": cases}))?;
    } else {
        writeln!(out, "{passed} passed, {failed} failed")?;
    }
    out.flush()?;
    Ok(if failed == 0 { Grade::Passed } else { Grade::Failed })
}

/// Tells who starts the client by hand what it has to do.
fn invite(listener: &TcpListener, script: &Script, out: &mut impl Write) -> io::Result<()> {
    let address = listener.local_addr()?;
    let (case, follow) = (&script.head.case, script.head.follow.join(" "));
    writeln!(
        out,
        "{case}: connect to {} with the key {KEY}, follow {follow}, then POST the report to http://{address}/report/",
        url(address),
    )?;
    out.flush()
}

fn print(script: &Script, result: &Result<(), String>, out: &mut impl Write) -> io::Result<()> {
    let case = &script.head.case;
    match result {
        Ok(()) => writeln!(out, "ok: {case}")?,
        Err(why) => writeln!(out, "FAILED: {case}: {}", why.replace('\n', "\n    "))?,
    }
    out.flush()
}
