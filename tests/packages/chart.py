"""The Helm chart, rendered by Helm's own engine."""

import tomllib

import helm_python as helm
import kubernetes_validate
import yaml

from parts import DEPLOY, TOP, VERSION, Failed, default, expect, get, hub, stop_s

CHART = DEPLOY / "helm" / "matchwire"
# The oldest version that the chart accepts, and the newest whose schemas are here.
KUBERNETES = ("1.30", kubernetes_validate.latest_version())
SINGLE = {}
CLUSTER = {
    "publicUrl": "https://api.example.org", "existingSecret": "secrets", "settings": "[fanout]\nsockets_max = 1000\n",
    "cluster": {"enabled": True, "nats": ["nats://n1:4222", "nats://n2:4222"], "natsUser": "hub", "db": "postgres://matchwire@db/matchwire"},
    "image": {"repository": "images.example.org/matchwire", "tag": "t", "pullSecrets": [{"name": "pull"}]},
    "writers": {"nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "prometheusRule": {"rules": (DEPLOY / "monitoring" / "alerts.yml").read_text()},
    "extraEnv": [{"name": "SMTP_URL", "valueFrom": {"secretKeyRef": {"name": "mail", "key": "url"}}}],
    "extraVolumes": [{"name": "authorities", "secret": {"secretName": "authorities"}}],
    "extraVolumeMounts": [{"name": "authorities", "mountPath": "/etc/authorities", "readOnly": True}],
    "persistence": {"storageClass": "fast"}, "service": {"type": "LoadBalancer", "annotations": {"a": "b"}},
}
WRITERS_ONLY = CLUSTER | {"writers": {"serve": False, "replicas": 3}}


def chart_is_well_formed(context):
    metadata = yaml.safe_load((CHART / "Chart.yaml").read_text())
    expect(metadata["appVersion"] == VERSION, f"appVersion is {metadata['appVersion']}, the program is {VERSION}")
    for values in (SINGLE, CLUSTER, WRITERS_ONLY):
        report = helm.lint(CHART, values, strict=True, kube_version="v1.30.0")
        # An icon is not needed.
        bad = [it for it in report["messages"] if it["severity"] > 1] + report["errors"]
        expect(not bad, bad)


def objects_fit_the_schemas_of_kubernetes(context):
    for values in (SINGLE, CLUSTER, WRITERS_ONLY):
        for it in objects(values):
            for version in KUBERNETES if "monitoring.coreos.com" not in it["apiVersion"] else ():
                try:
                    kubernetes_validate.validate(it, version, strict=True)
                except Exception as problem:
                    raise Failed(f"{it['kind']} {it['metadata']['name']}, Kubernetes {version}: {problem}") from None


def single_node_starts_with_what_the_chart_gives_it(context):
    found = objects(SINGLE)
    kinds = sorted(it["kind"] for it in found)
    expect(kinds == ["ConfigMap", "Service", "Service", "StatefulSet"], f"a single node is {kinds}")
    node = one(found, "StatefulSet")
    expect(node["spec"]["replicas"] == 1, "a single node has another number of replicas than 1")
    (volume,) = node["spec"]["volumeClaimTemplates"]
    expect(mounts(node)["/var/lib/matchwire"] == volume["metadata"]["name"], "the state is not on the volume")
    # The container's own arguments and environment, but for the port and the paths.
    settings = context.folder / "matchwire.toml"
    settings.write_text(one(found, "ConfigMap")["data"]["matchwire.toml"])
    container = containers(node)[0]
    expect(container["args"] == ["serve", "--config", "/etc/matchwire/matchwire.toml"], container["args"])
    env = {it["name"]: it["value"] for it in container["env"]} | {"MATCHWIRE_SERVER_LISTEN": "127.0.0.1:0"}
    with hub(context.program, "--config", settings, folder=context.folder, env=env) as address:
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            path = container[probe]["httpGet"]["path"]
            expect(get(address, path)[0] == 200, f"{probe}: {path}")


def cluster_has_the_parts_that_it_needs(context):
    found = objects(CLUSTER)
    writers, edges = one(found, "StatefulSet"), one(found, "Deployment")
    expect(variables(writers)["MATCHWIRE_CLUSTER_ROLE"] == "all", "writers that serve have the role all")
    expect(variables(edges)["MATCHWIRE_CLUSTER_ROLE"] == "edge", "edges have another role")
    expect(writers["spec"]["replicas"] >= 2, "with one writer nobody takes over")
    expect(variables(one(found, "Job"))["MATCHWIRE_CLUSTER_NATS"] == "nats://n1:4222,nats://n2:4222", "init asks other servers")
    pods = [it["spec"]["template"]["metadata"]["labels"] for it in (writers, edges)]
    init = one(found, "Job")["spec"]["template"]["metadata"]["labels"]
    for it in (it for it in found if it["kind"] == "Service"):
        expect(all(selects(it["spec"]["selector"], pod) for pod in pods), f"{it['metadata']['name']} does not select all nodes")
        expect(not selects(it["spec"]["selector"], init), f"{it['metadata']['name']} selects the pod of init")
    budgets = [it["spec"]["selector"]["matchLabels"] for it in found if it["kind"] == "PodDisruptionBudget"]
    for pod in pods:
        expect(sum(selects(budget, pod) for budget in budgets) == 1, f"no budget, or several, for {pod}")
    monitor = one(found, "ServiceMonitor")["spec"]
    scraped = [it for it in found if it["kind"] == "Service" and selects(monitor["selector"]["matchLabels"], it["metadata"]["labels"])]
    expect(len(scraped) == 1, "Prometheus scrapes no Service, or each node twice")
    expect(scraped[0]["metadata"]["labels"][monitor["jobLabel"]] == "matchwire-hub", "the dashboards and alerts expect another job")
    rules = yaml.safe_load(CLUSTER["prometheusRule"]["rules"])
    expect(one(found, "PrometheusRule")["spec"] == rules, "the rules are not those of deploy/monitoring/alerts.yml")
    # Writers that do not serve get no clients.
    found = objects(WRITERS_ONLY)
    clients = next(it for it in found if it["kind"] == "Service" and it["spec"].get("clusterIP") != "None")
    writers = one(found, "StatefulSet")
    expect(variables(writers)["MATCHWIRE_CLUSTER_ROLE"] == "writer", "writers that do not serve have another role than writer")
    expect(not selects(clients["spec"]["selector"], writers["spec"]["template"]["metadata"]["labels"]), "clients come to a writer")


def pods_are_confined_and_drained(context):
    known = settings()
    for it in (it for it in objects(CLUSTER) + objects(SINGLE) if it["kind"] in ("StatefulSet", "Deployment", "Job")):
        name, pod = it["metadata"]["name"], it["spec"]["template"]["spec"]
        expect(pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 10001, f"{name} may run as root")
        expect(not pod["automountServiceAccountToken"], f"{name} gets a token of Kubernetes")
        # Variables of a service named matchwire would be taken for settings.
        expect(not pod["enableServiceLinks"], f"{name} gets variables of services")
        for container in containers(it):
            rights = container["securityContext"]
            expect(rights["readOnlyRootFilesystem"] and rights["capabilities"] == {"drop": ["ALL"]}, f"{name}: {rights}")
            unknown = {entry["name"] for entry in container["env"]} - known - {"SMTP_URL"}
            expect(not unknown, f"{name}: the hub does not know {unknown}")
        if it["kind"] != "Job":
            (container,) = containers(it)
            sleep_s = container["lifecycle"]["preStop"]["sleep"]["seconds"]
            expect(pod["terminationGracePeriodSeconds"] >= sleep_s + stop_s(), f"{name} is killed while it stops")


def pods_have_what_settings_name(context):
    for it in (it for it in objects(CLUSTER) if it["kind"] in ("StatefulSet", "Deployment", "Job")):
        name, volumes = it["metadata"]["name"], {volume["name"] for volume in it["spec"]["template"]["spec"]["volumes"]}
        expect(mounts(it)["/etc/authorities"] in volumes, f"{name} has no volume for its files")
        expect(mounts(it)["/etc/matchwire"] in volumes, f"{name} has no settings")
        expect("SMTP_URL" in variables(it), f"{name} lacks a variable")
    job = one(objects(CLUSTER), "Job")
    expect(job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade", "a cluster that comes later has no stream")


def volumes_hold_what_the_hub_writes(context):
    larger = CLUSTER | {"persistence": {"size": "1Ti"}, "edges": {"volumeSize": "100Gi"}}
    own = CLUSTER | {"settings": "[log]\nfilms_bytes_max = 1\n"}
    for values in (SINGLE, CLUSTER, larger):
        found = objects(values)
        for kind in ("StatefulSet", "Deployment") if values != SINGLE else ("StatefulSet",):
            node = one(found, kind)
            size = volume_bytes(node)
            limits = [int(variables(node)[f"MATCHWIRE_LOG_{name}_BYTES_MAX"]) for name in ("RECORDS", "FILMS")]
            expect(sum(limits) <= 0.6 * size, f"{kind}: {limits} leave too little of {size} for snapshots and the database")
            expect(limits[0] <= default("log", "records_bytes_max"), f"{kind}: more records than by default")
            expect(limits[1] <= default("log", "films_bytes_max"), f"{kind}: more films than by default")
    expect("MATCHWIRE_LOG_FILMS_BYTES_MAX" not in variables(one(objects(own), "StatefulSet")), "the settings have no effect")


def volume_bytes(workload):
    if templates := workload["spec"].get("volumeClaimTemplates"):
        text = templates[0]["spec"]["resources"]["requests"]["storage"]
    else:
        text = next(it["emptyDir"]["sizeLimit"] for it in workload["spec"]["template"]["spec"]["volumes"] if "emptyDir" in it)
    return int(text[:-2]) * {"Gi": 1 << 30, "Ti": 1 << 40}[text[-2:]]


def wrong_values_are_refused(context):
    wrong = {
        "cluster.nats is required": {"cluster": {"enabled": True, "db": "postgres://a/b"}},
        "cluster.db is required": {"cluster": {"enabled": True, "nats": ["nats://a:4222"]}},
        "replicaCount": {"replicaCount": 3},
        "publicUrl": {"publicUrl": "api.example.org"},
        "nats": {"cluster": {"nats": ["a:4222"]}},
        "sleepSeconds": {"shutdown": {"sleepSeconds": 0}},
        "size": {"persistence": {"size": "4Gi"}},
    }
    for part, values in wrong.items():
        try:
            with helm.Chart.load(CHART) as chart:
                chart.validate_schema(values)
                chart.render(values, name="hub")
        except helm.HelmError as problem:
            expect(part in str(problem), f"{values}: the error does not name {part}: {problem}")
        else:
            raise Failed(f"accepted: {values}")


def objects(values):
    with helm.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        rendered = chart.render(values, name="hub", namespace="sports")
    parts = (text for name, text in rendered.items() if not name.endswith("NOTES.txt"))
    return [it for text in parts for it in yaml.safe_load_all(text) if it]


def one(found, kind):
    (it,) = (it for it in found if it["kind"] == kind)
    return it


def containers(workload):
    return workload["spec"]["template"]["spec"]["containers"]


def variables(workload):
    return {it["name"]: it.get("value") for it in containers(workload)[0]["env"]}


def mounts(workload):
    return {it["mountPath"]: it["name"] for it in containers(workload)[0]["volumeMounts"]}


def selects(selector, labels):
    return selector.items() <= labels.items()


def settings():
    """The variables that the hub knows."""
    tables = tomllib.loads((TOP / "matchwire.toml.example").read_text())
    return {f"MATCHWIRE_{table}_{name}".upper() for table, names in tables.items() if isinstance(names, dict) for name in names}


CHECKS = (
    chart_is_well_formed, objects_fit_the_schemas_of_kubernetes, single_node_starts_with_what_the_chart_gives_it,
    cluster_has_the_parts_that_it_needs, pods_are_confined_and_drained, pods_have_what_settings_name,
    volumes_hold_what_the_hub_writes, wrong_values_are_refused,
)
