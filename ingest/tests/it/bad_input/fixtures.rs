//! Small handwritten recordings.

use std::io::Write;

use bzip2::write::BzEncoder;
use facts::{
    event::{GameScore, Side, TennisScore},
    tennis::MatchFormat,
};
use flate2::write::GzEncoder;

pub(crate) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One message of a Betfair stream: an image of a market with two runners.
pub(crate) fn market(pt: u64) -> String {
    format!(
        r#"{{"op":"mcm","clk":"a","pt":{pt},"mc":[{{"id":"1.5","img":true,"marketDefinition":{{"status":"OPEN","inPlay":false,"betDelay":0,"version":1,"eventId":"77","eventTypeId":"2","marketType":"MATCH_ODDS","bettingType":"ODDS","marketTime":"2024-01-20T09:00:00.000Z","numberOfActiveRunners":2,"runners":[{{"id":1,"sortPriority":1,"status":"ACTIVE"}},{{"id":2,"sortPriority":2,"status":"ACTIVE"}}]}},"rc":[{{"id":1,"ltp":1.5}}]}}]}}"#
    )
}

/// This many messages, each on its line.
pub(crate) fn stream(messages: u64) -> String {
    (1..=messages).map(|pt| market(pt) + "\n").collect()
}

/// An event of a Wyscout match between teams 7 and 8, with 7 at home.
pub(crate) fn event(
    id: u64,
    period: &str,
    second: f64,
    team: u64,
    name: (&str, &str),
    tags: &[u16],
) -> String {
    let tags: Vec<_> = tags.iter().map(|tag| format!(r#"{{"id":{tag}}}"#)).collect();
    format!(
        r#"{{"id":{id},"matchId":5,"matchPeriod":"{period}","eventSec":{second},"teamId":{team},"playerId":{team}1,"eventName":"{}","subEventName":"{}","subEventId":"","positions":[{{"x":60,"y":40}}],"tags":[{}]}}"#,
        name.0,
        name.1,
        tags.join(",")
    )
}

/// A goal for each side, an own goal that gives the home side the lead, and a missed penalty.
pub(crate) fn match_events() -> Vec<String> {
    let (pass, shot) = (("Pass", "Simple pass"), ("Shot", "Shot"));
    vec![
        event(1, "1H", 1.0, 7, pass, &[1801]),
        event(2, "1H", 600.5, 7, pass, &[301, 1801]),
        event(3, "1H", 602.0, 7, shot, &[101, 1801]),
        event(4, "1H", 603.0, 8, ("Save attempt", "Reflexes"), &[101, 1802]),
        event(5, "1H", 2790.0, 8, shot, &[101, 1801]),
        event(6, "2H", 30.0, 8, ("Others on the ball", "Clearance"), &[102]),
        event(7, "2H", 500.0, 7, ("Foul", "Foul"), &[1702]),
        event(8, "2H", 520.0, 8, ("Free Kick", "Penalty"), &[1203, 1802]),
        event(9, "2H", 2800.0, 8, ("Offside", ""), &[]),
    ]
}

pub(crate) fn document(events: &[String]) -> String {
    format!(
        r#"{{"events":[{}],"teams":{{"7":{{"team":{{"name":"Caf\\u00e9 FC"}}}},"8":{{"team":{{"name":"Old Mill"}}}}}},"players":{{"7":[{{"player":{{"wyId":71,"shortName":"A. One"}}}}],"8":[{{"player":{{"wyId":"81","shortName":"B. Two"}}}}]}}}}"#,
        events.join(",")
    )
}

/// The record of the match, with a final score.
pub(crate) fn record(home: &str, away: &str) -> String {
    let team = |team: u64, side: &str, score: &str, substitutions: &str| {
        format!(
            r#""{team}":{{"teamId":{team},"side":"{side}","score":"{score}","scoreHT":1,"scoreP":"0","formation":{{"substitutions":{substitutions}}}}}"#
        )
    };
    let change = r#"[{"minute":"46","playerIn":72,"playerOut":71}]"#;
    let (home, away) = (team(7, "home", home, change), team(8, "away", away, r#""null""#));
    format!(
        r#"[{{"wyId":5,"competitionId":28,"dateutc":"2018-07-15 15:00:00","teamsData":{{{away},{home}}}}}]"#
    )
}

pub(crate) const HEADER: &str = "match_id,ElapsedTime,SetNo,P1GamesWon,P2GamesWon,SetWinner,\
    PointNumber,PointWinner,PointServer,P1Score,P2Score,P1Ace,P2Ace,P1DoubleFault,P2DoubleFault";

/// The rows of a match with the given points, `1` and `2`; player 1 serves first.
pub(crate) fn rows(match_id: &str, points: &str, format: MatchFormat) -> Vec<String> {
    let mut score = TennisScore::start(Side::First);
    let play = |point: char| {
        let winner = if point == '1' { Side::First } else { Side::Second };
        let before = score.clone();
        score.point(winner, format);
        row(match_id, point, &before, &score)
    };
    points.chars().map(play).collect()
}

fn row(match_id: &str, winner: char, before: &TennisScore, after: &TennisScore) -> String {
    let at = before.sets.len() - 1;
    let set = after.sets[at];
    let [first, second] = set.games;
    let set_winner = set.winner().map_or(0, |side| side.index() + 1);
    let server = before.server.unwrap().index() + 1;
    let [shown1, shown2] = shown(after.game);
    let number = after.points;
    let elapsed = format!("{}:{:02}:{:02}", number / 120, number / 2 % 60, number % 2 * 30);
    format!(
        "{match_id},{elapsed},{},{first},{second},{set_winner},{number},{winner},{server},\
         {shown1},{shown2},0,0,0,0",
        at + 1
    )
}

fn shown(game: GameScore) -> [String; 2] {
    match game {
        GameScore::TieBreak(points) => points.map(|points| points.to_string()),
        GameScore::Points(points) => {
            points.map(|points| ["0", "15", "30", "40", "AD"][usize::from(points)].to_owned())
        }
    }
}

pub(crate) fn csv(rows: &[String]) -> String {
    format!("{HEADER}\n{}\n", rows.join("\n"))
}

pub(crate) fn match_file(match_id: &str, status: &str, winner: &str) -> String {
    format!("match_id,player1,player2,status,winner\n{match_id},Ann,Bea,{status},{winner}\n")
}

/// A response of The Odds API with American prices.
pub(crate) fn answer() -> String {
    let market = |key: &str, outcomes: &str| {
        format!(r#"{{"key":"{key}","last_update":"2024-03-21T14:10:14Z","outcomes":[{outcomes}]}}"#)
    };
    let h2h = market("h2h", r#"{"name":"Ann","price":-110},{"name":"Bea","price":120}"#);
    let totals = market("totals", r#"{"name":"Over","price":100,"point":5.5}"#);
    format!(
        r#"[{{"id":"e1","sport_key":"icehockey_nhl","sport_title":"NHL","commence_time":"2024-03-21T23:00:00Z","home_team":"Ann","away_team":"Bea","bookmakers":[{{"key":"b","title":"B","markets":[{h2h}]}},{{"key":"c","title":"C","markets":[{totals}]}}]}}]"#
    )
}

/// A message of the Unified Odds Feed with two markets of two outcomes.
pub(crate) fn odds_change() -> String {
    let outcome = |id: u32, odds: &str| format!(r#"<outcome id="{id}" odds="{odds}"/>"#);
    let market = |attributes: &str, outcomes: [String; 2]| {
        format!("<market {attributes} status=\"1\">{}</market>", outcomes.concat())
    };
    let winner = market("id=\"186\"", [outcome(4, "1.5"), outcome(5, "2.5")]);
    let total = r#"id="204" specifiers="setnr=1|total=9.5""#;
    let total = market(total, [outcome(12, "1.8"), outcome(13, "1.9")]);
    let status = r#"<sport_event_status status="1" match_status="8" home_score="0" away_score="0"><period_scores><period_score number="1" home_score="3" away_score="2"/></period_scores></sport_event_status>"#;
    format!(
        r#"<odds_change event_id="sr:match:5" timestamp="1711030214000" product="1">{status}<odds>{winner}{total}</odds></odds_change>"#
    )
}

/// Two matches of a season with prices and closing prices.
pub(crate) fn season() -> String {
    let header =
        "Div,Date,Time,HomeTeam,AwayTeam,FTHG,FTAG,FTR,HS,AS,B365H,B365D,B365A,PSCH,PSCD,PSCA";
    let first = "E0,09/08/2019,20:00,Ann,Bea,4,1,H,15,12,1.5,4,6,1.45,4.2,7";
    let second = "E0,13/08/2019,15:00,Cid,Dan,0,0,D,5,2,3,3,2,2.9,3.3,2.1";
    format!("{header}\n{first}\n{second}\n")
}
