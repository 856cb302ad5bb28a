"""This script computes the truth of Sportradar UOF messages: `python3 tests/truths/sportradar-uof.py FOLDER`.

It prints a line for each file. Markets have the key `id?specifiers`, with the specifiers in order. Of a
settlement it prints, for each outcome, the part of the stake that wins (at the price), and the part
that is refunded; the rest is lost. `void_factor` refunds a part, and `dead_heat_factor` reduces the
part that wins. Prices have the digits of the source, and `NaN` is no number. The status of a match
without scores has no score.
"""

import xml.etree.ElementTree as ElementTree
from decimal import Decimal

from recording import files, folder, print_truth, read_bytes

MARKET_STATUSES = {"1": "active", "0": "deactivated", "-1": "suspended", "-2": "handed_over",
                   "-3": "settled", "-4": "cancelled", None: None}


def parse(path):
    """The document, with plain names of elements."""
    root = ElementTree.fromstring(read_bytes(path).decode("utf-8-sig").strip())
    for element in root.iter():
        element.tag = element.tag.split("}")[-1]
    return root


def market_key(market):
    specifiers = "|".join(sorted(filter(None, market.get("specifiers", "").split("|"))))
    return f"{market.get('id')}?{specifiers}" if specifiers else market.get("id")


def number(text):
    return None if text in (None, "NaN", "Infinity") else text


def settlement(outcome):
    """The parts of the stake that win and that are refunded. The result -1 is undecided."""
    if outcome.get("result") == "-1":
        return None
    refunded = Decimal(outcome.get("void_factor", "0"))
    won = Decimal(outcome.get("result")) * (1 - refunded) * Decimal(outcome.get("dead_heat_factor", "1"))
    return {"won": float(won), "refunded": float(refunded)}


def match_state(root):
    """The status of the match, from the element `sport_event_status`."""
    status = root.find(".//sport_event_status")
    if status is None:
        return {}
    numbers = [status.get("home_score"), status.get("away_score")]
    clock = status.find("clock")
    return {"status": status.get("status"), "match_status": status.get("match_status"),
            "score": None if None in numbers else [int(Decimal(one)) for one in numbers],
            "period_scores": [[part.get("number"), part.get("home_score"), part.get("away_score")]
                              for part in status.iter("period_score")],
            "clock": None if clock is None else clock.get("match_time"),
            "winner_id": status.get("winner_id")}


def read_odds(root):
    """Status and prices of each market of `odds_change`, or probabilities of `cashout`."""
    return {market_key(market): {
        "status": MARKET_STATUSES[market.get("status")],
        "outcomes": {outcome.get("id"): {
            "price": number(outcome.get("odds")), "probability": number(outcome.get("probabilities")),
            "active": outcome.get("active", "1") == "1"} for outcome in market.iter("outcome")}}
        for market in root.iter("market")}


def read_match(root):
    """The fixture: start, sides, players of a side, and what may be unknown."""
    event = root.find("fixture") if root.find("fixture") is not None else root.find("sport_event")
    tournament, sport = event.find("tournament"), event.find(".//sport")
    sides = {side.get("qualifier"): {
        "id": side.get("id"), "name": side.get("name"), "gender": side.get("gender"),
        "players": [player.get("name") for player in side.iter("player")]} for side in event.iter("competitor")}
    return event.get("id"), {
        "start": event.get("start_time") or event.get("scheduled"), "fixture_status": event.get("status"),
        "tournament": None if tournament is None else tournament.get("name"),
        "sport": None if sport is None else sport.get("name"), "sides": sides,
        "generated_at": root.get("generated_at"),
        "extra_info": {info.get("key"): info.get("value") for info in event.iter("info")}}


def read_timeline(root):
    """Goals and cards with the minute in progress, and the score at half time."""
    goals, cards, half_time = [], [], None
    for event in root.iter("event"):
        kind = event.get("type")
        what = {"minute": int(event.get("match_time", 0)), "side": event.get("team")}
        if kind == "score_change":
            goals.append({**what, "score": [int(event.get("home_score")), int(event.get("away_score"))]})
        elif kind in ("yellow_card", "red_card", "yellow_red_card"):
            card = {"yellow_card": "yellow", "red_card": "red", "yellow_red_card": "second_yellow"}[kind]
            cards.append({**what, "card": card})
        elif kind == "period_score" and event.get("period") == "1":
            half_time = [int(event.get("home_score")), int(event.get("away_score"))]
    return {"goals": goals, "cards": cards, "half_time": half_time}


def read_message(root):
    """The key and the truth of a message. Most have the match as key, and some the producer alone."""
    kind = root.tag
    key = root.get("event_id") or f"product {root.get('product')}"
    truth = {"message": kind, "product": root.get("product"), "timestamp": root.get("timestamp")}
    if kind in ("odds_change", "cashout"):
        truth |= match_state(root) | {"markets": read_odds(root)}
    elif kind == "bet_settlement":
        truth["certainty"] = root.get("certainty")
        truth["markets"] = {market_key(market): {outcome.get("id"): settlement(outcome)
                                                 for outcome in market.iter("outcome")}
                            for market in root.iter("market")}
    elif kind in ("bet_cancel", "rollback_bet_cancel", "rollback_bet_settlement"):
        truth |= {"from": root.get("start_time"), "until": root.get("end_time"),
                  "markets": [market_key(market) for market in root.iter("market")]}
    elif kind in ("fixtures_fixture", "match_summary", "match_timeline"):
        key, match = read_match(root)
        truth |= match | match_state(root)
        if kind == "match_timeline":
            truth |= read_timeline(root)
    else:
        truth |= {name: value for name, value in root.attrib.items() if name != "event_id"}
    return key, truth


def main():
    for path in files(folder(), ".xml"):
        key, truth = read_message(parse(path))
        found = []
        if truth.get("goals") and truth["goals"][-1]["score"] != truth["score"]:
            found.append(f"the score is {truth['score']}, the goals give {truth['goals'][-1]['score']}")
        print_truth(path, key, truth, found)


if __name__ == "__main__":
    main()
