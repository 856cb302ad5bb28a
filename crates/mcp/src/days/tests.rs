use super::*;

/// Wednesday.
const NOW: &str = "2026-11-25T14:30:00Z";

fn calendar(zone: &str) -> Calendar {
    let now = time_format::begin(NOW).unwrap();
    Calendar::at(now, TimeZone::get(zone).unwrap())
}

fn check(calendar: &Calendar, text: &str, expected: Option<(&str, &str)>) {
    let span = calendar.span(text);
    let span = span.map(|it| (it.begin_text().unwrap(), it.end_text().unwrap()));
    let span = span.as_ref().map(|(from, to)| (from.as_str(), to.as_str()));
    assert_eq!(span, expected, "{text}");
}

#[test]
fn words_name_days() {
    let calendar = calendar("UTC");
    let all = |texts: &[&str], first: &str, last: &str| {
        texts.iter().for_each(|text| check(&calendar, text, Some((first, last))));
    };
    all(&["today", "Tonight", "this evening", "2026-11-25"], "2026-11-25", "2026-11-25");
    all(&["tomorrow", "thursday", "in 1 day", "next day"], "2026-11-26", "2026-11-26");
    all(&["yesterday", "last night", "1 day ago"], "2026-11-24", "2026-11-24");
    all(
        &[
            "saturday",
            "on Saturday",
            "next sat",
            "28 nov",
            "November 28th 2026",
            "Saturday, 28 November",
            "sat 28th of November 2026",
        ],
        "2026-11-28",
        "2026-11-28",
    );
    all(&["last saturday", "past Saturday"], "2026-11-21", "2026-11-21");
    all(&["wednesday", "this wednesday"], "2026-11-25", "2026-11-25");
    all(&["next wednesday", "in one week"], "2026-12-02", "2026-12-02");
    all(&["last wednesday", "7 days ago"], "2026-11-18", "2026-11-18");
    all(&["this weekend", "weekend", "the weekend"], "2026-11-28", "2026-11-29");
    all(&["last weekend"], "2026-11-21", "2026-11-22");
    all(&["this week"], "2026-11-23", "2026-11-29");
    all(&["last week"], "2026-11-16", "2026-11-22");
    all(&["next week"], "2026-11-30", "2026-12-06");
    all(&["this month"], "2026-11-01", "2026-11-30");
    all(&["last_month"], "2026-10-01", "2026-10-31");
    all(&["3 January"], "2027-01-03", "2027-01-03");
    all(&["2026-11-01..2026-11-07", "2026-11-01 to 2026-11-07"], "2026-11-01", "2026-11-07");
    all(&["today to friday", "from today to friday"], "2026-11-25", "2026-11-27");
    all(&["last year"], "2025-01-01", "2025-12-31");
    all(&["this year"], "2026-01-01", "2026-12-31");
    all(&["2 years ago"], "2024-11-25", "2024-11-25");
    all(&["friday to sunday", "friday until sunday night"], "2026-11-27", "2026-11-29");
    all(&["monday to friday"], "2026-11-30", "2026-12-04");
    all(&["friday night", "Friday evening", "friday"], "2026-11-27", "2026-11-27");
    all(&["tomorrow night", "in a day", "in one day"], "2026-11-26", "2026-11-26");
    all(&["2 hours ago", "two hours ago"], "2026-11-25T12:30:00Z", "2026-11-25T13:29:59Z");
    all(&["in an hour"], "2026-11-25T15:30:00Z", "2026-11-25T16:29:59Z");
    all(
        &["november", "November 2026", "in november", "in November 2026"],
        "2026-11-01",
        "2026-11-30",
    );
    all(&["february"], "2027-02-01", "2027-02-28");
    check(&calendar, "next 3 days", Some(("2026-11-25T14:30:00Z", "2026-11-28")));
    check(&calendar, "last two weeks", Some(("2026-11-11", "2026-11-25T14:29:59Z")));
    check(&calendar, "next 24 hours", Some(("2026-11-25T14:30:00Z", "2026-11-26T14:29:59Z")));
    for text in [
        "",
        "night",
        "someday",
        "next",
        "in",
        "in the",
        "saturday 28",
        "saturday 31 february",
        "in 0 days",
        "31 february",
        "monday to",
        "5000 days ago",
        "1 january 99999",
        "1 january again",
    ] {
        check(&calendar, text, None);
    }
}

/// The last second before [`NOW`].
const JUST_NOW: &str = "2026-11-25T14:29:59Z";

