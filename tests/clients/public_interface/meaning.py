"""Consistent answers: sums, orders, and the same value in two places."""

from datetime import datetime

from report import NotServed, expect


def check_meaning(report, client, world):
    for check in (
        standings_add_up, leaders_are_in_order, lists_show_the_detail, finished_and_upcoming, goals_make_the_score, lineups_are_teams,
        shares_of_stats, meetings_of_two, implied_probability_and_movement, the_best_is_the_highest, best_odds_are_upcoming, predictions_are_chances,
        seasons_of_a_league, a_club_and_its_people, managers_add_up, referees_add_up, coverage_counts, versions_agree_on_people, bookmakers_known,
        points_make_the_games, races_in_order, live_lists_are_live, sticks_of_odds,
    ):  # fmt: skip
        with report.check(check.__name__.replace("_", " ")):
            check(client, world)


def standings_add_up(client, world):
    for league in client.all("/api/v2/leagues/"):
        answer = client.get(f"/api/v2/leagues/{league['id']}/standings/")
        tables = answer["groups"].values() if answer["grouped"] else [answer["standings"]]
        for lines in tables:
            for line in lines:
                at = f"{league['name']}, {line['team_name']}"
                expect(line["played"] == line["won"] + line["drawn"] + line["lost"], f"{at}: played is won, drawn and lost", line)
                expect(line["pts"] == 3 * line["won"] + line["drawn"], f"{at}: three points for a win", line)
                expect(line["gd"] == line["gf"] - line["ga"], f"{at}: goal difference", line)
                expect(len(line["form"]) <= 5 and set(line["form"]) <= set("WDL"), f"{at}: form of at most five", line["form"])
                expect(len(line["form"]) == min(5, line["played"]), f"{at}: form of the last five", line["form"])
            expect([line["position"] for line in lines] == list(range(1, len(lines) + 1)), "positions without a gap", lines[:1])
            points = [line["pts"] for line in lines]
            expect(points == sorted(points, reverse=True), f"{league['name']}: most points first", points)
            expect(sum(line["gf"] for line in lines) == sum(line["ga"] for line in lines), f"{league['name']}: as many goals for as against")


def leaders_are_in_order(client, world):
    league = world.ids["league"]
    for stat in ("scorers", "assists", "yellowcards", "redcards", "fouls"):
        top = client.get(f"/api/v2/leagues/{league}/top/{stat}/")
        values = [leader["value"] for leader in top["leaders"]]
        expect(top["stat"] == stat, "the requested stat", top["stat"])
        expect(values == sorted(values, reverse=True) and len(values) <= 20, f"{stat}: the highest first, 20 at most", values)
        expect([leader["rank"] for leader in top["leaders"]][:1] in ([], [1]), f"{stat}: the first is 1", top["leaders"][:1])
        longer = client.get(f"/api/v2/leagues/{league}/top/{stat}/", limit=500)["leaders"]
        expect(len(longer) <= 50, f"{stat}: 50 at most", len(longer))
    expect(client.get(f"/api/v2/leagues/{league}/top/scorers/")["label"] == "Goals", "the label of scorers")


def lists_show_the_detail(client, world):
    for path, number in (
        ("events", world.ids["event"]), ("teams", world.ids["team"]), ("players", world.ids["player"]), ("managers", world.ids["manager"]),
        ("referees", world.ids["referee"]), ("venues", world.ids["venue"]), ("leagues", world.ids["league"]),
    ):  # fmt: skip
        detail = client.get(f"/api/v2/{path}/{number}/")
        params = {"league_id": world.ids["league"], "status": "finished"} if path == "events" else {}
        params = {"team_id": world.ids["team"]} if path == "players" else params
        rows = {row["id"]: row for row in client.all(f"/api/v2/{path}/", limit=200, **params)}
        expect(number in rows, f"{path}/{number}/ in the list", len(rows))
        expect(list(rows[number]) == list(detail), f"{path}: the keys of the detail, in its order", list(rows[number]))


def finished_and_upcoming(client, world):
    for row in client.get("/api/v2/events/", status="finished", limit=200)["results"]:
        expect(row["home_score"] is not None and row["away_score"] is not None, "a score of what is finished", row["id"])
        expect(row["current_minute"] is None and row["period"] == "FT", "no live flags of what is finished", (row["current_minute"], row["period"]))
    for row in client.get("/api/v2/events/", status="notstarted", limit=200)["results"]:
        expect(row["home_score"] is None and row["period"] == "", "no score before it begins", row)
    dates = [row["event_date"] for row in client.get("/api/v2/events/", limit=200)["results"]]
    expect(dates == sorted(dates), "events in the order of their dates")


