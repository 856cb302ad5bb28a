"""Paging and filters: `next` to the end, nothing twice, nothing missing; every row passes the filter."""

from datetime import date, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from football_v2 import IN_PLAY
from report import NotServed, expect

# Lists of things that come and go are walked again when they changed meanwhile.
TRIES_MAX = 5


def check_lists(report, client, world):
    for path in (
        "/api/v2/leagues/", "/api/v2/teams/", "/api/v2/players/", "/api/v2/managers/", "/api/v2/referees/", "/api/v2/venues/",
        "/api/v2/events/", "/api/v2/bookmakers/", "/api/v2/predictions/",
        f"/api/v2/managers/{world.ids['manager']}/matches/", f"/api/v2/referees/{world.ids['referee']}/matches/",
        f"/api/v2/players/{world.ids['player']}/stats/", f"/api/v2/leagues/{world.ids['league']}/venues/",
        "/tennis/api/v2/matches/", "/tennis/api/v2/players/", "/tennis/api/v2/tournaments/", "/tennis/api/v2/predictions/",
        "/basketball/api/v2/events/", "/basketball/api/v2/teams/", "/basketball/api/v2/leagues/", "/hockey/api/v2/matches/",
        "/hockey/api/v2/teams/", "/darts/api/v2/matches/", "/darts/api/v2/players/", "/csgo/api/v2/matches/", "/csgo/api/v2/teams/",
        "/horseracing/api/v2/races/", "/horseracing/api/v2/horses/", "/horseracing/api/v2/runners/", "/odds/api/events/",
    ):  # fmt: skip
        with report.check(f"all pages of {path.replace(str(world.ids['manager']), '{manager}')}"):
            to_the_end(client, path, limit=200)
    # Of all prices some come or go at any time; of one match rarely.
    for path, filters in (("/api/v2/odds/", {"event_id": world.ids["upcoming"]}), ("/api/v2/odds/best/", {"league_id": world.upcoming["league_id"]})):
        with report.check(f"all pages of {path}"):
            to_the_end(client, path, limit=40, **filters)
    for path in ("/api/leagues/", "/api/teams/", "/api/players/", "/api/managers/", "/api/venues/", "/api/seasons/"):
        with report.check(f"all pages of {path} by page number"):
            to_the_end(client, path, page_size=500)
    # A row of version 1 is all about a match: the upcoming ones of one league are enough to test paging.
    some = {"league": world.ids["league"], "status": "notstarted"}
    for path in ("/api/fixtures/", "/api/matches/"):
        with report.check(f"all pages of {path} by page number"):
            to_the_end(client, path, page_size=25, **some)
    with report.check("all pages of /api/events/ by limit and offset"):
        to_the_end(client, "/api/events/", limit=25, **some)
    for check in (default_and_largest_page, pages_of_version_1, next_keeps_the_filters, previous_leads_back, beyond_the_end, counted_exceptions):
        with report.check(check.__name__.replace("_", " ")):
            check(client, world)


def key_of(row):
    """What names a row: its id, or of prices without one what was priced where."""
    if "id" in row:
        return row["id"]
    return tuple(row.get(name) for name in ("event_id", "market", "outcome", "line", "slug"))


def to_the_end(client, path, **params):
    """Walks a list. One that changes meanwhile is walked again."""
    for _ in range(TRIES_MAX):
        pages = list(client.pages(path, **params))
        keys = [key_of(row) for page in pages for row in page["results"]]
        counts = {page["count"] for page in pages} | {client.get(path, **params)["count"]}
        if len(counts) == 1:
            twice = len(keys) - len(set(keys))
            expect(twice == 0, "no row twice", f"{twice} of {len(keys)} rows are repeated")
            expect(len(keys) == pages[0]["count"], f"as many rows as counted ({pages[0]['count']})", len(keys))
            return
    raise NotServed(f"the list changed {TRIES_MAX} times while it was walked")


def default_and_largest_page(client, _):
    for path in ("/api/v2/players/", "/api/v2/events/", "/api/events/", "/horseracing/api/v2/runners/"):
        page = client.get(path)
        expect(len(page["results"]) == min(50, page["count"]), f"{path}: 50 rows by default", len(page["results"]))
        page = client.get(path, limit=5000)
        expect(len(page["results"]) == min(200, page["count"]), f"{path}: a larger limit is silently 200", len(page["results"]))


def pages_of_version_1(client, _):
    page = client.get("/api/players/")
    expect(len(page["results"]) == min(100, page["count"]), "100 rows by default", len(page["results"]))
    page = client.get("/api/players/", page_size=5000)
    expect(len(page["results"]) == min(500, page["count"]), "at most 500 rows", len(page["results"]))
    first = client.get("/api/players/", page_size=7, page=1)["results"]
    second = client.get("/api/players/", page_size=7, page=2)["results"]
    both = client.get("/api/players/", page_size=14)["results"]
    expect(ids(first) + ids(second) == ids(both), "page 2 behind page 1", ids(second))


