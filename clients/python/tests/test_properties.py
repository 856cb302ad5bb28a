"""Properties of merging, resuming, buffering and proving, for generated documents, changes and faults."""

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from script import Script

from matchwire._reader import Reader
from matchwire.protocol import Change, canonical, diff, digest, merge_patch

keys = st.sampled_from(["a", "b", "c", "__proto__"])
scalars = st.one_of(st.integers(-5, 5), st.booleans(), st.sampled_from(["", "2.10", "é"]), st.lists(st.integers(0, 2), max_size=2))
documents = st.recursive(
    st.dictionaries(keys, scalars, max_size=3),
    lambda inner: st.dictionaries(keys, st.one_of(scalars, inner), max_size=3),
    max_leaves=8,
)
patches = st.recursive(
    st.dictionaries(keys, st.one_of(scalars, st.none()), max_size=3),
    lambda inner: st.dictionaries(keys, st.one_of(scalars, st.none(), inner), max_size=3),
    max_leaves=8,
)

# RFC 7396, appendix A: original, patch, result.
RFC_7396 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


def rfc_merge(target, patch):
    """The pseudo-code of RFC 7396, section 2, which changes the target."""
    if isinstance(patch, dict):
        if not isinstance(target, dict):
            target = {}
        for name, value in patch.items():
            if value is None:
                target.pop(name, None)
            else:
                target[name] = rfc_merge(target.get(name), value)
        return target
    return patch


def exact(value) -> str:
    """Text in which True and 1 differ."""
    return json.dumps(value, sort_keys=True)


class TestMergePatch:
    @pytest.mark.parametrize(("target", "patch", "result"), RFC_7396)
    def test_examples_of_the_rfc(self, target, patch, result):
        assert merge_patch(target, patch) == result

    @given(documents, patches)
    def test_is_that_of_the_rfc_and_leaves_the_original_unchanged(self, document, patch):
        before = exact(document)
        merged = merge_patch(document, patch)
        assert exact(document) == before
        assert exact(merged) == exact(rfc_merge(json.loads(before), patch))

    @given(documents, patches)
    def test_untouched_branches_are_the_same_objects(self, document, patch):
        merged = merge_patch(document, patch)
        for key, value in document.items():
            if key not in patch:
                assert merged[key] is value

    @given(documents, documents)
    def test_diff_leads_from_one_document_to_the_other(self, before, after):
        assert exact(merge_patch(before, diff(before, after))) == exact(after)

    @given(documents)
    def test_diff_of_a_document_with_itself_is_empty(self, document):
        assert diff(document, json.loads(json.dumps(document))) == {}


class Model:
    """A hub with one channel, its tail, and merged delivery, as docs/PROTOCOL.md promises it."""

    def __init__(self, changes, window):
        self.tail = []
        self.document = {"life": "live", "feed": "live", "stale_after_ms": 10_000}
        self.window = window
        self.images = [self.document]
        for seq, (patch, has_event) in enumerate(changes, 1):
            self.document = merge_patch(self.document, patch)
            self.images.append(self.document)
            self.tail.append((seq, patch, [{"kind": "goal", "eid": f"e{seq}"}] if has_event else []))

    def image(self, seq):
        return {"type": "image", "ch": "c/1", "epoch": "e", "seq": seq, "at": {}, "data": self.images[seq]}

    def updates(self, start, end, merge):
        """Frames from `start` to `end`: one by one, or merged between events, as patches with absolute values."""
        frames, values = [], []

        def flush():
            if values:
                before, after = self.images[values[0] - 1], self.images[values[-1]]
                # Absolute values: also what an earlier patch in between set again.
                patch = diff(before, after)
                for seq in values:
                    patch = merge_patch_of_patches(patch, self.tail[seq - 1][1], after)
                frames.append(update(values[-1], values[0] - 1, patch, [], len(values)))
                values.clear()

        for seq in range(start + 1, end + 1):
            _, patch, events = self.tail[seq - 1]
            if events or not merge:
                flush()
                frames.append(update(seq, seq - 1, patch, events, 1))
            else:
                values.append(seq)
        flush()
        return frames


def merge_patch_of_patches(whole, patch, after):
    """Adds what `patch` touches to `whole`, with the values of the document `after`."""
    result = dict(whole)
    for key, value in patch.items():
        if key not in after:
            result[key] = None
        elif isinstance(value, dict) and isinstance(after[key], dict) and isinstance(result.get(key, {}), dict):
            result[key] = merge_patch_of_patches(result.get(key, {}), value, after[key])
        else:
            result[key] = after[key]
    return result


