"""This script computes the truth of Betfair stream recordings.

    python3 tests/truths/betfair-stream.py FOLDER

It keeps the ladders of each market and prints, for each market, the last definition, and the prices
at each change of the status and at the end. `atb` and `atl` are ladders by price; `batb` and `batl`
are ladders by level, and are used only for a runner without the former. Before a market is closed,
its prices and volumes are set to 0, so `matched_volume` and `last_traded` are those from before.
The volume of a runner is the sum of its `trd` ladder: `tv` is the same in live recordings, but in
historic PRO files it is only what the message adds to the ladder. A market without a definition in
the file has prices and no status. Markets of horses and greyhounds with one `race` are of one race. `NaN` and `Infinity` are unknown.
"""

import json

from recording import files, folder, print_truth, read_text

LADDERS_BY_PRICE = {"atb": max, "atl": min}
LADDERS_BY_LEVEL = {"batb": "atb", "batl": "atl"}


def messages(path):
    """The messages of a file: one a line, or objects and lists of objects over several lines."""
    text, decoder, at = read_text(path).strip(), json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield from value if isinstance(value, list) else [value]
        while at < len(text) and text[at].isspace():
            at += 1


def number(value):
    """A number, or nothing for the texts `NaN` and `Infinity`."""
    return value if isinstance(value, (int, float)) and value == value and abs(value) != float("inf") else None


# The types of the markets of one race; others are about the meeting or a race to come.
OF_A_RACE = ("WIN", "PLACE", "OTHER_PLACE", "EACH_WAY", "MATCH_BET", "FORECAST", "REV_FORECAST", "TRICAST")


def race(definition):
    """The race of the market, as Betfair numbers races: the meeting and the off time in UTC. Nothing outside of racing."""
    if definition.get("eventTypeId") not in ("7", "4339") or definition.get("marketType") not in OF_A_RACE:
        return None
    hour, minute = definition["marketTime"][11:16].split(":")
    return f"{definition['eventId']}.{hour}{minute}"


class Market:
    def __init__(self):
        self.definition = None
        self.runners = {}
        self.image = False
        self.market_tv = None
        self.volumes = None
        self.moments = []

    def apply(self, change):
        definition = change.get("marketDefinition")
        if change.get("img"):
            if self.definition and definition and definition["version"] < self.definition["version"]:
                return
            self.runners, self.image, self.market_tv = {}, True, None
        if definition and (not self.definition or definition["version"] >= self.definition["version"]):
            self.definition = definition
        self.market_tv = change.get("tv", self.market_tv)
        for one in change.get("rc") or []:
            handicap = one.get("hc") or 0
            key = f"{one['id']}@{handicap}" if handicap else str(one["id"])
            runner = self.runners.setdefault(key, {"ladders": {}})
            runner.update({field: one[field] for field in ("ltp", "tv") if field in one})
            for name in (*LADDERS_BY_PRICE, *LADDERS_BY_LEVEL, "trd"):
                ladder = runner["ladders"].setdefault(name, {})
                for *level, size in one.get(name) or []:
                    # A level is a price, or a number and its price.
                    ladder.pop(level[0], None)
                    if size:
                        ladder[level[0]] = [level[-1], size]

    def keep_volumes(self):
        """Keeps the matched volumes, unless all of them are 0."""
        by_runner = {}
        for key, runner in sorted(self.runners.items()):
            traded = runner["ladders"].get("trd", {}).values()
            by_runner[key] = round(sum(size for _, size in traded) if traded else runner.get("tv", 0), 2)
        market = self.market_tv or round(sum(by_runner.values()), 2)
        if market:
            self.volumes = {"market": market, "runners": by_runner}

    def state(self):
        return (self.definition["status"], self.definition["inPlay"]) if self.definition else None

    def best(self, runner, side):
        """The best price and its size."""
        ladders = runner["ladders"]
        if any(ladders.get(name) for name in LADDERS_BY_PRICE):
            levels = ladders.get(side, {})
            return levels[LADDERS_BY_PRICE[side](levels)] if levels else None
        level = next(name for name, of in LADDERS_BY_LEVEL.items() if of == side)
        return ladders.get(level, {}).get(0)

    def prices(self):
        return {key: {"back": self.best(runner, "atb"), "lay": self.best(runner, "atl"),
                      "last_traded": number(runner.get("ltp"))}
                for key, runner in sorted(self.runners.items())}

    def truth(self):
        truth = {"image": self.image, "definition": self.definition is not None}
        if self.definition:
            fields = ("eventId", "eventName", "name", "venue", "marketTime", "marketType", "bettingType",
                      "numberOfWinners", "betDelay", "status", "inPlay", "bspReconciled", "version")
            truth |= {field: self.definition.get(field) for field in fields}
            truth["race"] = race(self.definition)
            truth["runners"] = {
                f"{one['id']}@{one['hc']}" if one.get("hc") else str(one["id"]): {
                    "name": one.get("name"), "status": one["status"], "bsp": number(one.get("bsp")),
                    "adjustment_factor": one.get("adjustmentFactor"), "removed_at": one.get("removalDate")}
                for one in self.definition["runners"]}
            truth["winners"] = [key for key, one in truth["runners"].items() if one["status"] == "WINNER"]
        # The wipe before the close is no trade: the last prices are those of the last suspension.
        before = [moment for moment in self.moments if moment["status"] == "SUSPENDED"] \
            if self.definition and self.definition["status"] == "CLOSED" else []
        last = before[-1]["prices"] if before else self.prices()
        truth |= {"matched_volume": self.volumes,
                  "last_traded": {key: prices["last_traded"] for key, prices in last.items()},
                  "moments": self.moments, "prices_at_end": self.prices()}
        return truth


def main():
    for path in files(folder(), ""):
        markets = {}
        for message in messages(path):
            changed = {}
            for change in message.get("mc", []):
                market = markets.setdefault(change["id"], Market())
                changed.setdefault(change["id"], (market, market.state()))
                market.apply(change)
            # One message may change a market twice, so the prices count after all of it.
            for market, before in changed.values():
                market.keep_volumes()
                if market.state() != before:
                    status, in_play = market.state()
                    market.moments.append({"at": message["pt"], "status": status, "in_play": in_play,
                                           "prices": market.prices()})
        for key, market in markets.items():
            print_truth(path, key, market.truth())


if __name__ == "__main__":
    main()
