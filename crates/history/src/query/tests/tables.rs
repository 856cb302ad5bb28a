//! Final tables of seasons as their competitions published them.
//!
//! The files beside this one have all results of a season, in order: Scotland and Spain as in the public files of
//! football-data.co.uk, Brazil as in openfootball. The seasons of England are in `../shared`, or are sums of each team.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{
    config::{CompetitionConfig, Deduction},
    query::{
        Competitions, FootballTables, Ranking, Regulations, SplitPoints, StandingsRow, TableRule,
        Tally, football_tables, regulations::is_named,
    },
};
use record::{Key, MatchSummary, Status, testing::result};

type Game = (String, [u32; 2], String);

fn games(text: &str) -> Vec<Game> {
    let game = |text: &str| {
        let dash = text.find(|it: char| it.is_ascii_digit()).expect("a score");
        let (score, away) = text[dash..].split_once(' ').expect("an away team");
        let (scored, conceded) = score.split_once('-').expect("two numbers");
        let score = [scored, conceded].map(|goals| goals.parse().expect("a number"));
        (text[..dash].trim().to_owned(), score, away.to_owned())
    };
    text.lines().flat_map(|line| line.split(", ")).map(game).collect()
}

/// The teams by their ids, and the matches.
fn season(games: &[Game]) -> (Vec<&str>, Vec<MatchSummary>) {
    let teams: BTreeSet<&str> =
        games.iter().flat_map(|(home, _, away)| [&**home, &**away]).collect();
    let teams: Vec<_> = teams.into_iter().collect();
    let id = |name: &str| teams.iter().position(|team| *team == name).expect("a team") as Key;
    let matches = (1..)
        .zip(games)
        .map(|(number, (home, score, away))| result(number, [id(home), id(away)], *score));
    let matches = matches.collect();
    (teams, matches)
}

fn tables(games: &[Game], regulations: Regulations) -> FootballTables {
    let (teams, matches) = season(games);
    football_tables(&matches, true, regulations, |team| teams[team as usize].to_owned())
}

fn built_in(country: &str, competition: &str, season: &str) -> Regulations {
    Competitions::default().regulations(country, competition, season, None)
}

#[track_caller]
fn check(games: &[Game], regulations: Regulations, expected: &str) {
    let (teams, _) = season(games);
    let rows = tables(games, regulations).ungrouped;
    let found = rows.iter().map(|row| format!("{} {}", teams[row.team as usize], row.points));
    assert_eq!(found.collect::<Vec<_>>().join(", "), expected);
}

#[test]
fn direct_matches_decide_in_spain() {
    let games = games(include_str!("spain_2006.txt"));
    assert_eq!(built_in("Spain", "La Liga", "2006/07"), built_in("", "LaLiga", "2006/07"));
    let official = "Real Madrid 76, Barcelona 76, Sevilla 71, Valencia 66, Villarreal 62, Zaragoza 60, \
                    Atletico 60, Recreativo 54, Getafe 52, Santander 50, Espanyol 49, Mallorca 49, Coruna 47, \
                    Osasuna 46, Levante 42, Betis 40, Athletic 40, Celta 39, Sociedad 35, Gimnastic 28";
    check(&games, built_in("Spain", "La Liga", "2006/07"), official);
    // Before the second half of the season nobody has met twice: the goal difference decides.
    let half: Vec<_> = games[..170].to_vec();
    let direct = tables(&half, built_in("Spain", "La Liga", "2006/07")).ungrouped;
    assert_eq!(direct, tables(&half, Regulations::default()).ungrouped);
}

#[test]
fn wins_decide_in_brazil() {
    let games = games(include_str!("brazil_2019.txt"));
    let official = "Flamengo 90, Santos 74, Palmeiras 74, Gremio 65, Athletico 64, Sao Paulo 63, \
                    Internacional 57, Corinthians 56, Fortaleza 53, Goias 52, Bahia 49, Vasco 49, Atletico 48, \
                    Fluminense 46, Botafogo 43, Ceara 39, Cruzeiro 36, CSA 32, Chapecoense 32, Avai 20";
    check(&games, built_in("Brazil", "Serie A", "2019"), official);
    check(&games, built_in("Brazil", "Brazil Serie A", "2019"), official);
}

