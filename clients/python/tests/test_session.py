"""The session as a state machine: frames and time in, documents, events and commands out."""

import json
import math

import pytest
from script import Script, event, following

from matchwire import Goal
from matchwire.protocol import FINAL_CODES, Merged, Missed, digest


class TestConnecting:
    def test_subscribes_only_after_hello(self):
        script = Script()
        script.follow("football/1")
        script.follow("tennis")
        assert script.commands() == []
        script.hello()
        assert [(it["op"], it["ch"]) for it in script.commands()] == [("subscribe", "football/1"), ("subscribe", "tennis")]

    def test_name_followed_twice_is_one_subscription_which_ends_with_its_last_user(self):
        script = following()
        first = script.session.subscriptions["football/1"]
        second = script.follow("football/1")
        assert second is first
        script.session.unsubscribe(first)
        script.perform()
        assert script.commands("unsubscribe") == []
        script.session.unsubscribe(second)
        script.perform()
        assert len(script.commands("unsubscribe")) == 1
        script.update("football/1", 10, 11, {"x": 1})
        assert script.channel() is None

    def test_frames_of_an_unknown_type_are_ignored(self):
        script = following().say({"type": "aurora"}).update("football/1", 10, 11, {"x": 1})
        assert script.data()["x"] == 1

    @pytest.mark.parametrize(
        "text", ["<html>", "[]", '"beat"', "", "7", '{"type":"image"}', '{"type":"update","ch":"football/1","seq":"x"}']
    )
    def test_message_that_is_no_frame_ends_the_connection(self, text):
        script = following().say(text)
        assert script.session.state.phase == "waiting"
        assert script.disconnects == [1000]
        assert script.health() == "lost"


class TestSequence:
    def test_updates_apply_in_order(self):
        script = following({"score": {"home": 0, "away": 0}})
        script.update("football/1", 10, 11, {"score": {"home": 1}}).update("football/1", 11, 12, {"score": {"away": 1}})
        assert script.data()["score"] == {"home": 1, "away": 1}
        assert script.channel().seq == 12

    def test_update_at_or_below_our_position_is_skipped_with_its_events(self):
        script = following({"x": 0})
        script.update("football/1", 8, 9, {"x": 9}, [event("a")]).update("football/1", 9, 10, {"x": 9}, [event("b")])
        assert script.data()["x"] == 0
        assert script.eids() == []

    def test_update_that_starts_before_our_position_applies_because_values_are_absolute(self):
        script = following({"x": 0}).update("football/1", 7, 12, {"x": 5}, n=5, why="rate")
        assert script.data()["x"] == 5
        assert script.channel().seq == 12
        assert script.last.merged == Merged(5, "rate")

    def test_gap_resumes_once_from_our_position_and_nothing_applies_until_the_answer(self):
        script = following({"x": 0}).update("football/1", 11, 12, {"x": 12}).update("football/1", 12, 13, {"x": 13})
        assert script.data()["x"] == 0
        assert script.health() == "catching_up"
        assert [it.get("from") for it in script.commands("subscribe")] == [None, {"epoch": "e1", "seq": 10}]
        script.subscribed(epoch="e1", seq=10, resumed=True)
        script.update("football/1", 10, 13, {"x": 13}, [event("g")], n=3, why="resume")
        assert script.data()["x"] == 13
        assert script.health() == "live"
        assert script.eids() == ["g"]

    def test_gap_that_a_resume_does_not_close_requests_the_image(self):
        script = following().update("football/1", 11, 12).subscribed(epoch="e1", seq=10, resumed=True)
        script.update("football/1", 11, 12)
        assert "from" not in script.commands("subscribe")[-1]

    def test_updates_before_any_image_are_ignored(self):
        script = Script()
        script.follow("football/1")
        script.hello().update("football/1", 3, 4, {"x": 1})
        assert script.data() is None
        assert len(script.commands("subscribe")) == 1

    def test_events_come_as_dataclasses(self):
        script = following().update("football/1", 10, 11, {}, [event("g1", minute=18, side="home", player={"id": 7, "name": "A"})])
        match script.last.events:
            case [Goal(eid="g1", minute=18, side="home", player=player)]:
                assert (player.id, player.name) == (7, "A")
            case other:
                raise AssertionError(other)


