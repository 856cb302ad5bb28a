"""Whether Grafana can show the dashboards: their form, as far as it is known without Grafana."""

import json
import re

# Units of Grafana that the panels use, by their ids there.
UNITS = {"s", "bytes", "Bps", "cps", "short", "percentunit"}
COLORS = {"green", "yellow", "orange", "red", "blue"}
TYPES = {"row", "stat", "timeseries", "state-timeline"}
COLUMNS = 24
# What Grafana itself provides.
BUILT_IN = {"__all", "__rate_interval"}


def problems(text):
    """What is wrong with a dashboard."""
    board = json.loads(text)
    found = []
    expect = lambda is_so, what: None if is_so else found.append(what)
    expect(isinstance(board["schemaVersion"], int) and board["uid"] and board["title"], "no version, uid or title")
    expect("id" not in board, "an id, which belongs to one Grafana")
    ids = [panel["id"] for panel in board["panels"]]
    expect(len(set(ids)) == len(ids), "two panels have one id")
    found += overlaps(board["panels"])
    variables = {it["name"]: it for it in board["templating"]["list"]}
    expect(variables.get("datasource", {}).get("type") == "datasource", "no variable for the data source")
    used = set(re.findall(r"\$\{?(\w+)\}?", json.dumps(board)))
    for name in used - set(variables) - BUILT_IN:
        found.append(f"the variable {name} does not exist")
    for name in set(variables) - used:
        found.append(f"the variable {name} is not used")
    for panel in board["panels"]:
        found += [f"{panel['title']}: {problem}" for problem in panel_problems(panel)]
    return found


def overlaps(panels):
    taken, found = {}, []
    for panel in panels:
        place = panel["gridPos"]
        if place["x"] + place["w"] > COLUMNS or min(place["w"], place["h"]) < 1:
            found.append(f"{panel['title']} is not in the grid")
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                if other := taken.setdefault((x, y), panel["title"]) != panel["title"] and taken[x, y]:
                    found.append(f"{panel['title']} overlaps {other}")
    return sorted(set(found))


def panel_problems(panel):
    if panel["type"] not in TYPES:
        return [f"unknown type {panel['type']}"]
    if panel["type"] == "row":
        return []
    found = []
    expect = lambda is_so, what: None if is_so else found.append(what)
    defaults = panel["fieldConfig"]["defaults"]
    expect(panel["title"] and panel["description"], "no title or description")
    expect(panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, "its data source is not the variable")
    expect(defaults.get("unit") in UNITS, f"the unit {defaults.get('unit')}")
    steps = defaults["thresholds"]["steps"]
    values = [step["value"] for step in steps]
    expect(values[0] is None and values[1:] == sorted(values[1:]), "its thresholds do not ascend")
    mapped = [it for mapping in defaults.get("mappings", ()) for it in mapping["options"].values()]
    expect({it["color"] for it in [*steps, *mapped]} <= COLORS, "an unknown colour")
    expect(panel["type"] != "state-timeline" or mapped, "its states have no names")
    targets = panel["targets"]
    expect(targets and all(target["expr"] and target["legendFormat"] for target in targets), "a target without an expression or a legend")
    letters = [target["refId"] for target in targets]
    expect(len(set(letters)) == len(letters), "two targets have one letter")
    return found