#[test]
fn no_team_leaves_its_part_in_scotland() {
    let games = games(include_str!("scotland_2018.txt"));
    let rules = || built_in("Scotland", "Premiership", "2018/19");
    assert_eq!(rules(), built_in("Scotland", "Scottish Premiership", "2018/19"));
    let official = "Celtic 87, Rangers 78, Kilmarnock 67, Aberdeen 67, Hibernian 54, Hearts 51, \
                    St Johnstone 52, Motherwell 51, Livingston 44, Hamilton 33, St Mirren 32, Dundee 21";
    check(&games, rules(), official);
    // Before the split the table is one.
    let before = &games[..190];
    let (split, whole) = (tables(before, rules()), tables(before, Regulations::default()));
    assert_eq!(split.ungrouped, whole.ungrouped);
}

/// Two rounds, the split, and one round within each part.
const SPLIT: &str = "A 1-0 C, B 1-0 D, A 1-0 D, B 0-0 C, B 1-0 A, D 3-0 C";

#[test]
fn points_are_halved_at_the_split() {
    use SplitPoints::{All, HalfDown, HalfUp};
    let games = games(SPLIT);
    let rules = |ranking, split_top, split_second, split_points| {
        let (split_after, default) = (2, TableRule::default());
        let rule =
            TableRule { ranking, split_after, split_top, split_second, split_points, ..default };
        Regulations { rule, ..Regulations::default() }
    };
    for (ranking, top, second, points, expected) in [
        (Ranking::Split, 2, 0, All, "B 7, A 6, D 3, C 1"),
        (Ranking::Split, 2, 0, HalfUp, "B 5, A 3, D 3, C 1"),
        (Ranking::Split, 2, 0, HalfDown, "B 5, A 3, D 3, C 0"),
        (Ranking::WinsFirst, 2, 0, HalfUp, "B 5, A 3, D 3, C 1"),
        // Nobody leaves the part of one team, and the third part keeps its points.
        (Ranking::Split, 1, 1, HalfDown, "A 3, B 5, D 3, C 1"),
        (Ranking::GoalDifference, 2, 0, All, "B 7, A 6, D 3, C 1"),
    ] {
        check(&games, rules(ranking, top, second, points), expected);
    }
    let before = "A 6, B 3, C 0, D 0";
    check(&games[..3], rules(Ranking::Split, 2, 0, HalfUp), before);
    for (country, name, season, split) in [
        ("Belgium", "Jupiler Pro League", "2019/20", (33, 6, 0, All)),
        ("Belgium", "Jupiler Pro League", "2022/23", (34, 4, 4, HalfUp)),
        ("Belgium", "Jupiler Pro League", "2023/24", (30, 6, 6, HalfUp)),
        ("Austria", "Bundesliga", "2023/24", (22, 6, 0, HalfDown)),
        ("Austria", "Bundesliga", "2017/18", (33, 6, 0, All)),
        ("Germany", "Bundesliga", "2023/24", (33, 6, 0, All)),
        ("Romania", "Liga I", "2019/20", (26, 6, 0, HalfUp)),
        ("Romania", "Liga I", "2023/24", (30, 6, 0, HalfUp)),
        ("Poland", "Ekstraklasa", "2015/16", (30, 8, 0, HalfUp)),
        ("Poland", "Ekstraklasa", "2018/19", (30, 8, 0, All)),
        ("Czech Republic", "Czech Liga", "2022/23", (30, 6, 4, All)),
        ("Scotland", "Premiership", "2018/19", (33, 6, 0, All)),
    ] {
        let TableRule { split_after, split_top, split_second, split_points, .. } =
            built_in(country, name, season).rule;
        let found = (split_after, split_top, split_second, split_points);
        assert_eq!(found, split, "{country} {name} {season}");
    }
    let configuration =
        CompetitionConfig { rule: Some(Ranking::GoalDifference), ..CompetitionConfig::default() };
    let configured = Competitions::new([("Austria/Bundesliga".to_owned(), configuration)].into());
    let rule = configured.regulations("Austria", "Bundesliga", "2023/24", None).rule;
    assert_eq!((rule.ranking, rule.split_points), (Ranking::GoalDifference, All));
}

