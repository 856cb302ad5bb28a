"""The pages, in Node and in a browser, and the commands of README.md."""

from concurrent.futures import ThreadPoolExecutor

from runner.build import hub_binary
from runner.environment import TOP
from runner.hubs import DEMO
from runner.install import npm_packages, program, python_with, tool
from runner.report import Counts, script_counts
from runner.suites.common import node_tests

def web(log):
    """The page's modules, without a browser."""
    return node_tests(log, program(log, "node", "nodejs"), TOP / "tests" / "web")


def readme(log):
    """Every command and snippet of README.md, as it stands there."""
    python = python_with(log, TOP / "tests" / "clients" / "requirements.txt")
    for command in ("curl", "bash"):
        program(log, command, command)
    websocat, matchwire = tool(log, "websocat"), hub_binary(log)
    code, said = log.run(python, TOP / "tests" / "readme.py", "--matchwire", matchwire, "--websocat", websocat)
    return script_counts(said, code)


# Each starts a hub and a browser of its own. The longest come first.
BROWSER_SCRIPTS = ("match", "truth", "page", "customer", "replay", "board", "trade", "client")
# It opens a page of every kind, those of visitors, customers, traders and operators, at one hub, which needs no past.
SMOKE_SCRIPT = "production"


def browser_smoke(log):
    """One script of tests/browser/, in Chromium."""
    return browser_scripts(log, [SMOKE_SCRIPT])


def browser(log):
    """The other scripts."""
    return browser_scripts(log, BROWSER_SCRIPTS, DEMO_DATABASE=str(DEMO.path(log)))


def browser_scripts(log, scripts, **variables):
    folder = TOP / "tests" / "browser"
    browser = chromium(log)
    node = npm_packages(log, folder)
    env = variables | {"HUB_BIN": str(hub_binary(log)), "CHROMIUM_BIN": browser}

    def run(script):
        part = log.part(f"browser-{script}")
        code, said = part.run(node, f"{script}.js", cwd=folder, env=env)
        log.write(f"{script}:\n{said}")
        return script_counts(said, code)

    # Two at a time: mostly they wait for something to happen in a match.
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(run, scripts), Counts())


def chromium(log):
    return program(log, "chromium", "chromium")