class TestImagesAndResync:
    def test_image_in_mid_stream_replaces_the_document(self):
        script = following({"old": True}).image("football/1", 14, {"x": 1})
        assert "old" not in script.data()
        assert script.last.missed == Missed(10, 14, "image")

    def test_first_image_misses_nothing(self):
        assert following().last.missed is None

    def test_resync_holds_updates_until_the_image_and_says_what_was_missed(self):
        script = following({"x": 0}).say({"type": "resync", "ch": "football/1", "why": "slow", "from": 10, "to": 50})
        assert script.health() == "catching_up"
        script.update("football/1", 10, 11, {"x": 11}, [event("early")])
        assert script.data()["x"] == 0
        script.image("football/1", 50, {"x": 50})
        assert script.last.missed == Missed(10, 50, "slow")
        script.update("football/1", 50, 51, {"x": 51})
        assert script.data()["x"] == 51
        assert script.health() == "live"

    def test_new_epoch_restarts_the_sequence_even_at_a_lower_number(self):
        script = following({"x": 0}).say({"type": "resync", "ch": "football/1", "why": "epoch", "from": 10, "to": 2})
        script.image("football/1", 2, {"x": 2}, "e2").update("football/1", 2, 3, {"x": 3}, [event("n")])
        assert script.data()["x"] == 3
        assert script.eids() == ["n"]
        assert script.seen[-2][1].missed.why == "epoch"
        script.again()
        assert script.commands("subscribe")[0]["from"] == {"epoch": "e2", "seq": 3}

    def test_older_image_of_the_same_epoch_does_not_repeat_known_events(self):
        script = following().update("football/1", 10, 11, {"x": 11}, [event("g1")])
        script.image("football/1", 10).update("football/1", 10, 11, {"x": 11}, [event("g1")])
        script.update("football/1", 11, 12, {"x": 12}, [event("g2")])
        assert script.data()["x"] == 12
        assert script.eids() == ["g1", "g2"]


class TestResume:
    def test_every_connection_resumes_from_the_position_reached(self):
        script = following().update("football/1", 10, 11, {}, [event("a")]).hang_up()
        assert script.health() == "lost"
        script.passes(0.5).hello()
        assert script.commands("subscribe")[0]["from"] == {"epoch": "e1", "seq": 11}
        assert script.health() == "catching_up"
        script.subscribed(epoch="e1", seq=11, resumed=True)
        script.update("football/1", 11, 12, {}, [event("b")]).update("football/1", 12, 13, {}, [event("c")])
        assert script.health() == "live"
        assert script.eids() == ["a", "b", "c"]

    def test_outside_the_window_the_image_replaces_the_document_and_says_so(self):
        script = following().again().subscribed(epoch="e1", seq=99, resumed=False, why="window")
        script.update("football/1", 98, 99, {}, [event("late")]).image("football/1", 99)
        assert script.last.missed == Missed(10, 99, "window")
        assert script.eids() == []

    def test_cut_after_every_frame_each_event_comes_once_and_the_document_ends_right(self):
        script = following({"x": 0})
        hub = [(seq - 1, seq, {"x": seq}, [event(f"e{seq}")]) for seq in range(11, 41)]
        for _ in hub:
            # One update arrives, and some come that were seen before the cut.
            at = script.channel().seq
            for update in hub[max(0, at - 12) : at - 10 + 1]:
                script.update("football/1", *update)
            script.again().subscribed(epoch="e1", seq=script.channel().seq, resumed=True)
        assert script.data()["x"] == 40
        assert script.eids() == [f"e{seq}" for seq in range(11, 41)]

    def test_channel_that_the_hub_does_not_know_after_a_reconnect_is_tried_again(self):
        script = following().again()
        script.say(
            {"type": "error", "id": script.commands("subscribe")[0]["id"], "code": "not_tracked", "message": "m", "retry": True}
        )
        assert script.health() == "refused"
        script.passes(5)
        assert len(script.commands("subscribe")) == 2
        script.subscribed(epoch="e2", seq=0, resumed=False).image("football/1", 0, {}, "e2")
        assert script.health() == "live"


def following_all() -> Script:
    script = Script()
    script.follow("football/*")
    script.hello().subscribed(channels=2)
    return script.image("football/1", 5, {"n": 1}).image("football/2", 7, {"n": 2}, "e7")