def goals_make_the_score(client, world):
    for event in client.get("/api/v2/events/", status="finished", league_id=world.ids["league"], limit=12)["results"]:
        goals = [row for row in client.get(f"/api/v2/events/{event['id']}/incidents/")["incidents"] if row["type"] == "goal"]
        home = sum(goal["is_home"] for goal in goals)
        score = (event["home_score"], event["away_score"])
        if event["extra_time_score"] is None and event["penalty_shootout"] is None:
            expect((home, len(goals) - home) == score, f"goals of {event['id']} make {score}", (home, len(goals) - home))


def lineups_are_teams(client, world):
    for event in (world.finished, world.live):
        lineups = client.get(f"/api/v2/events/{event['id']}/lineups/")
        if lineups["lineup_status"] == "unavailable":
            expect(lineups["lineups"] is None, "lineups null where unavailable", lineups["lineups"])
            continue
        for side in ("home", "away"):
            team = lineups["lineups"][side]
            expect(team["team_id"] == event[f"{side}_team_id"], f"the {side} side", team["team_id"])
            expect(len(team["players"]) == 11, "eleven players", len(team["players"]))
            if team["formation"]:
                expect(sum(map(int, team["formation"].split("-"))) == 10, "a formation of ten", team["formation"])
            if lineups["lineup_status"] == "confirmed":
                expect(all(player["ai_score"] is None for player in team["players"]), "no ai_score of what is confirmed")


def shares_of_stats(client, world):
    for event in (world.finished, world.live):
        stats = client.get(f"/api/v2/events/{event['id']}/stats/")["stats"]
        both = [stats[side].get("ball_possession") for side in ("home", "away")]
        expect(None in both or 99 <= sum(both) <= 101, "possession of 100", both)
        for side in ("home", "away"):
            counters = stats[side]
            if {"passes", "accurate_passes", "pass_accuracy_pct"} <= set(counters) and counters["passes"]:
                share = 100 * counters["accurate_passes"] / counters["passes"]
                expect(abs(share - counters["pass_accuracy_pct"]) < 0.06, f"pass accuracy {share:.1f}", counters["pass_accuracy_pct"])


def meetings_of_two(client, world):
    for event in client.get("/api/v2/events/", league_id=world.ids["league"], status="notstarted", limit=12)["results"] + [world.live]:
        met = client.get(f"/api/v2/events/{event['id']}/h2h/")
        expect(met == client.get(f"/api/v2/events/{event['id']}/")["head_to_head"], "h2h/ is the head_to_head of the event", met)
        if met["total_matches"] is None:
            expect(all(value is None for value in met.values()), "all null without a history", met)
            continue
        expect(met["total_matches"] == met["home_wins"] + met["draws"] + met["away_wins"], "wins and draws make the matches", met)
        expect(abs(met["avg_total_goals"] - (met["home_goals"] + met["away_goals"]) / met["total_matches"]) < 0.01, "goals a match", met)
        expect(abs(met["home_win_rate"] - met["home_wins"] / met["total_matches"]) < 0.01, "the win rate from 0 to 1", met["home_win_rate"])
        for meeting in met["recent_matches"]:
            expect({meeting["home"], meeting["away"]} == {event["home_team"], event["away_team"]}, "of these two", meeting)


def implied_probability_and_movement(client, world):
    for row in client.get("/api/v2/odds/", limit=200)["results"]:
        expect(abs(row["implied_probability"] - 1 / row["decimal_odds"]) < 0.0001, f"1/{row['decimal_odds']}", row["implied_probability"])
        before = row["previous_decimal_odds"]
        moved = "" if before is None or before == row["decimal_odds"] else "SHORTENING" if row["decimal_odds"] < before else "DRIFTING"
        expect(row["movement"] == moved, f"{before} to {row['decimal_odds']}: movement {moved!r}", row["movement"])
        if row["market"].startswith("over_under_"):
            expect(row["line"] == int(row["market"][-2:]) / 10, f"the line of {row['market']}", row["line"])


