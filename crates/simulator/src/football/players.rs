//! The statistics of each player, and which of them have not been reported yet.

use std::collections::{BTreeMap, BTreeSet};

use facts::event::{FootballFact, Pair, Participant, PlayerRating, PlayerStat, Side};

/// Minutes of the match between two reports.
const EVERY_MIN: u16 = 5;

#[derive(Debug, Default)]
pub(super) struct Players {
    tallies: Pair<Vec<PlayerTally>>,
    due_min: u16,
}

#[derive(Debug)]
struct PlayerTally {
    who: Participant,
    counts: BTreeMap<PlayerStat, u32>,
    changed: BTreeSet<PlayerStat>,
    /// The minute in which the player came on, while on the pitch.
    on: Option<u16>,
}

impl Players {
    pub(super) fn come_on(&mut self, side: Side, who: &Participant, minute: u16) {
        let (counts, changed) = Default::default();
        let player = PlayerTally { who: who.clone(), counts, changed, on: Some(minute) };
        self.tallies[side.index()].push(player);
    }

    pub(super) fn go_off(&mut self, side: Side, who: &Participant, minute: u16) {
        if let Some(player) = self.player(side, who) {
            player.note_minutes(minute);
            player.on = None;
        }
    }

    pub(super) fn count(&mut self, side: Side, who: &Participant, stat: PlayerStat) {
        if let Some(player) = self.player(side, who) {
            *player.counts.entry(stat).or_default() += 1;
            player.changed.insert(stat);
        }
    }

    /// It did not count after all.
    pub(super) fn take_back(&mut self, side: Side, who: &Participant, stat: PlayerStat) {
        if let Some(player) = self.player(side, who) {
            let count = player.counts.entry(stat).or_default();
            *count = count.saturating_sub(1);
            player.changed.insert(stat);
        }
    }

    /// The changes since the last report, if one is due; `last`: even if none is due.
    pub(super) fn take_facts(&mut self, minute: u16, last: bool) -> Vec<FootballFact> {
        if !last && minute < self.due_min {
            return Vec::new();
        }
        self.due_min = minute + EVERY_MIN;
        let mut facts = Vec::new();
        for (side, players) in Side::BOTH.into_iter().zip(&mut self.tallies) {
            for player in players {
                player.note_minutes(minute);
                let changed = std::mem::take(&mut player.changed);
                let values: Vec<_> =
                    changed.into_iter().map(|stat| (stat, player.counts[&stat])).collect();
                if !values.is_empty() {
                    let player = player.who.clone();
                    facts.push(FootballFact::PlayerStats { side, player, values });
                }
            }
        }
        facts
    }

    /// How well those of a side have played who were on the pitch, by what they have done.
    pub(super) fn ratings(&self, side: Side) -> Vec<PlayerRating> {
        let rated = |it: &PlayerTally| PlayerRating { player: it.who.clone(), rating: it.rating() };
        self.tallies[side.index()].iter().map(rated).collect()
    }

    fn player(&mut self, side: Side, who: &Participant) -> Option<&mut PlayerTally> {
        self.tallies[side.index()].iter_mut().find(|player| player.who.id == who.id)
    }
}

/// What each deed is worth, in hundredths of a rating.
const WORTH: [(PlayerStat, i64); 9] = [
    (PlayerStat::Goals, 100),
    (PlayerStat::Assists, 70),
    (PlayerStat::ShotsOnTarget, 15),
    (PlayerStat::Saves, 25),
    (PlayerStat::AccuratePasses, 2),
    (PlayerStat::Fouls, -8),
    (PlayerStat::YellowCards, -30),
    (PlayerStat::RedCards, -150),
    (PlayerStat::GoalsConceded, -30),
];

/// Before anything was done.
const RATING_BASE: i64 = 620;

impl PlayerTally {
    fn rating(&self) -> u16 {
        let count = |stat: &PlayerStat| self.counts.get(stat).copied().unwrap_or(0);
        let deeds: i64 = WORTH.iter().map(|(stat, worth)| worth * i64::from(count(stat))).sum();
        (RATING_BASE + deeds).clamp(300, 1_000) as u16
    }

    fn note_minutes(&mut self, minute: u16) {
        let Some(on) = self.on else { return };
        let minutes = u32::from(minute.saturating_sub(on));
        if self.counts.insert(PlayerStat::MinutesPlayed, minutes) != Some(minutes) {
            self.changed.insert(PlayerStat::MinutesPlayed);
        }
    }
}
