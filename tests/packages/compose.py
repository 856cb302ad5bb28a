"""The compose files, and what they mount: the proxy in front of the demo, Prometheus, Grafana."""

import json
import re
import shutil
import sys

import yaml
from compose_spec import PyCompose

from parts import DEPLOY, TOP, Missing, expect, files_max, get, hub, run, stop_s

sys.path.insert(0, str(TOP / "tests"))
from runner.ports import free_ports  # noqa: E402

FILES = (TOP / "compose.yaml", DEPLOY / "cluster" / "compose.yaml")


def compose_files_are_valid(context):
    for path in FILES:
        content = yaml.safe_load(path.read_text())
        # As JSON, since it does not know the merge keys of YAML.
        PyCompose.from_json(json.dumps(content)).validate()
        for name, service in content["services"].items():
            for port in service.get("ports", []):
                expect(port.startswith("127.0.0.1:"), f"{path}: {name} is published beyond this machine: {port}")
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                known = (path.parent / source).exists() if source.startswith(".") else source in content["volumes"]
                expect(known, f"{path}: {name} mounts {source}, which is not there")
            if build := service.get("build"):
                context_folder = path.parent / build["context"]
                expect((context_folder / build["dockerfile"]).exists(), f"{path}: {name} has no {build['dockerfile']}")
                if target := build.get("target"):
                    stages = re.findall(r"^FROM \S+ AS (\w+)$", (context_folder / build["dockerfile"]).read_text(), re.MULTILINE)
                    expect(target in stages, f"{path}: the Dockerfile has no stage {target}")


def hubs_have_the_time_and_the_files_that_they_need(context):
    hubs = 0
    for path in FILES:
        for name, service in yaml.safe_load(path.read_text())["services"].items():
            # Those that serve, and not the one that sets a cluster up.
            if service.get("image") != "matchwire":
                continue
            hubs += 1
            expect(float(service["stop_grace_period"].removesuffix("s")) >= stop_s(), f"{path}: {name} is killed while it stops")
            expect(service["ulimits"]["nofile"]["soft"] >= files_max(), f"{path}: {name} has too few file descriptors")
            volumes = [volume.split(":")[1] for volume in service["volumes"]]
            expect("/var/lib/matchwire" in volumes, f"{path}: {name} forgets its log and its films")
    expect(hubs >= 5, f"only {hubs} hubs were found")


def proxy_shows_the_demo_and_hides_its_metrics(context):
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if not haproxy:
        raise Missing("haproxy")
    clients, metrics, own = free_ports(3)
    text = (DEPLOY / "container" / "haproxy.cfg").read_text()
    for old, new in (("bind :8080", f"bind 127.0.0.1:{clients}"), ("bind :9100", f"bind 127.0.0.1:{metrics}"), ("127.0.0.1:8081", f"127.0.0.1:{own}")):
        expect(text.count(old) == 1, f"haproxy.cfg has no {old}")
        text = text.replace(old, new)
    config = context.folder / "haproxy.cfg"
    config.write_text(text)
    service = yaml.safe_load(FILES[0].read_text())["services"]["hub"]
    expect(service["environment"]["MATCHWIRE_SERVER_LISTEN"] == "127.0.0.1:8081", "compose.yaml starts the hub in another way")
    expect(service["network_mode"] == "service:proxy", "the proxy does not reach the hub on loopback")
    # The demo of the file, without its past, which takes minutes and is not shown here.
    env = {"MATCHWIRE_DEMO_ENABLED": "true", "MATCHWIRE_DEMO_PAST": "false", "MATCHWIRE_SERVER_PUBLIC_URL": service["environment"]["MATCHWIRE_SERVER_PUBLIC_URL"]}
    with hub(context.program, "--listen", f"127.0.0.1:{own}", folder=context.folder, env=env):
        # In the background as a daemon, since it is ready once this returns.
        pid = context.folder / "haproxy.pid"
        run(haproxy, "-D", "-p", pid, "-f", config)
        try:
            status, page = get(f"127.0.0.1:{clients}", "/", host="127.0.0.1:8080")
            expect(status == 200 and 'name="matchwire-key"' in page, f"the page of the demo has no key ({status})")
            expect(get(f"127.0.0.1:{clients}", "/metrics")[0] == 403, "/metrics is shown to clients")
            expect(get(f"127.0.0.1:{metrics}", "/")[0] == 403, "the port of the metrics shows more than metrics")
            status, said = get(f"127.0.0.1:{metrics}", "/metrics")
            expect(status == 200 and "# TYPE matchwire_" in said, f"no metrics for Prometheus ({status})")
        finally:
            run("kill", pid.read_text().strip())


def prometheus_accepts_its_configuration(context):
    scrape = yaml.safe_load((DEPLOY / "monitoring" / "prometheus.yml").read_text())["scrape_configs"][0]
    # The dashboards and the alerts select this job; the second port of the proxy has the metrics.
    expect(scrape["job_name"] == "matchwire", "the dashboards and alerts expect the job matchwire")
    expect(scrape["static_configs"][0]["targets"] == ["proxy:9100"], "Prometheus asks another address than that of the proxy")
    if not shutil.which("promtool"):
        raise Missing("promtool")
    run("promtool", "check", "config", DEPLOY / "monitoring" / "prometheus.yml")


def grafana_finds_its_dashboards(context):
    grafana = yaml.safe_load(FILES[0].read_text())["services"]["grafana"]
    mounts = {target: TOP / source for source, target, *_ in (volume.split(":") for volume in grafana["volumes"])}
    (provider,) = yaml.safe_load((DEPLOY / "monitoring/provisioning/dashboards/matchwire.yml").read_text())["providers"]
    (source,) = yaml.safe_load((DEPLOY / "monitoring/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    expect(source["type"] == "prometheus" and source["url"] == "http://prometheus:9090", "the data source is not that of compose.yaml")
    folder = mounts[provider["options"]["path"]]
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"].removeprefix(provider["options"]["path"] + "/")
    expect((folder / home).exists(), f"Grafana's first page is not there: {folder / home}")


CHECKS = (
    compose_files_are_valid, hubs_have_the_time_and_the_files_that_they_need, proxy_shows_the_demo_and_hides_its_metrics,
    prometheus_accepts_its_configuration,
    grafana_finds_its_dashboards,
)
