//! Decides from two fixtures alone whether they are one match.
//!
//! A wrong join is worse than a missed one: it shows the score of one match under the names of
//! another. So two fixtures are the same only if all their facts agree; anything close is doubtful
//! and left to the operator. The result does not depend on their order.

use base::names;
use facts::event::{Class, Fixture, Micros, Pair, Sport};

use super::{
    class,
    competition::{CompetitionName, CompetitionRelation},
    country,
    grade::{Grade, MarkSource},
    player::PlayerNames,
    team::{Likeness, TeamName},
    when::{self, StartGap, StartTime},
};

/// The result of the rule for two fixtures.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// They are one match; `swapped` if one has the sides in the other order.
    Same {
        swapped: bool,
        apart: Micros,
    },
    Different,
    /// They may be one match.
    Doubtful {
        swapped: bool,
        score: f64,
        why: String,
        /// Something that is known of both differs, so what is one match with one is none with the other.
        differs: bool,
    },
}

/// A fixture in the form that the rule compares.
#[derive(Debug, Clone)]
pub struct Reading {
    sport: Sport,
    when: StartTime,
    sides: SideNames,
    country: Option<&'static str>,
    competition: CompetitionName,
    /// What the name of the competition and the feed say of the game.
    game: Grade,
    /// What the feed states.
    class: Class,
    is_qualification: bool,
}

#[derive(Debug, Clone)]
enum SideNames {
    Teams(Pair<TeamName>),
    Players(Pair<PlayerNames>),
}

impl Reading {
    /// `None` if the rule cannot compare it: without names, without a start, or of a sport without
    /// two sides.
    #[must_use]
    pub fn from_fixture(sport: Sport, fixture: &Fixture) -> Option<Self> {
        let names = fixture.sides.as_ref()?.each_ref().map(|side| &*side.name);
        if names.iter().any(|name| is_placeholder(name)) {
            return None;
        }
        let competition = fixture.competition.as_ref();
        let mut competition = competition.map_or_else(Vec::new, |it| names::words(&it.name));
        let mentioned = country::mentioned_in(&competition).filter(|_| !sport.is_of_players());
        let mut class = fixture.class.clone();
        class.country = class.country.filter(|_| !sport.is_of_players());
        let country = class.country.as_deref().and_then(country::stated).or(mentioned);
        let game = Grade::take(&mut competition, MarkSource::Competition);
        let game = game.within(Grade::stated(&class));
        let (sides, game) = match sport {
            Sport::HorseRacing | Sport::Other => return None,
            _ if sport.is_of_players() => players(names, game),
            _ => {
                let teams = graded(names.map(|it| TeamName::read(it, sport, mentioned)), game);
                let game = game.within(teams[0].grade.of_match());
                (SideNames::Teams(teams), game)
            }
        };
        let is_qualification = competition.iter().any(|word| word.starts_with("qualif"));
        let competition = CompetitionName::read(&competition);
        let when = StartTime::from_fixture(fixture)?;
        (!sides.is_empty()).then_some(Self {
            sport,
            when,
            sides,
            country,
            competition,
            game,
            class,
            is_qualification,
        })
    }

