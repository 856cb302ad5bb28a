"""This script computes the truth of Stats Perform recordings: `python3 tests/truths/statsperform.py FOLDER`.

It reads MA1 (the match with lists of goals, cards and substitutions) and MA3 (all events), each as
JSON or as XML. An event of type 43 is deleted, and a goal with outcome 0 is disallowed. The side of a
goal in MA1 is the side whose running score grew, so an own goal needs no rule.
"""

import xml.etree.ElementTree as ElementTree

from recording import files, folder, football_minute, print_truth, read_bytes, read_json

SIDES = ("home", "away")
START_OF_PERIOD = {1: 0, 2: 45, 3: 90, 4: 105, 5: 120}
GOAL, CARD, SUBSTITUTE_ON, PENALTY_MISSED = "16", "17", "19", ("13", "14", "15")
PENALTY, OWN_GOAL = "9", "28"
CARD_QUALIFIERS = {"31": "yellow", "32": "second_yellow", "33": "red"}
CARD_TYPES = {"YC": "yellow", "Y2C": "second_yellow", "RC": "red"}
GOAL_TYPES = {"G": "regular", "PG": "penalty", "OG": "own_goal"}


def read_document(path):
    """The match, its details and its lists, the same for JSON and XML. All values become text."""
    if ".json" in path.name:
        data = read_json(path)
        info, live = data["matchInfo"], data["liveData"]
        details = live["matchDetails"]
        lists = {name: live.get(name, []) for name in ("goal", "card", "substitute", "event")}
        scores, contestants = details["scores"], info["contestant"]
    else:
        root = ElementTree.fromstring(read_bytes(path))
        info, live = root.find("matchInfo").attrib, root.find("liveData")
        contestants = [one.attrib for one in root.iter("contestant")]
        details = live.find("matchDetails").attrib
        scores = {part.tag: part.attrib for part in live.find("matchDetails/scores")}
        lists = {name: [one.attrib for one in live.iter(name)] for name in ("goal", "card", "substitute")}
        lists["event"] = [{**one.attrib, "qualifier": [part.attrib for part in one.findall("qualifier")]}
                          for one in live.iter("event")]
    return info, contestants, details, scores, lists


def moment(period, minutes, seconds):
    """Period 2 counts from 45:00, so the start of the period is taken off."""
    period = int(period)
    since_start = (int(minutes) - START_OF_PERIOD[period]) * 60 + int(seconds)
    return {**football_minute(period, since_start), "period": period}


def read_summary(lists, side_of):
    """Goals, cards and substitutions of MA1."""
    goals, cards, before = [], [], {side: 0 for side in SIDES}
    for goal in lists["goal"]:
        after = {side: int(goal[side + "Score"]) for side in SIDES}
        side = next(side for side in SIDES if after[side] > before[side])
        before = after
        goals.append({**moment(goal["periodId"], *goal["timeMinSec"].split(":")), "side": side,
                      "player": goal.get("scorerName"), "type": GOAL_TYPES[goal["type"]]})
    for card in lists["card"]:
        cards.append({**moment(card["periodId"], *card["timeMinSec"].split(":")),
                      "side": side_of[card["contestantId"]], "card": CARD_TYPES[card["type"]],
                      "player": card.get("playerName"), "official": card.get("officialName")})
    return goals, cards, [side_of[one["contestantId"]] for one in lists["substitute"]], []


def read_events(lists, side_of):
    """Goals, cards, substitutions and kicks of a shoot-out of MA3."""
    goals, cards, substitutions, kicks = [], [], [], []
    played = [event for event in lists["event"] if str(event["periodId"]) in "12345"]
    order = lambda event: (int(event["periodId"]), int(event["timeMin"]), int(event["timeSec"]))
    for event in sorted(played, key=order):
        kind = str(event["typeId"])
        qualifiers = {str(one["qualifierId"]) for one in event.get("qualifier", [])}
        side = side_of.get(event.get("contestantId"))
        what = {**moment(event["periodId"], event["timeMin"], event["timeSec"]), "side": side,
                "player": event.get("playerName")}
        if what["period"] == 5 and (kind == GOAL or kind in PENALTY_MISSED):
            kicks.append({**what, "scored": kind == GOAL})
        elif kind == GOAL and str(event["outcome"]) == "1":
            own_goal = OWN_GOAL in qualifiers
            what["side"] = SIDES[1 - SIDES.index(side)] if own_goal else side
            what["type"] = "own_goal" if own_goal else "penalty" if PENALTY in qualifiers else "regular"
            goals.append(what)
        elif kind == CARD:
            cards.append({**what, "card": CARD_QUALIFIERS[min(qualifiers & CARD_QUALIFIERS.keys())]})
        elif kind == SUBSTITUTE_ON:
            substitutions.append(side)
    return goals, cards, substitutions, kicks


def count(goals, periods):
    return {side: sum(goal["side"] == side and goal["period"] in periods for goal in goals)
            for side in SIDES}


def main():
    for path in files(folder(), ".ma1.json", ".ma3.json", ".ma1.xml", ".ma3.xml"):
        info, contestants, details, scores, lists = read_document(path)
        side_of = {one["id"]: one["position"] for one in contestants}
        read = read_events if ".ma3." in path.name else read_summary
        goals, cards, substitutions, kicks = read(lists, side_of)
        truth = {one["position"]: one["name"] for one in contestants}
        truth |= {"start": f"{info['date'].rstrip('Z')}T{info['time']}",
                  "status": "finished" if details["matchStatus"] == "Played" else details["matchStatus"],
                  "score": count(goals, (1, 2, 3, 4)), "half_time": count(goals, (1,)),
                  "extra_time": count(goals, (3, 4)) if "et" in scores else None,
                  "shootout": count([kick for kick in kicks if kick["scored"]], (5,)) if kicks else None,
                  "goals": goals, "cards": cards,
                  "substitutions": {side: substitutions.count(side) for side in SIDES}}
        found = [f"{name} is {scores[field]}, the goals give {truth[name]}"
                 for name, field in (("score", "total"), ("half_time", "ht"))
                 if {side: int(scores[field][side]) for side in SIDES} != truth[name]]
        print_truth(path, info["id"], truth, found)


if __name__ == "__main__":
    main()