class TestPatterns:
    def test_each_channel_has_its_own_name_and_sequence(self):
        script = following_all().update("football/2", 7, 8, {"n": 3})
        assert [name for name, _ in script.seen] == ["football/1", "football/2", "football/2"]
        assert (script.data("football/1")["n"], script.data("football/2")["n"]) == (1, 3)

    def test_star_matches_one_segment(self):
        script = following_all().image("football/1/odds", 1).image("tennis/1", 1)
        assert set(script.session.channels) == {"football/1", "football/2"}

    def test_resumes_all_channels_by_name_and_a_beat_confirms_the_quiet_ones(self):
        script = following_all().again()
        assert script.commands("subscribe")[0]["from"] == {
            "football/1": {"epoch": "e1", "seq": 5},
            "football/2": {"epoch": "e7", "seq": 7},
        }
        script.subscribed(channels=2)
        assert script.health("football/1") == "catching_up"
        script.say({"type": "beat", "now": 0, "heads": {"football/1": 5, "football/2": 7}})
        assert script.health("football/1") == "live"

    @pytest.mark.parametrize(
        "limits", [{"command_bytes": 16_384}, {"command_bytes": 16_384, "from_bytes": 32_768}, {"command_bytes": 400}]
    )
    def test_2000_channels_all_resume_with_any_command_limit(self, limits):
        script = cut_off(limits)
        positions, given_back, pattern = {}, [], None
        for command in script.commands():
            size = len(json.dumps(command, separators=(",", ":")))
            if command["ch"] == "football/*":
                assert size <= limits.get("from_bytes", limits["command_bytes"])
                positions |= {name: it["seq"] for name, it in command["from"].items()}
                pattern = command
            elif command["op"] == "subscribe":
                assert pattern is None, "by name before the pattern, which would bring its image"
                assert size <= limits["command_bytes"]
                positions[command["ch"]] = command["from"]["seq"]
            else:
                assert pattern is not None, "given back only when the pattern covers it"
                given_back.append(command["ch"])
        assert positions == {f"football/{id}": id for id in range(1, 2001)}
        assert len(given_back) == 2000 - len(pattern["from"])

    def test_answers_by_name_change_nothing_and_the_updates_after_them_bring_every_event(self):
        script = cut_off({"command_bytes": 400})
        resumed, refused, ended = [it for it in script.commands("subscribe") if it["ch"] != "football/*"][:3]
        seq = resumed["from"]["seq"]
        script.say({"type": "subscribed", "id": resumed["id"], "ch": resumed["ch"], "epoch": "e1", "seq": seq + 1, "resumed": True})
        script.update(resumed["ch"], seq, seq + 1, {}, [event("g1")])
        assert script.eids() == ["g1"]
        assert script.health(resumed["ch"]) == "live"
        script.say(
            {
                "type": "subscribed",
                "id": refused["id"],
                "ch": refused["ch"],
                "epoch": "e2",
                "seq": 3,
                "resumed": False,
                "why": "epoch",
            }
        )
        script.image(refused["ch"], 3, {}, "e2")
        assert script.last.missed.why == "epoch"
        script.say({"type": "error", "id": ended["id"], "ch": ended["ch"], "code": "not_tracked", "message": "no", "retry": True})
        assert script.channel(ended["ch"]) is None
        assert script.session.state.phase == "open"

    def test_channels_left_out_by_the_limit_are_reported_and_no_failure(self):
        script = following_all().say({"type": "error", "ch": "football/*", "code": "limit", "message": "too many", "retry": False})
        assert script.session.limited.code == "limit"
        assert script.health("football/1") == "live"
        script.hang_up()
        assert script.session.state.message is None, "the cut has another reason"

    def test_match_that_a_beat_names_but_that_never_arrives_is_requested(self):
        script = following_all().beats(15, {"football/1": 5, "football/2": 7, "football/3": 1})
        assert [(it["op"], it["ch"]) for it in script.commands()] == [
            ("subscribe", "football/*"), ("unsubscribe", "football/*"), ("subscribe", "football/*"),
        ]  # fmt: skip
        assert script.commands()[-1]["from"]["football/2"]["seq"] == 7

    def test_match_that_the_hub_ends_is_reported_once_and_removed_and_may_come_back(self):
        script = following_all().say({"type": "unsubscribed", "ch": "football/1", "why": "gone"})
        assert (script.last.kind, script.last.health) == ("health", "refused")
        assert script.channel("football/1") is None
        assert script.health("football/2") == "live"
        script.image("football/1", 0, {"n": 9}, "e9")
        assert script.data("football/1")["n"] == 9

    def test_add_on_that_ends_takes_its_channels(self):
        script = following_all().say({"type": "entitlement", "addons": [], "ended": ["football/2"], "channels": 1})
        assert script.last.error.code == "not_entitled"
        assert set(script.session.channels) == {"football/1"}


