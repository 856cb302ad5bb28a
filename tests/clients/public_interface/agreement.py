"""REST and the sockets agree on a match, and so do the two versions of REST.

A socket has no number that REST has too. But `X-Matchwire-Seq` says where a match stood: where it is
the same before and after a snapshot was taken, the snapshot shows what both answers show.
"""

import time

from report import NotServed, expect

# A snapshot may be shared for a second, and REST be a tenth behind: a match must not change for that long
# before and after it.
SHARED_S, BEHIND_S = 1.1, 0.2
# Matches that are tried, one after the other, as often.
ROUNDS_MAX = 6
# How long matches are looked at one by one.
ALONE_S_MAX = 180
ENOUGH = 3
PERIODS = {1: "1T", 2: "2T"}


def check_agreement(report, live):
    with report.check("a snapshot shows what REST shows at the same sequence"):
        agreed = at_one_sequence(live, event_agrees)
        expect(agreed > 0, "a match that stands still while it is looked at", agreed)
    with report.check("a snapshot has the counters of stats/"):
        expect(at_one_sequence(live, stats_agree) > 0, "a match that stands still while it is looked at")
    with report.check("a match that has not begun has the same score and status on both"):
        not_begun(live)
    with report.check("the consensus of REST is that of the sockets"):
        prices_agree(live)
    with report.check("both versions of REST and both lists agree"):
        lists_agree(live)
    with report.check("tennis: REST and the sockets agree"):
        tennis_agrees(live)


def stand(live, number):
    """A match by REST, and where it stood."""
    response = live.client.send("GET", f"/api/v2/events/{number}/")
    return response.json(), response.headers.get("x-matchwire-seq")


def at_one_sequence(live, compare):
    """Compares the matches that do not change meanwhile, those at half time first; how
    many did. Each look is an attempt; a match that moved meanwhile is tried again in the next round."""
    playing = [event for event in live.client.get("/api/v2/events/live/")["events"] if event["status"] == "inprogress"]
    playing.sort(key=lambda event: event["period"] != "halftime")
    waiting, agreed = [event["id"] for event in playing if event["live_websocket"]], 0
    for _ in range(ROUNDS_MAX):
        still = standing(live, waiting, compare)
        waiting, agreed = [number for number in waiting if number not in still], agreed + len(still)
        if not waiting or agreed >= ENOUGH:
            return agreed
    # While all are played, one alone is looked at for a shorter time than all of them.
    deadline = time.monotonic() + ALONE_S_MAX
    while not agreed and waiting and time.monotonic() < deadline:
        agreed += len(standing(live, waiting[:1], compare))
        waiting.append(waiting.pop(0))
    return agreed


def standing(live, numbers, compare):
    """Those of these matches that have not changed while REST and the socket were asked, which agreed."""
    before = {number: (stand(live, number), stats_of(live, number)) for number in numbers}
    time.sleep(SHARED_S)
    with live.socket() as socket:
        snapshots = {number: socket.subscribe(number) for number in numbers}
    time.sleep(BEHIND_S)
    still = []
    for number in numbers:
        (first, position), stats = before[number]
        second, later = stand(live, number)
        if position is not None and position == later and stats == stats_of(live, number):
            compare(snapshots[number], first, second, stats)
            still.append(number)
    return still


def stats_of(live, number):
    return live.client.get(f"/api/v2/events/{number}/stats/")["stats"]


def event_agrees(snapshot, first, second, _):
    event, name = snapshot["event"], f"{first['home_team']} - {first['away_team']}"
    expect(event["home"]["id"] == first["home_team_id"] and event["away"]["id"] == first["away_team_id"], f"{name}: the teams", event["home"])
    expect(event["home"]["name"] == first["home_team"] and event["away"]["name"] == first["away_team"], f"{name}: the names", event["home"])
    both = (first["home_score"], first["away_score"])
    expect((event["score"]["home"], event["score"]["away"]) == both, f"{name}: the score {both}", event["score"])
    clock = event["time"]
    expect(clock["status"] == first["status"], f"{name}: the status {first['status']}", clock["status"])
    expect(clock["kickoff_at"] == first["event_date"], f"{name}: kick-off {first['event_date']}", clock["kickoff_at"])
    expect(event["websocket_plus"] == first["websocket_plus"], f"{name}: websocket_plus", event["websocket_plus"])
    if first["status"] in ("1st_half", "2nd_half"):
        expect(PERIODS[clock["period"]] == first["period"], f"{name}: the period {first['period']}", clock["period"])
        between = f"{name}: a minute from {first['current_minute']} to {second['current_minute']}"
        expect(first["current_minute"] <= clock["minute"] <= second["current_minute"], between, clock["minute"])
    elif first["status"] == "halftime":
        expect(first["period"] == "HT", f"{name}: period HT at half time", first["period"])
        expect(clock["minute"] == first["current_minute"], f"{name}: the minute {first['current_minute']}", clock["minute"])


def stats_agree(snapshot, first, _, stats):
    for side in ("home", "away"):
        for counter, value in snapshot["event"]["stats"][side].items():
            known = stats[side].get(counter)
            known = known["actual"] if counter == "xg" and isinstance(known, dict) else known
            at = f"{first['home_team']} - {first['away_team']}: {side} {counter}"
            expect(known == value, f"{at} of stats/: {known}", value)
        plain = {counter for counter, value in stats[side].items() if isinstance(value, int)}
        missing = sorted(plain - set(snapshot["event"]["stats"][side]) - COMPUTED)
        expect(not missing, f"{side}: the same counters on the socket", f"without {missing}")


# What REST computes from the others.
COMPUTED = {"attack_pct", "dangerous_attack_pct", "ball_safe_pct", "total_saves", "shots_inside_box", "shots_outside_box"}


