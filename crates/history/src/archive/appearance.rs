//! A player in a football match.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use base::Micros;
use facts::event::PlayerStat;

use crate::ids::first_choice;
use record::{
    EntityRef, FootballRecord, IncidentRecord, Key, LineUpRecord, MatchRecord, PlayRecord, Status,
    counters::CardColour,
};

/// A player's part in a match: whether in the line-up, and the statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appearance {
    /// The id that clients see; absent until the row is written.
    pub public_id: Option<Key>,
    pub match_id: Key,
    pub player: Key,
    pub team: Key,
    pub season: Option<Key>,
    /// The start of the match.
    pub start: Option<Micros>,
    pub starter: bool,
    /// Whether the player was on the pitch, not only on the bench.
    pub played: bool,
    /// `G`, `D`, `M` or `F`.
    pub position: Option<Arc<str>>,
    /// The shirt number.
    pub number: Option<u16>,
    /// Without own goals and the shoot-out.
    pub goals: u32,
    pub assists: u32,
    /// A second yellow card counts as a red card only, as for the team: `record::counters`.
    pub yellow: u32,
    pub red: u32,
    pub fouls: u32,
    /// Statistics by the names of `facts::event::PlayerStat`; absent values are unknown.
    pub stats: BTreeMap<Arc<str>, u32>,
}

/// The weight of the player in the digest of an appearance, a prime: the result is below 2^52, as
/// all digests are.
const PLAYER_WEIGHT: Key = 1_046_527;

impl Appearance {
    /// The id that clients see. A row that is not written yet reports its first choice, which it
    /// then gets unless another row has it.
    #[must_use]
    pub fn id(&self) -> Key {
        self.public_id.unwrap_or_else(|| first_choice(self.digest()))
    }

    /// Whether the player has a row in the statistics: everyone on the pitch, and who was booked on the bench.
    #[must_use]
    pub fn has_row(&self) -> bool {
        self.played || self.yellow + self.red > 0
    }

    /// The digest of this player in this match.
    pub(super) fn digest(&self) -> Key {
        self.match_id.wrapping_add(self.player.wrapping_mul(PLAYER_WEIGHT))
    }
}

/// A filter of appearances. Absent fields match everything.
#[derive(Debug, Clone, Default)]
pub struct AppearanceFilter {
    /// By [`Appearance::id`].
    pub id: Option<Key>,
    /// Ids of which a row has one; there is at least one.
    pub matches: Option<Vec<Key>>,
    pub players: Option<Vec<Key>>,
    pub teams: Option<Vec<Key>>,
    /// Only matches from this time on.
    pub from: Option<Micros>,
    /// Only matches before this time.
    pub before: Option<Micros>,
    /// Only players with a row ([`Appearance::has_row`]), in a match that had begun at this time:
    /// line-ups are published earlier.
    pub played_by: Option<Micros>,
}

/// The statistic that a list of leaders is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    Goals,
    Assists,
    Yellow,
    Red,
    Fouls,
    /// What only some feeds count, besides fouls.
    Counter(PlayerStat),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderRow {
    pub player: Key,
    /// The team of the player's last match in that season.
    pub team: Key,
    pub value: u64,
    /// Matches in which the player was on the pitch.
    pub matches: u64,
}

impl Leader {
    /// The statistic of a counter. Goals, assists and cards are those of the incidents where these name players.
    #[must_use]
    pub fn of_counter(counter: PlayerStat) -> Self {
        match counter {
            PlayerStat::Goals => Self::Goals,
            PlayerStat::Assists => Self::Assists,
            PlayerStat::YellowCards => Self::Yellow,
            PlayerStat::RedCards => Self::Red,
            PlayerStat::Fouls => Self::Fouls,
            other => Self::Counter(other),
        }
    }

    /// Its column, or its place in the column of counters.
    pub(super) fn expression(self, is_sqlite: bool) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Goals => "goals",
            Self::Assists => "assists",
            Self::Yellow => "yellow",
            Self::Red => "red",
            Self::Fouls => "fouls",
            Self::Counter(counter) => {
                let name = counter.as_str();
                return Cow::Owned(if is_sqlite {
                    format!("coalesce(json_extract(stats, '$.{name}'), 0)")
                } else {
                    format!("coalesce(CAST(CAST(stats AS json) ->> '{name}' AS BIGINT), 0)")
                });
            }
        })
    }

    /// Whether only some feeds count it, so that only matches with one are counted.
    pub(super) fn is_rarely_counted(self) -> bool {
        matches!(self, Self::Fouls | Self::Counter(_))
    }
}

