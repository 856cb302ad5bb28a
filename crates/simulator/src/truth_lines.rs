//! The truth of a day as lines of JSON: one for each match, then one with totals.

use std::{collections::BTreeMap, io};

use serde_json::{Value, json};

use facts::event::{PlayKind, Sport, TennisStatus};

use super::{
    lines::{football_side, name, number, present, race, sets},
    truth::{
        Card, Colour, Ending, FootballTruth, Goal, MatchTruth, Minute, OverturnedGoal,
        PenaltyMissed, ScoreboardTruth, SettledMarket, Substitution, TennisTruth, Truth,
    },
};

pub(super) fn write(truth: &Truth, out: &mut impl io::Write) -> io::Result<()> {
    for game in &truth.matches {
        writeln!(out, "{}", line(game))?;
    }
    writeln!(out, "{}", totals(truth))
}

fn line(game: &MatchTruth) -> Value {
    let ending = match &game.ending {
        Ending::Football(truth) => football(truth),
        Ending::Tennis(truth) => tennis(truth),
        Ending::Scoreboard(truth) => scoreboard(truth),
        Ending::Race(truth) => race(&truth.runners, truth.status),
    };
    present(json!({
        "competition": &*game.competition.name,
        "ending": ending,
        "id": game.id.0,
        "markets": game.markets.iter().map(settled).collect::<Vec<_>>(),
        "sides": game.sides.as_ref().map(|sides| sides.each_ref().map(name)),
        "sport": game.sport.as_str(),
        "start": game.start,
    }))
}

/// `["over_under_2.5","over"]`; the id alone of a market that was void.
fn settled(market: &SettledMarket) -> Value {
    let winners = market.winners.iter().map(|winner| &**winner);
    std::iter::once(&*market.market).chain(winners).collect()
}

fn scoreboard(truth: &ScoreboardTruth) -> Value {
    present(json!({
        "periods": truth.periods,
        "score": truth.score,
        "status": truth.status.as_str(),
        "winner": truth.winner.map(number),
    }))
}

fn football(truth: &FootballTruth) -> Value {
    json!({
        "cards": truth.cards.iter().map(card).collect::<Vec<_>>(),
        "goals": truth.goals.iter().map(goal).collect::<Vec<_>>(),
        "half_time": truth.half_time,
        "overturned": truth.overturned.iter().map(overturned).collect::<Vec<_>>(),
        "penalties_missed": truth.penalties_missed.iter().map(missed).collect::<Vec<_>>(),
        "red_cards": truth.red_cards(),
        "score": truth.score,
        "status": truth.status.as_str(),
        "substitutions": truth.substitutions.iter().map(substitution).collect::<Vec<_>>(),
    })
}

fn goal(goal: &Goal) -> Value {
    let Minute { minute, added } = goal.at;
    present(json!({
        "added": added,
        "assist": goal.assist.as_ref().map(name),
        "eid": &*goal.eid,
        "kind": goal.kind.as_str(),
        "minute": minute,
        "score": goal.score,
        "scorer": name(&goal.scorer),
        "side": football_side(goal.side),
    }))
}

fn overturned(overturned: &OverturnedGoal) -> Value {
    json!({ "goal": goal(&overturned.goal), "why": overturned.why })
}

fn card(card: &Card) -> Value {
    let colour = match card.colour {
        Colour::Yellow => "yellow",
        Colour::SecondYellow => "second_yellow",
        Colour::Red => "red",
    };
    let Minute { minute, added } = card.at;
    present(json!({
        "added": added,
        "colour": colour,
        "eid": &*card.eid,
        "minute": minute,
        "player": name(&card.player),
        "side": football_side(card.side),
    }))
}

fn missed(miss: &PenaltyMissed) -> Value {
    let Minute { minute, added } = miss.at;
    present(json!({
        "added": added,
        "eid": &*miss.eid,
        "minute": minute,
        "player": name(&miss.player),
        "side": football_side(miss.side),
    }))
}

fn substitution(change: &Substitution) -> Value {
    let Minute { minute, added } = change.at;
    present(json!({
        "added": added,
        "eid": &*change.eid,
        "minute": minute,
        "off": name(&change.off),
        "on": name(&change.on),
        "side": football_side(change.side),
    }))
}

fn tennis(truth: &TennisTruth) -> Value {
    present(json!({
        "points": truth.points,
        "retracted": truth.retracted.iter().map(|eid| &**eid).collect::<Vec<_>>(),
        "serve": truth.serve,
        "sets": sets(&truth.sets),
        "status": truth.status.as_str(),
        "winner": truth.winner.map(number),
    }))
}

fn totals(truth: &Truth) -> Value {
    let (mut football, mut tennis) = (Vec::new(), Vec::new());
    for game in &truth.matches {
        match &game.ending {
            Ending::Football(truth) => football.push(truth),
            Ending::Tennis(truth) => tennis.push(truth),
            Ending::Scoreboard(_) | Ending::Race(_) => {}
        }
    }
    let count = |sport| truth.matches.iter().filter(|game| game.sport == sport).count();
    let totals = |sport: Sport| match sport.play() {
        PlayKind::Football => Some(football_totals(&football)),
        PlayKind::Tennis => Some(tennis_totals(&tennis)),
        PlayKind::Scoreboard => Some(json!({ "matches": count(sport) })),
        PlayKind::Race => Some(json!({ "races": count(sport) })),
        PlayKind::None => None,
    };
    let totals = Sport::ALL.into_iter().filter_map(|it| Some((it.as_str(), totals(it)?)));
    json!({ "totals": totals.collect::<BTreeMap<_, _>>() })
}

fn football_totals(matches: &[&FootballTruth]) -> Value {
    let sum = |count: fn(&FootballTruth) -> usize| matches.iter().map(|m| count(m)).sum::<usize>();
    json!({
        "cards": sum(|m| m.cards.len()),
        "goals": sum(|m| m.goals.len()),
        "matches": matches.len(),
        "overturned": sum(|m| m.overturned.len()),
        "penalties_missed": sum(|m| m.penalties_missed.len()),
        "red_cards": sum(|m| m.red_cards().iter().sum()),
        "substitutions": sum(|m| m.substitutions.len()),
    })
}

fn tennis_totals(matches: &[&TennisTruth]) -> Value {
    let sum = |count: fn(&TennisTruth) -> usize| matches.iter().map(|m| count(m)).sum::<usize>();
    let ended = |status| matches.iter().filter(|m| m.status == status).count();
    json!({
        "matches": matches.len(),
        "points": sum(|m| m.points as usize),
        "retired": ended(TennisStatus::Retired),
        "retracted": sum(|m| m.retracted.len()),
        "sets": sum(|m| m.sets.len()),
        "tie_breaks": sum(TennisTruth::tie_breaks),
        "walkovers": ended(TennisStatus::Walkover),
    })
}
