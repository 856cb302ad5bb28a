"""The client for threads against a real hub."""

import asyncio
import subprocess
import sys
import threading
import time

import pytest
from proxy import Fault, Proxy

import matchwire
from matchwire.sync import Client


def test_follow_and_pull(hub, live_match):
    with Client(hub.url, key=hub.key) as client:
        match = client.follow(live_match)
        assert match.health == "live"
        seqs = []
        for change in match.changes(timeout=30):
            seqs.append(change.seq)
            if len(seqs) == 5:
                break
        assert seqs == sorted(seqs)
        assert match.data is not None
        book = client.odds(live_match)
        # None while all bookmakers are suspended.
        for _ in book.changes(timeout=60):
            if last := book.last_price("1x2", "HOME"):
                break
        assert last.price > 1
        assert len(client.snap("football")) > 0
        assert client.metrics().connections == 1
        assert client.ping() > 0


def test_works_inside_a_running_loop(hub, live_match):
    """As in a notebook."""

    async def cell():
        with Client(hub.url, key=hub.key) as client:
            match = client.follow(live_match)
            return next(match.changes(timeout=30)).seq

    assert asyncio.run(cell()) > 0


def test_callbacks_get_every_change_and_cost_nothing_when_they_raise(hub, live_match, caplog):
    seen, threads, enough = [], set(), threading.Event()

    def on_change(change):
        threads.add(threading.current_thread().name)
        seen.append(change.seq)
        if len(seen) >= 5:
            enough.set()
        raise ValueError("a broken callback")

    with Client(hub.url, key=hub.key) as client:
        client.follow(live_match, on_change=on_change, lossless=True)
        assert enough.wait(30)
        assert client.metrics().callback_errors >= 4
    assert seen == sorted(set(seen))
    assert len(threads) == 1
    assert "matchwire callbacks" in threads.pop()
    assert "a broken callback" in caplog.text


def test_slow_callback_delays_nobody(hub):
    gate = threading.Event()
    with Client(hub.url, key=hub.key) as client:
        client.follow("football", on_change=lambda _: gate.wait(20))
        other = client.updates("*/*")
        for _ in zip(range(50), other.changes(timeout=20), strict=False):
            pass
        gate.set()


def test_sleeping_program_loses_nothing(hub):
    with Client(hub.url, key=hub.key) as client:
        updates = client.updates("*/*/odds")
        pairs = updates.changes(timeout=30)
        next(pairs)
        before = client.metrics()
        deadline = time.monotonic() + 30
        while (after := client.metrics()).updates < before.updates + 20:
            assert time.monotonic() < deadline, "it does not go on receiving while the program sleeps"
            time.sleep(0.5)
        assert (after.connections, after.missed) == (1, 0)
        channel, change = next(pairs)
        assert change.channel == channel.name


def test_timeout_is_typed(hub):
    with Client(hub.url, key=hub.key) as client:
        feeds = client.follow("feeds", every_ms=5000)
        next(feeds.changes(timeout=30))
        with pytest.raises(matchwire.Timeout, match="feeds: no change within 0.05 s"):
            for _ in range(3):
                next(feeds.changes(timeout=0.05))


def test_iteration_ends_when_another_thread_closes_the_client(hub):
    with Client(hub.url, key=hub.key) as client:
        updates = client.updates("*/*")
        changes = updates.changes()
        next(changes)
        closer = threading.Timer(0.3, client.close)
        closer.start()
        for _ in changes:
            pass
        closer.join()
    with pytest.raises(matchwire.ClientClosed):
        client.follow("football")


def test_terminal_error_ends_iterators_and_callbacks(hub):
    key, ended, errors = hub.create_key("websocket"), threading.Event(), []

    def on_end(error):
        errors.append(error)
        ended.set()

    with Client(hub.url, key=key) as client:
        client.follow("feeds", on_change=lambda _: None, on_end=on_end)
        updates = client.updates("football/*")
        prefix = next(line.split("\t")[0] for line in hub._run("key", "list").splitlines() if key.startswith(line.split("\t")[0]))
        hub._run("key", "revoke", prefix)
        with pytest.raises(matchwire.KeyRevoked):
            for _ in updates:
                pass
        assert ended.wait(10)
    assert isinstance(errors[0], matchwire.KeyRevoked)


def test_entering_fails_with_the_reason_and_leaves_no_thread(hub):
    before = set(threading.enumerate())
    with pytest.raises(matchwire.AuthFailed), Client(hub.url, key="mw_wrong"):
        pass
    assert set(threading.enumerate()) <= before


def test_not_entered():
    with pytest.raises(RuntimeError, match="enter the client first"):
        Client("ws://127.0.0.1:1", key="k").follow("football")


def test_follow_through_a_cut(hub, live_match):
    async def test():
        async with Proxy(hub.address, lambda: Fault(cut=30_000)) as proxy:

            def work():
                with Client(proxy.url, key=hub.key) as client:
                    match = client.follow(live_match)
                    proxy.plan = Fault
                    client.updates("*/*/odds/*")
                    for change in match.changes(timeout=30):
                        if client.metrics().connections > 1 and change.health == "live":
                            return client.metrics().missed

            return await asyncio.to_thread(work)

    assert asyncio.run(test()) == 0


def test_script_that_forgets_to_close_ends(hub):
    script = (
        f"from matchwire.sync import Client; c = Client({hub.url!r}, key={hub.key!r}).open(); print(c.follow('football').health)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "live"), done.stderr