impl Appearance {
    /// Every player who is in a line-up, in an incident or has statistics, by id.
    pub fn of_record(record: &MatchRecord) -> BTreeMap<Key, Self> {
        let PlayRecord::Football(football) = &record.play else { return BTreeMap::new() };
        let Some(sides) = record.summary.sides else { return BTreeMap::new() };
        let mut builder = AppearanceBuilder { record, sides, appearances: BTreeMap::new() };
        builder.line_ups(football);
        builder.tallies(football);
        builder.incidents(football);
        let status = record.summary.status;
        // No one played in a walkover, although it has a result.
        if !status.has_begun() || status == Status::Walkover {
            builder.appearances.values_mut().for_each(|it| it.played = false);
        }
        builder.appearances
    }
}

/// The appearances of a record while they are built.
struct AppearanceBuilder<'a> {
    record: &'a MatchRecord,
    sides: [Key; 2],
    appearances: BTreeMap<Key, Appearance>,
}

impl AppearanceBuilder<'_> {
    /// A player who is reported but in no line-up was on the pitch.
    fn appearance(&mut self, player: Key, side: usize) -> &mut Appearance {
        let team = self.sides[side];
        let summary = &self.record.summary;
        self.appearances.entry(player).or_insert_with(|| Appearance {
            public_id: None,
            match_id: summary.id,
            player,
            team,
            season: summary.season,
            start: summary.start,
            starter: false,
            played: true,
            position: None,
            number: None,
            goals: 0,
            assists: 0,
            yellow: 0,
            red: 0,
            fouls: 0,
            stats: BTreeMap::new(),
        })
    }

    fn line_ups(&mut self, football: &FootballRecord) {
        for (side, line_up) in football.line_ups.iter().enumerate() {
            for listed in line_up.iter().flat_map(|it| &it.players) {
                let appearance = self.appearance(listed.player.id, side);
                appearance.starter = listed.starter;
                appearance.played = listed.starter;
                appearance.position.clone_from(&listed.position);
                appearance.number = listed.number;
            }
        }
    }

    fn tallies(&mut self, football: &FootballRecord) {
        // If incidents name players they are more reliable, because they are withdrawn together
        // with a goal.
        let incidents_name = football.incidents.iter().any(|it| it.player.is_some());
        for reported in &football.players {
            let Some(side) = side_index(reported.side) else { continue };
            let appearance = self.appearance(reported.player.id, side);
            let count = |name: &str| reported.values.get(name).copied().unwrap_or_default();
            appearance.stats.clone_from(&reported.values);
            appearance.fouls = count("fouls");
            appearance.played |= count("minutes_played") > 0;
            if !incidents_name {
                appearance.goals = count("goals");
                appearance.assists = count("goal_assist");
                appearance.yellow = count("yellow_card");
                appearance.red = count("red_card");
            }
        }
    }

    fn incidents(&mut self, football: &FootballRecord) {
        let standing = football.incidents.iter().filter(|it| it.retracted.is_none());
        let mut standing: Vec<_> = standing.collect();
        // Cards come last: by then, all who played are known.
        standing.sort_by_key(|it| CardColour::from_kind(&it.kind).is_some());
        for incident in standing {
            if let Some(side) = incident.side.and_then(side_index) {
                self.incident(incident, side, football.line_ups[side].as_ref());
            }
        }
    }

    fn incident(&mut self, incident: &IncidentRecord, side: usize, line_up: Option<&LineUpRecord>) {
        let id = |named: &Option<EntityRef>| named.as_ref().map(|named| named.id);
        let (player, assist) = (id(&incident.player), id(&incident.assist));
        match (&*incident.kind, incident.detail.as_deref()) {
            // It counts for the other side.
            ("goal", Some("own_goal")) => self.note(player, 1 - side, |it| it.played = true),
            ("goal", _) => {
                self.note(player, side, |appearance| {
                    appearance.goals += 1;
                    appearance.played = true;
                });
                self.note(assist, side, |appearance| {
                    appearance.assists += 1;
                    appearance.played = true;
                });
            }
            ("substitution", _) => {
                self.note(player, side, |it| it.played = true);
                self.note(assist, side, |it| it.played = true);
            }
            _ if self.is_staff(player, line_up) => {}
            // Players on the bench can be booked, too.
            (kind, _) => match CardColour::from_kind(kind) {
                Some(CardColour::Yellow) => self.note(player, side, |it| it.yellow += 1),
                Some(CardColour::Red) => self.note(player, side, |it| it.red += 1),
                None => {}
            },
        }
    }

    /// Whether someone who is in no incident but a card is not among the players of a side whose bench is known.
    fn is_staff(&self, person: Option<Key>, line_up: Option<&LineUpRecord>) -> bool {
        let has_bench = line_up.is_some_and(|it| it.players.iter().any(|player| !player.starter));
        has_bench && person.is_some_and(|id| !self.appearances.contains_key(&id))
    }

    fn note(&mut self, player: Option<Key>, side: usize, note: impl Fn(&mut Appearance)) {
        if let Some(player) = player {
            note(self.appearance(player, side));
        }
    }
}

fn side_index(side: u8) -> Option<usize> {
    (side < 2).then_some(usize::from(side))
}
