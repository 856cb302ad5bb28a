"""The unit tests of the alert rules: alerts.toml as `promtool test rules` reads it."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

CASES = Path(__file__).with_name("alerts.toml")
INTERVAL = "15s"
AT = "30m"
LABELS = {"job": "matchwire", "instance": "a"}


def cases():
    """Each alert's tests that fire, and those that are silent."""
    for name, case in tomllib.loads(CASES.read_text()).items():
        # Further cases of an alert are tables in its own.
        yield name, [case, *(it for it in case.values() if isinstance(it, dict) and "fires" in it)]


def series(text):
    name, labels, values = re.fullmatch(r"(\w+)(?:\{(.*)\})? (.+)", text).groups()
    labels = labels or ""
    if "instance=" not in labels:
        labels = ", ".join([*filter(None, [labels]), *(f'{label}="{value}"' for label, value in LABELS.items())])
    return {"series": f"{name}{{{labels}}}", "values": values}


def with_labels(text, labels):
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: labels[match[1]], text)


class Round:
    """Tests that promtool runs as one, since none has a metric that the alert of another one looks at. It evaluates all rules at each
    time of each of its tests, so one for each of ours would take ten times as long."""

    def __init__(self):
        self.metrics, self.series, self.checks = set(), [], []
        # Whether a test has its own `up`, or one needs that of all.
        self.has_own_up = self.needs_up = False

    def takes(self, metrics, needs_up):
        has_own_up = "up" in metrics
        return not (self.metrics & metrics or self.has_own_up and needs_up or self.needs_up and has_own_up)

    def add(self, metrics, needs_up, texts, check):
        self.metrics |= metrics
        self.has_own_up |= "up" in metrics
        self.needs_up |= needs_up
        self.series += map(series, texts)
        self.checks.append(check)

    def form(self):
        up = [] if self.has_own_up else [series("up 1x300")]
        return {"interval": INTERVAL, "input_series": self.series + up, "alert_rule_test": self.checks}


def rounds(table, annotations, metrics_in):
    """All tests; those of alerts that the table does not have are left out."""
    alerts = {alert["name"]: alert for alert in table["alert"]}
    made = []

    def add(alert, case, texts, expected):
        named = {text.split("{")[0].split(" ")[0] for text in texts}
        metrics, needs_up = named | set(metrics_in(table, alert["expr"])), "rises(" in alert["expr"] and "up" not in named
        round_ = next((it for it in made if it.takes(metrics, needs_up)), None)
        if not round_:
            made.append(round_ := Round())
        check = {"eval_time": case.get("at", AT), "alertname": f"Matchwire{alert['name']}", "exp_alerts": expected}
        round_.add(metrics, needs_up, texts, check)

    for name, variants in cases():
        for case in variants if name in alerts else ():
            labels, alert = case.get("labels", LABELS), alerts[name]
            expected = {
                "exp_labels": labels | {"severity": alert["severity"]},
                "exp_annotations": {key: with_labels(text, labels) for key, text in annotations(alert).items()},
            }
            add(alert, case, case["fires"], [expected])
            for texts in case.get("silent", ()):
                add(alert, case, texts, [])
    return [it.form() for it in made]


def run(promtool, rules, table, annotations, metrics_in, folder):
    """Runs all tests: the problems of each alert, by its name, and what promtool printed."""
    file = folder / "tests.yml"
    # JSON is YAML.
    tests = rounds(table, annotations, metrics_in)
    file.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": INTERVAL, "tests": tests}))
    done = subprocess.run([promtool, "test", "rules", file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    alerts, tested = [alert["name"] for alert in table["alert"]], dict(cases())
    problems = {}
    for name in alerts:
        if re.search(rf"alertname:\s*Matchwire{name}\b", done.stdout):
            problems[name] = "it does not fire or is not silent where it should"
        elif not any(case.get("silent") for case in tested.get(name, ())):
            problems[name] = f"{CASES.name} has no test of it that fires and one that is silent"
    for name in set(tested) - set(alerts):
        problems[name] = f"{CASES.name} has a test of it, but there is no such alert"
    if done.returncode != 0 and not problems:
        problems["promtool"] = f"it ended with {done.returncode}"
    return problems, done.stdout