    /// Compares two fixtures of different providers.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        let gap = self.gap(other);
        let elsewhere = self.country.zip(other.country).filter(|(one, other)| one != other);
        let is_stated = self.class.country.is_some() || other.class.country.is_some();
        let is_other_game = self.sport.is_of_players() && self.is_other_game(other);
        if self.sport != other.sport
            || elsewhere.is_some() && !is_stated
            || is_other_game
            || gap == StartGap::Far
        {
            return Comparison::Different;
        }
        let judge = |one: &SideNames, other: &SideNames| {
            let (swapped, likeness) = one.likeness(other);
            self.judge(gap, swapped, likeness)
        };
        let differs = |swapped, what: &str| {
            let why = format!("what the feeds state differs: {what}");
            Comparison::Doubtful { swapped, score: 0.75, why, differs: true }
        };
        let contradiction = class::contradiction(&self.class, &other.class)
            .or_else(|| elsewhere.map(|(one, other)| format!("country: {one}, {other}")));
        match (judge(&self.sides, &other.sides), contradiction) {
            (Comparison::Same { swapped, .. }, Some(what)) => differs(swapped, &what),
            (Comparison::Same { swapped, .. }, None) if self.is_apart_from(other) => {
                let why = "the competitions have different names".to_owned();
                Comparison::Doubtful { swapped, score: 0.85, why, differs: false }
            }
            (Comparison::Doubtful { .. }, Some(_)) => Comparison::Different,
            (Comparison::Different, contradiction) => {
                let what = contradiction.or_else(|| class::unshared(&self.class, &other.class));
                what.map_or(Comparison::Different, |what| {
                    match judge(&self.sides.without_grades(), &other.sides.without_grades()) {
                        Comparison::Same { swapped, .. } => differs(swapped, &what),
                        _ => Comparison::Different,
                    }
                })
            }
            (comparison, _) => comparison,
        }
    }

    /// Compares two fixtures of competitions that are known to be one: what one feed says of it holds for the other, and
    /// their names and countries do not count.
    #[must_use]
    pub(super) fn compare_in_one_competition(&self, other: &Self) -> Comparison {
        self.completed_by(other).compare(&other.completed_by(self))
    }

    fn completed_by(&self, other: &Self) -> Self {
        let class = class::filled(&self.class, &other.class);
        let game = self.game.within(Grade::stated(&class));
        let sides = match self.sides.clone() {
            SideNames::Teams(teams) => SideNames::Teams(graded(teams, Grade::stated(&class))),
            players @ SideNames::Players(_) => players,
        };
        let competition = CompetitionName::default();
        Self { country: None, competition, class, game, sides, ..self.clone() }
    }

    /// The gap of the starts, smaller where the same sides meet again soon: in simulations, and in the main draw of a tournament
    /// after its qualification.
    fn gap(&self, other: &Self) -> StartGap {
        let are_of_two_draws = self.is_qualification != other.is_qualification;
        let again_after = if self.game.simulated || other.game.simulated {
            when::AGAIN_SIMULATED_US
        } else if self.sport.is_of_players() && are_of_two_draws {
            when::AGAIN_IN_TOURNAMENT_US
        } else {
            Micros::MAX
        };
        match self.when.gap(other.when, self.sport) {
            StartGap::Fits(apart) if apart > again_after => StartGap::Near(apart),
            gap => gap,
        }
    }

    /// Whether only one is simulated, or an exhibition where the other is named otherwise. Other disciplines are places of players:
    /// Delray Beach.
    fn is_other_game(&self, other: &Self) -> bool {
        let are_named = self.competition.is_named() && other.competition.is_named();
        self.game.simulated != other.game.simulated
            || are_named && self.game.is_exhibition() != other.game.is_exhibition()
    }

    /// Whether both competitions are named and their names differ. Those of players have too many names, and nobody plays in two at
    /// a time.
    fn is_apart_from(&self, other: &Self) -> bool {
        !self.sport.is_of_players()
            && self.competition.relation(&other.competition) == CompetitionRelation::Apart
    }

    fn judge(&self, gap: StartGap, swapped: bool, likeness: Likeness) -> Comparison {
        let doubtful = |score, why| Comparison::Doubtful { swapped, score, why, differs: false };
        match (likeness, gap) {
            (Likeness::Other, _) | (_, StartGap::Far) => Comparison::Different,
            (Likeness::Same, StartGap::Fits(_)) if swapped && self.has_home() => {
                doubtful(0.9, "the sides are the other way round".to_owned())
            }
            (Likeness::Same, StartGap::Fits(apart)) => Comparison::Same { swapped, apart },
            (_, StartGap::Near(_)) if swapped && self.has_home() => Comparison::Different,
            (Likeness::Same, StartGap::Near(apart)) => {
                doubtful(0.8, format!("the starts are {} h apart", when::hours(apart)))
            }
            (Likeness::Near(score), StartGap::Fits(_)) => {
                doubtful(score, "the names are only alike".to_owned())
            }
            (Likeness::Near(_), StartGap::Near(_)) => Comparison::Different,
        }
    }

    /// Whether the order of the sides has a meaning.
    fn has_home(&self) -> bool {
        self.sport.profile().has_home
    }

    pub(super) fn sport(&self) -> Sport {
        self.sport
    }

    pub(super) fn day(&self) -> i64 {
        self.when.day()
    }

    /// Words of which two readings share one unless they are [`Verdict::Different`].
    pub(super) fn words(&self) -> Vec<&str> {
        match &self.sides {
            SideNames::Teams(teams) => teams.iter().map(|team| team.key.as_str()).collect(),
            SideNames::Players(players) => players.iter().flat_map(PlayerNames::words).collect(),
        }
    }
}

