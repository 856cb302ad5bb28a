"""The pages, in Node and in a browser, and the commands of README.md."""

from concurrent.futures import ThreadPoolExecutor

from runner.build import hub_binary
from runner.environment import TOP
from runner.hubs import DEMO
from runner.install import npm_packages, program, python_with, tool
from runner.log import Log
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


def browser(log):
    """The live pages and the customers' pages in Chromium; each script starts a hub and a browser of its own."""
    folder = TOP / "tests" / "browser"
    chromium = program(log, "chromium", "chromium")
    node = npm_packages(log, folder)
    env = {"HUB_BIN": str(hub_binary(log)), "CHROMIUM_BIN": chromium, "DEMO_DATABASE": str(DEMO.path(log))}

    def pages(script):
        own = Log(f"browser-{script}")
        code, said = own.run(node, f"{script}.js", cwd=folder, env=env)
        log.write(f"{script}:\n{said}")
        return script_counts(said, code)

    # Two at a time: mostly they wait for something to happen in a match. The longest come first.
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(pages, BROWSER_SCRIPTS), Counts())


BROWSER_SCRIPTS = ("match", "truth", "page", "customer", "production", "replay", "board", "trade", "client")