def update(seq, prev, patch, events, n):
    frame = {"type": "update", "ch": "c/1", "seq": seq, "prev": prev, "at": {}, "patch": patch}
    if events:
        frame["events"] = events
    return frame | ({"n": n, "why": "resume"} if n > 1 else {})


flat_patches = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.one_of(st.integers(0, 3), st.none()), min_size=1, max_size=3)
faults = st.lists(
    st.tuples(st.sampled_from(["deliver", "cut", "image", "repeat", "drop", "resync", "merge"]), st.integers(1, 6)), max_size=25
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(flat_patches, st.booleans()), min_size=1, max_size=30), faults, st.integers(1, 12))
def test_whatever_happens_on_the_way_the_document_is_the_hubs_and_every_event_comes_once_or_is_reported(changes, plan, window):
    """The hub publishes all along; the way delivers, cuts, repeats, drops, merges; images and resyncs come in between."""
    model = Model(changes, window)
    script = Script()
    script.follow("c/1")
    script.hello()
    end = len(changes)
    sent = 0

    def answer():
        """Answers what the client asks for, as a hub whose tail has `window` changes."""
        nonlocal sent
        while script.session.channels["c/1"].subscriptions[0].pending is not None:
            command = script.commands("subscribe")[-1]
            start = command.get("from")
            resumed = start is not None and sent - start["seq"] <= window
            more = {"resumed": True} if resumed else {"resumed": False} | ({"why": "window"} if start else {})
            script.subscribed(epoch="e", seq=sent, **more)
            if resumed:
                script.say(*model.updates(start["seq"], sent, merge=True))
            else:
                script.say(model.image(sent))

    answer()
    for what, count in plan:
        before, sent = sent, min(end, sent + count)
        if what == "deliver":
            script.say(*model.updates(before, sent, merge=False))
        elif what == "merge":
            script.say(*model.updates(before, sent, merge=True))
        elif what == "cut":
            frames = model.updates(before, sent, merge=False)
            script.say(*frames[: len(frames) // 2]).again()
        elif what == "image":
            script.say(model.image(sent))
        elif what == "repeat":
            script.say(*model.updates(max(0, before - count), sent, merge=False))
        elif what == "drop":
            # A hub does not do this; a client has to notice it all the same, at the latest by beats.
            script.beats(10, {"c/1": sent})
        elif what == "resync":
            script.say({"type": "resync", "ch": "c/1", "why": "slow", "from": before, "to": sent}, model.image(sent))
        answer()
    script.say(*model.updates(sent, end, merge=True))
    sent = end
    answer()
    script.beats(15, {"c/1": end})
    answer()

    assert exact(script.data("c/1")) == exact(model.document)
    assert script.health("c/1") == "live"
    eids = script.eids()
    assert len(eids) == len(set(eids)), "an event came twice"
    assert eids == sorted(eids, key=lambda eid: int(eid[1:])), "events came out of order"
    reported = set()
    known = 0
    for _, change in script.seen:
        if change.kind == "image" and change.previous is None:
            reported |= set(range(1, change.seq + 1))
        if change.missed is not None:
            reported |= set(range(change.missed.from_seq + 1, change.missed.to_seq + 1))
        assert change.kind == "health" or change.seq >= known, "it went back"
        known = change.seq or 0
    due = {seq for seq, _, events in model.tail if events}
    assert due - {int(eid[1:]) for eid in eids} <= reported, "an event was lost without a word"


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["x", "y"]), st.integers(0, 3), st.booleans()), max_size=60),
    st.integers(0, 5), st.integers(0, 8),
)  # fmt: skip
def test_buffer_is_bounded_and_reports_what_it_drops(steps, depth, events_max):
    """What the consumer gets, with what `missed` says, is what was put; the newest document is always there."""
    reader = Reader(clock=lambda: 0.0, depth=depth, events_max=events_max)
    documents, count = {"x": {}, "y": {}}, 0
    put, got, missed = {"x": [], "y": []}, {"x": [], "y": []}, {"x": 0, "y": 0}
    last = {"x": {}, "y": {}}

    def take():
        change = reader.get_nowait()
        if change is None:
            return
        name = change.channel
        got[name] += change.events
        missed[name] += change.missed.events if change.missed else 0
        assert change.previous == last[name], "a change begins where the one before it ended"
        assert merge_patch(change.previous, change.patch) == change.data
        last[name] = change.data

    for name, events, takes in steps:
        count += 1
        before, documents[name] = documents[name], merge_patch(documents[name], {str(count % 3): count})
        raised = [f"{count}.{index}" for index in range(events)]
        put[name] += raised
        patch = {str(count % 3): count}
        reader.put(
            Change(name, "update", documents[name], before, "live", "live", "e", count, None, list(raised), frame_patch=patch)
        )
        assert len(reader) <= depth + 2
        assert sum(len(change.events) for change, _ in reader._queue) <= max(events_max, 0)
        if takes:
            take()
    while len(reader):
        take()
    for name in ("x", "y"):
        assert last[name] == documents[name]
        assert len(got[name]) + missed[name] == len(put[name])
        assert [it for it in put[name] if it in set(got[name])] == got[name]


