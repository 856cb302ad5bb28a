"""The suites: what runs each, in which lane, and what it needs."""

from runner.install import program
from runner.servers import prometheus
from runner.suites.checks import clippy, deny, docs, format_, fuzz, interleavings, runner, unused
from runner.suites.clients import (
    client_js, client_js_long, client_python, client_python_long, clients, conformance, mcp, protocol, protocol_all, python_client_tools,
    schemathesis, strangers, websocat,
)
from runner.suites.common import Suite, needs_npm, needs_python, needs_tool
from runner.suites.deploy import image, installs, monitoring, monitoring_python, package, packages_python
from runner.suites.deploy import deploy as deploy_cluster
from runner.suites.pages import browser, readme, web
from runner.suites.rust import cluster, cluster_long, crash, crash_long, rust, rust_long

SUITES = {
    "format": Suite(format_, "hubs"),
    "runner": Suite(runner, "hubs"),
    "web": Suite(web, "hubs"),
    "deny": Suite(deny, "hubs"),
    "unused": Suite(unused, "hubs"),
    "clippy": Suite(clippy, "build"),
    "interleavings": Suite(interleavings, "build"),
    "docs": Suite(docs, "build"),
    "rust": Suite(rust, "rust", uses_build=True, uses_past=True),
    "client-python": Suite(client_python, "hubs", uses_build=True, needs=(python_client_tools,)),
    "monitoring": Suite(monitoring, "hubs", uses_build=True, needs=(prometheus, monitoring_python)),
    "readme": Suite(readme, "hubs", uses_build=True),
    "deploy": Suite(deploy_cluster, "hubs", uses_build=True),
    "packages": Suite(installs, "hubs", uses_build=True, needs=(packages_python, needs_tool("cargo-deb"))),
    "conformance": Suite(conformance, "hubs", uses_build=True, needs=(python_client_tools, needs_npm("clients/js"))),
    "clients": Suite(clients, "hubs", uses_build=True, uses_past=True, shares_hub=True, needs=(needs_python("clients"),)),
    "websocat": Suite(websocat, "hubs", uses_build=True, uses_past=True, shares_hub=True, needs=(needs_tool("websocat"),)),
    "protocol": Suite(protocol, "hubs", uses_build=True, uses_past=True, shares_hub=True),
    "client-js": Suite(client_js, "pages", uses_build=True, needs=(needs_npm("clients/js"),)),
    "browser": Suite(
        browser, "pages", uses_build=True, uses_past=True, needs=(lambda log: program(log, "chromium", "chromium"), needs_npm("tests/browser")),
    ),
    "strangers": Suite(strangers, "rust", uses_build=True, uses_past=True, needs=(needs_npm("tests/clients/javascript"),)),
    "mcp": Suite(mcp, "hubs", uses_build=True, uses_past=True, needs=(needs_python("mcp/python"), needs_npm("tests/mcp/javascript"))),
    "schemathesis": Suite(schemathesis, "rust", uses_build=True, uses_past=True, needs=(needs_python("schema"),)),
    # It needs the machine, so it comes last in the lane that takes longest.
    "crash": Suite(crash, "hubs", uses_build=True),
    "cluster": Suite(cluster, "hubs", uses_build=True),
}

# Too long for every run: `make test-long`.
LONG_SUITES = {
    "fuzz": Suite(fuzz, "build"),
    "image": Suite(image, "build"),
    "package": Suite(package, "hubs", uses_build=True),
    "client-js-long": Suite(client_js_long, "hubs", uses_build=True),
    "client-python-long": Suite(client_python_long, "hubs", uses_build=True),
    "protocol-all": Suite(protocol_all, "hubs", uses_build=True, uses_past=True, shares_hub=True),
    "rust-long": Suite(rust_long, "rust", uses_build=True, uses_past=True),
    "crash-long": Suite(crash_long, "rust", uses_build=True),
    "cluster-long": Suite(cluster_long, "rust", uses_build=True),
}
ALL_SUITES = SUITES | LONG_SUITES
LANES = ("build", "rust", "hubs", "pages")
