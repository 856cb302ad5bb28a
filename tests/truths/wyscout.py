"""This script computes the truth of Wyscout recordings: `python3 tests/truths/wyscout.py FOLDER`.

The events state the goals, cards and kicks of a shoot-out. The match record (in `matches.json`, or
in the file itself) states the sides, the start, the substitutions, and the result a second time: its
`score` is the score after 90 minutes, and `scoreET` is the score after 120 minutes if `duration`
is not `Regular`. The label states the result a third time. If they differ, complete events decide.
"""

import re

from recording import files, folder, football_minute, print_truth, read_json

SIDES = ("home", "away")
PERIODS = {"1H": 1, "2H": 2, "E1": 3, "E2": 4, "P": 5}
FREE_KICK, SHOT, PENALTY = 3, 10, 35
GOAL_TAG, OWN_GOAL_TAG = 101, 102
CARD_TAGS = {1701: "red", 1702: "yellow", 1703: "second_yellow"}


def text(name):
    """A name without the second level of escapes that names of the public data set have."""
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), name)


def team_name(teams, team_id):
    entry = teams[str(team_id)]
    return text(entry.get("team", entry)["name"])


def player_names(squads):
    players = [entry.get("player", entry) for squad in squads.values() for entry in squad]
    return {player["wyId"]: text(player["shortName"]) for player in players if player}


def read_events(events, side_of, players):
    """The goals, cards and kicks of a shoot-out. Some files have numbers in the name fields."""
    goals, cards, kicks = [], [], []
    for event in sorted(events, key=lambda event: (PERIODS[event["matchPeriod"]], event["eventSec"])):
        period = PERIODS[event["matchPeriod"]]
        tags = {tag["id"] for tag in event["tags"]}
        kind = event.get("eventId", event["eventName"])
        penalty = kind == FREE_KICK and event.get("subEventId", event["subEventName"]) == PENALTY
        what = {**football_minute(period, event["eventSec"]), "period": period,
                "side": side_of[event["teamId"]], "player": players.get(event["playerId"])}
        if period == 5:
            if penalty:
                kicks.append({**what, "scored": GOAL_TAG in tags})
        elif OWN_GOAL_TAG in tags:
            other = next(side for team, side in side_of.items() if team != event["teamId"])
            goals.append({**what, "side": other, "type": "own_goal"})
        elif GOAL_TAG in tags and kind in (SHOT, FREE_KICK):
            goals.append({**what, "type": "penalty" if penalty else "regular"})
        for tag in sorted(tags & CARD_TAGS.keys()):
            cards.append({**what, "card": CARD_TAGS[tag], "player_id": event["playerId"]})
    return goals, cards, kicks


def count(items, sides, periods):
    return {side: sum(item["side"] == side and item["period"] in periods for item in items)
            for side in sides}


def read_record(record):
    """What the match record states."""
    sides = {team["side"]: team for team in record["teamsData"].values()}
    score, half_time, after_120, shootout = (
        {side: int(sides[side][field]) for side in SIDES}
        for field in ("score", "scoreHT", "scoreET", "scoreP"))
    regular = record["duration"] == "Regular"
    listed = {side: sides[side]["formation"]["substitutions"] for side in SIDES}
    return {
        "start": record["dateutc"],
        "status": "finished" if record["status"] == "Played" else record["status"],
        "score": score if regular else after_120,
        "half_time": half_time,
        "extra_time": None if regular else {side: after_120[side] - score[side] for side in SIDES},
        "shootout": shootout if record["duration"] == "Penalties" else None,
        "substitutions": {side: 0 if listed[side] == "null" else len(listed[side]) for side in SIDES},
    }


def cards_without_event(record, cards):
    """Cards of players who have one in the record and none in the events."""
    shown = {card["player_id"] for card in cards}
    return [{"side": team["side"], "player_id": player["playerId"], "minute": int(player[field])}
            for team in record["teamsData"].values()
            for player in team["formation"]["lineup"] + team["formation"]["bench"]
            for field in ("yellowCards", "redCards")
            if player[field] not in ("0", "null") and player["playerId"] not in shown]


def differences(record, from_events):
    """Results of the record and of its label that the events exclude."""
    stated = read_record(record)
    label = re.search(r", (\d+) - (\d+)(?: \(\w\))?$", text(record["label"]))
    results = [(name, stated[name], from_events[name]) for name in ("score", "half_time", "extra_time")]
    results.append(("label", dict(zip(SIDES, map(int, label.groups()))), from_events["score"]))
    return [f"{name} is {value}, the events give {expected}"
            for name, value, expected in results if value != expected]


def main():
    where = folder()
    records = {record["wyId"]: (path, record)
               for path in files(where, "matches.json") for record in read_json(path)}
    for path in files(where, ".json"):
        if path.name.startswith("matches.json"):
            continue
        data = read_json(path)
        key = data["events"][0]["matchId"]
        record = data.get("match") or records.pop(key, (path, None))[1]
        # A fragment ends before the match does.
        complete = any(event["matchPeriod"] == "2H" and event.get("eventSec", 0) > 40 * 60
                       for event in data["events"])
        truth, found = {"home": None, "away": None}, []
        if record:
            side_of = {team["teamId"]: team["side"] for team in record["teamsData"].values()}
            truth |= {side: team_name(data["teams"], team) for team, side in side_of.items()}
            truth |= read_record(record)
        else:
            side_of = {int(team): team_name(data["teams"], team) for team in data["teams"]}
        if complete:
            sides = SIDES if record else list(side_of.values())
            goals, cards, kicks = read_events(data["events"], side_of, player_names(data["players"]))
            extra_time = any(event["matchPeriod"] == "E1" for event in data["events"])
            truth |= {"score": count(goals, sides, (1, 2, 3, 4)), "half_time": count(goals, sides, (1,)),
                      "extra_time": count(goals, sides, (3, 4)) if extra_time else None,
                      "goals": goals, "cards": cards, "kicks": kicks}
            if kicks:
                truth["shootout"] = count([kick for kick in kicks if kick["scored"]], sides, (5,))
            if record:
                truth["cards_without_event"] = cards_without_event(record, cards)
                found = differences(record, truth)
        print_truth(path, key, {**truth, "events_complete": complete}, found)
    for key, (path, record) in records.items():
        home, away = text(record["label"]).rsplit(", ", 1)[0].split(" - ", 1)
        print_truth(path, key, {"home": home, "away": away, **read_record(record), "events_complete": False})


if __name__ == "__main__":
    main()