/// Sums of each team, in the official order: won, drawn, lost, goals for and against, points.
type Line = (&'static str, [u32; 5], i64);

#[track_caller]
fn check_sums(lines: &[Line], deducted: (&str, u32)) {
    let row = |(team, (name, sums, _)): (Key, &Line)| {
        let [won, drawn, lost, scored, conceded] = *sums;
        let played = won + drawn + lost;
        let total = Tally { played, won, drawn, lost, scored, conceded, ..Tally::default() };
        let deducted = if *name == deducted.0 { deducted.1 } else { 0 };
        StandingsRow { team, total, deducted, ..StandingsRow::default() }
    };
    let mut rows: Vec<_> = (0..).zip(lines).map(row).collect();
    rows.reverse();
    let TableRule { ranking, .. } = built_in("England", "Championship", "2019/20").rule;
    assert_eq!(ranking, Ranking::GoalDifference);
    TableRule::default().rank(&mut rows, &[], 2, |team| lines[team as usize].0.to_owned());
    let found: Vec<_> = rows.iter().map(|row| (lines[row.team as usize].0, row.points)).collect();
    let expected: Vec<_> = lines.iter().map(|(name, _, points)| (*name, *points)).collect();
    assert_eq!(found, expected);
}

#[test]
fn deductions_of_england_move_teams() {
    // Premier League 2009/10.
    let premier_league = [
        ("Chelsea", [27, 5, 6, 103, 32], 86),
        ("Man United", [27, 4, 7, 86, 28], 85),
        ("Arsenal", [23, 6, 9, 83, 41], 75),
        ("Tottenham", [21, 7, 10, 67, 41], 70),
        ("Man City", [18, 13, 7, 73, 45], 67),
        ("Aston Villa", [17, 13, 8, 52, 39], 64),
        ("Liverpool", [18, 9, 11, 61, 35], 63),
        ("Everton", [16, 13, 9, 60, 49], 61),
        ("Birmingham", [13, 11, 14, 38, 47], 50),
        ("Blackburn", [13, 11, 14, 41, 55], 50),
        ("Stoke", [11, 14, 13, 34, 48], 47),
        ("Fulham", [12, 10, 16, 39, 46], 46),
        ("Sunderland", [11, 11, 16, 48, 56], 44),
        ("Bolton", [10, 9, 19, 42, 67], 39),
        ("Wolves", [9, 11, 18, 32, 56], 38),
        ("Wigan", [9, 9, 20, 37, 79], 36),
        ("West Ham", [8, 11, 19, 47, 66], 35),
        ("Burnley", [8, 6, 24, 42, 82], 30),
        ("Hull", [6, 12, 20, 34, 75], 30),
        ("Portsmouth", [7, 7, 24, 34, 66], 19),
    ];
    check_sums(&premier_league, ("Portsmouth", 9));
    // Championship 2018/19.
    let before = [
        ("Norwich", [27, 13, 6, 93, 57], 94),
        ("Sheffield United", [26, 11, 9, 78, 41], 89),
        ("Leeds", [25, 8, 13, 73, 50], 83),
        ("West Brom", [23, 11, 12, 87, 62], 80),
        ("Aston Villa", [20, 16, 10, 82, 61], 76),
        ("Derby", [20, 14, 12, 69, 54], 74),
        ("Middlesbrough", [20, 13, 13, 49, 41], 73),
        ("Bristol City", [19, 13, 14, 59, 53], 70),
        ("Nott'm Forest", [17, 15, 14, 61, 54], 66),
        ("Swansea", [18, 11, 17, 65, 62], 65),
        ("Brentford", [17, 13, 16, 73, 59], 64),
        ("Sheffield Weds", [16, 16, 14, 60, 62], 64),
        ("Hull", [17, 11, 18, 66, 68], 62),
        ("Preston", [16, 13, 17, 67, 67], 61),
        ("Blackburn", [16, 12, 18, 64, 69], 60),
        ("Stoke", [11, 22, 13, 45, 52], 55),
        ("Birmingham", [14, 19, 13, 64, 58], 52),
        ("Wigan", [13, 13, 20, 51, 64], 52),
        ("QPR", [14, 9, 23, 53, 71], 51),
        ("Reading", [10, 17, 19, 49, 66], 47),
        ("Millwall", [10, 14, 22, 48, 64], 44),
        ("Rotherham", [8, 16, 22, 52, 83], 40),
        ("Bolton", [8, 8, 30, 29, 78], 32),
        ("Ipswich", [5, 16, 25, 36, 77], 31),
    ];
    check_sums(&before, ("Birmingham", 9));
    // Championship 2019/20.
    let championship = [
        ("Leeds", [28, 9, 9, 77, 35], 93),
        ("West Brom", [22, 17, 7, 77, 45], 83),
        ("Brentford", [24, 9, 13, 80, 38], 81),
        ("Fulham", [23, 12, 11, 64, 48], 81),
        ("Cardiff", [19, 16, 11, 68, 58], 73),
        ("Swansea", [18, 16, 12, 62, 53], 70),
        ("Nott'm Forest", [18, 16, 12, 58, 50], 70),
        ("Millwall", [17, 17, 12, 57, 51], 68),
        ("Preston", [18, 12, 16, 59, 54], 66),
        ("Derby", [17, 13, 16, 62, 64], 64),
        ("Blackburn", [17, 12, 17, 66, 63], 63),
        ("Bristol City", [17, 12, 17, 60, 65], 63),
        ("QPR", [16, 10, 20, 67, 76], 58),
        ("Reading", [15, 11, 20, 59, 58], 56),
        ("Stoke", [16, 8, 22, 62, 68], 56),
        ("Sheffield Weds", [15, 11, 20, 58, 66], 56),
        ("Middlesbrough", [13, 14, 19, 48, 61], 53),
        ("Huddersfield", [13, 12, 21, 52, 70], 51),
        ("Luton", [14, 9, 23, 54, 82], 51),
        ("Birmingham", [12, 14, 20, 54, 75], 50),
        ("Barnsley", [12, 13, 21, 49, 69], 49),
        ("Charlton", [12, 12, 22, 50, 65], 48),
        ("Wigan", [15, 14, 17, 57, 56], 47),
        ("Hull", [12, 9, 25, 57, 87], 45),
    ];
    check_sums(&championship, ("Wigan", 12));
}

/// A season of football-data.co.uk; `None` without the shared recordings.
#[expect(clippy::print_stderr, reason = "the person who runs the tests must see what was skipped")]
fn shared(file: &str) -> Option<Vec<Game>> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/feeds-2/football-data-couk");
    let Ok(bytes) = fs::read(folder.join(file)) else {
        eprintln!("skipped: {file} is not here");
        return None;
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let columns = ["HomeTeam", "FTHG", "FTAG", "AwayTeam"];
    let columns = columns.map(|name| header.iter().position(|title| *title == name).expect(name));
    let rows = lines.filter(|row| row.get(columns[0]).is_some_and(|home| !home.is_empty()));
    let games = rows.map(|row| {
        let [home, scored, conceded, away] = columns.map(|column| row[column]);
        let score = [scored, conceded].map(|goals| goals.parse().expect("a number"));
        (home.to_owned(), score, away.to_owned())
    });
    Some(games.collect())
}

#[test]
fn seasons_of_england_are_as_published() {
    for (file, official) in [
        (
            "E0-1993-1994.csv",
            "Man United 92, Blackburn 84, Newcastle 77, Arsenal 71, Leeds 70, Wimbledon 65, Sheffield Weds 64, \
             Liverpool 60, QPR 60, Aston Villa 57, Coventry 56, Norwich 53, West Ham 52, Chelsea 51, Tottenham 45, \
             Man City 45, Everton 44, Southampton 43, Ipswich 43, Sheffield United 42, Oldham 40, Swindon 30",
        ),
        (
            "E0-2000-2001.csv",
            "Man United 80, Arsenal 70, Liverpool 69, Leeds 68, Ipswich 66, Chelsea 61, Sunderland 57, \
             Aston Villa 54, Charlton 52, Southampton 52, Newcastle 51, Tottenham 49, Leicester 48, \
             Middlesbrough 42, West Ham 42, Everton 42, Derby 42, Man City 34, Coventry 34, Bradford 26",
        ),
        (
            "E0-2014-2015.csv",
            "Chelsea 87, Man City 79, Arsenal 75, Man United 70, Tottenham 64, Liverpool 62, Southampton 60, \
             Swansea 56, Stoke 54, Crystal Palace 48, Everton 47, West Ham 47, West Brom 44, Leicester 41, \
             Newcastle 39, Sunderland 38, Aston Villa 38, Hull 35, Burnley 33, QPR 30",
        ),
        (
            "E0-2015-2016.csv",
            "Leicester 81, Arsenal 71, Tottenham 70, Man City 66, Man United 66, Southampton 63, West Ham 62, \
             Liverpool 60, Stoke 51, Chelsea 50, Everton 47, Swansea 47, Watford 45, West Brom 43, \
             Crystal Palace 42, Bournemouth 42, Sunderland 39, Newcastle 37, Norwich 34, Aston Villa 17",
        ),
        (
            "E0-2017-2018.csv",
            "Man City 100, Man United 81, Tottenham 77, Liverpool 75, Chelsea 70, Arsenal 63, Burnley 54, \
             Everton 49, Leicester 47, Newcastle 44, Crystal Palace 44, Bournemouth 44, West Ham 42, Watford 41, \
             Brighton 40, Huddersfield 37, Southampton 36, Swansea 33, Stoke 33, West Brom 31",
        ),
        (
            "E0-2018-2019.csv",
            "Man City 98, Liverpool 97, Chelsea 72, Tottenham 71, Arsenal 70, Man United 66, Wolves 57, \
             Everton 54, Leicester 52, West Ham 52, Watford 50, Crystal Palace 49, Newcastle 45, Bournemouth 45, \
             Burnley 40, Southampton 39, Brighton 36, Cardiff 34, Fulham 26, Huddersfield 16",
        ),
    ] {
        let Some(games) = shared(file) else { return };
        check(&games, built_in("England", "Premier League", file), official);
    }
}

#[test]
fn settings_override_the_built_in_rules() {
    let deduction = |season: &str, team: &str| Deduction {
        season: season.to_owned(),
        team: team.to_owned(),
        points: 40,
        date: Some("2019-01-01".to_owned()),
        reason: None,
    };
    let configuration = CompetitionConfig {
        rule: Some(Ranking::WinsFirst),
        win: Some(2),
        deductions: vec![
            deduction("2018-2019", "Celtic FC"),
            deduction("2018/19", "Nobody"),
            deduction("2018/19", "St"),
            deduction("2019/20", "Hearts"),
        ],
        ..CompetitionConfig::default()
    };
    let competitions =
        Competitions::new([("scotland/Scottish Premiership".to_owned(), configuration)].into());
    let rules = |country, name, season| competitions.regulations(country, name, season, None);
    let regulations = rules("Scotland", "Scottish Premiership", "2018/19");
    assert_eq!((regulations.rule.ranking, regulations.rule.win), (Ranking::WinsFirst, 2));
    let games = games(include_str!("scotland_2018.txt"));
    let found = tables(&games, regulations);
    let celtic = found.ungrouped.iter().find(|row| row.deducted > 0).expect("a deduction");
    assert_eq!((celtic.total.won, celtic.points), (27, 2 * 27 + 6 - 40));
    let teams: Vec<_> = found.deductions.iter().map(|it| it.team.is_some()).collect();
    assert_eq!(teams, [true, false, false], "one is known, and one name has several teams");
    assert_eq!(
        rules("Wales", "Scottish Premiership", "2018/19"),
        built_in("Wales", "Scottish Premiership", "2018/19")
    );
}

#[test]
fn rules_are_those_of_their_time_and_place() {
    for (country, name, season, ranking, win) in [
        ("England", "Premier League", "2019/20", Ranking::GoalDifference, 3),
        ("England", "First Division", "1980/81", Ranking::GoalDifference, 2),
        ("Italy", "Serie A", "1993/94", Ranking::GoalDifference, 2),
        ("Italy", "Serie A", "2017/18", Ranking::HeadToHead, 3),
        ("Ecuador", "Serie A", "2017", Ranking::GoalDifference, 3),
        ("", "Serie A", "2017/18", Ranking::GoalDifference, 3),
        ("Spain", "Primera División", "1993/94", Ranking::HeadToHead, 2),
        ("Spain", "Primera División Femenina", "2020/21", Ranking::GoalDifference, 3),
        ("Argentina", "Primera División", "2020", Ranking::GoalDifference, 3),
        ("Scotland", "Premier League", "1999/00", Ranking::GoalDifference, 3),
        ("Scotland", "Championship", "2018/19", Ranking::GoalDifference, 3),
        ("Switzerland", "Super League", "2022/23", Ranking::GoalDifference, 3),
        ("Switzerland", "Super League", "2023/24", Ranking::Split, 3),
        ("", "UEFA Champions League", "2023/24", Ranking::HeadToHead, 3),
        ("", "UEFA Champions League", "2024/25", Ranking::GoalDifference, 3),
        ("Türkiye", "Süper Lig", "1986/87", Ranking::HeadToHead, 2),
        ("Turkiye", "Turkiye Super Lig", "1987/88", Ranking::HeadToHead, 3),
        ("Turkey", "Super Lig", "1986/87", Ranking::HeadToHead, 2),
        ("Brazil", "Brasileirao", "2019", Ranking::WinsFirst, 3),
        ("Brazil", "Campeonato Brasileiro Série A", "1994", Ranking::WinsFirst, 2),
        ("", "Campeonato Brasileiro Serie A", "2019", Ranking::WinsFirst, 3),
    ] {
        let TableRule { ranking: found, win: points, .. } = built_in(country, name, season).rule;
        assert_eq!((found, points), (ranking, win), "{country} {name} {season}");
    }
    // In one word, the last `a` of the country and the first of the name would be one.
    assert!(is_named("Australia/A-League", "Australia", "Australia A-League"));
}

#[test]
fn conferences_of_the_settings_are_separate_tables_of_all_matches() {
    let groups = [("East", ["A", "B"]), ("West", ["C", "D"])];
    let groups = groups.map(|(name, teams)| (name.to_owned(), teams.map(str::to_owned).to_vec()));
    let mut regulations = Regulations { groups: groups.into(), ..Regulations::default() };
    let games = games("A 1-0 C, B 2-0 D, C 1-0 B, D 0-1 A");
    let found = tables(&games, regulations.clone());
    let rows = found.groups.iter().map(|(group, rows)| {
        let rows: Vec<_> = rows.iter().map(|row| (row.team, row.points)).collect();
        (&**group, rows)
    });
    let expected = [("East", vec![(0, 6), (1, 3)]), ("West", vec![(2, 3), (3, 0)])];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!(found.ungrouped, []);
    regulations.groups.insert("West".to_owned(), vec!["C".to_owned(), "E".to_owned()]);
    let found = tables(&games, regulations);
    assert_eq!((found.groups.len(), found.ungrouped.len()), (0, 4), "D has no conference");
}

#[test]
fn deduction_of_a_team_that_has_not_played_is_not_that_of_another() {
    let names = ["Dundee", "Dundee United", "Hearts"];
    let open = |status, id, sides| MatchSummary { status, ..result(id, sides, [5, 0]) };
    let matches = [
        result(1, [1, 2], [1, 0]),
        open(Status::NotStarted, 2, [0, 1]),
        open(Status::SecondHalf, 3, [1, 2]),
    ];
    let deduction = Deduction {
        season: "2019/20".to_owned(),
        team: "Dundee".to_owned(),
        points: 4,
        date: None,
        reason: None,
    };
    let regulations = Regulations { deductions: vec![deduction], ..Regulations::default() };
    let name = |team: Key| names[team as usize].to_owned();
    let found = football_tables(&matches, false, regulations, name);
    assert_eq!(found.deductions[0].team, Some(0));
    let rows: Vec<_> = found.ungrouped.iter().map(|row| (row.team, row.points)).collect();
    assert_eq!(rows, [(1, 3), (2, 0)], "only what is finished counts");
}

#[test]
fn equal_teams_are_compared_among_themselves_once_all_their_matches_are_played() {
    let rule = TableRule { ranking: Ranking::HeadToHead, ..TableRule::default() };
    let regulations = || Regulations { rule, ..Regulations::default() };
    // Among A, B and C each has 6 points: B has the best difference there, A in all matches.
    let games = games(
        "A 1-0 B, B 3-0 C, C 1-0 A, B 1-0 A, C 1-0 B, A 1-0 C, \
         D 0-9 A, D 0-1 B, D 0-1 C, A 1-0 D, B 1-0 D, C 1-0 D",
    );
    let order = |matches: &[MatchSummary]| {
        let rows = football_tables(matches, true, regulations(), |_| String::new()).ungrouped;
        rows.iter().map(|row| (row.team, row.points)).collect::<Vec<_>>()
    };
    let (_, mut matches) = season(&games);
    assert_eq!(order(&matches), [(1, 12), (0, 12), (2, 12), (3, 0)]);
    // It was played under another id: the two have met twice.
    let fixture = MatchSummary { status: Status::Postponed, ..result(13, [0, 1], [0, 0]) };
    matches.push(fixture);
    assert_eq!(order(&matches), [(1, 12), (0, 12), (2, 12), (3, 0)]);
}

#[test]
fn teams_of_a_group_are_compared_once_their_fixtures_are_played() {
    let rule = TableRule { ranking: Ranking::HeadToHead, ..TableRule::default() };
    // Among A, B and C each has 3 points: B has the best difference there, A in all matches.
    let games = games("A 1-0 B, B 3-0 C, C 1-0 A, D 0-9 A, D 0-1 B, D 0-1 C");
    let (_, played) = season(&games);
    for (status, expected) in
        [(Status::Postponed, [1, 0, 2, 3]), (Status::NotStarted, [0, 1, 2, 3])]
    {
        let open = MatchSummary { status, ..result(13, [0, 1], [0, 0]) };
        let matches = played.iter().cloned().chain([open]);
        let of_group = |summary| MatchSummary { group: Some("Group A".into()), ..summary };
        let matches: Vec<_> = matches.map(of_group).collect();
        for lists_all_teams in [false, true] {
            let regulations = Regulations { rule, ..Regulations::default() };
            let tables = football_tables(&matches, lists_all_teams, regulations, |_| String::new());
            let teams: Vec<_> = tables.groups.values().flatten().map(|row| row.team).collect();
            assert_eq!(teams, expected, "{status:?} {lists_all_teams}");
        }
    }
}
