//! The bookmakers of the abbreviations.

/// Our slug: the bookmaker's key at The Odds API where it has one, so that both refer to one book.
/// `P` and `PS` are Pinnacle; `VC` and `BV` are one bookmaker before and after it was renamed.
pub(super) fn slug(abbreviation: &'static str) -> &'static str {
    match abbreviation {
        "1XB" => "onexbet",
        "B365" => "bet365",
        "BF" => "betfair_sb_uk",
        "BFD" => "betfred",
        "BFE" => "betfair_ex_uk",
        "BMGM" => "betmgm",
        "BS" => "bluesquare",
        "BV" | "VC" => "betvictor",
        "BW" => "bwin",
        "CL" => "coral",
        "GB" => "gamebookers",
        "IW" => "interwetten",
        "LB" => "ladbrokes_uk",
        "P" | "PS" => "pinnacle",
        "SB" => "sportingbet",
        "SJ" => "stanjames",
        "SO" => "sportingodds",
        "SY" => "stanleybet",
        "WH" => "williamhill",
        other => other,
    }
}