impl SideNames {
    fn is_empty(&self) -> bool {
        match self {
            Self::Teams(teams) => teams.iter().any(|team| team.key.is_empty()),
            Self::Players(players) => players.iter().any(PlayerNames::is_empty),
        }
    }

    /// The names alone.
    fn without_grades(&self) -> Self {
        match self.clone() {
            Self::Teams(teams) => Self::Teams(teams.map(TeamName::without_grade)),
            players @ Self::Players(_) => players,
        }
    }

    /// The better of the two orders, and the likeness of both sides in it.
    fn likeness(&self, other: &Self) -> (bool, Likeness) {
        let [straight, crossed] = [false, true].map(|swapped| both(self.each(other, swapped)));
        match (straight, crossed) {
            (Likeness::Same, _) | (_, Likeness::Other) => (false, straight),
            (_, Likeness::Same) | (Likeness::Other, _) => (true, crossed),
            (Likeness::Near(one), Likeness::Near(other)) if other > one => (true, crossed),
            _ => (false, straight),
        }
    }

    fn each(&self, other: &Self, swapped: bool) -> Pair<Likeness> {
        let with = |at: usize| if swapped { 1 - at } else { at };
        match (self, other) {
            (Self::Teams(one), Self::Teams(other)) => {
                [0, 1].map(|at| one[at].likeness(&other[with(at)]))
            }
            (Self::Players(one), Self::Players(other)) => {
                [0, 1].map(|at| one[at].likeness(&other[with(at)]))
            }
            _ => [Likeness::Other; 2],
        }
    }
}

/// At least one side has to be exactly the same.
fn both(sides: Pair<Likeness>) -> Likeness {
    match sides {
        [Likeness::Same, other] | [other, Likeness::Same] => other,
        _ => Likeness::Other,
    }
}

/// Combines the grade of each team with those of the competition and of the other side.
fn graded(teams: Pair<TeamName>, competition: Grade) -> Pair<TeamName> {
    let of_sides = teams[0].grade.of_match().within(teams[1].grade.of_match());
    teams.map(|team| team.within(competition.within(of_sides)))
}

/// The players, and what their names and the competition's say of the game: simulated ones are marked behind their names.
fn players(names: Pair<&str>, competition: Grade) -> (SideNames, Grade) {
    let mut game = competition;
    let names = names.map(|name| {
        let mut words: Vec<_> = name.split_whitespace().collect();
        words.pop_if(|word| word.eq_ignore_ascii_case("srl")).map_or_else(
            || PlayerNames::read(name),
            |_| {
                game = game.within(Grade::SIMULATED);
                PlayerNames::read(&words.join(" "))
            },
        )
    });
    (SideNames::Players(names), game)
}

/// A placeholder for a side that is not known yet; many matches of a day have the same one.
fn is_placeholder(name: &str) -> bool {
    let words = names::words(name);
    let stands = |word: &str| {
        matches!(
            word,
            "tbd" | "tba" | "tbc" | "winner" | "loser" | "qualifier" | "bye" | "determined"
        )
    };
    words.iter().any(|word| stands(word))
        || matches!(words.join(" ").as_str(), "home" | "away" | "unknown" | "player 1" | "player 2")
}
