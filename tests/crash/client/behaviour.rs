//! What clients follow, how fast they read, and when they disconnect.

/// How a client behaves.
#[derive(Debug, Clone)]
pub(crate) struct Behaviour {
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) key: String,
    /// Patterns that it follows; with none, some channels by name.
    pub(super) patterns: Vec<&'static str>,
    pub(super) every_ms: u64,
    pub(super) on_slow: &'static str,
    pub(super) is_slow: bool,
    pub(super) disconnects: bool,
    /// The path of an older socket.
    pub(super) live: Option<&'static str>,
}

pub(super) const RATES: [u64; 7] = [0, 100, 250, 500, 1000, 2000, 5000];
const ON_SLOW: [&str; 3] = ["merge", "resync", "close"];

impl Behaviour {
    /// The behaviour of a client, by its number. Within 280 clients every rate occurs with every pattern and
    /// every `on_slow`.
    pub(crate) fn new(seed: u64, number: u64, key: &str) -> Self {
        let (group, index) = (number / 20, number % 20);
        let choose = |number: u64, count: usize| usize::try_from(number).expect("small") % count;
        let patterns: &[&str] = match index {
            0 | 1 => &["football/*", "football"],
            2 => &["tennis/*", "*"],
            3 | 4 => &["*/*/odds"],
            5 => &["*/*/odds/alpha"],
            6 => &["*/*/odds/bravo", "*/*/odds/charlie"],
            7 => &["football/*/odds/delta"],
            8 => &["*/*", "football/*/odds"],
            9 => &["*/*/odds/*"],
            10 => &["*", "*/*"],
            _ => &[],
        };
        let live = match index {
            18 => Some("/live/football/"),
            19 => Some("/ws/live/"),
            _ => None,
        };
        Self {
            number,
            seed,
            key: key.to_owned(),
            patterns: patterns.into(),
            every_ms: RATES[choose(group + index, RATES.len())],
            on_slow: ON_SLOW[choose(group + index / 7, ON_SLOW.len())],
            is_slow: number % 11 == 3,
            disconnects: (group + index) % 4 == 1,
            live,
        }
    }

    pub(super) fn describe(&self) -> String {
        let Self { number, patterns, every_ms, on_slow, is_slow, disconnects, live, .. } = self;
        let follows = if patterns.is_empty() { "names".to_owned() } else { patterns.join(" ") };
        let mut text = match live {
            Some(path) => format!("client {number} {path}"),
            None => format!("client {number} {follows} every {every_ms} ms {on_slow}"),
        };
        if *is_slow {
            text += " slow";
        }
        if *disconnects {
            text += " disconnecting";
        }
        text
    }
}

#[test]
fn behaviours_are_combined() {
    let all: Vec<Behaviour> = (0..287).map(|number| Behaviour::new(1, number, "key")).collect();
    for every_ms in RATES {
        for on_slow in ON_SLOW {
            assert!(all.iter().any(|it| (it.every_ms, it.on_slow) == (every_ms, on_slow)));
        }
        for index in 0..20 {
            let of_pattern = all.iter().filter(|it| it.number % 20 == index);
            assert!(of_pattern.into_iter().any(|it| it.every_ms == every_ms), "{index}");
        }
    }
    for live in [None, Some("/live/football/"), Some("/ws/live/")] {
        for disconnects in [true, false] {
            assert!(all.iter().any(|it| (it.live, it.disconnects) == (live, disconnects)));
        }
    }
    for on_slow in ON_SLOW {
        assert!(all.iter().any(|it| it.live.is_none() && it.is_slow && it.on_slow == on_slow));
    }
}
