"""The asyncio client against a real hub."""

import ast
import asyncio
import csv
import io
import logging
import os
import re
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest
from hub import START_S, free_address, running_hub
from nbclient import NotebookClient
from proxy import Fault, Proxy

import matchwire
from matchwire import Client, _reader
from matchwire.client import stream_url
from matchwire.documents import FootballMatch, Odds

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(test, seconds=240):
    """Runs a coroutine as a test; none of these takes longer, however busy the machine is."""
    return asyncio.run(asyncio.wait_for(test, seconds))


class TestConnecting:
    def test_follow_returns_with_the_image(self, hub, live_match):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                match = await client.follow(live_match, document=FootballMatch)
                assert match.data["sport"] == "football"
                assert match.health == "live"
                assert 0 <= match.age_ms < 15_000
                assert match.clock_s() > 0
                image = hub.image(live_match)
                assert (match.epoch, image["epoch"]) == (image["epoch"], match.epoch)

        run(test())

    def test_http_address_with_and_without_the_path(self):
        assert stream_url("https://hub.example.org") == "wss://hub.example.org/stream/v1"
        assert stream_url("wss://hub.example.org/stream/v1") == "wss://hub.example.org/stream/v1"
        assert stream_url("http://127.0.0.1:8080/") == "ws://127.0.0.1:8080/stream/v1"
        for bad in ("ftp://x", "hub.example.org", "wss://", ""):
            with pytest.raises(ValueError, match="address of a hub"):
                stream_url(bad)

    def test_wrong_key_is_a_typed_error_at_once(self, hub):
        async def test():
            with pytest.raises(matchwire.AuthFailed) as caught:
                async with Client(hub.url, key="mw_wrong"):
                    pass
            assert caught.value.code == 4401

        run(test())

    def test_key_without_the_add_on(self, hub):
        async def test():
            with pytest.raises(matchwire.AddonRequired):
                async with Client(hub.url, key=hub.create_key()):
                    pass

        run(test())

    def test_hub_that_is_not_there_is_named_after_the_timeout(self):
        async def test():
            with pytest.raises(matchwire.ConnectTimeout, match="Connect"):
                async with Client("ws://127.0.0.1:1", key="mw_k", open_timeout=5):
                    pass

        run(test())

    def test_ticket_is_bought_for_each_connection(self, hub):
        bought = []

        def ticket():
            bought.append(hub.post("/api/v2/stream/ticket/")["ticket"])
            return bought[-1]

        async def test():
            async with Proxy(hub.address, lambda: Fault(cut=3000)) as proxy, Client(proxy.url, ticket=ticket) as client:
                proxy.plan = Fault
                await client.follow("football")
                await until(lambda: client.metrics().connections >= 2)
                assert len(set(bought)) >= 2
                (await client.follow("feeds")).close()

        run(test())

    def test_used_ticket_is_final_after_a_few_attempts(self, hub):
        used = []

        async def ticket():
            used.append(1)
            return "nonsense"

        async def test():
            client = Client(hub.url, ticket=ticket)
            client._session._backoff._random = lambda: 0.0
            with pytest.raises(matchwire.AuthFailed):
                async with client:
                    pass
            assert len(used) == 4

        run(test())

    def test_key_shows_nowhere(self, hub, caplog):
        caplog.set_level(logging.DEBUG)

        async def test():
            client = Client(hub.url, key=hub.key)
            async with client:
                text = f"{client!r} {client!s} {vars(client)!r}"
                await client.follow("feeds")
            assert hub.key not in text
            with pytest.raises(matchwire.MatchwireError) as caught:
                async with Client(f"ws://{hub.address}/nowhere?token={hub.key}", open_timeout=1):
                    pass
            assert hub.key not in str(caught.value)

        run(test())
        assert any("Authorization" in it for it in caplog.messages), "the headers are not logged at all, which shows nothing"
        assert hub.key not in caplog.text

    def test_revoked_key_ends_iterators_with_a_typed_error(self, hub):
        async def test():
            key = hub.create_key("websocket")
            async with Client(hub.url, key=key) as client:
                match = await client.follow("feeds")
                prefix = next(
                    line.split("\t")[0] for line in hub._run("key", "list").splitlines() if key.startswith(line.split("\t")[0])
                )
                await asyncio.to_thread(hub._run, "key", "revoke", prefix)
                with pytest.raises(matchwire.KeyRevoked):
                    async for _ in match:
                        pass
                with pytest.raises(matchwire.KeyRevoked):
                    await client.follow("football")
                assert match.health == "lost"

        run(test())


