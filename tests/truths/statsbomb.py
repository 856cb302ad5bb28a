"""This script computes the truth of StatsBomb recordings: `python3 tests/truths/statsbomb.py FOLDER`.

It orders the events by period and time and does not use `index`. A goal is a `Shot` with the outcome
`Goal`, or an `Own Goal For`. An own goal counts only if the fields of its two events agree: the
player belongs to the team that he scores against, and the minute belongs to the period. If the file
is a fragment (numbers of events are missing), the list `events` of the line-ups states the result.
"""

from recording import files, folder, football_minute, print_truth, read_json

SIDES = ("home", "away")
START_OF_PERIOD = {1: 0, 2: 45, 3: 90, 4: 105, 5: 120}
CARDS = {"Yellow Card": "yellow", "Second Yellow": "second_yellow", "Red Card": "red"}


def seconds_of(timestamp):
    hours, minutes, seconds = timestamp.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def name_of(event, field):
    return event.get(field, {}).get("name")


def team_of_players(events, lineups):
    teams = {player["player_id"]: team["team_name"] for team in lineups for player in team["lineup"]}
    for event in events:
        for player in event.get("tactics", {}).get("lineup", []):
            teams.setdefault(player["player"]["id"], event["team"]["name"])
    return teams


def why_impossible(event, against, teams):
    """What is wrong with the two events of an own goal, or nothing."""
    found = []
    for one in filter(None, (event, against)):
        if one["minute"] < START_OF_PERIOD[one["period"]]:
            found.append(f"minute {one['minute']} is before period {one['period']}")
    if against is None:
        found.append("no event `Own Goal Against` belongs to it")
    elif teams.get(against["player"]["id"]) != against["team"]["name"]:
        found.append(f"{name_of(against, 'player')} does not play for {against['team']['name']}")
    return found


def read_events(events, side_of, teams):
    goals, kicks, cards, refused = [], [], [], []
    substitutions = {side: 0 for side in SIDES}
    by_id = {event["id"]: event for event in events}
    for event in sorted(events, key=lambda event: (event["period"], event["timestamp"])):
        kind, period = event["type"]["name"], event["period"]
        what = {**football_minute(period, seconds_of(event["timestamp"])), "period": period,
                "side": side_of[event["team"]["name"]], "player": name_of(event, "player")}
        card = (name_of(event.get("foul_committed", {}), "card")
                or name_of(event.get("bad_behaviour", {}), "card"))
        if card:
            cards.append({**what, "card": CARDS[card]})
        if kind == "Substitution":
            substitutions[what["side"]] += 1
        elif kind == "Shot" and period == 5:
            kicks.append({**what, "scored": name_of(event["shot"], "outcome") == "Goal"})
        elif kind == "Shot" and name_of(event["shot"], "outcome") == "Goal":
            penalty = name_of(event["shot"], "type") == "Penalty"
            goals.append({**what, "type": "penalty" if penalty else "regular"})
        elif kind == "Own Goal For":
            against = next((by_id[other] for other in event.get("related_events", []) if other in by_id
                            and by_id[other]["type"]["name"] == "Own Goal Against"), None)
            wrong = why_impossible(event, against, teams)
            what["player"] = name_of(against, "player") if against else None
            if wrong:
                refused.append(f"own goal {event['id']}: " + "; ".join(dict.fromkeys(wrong)))
            else:
                goals.append({**what, "type": "own_goal"})
    return goals, kicks, cards, substitutions, refused


def read_lineups(lineups, side_of):
    """Goals and cards of the line-ups' own lists. Their times are those of the match clock."""
    goals, cards = [], []
    for team in lineups:
        for event in team.get("events", []):
            period, outcome = event["period"], event.get("outcome")
            seconds = seconds_of(event["timestamp"]) - START_OF_PERIOD[period] * 60
            what = {**football_minute(period, seconds), "period": period,
                    "side": side_of[team["team_name"]], "player": event.get("player_name")}
            if outcome in CARDS:
                cards.append({**what, "card": CARDS[outcome]})
            elif outcome == "Goal":
                goals.append({**what, "type": "penalty" if event["type"] == "Penalty" else "regular"})
    order = lambda item: (item["period"], item["minute"], item["added"] or 0)
    return sorted(goals, key=order), sorted(cards, key=order)


def count(goals, periods):
    return {side: sum(goal["side"] == side and goal["period"] in periods for goal in goals)
            for side in SIDES}


def main():
    where = folder()
    for path in files(where, ".events.json"):
        key = path.name.split(".")[0]
        events = read_json(path)
        lineups = [team for other in files(where, f"{key}.lineups.json") for team in read_json(other)]
        # The first team that lines up is the home team.
        names = [event["team"]["name"] for event in events if event["type"]["name"] == "Starting XI"]
        side_of = dict(zip(names, SIDES))
        complete = {event["index"] for event in events} == set(range(1, max(e["index"] for e in events) + 1))
        goals, kicks, cards, substitutions, found = read_events(
            events, side_of, team_of_players(events, lineups))
        if not complete:
            goals, cards = read_lineups(lineups, side_of)
        last = max(event["period"] for event in events)
        ended = last >= 2 and any(e["type"]["name"] == "Half End" and e["period"] == last for e in events)
        truth = {"home": names[0], "away": names[1], "status": "finished" if ended else "live",
                 "score": count(goals, (1, 2, 3, 4)), "half_time": count(goals, (1,)),
                 "extra_time": count(goals, (3, 4)) if last > 2 else None,
                 "shootout": count([kick for kick in kicks if kick["scored"]], (5,)) if kicks else None,
                 "goals": goals, "cards": cards, "events_complete": complete}
        if complete:
            truth["substitutions"] = substitutions
        print_truth(path, key, truth, found)


if __name__ == "__main__":
    main()
