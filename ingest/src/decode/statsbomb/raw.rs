//! An event as it is written: objects named after types, and names in them.

use std::sync::Arc;

use facts::event::{BodyPart, ExpectedGoals, ShotSituation};

use super::{
    super::json,
    event::{
        self, Card, Goalkeeping, Kind, NamedEntity, Pass, SetPiece, ShotEnd, Starter,
        StatsBombShot, Tactics,
    },
};

json::lenient! {
    /// Every object that has an id and a name.
    pub(super) struct Raw {
        pub(super) id: Option<Arc<str>> as "json::key",
        pub(super) name: Option<Arc<str>> as "json::key",
    }

    pub(super) struct RawEvent {
        pub(super) id: Option<Arc<str>> as "json::key",
        pub(super) index: Option<u64> as "json::whole",
        pub(super) period: Option<u64> as "json::whole",
        pub(super) timestamp: Option<String> as "json::known_value",
        #[serde(rename = "type")]
        pub(super) kind: Option<Raw> as "json::known_value",
        pub(super) team: Option<Raw> as "json::known_value",
        pub(super) possession_team: Option<Raw> as "json::known_value",
        play_pattern: Option<Raw> as "json::known_value",
        pub(super) player: Option<Raw> as "json::known_value",
        pub(super) location: Vec<f64> as "json::floats",
        pub(super) related_events: Vec<String> as "json::known_all",
        pass: Option<RawPass> as "json::known_value",
        shot: Option<RawShot> as "json::known_value",
        foul_committed: Option<RawCard> as "json::known_value",
        bad_behaviour: Option<RawCard> as "json::known_value",
        substitution: Option<RawSubstitution> as "json::known_value",
        goalkeeper: Option<RawTyped> as "json::known_value",
        tactics: Option<RawTactics> as "json::known_value",
        dribble: Option<RawTyped> as "json::known_value",
        duel: Option<RawTyped> as "json::known_value",
        ball_recovery: Option<RawRecovery> as "json::known_value",
        clearance: Option<RawAerial> as "json::known_value",
        miscontrol: Option<RawAerial> as "json::known_value",
    }

    #[derive(Default)]
    struct RawTactics {
        formation: Option<Arc<str>> as "json::key",
        lineup: Vec<RawStarter> as "json::known_all",
    }

    struct RawStarter {
        player: Option<Raw> as "json::known_value",
        position: Option<Raw> as "json::known_value",
        jersey_number: Option<u64> as "json::whole",
    }

    #[derive(Default)]
    struct RawRecovery {
        recovery_failure: Option<bool> as "json::flag",
    }

    #[derive(Default)]
    struct RawAerial {
        aerial_won: Option<bool> as "json::flag",
    }

    #[derive(Default)]
    struct RawPass {
        #[serde(rename = "type")]
        kind: Option<Raw> as "json::known_value",
        outcome: Option<Raw> as "json::known_value",
        goal_assist: Option<bool> as "json::flag",
        shot_assist: Option<bool> as "json::flag",
        cross: Option<bool> as "json::flag",
        aerial_won: Option<bool> as "json::flag",
    }

    #[derive(Default)]
    struct RawShot {
        #[serde(rename = "type")]
        kind: Option<Raw> as "json::known_value",
        outcome: Option<Raw> as "json::known_value",
        key_pass_id: Option<Arc<str>> as "json::key",
        aerial_won: Option<bool> as "json::flag",
        body_part: Option<Raw> as "json::known_value",
        statsbomb_xg: Option<f64> as "json::float",
        end_location: Vec<f64> as "json::floats",
    }

    #[derive(Default)]
    struct RawCard {
        card: Option<Raw> as "json::known_value",
    }

    #[derive(Default)]
    struct RawSubstitution {
        replacement: Option<Raw> as "json::known_value",
    }

    #[derive(Default)]
    struct RawTyped {
        #[serde(rename = "type")]
        kind: Option<Raw> as "json::known_value",
        outcome: Option<Raw> as "json::known_value",
    }
}

