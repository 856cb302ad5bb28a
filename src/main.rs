//! Runs the command line's command, and turns its result into an exit code.

use std::{
    error::Error,
    io::{self, BufWriter, Stdout, Write},
    process::ExitCode,
    time::Duration,
};

#[cfg(not(all(feature = "cluster", feature = "conformance", feature = "demo")))]
use base::feature::MissingFeature;
use base::{clock::wall, log_queue, process, supervisor};
use clap::Parser;
#[cfg(feature = "demo")]
use demo::simulator::{self, Simulator};
use matchwire::{
    app::{self, AppError, FAILED, HubProcess, INVALID_SETTINGS, RunMode},
    cli::{
        Cli, Command, ConformanceArgs, HubArgs, ImportArgs, KeyCommand, MatchesCommand, McpArgs,
        ProbeArgs, RecordArgs, ReplayArgs, SimulateArgs, cluster::ClusterCommand,
        feeds::FeedsCommand, log::LogCommand, operator::OperatorCommand, running::RunningHubArgs,
    },
    commands,
    config::{Config, ConfigError, ConfigOrigin, Flags, LoggingConfig},
    control::{self, ControlRequest},
    table::Format,
    telemetry, with_causes,
};

/// Polls of tasks on a thread of the runtime before it looks which sockets are ready. Usually 61: with sixty requests of
/// milliseconds each, a new connection would wait for all of them more than once.
const POLLS_BETWEEN_EVENTS: u32 = 8;

/// How long the tasks of a hub that starts again may take to end. They hold files that its next start locks.
const TASKS_END_WITHIN: Duration = Duration::from_secs(5);

/// `simulate` prints a day that begins at 2026-01-01T00:00:00Z, so that the seed determines it.
#[cfg(feature = "demo")]
const SIMULATED_START: i64 = 1_767_225_600_000_000;

/// How a command ended.
type Done<T = ()> = Result<T, Box<dyn Error>>;

type Out = BufWriter<Stdout>;

fn main() -> ExitCode {
    process::keep_files_private();
    let ended = match Cli::parse().into_command() {
        Command::Serve(args) => {
            serve(ConfigOrigin { flags: args.flags(), file: args.hub.config }, None)
        }
        Command::Replay(args) => {
            let origin = ConfigOrigin { file: args.hub.config.clone(), flags: args.flags() };
            serve(origin, Some(args))
        }
        Command::Probe(args) => probe(&args),
        Command::Record(args) => record(&args),
        Command::Import(args) => import(&args),
        Command::Key(command) => key(command),
        Command::Operator(command) => operate(command),
        Command::Feeds(command) => feeds(command),
        Command::Matches(command) => matches(command),
        Command::Log(command) => log(&command),
        Command::Cluster(command) => return cluster(&command),
        Command::Check(args) => return check(&args),
        Command::Reload(args) => ask(&args, &ControlRequest::Reload, Format::Text),
        Command::Connections(command) => {
            let (hub, request, format) = command.request();
            ask(hub, &request, format)
        }
        Command::Backup(args) => block_on(commands::backup::run(&args, &mut io::stdout())),
        Command::Simulate(args) => simulate(&args),
        Command::Mcp(args) => mcp(&args),
        Command::Conformance(args) => return conformance(&args),
    };
    let code = exit_code(ended);
    log_queue::flush();
    code
}

fn exit_code(ended: Done) -> ExitCode {
    let Err(error) = ended else {
        return ExitCode::from(if supervisor::has_failed() { supervisor::EXIT_CODE } else { 0 });
    };
    let code = match error.downcast_ref::<AppError>() {
        Some(error) => error.exit_code(),
        None if error.is::<ConfigError>() => INVALID_SETTINGS,
        None => FAILED,
    };
    if code == supervisor::EXIT_CODE {
        supervisor::report_kept();
    }
    if supervisor::has_failed() {
        // The line that names the part is printed already.
        return ExitCode::from(supervisor::EXIT_CODE);
    }
    ended_by(&*error, code)
}

fn serve(origin: ConfigOrigin, replay: Option<ReplayArgs>) -> Done {
    let config = origin.load()?;
    let filter = telemetry::start_logging(&config.logging)?;
    supervisor::install(Duration::from_millis(config.server.failure_exit_ms))?;
    let mode = replay.map_or_else(|| RunMode::from_config(&config), RunMode::Recordings);
    let mut process = HubProcess::start(origin, config, filter, mode)?;
    loop {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.enable_all().event_interval(POLLS_BETWEEN_EVENTS).build()?;
        let ended = runtime.block_on(app::run(&mut process));
        // What still runs could keep a part that failed, or a step of the stop that was given up, alive.
        let restarts = matches!(ended, Ok(true));
        runtime.shutdown_timeout(if restarts { TASKS_END_WITHIN } else { Duration::ZERO });
        if !ended? {
            return Ok(());
        }
    }
}

/// Runs a command to its end.
fn block_on<T, E: Error + 'static>(command: impl Future<Output = Result<T, E>>) -> Done<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(command)?)
}

/// Runs a command that writes to the standard output.
fn print<T, E: Error + 'static>(command: impl AsyncFnOnce(&mut Out) -> Result<T, E>) -> Done<T> {
    let mut out = BufWriter::new(io::stdout());
    let done = block_on(command(&mut out))?;
    out.flush()?;
    Ok(done)
}

fn probe(args: &ProbeArgs) -> Done {
    let config = Config::load(args.hub.config.as_deref(), &args.hub.flags())?;
    block_on(commands::probe::run(args, &config))
}