def cut_off(limits: dict) -> Script:
    """A client of 2,000 channels that has reconnected to a hub with these limits."""
    script = Script()
    script.follow("football/*")
    script.hello(limits=limits)
    for id in range(1, 2001):
        script.image(f"football/{id}", id)
    return script.again(limits=limits)


class TestBatch:
    def test_all_subscriptions_are_one_command(self):
        script = Script()
        for ch in ("football/1", "football/*", "tennis/2"):
            script.follow(ch)
        script.hello(features=["batch"])
        (command,) = script.commands()
        assert command["chs"] == ["football/1", "tennis/2", "football/*"], "names first"
        chs = {
            "football/1": {"epoch": "e1", "seq": 1, "resumed": False},
            "tennis/2": {"error": "not_tracked"},
            "football/*": {"channels": 1},
        }
        script.say({"type": "subscribed", "id": command["id"], "chs": chs, "every_ms": 0, "on_slow": "merge"})
        script.image("football/1", 1)
        assert (script.health("football/1"), script.health("tennis/2")) == ("live", "refused")
        script.again(features=["batch"])
        assert script.commands()[0]["chs"] == [{"ch": "football/1", "from": {"epoch": "e1", "seq": 1}}, "tennis/2", "football/*"]

    def test_options_that_differ_need_commands_of_their_own(self):
        script = Script()
        script.follow("football/1", every_ms=500)
        script.follow("football/2")
        script.follow("football/3", every_ms=500)
        script.hello(features=["batch"])
        assert [it | {"id": 0} for it in script.commands()] == [
            {"op": "subscribe", "id": 0, "chs": ["football/1", "football/3"], "every_ms": 500},
            {"op": "subscribe", "id": 0, "ch": "football/2"},
        ]

    @pytest.mark.parametrize("features", [[], ["batch"]])
    @pytest.mark.parametrize("name_ms", [0, 500])
    def test_names_resume_before_patterns_whatever_the_options(self, features, name_ms):
        script = Script()
        script.follow("football/*", every_ms=1000)
        script.follow("tennis/*")
        script.follow("football/1", every_ms=name_ms)
        script.hello(features=features).image("football/1", 5).image("football/2", 6).again(features=features)
        asked = []
        for command in script.commands("subscribe"):
            for entry in command.get("chs", [command]):
                asked.append((entry, None) if isinstance(entry, str) else (entry["ch"], entry.get("from")))
        name, *patterns = asked
        assert name == ("football/1", {"epoch": "e1", "seq": 5})
        assert sorted(patterns) == [("football/*", {"football/2": {"epoch": "e1", "seq": 6}}), ("tennis/*", None)]

    def test_event_of_a_match_that_is_followed_by_name_and_by_a_slower_pattern_is_not_lost(self):
        script = Script()
        script.follow("football/*", every_ms=1000)
        script.follow("football/1")
        script.hello().image("football/1", 5, {"score": 0}).again()
        # A hub executes commands in order; a pattern brings the image of what is not followed yet.
        followed = set()
        for command in script.commands("subscribe"):
            is_pattern = command["ch"] == "football/*"
            if is_pattern:
                script.say({"type": "subscribed", "id": command["id"], "ch": command["ch"], "channels": 1})
            else:
                script.say(
                    {"type": "subscribed", "id": command["id"], "ch": "football/1", "epoch": "e1", "seq": 6, "resumed": True}
                )
            if "football/1" not in followed and "from" not in command:
                script.image("football/1", 6, {"score": 1})
            elif not is_pattern:
                script.update("football/1", 5, 6, {"score": 1}, [event("g1")])
            followed.add("football/1")
        assert (script.eids(), script.data()["score"], script.health()) == (["g1"], 1, "live")

    @pytest.mark.parametrize("limit", [1000, 20_000, 262_144])
    def test_2000_channels_of_a_pattern_resume_in_commands_within_the_limit(self, limit):
        limits = {"command_bytes": 400, "from_bytes": limit, "channels": 10_000}
        script = Script()
        script.follow("football/*")
        script.hello(limits=limits, features=["batch"])
        for id in range(1, 2001):
            script.image(f"football/{id}", id)
        script.again(limits=limits, features=["batch"])
        positions, given_back = {}, []
        for command in script.commands():
            assert len(json.dumps(command, separators=(",", ":"))) <= limit
            if command["op"] == "unsubscribe":
                given_back += command["chs"]
                continue
            for entry in command["chs"]:
                if entry["ch"] == "football/*":
                    assert given_back == []
                    positions |= {name: it["seq"] for name, it in entry["from"].items()}
                else:
                    positions[entry["ch"]] = entry["from"]["seq"]
        assert positions == {f"football/{id}": id for id in range(1, 2001)}
        byte_count = sum(len(json.dumps(it)) for it in script.commands())
        assert len(script.commands()) <= math.ceil(byte_count / limit * 1.6) + 2

    def test_borrowed_channel_that_has_ended_is_removed(self):
        limits = {"from_bytes": 300, "channels": 10_000}
        script = Script()
        script.follow("football/*")
        script.hello(limits=limits, features=["batch"])
        for id in range(1, 21):
            script.image(f"football/{id}", id)
        script.again(limits=limits, features=["batch"])
        first = script.commands()[0]
        names = [entry["ch"] for entry in first["chs"]]
        script.say(
            {
                "type": "subscribed",
                "id": first["id"],
                "chs": {name: {"error": "not_tracked"} for name in names},
                "every_ms": 0,
                "on_slow": "merge",
            }
        )
        assert script.channel(names[0]) is None


