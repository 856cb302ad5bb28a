//! One side's players: on the pitch, on the bench, booked, sent off.

use crate::{dice::Dice, names};
use facts::event::{self, LineUpPlayer, Participant, PlayerPosition};

/// Substitutions that the laws allow a side, and the seconds of the match near which they are made
/// when no player is injured: half-time, and three breaks of the second half.
const SUBSTITUTIONS_MAX: usize = 5;
const BREAKS_S: [u32; 4] = [2_700, 3_600, 4_320, 4_920];

/// Formations, and how many of each role they need.
const FORMATIONS: [(&str, [i32; 4]); 5] = [
    ("4-4-2", [1, 4, 4, 2]),
    ("4-3-3", [1, 4, 3, 3]),
    ("3-5-2", [1, 3, 5, 2]),
    ("5-3-2", [1, 5, 3, 2]),
    ("3-4-3", [1, 3, 4, 3]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Keeper,
    Defender,
    Midfielder,
    Forward,
}

/// The part for which a player on the pitch is chosen.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlayerPart {
    Scorer,
    Passer,
    /// Of an own goal.
    Unlucky,
    Fouler,
    PenaltyTaker,
}

#[derive(Debug)]
struct SquadPlayer {
    who: Participant,
    /// On the shirt.
    number: u16,
    role: Role,
    booked: bool,
    came_on: bool,
}

#[derive(Debug)]
pub(super) struct LineUp {
    formation: &'static str,
    country: &'static str,
    on: Vec<SquadPlayer>,
    bench: Vec<SquadPlayer>,
    /// When substitutions are meant to be made, in seconds of the match, the last one first.
    intended_s: Vec<u32>,
}

impl LineUp {
    pub(super) fn new(team: &Participant, dice: &mut Dice) -> Self {
        let mut squad: Vec<_> = names::squad(team).into_iter().zip(0..).map(player).collect();
        dice.shuffle(&mut squad);
        let (formation, mut needed) =
            FORMATIONS[dice.between(0, FORMATIONS.len() as u32 - 1) as usize];
        let (mut on, bench): (Vec<_>, _) = squad.into_iter().partition(|player| {
            let open = &mut needed[player.role as usize];
            let starts = *open > 0;
            *open -= i32::from(starts);
            starts
        });
        on.sort_by_key(|player| (player.role, player.number));
        let country = names::country_of_team(team);
        Self { formation, country, on, bench, intended_s: intentions(dice) }
    }

    /// The line-up before the match. The captain is the outfield player with the lowest number.
    pub(super) fn fact(&self) -> event::LineUp {
        let field = self.on.iter().filter(|player| player.role != Role::Keeper);
        let captain = field.map(|player| player.number).min();
        let entry = |player: &SquadPlayer, starter: bool| LineUpPlayer {
            player: player.who.clone(),
            number: Some(player.number),
            position: Some(player.role.position()),
            country: Some(names::nationality(&player.who, self.country).into()),
            starter,
            captain: starter && Some(player.number) == captain,
        };
        let starters = self.on.iter().map(|player| entry(player, true));
        let players = starters.chain(self.bench.iter().map(|player| entry(player, false)));
        event::LineUp { formation: Some(self.formation.into()), players: players.collect() }
    }

    pub(super) fn on_the_pitch(&self) -> impl Iterator<Item = &Participant> {
        self.on.iter().map(|player| &player.who)
    }

    /// Anybody on the pitch.
    pub(super) fn anybody(&self, dice: &mut Dice) -> &Participant {
        &self.on[dice.between(0, self.on.len() as u32 - 1) as usize].who
    }

    /// The usual places of those on the pitch, in tenths of a percent: lines of a role, each spread
    /// over the width.
    pub(super) fn places(&self) -> impl Iterator<Item = (&Participant, (i32, i32))> {
        let of_role = |role: Role| self.on.iter().filter(move |player| player.role == role);
        let lines = [
            (Role::Keeper, 80),
            (Role::Defender, 320),
            (Role::Midfielder, 500),
            (Role::Forward, 680),
        ];
        lines.into_iter().flat_map(move |(role, x)| {
            let count = of_role(role).count() as i32;
            let y = move |index: i32| 1000 * (2 * index + 1) / (2 * count);
            of_role(role).zip(0..).map(move |(player, index)| (&player.who, (x, y(index))))
        })
    }

    /// `None` once the keeper was sent off.
    pub(super) fn keeper(&self) -> Option<&Participant> {
        self.on.iter().find(|player| player.role == Role::Keeper).map(|player| &player.who)
    }

    /// A player on the pitch for a part; `but` is a player who has another part in it.
    pub(super) fn find(
        &self,
        part: PlayerPart,
        but: Option<&Participant>,
        dice: &mut Dice,
    ) -> usize {
        let weight = |player: &SquadPlayer| {
            if Some(&player.who) == but { 0.0 } else { weight(part, player) }
        };
        dice.weighted(self.on.iter().map(weight))
    }