impl Raw {
    pub(super) fn named(self) -> Option<NamedEntity> {
        Some(NamedEntity { id: self.id?, name: self.name? })
    }
}

fn name(raw: Option<&Raw>) -> &str {
    raw.and_then(|raw| raw.name.as_deref()).unwrap_or_default()
}

impl RawEvent {
    pub(super) fn kind(&self, name: &str) -> Kind {
        match name {
            "Starting XI" => {
                Kind::StartingXi(self.tactics.as_ref().map(RawTactics::read).unwrap_or_default())
            }
            "Half Start" => Kind::HalfStart,
            "Half End" => Kind::HalfEnd,
            "Pass" => Kind::Pass(self.pass.as_ref().map_or_else(Pass::default, RawPass::read)),
            "Shot" => Kind::Shot(self.shot()),
            "Own Goal For" => Kind::OwnGoalFor,
            "Own Goal Against" => Kind::OwnGoalAgainst,
            "Foul Committed" => Kind::Foul(self.foul_committed.as_ref().and_then(RawCard::read)),
            "Bad Behaviour" => {
                Kind::BadBehaviour(self.bad_behaviour.as_ref().and_then(RawCard::read))
            }
            "Substitution" => Kind::Substitution { replacement: self.replacement() },
            "Offside" => Kind::Offside,
            "Goal Keeper" => Kind::Goalkeeper(self.goalkeeping()),
            "Dribble" => Kind::Dribble { complete: Self::outcome_of(&self.dribble) == "Complete" },
            "Ball Recovery" => {
                let failed = self.ball_recovery.as_ref().and_then(|it| it.recovery_failure);
                Kind::Recovery { failed: failed == Some(true) }
            }
            "Carry" | "Ball Receipt*" => Kind::OnTheBall,
            "Clearance" => Kind::Clearance,
            "Interception" => Kind::Interception,
            "Duel" => self.duel(),
            "Dispossessed" => Kind::Dispossessed,
            "Foul Won" => Kind::FoulWon,
            _ => Kind::Other,
        }
    }

    /// Whether the player won the ball in the air with what the event is.
    pub(super) fn aerial_won(&self) -> bool {
        let flags = [
            self.pass.as_ref().and_then(|it| it.aerial_won),
            self.shot.as_ref().and_then(|it| it.aerial_won),
            self.clearance.as_ref().and_then(|it| it.aerial_won),
            self.miscontrol.as_ref().and_then(|it| it.aerial_won),
        ];
        flags.contains(&Some(true))
    }

    fn outcome_of(typed: &Option<RawTyped>) -> &str {
        name(typed.as_ref().and_then(|it| it.outcome.as_ref()))
    }

    fn duel(&self) -> Kind {
        match name(self.duel.as_ref().and_then(|it| it.kind.as_ref())) {
            "Aerial Lost" => Kind::AerialLost,
            "Tackle" => {
                let outcome = Self::outcome_of(&self.duel);
                Kind::Tackle { won: outcome == "Won" || outcome.starts_with("Success") }
            }
            _ => Kind::Other,
        }
    }

    fn shot(&self) -> StatsBombShot {
        let pattern = name(self.play_pattern.as_ref());
        self.shot.as_ref().map_or_else(StatsBombShot::default, |shot| shot.read(pattern))
    }

    fn replacement(&self) -> Option<NamedEntity> {
        let raw = self.substitution.as_ref()?.replacement.as_ref()?;
        Raw { id: raw.id.clone(), name: raw.name.clone() }.named()
    }

    fn goalkeeping(&self) -> Goalkeeping {
        let kind = name(self.goalkeeper.as_ref().and_then(|raw| raw.kind.as_ref()));
        // `Shot Saved`, `Penalty Saved`, `Shot Saved to Post`, ...; a ball that was to go wide is
        // none of the saves that a table counts.
        Goalkeeping {
            save: kind.contains("Saved") && !kind.contains("Off"),
            conceded: matches!(kind, "Goal Conceded" | "Penalty Conceded"),
        }
    }
}