def ids(rows):
    return [row["id"] for row in rows]


def next_keeps_the_filters(client, world):
    filters = {"league_id": str(world.ids["league"]), "status": "finished", "limit": "2"}
    page = client.get("/api/v2/events/", **filters)
    query = {name: values[0] for name, values in parse_qs(urlsplit(page["next"]).query).items()}
    expect(query == filters | {"offset": "2"}, "limit, offset and the filters in next", page["next"])


def previous_leads_back(client, _):
    first = client.get("/api/v2/teams/", limit=3)
    second = client.http.get(first["next"]).json()
    back = client.http.get(second["previous"]).json()
    expect(first["previous"] is None, "no previous on the first page", first["previous"])
    expect(back["results"] == first["results"], "the first page again by previous", ids(back["results"]))


def beyond_the_end(client, _):
    page = client.get("/api/v2/teams/", offset=1_000_000)
    expect(page["results"] == [] and page["next"] is None, "an empty page beyond the end", page)


def counted_exceptions(client, world):
    """The answers that are no pages count what they hold."""
    given = world.ids
    for path, rows in (
        ("/api/v2/events/live/", "events"),
        (f"/api/v2/leagues/{given['league']}/seasons/", "seasons"),
        (f"/api/v2/teams/{given['team']}/squad/", "players"),
        (f"/api/v2/events/{given['event']}/player-stats/", "player_stats"),
    ):
        body = client.get(path)
        expect("next" not in body, f"{path}: no envelope", list(body))
        # SERVICE 9: where clients of other lists expect them.
        expect(body.get("results", body[rows]) == body[rows], f"{path}: the same rows as results", list(body))
        expect(body["count"] == len(body[rows]), f"{path}: count of {rows}", body["count"])
    for path in ("/tennis/api/v2/matches/live/", "/horseracing/api/v2/races/next-to-jump/"):
        expect(isinstance(client.get(path), list), f"{path}: a bare array", client.get(path))


# ----------------------------------------------------------------------------------------- filters