    pub(super) fn who(&self, index: usize) -> Participant {
        self.on[index].who.clone()
    }

    /// Books a player; true when it was the second time, and the player is gone.
    pub(super) fn book(&mut self, index: usize) -> bool {
        let again = std::mem::replace(&mut self.on[index].booked, true);
        if again {
            self.send_off(index);
        }
        again
    }

    pub(super) fn send_off(&mut self, index: usize) {
        self.on.remove(index);
    }

    /// Makes a substitution that is due: who goes off and who comes on.
    pub(super) fn substitute(
        &mut self,
        second: u32,
        dice: &mut Dice,
    ) -> Option<(Participant, Participant)> {
        self.intended_s.pop_if(|due| *due <= second)?;
        let off = dice.weighted(self.on.iter().map(tired));
        let role = self.on[off].role;
        let like = self.bench.iter().position(|player| player.role == role);
        let on = like.or_else(|| self.bench.iter().position(|p| p.role != Role::Keeper))?;
        let coming = SquadPlayer { came_on: true, ..self.bench.remove(on) };
        let going = std::mem::replace(&mut self.on[off], coming);
        Some((going.who, self.who(off)))
    }
}

/// Squads list two keepers, then seven defenders, seven midfielders and four forwards.
fn player((who, number): (Participant, usize)) -> SquadPlayer {
    let role = match number {
        0..2 => Role::Keeper,
        2..9 => Role::Defender,
        9..16 => Role::Midfielder,
        _ => Role::Forward,
    };
    let shirt = number as u16 + 1;
    SquadPlayer { who, number: shirt, role, booked: false, came_on: false }
}

impl Role {
    fn position(self) -> PlayerPosition {
        match self {
            Self::Keeper => PlayerPosition::Goalkeeper,
            Self::Defender => PlayerPosition::Defender,
            Self::Midfielder => PlayerPosition::Midfielder,
            Self::Forward => PlayerPosition::Forward,
        }
    }
}

fn intentions(dice: &mut Dice) -> Vec<u32> {
    let count = dice.between(3, SUBSTITUTIONS_MAX as u32) as usize;
    let mut intended: Vec<u32> = (0..count)
        .map(|_| {
            let near_s = BREAKS_S[dice.weighted([0.12, 0.3, 0.33, 0.25].into_iter())];
            near_s + dice.between(0, 240)
        })
        .collect();
    // Occasionally a player is injured early.
    if dice.chance(0.12) {
        intended[0] = dice.between(400, 2_600);
    }
    intended.sort_unstable_by(|a, b| b.cmp(a));
    intended
}

fn weight(part: PlayerPart, player: &SquadPlayer) -> f64 {
    let [keeper, defender, midfielder, forward] = match part {
        PlayerPart::Scorer => [0.0, 0.5, 1.4, 3.6],
        PlayerPart::Passer => [0.1, 0.8, 2.0, 1.5],
        PlayerPart::Unlucky => [0.6, 2.0, 0.7, 0.2],
        // A booked player holds back.
        PlayerPart::Fouler if player.booked => [0.02, 0.4, 0.4, 0.25],
        PlayerPart::Fouler => [0.1, 1.3, 1.3, 0.9],
        PlayerPart::PenaltyTaker => [0.0, 0.2, 1.0, 3.0],
    };
    [keeper, defender, midfielder, forward][player.role as usize]
}

/// How likely a player is to go off: a substitute hardly ever does.
fn tired(player: &SquadPlayer) -> f64 {
    match player.role {
        _ if player.came_on => 0.02,
        Role::Keeper => 0.02,
        Role::Defender => 0.7,
        Role::Midfielder => 1.5,
        Role::Forward => 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleven_start_and_the_rest_sit_on_the_bench() {
        let line_up = LineUp::new(&names::team(1, 2), &mut Dice::new(4, 1));
        assert_eq!((line_up.on.len(), line_up.bench.len()), (11, 9));
        assert_eq!(line_up.on.iter().filter(|p| p.role == Role::Keeper).count(), 1);
        let entry = line_up.fact();
        assert!(entry.players.iter().take(11).all(|player| player.starter));
        assert_eq!(entry.players.iter().filter(|player| player.captain).count(), 1);
        assert_eq!(entry.players.len(), 20);
    }

    #[test]
    fn second_booking_sends_off() {
        let mut line_up = LineUp::new(&names::team(1, 2), &mut Dice::new(4, 1));
        let who = line_up.who(3);
        assert!(!line_up.book(3));
        assert!(line_up.book(3));
        assert!(line_up.on.iter().all(|player| player.who != who));
    }
}