class TestBeats:
    def test_head_at_our_position_keeps_a_quiet_channel_fresh(self):
        script = following().beats(60, {"football/1": 10})
        assert script.health() == "live"
        assert len(script.commands("subscribe")) == 1

    def test_one_beat_ahead_of_its_values_is_no_loss(self):
        script = following().beats(5, {"football/1": 11}).update("football/1", 10, 11, {"x": 1}).beats(5, {"football/1": 11})
        assert len(script.commands("subscribe")) == 1

    def test_still_behind_at_the_next_beat_the_client_resumes_from_its_position(self):
        script = following().beats(10, {"football/1": 12})
        assert script.commands("subscribe")[1]["from"] == {"epoch": "e1", "seq": 10}

    def test_rate_of_the_subscription_is_taken_into_account(self):
        script = following(every_ms=5000)
        assert script.commands("subscribe")[0]["every_ms"] == 5000
        script.beats(10, {"football/1": 12})
        assert len(script.commands("subscribe")) == 1
        script.beats(5, {"football/1": 12})
        assert len(script.commands("subscribe")) == 2

    def test_announced_image_that_does_not_arrive_is_requested(self):
        script = following().say({"type": "resync", "ch": "football/1", "why": "slow", "from": 10, "to": 20})
        script.beats(10, {"football/1": 20})
        assert len(script.commands("subscribe")) == 2


class TestFreshness:
    def test_stale_after_counts_from_the_last_frame_or_beat(self):
        script = following().passes(6).say({"type": "beat", "now": 0, "heads": {"football/1": 10}}).passes(9)
        # Frames of other channels keep the socket alive, but prove nothing about this one.
        script.say({"type": "beat", "now": 0, "heads": {}})
        assert script.health() == "live"
        script.passes(0.999)
        assert script.health() == "live"
        script.passes(0.001)
        assert script.health() == "stale"
        assert script.last.health == "stale", "the program was told"
        assert script.session.state.phase == "open"
        script.update("football/1", 10, 11)
        assert script.health() == "live"

    def test_beat_that_shows_us_behind_does_not_make_us_fresh(self):
        script = following().passes(5).say({"type": "beat", "now": 0, "heads": {"football/1": 11}}).passes(5)
        assert script.health() == "stale"

    def test_beat_brings_a_pick_to_its_head(self):
        script = Script()
        script.follow("football/1", pick=("/score",), events=("goal",))
        script.hello()
        command = script.commands("subscribe")[-1]
        assert (command["pick"], command["events"]) == (["/score"], ["goal"])
        script.subscribed().image("football/1", 10).beats(30, {"football/1": 17})
        assert (script.channel().seq, script.health()) == (17, "live"), "the changes between had nothing of it"
        assert script.update("football/1", 10, 18, {"score": 1}).data()["score"] == 1
        script.beats(5, {"football/1": 19}).again()
        assert script.commands("subscribe")[-1]["from"]["seq"] == 19

    def test_document_may_set_its_own_limit_by_update(self):
        script = following().update("football/1", 10, 11, {"stale_after_ms": 2000}).passes(2)
        assert script.health() == "stale"

    def test_health_is_right_at_any_moment_without_a_tick(self):
        script = following()
        script.now += 10
        assert script.health() == "stale"

    def test_state_of_the_feed_is_the_health(self):
        script = following()
        for index, feed in enumerate(["late", "down", "recovering", "live"]):
            script.update("football/1", 10 + index, 11 + index, {"feed": feed})
            assert script.health() == feed
        script.update("football/1", 14, 15, {"feed": "on fire"})
        assert script.health() == "down", "an unknown state is not trusted"

    def test_ended_match_does_not_grow_stale_but_is_lost_with_the_connection(self):
        script = following({"life": "ended"}).beats(20)
        assert script.health() == "ended"
        script.hang_up()
        assert script.health() == "lost"

    def test_each_change_of_health_is_reported_once(self):
        script = following().beats(20)
        assert [change.health for _, change in script.seen if change.kind == "health"] == ["stale"]

    def test_hub_that_hears_nothing_itself_makes_everything_stale_at_once(self):
        script = following().say({"type": "stale", "since": 0})
        assert script.health() == "stale"
        script.say({"type": "beat", "now": 0, "heads": {"football/1": 10}})
        assert script.health() == "live"

    def test_changed_rate_is_sent_and_survives_a_reconnect(self):
        script = following()
        script.session.set_rate(script.session.subscriptions["football/1"], 1000)
        script.perform()
        assert script.commands()[-1] | {"id": 0} == {"op": "set", "id": 0, "ch": "football/1", "every_ms": 1000}
        script.again()
        assert script.commands()[0]["every_ms"] == 1000
        script.session.set_rate(script.session.subscriptions["football/1"], 0)
        script.perform()
        assert script.commands("set") == [], "not while the subscription is under way"
        script.subscribed(epoch="e1", seq=10, resumed=True)
        assert script.commands("set")[0]["every_ms"] == 0