def the_best_is_the_highest(client, world):
    body = client.get(f"/api/v2/events/{world.ids['upcoming']}/odds/comparison/")
    total, slugs = 0, set()
    for market, outcomes in body["markets"].items():
        for key, outcome in outcomes.items():
            line = "" if outcome["line"] is None else f"@{outcome['line']:g}"
            expect(key in (outcome["outcome"], outcome["outcome"] + line), f"{market}: key of outcome and line", key)
            prices = {slug: price["decimal_odds"] for slug, price in outcome["bookmakers"].items()}
            total, slugs = total + len(prices), slugs | set(prices)
            best = max(prices.values())
            expect(outcome["best_odds"] == best, f"{market} {key}: the best is {best}", outcome["best_odds"])
            expect(prices[outcome["best_bookmaker_slug"]] == best, f"{market} {key}: of that bookmaker", outcome["best_bookmaker_slug"])
    expect(body["total_odds"] == total, f"{total} prices", body["total_odds"])
    expect(body["bookmakers_count"] == len(slugs), f"{len(slugs)} bookmakers", body["bookmakers_count"])


def best_odds_are_upcoming(client, world):
    rows = client.get("/api/v2/odds/best/", limit=200)["results"]
    expect(rows, "best prices of what is to come")
    expect({row["market"] for row in rows} == {"1x2"}, "1x2 by default", {row["market"] for row in rows})
    number = rows[-1]["event_id"]
    event = client.get(f"/api/v2/events/{number}/")
    expect(event["status"] == "notstarted", "matches to come", event["status"])


def predictions_are_chances(client, world):
    rows = client.get("/api/v2/predictions/", limit=50)["results"]
    if not rows:
        raise NotServed("the hub predicts nothing now")
    for row in rows:
        result = row["markets"]["match_result"]
        chances = {"H": result["prob_home"], "D": result["prob_draw"], "A": result["prob_away"]}
        expect(abs(sum(chances.values()) - 100) < 0.5, "chances of 100", chances)
        expect(chances[result["predicted"]] == max(chances.values()), "the likeliest is predicted", result)
        expect(0 <= row["model"]["confidence"] <= 1, "confidence from 0 to 1", row["model"])
        goals = row["markets"]["over_under"]
        expect(goals["prob_over_15"] >= goals["prob_over_25"] >= goals["prob_over_35"], "more goals are rarer", goals)


def seasons_of_a_league(client, world):
    league = client.get(f"/api/v2/leagues/{world.ids['league']}/")
    seasons = client.get(f"/api/v2/leagues/{league['id']}/seasons/")
    current = [season for season in seasons["seasons"] if season["is_current"]]
    expect(len(current) == 1 and current[0]["id"] == league["current_season"]["id"], "one current season, that of the league", current)
    own = client.get(f"/api/v2/leagues/{league['id']}/season/")
    expect(own == current[0] | {"league_id": league["id"], "season": current[0]}, "season/ is the current one, in both shapes", own)


def a_club_and_its_people(client, world):
    team = client.get(f"/api/v2/teams/{world.ids['team']}/")
    for player in client.get(f"/api/v2/teams/{team['id']}/squad/")["players"][:5]:
        of = client.get(f"/api/v2/players/{player['id']}/")
        expect(of["current_team_id"] == team["id"] and of["name"] == player["name"], f"{player['name']} of {team['name']}", of["current_team_id"])
    for row in client.get(f"/api/v2/players/{world.ids['player']}/stats/")["results"]:
        expect(row["player_id"] == world.ids["player"], "rows of that player", row["player_id"])


def managers_add_up(client, world):
    for row in client.get("/api/v2/managers/", limit=200)["results"]:
        played = row["wins"] + row["draws"] + row["losses"]
        expect(row["matches_total"] == played, f"{row['name']}: {played} matches", row["matches_total"])
        if played:
            expect(abs(row["win_pct"] - 100 * row["wins"] / played) < 0.1, f"{row['name']}: win_pct", row["win_pct"])


def referees_add_up(client, world):
    row = client.get(f"/api/v2/referees/{world.ids['referee']}/")
    matches = client.all(f"/api/v2/referees/{row['id']}/matches/", limit=200)
    finished = sum(match["status"] == "finished" for match in matches)
    # One may have ended meanwhile.
    expect(0 <= finished - row["matches"] <= 1, f"{row['matches']} matches", finished)
    expect(abs(row["avg_yellow_per_match"] - row["total_yellow_cards"] / row["matches"]) < 0.01, "cards a match", row)