async def until(holds, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it does not happen"
        await asyncio.sleep(0.01)


class TestFollowing:
    def test_changes_lead_from_document_to_document(self, hub, live_match):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                match = await client.follow(live_match, lossless=True)
                document, seq = match.data, match.seq
                for _ in range(10):
                    change = await match.next_change(timeout=30)
                    assert matchwire.protocol.merge_patch(document, change.patch) == change.data
                    assert change.kind == "health" or change.seq > seq
                    document, seq = change.data, change.seq

        run(test())

    def test_refusals_are_typed(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                with pytest.raises(matchwire.NotTracked) as caught:
                    await client.follow("football/1")
                assert caught.value.retry is True
                with pytest.raises(matchwire.BadChannel):
                    await client.follow("no channel")
                with pytest.raises(matchwire.Timeout):
                    await client.follow("football/1", wait=True, timeout=0.2)
                with pytest.raises(matchwire.BadChannel):
                    async for _ in client.updates("//*"):
                        pass
                assert client._session.subscriptions == {}, "nothing is left of them"

        run(test())

    def test_missing_add_on_is_named_with_its_price(self, hub):
        async def test():
            async with Client(hub.url, key=hub.create_key("websocket")) as client:
                with pytest.raises(matchwire.NotEntitled) as caught:
                    await client.follow("darts")
                assert caught.value.addons[0]["addon"] == "sports"

        run(test())

    def test_snap_is_the_board(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                board = await client.snap("tennis")
                assert all(isinstance(id, int) and "p1" in line for id, line in board.items())
                assert client._session.subscriptions == {}

        run(test())

    def test_two_users_share_a_subscription_and_each_gets_every_change(self, hub, live_match):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                one = await client.follow(live_match, lossless=True)
                two = await client.follow(live_match, lossless=True)
                assert len(client._session.subscriptions) == 1
                second = [(await two.next_change()).seq for _ in range(3)]
                first = [(await one.next_change()).seq]
                while first[-1] < second[-1]:
                    first.append((await one.next_change()).seq)
                assert first[-3:] == second
                one.close()
                await two.next_change(timeout=30)
                two.close()
                assert client._session.subscriptions == {}
                # The changes that waited when it was closed are there still.
                one.take()
                with pytest.raises(matchwire.ClientClosed):
                    await one.next_change()

        run(test())

    def test_whole_documents_are_there_though_parts_of_them_are_followed(self, hub, live_match):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                board = await client.follow("football", pick=["/matches/*/score"])
                assert not any("home" in line for line in board.data["matches"].values())
                assert all("home" in line for line in (await client.snap("football")).values())
                await client.updates("football/*", pick=["/score"]).next_change(timeout=30)
                assert "home" in (await client.follow(live_match)).data
                updates, waiting = client.updates("football/*"), {f"football/{id}" for id in await client.snap("football")}
                while waiting:
                    channel, _ = await updates.next_change(timeout=30)
                    assert "home" in channel.data
                    waiting.discard(channel.name)
                if "hash" in client.features:
                    assert (await client.verify(live_match)).ok is not False
                    assert (await client.verify(channel.name)).ok is not False

        run(test())

    def test_loop_ends_when_the_client_is_closed(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                seen = []

                async def read():
                    async for channel, _ in client.updates("*/*"):
                        seen.append(channel.name)

                task = asyncio.create_task(read())
                await until(lambda: len(seen) > 10)
            await asyncio.wait_for(task, 5)

        run(test())

    def test_books_price_what_is_open(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client, client.books("football/*/odds/*") as books:
                for _ in range(2000):
                    book, _ = await books.next_change(timeout=30)
                    check_prices(book)
                    if book.price("1x2", "HOME") is not None and len(client._views) > 20:
                        break
                assert isinstance(book.price("1x2", "HOME"), Decimal)
                frame = book.to_frame()
                assert {"market", "outcome", "price", "open"} <= set(frame.columns)
                assert str(frame["price"].dtype) == "float64"
                polars = book.to_polars()
                assert polars.height == len(frame) == sum(len(it["selections"]) for it in book.data["markets"].values())

        run(test())

    def test_ping_and_clock(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                assert 0 < await client.ping() < 10_000
                assert abs(client.server_now() / 1e6 - time.time()) < 5
                metrics = client.metrics()
                assert metrics.round_trip_ms is not None
                assert abs(metrics.clock_offset_ms) < 5000

        run(test())

    def test_document_is_proved_by_its_hash(self, hub, live_match):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                match = await client.follow(live_match)
                if "hash" not in client.features:
                    with pytest.raises(matchwire.Unsupported):
                        await match.verify()
                    pytest.skip("this hub does not offer hashes")
                proof = await match.verify()
                assert proof.ok is True, proof

        run(test())

    def test_many_channels_are_one_command_if_the_hub_offers_it(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client:
                if "batch" not in client.features:
                    pytest.skip("this hub does not offer batches")
                ids = list(await client.snap("football"))[:10]
                followed = [await client.follow(f"football/{id}") for id in ids]
                client._session.closed(1006, client.now())
                client._disconnect()
                client.wake()
                client._pump()
                await until(lambda: all(it.health in ("live", "ended") for it in followed))
                sent = [it for it in followed if it._subscription.pending is not None]
                assert sent == []
                assert client.metrics().missed == 0

        run(test())


def check_prices(book):
    """A price is there only if everything on the way to it allows it."""
    data: Odds = book.data
    for market_id, market in data.get("markets", {}).items():
        for id, selection in market.get("selections", {}).items():
            price = book.price(market_id, id)
            is_open = (
                book.health == "live"
                and data["suspended"] is False
                and market["status"] == "open"
                and selection["status"] == "active"
            )
            assert (price is not None) == (is_open and "price" in selection), (market_id, id)
            last = book.last_price(market_id, id)
            if price is not None:
                assert price == Decimal(selection["price"]) == last.price
                assert last.is_open
                assert last.age_ms >= 0
            elif last is not None:
                assert last.why is not None


class TestSlowReaders:
    def test_sleeping_reader_is_merged_and_never_cut_and_its_memory_is_bounded(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client, client.updates("*/*/odds/*") as updates:
                await updates.next_change()
                began = client.metrics()
                await until(lambda: client.metrics().updates - began.updates > 500 and client.metrics().merged_by_reader > 100)
                asleep = client.metrics()
                assert asleep.pending <= asleep.channels, "at most one change of each channel waits"
                seen = set()
                while client.metrics().pending:
                    channel, change = await updates.next_change()
                    assert channel.name not in seen, "one merged change of each channel"
                    assert change.data is channel.data or change.seq < channel.seq
                    seen.add(channel.name)
                    if len(seen) >= 50:
                        break
                end = client.metrics()
                assert (end.connections, end.missed, end.events_dropped) == (1, 0, 0)

        run(test())

    def test_slow_reader_gets_a_lower_rate_and_its_own_again(self, hub, live_match, monkeypatch):
        monkeypatch.setattr(_reader, "RETURN_AFTER_S", 0.5)

        async def test():
            async with Client(hub.url, key=hub.key) as client:
                book = await client.odds(live_match)
                async for _ in book:
                    await asyncio.sleep(0.4)
                    if book.every_ms >= 250:
                        break
                await until(lambda: book.every_ms == 0), "the loop was left"
                async for _ in book:
                    await asyncio.sleep(0.4)
                    if book.every_ms >= 250:
                        break
                answered = client.metrics().updates
                async for _ in book:
                    if book.every_ms == 0 and client.metrics().updates > answered:
                        break

        run(test())

    def test_blocked_loop_loses_nothing(self, hub):
        async def test():
            async with Client(hub.url, key=hub.key) as client, client.updates("*/*", lossless=True) as updates:
                await updates.next_change()
                before = client.metrics().frames
                time.sleep(3)
                await until(lambda: client.metrics().frames > before)
                assert client.metrics().connections == 1
                assert client.metrics().missed == 0
                while client.metrics().pending:
                    updates._reader.get_nowait()
                channel, _ = await updates.next_change(timeout=10)
                assert channel.health in ("live", "ended")

        run(test())

    def test_slow_line_is_no_silence(self, hub):
        """A message that takes long to arrive, at a speed at which a beat's interval is not enough for it."""

        async def test():
            async with (
                Proxy(hub.address, lambda: Fault("slow", 0, None, rate=3000)) as proxy,
                Client(proxy.url, key=hub.key) as client,
            ):
                client._session.hello = client._session.hello.__class__(beat_s=0.7, limits=client._session.hello.limits)
                board = await client.follow("football", timeout=50)
                assert board.data["matches"]
                assert client.metrics().connections == 1

        run(test())


class TestRestarts:
    def test_hub_that_restarts_is_resumed_without_a_gap(self, hub_binary, tmp_path):
        """The hub drains, and comes back at the same address with its log."""

        async def test():
            listen = free_address()
            with running_hub(hub_binary, folder=tmp_path, listen=listen, MATCHWIRE_DEMO_PAST="false") as first:
                client = Client(first.url, key=first.key)
                async with client:
                    matches = client.updates("*/*", lossless=True)
                    await matches.next_change(timeout=30)
                    before = {name: (it.epoch, it.seq) for name, it in client._session.channels.items()}
                    await asyncio.to_thread(first.stop)
                    await until(lambda: not client._session.is_open)
                    with running_hub(hub_binary, folder=tmp_path, listen=listen, MATCHWIRE_DEMO_PAST="false"):
                        await until(lambda: client._session.is_open or client.wake(), 60)
                        await until(lambda: all(it.synced for it in client._session.channels.values()))
                        after = client._session.channels
                        same = [name for name, (epoch, _) in before.items() if name in after and after[name].epoch == epoch]
                        assert same, "every channel has a new epoch"
                        assert client.metrics().missed <= len(before) - len(same)

        # The hub is started twice meanwhile.
        run(test(), 2 * START_S + 240)


@contextmanager
def running_example(hub, name, *arguments):
    env = os.environ | {"MATCHWIRE_URL": hub.url, "MATCHWIRE_KEY": hub.key}
    command = [sys.executable, EXAMPLES / name, *arguments]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process.stdout
    finally:
        process.kill()
        process.communicate()


def test_example(hub, live_match):
    """The trading loop quotes, and lives on a real hub."""
    lines = []
    with running_example(hub, "trading_loop.py", live_match, any_bookmaker(hub, live_match)) as output:
        for line in output:
            lines.append(line)
            if line.startswith(("quote", "pull")):
                break
    assert any(line.startswith(("quote", "pull")) for line in lines), "".join(lines)
    assert len((EXAMPLES / "trading_loop.py").read_text().splitlines()) <= 40


def test_example_for_telegraf(hub):
    """Its lines have the form of InfluxDB, and a price that changes comes again."""
    line = re.compile(
        r"price,sport=football,match=(\d+),bookmaker=(\S+),market=(\S+),selection=(\S+) value=([\d.]+),open=(true|false) (\d{19})\n"
    )
    seen = {}
    with running_example(hub, "influx.py", "football/*/odds/*") as output:
        for text in output:
            found = line.fullmatch(text)
            assert found, text
            *key, value, is_open, stamp = found.groups()
            assert float(value) > 1
            assert abs(int(stamp) / 1e9 - time.time()) < 86_400, "the stamp is in nanoseconds"
            if seen.setdefault(tuple(key), (value, is_open)) != (value, is_open):
                break


def test_example_for_spreadsheets(hub, live_match):
    with running_example(hub, "sheet.py", live_match, "0") as output:
        address = output.readline().strip()
        deadline, prices = time.monotonic() + 60, []
        # There are none while all bookmakers are suspended.
        while not prices and time.monotonic() < deadline:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=30) as answer:
                assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
                table = list(csv.DictReader(io.StringIO(answer.read().decode())))
            prices = [Decimal(row["price"]) for row in table if row["price"]]
    assert prices, table
    assert all(price > 1 for price in prices), table
    assert {row["health"] for row in table} == {"live"}


def test_example_notebook(hub, live_match, monkeypatch):
    """Every cell runs in a kernel of its own, and shows what the hub has."""
    monkeypatch.setenv("MATCHWIRE_URL", hub.url)
    monkeypatch.setenv("MATCHWIRE_KEY", hub.key)
    notebook = nbformat.read(EXAMPLES / "prices.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is committed without outputs"
    NotebookClient(notebook, timeout=120).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = ["".join(output["data"]["text/plain"]) for output in shown if output.output_type == "execute_result"]
    assert any("matches are live" in text for text in texts), shown
    assert sum("market" in text for text in texts) >= 3, shown


def any_bookmaker(hub, match):
    async def find():
        async with Client(hub.url, key=hub.key) as client, client.books(f"{match}/odds/*") as books:
            book, _ = await books.next_change(timeout=30)
            return book.name.rpartition("/")[2]

    return run(find())


def test_nothing_is_left_behind(hub):
    """Closing waits for the tasks of the client."""

    async def test():
        before = asyncio.all_tasks()
        async with Client(hub.url, key=hub.key) as client:
            await client.follow("football")
        assert asyncio.all_tasks() == before

    run(test())


README = (Path(__file__).parent.parent / "README.md").read_text()


def test_code_of_the_readme(hub, live_match):
    """Every block is valid, and the loops for asyncio and for threads run as they are, but for address, key and match."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) >= 5
    for block in blocks:
        compile(block, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for loop in (next(it for it in blocks if "asyncio.run" in it), next(it for it in blocks if "on_change" in it)):
        code = loop.replace("ws://127.0.0.1:8080", hub.url).replace("mw_…", hub.key)
        # The one that began last: it does not end meanwhile.
        live = {id: it for id, it in hub.image("tennis")["data"]["matches"].items() if it["status"] == "live"}
        tennis = max(live, key=lambda id: live[id]["start"])
        code = code.replace("tennis/36001", f"tennis/{tennis}")
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ
        )
        try:
            line = process.stdout.readline()
            # The threads of the second loop print in any order: events, or the sets of the match.
            assert line.startswith(("{'home'", "{'1'", "[")), line + process.stdout.read()
        finally:
            process.kill()
            process.communicate()
