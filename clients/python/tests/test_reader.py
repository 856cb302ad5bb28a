"""The buffer before a slow consumer, and the rate that it asks for, with time moved by hand."""

import asyncio

import pytest

from matchwire._reader import Pace, Reader
from matchwire.protocol import Change, Merged


def change(seq, events=(), name="football/1", before=None, **more):
    data = {"x": seq}
    return Change(
        name, "update", data, before or {"x": seq - 1}, "live", "live", "e", seq, None, list(events), frame_patch={"x": seq}, **more
    )


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class TestMerging:
    def test_changes_that_wait_are_one_with_all_events(self):
        reader = Reader(clock=Clock())
        for seq in (1, 2, 3):
            reader.put(change(seq, [f"e{seq}"]))
        got = reader.get_nowait()
        assert (got.data, got.previous, got.seq) == ({"x": 3}, {"x": 0}, 3)
        assert got.events == ["e1", "e2", "e3"]
        assert got.merged == Merged(3, "reader")
        assert got.patch == {"x": 3}
        assert reader.get_nowait() is None

    def test_change_that_is_alone_keeps_what_the_hub_says_of_it(self):
        reader = Reader(clock=Clock())
        reader.put(change(5, merged=Merged(4, "slow")))
        assert reader.get_nowait().merged == Merged(4, "slow")

    def test_depth_keeps_changes_apart(self):
        reader = Reader(clock=Clock(), depth=2)
        for seq in (1, 2, 3, 4):
            reader.put(change(seq))
        assert [reader.get_nowait().seq for _ in range(2)] == [1, 4]
        assert reader.merges == 2

    def test_channels_do_not_merge_with_each_other(self):
        reader = Reader(clock=Clock())
        reader.put(change(1, name="a/1"))
        reader.put(change(1, name="a/2"))
        reader.put(change(2, name="a/1"))
        assert [(it.channel, it.seq) for it in (reader.get_nowait(), reader.get_nowait())] == [("a/1", 2), ("a/2", 1)]

    def test_events_without_room_are_reported(self):
        reader = Reader(clock=Clock(), events_max=2)
        reader.put(change(1, ["a", "b"]))
        reader.put(change(2, ["c"]))
        got = reader.get_nowait()
        assert got.events == ["b", "c"]
        assert (got.missed.why, got.missed.events) == ("reader", 1)
        assert reader.dropped == 1

    def test_health_is_told_with_the_document(self):
        reader = Reader(clock=Clock())
        reader.put(change(1))
        reader.put(Change("football/1", "health", {"x": 1}, {"x": 1}, "lost", "live", "e", 1))
        got = reader.get_nowait()
        assert (got.kind, got.health, got.previous_health, got.patch, got.merged) == ("update", "lost", "live", {"x": 1}, None)

    def test_end_comes_after_what_waits(self):
        async def test():
            reader = Reader(clock=Clock())
            reader.put(change(1))
            reader.end(ValueError("over"))
            reader.put(change(2))
            assert (await reader.get()).seq == 1
            with pytest.raises(ValueError, match="over"):
                await reader.get()
            with pytest.raises(ValueError, match="over"):
                await reader.get()

        asyncio.run(test())

    def test_two_tasks_are_told_apart(self):
        async def test():
            reader = Reader(clock=Clock())
            first = asyncio.ensure_future(reader.get())
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="two tasks"):
                await reader.get()
            reader.put(change(1))
            assert (await first).seq == 1

        asyncio.run(test())

    def test_cancelled_wait_loses_nothing(self):
        async def test():
            reader = Reader(clock=Clock())
            waiting = asyncio.ensure_future(reader.get())
            await asyncio.sleep(0)
            reader.put(change(1))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert (await reader.get()).seq == 1

        asyncio.run(test())


class TestPace:
    def test_short_waits_change_nothing(self):
        pace = Pace(0)
        assert not pace.waited(0.2, 1.0)
        assert pace.rate_ms == 0

    def test_rate_follows_the_wait_and_never_falls_while_slow(self):
        pace = Pace(0)
        assert pace.waited(0.3, 1.0)
        assert pace.rate_ms == 500
        assert not pace.waited(0.26, 1.1)
        assert pace.waited(1.2, 2.0)
        assert pace.rate_ms == 2000
        assert pace.waited(60, 62.0)
        assert pace.rate_ms == 5000

    def test_rate_returns_after_five_seconds_of_keeping_up(self):
        pace = Pace(100)
        pace.waited(0.3, 1.0)
        assert not pace.took(0.01, 5.9)
        assert pace.took(0.01, 6.0)
        assert pace.rate_ms == 100

    def test_consumer_that_needs_as_long_as_ever_keeps_the_low_rate(self):
        pace = Pace(0)
        pace.waited(0.4, 1.0)
        for second in range(2, 30):
            assert not pace.took(0.4, float(second))
        assert pace.rate_ms == 500

    def test_consumer_that_left_its_loop_is_not_slow(self):
        pace = Pace(0)
        pace.waited(0.4, 1.0)
        assert pace.rest()
        assert pace.rate_ms == 0

    def test_reader_that_nobody_iterates_asks_for_nothing(self):
        clock, asked = Clock(), []
        reader = Reader(clock=clock, pace=Pace(0), on_pace=lambda: asked.append(1))
        for seq in range(1, 10):
            clock.now += 1
            reader.put(change(seq))
        assert asked == []

    def test_reader_whose_consumer_works_too_long_asks_while_it_works(self):
        async def test():
            clock, asked = Clock(), []
            pace = Pace(0)
            reader = Reader(clock=clock, pace=pace, on_pace=lambda: asked.append(pace.rate_ms))
            reader.put(change(1))
            await reader.get()
            reader.put(change(2))
            clock.now += 0.9
            reader.put(change(3))
            assert asked == [1000]
            await reader.get()
            clock.now += 6
            waiting = asyncio.ensure_future(reader.get())
            await asyncio.sleep(0)
            assert asked == [1000], "it worked for 6 s"
            reader.put(change(4))
            await waiting
            clock.now += 0.01
            waiting = asyncio.ensure_future(reader.get())
            await asyncio.sleep(0)
            clock.now += 6
            reader.put(change(5))
            await waiting
            waiting = asyncio.ensure_future(reader.get())
            await asyncio.sleep(0)
            assert asked == [1000, 0]
            waiting.cancel()

        asyncio.run(test())