def coverage_counts(client, world):
    sports = {row["sport"]: row for row in client.get("/api/v2/coverage/")["sports"]}
    expect({"football", "tennis", "basketball", "hockey", "darts", "csgo", "horseracing"} <= set(sports), "all sports", sorted(sports))
    only = client.get("/api/v2/coverage/", sport="tennis")["sports"]
    expect([row["sport"] for row in only] == ["tennis"], "the sport that was requested", only)
    next_match = datetime.fromisoformat(sports["football"]["next_match"])
    first = client.get("/api/v2/events/", status="notstarted", limit=1)["results"][0]
    expect(abs((next_match - datetime.fromisoformat(first["event_date"])).total_seconds()) < 3600, f"next match {first['event_date']}", str(next_match))


def versions_agree_on_people(client, world):
    """A field that both versions have is equal in both."""
    for path, number, names in (
        ("managers", world.ids["manager"], ("name", "short_name", "preferred_formation", "matches_total", "wins", "win_pct", "clean_sheet_pct")),
        ("players", world.ids["player"], ("name", "short_name", "position", "jersey_number")),
        ("teams", world.ids["team"], ("name", "short_name")),
        ("leagues", world.ids["league"], ("name",)),
        ("venues", world.ids["venue"], ("name",)),
    ):
        old, new = client.get(f"/api/{path}/{number}/"), client.get(f"/api/v2/{path}/{number}/")
        for name in names:
            expect(old[name] == new[name], f"{path}: {name} of version 2, {new[name]!r}", old[name])


def bookmakers_known(client, world):
    slugs = {row["slug"] for row in client.all("/api/v2/bookmakers/")}
    seen = {row["bookmaker_slug"] for row in client.get("/api/v2/odds/", limit=200)["results"]}
    expect(seen <= slugs, "bookmakers of prices among the bookmakers", seen - slugs)
    expect("consensus" in slugs, "consensus among them", slugs)


def points_make_the_games(client, world):
    for match in client.get("/tennis/api/v2/matches/live/"):
        points = client.get(f"/tennis/api/v2/matches/{match['id']}/point-by-point/")
        if not points["available"]:
            continue
        for part in points["sets"]:
            for number, game in enumerate(part["games"], 1):
                expect(game["game"] == number, "games without a gap", game["game"])
            done = [game for game in part["games"] if game["winner"] is not None]
            for game in done:
                won = game["player1_games"] + game["player2_games"]
                expect(won == game["game"], f"game {game['game']}: so many games are won", (game["player1_games"], game["player2_games"]))


def races_in_order(client, world):
    races = client.get("/horseracing/api/v2/races/next-to-jump/")
    starts = [race["starts_at"] for race in races]
    expect(starts == sorted(starts), "the next race first", starts)
    expect(all(race["state"] in ("prematch", "idle", "live") for race in races), "races not yet over", [race["state"] for race in races])


def live_lists_are_live(client, world):
    for row in client.get("/api/v2/events/live/")["events"]:
        expect(row["status"] in ("notstarted", "inprogress", "finished"), "football in play, about to begin or just over", row["status"])
    playing = ("live", "inprogress", "interrupted")
    for path in ("/basketball/api/v2/events/live/", "/hockey/api/v2/matches/live/", "/darts/api/v2/matches/live/", "/csgo/api/v2/matches/live/"):
        for row in client.get(path)["results"]:
            expect(row["status"] in playing, f"{path}: in play", row["status"])
    for row in client.get("/tennis/api/v2/matches/live/"):
        expect(row["status"] in playing, "tennis in play", row["status"])
    listed = lambda: {row["id"] for row in client.get("/tennis/api/v2/matches/live/")}
    # Matches begin and end between the requests.
    before = listed()
    filtered = {row["id"] for row in client.get("/tennis/api/v2/matches/", status="live", limit=200)["results"]}
    after = listed()
    expect(before & after <= filtered <= before | after, "status=live is the live list", (before, filtered, after))


def sticks_of_odds(client, world):
    for path in ("/basketball/api/v2/events/live/", "/hockey/api/v2/matches/live/", "/darts/api/v2/matches/live/", "/csgo/api/v2/matches/live/"):
        for row in client.get(path)["results"]:
            odds = client.get(f"{path.removesuffix('live/')}{row['id']}/odds/")
            expect(odds["bookmakers_count"] == len(odds["bookmakers"]), f"{path}: bookmakers_count", odds["bookmakers_count"])
            for market in odds["markets"]:
                for book in market["bookmakers"]:
                    expect(set(book["prices"]) <= set(market["selections"]), "prices of the selections", book["prices"])
