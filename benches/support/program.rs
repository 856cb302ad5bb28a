//! The real program with a temporary database, and the cost of its responses.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use tokio::time::Instant;

/// Concurrent connections.
pub(crate) const CONNECTIONS: usize = 8;

/// The cost of one kind of work.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// Microseconds of the program's CPU time per request.
    pub(crate) cpu_us: f64,
    pub(crate) a_second: f64,
}

/// A listening process.
pub(crate) struct Program {
    pub(crate) process: Child,
    pub(crate) address: SocketAddr,
}

impl Program {
    /// Starts a program that prints its address in its first line.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut first = String::new();
        let stdout = process.stdout.as_mut().expect("its output is piped");
        BufReader::new(stdout).read_line(&mut first).expect("its output is text");
        let address = first.trim().strip_prefix("listening on http://").expect("it has started");
        Self { address: address.parse().expect("an address"), process }
    }

    /// The cost of this many repetitions.
    pub(crate) fn cost(&self, work: impl FnOnce(), count: usize) -> Cost {
        let (begun, cpu_ns) = (Instant::now(), self.cpu_ns());
        work();
        let (took, cpu_ns) = (begun.elapsed().as_secs_f64(), self.cpu_ns() - cpu_ns);
        let count = count as f64;
        Cost { cpu_us: cpu_ns as f64 / 1_000.0 / count, a_second: count / took }
    }

    /// The CPU time of all its threads so far.
    fn cpu_ns(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.process.id());
        let tasks = fs::read_dir(tasks).expect("Linux reports its threads");
        let of_task = |path: &Path| {
            // A thread may end in the meantime.
            let stat = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
            stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0)
        };
        tasks.flatten().map(|task| of_task(&task.path())).sum()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A key of the hub on this database.
pub(crate) fn key(db: &Path, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_matchwire"));
    let output = command.args(["key", "create", "--db"]).arg(db).args(more).output();
    let output = output.expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a key is text").trim().to_owned()
}

/// Measures kinds of work in turn, and prints medians and ratios to the first.
pub(crate) fn compare<const N: usize>(
    names: &[&str; N],
    rounds: usize,
    mut measure: impl FnMut(usize) -> Cost,
) {
    // The first round warms up.
    for kind in 0..N {
        measure(kind);
    }
    let mut costs = [(); N].map(|()| Vec::new());
    for round in 0..rounds {
        for turn in 0..N {
            let kind = (round + turn) % N;
            costs[kind].push(measure(kind));
        }
    }
    for (name, measured) in names.iter().zip(&costs) {
        let to_first = |field: fn(&Cost) -> f64| {
            let ratios =
                measured.iter().zip(&costs[0]).map(|(cost, first)| field(cost) / field(first));
            median(ratios.collect())
        };
        let ((cpu, [least, most]), (rate, _)) =
            (to_first(|it| it.cpu_us), to_first(|it| it.a_second));
        let (cpu_us, _) = median(measured.iter().map(|cost| cost.cpu_us).collect());
        let (a_second, _) = median(measured.iter().map(|cost| cost.a_second).collect());
        say(&format!(
            "{name:33} {cpu_us:6.2} us of processor time, ratio {cpu:.3} ({least:.3} to {most:.3}); \
             {a_second:7.0} a second, ratio {rate:.3}"
        ));
    }
}

/// The median, the minimum and the maximum.
pub(crate) fn median(mut values: Vec<f64>) -> (f64, [f64; 2]) {
    values.sort_unstable_by(f64::total_cmp);
    (values[values.len() / 2], [values[0], values[values.len() - 1]])
}

pub(crate) fn say(line: &str) {
    writeln!(io::stdout(), "{line}").expect("standard output is open");
}

/// The head of a response, read byte by byte so that nothing after it is consumed.
pub(crate) fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    String::from_utf8(head).expect("a head is text")
}

pub(crate) fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it connects");
    stream.set_nodelay(true).expect("it may send at once");
    stream
}