def not_begun(live):
    upcoming = [event for event in live.client.get("/api/v2/events/", status="notstarted", limit=50)["results"] if event["live_websocket"]]
    if not upcoming:
        raise NotServed("no match that has not begun can be subscribed now")
    # The last of them, so that it does not begin while it is looked at.
    event = upcoming[-1]
    with live.socket() as socket:
        snapshot = socket.subscribe(event["id"])["event"]
    expect(snapshot["time"]["status"] == event["status"], f"status {event['status']}", snapshot["time"]["status"])
    score = {"home": event["home_score"], "away": event["away_score"]}
    expect(snapshot["score"] == score, f"the score {score}, as of REST", snapshot["score"])


def prices_agree(live):
    """Of a match whose prices are the same before and after the snapshot."""
    names = {
        ("match_winner", "home"): "home_win", ("match_winner", "draw"): "draw", ("match_winner", "away"): "away_win",
        ("over_under", "over_15"): "over_15_goals", ("over_under", "under_15"): "under_15_goals", ("over_under", "over_25"): "over_25_goals",
        ("over_under", "under_25"): "under_25_goals", ("over_under", "over_35"): "over_35_goals", ("over_under", "under_35"): "under_35_goals",
        ("btts", "yes"): "btts_yes", ("btts", "no"): "btts_no",
    }  # fmt: skip
    upcoming = [event["id"] for event in live.client.get("/api/v2/events/", status="notstarted", limit=50)["results"] if event["live_websocket"]]
    agreed = 0
    for _ in range(ROUNDS_MAX):
        for number in upcoming[:6]:
            before = live.client.get(f"/api/v2/events/{number}/odds/")["odds"]
            time.sleep(SHARED_S)
            with live.socket() as socket:
                prices = socket.subscribe(number)["odds"]["odds"]
            time.sleep(BEHIND_S)
            if live.client.get(f"/api/v2/events/{number}/odds/")["odds"] != before:
                continue
            for (market, outcome), name in names.items():
                expect(prices.get(market, {}).get(outcome) == before[name], f"{name} {before[name]}", prices.get(market))
            agreed += 1
        if agreed:
            return
    raise NotServed("prices moved each time")


def lists_agree(live):
    """A match that has not changed is the same in each answer about it."""
    compared = 0
    for _ in range(ROUNDS_MAX):
        for event in live.client.get("/api/v2/events/live/")["events"]:
            first, position = stand(live, event["id"])
            listed = {row["id"]: row for row in live.client.get("/api/v2/events/live/")["events"]}.get(event["id"])
            older = live.client.send("GET", f"/api/live/{event['id']}/")
            among = live.client.get("/api/v2/events/", league_id=event["league_id"], date=event["event_date"][:10], limit=200)["results"]
            row = {row["id"]: row for row in among}.get(event["id"])
            if position is None or stand(live, event["id"])[1] != position:
                continue
            expect(listed is not None and row is not None and older.status_code == 200, "the match in each list", older.status_code)
            for name in ("home_score", "away_score", "event_date", "home_team_id", "live_websocket", "websocket_plus"):
                expect(listed[name] == first[name] == row[name], f"the same {name} in lists and detail: {first[name]}", (listed[name], row[name]))
            for name in ("status", "period"):
                expect(first[name] == row[name], f"the same {name} in the list and the detail: {first[name]}", row[name])
            coarse = first["status"] if first["status"] in ("notstarted", "finished") else "inprogress"
            expect(listed["status"] == coarse, f"{coarse} in events/live/", listed["status"])
            if first["status"] in ("1st_half", "halftime", "2nd_half"):
                expect(listed["period"] == first["status"], f"period {first['status']} in events/live/", listed["period"])
            old = older.json()
            for name in ("home_score", "away_score", "home_team", "away_team", "period"):
                expect(old[name] == first[name], f"the same {name} in version 1: {first[name]}", old[name])
            compared += 1
        if compared:
            return
    raise NotServed("every match moved each time")


def tennis_agrees(live):
    """Of a match for which REST answers the same before and after."""
    for _ in range(ROUNDS_MAX):
        for number in live.tennis:
            before = live.client.get(f"/tennis/api/v2/matches/{number}/")
            time.sleep(SHARED_S)
            with live.socket("/ws/live/") as socket:
                snapshot = socket.subscribe(number, sport="tennis")
            time.sleep(BEHIND_S)
            after = live.client.get(f"/tennis/api/v2/matches/{number}/")
            fields = ("player1_sets", "player2_sets", "sets_detail", "current_point", "is_serving_p1", "status", "current_game_p1", "current_game_p2")
            if snapshot["type"] != "subscribed" or before["status"] != "live" or any(before[name] != after[name] for name in fields):
                continue
            score, event = snapshot["event"]["score"], snapshot["event"]
            expect((score["home_sets"], score["away_sets"]) == (before["player1_sets"], before["player2_sets"]), "the sets", score)
            expect(score["sets"] == [[row["p1"], row["p2"]] for row in before["sets_detail"]], f"the games {before['sets_detail']}", score["sets"])
            expect(score["point"] == before["current_point"], f"the point {before['current_point']}", score["point"])
            expect((score["server"] == "home") == before["is_serving_p1"], f"who serves: {before['is_serving_p1']}", score["server"])
            expect(event["status"]["name"] == before["status"], f"the status {before['status']}", event["status"])
            expect(event["home"]["id"] == before["player1"]["id"], "the players", event["home"])
            expect((score["home_games"], score["away_games"]) == (before["current_game_p1"], before["current_game_p2"]), "games of the set", score)
            return
    raise NotServed("a point was played each time")
