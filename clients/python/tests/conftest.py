"""A hub for the tests that need one: HUB_BIN names the program. Without it they are skipped."""

import os
import time

import pytest
from hub import running_hub
from hypothesis import HealthCheck, settings

# Fast, so that there is something to see; without a past, which takes long to write.
SPEED = 20
SETTINGS = {"MATCHWIRE_DEMO_PAST": "false", "MATCHWIRE_DEMO_SPEED": str(SPEED)}


# How long an example takes depends on the machine.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")


def pytest_configure(config):
    # These tests talk to loopback only, whatever proxy the system has.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


@pytest.fixture(scope="session")
def hub_binary():
    binary = os.environ.get("HUB_BIN")
    if not binary:
        pytest.skip("HUB_BIN does not name the program")
    return binary


@pytest.fixture(scope="session")
def hub(hub_binary):
    with running_hub(hub_binary, **SETTINGS) as hub:
        yield hub


@pytest.fixture
def live_match(hub):
    """A football match in play that has prices: the one with the most left of its half, so that it does not end meanwhile.

    At this speed a break takes 45 seconds, in which nothing changes.
    """
    matches = hub.image("football")["data"]["matches"]
    ends_s = {"first_half": 45 * 60, "second_half": 90 * 60}
    in_play = (it for it in matches.items() if it[1]["life"] == "live" and it[1]["status"] in ends_s)

    def left_s(match):
        # The clock is as of the last incident.
        clock = match["clock"]
        return ends_s[match["status"]] - clock["s"] - (time.time() - clock["at"] / 1e6) * SPEED

    id, _ = max(in_play, key=lambda it: left_s(it[1]))
    return f"football/{id}"