def check_filters(report, client, world):
    """(path, the filters, the condition for every row); the unfiltered list must have others too."""
    given, day = world.ids, world.finished["event_date"][:10]
    name = world.finished["home_team"].split()[0][:4].lower()
    player = client.get(f"/api/v2/players/{given['player']}/")
    plays = lambda row: given["team"] in (row["home_team_id"], row["away_team_id"])
    starts = lambda row: row["event_date"][:10]
    # The most that anybody has, so that others have fewer.
    least = {
        "managers": max(row["matches_total"] for row in client.all("/api/v2/managers/", limit=200)),
        "referees": max(row["matches"] for row in client.all("/api/v2/referees/", limit=200)),
    }
    week = str(date.fromisoformat(day) - timedelta(days=7))
    v2 = [
        ("events/", {"status": "finished"}, lambda row: row["status"] == "finished"),
        ("events/", {"status": "notstarted"}, lambda row: row["status"] == "notstarted"),
        ("events/", {"league_id": given["league"]}, lambda row: row["league_id"] == given["league"]),
        ("events/", {"league": given["league"]}, lambda row: row["league_id"] == given["league"]),
        ("events/", {"season_id": given["season"]}, lambda row: row["season_id"] == given["season"]),
        ("events/", {"team_id": given["team"]}, plays),
        ("events/", {"team_name": name}, lambda row: name in (row["home_team"] + "|" + row["away_team"]).lower()),
        ("events/", {"team": name}, lambda row: name in (row["home_team"] + "|" + row["away_team"]).lower()),
        ("events/", {"date": day}, lambda row: starts(row) == day),
        ("events/", {"date_from": day}, lambda row: starts(row) >= day),
        ("events/", {"date_to": day}, lambda row: starts(row) <= day),
        ("events/", {"date_from": week, "date_to": day}, lambda row: week <= starts(row) <= day),
        ("events/", {"date_from": world.finished["event_date"]}, lambda row: row["event_date"] >= world.finished["event_date"]),
        ("events/", {"round": 1}, lambda row: row["round_number"] == 1),
        ("leagues/", {"name": "lig"}, lambda row: "lig" in row["name"].lower()),
        ("teams/", {"name": name}, lambda row: name in row["name"].lower()),
        ("teams/", {"league_id": given["league"]}, None),
        ("teams/", {"country_code": "ZZ"}, lambda row: False),
        ("players/", {"name": player["name"][:5]}, lambda row: player["name"][:5].lower() in row["name"].lower()),
        ("players/", {"team_id": given["team"]}, lambda row: row["current_team_id"] == given["team"]),
        ("players/", {"position": "G"}, lambda row: row["position"] == "G"),
        ("managers/", {"team_id": given["team"]}, lambda row: row["current_team_id"] == given["team"]),
        ("managers/", {"min_matches": least["managers"]}, lambda row: row["matches_total"] >= least["managers"]),
        ("referees/", {"min_matches": least["referees"]}, lambda row: row["matches"] >= least["referees"]),
        ("venues/", {"team_id": given["team"]}, lambda row: row["home_team_id"] == given["team"]),
        ("venues/", {"city": name}, lambda row: name in row["city"].lower()),
        ("odds/", {"event_id": given["upcoming"]}, lambda row: row["event_id"] == given["upcoming"]),
        ("odds/", {"bookmaker_slug": "consensus"}, lambda row: row["bookmaker_slug"] == "consensus"),
        ("odds/", {"market": "1x2"}, lambda row: row["market"] == "1x2"),
        ("odds/", {"market": "over_under_25", "outcome": "over"}, lambda row: (row["market"], row["outcome"], row["line"]) == ("over_under_25", "over", 2.5)),
        ("odds/", {"is_max_quote": "true"}, lambda row: row["is_max_quote"] is True),
        ("odds/", {"movement": "DRIFTING"}, lambda row: row["movement"] == "DRIFTING"),
        ("odds/", {"min_decimal_odds": 2}, lambda row: row["decimal_odds"] >= 2),
        ("odds/", {"max_decimal_odds": 2}, lambda row: row["decimal_odds"] <= 2),
        ("odds/best/", {"market": "btts"}, lambda row: row["market"] == "btts"),
        ("odds/best/", {"team_id": world.upcoming["home_team_id"]}, lambda row: world.upcoming["home_team_id"] in (row["home_team_id"], row["away_team_id"])),
    ]  # fmt: skip
    for path, filters, holds in v2:
        with report.check(f"filter {path}?{'&'.join(filters)} ({shown(filters)})"):
            filtered(client, "/api/v2/" + path, filters, holds)
    local = lambda row: row["event_date"][:10]
    v1 = [
        ("events/", {"status": "finished"}, lambda row: row["status"] == "finished"),
        ("events/", {"league": given["league"]}, lambda row: row["league"]["id"] == given["league"]),
        ("events/", {"date_from": day, "date_to": day}, lambda row: local(row) == day and row["event_date"].endswith("+04:00")),
        ("events/", {"date_from": day, "date_to": day, "tz": "Asia/Tokyo"}, lambda row: local(row) == day and row["event_date"].endswith("+09:00")),
        ("matches/", {"status": "notstarted", "league": world.upcoming["league_id"]}, lambda row: (row["status"], row["league"]["id"]) == ("notstarted", world.upcoming["league_id"])),
        ("players/", {"team": given["team"]}, lambda row: row["current_team"]["id"] == given["team"]),
        ("players/", {"position": "G"}, lambda row: row["position"] == "G"),
        ("player-stats/", {"player": given["player"]}, lambda row: row["player"]["id"] == given["player"]),
        ("player-stats/", {"event": given["event"]}, lambda row: row["event"]["id"] == given["event"]),
        ("seasons/", {"league": given["league"]}, None),
        ("odds/", {"event": given["upcoming"]}, lambda row: row["event_id"] == given["upcoming"]),
    ]  # fmt: skip
    for path, filters, holds in v1:
        with report.check(f"filter of version 1 {path}?{'&'.join(filters)} ({shown(filters)})"):
            filtered(client, "/api/" + path, filters, holds)
    for check in (tz_moves_the_day, unknown_values_pass, fixtures_are_near, other_sports_filter, search_of_tennis_players):
        with report.check(check.__name__.replace("_", " ")):
            check(client, world)


def shown(filters):
    return ", ".join("an id" if isinstance(value, int) and value > 1_000_000 else str(value) for value in filters.values())


def filtered(client, path, filters, holds):
    """Every row satisfies the filter, and the filter leaves rows out."""
    for _ in range(TRIES_MAX):
        before = client.get(path, limit=1)["count"]
        page = client.get(path, **filters, limit=200)
        after = client.get(path, limit=1)["count"]
        if before == after:
            break
    if holds is not None:
        wrong = [row for row in page["results"] if not holds(row)]
        expect(not wrong, f"every row as requested, of {page['count']}", wrong[:1])
    if after == 0:
        raise NotServed("the list is empty now")
    expect(page["count"] <= after, f"no more rows than without the filter ({after})", page["count"])
    if "country_code" not in filters and "bookmaker_slug" not in filters:
        expect(page["count"] > 0, "at least one row", page["count"])
    if page["count"] == after and holds is not None:
        others = [row for row in client.get(path, limit=200)["results"] if not holds(row)]
        expect(not others, f"fewer rows than without the filter ({after})", page["count"])


