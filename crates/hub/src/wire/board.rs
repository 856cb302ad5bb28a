//! The boards: one row for each match of the day.

use super::{
    Competition, DocumentHeader, Sides,
    football::{Clock, FootballScore},
    race::{self, RaceSides, RaceTitle},
    scoreboard::{self, Scoreboard},
    tennis::{self, Players, TennisGame, TennisSet},
    values::{FootballStatus, Life, Map, PlayerNumber, RaceStatus, TennisStatus, Timestamp},
};
use crate::{
    document::{FieldKey, Node, Object},
    hub::{
        Header,
        state::{FootballPart, Match, MatchDelta, Play, Tennis, TennisPart},
    },
};

wire! {
    /// The football board: the document of `football`.
    document FootballBoard {
        #[schemars(flatten)] header: @shared DocumentHeader,
        /// The matches by id.
        matches: @shared Map<FootballRow>,
    }

    /// The tennis board: the document of `tennis`.
    document TennisBoard {
        #[schemars(flatten)] header: @shared DocumentHeader,
        /// The matches by id.
        matches: @shared Map<TennisRow>,
    }

    /// The board of a sport that is followed by its scoreboard.
    document ScoreboardBoard {
        #[schemars(flatten)] header: @shared DocumentHeader,
        /// The matches by id.
        matches: @shared Map<ScoreboardRow>,
    }

    /// The board of horse racing: the document of `horseracing`.
    document HorseRacingBoard {
        #[schemars(flatten)] header: @shared DocumentHeader,
        /// The races by id.
        matches: @shared Map<HorseRacingRow>,
    }

    /// The fields of every row.
    document Row {
        /// The competition; absent if no source names it.
        competition: Option<Competition>,
        /// The scheduled or actual start.
        start: Option<Timestamp>,
        /// The life cycle of the match.
        life: Life,
    }

    /// A football match on the board. The fields are those of `FootballMatch`.
    document FootballRow {
        #[schemars(flatten)] row: @shared Row,
        #[schemars(flatten)] sides: @shared Sides,
        /// The status; absent if the markets are in play but no source reports the play.
        status: @shared Option<FootballStatus>,
        /// The match clock.
        clock: Option<Clock>,
        /// The score; absent before the match and while no source states one.
        score: Option<FootballScore>,
    }

    /// A tennis match on the board. The fields are those of `TennisMatch`.
    document TennisRow {
        #[schemars(flatten)] row: @shared Row,
        #[schemars(flatten)] players: @shared Players,
        /// The status.
        status: @shared TennisStatus,
        /// Each set that has begun, by its number from `"1"`. Absent if no source reports the play.
        sets: Option<Map<TennisSet>>,
        /// The current game. Absent if no source reports the play.
        game: Option<TennisGame>,
        /// The side that serves the next point.
        server: Option<PlayerNumber>,
    }

    /// A match on the board of a sport that is followed by its scoreboard. The fields are those of `ScoreboardMatch`.
    document ScoreboardRow {
        #[schemars(flatten)] row: @shared Row,
        #[schemars(flatten)] sides: @shared Sides,
        #[schemars(flatten)] scoreboard: @shared Scoreboard,
    }

    /// A race on the board. The fields are those of `HorseRace`.
    document HorseRacingRow {
        #[schemars(flatten)] row: @shared Row,
        #[schemars(flatten)] sides: @shared RaceSides,
        /// The status.
        status: @shared RaceStatus,
        #[schemars(flatten)] title: @shared RaceTitle,
    }
}

/// Adds the complete row of a match.
pub fn line(matches: &mut Object, m: &Match, header: Header) {
    let out = matches.object(FieldKey::Int(m.id.0));
    fixture(out, m, false);
    out.put(Row::life(), header.life);
    out.set_some("status", header.status);
    match &m.play {
        Play::Football(state) => {
            out.put_some(FootballRow::clock(), state.clock);
            out.put_some(FootballRow::score(), state.reported_score());
        }
        Play::Tennis(state) => play(out, state, None),
        Play::Scoreboard(state) => scoreboard::image(out, state),
        // The race's own document lists the runners.
        Play::Race(_) | Play::None => {}
    }
}

/// Adds what a batch changed in the row of a match.
pub fn line_patch(
    patch: &mut Object,
    m: &Match,
    delta: &MatchDelta,
    before: Header,
    after: Header,
) {
    let mut out = Object::default();
    if delta.fixture {
        fixture(&mut out, m, true);
    }
    if before.life != after.life {
        out.put(Row::life(), after.life);
    }
    if before.status != after.status {
        out.set_or_null("status", after.status);
    }
    match &m.play {
        Play::Football(state) => {
            if delta.football.contains(&FootballPart::Clock) {
                out.put_some(FootballRow::clock(), state.clock);
            }
            if delta.football.contains(&FootballPart::Score) {
                let score = state.reported_score().map(FootballScore::from);
                out.set_or_null(FootballRow::score(), score.map(|it| it.object(true)));
            }
        }
        Play::Tennis(state) if delta.tennis.contains(&TennisPart::Score) => {
            play(&mut out, state, Some(&delta.tennis));
        }
        Play::Scoreboard(state) => scoreboard::patch(&mut out, state, &delta.scoreboard),
        Play::Tennis(_) | Play::Race(_) | Play::None => {}
    }
    if !out.is_empty() {
        patch.object("matches").set(FieldKey::Int(m.id.0), out);
    }
}

/// Removes the row of a match.
pub fn gone(patch: &mut Object, m: &Match) {
    patch.object("matches").set(FieldKey::Int(m.id.0), Node::Null);
}

fn fixture(out: &mut Object, m: &Match, patch: bool) {
    super::sides(out, m, patch);
    super::competition(out, Row::competition(), m, patch);
    out.put_optional(Row::start(), m.fixture.start, patch);
    if matches!(m.play, Play::Race(_)) {
        race::title(out, m, patch);
    }
}

fn play(out: &mut Object, state: &Tennis, patch: Option<&[TennisPart]>) {
    let Some(score) = state.reported_score() else {
        let fields: [FieldKey; 3] =
            [TennisRow::sets().into(), TennisRow::game().into(), TennisRow::server().into()];
        let fields = fields.into_iter().filter(|_| patch.is_some());
        return fields.for_each(|field| out.set(field, Node::Null));
    };
    tennis::sets(out.object(TennisRow::sets()), score, patch);
    out.put_some(TennisRow::game(), Some(score.game));
    out.put_optional(TennisRow::server(), score.server, patch.is_some());
}