class TestCanonical:
    # The numbers of RFC 8785, appendix B: the bits of the double, and its text.
    NUMBERS = [
        ("0000000000000000", "0"), ("8000000000000000", "0"), ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"), ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"), ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"), ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"), ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"), ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"), ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"), ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"), ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"), ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"), ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ]  # fmt: skip

    @pytest.mark.parametrize(("bits", "text"), NUMBERS)
    def test_numbers_of_the_rfc(self, bits, text):
        (number,) = struct.unpack(">d", bytes.fromhex(bits))
        assert canonical(number).decode() == text

    def test_example_of_the_rfc(self):
        text = (
            r'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
            r'"string":"\u20ac$\u000F\u000aA'
            "'"
            r'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}'
        )
        assert canonical(json.loads(text)).decode() == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        )

    def test_keys_are_sorted_by_utf16_code_units(self):
        keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
        assert list(json.loads(canonical(dict.fromkeys(keys, 0)))) == [
            "\r",
            "1",
            "\u0080",
            "\u00f6",
            "\u20ac",
            "\U0001f600",
            "\ufb33",
        ]

    @given(documents)
    def test_does_not_depend_on_the_order_of_keys(self, document):
        turned = json.loads(json.dumps(document))
        assert digest(dict(reversed(turned.items()))) == digest(document)

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_every_number_reads_back_as_itself(self, number):
        assert float(canonical(number)) == number

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
    def test_what_is_no_json_is_refused(self, value):
        with pytest.raises(ValueError, match="is not JSON"):
            canonical(value)


names = st.sampled_from(["c/1", "c/2", "d/1", "", "c/*"])
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 12),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    documents,
    st.lists(st.integers(), max_size=2),
)
fields = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["hello", "subscribed", "image", "update", "resync", "beat", "stale", "unsubscribed", "entitlement", "error", "pong",
             "lag", "bye", "hash", "replay_end", "aurora"]
        )
    },
    optional={
        "id": st.one_of(st.integers(0, 12), junk), "ch": st.one_of(names, junk), "epoch": st.one_of(st.sampled_from(["e", "f"]), junk),
        "seq": st.one_of(st.integers(0, 12), junk), "prev": st.one_of(st.integers(0, 12), junk), "data": st.one_of(documents, junk),
        "patch": st.one_of(patches, junk), "events": st.one_of(st.lists(junk, max_size=2), junk), "at": junk, "n": junk, "why": junk,
        "heads": st.one_of(st.dictionaries(names, st.integers(0, 12), max_size=3), junk), "now": st.one_of(st.integers(0, 9), junk),
        "code": junk, "message": junk, "retry": junk, "addons": junk, "ended": st.one_of(st.lists(names, max_size=2), junk),
        "chs": st.one_of(st.dictionaries(names, junk, max_size=2), junk), "resumed": junk, "limits": junk, "beat_ms": junk,
        "features": junk, "replay": junk, "span": junk, "sha256": junk, "queued_bytes": junk, "reconnect_after_ms": junk, "every_ms": junk,
    },
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(fields, max_size=25), st.booleans())
def test_whatever_a_hub_sends_the_session_goes_on_and_trusts_no_document_without_reason(frames, batch):
    """Frames of any form are applied, ignored, or end the connection; nothing is raised."""
    script = Script()
    script.follow("c/1")
    script.follow("c/*")
    script.session.replay(["d/1"], now=script.now)
    script.hello(features=["batch", "replay", "hash"] if batch else [])
    script.image("c/1", 5)
    script.session.request_hash("c/1")
    for frame in frames:
        if script.session.state.phase == "waiting":
            script.passes(60)
            script.hello()
        script.say(frame)
        script.passes(1)
        for channel in script.session.channels.values():
            if script.session.health(channel, script.now) == "live":
                assert isinstance(channel.data, dict)
                assert script.session.is_open
                assert isinstance(channel.seq, int)
    assert script.session.state.phase in ("open", "waiting", "connecting")
