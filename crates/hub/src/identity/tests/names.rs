//! Names of one team or player, and names that only look like it, as feeds write them.

use super::*;
use crate::identity::{
    player::PlayerNames,
    team::{Likeness, TeamName},
};

fn are_same(sport: Sport, one: &str, other: &str) -> bool {
    let likeness = if sport.is_of_players() {
        PlayerNames::read(one).likeness(&PlayerNames::read(other))
    } else {
        TeamName::read(one, sport, None).likeness(&TeamName::read(other, sport, None))
    };
    likeness == Likeness::Same
}

#[test]
fn usual_names_of_one_side_are_the_same() {
    use Sport::{Basketball, Cs2, Darts, Football, Hockey, Tennis};
    for (sport, one, other) in [
        (Football, "Man Utd", "Manchester United"),
        (Football, "Wolves", "Wolverhampton Wanderers FC"),
        (Football, "PSG", "Paris Saint-Germain"),
        (Football, "Spurs", "Tottenham Hotspur"),
        (Football, "Inter", "FC Internazionale Milano"),
        (Football, "Atleti", "Club Atlético de Madrid"),
        (Football, "Juve", "Juventus FC"),
        (Football, "Bayern", "FC Bayern München"),
        (Football, "Espérance de Tunis", "Esperance Tunis"),
        (Football, "San Martín de Tucumán", "San Martin Tucuman"),
        (Football, "Ferencváros", "Ferencvarosi TC"),
        (Football, "NYCFC", "New York City FC"),
        (Football, "Црвена звезда", "Red Star Belgrade"),
        (Football, "Deutschland", "Germany"),
        (Football, "Neftçi", "Neftchi"),
        (Hockey, "СКА", "SKA"),
        (Hockey, "NY Rangers", "New York Rangers"),
        (Basketball, "Fenerbahçe Beko", "Fenerbahce"),
        (Cs2, "NAVI", "Natus Vincere"),
        (Cs2, "Team Spirit", "Spirit"),
        (Cs2, "FURIA Esports", "FURIA"),
        (Tennis, "Alexander Müller", "Mueller A."),
        (Tennis, "Pablo Carreño Busta", "Carreno P."),
        (Tennis, "Roberto Bautista", "Bautista Agut R."),
        (Tennis, "Carreno Busta P.", "P. Carreno"),
        (Tennis, "Андрей Рублёв", "Rublev A."),
        (Tennis, "Nguyễn Văn Đức", "Nguyen Van Duc"),
        (Tennis, "Laslo Đere", "Djere L."),
        (Tennis, "Khumoyun Sultanov", "K. Sultanov"),
        (Tennis, "Tsvetana Pironkova", "Pironkova T."),
        (Darts, "Dimitri Van den Bergh", "Van Den Bergh, Dimitri"),
    ] {
        for (one, other) in [(one, other), (other, one)] {
            assert!(are_same(sport, one, other), "{one}, {other}");
        }
    }
}

#[test]
fn names_of_two_sides_are_never_the_same() {
    use Sport::{Basketball, Cs2, Football, Hockey, Tennis};
    for (sport, one, other) in [
        (Football, "Man United", "Man City"),
        (Football, "Inter", "Inter Miami"),
        (Football, "Bayern Munich", "Bayern Munich II"),
        (Football, "LA Galaxy", "LAFC"),
        (Football, "CSKA Sofia", "CSKA 1948 Sofia"),
        (Football, "América Mineiro", "América de Natal"),
        (Football, "Athletico Paranaense", "Atlético Mineiro"),
        (Football, "Real Madrid", "Atleti"),
        (Football, "Dundee", "Dundee United"),
        (Football, "Partizan", "Partizani"),
        (Football, "Динамо Москва", "Динамо Минск"),
        (Football, "San Martín de Tucumán", "San Martín de San Juan"),
        (Football, "Ulsan", "Suwon"),
        (Basketball, "LA Lakers", "LA Clippers"),
        (Hockey, "NY Rangers", "NY Islanders"),
        (Cs2, "NAVI", "NAVI Junior"),
        (Cs2, "Team Spirit", "Team Spirit Academy"),
        (Tennis, "Zhang Shuai", "Zang Shuai"),
        (Tennis, "Francisco Cerúndolo", "Cerundolo J.M."),
        (Tennis, "Pablo Carreño Busta", "Busta R."),
        (Tennis, "Pablo Carreño Busta", "Carreno R."),
        (Tennis, "Wang Xinyu", "Wang Qiang"),
        (Tennis, "Juan Martin del Potro", "J. Martin"),
    ] {
        for (one, other) in [(one, other), (other, one)] {
            assert!(!are_same(sport, one, other), "{one}, {other}");
        }
    }
}
