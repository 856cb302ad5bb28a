"""This script computes the truth of API-Football answers: `python3 tests/truths/api-football.py FOLDER`.

A fixture states its status, its goals (with those of extra time, without the shoot-out) and the score
by part. A result that no field states stays unknown. Of a fixture with events the goals are listed:
kicks of a shoot-out, missed penalties and goals that a later VAR decision cancelled are none. Answers
without a fixture (events, odds in play, standings, errors) have lines of their own.
"""

from recording import files, folder, print_truth, read_json

SIDES = ("home", "away")
STATUSES = {"TBD": "not_started", "NS": "not_started", "1H": "first_half", "HT": "half_time",
            "2H": "second_half", "ET": "extra_time", "BT": "extra_half", "P": "penalties",
            "FT": "finished", "AET": "finished", "PEN": "finished", "PST": "postponed",
            "CANC": "cancelled", "ABD": "abandoned", "SUSP": "interrupted", "INT": "interrupted",
            "AWD": "awarded", "WO": "walkover", "LIVE": "live"}
CARDS = {"Yellow Card": "yellow", "Second Yellow card": "second_yellow", "Red Card": "red"}


def score(values):
    """Both numbers, or nothing: half a score is unknown."""
    if not values or None in (values["home"], values["away"]):
        return None
    return {side: values[side] for side in SIDES}


def is_kick(event, status):
    """Whether the event is a kick of the shoot-out. Its comment may be missing."""
    if event["type"] != "Goal" or event["detail"] not in ("Penalty", "Missed Penalty"):
        return False
    if event["comments"]:
        return event["comments"] == "Penalty Shootout"
    return status in ("P", "PEN") and event["time"]["elapsed"] >= 120


def is_cancelled(goal, events):
    """Whether a VAR decision of the same minute or the next ones cancels the goal."""
    return any(event["type"] == "Var" and event["team"]["id"] == goal["team"]["id"]
               and event["detail"].lower() in ("goal cancelled", "goal disallowed", "goal disallowed - offside")
               and 0 <= event["time"]["elapsed"] - goal["time"]["elapsed"] <= 3 for event in events)


def read_events(events, side_of, status=None):
    """Goals, kicks, cards and substitutions. An own goal has the team that it counts for."""
    goals, kicks, cards = [], [], []
    substitutions = {side: 0 for side in side_of.values()}
    for event in events:
        what = {"minute": event["time"]["elapsed"], "added": event["time"]["extra"],
                "side": side_of[event["team"]["id"]], "player": event["player"]["name"]}
        if is_kick(event, status):
            kicks.append({**what, "scored": event["detail"] == "Penalty"})
        elif event["type"] == "Goal" and event["detail"] != "Missed Penalty":
            kind = {"Own Goal": "own_goal", "Penalty": "penalty"}.get(event["detail"], "regular")
            if not is_cancelled(event, events):
                goals.append({**what, "type": kind})
        elif event["type"] == "Card":
            cards.append({**what, "card": CARDS[event["detail"]]})
        elif event["type"] == "subst":
            substitutions[what["side"]] += 1
    # The list has the kicks in any order. Their added minutes number them.
    kicks.sort(key=lambda kick: (kick["minute"], kick["added"] or 0))
    return {"goals": goals, "kicks": kicks, "cards": cards, "substitutions": substitutions}


def count(items, sides=SIDES):
    return {side: sum(item["side"] == side for item in items) for side in sides}


def read_fixture(fixture):
    """The truth of one fixture, and what contradicts it."""
    status = fixture["fixture"]["status"]["short"]
    parts = fixture["score"]
    truth = {side: fixture["teams"][side]["name"] for side in SIDES}
    truth |= {"start": fixture["fixture"]["date"], "status": STATUSES[status],
              "score": score(fixture["goals"]), "half_time": score(parts["halftime"]),
              "extra_time": score(parts["extratime"]), "shootout": score(parts["penalty"])}
    winners = [side for side in SIDES if fixture["teams"][side]["winner"]]
    truth["winner"] = winners[0] if winners else None
    found = []
    if fixture.get("events"):
        side_of = {fixture["teams"][side]["id"]: side for side in SIDES}
        truth |= read_events(fixture["events"], side_of, status)
        if count(truth["goals"]) != truth["score"]:
            found.append(f"goals is {truth['score']}, the events give {count(truth['goals'])}")
        scored = [kick for kick in truth["kicks"] if kick["scored"]]
        if truth["kicks"] and count(scored) != truth["shootout"]:
            found.append(f"score.penalty is {truth['shootout']}, the events give {count(scored)}")
    if truth["status"] == "finished" and truth["score"] is None:
        found.append("the match is finished, and no field states the result")
    return truth, found


def print_prices(path, fixture):
    """Odds in play. A price of 0 is none, and a price may be suspended."""
    prices, found = {}, []
    for market in fixture["odds"]:
        for value in market["values"]:
            key = f"{market['id']}|{value['value']}|{value['handicap'] or ''}"
            price = None if float(value["odd"]) <= 1 else value["odd"]
            prices.setdefault(key, []).append({"price": price, "suspended": value["suspended"]})
    found = [f"{key} has {len(offered)} prices" for key, offered in prices.items() if len(offered) > 1]
    truth = {"status": fixture["fixture"]["status"]["long"], "clock": fixture["fixture"]["status"]["seconds"],
             "score": {side: fixture["teams"][side]["goals"] for side in SIDES},
             "updated": fixture["update"], "markets": len(fixture["odds"]), "prices": prices}
    print_truth(path, fixture["fixture"]["id"], truth, found)


def main():
    for path in files(folder(), ".json"):
        answer = read_json(path)
        endpoint, response = answer["get"], answer["response"]
        missing = [f"results is {answer['results']}, the answer has {len(response)}"] \
            if answer["results"] != len(response) else []
        if answer["errors"]:
            print_truth(path, endpoint, {"errors": answer["errors"], "fixtures": 0})
        elif endpoint in ("fixtures", "fixtures/headtohead", "predictions"):
            for fixture in response[0]["h2h"] if endpoint == "predictions" else response:
                truth, found = read_fixture(fixture)
                print_truth(path, fixture["fixture"]["id"], truth, found + missing)
        elif endpoint == "fixtures/events":
            names = {event["team"]["id"]: event["team"]["name"] for event in response}
            truth = read_events(response, names)
            truth["goals_by_team"] = count(truth["goals"], names.values())
            print_truth(path, answer["parameters"]["fixture"], truth, missing)
        elif endpoint == "odds/live":
            for fixture in response:
                print_prices(path, fixture)
        elif endpoint == "standings":
            league = response[0]["league"]
            table = [{"team": row["team"]["name"], "points": row["points"], **row["all"]}
                     for row in league["standings"][0]]
            print_truth(path, f"{league['name']} {league['season']}", {"table": table}, missing)


if __name__ == "__main__":
    main()