def tz_moves_the_day(client, world):
    """An event at 22:30 UTC is of the next day in Dubai; a name that is none is ignored."""
    event = client.get(f"/api/events/{world.ids['event']}/")
    dubai = datetime.fromisoformat(event["event_date"])
    expect(dubai.utcoffset() == timedelta(hours=4), "Asia/Dubai by default", event["event_date"])
    expect(dubai == datetime.fromisoformat(world.finished["event_date"]), "the same instant as in version 2", event["event_date"])
    tokyo = client.get("/api/events/", tz="Asia/Tokyo", limit=1)["results"][0]["event_date"]
    expect(tokyo.endswith("+09:00"), "times of Asia/Tokyo", tokyo)
    ignored = client.get("/api/events/", tz="Nowhere/Atlantis", limit=1)["results"][0]["event_date"]
    expect(ignored.endswith("+04:00"), "an invalid zone is ignored", ignored)
    day = dubai.date()
    for zone in ("Asia/Dubai", "America/New_York", "Pacific/Auckland"):
        rows = client.all("/api/events/", date_from=day, date_to=day, tz=zone, limit=200)
        expect(all(row["event_date"][:10] == str(day) for row in rows), f"{zone}: events of {day} alone", rows[:1])


def unknown_values_pass(client, _):
    everything = client.get("/api/v2/events/", limit=1)["count"]
    nonsense = client.get("/api/v2/events/", status="nonsense", limit=1)
    expect(abs(nonsense["count"] - everything) < 50, f"status=nonsense filters nothing ({everything})", nonsense["count"])
    # Documented as filters but observed to filter nothing; both are accepted.
    for word, meant in (("upcoming", ("notstarted",)), ("scheduled", ("notstarted",)), ("live", IN_PLAY), ("inplay", IN_PLAY), ("started", IN_PLAY)):
        page = client.get("/api/v2/events/", status=word, limit=200)
        filtered_rows = all(row["status"] in meant for row in page["results"])
        expect(filtered_rows or abs(page["count"] - everything) < 50, f"status={word} filters nothing, or to {meant}", page["count"])
    for name, value in (("tz", "Asia/Tokyo"), ("full", "true"), ("ordering", "-id")):
        rows = client.get("/api/v2/events/", status="finished", limit=3, **{name: value})["results"]
        plain = client.get("/api/v2/events/", status="finished", limit=3)["results"]
        expect(rows == plain, f"{name} does nothing in version 2", rows[:1])


def fixtures_are_near(client, world):
    rows = client.all(f"/api/v2/teams/{world.live['home_team_id']}/fixtures/")
    now = datetime.fromisoformat(world.live["event_date"])
    for row in rows:
        away = datetime.fromisoformat(row["event_date"]) - now
        expect(timedelta(hours=-6) < away < timedelta(days=8), "fixtures of the days around now", row["event_date"])
    expect(any(row["id"] == world.live["id"] for row in rows), "the match in play among the fixtures", ids(rows))


def other_sports_filter(client, _):
    for path, filters, field in (
        ("/tennis/api/v2/matches/", {"status": "scheduled"}, "status"),
        ("/basketball/api/v2/events/", {"status": "scheduled"}, "status"),
        ("/hockey/api/v2/matches/", {"status": "scheduled"}, "status"),
        ("/darts/api/v2/matches/", {"status": "scheduled"}, "status"),
        ("/csgo/api/v2/matches/", {"status": "notstarted"}, "status"),
        ("/tennis/api/v2/tournaments/", {"circuit": "wta"}, "circuit"),
        ("/tennis/api/v2/tournaments/", {"surface": "clay"}, "surface"),
    ):
        rows = client.get(path, **filters)["results"]
        value = next(iter(filters.values()))
        wrong = [row[field] for row in rows if str(row[field]).lower() != value]
        expect(not wrong, f"{path}: {field} {value} alone", wrong[:3])


def search_of_tennis_players(client, _):
    someone = client.get("/tennis/api/v2/players/", limit=1)["results"][0]
    fragment = someone["name"].split()[-1][1:5].upper()
    rows = client.get("/tennis/api/v2/players/", search=fragment)["results"]
    expect(someone["id"] in ids(rows), f"{someone['name']} by the fragment {fragment}", [row["name"] for row in rows])
    expect(all(fragment.lower() in row["name"].lower() for row in rows), f"names with {fragment} alone", [row["name"] for row in rows])
    match = client.get("/tennis/api/v2/matches/live/")[0]
    gender = match["player1"]["gender"]
    if gender is not None:
        same = client.all("/tennis/api/v2/players/", gender=gender)
        expect(match["player1"]["id"] in ids(same), f"{match['player1']['name']} among the players of gender {gender}", len(same))
