#!/usr/bin/env python3
"""Writes what operators see from metrics.toml: the tables of docs/METRICS.md, Grafana's dashboards and Prometheus' alerts; and
what `/metrics` says of each metric.

Without options it writes the files; with --check it says which ones differ, and fails. It needs Python 3.11 alone.
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
DOCS = TOP / "docs"
# The page of the tables, and the one to which `#...` of texts leads.
PAGE, GUIDE = DOCS / "METRICS.md", DOCS / "OPERATING.md"
DESCRIPTIONS = TOP / "src" / "telemetry" / "metrics.txt"

# The variables of the dashboards, with the label that each limits.
VARIABLES = {"instance": "label_values(matchwire_build_info, instance)", "source": "label_values(matchwire_feed_state, source)"}
# The version of the form of dashboards. Grafana migrates older ones when it loads them.
SCHEMA_VERSION = 39
KINDS = {"timeseries": "timeseries", "stat": "stat", "states": "state-timeline"}
COLUMNS, WIDTH, HEIGHT, STAT_HEIGHT = 24, 8, 7, 4
LINE_MAX = 120

# Where operators read docs/: the packages install it there. Replace it in alerts.yml by the address at which you publish it.
DOCS_URL = "file:///usr/share/doc/matchwire/"

# The dashboards with the same tag, as links on top.
OTHER_DASHBOARDS = {
    "type": "dashboards", "title": "Matchwire", "tags": ["matchwire"], "icon": "external link", "tooltip": "", "targetBlank": False,
    "asDropdown": False, "includeVars": True, "keepTime": True,
}

METRIC = re.compile(r"\b(?:matchwire|process)_\w+|\b(?:up|ALERTS)\b(?=\{|\))")
PARTS = ("_bucket", "_sum", "_count")
QUANTILE = re.compile(r"\bp(\d\d)\((\w+)\)")
RISES = re.compile(r"\brises\((\w+(?:\{[^}]*\})?), (\w+)\)")
SETTING = re.compile(r"\{(\w+)\.(\w+)\}")


class Wrong(Exception):
    """metrics.toml contradicts itself, or the documentation."""


# ---------------------------------------------------------------------------------- expressions


def base_name(table, name):
    """The name of the histogram that a series belongs to, or the name itself."""
    for part in PARTS:
        if name.endswith(part) and table["metric"].get(name.removesuffix(part), {}).get("kind") == "histogram":
            return name.removesuffix(part)
    return name


def metrics_in(table, expr):
    """The metrics that an expression uses, in order. Label values are not looked at."""
    bare = re.sub(r'"[^"]*"', '""', expr)
    return list(dict.fromkeys(base_name(table, name) for name in METRIC.findall(bare)))


def panel_expr(table, expr):
    """The expression as Grafana evaluates it: with quantiles, and limited to what its variables select."""

    def quantile(match):
        rate = f"rate({match[2]}_bucket[$__rate_interval])"
        return f"histogram_quantile(0.{match[1]}, sum by (instance, le) ({rate}))"

    def limited(match):
        name = match[0]
        labels = ["instance"] + ["source"] * ("source" in table["metric"].get(base_name(table, name), {}).get("labels", ()))
        # `up` counts hubs that are down too, which no variable knows; alerts may have no instance.
        if name in ("up", "ALERTS"):
            return name
        return name + "{" + ", ".join(f'{label}=~"${label}"' for label in labels) + "}"

    return METRIC.sub(limited, QUANTILE.sub(quantile, expr)).replace("}{", ", ")


def alert_expr(alert, settings):
    """The expression as Prometheus evaluates it."""

    def rises(match):
        # A counter that has never counted does not exist, so its first increment is no increase. It is new if Prometheus had the hub
        # before, but not the counter: otherwise a new Prometheus would take everything for new.
        it, time = match[1], match[2]
        return f"(increase({it}[{time}]) > 0 or (({it} > 0) unless {it} offset {time}) and on (job, instance) up offset {time})"

    def quantile(match):
        return f"histogram_quantile(0.{match[1]}, sum by (job, instance, le) (rate({match[2]}_bucket[5m])))"

    expr = QUANTILE.sub(quantile, RISES.sub(rises, alert["expr"].strip()))
    return with_limits(expr, alert, settings)


def with_limits(text, alert, settings):
    if "limit" in alert:
        text = text.replace("{limit}", f"{alert['limit']:g}").replace("{limit:%}", f"{alert['limit']:.0%}")
    return SETTING.sub(lambda match: str(settings[match[1]][match[2]]), text)


# ----------------------------------------------------------------------------------- dashboards


def unit_of(table, panel):
    if "unit" in panel:
        return panel["unit"]
    expr = panel["targets"][0][0]
    name = metrics_in(table, expr)[0]
    is_rate = "rate(" in expr
    if re.search(r"_seconds(_total)?$", name):
        return "s"
    if re.search(r"_bytes(_total)?$", name):
        return "Bps" if is_rate else "bytes"
    return "cps" if is_rate else "short"


def grafana_panel(table, panel, number, place):
    kind = panel.get("kind", "timeseries")
    steps = [{"value": None, "color": panel.get("base", "green")}]
    steps += [{"value": value, "color": color} for value, color in panel.get("steps", ())]
    defaults = {"unit": unit_of(table, panel), "thresholds": {"mode": "absolute", "steps": steps}}
    if panel.get("minimum", True):
        defaults["min"] = 0
    if "values" in panel:
        options = {str(value): {"index": at, "text": text, "color": color} for at, (value, text, color) in enumerate(panel["values"])}
        defaults["mappings"] = [{"type": "value", "options": options}]
    if kind == "timeseries":
        defaults["custom"] = {"fillOpacity": 10, "showPoints": "never", "spanNulls": False}
        if panel.get("steps"):
            defaults["custom"]["thresholdsStyle"] = {"mode": "dashed"}
        options = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}
    elif kind == "stat":
        is_plain = "values" not in panel and not panel.get("steps")
        options = {
            "colorMode": "none" if is_plain else "background", "graphMode": "none", "textMode": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        }
        # The names of what is counted are worth their place only if there may be several.
        if any("{{" in legend for _, legend in panel["targets"]):
            options["textMode"] = "value_and_name"
    else:
        defaults["custom"] = {"fillOpacity": 70, "lineWidth": 0}
        options = {"showValue": "auto", "mergeValues": True, "legend": {"displayMode": "list", "placement": "bottom"}}
    targets = [
        {"refId": chr(ord("A") + at), "expr": panel_expr(table, expr), "legendFormat": legend, "range": True}
        for at, (expr, legend) in enumerate(panel["targets"])
    ]
    return {
        "id": number, "type": KINDS[kind], "title": panel["title"], "description": panel["text"],
        "datasource": {"type": "prometheus", "uid": "${datasource}"}, "gridPos": place,
        "fieldConfig": {"defaults": defaults, "overrides": []}, "options": options, "targets": targets,
    }


def dashboard(table, it):
    panels, y = [], 0
    for section in it["sections"]:
        if "title" in section:
            place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
            panels.append({"id": len(panels) + 1, "type": "row", "title": section["title"], "collapsed": False, "gridPos": place, "panels": []})
            y += 1
        x = height = 0
        for panel in (panel for panel in table["panel"] if panel["section"] == section["id"]):
            width = panel.get("width", WIDTH)
            if x + width > COLUMNS:
                x, y, height = 0, y + height, 0
            is_small = panel.get("kind") == "stat" and width < WIDTH
            place = {"x": x, "y": y, "w": width, "h": STAT_HEIGHT if is_small else HEIGHT}
            panels.append(grafana_panel(table, panel, len(panels) + 1, place))
            x, height = x + width, max(height, place["h"])
        y += height
    used = {name for name in VARIABLES if f"${name}" in json.dumps(panels)}
    return {
        "uid": f"matchwire-{it['id']}", "title": it["title"],
        "description": f"{it['description']} Made by deploy/monitoring/generate.py.",
        "tags": ["matchwire"], "schemaVersion": SCHEMA_VERSION, "version": 1, "editable": True, "graphTooltip": 1, "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [OTHER_DASHBOARDS],
        "templating": {"list": variables(used)},
        "panels": panels,
    }


def variables(used):
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    datasource = {"type": "prometheus", "uid": "${datasource}"}
    queries = [
        {
            "name": name, "label": name.capitalize(), "type": "query", "datasource": datasource,
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "multi": True, "includeAll": True,
            "current": {"text": ["All"], "value": ["$__all"]},
        }
        for name, query in VARIABLES.items() if name in used
    ]
    return [source, *queries]


def json_text(value, indent=0):
    """JSON with everything on one line that fits there, so that the files are short and their differences readable."""
    flat = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or indent + len(flat) <= LINE_MAX:
        return flat
    inner = " " * (indent + 1)
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(name)}: {json_text(part, indent + 1)}" for name, part in value.items()]
    else:
        lines = [inner + json_text(part, indent + 1) for part in value]
    open_, close = "{}" if isinstance(value, dict) else "[]"
    return open_ + "\n" + ",\n".join(lines) + "\n" + " " * indent + close


# --------------------------------------------------------------------------------------- alerts


def annotations(alert):
    place = alert["doc"] if not alert["doc"].startswith("#") else f"{GUIDE.name}{alert['doc']}"
    return {"summary": alert["summary"], "description": alert["action"].replace("`", ""), "runbook_url": DOCS_URL + place}


def alerts_text(table, settings):
    """The rules in YAML. A string of JSON is one of YAML."""
    lines = ["# Made by deploy/monitoring/generate.py from metrics.toml.", "groups:", "  - name: matchwire", "    rules:"]
    for alert in table["alert"]:
        lines += [
            f"      - alert: Matchwire{alert['name']}",
            f"        expr: {json.dumps(alert_expr(alert, settings))}",
            f"        for: {alert['for']}",
            f"        labels: {{severity: {alert['severity']}}}",
            "        annotations:",
            *(f"          {name}: {json.dumps(text, ensure_ascii=False)}" for name, text in annotations(alert).items()),
        ]
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------- tables


def metrics_table(table):
    rows = ["| name | kind | what it counts |", "|---|---|---|"]
    return rows + [f"| `{name}` | {it['kind']} | {it['text']} |" for name, it in table["metric"].items()]


def alerts_table(table, settings):
    rows = ["| alert | severity | condition | what to do |", "|---|---|---|---|"]
    for alert in table["alert"]:
        condition = with_limits(alert["when"], alert, settings)
        if alert["for"] != "0s":
            condition += f", for {alert['for'].replace('s', ' s').replace('m', ' min')}"
        rows.append(f"| `Matchwire{alert['name']}` | {alert['severity']} | {condition} | {alert['action']} [More]({alert['doc']}) |")
    return rows


def between_markers(page, name, lines):
    """The page with these lines between the markers of this name."""
    lines = [line.replace("](#", f"]({GUIDE.name}#") for line in lines]
    begin, end = f"<!-- {name}: made by deploy/monitoring/generate.py -->", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found and found_end):
        raise Wrong(f"{PAGE.relative_to(TOP)} has no markers of {name}")
    return "\n".join([before + begin, "", *lines, "", end + after])


# ------------------------------------------------------------------------------------- checking


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def check_table(table):
    """Raises `Wrong` if the table names something that does not exist, or leaves something out."""
    sections = [section["id"] for it in table["dashboard"] for section in it["sections"]]
    shown = {name for panel in table["panel"] for expr, _ in panel["targets"] for name in metrics_in(table, expr)}
    alarmed = {name for alert in table["alert"] for name in metrics_in(table, alert["expr"])}
    if unknown := (shown | alarmed) - set(table["metric"]) - set(table["standard"]["names"]):
        raise Wrong(f"no such metrics: {', '.join(sorted(unknown))}")
    for name, it in table["metric"].items():
        if (name in shown) == ("no_panel" in it):
            raise Wrong(f"{name} must be in a panel, or say in `no_panel` why not")
        if it["kind"] not in ("counter", "gauge", "histogram") or (it["kind"] == "counter") != name.endswith("_total"):
            raise Wrong(f"{name} is no {it['kind']} by its name")
    for panel in table["panel"]:
        if panel["section"] not in sections:
            raise Wrong(f"no section {panel['section']}")
    if empty := set(sections) - {panel["section"] for panel in table["panel"]}:
        raise Wrong(f"no panels in {', '.join(sorted(empty))}")
    names = [alert["name"] for alert in table["alert"]]
    if len(set(names)) < len(names):
        raise Wrong("two alerts have one name")
    for alert in table["alert"]:
        file, _, anchor = alert["doc"].partition("#")
        target = DOCS / file if file else GUIDE
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            raise Wrong(f"{alert['name']}: there is no {alert['doc']} in docs/")
        if alert["severity"] not in ("critical", "warning"):
            raise Wrong(f"{alert['name']}: no severity {alert['severity']}")


def descriptions(table):
    """A line for each metric, with its kind, its name and its text without markup."""
    plain = {name: re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", it["text"]) for name, it in table["metric"].items()}
    return "".join(f"{it['kind']} {name} {plain[name]}\n" for name, it in table["metric"].items())


def read():
    """The table, and the default of each setting."""
    table = tomllib.loads((HERE / "metrics.toml").read_text())
    return table, tomllib.loads((TOP / "matchwire.toml.example").read_text())


def files():
    """What each generated file must contain."""
    table, settings = read()
    page = PAGE.read_text()
    check_table(table)
    page = between_markers(page, "metrics", metrics_table(table))
    made = {
        PAGE: between_markers(page, "alerts", alerts_table(table, settings)),
        HERE / "alerts.yml": alerts_text(table, settings),
        DESCRIPTIONS: descriptions(table),
    }
    for it in table["dashboard"]:
        made[HERE / "grafana" / f"{it['id']}.json"] = json_text(dashboard(table, it)) + "\n"
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    arguments = parser.parse_args()
    try:
        made = files()
    except Wrong as wrong:
        sys.exit(f"metrics.toml: {wrong}")
    different = [path for path, text in made.items() if not path.exists() or path.read_text() != text]
    different += [path for path in (HERE / "grafana").glob("*.json") if path not in made]
    if arguments.check:
        if different:
            names = ", ".join(str(path.relative_to(TOP)) for path in different)
            sys.exit(f"not what metrics.toml says: {names}; run deploy/monitoring/generate.py")
        return
    for path in different:
        if path in made:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made[path])
        else:
            path.unlink()
        print(path.relative_to(TOP))


if __name__ == "__main__":
    main()