class TestLiveness:
    def test_silent_connection_is_pinged_then_closed(self):
        script = following().beats(5)
        pings = lambda: [it for it in script.connections[0] if it["op"] == "ping"]
        script.say({"type": "pong", "id": pings()[-1]["id"], "now": 0})
        before = len(pings())
        script.passes(10)
        assert len(pings()) == before + 1
        assert script.session.state.phase == "open"
        script.passes(5)
        assert script.session.state.phase == "waiting"
        assert script.disconnects == [1000]

    def test_bytes_of_a_long_message_are_no_silence(self):
        script = following()
        for _ in range(30):
            script.passes(1)
            script.session.touch(script.now)
        assert script.session.state.phase == "open"

    def test_socket_that_opens_without_hello_is_closed(self):
        script = Script().passes(15)
        assert script.session.state.phase == "waiting"
        script.passes(0.5)
        assert len(script.connections) == 2

    def test_hubs_clock_comes_from_hello_then_from_the_quickest_pong(self):
        script = Script().hello(now=int(Script().now * 1e6) + 7_000_000)
        assert script.session.server_now(script.now) - script.now * 1e6 == 7_000_000
        ping = next(it for it in script.connections[0] if it["op"] == "ping")
        script.passes(0.1).say({"type": "pong", "id": ping["id"], "now": int((script.now - 0.05) * 1e6) + 6_900_000})
        assert abs(script.session.server_now(script.now) - script.now * 1e6 - 6_900_000) <= 1
        assert script.session.round_trip() == pytest.approx(0.1)


def waits(script: Script, count: int, up: float | None = None) -> list[float]:
    """The waits of so many losses in a row, each after `up` seconds of an open connection."""
    found = []
    for _ in range(count):
        if up is not None:
            script.hello().beats(up)
        script.hang_up()
        found.append(script.session.state.retry_at - script.now)
        script.passes(found[-1])
    return found