/// What people write, with the first and the last day of what they mean.
const NATURAL: [(&str, &str, &str); 62] = [
    ("monday onwards", "2026-11-30", "2027-11-29"),
    ("28/11/2026", "2026-11-28", "2026-11-28"),
    ("28.11.2026", "2026-11-28", "2026-11-28"),
    ("28-11-2026", "2026-11-28", "2026-11-28"),
    ("2026/11/28", "2026-11-28", "2026-11-28"),
    ("28/11/26", "2026-11-28", "2026-11-28"),
    ("28.11.", "2026-11-28", "2026-11-28"),
    ("28/11", "2026-11-28", "2026-11-28"),
    ("11/28/2026", "2026-11-28", "2026-11-28"),
    ("03/04/2026", "2026-04-03", "2026-04-03"),
    ("Saturday 28/11", "2026-11-28", "2026-11-28"),
    ("Nov. 28, 2026", "2026-11-28", "2026-11-28"),
    ("the 3rd of december", "2026-12-03", "2026-12-03"),
    ("December the 3rd", "2026-12-03", "2026-12-03"),
    ("the 3rd", "2026-12-03", "2026-12-03"),
    ("Saturday the 28th", "2026-11-28", "2026-11-28"),
    ("28-30 november", "2026-11-28", "2026-11-30"),
    ("november 28–30", "2026-11-28", "2026-11-30"),
    ("from 28 to 30 November 2026", "2026-11-28", "2026-11-30"),
    ("28/11/2026 - 30/11/2026", "2026-11-28", "2026-11-30"),
    ("between 28 november and 3 december", "2026-11-28", "2026-12-03"),
    ("monday to wednesday", "2026-11-30", "2026-12-02"),
    ("monday through wednesday", "2026-11-30", "2026-12-02"),
    ("Monday-Wednesday", "2026-11-30", "2026-12-02"),
    ("saturday and sunday", "2026-11-28", "2026-11-29"),
    ("today and tomorrow", "2026-11-25", "2026-11-26"),
    ("since monday", "2026-11-23", JUST_NOW),
    ("since the weekend", "2026-11-21", JUST_NOW),
    ("since 1 november", "2026-11-01", JUST_NOW),
    ("earlier this week", "2026-11-23", JUST_NOW),
    ("until sunday", NOW, "2026-11-29"),
    ("by Friday", NOW, "2026-11-27"),
    ("before saturday", NOW, "2026-11-27"),
    ("before 1 november", "2025-11-01", "2026-10-31"),
    ("from friday", "2026-11-27", "2027-11-26"),
    ("from monday onwards", "2026-11-30", "2027-11-29"),
    ("after sunday", "2026-11-30", "2027-11-29"),
    ("until the day after tomorrow", NOW, "2026-11-27"),
    ("rest of the week", NOW, "2026-11-29"),
    ("later today", NOW, "2026-11-25"),
    ("last 7 days", "2026-11-18", JUST_NOW),
    ("the last few days", "2026-11-22", JUST_NOW),
    ("the past couple of weeks", "2026-11-11", JUST_NOW),
    ("last fortnight", "2026-11-11", JUST_NOW),
    ("last hour", "2026-11-25T13:30:00Z", JUST_NOW),
    ("a couple of days ago", "2026-11-23", "2026-11-23"),
    ("a fortnight ago", "2026-11-11", "2026-11-11"),
    ("next weekend", "2026-12-05", "2026-12-06"),
    ("at the weekend", "2026-11-28", "2026-11-29"),
    ("this coming saturday", "2026-11-28", "2026-11-28"),
    ("this past weekend", "2026-11-21", "2026-11-22"),
    ("saturday next week", "2026-12-05", "2026-12-05"),
    ("last week's friday", "2026-11-20", "2026-11-20"),
    ("midweek", "2026-11-24", "2026-11-26"),
    ("3 days from now", "2026-11-28", "2026-11-28"),
    ("a week from saturday", "2026-12-05", "2026-12-05"),
    ("two days before Christmas", "2026-12-23", "2026-12-23"),
    ("the week of 7 december", "2026-12-07", "2026-12-13"),
    ("Boxing Day", "2026-12-26", "2026-12-26"),
    ("New Year's Day", "2027-01-01", "2027-01-01"),
    ("2026-11", "2026-11-01", "2026-11-30"),
    ("in 2025", "2025-01-01", "2025-12-31"),
];