fn record(args: &RecordArgs) -> Done {
    let config = Config::load(args.config.as_deref(), &Flags::default())?;
    telemetry::start_logging(&config.logging)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(commands::record::run(args, &config, &mut io::stdout()))?)
}

fn import(args: &ImportArgs) -> Done {
    let config = Config::load(args.config.as_deref(), &args.flags())?;
    print(async |out| commands::import::run(args, &config, out).await)
}

fn key(command: KeyCommand) -> Done {
    let config = Config::load(None, &Flags::default())?;
    print(async |out| commands::key::run(command, &config.accounts, wall(), out).await)
}

fn operate(command: OperatorCommand) -> Done {
    let config = Config::load(command.config(), &Flags::default())?;
    let mut input = io::stdin().lock();
    print(async |out| commands::operator::run(command, &config, wall(), &mut input, out).await)
}

fn matches(command: MatchesCommand) -> Done {
    let config = Config::load(None, &Flags::default())?;
    print(async |out| commands::matches::run(command, &config.accounts, wall(), out).await)
}

fn feeds(command: FeedsCommand) -> Done {
    let config = Config::load(None, &Flags::default())?;
    match command {
        FeedsCommand::Key(command) => {
            print(async |out| commands::feeds::key(command, &config.accounts, wall(), out).await)
        }
        FeedsCommand::History(args) => {
            print(async |out| commands::feeds::history(args, &config.accounts, out).await)
        }
        FeedsCommand::Quarantine(command) => {
            block_on(commands::quarantine::run(command, &mut io::stdout()))
        }
    }
}

fn log(command: &LogCommand) -> Done {
    let args = command.log();
    let config = Config::load(args.config.as_deref(), &args.flags())?;
    print(async |out| commands::log::run(command, &config, out))
}

/// The exit code of `status` says how the cluster is.
#[cfg(feature = "cluster")]
fn cluster(command: &ClusterCommand) -> ExitCode {
    let run = || -> Done<_> {
        let config = Config::load(command.cluster().config.as_deref(), &Flags::default())?;
        print(async |out| commands::cluster::run(command, &config, out).await)
    };
    match run() {
        Ok(health) => ExitCode::from(health.exit_code()),
        Err(error) => {
            ended_by(&*error, if error.is::<ConfigError>() { INVALID_SETTINGS } else { FAILED })
        }
    }
}

#[cfg(not(feature = "cluster"))]
fn cluster(_: &ClusterCommand) -> ExitCode {
    let needed_by = "`matchwire cluster`";
    ended_by(&MissingFeature { needed_by, feature: "cluster" }, INVALID_SETTINGS)
}

/// The exit code says whether there are problems.
fn check(args: &HubArgs) -> ExitCode {
    match block_on(async { commands::check::run(args, &mut io::stdout()) }) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(INVALID_SETTINGS),
        Err(error) => ended_by(&*error, INVALID_SETTINGS),
    }
}

/// Asks the hub that runs here. The settings need only say where its database is.
fn ask(hub: &RunningHubArgs, request: &ControlRequest, format: Format) -> Done {
    let (config, _) = Config::load_with_problems(hub.config.as_deref(), &hub.flags())?;
    let socket = config.beside(control::SOCKET_SUFFIX);
    print(async |out| commands::running::run(&socket, request, format, out).await)
}

#[cfg(not(feature = "conformance"))]
fn conformance(_: &ConformanceArgs) -> ExitCode {
    let needed_by = "`matchwire conformance`";
    ended_by(&MissingFeature { needed_by, feature: "conformance" }, INVALID_SETTINGS)
}

/// The exit code says how the client did.
#[cfg(feature = "conformance")]
fn conformance(args: &ConformanceArgs) -> ExitCode {
    match block_on(commands::conformance::run(args, &mut io::stdout())) {
        Ok(commands::conformance::Grade::Passed) => ExitCode::SUCCESS,
        Ok(commands::conformance::Grade::Failed) => ExitCode::from(FAILED),
        Err(error) => ended_by(&*error, INVALID_SETTINGS),
    }
}

#[cfg(feature = "demo")]
fn simulate(args: &SimulateArgs) -> Done {
    let SimulateArgs { seed, truth, events, sport, matches, bookmakers } = *args;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = if events {
        let part = simulator::Part {
            sport,
            matches_max: matches.unwrap_or(usize::MAX),
            bookmakers_max: bookmakers.unwrap_or(usize::MAX),
        };
        simulator::write_recording(seed, SIMULATED_START, part, &mut out)
    } else if truth {
        Simulator::truth(seed, SIMULATED_START).write_json(&mut out)
    } else {
        simulator::write_day(seed, SIMULATED_START, &mut out)
    };
    match written.and_then(|()| out.flush()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => Ok(ended?),
    }
}

#[cfg(not(feature = "demo"))]
fn simulate(_: &SimulateArgs) -> Done {
    let missing = MissingFeature { needed_by: "`matchwire simulate`", feature: "demo" };
    Err(ConfigError::from(missing).into())
}

fn mcp(args: &McpArgs) -> Done {
    telemetry::start_logging(&LoggingConfig::default())?;
    block_on(commands::mcp::run(args, io::stdin(), io::stdout()))
}

/// Prints an error with all its causes on one line.
fn ended_by(error: &dyn Error, code: u8) -> ExitCode {
    log_queue::write_last(&format!("matchwire: {}\n", with_causes(error)));
    ExitCode::from(code)
}