class TestReconnecting:
    def test_ceilings_double_up_to_half_a_minute(self):
        assert waits(Script(), 8) == [0.5, 1, 2, 4, 8, 16, 30, 30]

    def test_jitter_is_full(self):
        assert waits(Script(rand=lambda: 0.25), 3) == [0.125, 0.25, 0.5]
        assert waits(Script(rand=lambda: 0.0), 3) == [0, 0, 0]

    def test_hub_that_accepts_and_dies_does_not_reset_the_waits(self):
        assert waits(Script(), 4, 10) == [0.5, 1, 2, 4]

    def test_minute_of_health_resets_the_waits(self):
        assert waits(Script(), 3, 60) == [0.5, 0.5, 0.5]

    def test_waits_stay_finite_after_a_thousand_losses(self):
        assert waits(Script(), 1000)[-1] == 30

    def test_bye_names_the_time_and_wake_does_not_shorten_it(self):
        script = following().say({"type": "bye", "why": "drain", "reconnect_after_ms": 7300}).hang_up(4503)
        assert script.session.state.why == "drain"
        script.session.wake(script.now)
        script.passes(7.299)
        assert len(script.connections) == 1
        script.passes(0.001)
        assert len(script.connections) == 2

    def test_wake_shortens_the_clients_own_wait(self):
        script = following().hang_up()
        script.session.wake(script.now)
        script.perform()
        assert len(script.connections) == 2
        script.passes(10)
        assert len(script.connections) == 2, "the old wait does not connect as well"

    @pytest.mark.parametrize("code", FINAL_CODES)
    def test_final_codes(self, code):
        script = (
            following().say({"type": "error", "code": "auth_failed", "message": "in the hub's words", "retry": False}).hang_up(code)
        )
        state = script.session.state
        assert (state.phase, state.code, state.message) == ("closed", code, "in the hub's words")
        script.passes(3600)
        script.session.wake(script.now)
        assert len(script.connections) == 1
        assert script.health() == "lost"
        assert script.session.deadline() is None

    @pytest.mark.parametrize("code", [None, 1000, 1001, 1006, 1011, 4408, 4429, 4503, 4508, 4999])
    def test_every_other_code_is_retried(self, code):
        script = following().hang_up(code).passes(0.5)
        assert len(script.connections) == 2

    def test_session_stopped_by_the_program_stays_stopped(self):
        script = following()
        script.session.stop(script.now)
        script.perform()
        script.passes(3600)
        assert len(script.connections) == 1
        assert script.disconnects == [1000]
        assert script.session.deadline() is None


class TestRefusals:
    def test_unknown_channel_is_refused_by_name_and_the_others_continue(self):
        script = following()
        script.follow("football/9")
        refusal = {
            "type": "error",
            "id": script.commands("subscribe")[-1]["id"],
            "code": "not_tracked",
            "message": "no",
            "retry": False,
        }
        script.say(refusal)
        assert script.health("football/9") == "refused"
        assert script.channel("football/9").error.code == "not_tracked"
        assert script.health() == "live"
        script.passes(4)
        assert len(script.commands("subscribe")) == 2

    def test_temporary_refusal_is_retried(self):
        script = following()
        script.follow("football/9")
        script.say(
            {"type": "error", "id": script.commands("subscribe")[-1]["id"], "code": "limit", "message": "busy", "retry": True}
        )
        script.beats(5)
        assert len(script.commands("subscribe")) == 3
        script.subscribed(epoch="e1", seq=1, resumed=False).image("football/9", 1)
        assert script.health("football/9") == "live"

    def test_match_followed_by_name_that_ends_keeps_its_last_document(self):
        script = following({"x": 1}).say({"type": "unsubscribed", "ch": "football/1", "why": "gone"})
        assert script.health() == "refused"
        assert script.channel().error.code == "not_tracked"
        assert script.data()["x"] == 1
        script.follow("football/1")
        assert len(script.commands("subscribe")) == 2, "following it again asks again"

    def test_book_that_ends_is_asked_for_again_after_waits_that_double(self):
        name = "football/1/odds/acme"
        script = Script()
        script.follow(name)
        script.hello().subscribed(epoch="e1", seq=10, resumed=False).image(name, 10)
        script.say({"type": "unsubscribed", "ch": name, "why": "gone"})
        assert (script.health(name), script.last.error.retry) == ("refused", True)
        waits = []
        for _ in range(6):
            asked, began = len(script.commands("subscribe")), script.now
            while len(script.commands("subscribe")) == asked:
                script.beats(1)
            waits.append(script.now - began)
            command = script.commands("subscribe")[-1]
            script.say({"type": "error", "id": command["id"], "code": "not_tracked", "message": "no", "retry": True})
        assert waits == [5, 10, 20, 40, 60, 60]
        script.beats(60).subscribed(epoch="e2", seq=3, resumed=False, why="epoch")
        assert script.health(name) == "catching_up", "its prices are those of the other source"
        script.image(name, 3, epoch="e2")
        assert (script.health(name), script.last.missed.why) == ("live", "epoch")
        script.say({"type": "unsubscribed", "ch": name, "why": "gone"}).beats(5)
        assert len(script.commands("subscribe")) == 9, "the first wait is short again"

    @pytest.mark.parametrize("is_covered", [False, True])
    def test_refusal_for_good_after_one_for_now_is_a_change(self, is_covered):
        name = "football/1/odds/acme"
        script = Script()
        script.follow(name)
        script.hello().subscribed(epoch="e1", seq=10, resumed=False).image(name, 10)
        if is_covered:
            script.follow("football/*/odds/acme")
            script.subscribed(channels=1)
        script.say({"type": "unsubscribed", "ch": name, "why": "gone"}).beats(5)
        id, seen = script.commands("subscribe")[-1]["id"], len(script.seen)
        script.say({"type": "error", "id": id, "ch": name, "code": "not_entitled", "message": "m", "retry": False})
        assert len(script.seen) == seen + 1
        assert (script.last.kind, script.last.health, script.last.error.code) == ("health", "refused", "not_entitled")
        script.say({"type": "entitlement", "addons": [], "ended": [name], "channels": 1}).beats(120)
        assert len(script.seen) == seen + 1, "once is enough"

    def test_waits_stay_finite_after_a_thousand_refusals(self):
        script = following()
        script.session.subscriptions["football/1"].refusals = 5000
        script.again().say(
            {"type": "error", "id": script.commands("subscribe")[0]["id"], "code": "not_tracked", "message": "m", "retry": True}
        )
        script.beats(60)
        assert len(script.commands("subscribe")) == 2

    @pytest.mark.parametrize(("name", "life"), [("football/1", "live"), ("football/1/odds/acme", "ended")])
    def test_end_of_a_match_and_of_a_settled_book_is_final(self, name, life):
        script = Script()
        script.follow(name)
        script.hello().subscribed(epoch="e1", seq=10, resumed=False).image(name, 10, {"life": life})
        script.say({"type": "unsubscribed", "ch": name, "why": "gone"}).beats(120)
        assert script.channel(name).error.retry is False
        assert len(script.commands("subscribe")) == 1

    def test_book_whose_add_on_ends_is_not_asked_for_again(self):
        name = "football/1/odds/acme"
        script = Script()
        script.follow(name)
        script.hello().subscribed(epoch="e1", seq=10, resumed=False).image(name, 10)
        script.say({"type": "entitlement", "addons": [], "ended": [name], "channels": 1}).beats(120)
        assert script.channel(name).error.retry is False
        assert len(script.commands("subscribe")) == 1

    def test_missing_add_ons_are_named(self):
        script = following()
        script.follow("darts/1")
        addons = [{"addon": "sports", "price": "5.00", "currency": "USD"}]
        script.say(
            {
                "type": "error",
                "id": script.commands("subscribe")[-1]["id"],
                "code": "not_entitled",
                "message": "m",
                "addons": addons,
                "retry": False,
            }
        )
        assert script.channel("darts/1").error.addons[0]["addon"] == "sports"

    def test_lag_is_there_while_it_lasts(self):
        script = following().say({"type": "lag", "queued_bytes": 4096, "oldest_ms": 900, "merged": 3})
        assert script.session.lag["oldest_ms"] == 900
        script.say({"type": "lag", "queued_bytes": 0, "oldest_ms": 0, "merged": 0})
        assert script.session.lag is None


