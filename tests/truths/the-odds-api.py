"""This script computes the truth of answers of The Odds API: `python3 tests/truths/the-odds-api.py FOLDER`.

Of each event it prints the sides, the start, and the prices by bookmaker and market. Of several copies
of a market the one with the newest `last_update` is valid. Prices are American if none of the file is
between -100 and 100, else they are decimal; both are printed as written. A match that is `completed`
without both scores has no result, and one with scores that is not completed is live.
"""

from recording import files, folder, print_truth, read_json

SIDES = ("home", "away")


def events_of(answer):
    """The events of an answer, and the time of a historical answer."""
    taken_at = None
    if isinstance(answer, dict) and "data" in answer:
        taken_at, answer = answer["timestamp"], answer["data"]
    return (answer if isinstance(answer, list) else [answer]), taken_at


def outcome_key(outcome):
    return f"{outcome['name']}@{outcome['point']}" if "point" in outcome else outcome["name"]


def read_prices(event, prices):
    """Adds the prices of an event, unless those that are known are newer."""
    for bookmaker in event.get("bookmakers", []):
        for market in bookmaker["markets"]:
            updated = market.get("last_update") or bookmaker.get("last_update")
            book = prices.setdefault(bookmaker["key"], {})
            known = book.get(market["key"])
            if known is None or (updated or "") >= (known["last_update"] or ""):
                book[market["key"]] = {"last_update": updated, "outcomes": {
                    outcome_key(outcome): outcome["price"] for outcome in market["outcomes"]}}


def read_score(event):
    """The status and the score by side, from `completed` and `scores`."""
    if "completed" not in event:
        return {}
    by_name = {entry["name"]: entry["score"] for entry in event["scores"] or []}
    values = [by_name.get(event[side + "_team"]) for side in SIDES]
    score = None if None in values else dict(zip(SIDES, map(int, values)))
    if event["completed"]:
        status = "finished" if score else "completed_without_result"
    else:
        status = "live" if score else "not_started"
    return {"status": status, "score": score}


def differences(event, prices):
    """Names of outcomes that are no side, and books that no bookmaker offers."""
    sides = {event["home_team"], event["away_team"], "Draw", "Over", "Under"}
    for bookmaker, book in prices.items():
        for key, market in book.items():
            names = {outcome.split("@")[0] for outcome in market["outcomes"]}
            if key == "h2h" and not names <= sides:
                yield f"{bookmaker} {key}: outcomes {sorted(names - sides)} are no side"


def main():
    for path in files(folder(), ".json"):
        events, taken_at = events_of(read_json(path))
        found = {}
        for event in events:
            truth, prices, _ = found.setdefault(event["id"], ({}, {}, event))
            truth |= {"sport": event["sport_key"], "start": event["commence_time"],
                      "home": event["home_team"], "away": event["away_team"], "taken_at": taken_at}
            truth |= read_score(event)
            read_prices(event, prices)
        written = [price for _, prices, _ in found.values() for book in prices.values()
                   for market in book.values() for price in market["outcomes"].values()]
        american = all(abs(price) >= 100 for price in written)
        for key, (truth, prices, event) in found.items():
            truth |= {"odds_format": ("american" if american else "decimal") if written else None,
                      "prices": prices}
            print_truth(path, key, truth, list(differences(event, prices)))


if __name__ == "__main__":
    main()