impl RawTactics {
    fn read(&self) -> Tactics {
        let copy = |raw: &Raw| Raw { id: raw.id.clone(), name: raw.name.clone() };
        let starter = |raw: &RawStarter| {
            Some(Starter {
                player: copy(raw.player.as_ref()?).named()?,
                number: raw.jersey_number.and_then(|number| u16::try_from(number).ok()),
                position: raw.position.as_ref().and_then(|position| position.name.clone()),
            })
        };
        let players = self.lineup.iter().take(STARTERS_MAX).filter_map(starter).collect();
        Tactics { formation: self.formation.clone(), players }
    }
}

/// The height of a crossbar: 8 feet. The provider measures in yards.
const CROSSBAR_YARDS: f64 = 8.0 / 3.0;

/// Eleven start; a list of more is none.
const STARTERS_MAX: usize = 11;

impl RawPass {
    /// A pass that arrives has no outcome.
    fn read(&self) -> Pass {
        let set_piece = match name(self.kind.as_ref()) {
            "Corner" => Some(SetPiece::Corner),
            "Free Kick" => Some(SetPiece::FreeKick),
            "Goal Kick" => Some(SetPiece::GoalKick),
            "Throw-in" => Some(SetPiece::ThrowIn),
            _ => None,
        };
        Pass {
            set_piece,
            complete: self.outcome.is_none(),
            offside: name(self.outcome.as_ref()) == "Pass Offside",
            assist: self.goal_assist == Some(true),
            key: self.goal_assist == Some(true) || self.shot_assist == Some(true),
            cross: self.cross == Some(true),
            interception: name(self.kind.as_ref()) == "Interception",
        }
    }
}

impl RawShot {
    /// `pattern` is how the possession began that the shot is of.
    fn read(&self, pattern: &str) -> StatsBombShot {
        let outcome = name(self.outcome.as_ref());
        StatsBombShot {
            goal: outcome == "Goal",
            saved: matches!(outcome, "Saved" | "Saved to Post" | "Saved To Post"),
            blocked: outcome == "Blocked",
            post: outcome == "Post",
            penalty: name(self.kind.as_ref()) == "Penalty",
            key_pass: self.key_pass_id.clone(),
            situation: self.situation(pattern),
            body_part: match name(self.body_part.as_ref()) {
                "Right Foot" => Some(BodyPart::RightFoot),
                "Left Foot" => Some(BodyPart::LeftFoot),
                "Head" => Some(BodyPart::Head),
                "Other" => Some(BodyPart::Other),
                _ => None,
            },
            expected_goals: self.statsbomb_xg.and_then(ExpectedGoals::from_goals),
            end: self.end(),
        }
    }

    fn situation(&self, pattern: &str) -> ShotSituation {
        match (name(self.kind.as_ref()), pattern) {
            ("Penalty", _) => ShotSituation::Penalty,
            ("Free Kick", _) => ShotSituation::FreeKick,
            ("Corner", _) | (_, "From Corner") => ShotSituation::Corner,
            (_, "From Free Kick") => ShotSituation::SetPiece,
            (_, "From Throw In") => ShotSituation::ThrowIn,
            (_, "From Counter") => ShotSituation::FastBreak,
            _ if self.key_pass_id.is_some() => ShotSituation::Assisted,
            _ => ShotSituation::Regular,
        }
    }

    fn end(&self) -> Option<ShotEnd> {
        let location = event::position(&self.end_location)?;
        let tenths = |yards: f64| (yards / CROSSBAR_YARDS * 1000.0).round().clamp(0.0, 9_999.0);
        let height = self.end_location.get(2).map(|yards| tenths(*yards) as u16);
        Some(ShotEnd { location, height })
    }
}

impl RawCard {
    fn read(&self) -> Option<Card> {
        Some(match name(self.card.as_ref()) {
            "Yellow Card" => Card::Yellow,
            "Second Yellow" => Card::SecondYellow,
            "Red Card" => Card::Red,
            _ => return None,
        })
    }
}
