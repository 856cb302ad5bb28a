"""The suites: what runs each, in which lane, and what it needs."""

from runner.servers import authority, broker, installed_postgres, mail_server, nats_servers, prometheus, proxies
from runner.suites.checks import budgets, clippy, deny, docs, format_, fuzz, interleavings, runner, unused
from runner.suites.clients import (
    attack, client_js, client_js_long, client_python, client_python_long, clients, conformance, generators, generators_python, mcp, protocol, protocol_all,
    python_client_tools, schemathesis, strangers, websocat,
)
from runner.suites.common import Suite, needs_npm, needs_python, needs_tool
from runner.suites.deploy import image, installs, monitoring, monitoring_python, package, packages_python
from runner.suites.deploy import deploy as deploy_cluster
from runner.suites.pages import browser, browser_smoke, chromium, readme, web
from runner.suites.rust import cluster, cluster_long, crash, crash_long, rust, rust_long, rust_systems

# The servers that the Rust tests start.
SERVERS = (broker, mail_server, authority, proxies, installed_postgres, nats_servers)

# Each list is in the order in which the lanes run it. What fails soonest comes first, and what needs the demo's past after what
# does not.

# `make test`: what everyone runs. It needs no server of other people.
TEST_SUITES = {
    "format": Suite(format_, "hubs"),
    "budgets": Suite(budgets, "hubs"),
    "runner": Suite(runner, "hubs"),
    "web": Suite(web, "hubs"),
    "deny": Suite(deny, "hubs"),
    "unused": Suite(unused, "hubs"),
    "clippy": Suite(clippy, "build"),
    "rust": Suite(rust, "rust", uses_build=True, needs=(mail_server,)),
    "client-python": Suite(client_python, "hubs", uses_build=True, needs=(python_client_tools,)),
    "readme": Suite(readme, "hubs", uses_build=True, needs=(needs_python("clients"), needs_tool("websocat"))),
    "client-js": Suite(client_js, "pages", uses_build=True, needs=(needs_npm("clients/js"),)),
    "browser-smoke": Suite(browser_smoke, "pages", uses_build=True, needs=(chromium, needs_npm("tests/browser"))),
}

# `make test-systems`: with the servers, clients and browsers of other people, and with parts that fail.
SYSTEM_SUITES = {
    "interleavings": Suite(interleavings, "build", inputs=("fanout", "Cargo.toml", "Cargo.lock")),
    "docs": Suite(docs, "build", inputs=("*.rs", "*Cargo.toml", "Cargo.lock")),
    "rust-systems": Suite(rust_systems, "rust", uses_build=True, uses_past=True, needs=SERVERS),
    "monitoring": Suite(monitoring, "hubs", uses_build=True, needs=(prometheus, monitoring_python)),
    "deploy": Suite(deploy_cluster, "hubs", uses_build=True, needs=(proxies, installed_postgres, nats_servers)),
    "packages": Suite(installs, "hubs", uses_build=True, needs=(packages_python, needs_tool("cargo-deb"))),
    "conformance": Suite(conformance, "hubs", uses_build=True, needs=(python_client_tools, needs_npm("clients/js"))),
    "clients": Suite(clients, "hubs", uses_build=True, uses_past=True, shares_hub=True, needs=(needs_python("clients"),)),
    "websocat": Suite(websocat, "hubs", uses_build=True, uses_past=True, shares_hub=True, needs=(needs_tool("websocat"),)),
    "protocol": Suite(protocol, "hubs", uses_build=True),
    "browser": Suite(browser, "pages", uses_build=True, uses_past=True, needs=(chromium, needs_npm("tests/browser"))),
    # Two suites with hubs follow the Rust tests, so that the lanes end at about the same time.
    "strangers": Suite(strangers, "rust", uses_build=True, uses_past=True, needs=(needs_npm("tests/clients/javascript"),)),
    "schemathesis": Suite(schemathesis, "rust", uses_build=True, uses_past=True, needs=(needs_python("schema"),)),
    "generators": Suite(generators, "pages", uses_build=True, uses_past=True, needs=(generators_python, needs_npm("tests/generators"))),
    "mcp": Suite(mcp, "hubs", uses_build=True, uses_past=True, needs=(needs_python("mcp/python"), needs_npm("tests/mcp/javascript"))),
    # They need the machine, so they come last in the lane that takes longest.
    "crash": Suite(crash, "hubs", uses_build=True),
    "cluster": Suite(cluster, "hubs", uses_build=True),
}

# Too long for every run: `make test-long`.
LONG_SUITES = {
    "fuzz": Suite(fuzz, "build"),
    "image": Suite(image, "build"),
    "package": Suite(package, "hubs", uses_build=True),
    "attack": Suite(attack, "hubs", uses_build=True, uses_past=True),
    "client-js-long": Suite(client_js_long, "hubs", uses_build=True),
    "client-python-long": Suite(client_python_long, "hubs", uses_build=True),
    "protocol-all": Suite(protocol_all, "hubs", uses_build=True),
    "rust-long": Suite(rust_long, "rust", uses_build=True, uses_past=True),
    "crash-long": Suite(crash_long, "rust", uses_build=True),
    "cluster-long": Suite(cluster_long, "rust", uses_build=True),
}
ALL_SUITES = TEST_SUITES | SYSTEM_SUITES | LONG_SUITES
LANES = ("build", "rust", "hubs", "pages")