class TestProof:
    def asked(self, script: Script) -> int:
        id = script.session.request_hash("football/1")
        script.perform()
        return id

    def test_same_document_is_proved(self):
        script = following({"x": 1})
        id = self.asked(script)
        script.say({"type": "hash", "id": id, "ch": "football/1", "epoch": "e1", "seq": 10, "sha256": digest(script.data())})
        assert script.replies[-1].proof.ok is True
        assert script.health() == "live"

    def test_other_document_is_replaced(self):
        script = following({"x": 1})
        id = self.asked(script)
        script.say({"type": "hash", "id": id, "ch": "football/1", "epoch": "e1", "seq": 10, "sha256": "00"})
        assert script.replies[-1].proof.ok is False
        assert script.health() == "catching_up"
        assert "from" not in script.commands("subscribe")[-1]
        script.subscribed(epoch="e1", seq=10, resumed=False).image("football/1", 10, {"x": 2})
        assert (script.data()["x"], script.health()) == (2, "live")

    def test_another_position_proves_nothing(self):
        script = following()
        id = self.asked(script)
        script.say({"type": "hash", "id": id, "ch": "football/1", "epoch": "e1", "seq": 11, "sha256": "00"})
        assert script.replies[-1].proof.ok is None
        assert script.health() == "live"

    def test_question_without_a_connection_is_answered_at_once(self):
        script = following().hang_up()
        id = self.asked(script)
        script.session.request_ping(script.now)
        script.perform()
        assert [it.frame for it in script.replies] == [None, None]
        assert script.replies[0].id == id

    def test_answer_that_never_comes_ends_with_the_connection(self):
        script = following()
        id = self.asked(script)
        script.hang_up()
        assert [(it.id, it.frame) for it in script.replies] == [(id, None)]