#[test]
fn natural_words_name_days() {
    let calendar = calendar("UTC");
    for (text, first, last) in NATURAL {
        check(&calendar, text, Some((first, last)));
    }
    check(&calendar, &format!("{}{}", "by ".repeat(30), "night ".repeat(18)), None);
    for text in [
        "31/02/2026",
        "13/13/2026",
        "2026-13-01",
        "1/2/3/4",
        "04",
        "saturday and monday",
        "since tomorrow",
        "until",
        "the 32nd",
        "2026/27",
        "1907",
        "28 november 26",
    ] {
        check(&calendar, text, None);
    }
}

#[test]
fn dates_of_two_readings_are_told_apart() {
    for text in ["03/04/2026", "3/4", "since 03-04-2026", "01/12/2026 to 20/12/2026"] {
        assert!(ambiguous_date(text).is_some(), "{text}");
    }
    for text in ["28/11/2026", "03.04.2026", "2026-03-04", "2026/03/04", "4/4", "today", "1/2/3/4"]
    {
        assert!(ambiguous_date(text).is_none(), "{text}");
    }
}

#[test]
fn weekdays_of_results_are_past() {
    let calendar = Calendar { prefers_past: true, ..calendar("UTC") };
    check(&calendar, "saturday", Some(("2026-11-21", "2026-11-21")));
    check(&calendar, "weekend", Some(("2026-11-21", "2026-11-22")));
    check(&calendar, "wednesday", Some(("2026-11-25", "2026-11-25")));
    check(&calendar, "february", Some(("2026-02-01", "2026-02-28")));
    check(&calendar, "3 january", Some(("2026-01-03", "2026-01-03")));
    check(&calendar, "3 january 2027", Some(("2027-01-03", "2027-01-03")));
}

/// Around midnight, the day of a zone is not that of UTC; around a change of the clocks, it has 23 or 25 hours.
#[test]
fn words_name_days_of_the_zone() {
    let in_berlin = |now: &str, text: &str, expected: (&str, &str)| {
        let now = time_format::begin(now).unwrap();
        let calendar = Calendar::at(now, TimeZone::get("Europe/Berlin").unwrap());
        check(&calendar, text, Some(expected));
    };
    let day = ("2026-11-24T23:00:00Z", "2026-11-25T22:59:59Z");
    in_berlin("2026-11-25T22:59:59Z", "today", day);
    in_berlin("2026-11-25T23:00:00Z", "yesterday", day);
    in_berlin("2026-11-24T22:59:59Z", "tomorrow", day);
    in_berlin("2026-11-24T23:00:00Z", "wednesday", day);
    // Sunday in UTC, Monday in Berlin.
    let week = ("2026-11-15T23:00:00Z", "2026-11-22T22:59:59Z");
    in_berlin("2026-11-22T23:30:00Z", "last week", week);
    let short = ("2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z");
    in_berlin("2026-03-28T23:30:00Z", "today", short);
    in_berlin("2026-03-28T22:30:00Z", "tomorrow", short);
    in_berlin("2026-03-29T22:00:00Z", "yesterday", short);
    let long = ("2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z");
    in_berlin("2026-10-25T22:30:00Z", "today", long);
    in_berlin("2026-10-23T22:30:00Z", "sunday", long);
    let weekend = ("2026-10-23T22:00:00Z", "2026-10-25T22:59:59Z");
    in_berlin("2026-10-21T12:00:00Z", "this weekend", weekend);
    // Two hours are two hours.
    let hours = ("2026-10-25T00:30:00Z", "2026-10-25T02:29:59Z");
    in_berlin("2026-10-25T00:30:00Z", "next 2 hours", hours);
}

#[test]
fn days_begin_in_their_zone() {
    let calendar = calendar("America/New_York");
    check(&calendar, "today", Some(("2026-11-25T05:00:00Z", "2026-11-26T04:59:59Z")));
    assert_eq!(calendar.today(), "Wednesday 2026-11-25 (America/New_York)");
    assert_eq!(calendar.span("today").unwrap().utc_day(), None);
    let day = Calendar::default().span("2026-11-25").unwrap();
    assert_eq!(day.utc_day().unwrap(), "2026-11-25");
    let moment = "2026-08-30T18:00:00Z";
    check(&calendar, moment, Some((moment, moment)));
    let local = "2026-08-30T22:00:00Z";
    check(&calendar, "2026-08-30T18:00:00", Some((local, local)));
}
