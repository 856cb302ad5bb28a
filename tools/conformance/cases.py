#!/usr/bin/env python3
"""Writes the cases of the corpus that were thought out by hand: scripts/*.jsonl, in the format of README.md.

    python3 tools/conformance/cases.py            writes them
    python3 tools/conformance/cases.py --check    fails if a file differs

It needs nothing but Python. The documents that a case expects are those of a client that applies each frame as docs/PROTOCOL.md says;
where a client must not apply one, the case says so with `ignored`.
"""

import copy
import hashlib
import json
import math
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "scripts"
# A moment of the made-up day on which all cases are played, in microseconds.
T = 1_795_200_000_000_000
MATCH, OTHER, BOOK = "football/7", "football/8", "football/7/odds/larkodds"
CASES = []


def match(number=7, **more):
    document = {
        "id": number, "sport": "football", "life": "live", "feed": "live", "status": "first_half", "stale_after_ms": 15_000, "refs": {"simulator": f"1/{number}"},
        "competition": {"id": 3, "name": "Meredon League One"}, "start": T, "home": {"id": 11, "name": "Keskmere United"}, "away": {"id": 12, "name": "Torremmere Racing"},
        "clock": {"at": T, "s": 600, "running": True}, "score": {"home": 0, "away": 0}, "incidents": {}, "stats": {"home": {}, "away": {}},
    }  # fmt: skip
    return document | more


def book(**more):
    selections = {name: {"status": "active", "price": price} for name, price in (("home", "2.10"), ("draw", "3.40"), ("away", "3.65"))}
    market = {"kind": "match_winner", "status": "open", "in_play": True, "transitions": {}, "selections": selections}
    return {"life": "live", "feed": "live", "suspended": False, "stale_after_ms": 15_000, "markets": {"match_winner": market}} | more


def goal(eid="g1", n=1, home=1, away=0):
    """The patch of a goal, and its event."""
    score = {"home": home, "away": away}
    incident = {"kind": "goal", "minute": 11, "side": "home", "player": {"id": 21, "name": "Goran Rondez"}, "type": "regular", "score": score}
    return {"score": score, "incidents": {eid: {"n": n} | incident}}, {"eid": eid} | incident


def card(eid, n=2):
    incident = {"minute": 14, "side": "away", "player": {"id": 22, "name": "Yaro Harvaric"}}
    return {"incidents": {eid: {"n": n, "kind": "yellow"} | incident}}, {"kind": "card", "eid": eid, "card": "yellow"} | incident


def merged(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def number(value):
    """As ECMAScript writes it."""
    if isinstance(value, int) and abs(value) <= 2**53:
        return str(value)
    value = float(value)
    assert math.isfinite(value)
    if value == int(value) and abs(value) <= 2**53:
        return str(int(value))
    text = repr(value)
    digits, _, exponent = text.partition("e")
    if not exponent:
        return text
    power = int(exponent)
    if 0 < power < 21:
        whole, _, fraction = digits.partition(".")
        return f"{whole}{fraction:0<{power}}"
    if -7 < power < 0:
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        return f"{sign}0.{'0' * (-power - 1)}{digits.replace('.', '')}"
    return f"{digits.removesuffix('.0')}e{'+' if power > 0 else '-'}{abs(power)}"


def canonical(value):
    """RFC 8785."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, list):
        return f"[{','.join(map(canonical, value))}]"
    members = sorted(value.items(), key=lambda it: it[0].encode("utf-16-be"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(own)}" for name, own in members) + "}"


def sha256(value):
    return hashlib.sha256(canonical(value).encode()).hexdigest()


class Channel:
    """What a client has of it."""

    def __init__(self):
        self.epoch = self.seq = self.data = None
        self.events = []


class Case:
    """One script, written step by step."""

    def __init__(self, name, about, follow=(MATCH,), **more):
        self.head = {"case": name, "about": " ".join(about.split()), "follow": list(follow)} | more
        self.steps = []
        self.channels = {}
        self.clock = T
        self.last_open = {}
        CASES.append(self)

    def channel(self, ch):
        return self.channels.setdefault(ch, Channel())

    def at(self, ms=100):
        self.clock += ms * 1000
        return {"src": self.clock - 700, "in": self.clock - 500, "pub": self.clock}

    def open(self, *, after_ms=None, features=(), beat_ms=5000, limits=None, **more):
        self.clock += 50_000
        every = {"channels": 10_000, "patterns": 1000, "command_bytes": 16_384, "from_bytes": 262_144} | (limits or {})
        hello = {"type": "hello", "conn": "0-1", "server": "conformance", "now": self.clock, "beat_ms": beat_ms, "limits": every, "features": list(features)}
        self.steps.append({"open": hello | more} | ({"after_ms": after_ms} if after_ms is not None else {}))
        return self

    def subscribe(self, **answers):
        return self.asks(dict(answers))

    def asks(self, wanted):
        """`wanted`: each name with the position that it must be asked from, or None, and the hub's answer."""
        self.steps.append({"subscribe": {ch: {"from": origin, "answer": answer} for ch, (origin, answer) in wanted.items()}})
        return self

    def fresh(self, ch=MATCH, epoch="e1", seq=10, data=None):
        """The usual beginning: connected, subscribed, an image."""
        data = data if data is not None else book() if ch == BOOK else match()
        return self.open().asks({ch: (None, new(epoch, seq))}).image(ch, epoch, seq, data)

    def position(self, ch=MATCH):
        known = self.channel(ch)
        return {"epoch": known.epoch, "seq": known.seq}

    def resumes(self, ch=MATCH, seq=None, **open_options):
        """It comes back, and asks from where it was."""
        known = self.channel(ch)
        answer = {"epoch": known.epoch, "seq": seq if seq is not None else known.seq, "resumed": True}
        return self.open(**open_options).asks({ch: (self.position(ch), answer)})

    def send(self, frame, **more):
        self.steps.append({"send": frame} | more)
        return self

    def image(self, ch, epoch, seq, data, at=None, **more):
        known = self.channel(ch)
        known.epoch, known.seq, known.data = epoch, seq, copy.deepcopy(data)
        at = at or (self.at() if seq else {"src": None, "in": None, "pub": None})
        return self.send({"type": "image", "ch": ch, "epoch": epoch, "seq": seq, "at": at, "data": data}, **more)

    def update(self, ch, prev, seq, patch=None, events=(), *, ignored=False, extra=None, **more):
        frame = {"type": "update", "ch": ch, "seq": seq, "prev": prev}
        if seq - prev > 1:
            frame |= {"n": seq - prev, "why": more.pop("why", "rate")}
        frame |= {"at": self.at()} | ({"patch": patch} if patch is not None else {}) | ({"events": list(events)} if events else {})
        if not ignored:
            known = self.channel(ch)
            known.seq = seq
            known.data = merged(known.data, patch or {})
            known.events += [event["eid"] for event in events]
        return self.send(frame | (extra or {}), **more)

    def goal(self, ch=MATCH, eid="g1", n=1, home=1, **more):
        patch, event = goal(eid, n, home)
        seq = self.channel(ch).seq
        return self.update(ch, seq, seq + 1, patch, [event], **more)

    def card(self, eid="c1", n=2, **more):
        patch, event = card(eid, n)
        seq = self.channel(MATCH).seq
        return self.update(MATCH, seq, seq + 1, patch, [event], **more)

    def beat(self, heads=None, **more):
        self.clock += 10_000
        heads = heads if heads is not None else {ch: it.seq for ch, it in self.channels.items() if it.seq is not None}
        return self.send({"type": "beat", "now": self.clock, "heads": heads} | more)

    def cut(self):
        self.steps.append({"cut": True})
        return self

    def close(self, code, why, reconnect_after_ms=0):
        self.send({"type": "bye", "why": why, "reconnect_after_ms": reconnect_after_ms})
        self.steps.append({"close": {"code": code, "reason": why}})
        return self

    def wait(self, ms):
        self.clock += ms * 1000
        self.steps.append({"wait_ms": ms})
        return self

    def mute(self):
        self.steps.append({"mute": True})
        return self

    def expect(self, ch=MATCH, health="live"):
        known = self.channel(ch)
        step = {"ch": ch, "epoch": known.epoch, "seq": known.seq, "sha256": sha256(known.data), "events": known.events, "health": health}
        known.events = []
        self.steps.append({"expect": step})
        return self

    def gone(self, ch):
        """The client has discarded the document, or marked it as ended."""
        known = self.channels.pop(ch, Channel())
        self.steps.append({"expect": {"ch": ch, "gone": True, "events": known.events}})
        return self

    def text(self):
        lines = (json.dumps(it, ensure_ascii=False, separators=(",", ":")) for it in (self.head, *self.steps))
        # Some libraries split lines there.
        return "".join(line.replace("\u2028", "\\u2028") + "\n" for line in lines)


def new(epoch, seq):
    return {"epoch": epoch, "seq": seq, "resumed": False}


def cases():
    # ------------------------------------------------------------------------------ documents and patches
    (
        Case("patches", "An image and patches: members are merged, null deletes a member also where there is none, a list is replaced as a whole.")
        .fresh(data=match(ball={"x": 89, "y": 39, "side": "home", "situation": "goal"}))
        .expect()
        .update(MATCH, 10, 11, {"stats": {"home": {"corner_kicks": 1, "fouls": 2}}, "clock": {"at": T + 1, "s": 601}})
        .expect()
        .update(MATCH, 11, 12, {"ball": None, "status": "half_time", "score": {"ht": {"home": 0, "away": 0}, "et": None}, "stats": {"home": {"fouls": None}}})
        .expect()
        .update(MATCH, 12, 13, {"stats": {"away": {"offsides": None}}, "competition": None})
        .expect()
        .update(MATCH, 13, 14, {"lines": ["a", {"b": [1, 2, 3]}, None]}, beyond=True)
        .update(MATCH, 14, 15, {"lines": ["c"]}, beyond=True)
        .expect()
        .update(MATCH, 15, 16, {"lines": {"of": {"objects": {"deep": 1, "other": 2}}}}, beyond=True)
        .update(MATCH, 16, 17, {"lines": {"of": {"objects": {"deep": None}}}, "empty": {}}, beyond=True)
        .expect()
    )
    (
        Case("canonical", """Hashes of documents with all kinds of numbers, names and texts. RFC 8785 sorts names by UTF-16 code units, and writes numbers as
             ECMAScript does.""")
        .fresh(data=match(
            home={"id": 11, "name": 'Łódź "B" \\ é — 日本 🏟\u2028'},
            numbers=[333333333.33333329, 1e30, 4.5, 2e-3, 1e-27, 0, 1e21, 123456789012345680000, 1e-6, 1e-7, 0.1, 100, -5, -0.5, 9007199254740991],
            text="€$\u000f\nA'B\"\\\\\"/",
            names={"€": "Euro Sign", "\r": "Carriage Return", "דּ": "Hebrew Letter Dalet With Dagesh", "1": "One", "😂": "Smiley", "\u0080": "Control", "ö": "O"},
            nothing=[], words=[True, False, None], empty={}, nested={"": {" ": [{}, [], ""]}},
        ), )
        .expect()
        .update(MATCH, 10, 11, {"names": {"😂": "ein Lächeln", "ö": None}, "numbers": [1.0, 10.25]}, beyond=True)
        .expect()
    )  # fmt: skip
    CASES[-1].steps[2]["beyond"] = True
    (
        Case("events-alone", "An update may have events and no patch, a patch and no events, or both. The events of one update come in their order.")
        .fresh()
        .update(MATCH, 10, 11, None, [{"kind": "period", "eid": "p1", "minute": 1, "status": "first_half"}])
        .expect()
        .update(MATCH, 11, 12, goal()[0], [goal()[1], card("c1")[1], {"kind": "period", "eid": "p2", "minute": 45, "status": "half_time"}])
        .update(MATCH, 12, 13, {"status": "half_time"})
        .expect()
    )
    (
        Case("before-the-image", "The first update after an image may begin before it: `prev` is below the position, and it applies all the same.")
        .fresh()
        .update(MATCH, 7, 12, {"stats": {"home": {"fouls": 3}}}, why="resume")
        .expect()
        .goal()
        .expect()
    )
    (
        Case("already-known", "An update whose `seq` the client has reached is skipped, with its events.")
        .fresh()
        .goal()
        .update(MATCH, 10, 11, goal()[0], [goal()[1]], ignored=True)
        .update(MATCH, 8, 10, {"score": {"home": 5}}, ignored=True)
        .expect()
        .card()
        .update(MATCH, 11, 12, card("c1")[0], [card("c1")[1]], ignored=True)
        .expect()
    )
    # --------------------------------------------------------------------------------------- what is missing
    case = Case("gap", "`prev` is ahead of the client's position: something is missing. It asks again from its position, and gets what is missing.").fresh().goal()
    patch, event = card("c1")
    case.update(MATCH, 13, 14, patch, [event], ignored=True).expect(health="catching_up")
    case.asks({MATCH: (case.position(), {"epoch": "e1", "seq": 14, "resumed": True})})
    case.update(MATCH, 11, 13, {"stats": {"away": {"fouls": 2}}}, why="resume").update(MATCH, 13, 14, patch, [event]).expect()
    case = Case("gap-without-way-back", "A gap that cannot be filled: the answer has `resumed` false, and an image follows.").fresh().goal()
    case.update(MATCH, 400, 401, {"score": {"home": 4}}, ignored=True)
    case.asks({MATCH: (case.position(), new("e1", 401) | {"why": "window"})})
    case.image(MATCH, "e1", 401, match(score={"home": 4, "away": 0}, status="second_half")).expect().card(n=9).expect()
    (
        Case("resync", "The hub skips changes: `resync`, then an image. What it skipped is lost, what follows is not.")
        .fresh()
        .goal()
        .send({"type": "resync", "ch": MATCH, "why": "slow", "from": 11, "to": 50})
        .expect(health="catching_up")
        .image(MATCH, "e1", 50, match(score={"home": 2, "away": 1}))
        .expect()
        .card(n=7)
        .expect()
    )
    (
        Case("image-in-between", "An image may come at any time. It replaces the document: what only the old one had is gone.")
        .fresh(data=match(ball={"x": 1.5, "y": 2, "side": "home", "situation": "safe"}))
        .goal()
        .image(MATCH, "e1", 12, match(stats={"home": {"fouls": 1}, "away": {}}))
        .expect()
        .image(MATCH, "e1", 12, match(stats={"home": {"fouls": 1}, "away": {}}))
        .update(MATCH, 10, 13, {"stats": {"home": {"offsides": 1}}})
        .expect()
    )
    case = Case("epoch", """The channel has another epoch after a reconnect. Its sequences have nothing to do with the old ones; the next position has the new epoch,
                and events may have the ids of old ones.""").fresh(seq=500).goal().expect().cut()  # fmt: skip
    case.open().asks({MATCH: (case.position(), new("e2", 3) | {"why": "epoch"})}).image(MATCH, "e2", 3, match(status="second_half")).expect()
    case.goal().expect().cut()
    case.resumes(seq=5).card().expect()
    (
        Case("epochs-reordered", "Images of an epoch, of another one, and of the first again, each with lower sequences: the newest image counts.")
        .fresh(seq=90)
        .goal()
        .image(MATCH, "e2", 4, match(status="half_time"))
        .expect()
        .card()
        .image(MATCH, "e1", 40, match(status="second_half"))
        .expect()
        .update(MATCH, 40, 41, {"score": {"home": 3}})
        .expect()
    )
    case = Case("ahead", "The client is ahead of the channel, as after a loss of the hub's data: an image takes it back, and what follows is new, events too.").fresh(seq=20).goal().cut()
    case.open().asks({MATCH: (case.position(), new("e1", 15) | {"why": "ahead"})}).image(MATCH, "e1", 15, match()).expect()
    case.goal(eid="g2").expect()
    # --------------------------------------------------------------------------------------------- merged
    (
        Case("merged", "Updates that stand for several changes, for each reason; events come alone and in order.")
        .fresh()
        .update(MATCH, 10, 14, {"stats": {"home": {"fouls": 2}}}, why="rate")
        .expect()
        .goal()
        .update(MATCH, 15, 40, {"clock": {"s": 777}, "stats": {"home": {"fouls": None, "offsides": 1}}}, why="slow")
        .card()
        .update(MATCH, 41, 45, {"stats": {"away": {"fouls": 1}}}, why="resume")
        .expect()
    )
    # ------------------------------------------------------------------------------- retractions, suspensions
    case = Case("retraction", "A goal is retracted, and another corrected: the score falls, the incidents stay.").fresh().goal().expect()
    var = {"n": 2, "kind": "var", "minute": 12, "side": "home", "decision": "overturned"}
    case.update(
        MATCH, 11, 12,
        {"score": {"home": 0}, "incidents": {"v2": var, "g1": {"retracted": True, "why": "offside"}}},
        [{"kind": "var", "eid": "v2", "minute": 12, "side": "home", "decision": "overturned"}, {"kind": "retract", "eid": "retract-g1", "of": "g1", "why": "offside", "score": {"home": 0, "away": 0}}],
    ).expect()  # fmt: skip
    case.goal(eid="g3", n=3)
    patch, _ = goal("g3", 3)
    patch["incidents"]["g3"] |= {"type": "penalty", "player": {"id": 23, "name": "Adan Isterwen"}}
    corrected = {name: value for name, value in patch["incidents"]["g3"].items() if name not in ("n", "kind")}
    case.update(MATCH, 13, 14, patch, [{"kind": "correct", "eid": "correct-g3", "of": "g3"} | corrected]).expect()
    case = Case("suspension", "A book is suspended by its market and by the hub, and resumes; a match is interrupted.", follow=(BOOK,)).fresh(BOOK)
    about = {"market": "match_winner", "status": "suspended", "in_play": True, "at": T}
    market = {"status": "suspended", "transitions": {"1": {"at": T, "status": "suspended", "in_play": True}}}
    case.update(BOOK, 10, 11, {"life": "suspended", "markets": {"match_winner": market}}, [{"kind": "suspend", "eid": "match_winner:1"} | about]).expect(BOOK)
    resumed = {"kind": "resume", "eid": "match_winner:2"} | about | {"status": "open"}
    case.update(BOOK, 11, 12, {"life": "live", "markets": {"match_winner": {"status": "open"}}}, [resumed]).expect(BOOK)
    case.update(BOOK, 12, 13, {"life": "suspended", "suspended": True}, [{"kind": "suspend", "eid": "hold-1", "why": "goal", "of": "g1"}]).expect(BOOK)
    case.update(BOOK, 13, 14, {"life": "live", "suspended": False}, [{"kind": "resume", "eid": "hold-1-end", "of": "hold-1"}]).expect(BOOK)
    case.update(BOOK, 14, 15, {"markets": {"match_winner": {"selections": {"home": {"price": "2.1", "prev": "2.10"}, "draw": {"price": "3.50", "prev": "3.40"}}}}}).expect(BOOK)
    # ---------------------------------------------------------------------------------------- connections
    case = Case("cut", """The connection is lost without a close frame, three times. The client comes back each time and asks from its position; what it missed comes
                merged between events, and no event comes twice.""").fresh().goal().expect().cut()  # fmt: skip
    case.resumes(seq=17).update(MATCH, 11, 16, {"clock": {"s": 700}}, why="resume").card().expect().cut()
    case.resumes().expect().cut()
    case.resumes(seq=18).update(MATCH, 17, 18, {"status": "half_time"}).beat().expect()
    case = Case("cut-before-the-answer", "The connection is lost before the first image, and again before the answer: the client has no position yet.")
    case.open().cut().open().asks({MATCH: (None, new("e1", 10))}).cut().open().asks({MATCH: (None, new("e1", 10))}).image(MATCH, "e1", 10, match()).goal().expect()
    case = Case("drain", "The hub stops: `bye` names the time after which to return, and the close code is 4503.").fresh().goal().close(4503, "drain", 1500)
    case.resumes(after_ms=1500, seq=12).card().expect()
    case = Case("closed-as-slow", "The hub closes the connection because the client was slow (4508): it returns at once and resumes.").fresh().goal()
    case.close(4508, "slow").resumes(seq=13).update(MATCH, 11, 13, {"clock": {"s": 640}}, why="resume").expect()
    case = Case("silence", "Nothing comes for three beats, and no ping is answered: the connection is dead, whatever TCP says. The client opens another one.")
    case.open(beat_ms=1000).asks({MATCH: (None, new("e1", 10))}).image(MATCH, "e1", 10, match()).goal().mute()
    case.resumes(seq=12).card().expect()
    case = Case("trickle", "Every message arrives in pieces of a few bytes.", trickle_bytes=7).fresh(data=match(home={"id": 11, "name": "日本 🏟 — Łódź"})).goal()
    case.update(MATCH, 11, 15, {"stats": {"home": {"fouls": 2}}}, why="slow").card().expect()
    # --------------------------------------------------------------------------------------------- health
    (
        Case("stale", "The hub cannot publish and says so: documents are not fresh until their next update or beat.")
        .fresh()
        .goal()
        .expect()
        .send({"type": "stale", "since": T})
        .expect(health="stale")
        .beat()
        .expect()
        .send({"type": "stale", "since": T + 5})
        .expect(health="stale")
        .card()
        .expect()
    )
    (
        Case("quiet", "Neither a frame of the channel nor a beat has come for `stale_after_ms`: the document is stale. A beat that confirms the position makes it fresh.")
        .fresh(data=match(stale_after_ms=1000))
        .wait(400)
        .beat()
        .wait(700)
        .expect()
        .wait(400)
        .expect(health="stale")
        .beat()
        .expect()
    )
    (
        Case("feed-states", "Only the health of the source changes: late, down, recovering, live. Then the match ends.")
        .fresh()
        .update(MATCH, 10, 11, {"feed": "late"})
        .expect(health="late")
        .update(MATCH, 11, 12, {"feed": "down", "life": "suspended"})
        .expect(health="down")
        .update(MATCH, 12, 13, {"feed": "recovering"})
        .expect(health="recovering")
        .update(MATCH, 13, 14, {"feed": "live", "life": "live"})
        .expect()
        .update(MATCH, 14, 15, {"life": "ended", "status": "finished", "clock": None}, [{"kind": "period", "eid": "p9", "minute": 90, "status": "finished"}])
        .expect(health="ended")
    )
    # -------------------------------------------------------------------------------------------- unknown
    case = Case("unknown", "A later hub sends more: fields, frame types, event kinds and words that no client knows. They change nothing else.")
    case.open(features=["teleport"], motto={"new": True}).asks({MATCH: (None, new("e1", 10) | {"mood": "calm"})})
    for step in case.steps:
        step["beyond"] = True
    case.image(MATCH, "e1", 10, match(weather={"wind": ["N", 3]}), beyond=True)
    case.steps[-1]["send"]["colour"] = "blue"
    case.send({"type": "glimpse", "ch": MATCH, "seq": 99, "prev": 10, "patch": {"score": {"home": 9}}, "events": [{"kind": "goal", "eid": "g99"}]}, beyond=True)
    case.update(MATCH, 10, 11, {"weather": {"wind": None}}, [{"kind": "streaker", "eid": "s1", "laps": 2}], extra={"confidence": 0.7}, beyond=True).expect()
    case.send({"type": "poll", "id": 77, "question": "?"}, beyond=True).send({"type": "lag", "queued_bytes": 6328, "oldest_ms": 40, "merged": 0})
    case.send({"type": "lag", "queued_bytes": 0, "oldest_ms": 0, "merged": 2}).send({"type": "pong", "id": 4711, "now": case.clock})
    case.send({"type": "beat", "now": case.clock, "heads": {MATCH: 11, "football/999": 4}, "quality": "fine"}, beyond=True)
    case.send({"type": "error", "id": None, "code": "limit", "message": "some other pattern is full", "retry": False, "ch": "tennis/*"})
    case.goal().expect()
    # ------------------------------------------------------------------------------------- several channels
    case = Case("interleaved", "Several channels on one connection, with the same sequences and the same ids of events: each has its own.", follow=(MATCH, OTHER, BOOK)).open()
    case.asks({MATCH: (None, new("e1", 10)), OTHER: (None, new("e1", 10)), BOOK: (None, new("e1", 10))})
    case.image(MATCH, "e1", 10, match()).image(BOOK, "e1", 10, book()).image(OTHER, "e1", 10, match(8))
    case.goal().goal(OTHER).update(BOOK, 10, 11, {"match_seq": 11}).goal(OTHER, "g2", 2, 2).expect().expect(OTHER).expect(BOOK)
    case.cut().open().asks({ch: (case.position(ch), {"epoch": "e1", "seq": case.channel(ch).seq, "resumed": True}) for ch in (MATCH, OTHER, BOOK)})
    case.card().expect().expect(OTHER).expect(BOOK)
    case = Case("pattern", """A pattern: channels that exist, one that opens with an almost empty image at sequence 0, one that ends, one that opens again in another epoch.
                After a cut, `from` has the position of each channel that is left.""", follow=("football/*",))  # fmt: skip
    opening = {"life": "prematch", "feed": "live", "stale_after_ms": 15_000}
    case.open().asks({"football/*": (None, {"channels": 2})}).image(MATCH, "e1", 10, match()).image(OTHER, "e5", 3, match(8)).beat().goal().expect().expect(OTHER)
    case.image("football/9", "e9", 0, opening).update("football/9", 0, 1, {k: v for k, v in match(9).items() if k not in ("feed", "stale_after_ms")})
    case.goal("football/9").expect("football/9")
    case.send({"type": "unsubscribed", "ch": OTHER, "why": "gone"}).gone(OTHER).cut()
    known = {ch: case.position(ch) for ch in (MATCH, "football/9")}
    case.open().asks({"football/*": (known, {"channels": 2})}).update(MATCH, 11, 12, {"status": "half_time"}).beat().expect().expect("football/9")
    case.image(OTHER, "e6", 0, opening).update(OTHER, 0, 1, {k: v for k, v in match(8).items() if k not in ("feed", "stale_after_ms")}).expect(OTHER)
    case = Case("pattern-that-cannot-resume", "One channel of a pattern has another epoch after a cut: a `resync` precedes its image, the other resumes.", follow=("football/*",))
    case.open().asks({"football/*": (None, {"channels": 2})}).image(MATCH, "e1", 10, match()).image(OTHER, "e5", 30, match(8)).goal().cut()
    case.open().asks({"football/*": ({ch: case.position(ch) for ch in (MATCH, OTHER)}, {"channels": 2})}).card()
    case.send({"type": "resync", "ch": OTHER, "why": "epoch", "from": 30, "to": 2}).image(OTHER, "e8", 2, match(8, status="half_time")).beat().expect().expect(OTHER)
    case = Case("batch", """A hub with `batch`: names may be asked for in one command. One of them is not tracked and one not entitled, which does not affect the others. What is not
                tracked is asked for again later.""", follow=(MATCH, OTHER, "darts/5"))  # fmt: skip
    refused = {"error": "not_entitled", "addons": [{"addon": "sports", "price": "5.00", "currency": "USD"}]}
    case.open(features=["batch"], beat_ms=300).asks({MATCH: (None, new("e1", 10)), OTHER: (None, {"error": "not_tracked"}), "darts/5": (None, refused)})
    case.image(MATCH, "e1", 10, match()).goal().expect().asks({OTHER: (None, new("e2", 1))}).image(OTHER, "e2", 1, match(8)).goal(OTHER).expect(OTHER)
    case.cut().open(features=["batch"])
    known = {ch: (case.position(ch), {"epoch": case.channel(ch).epoch, "seq": case.channel(ch).seq, "resumed": True}) for ch in (MATCH, OTHER)}
    case.asks(known | {"darts/5": (None, refused)}).card().expect().expect(OTHER)
    case = Case("not-tracked-yet", "A channel that is not there yet: `error` with `retry` true. The client asks again, later and not at once, until it is.")
    case.open(beat_ms=300).asks({MATCH: (None, {"error": "not_tracked"})}).asks({MATCH: (None, {"error": "not_tracked"})})
    case.asks({MATCH: (None, new("e1", 1))}).image(MATCH, "e1", 1, match()).goal().expect()
    names = [f"football/{1000 + n}" for n in range(40)]
    case = Case("limits", "Commands stay within `limits.command_bytes`, and with `chs` within `limits.from_bytes`, also when they carry positions.", follow=names)
    limits = {"command_bytes": 256, "from_bytes": 900}
    case.open(features=["batch"], limits=limits).asks({ch: (None, new("e1", 0)) for ch in names})
    for ch in names:
        case.image(ch, "e1", 0, opening)
    case.update(names[39], 0, 1, match(1039)).cut().open(features=["batch"], limits=limits)
    case.asks({ch: (case.position(ch), {"epoch": "e1", "seq": case.channel(ch).seq, "resumed": True}) for ch in names}).goal(names[39]).expect(names[0]).expect(names[39])
    case = Case("entitlement", "An add-on ends while the client is connected: the documents that need it are discarded, the others continue.", follow=(MATCH, BOOK))
    case.open().asks({MATCH: (None, new("e1", 10)), BOOK: (None, new("e1", 10))}).image(MATCH, "e1", 10, match()).image(BOOK, "e1", 10, book())
    case.send({"type": "entitlement", "addons": ["websocket"], "ended": [BOOK], "channels": 1}).gone(BOOK).goal().expect()


def main():
    cases()
    names = [case.head["case"] for case in CASES]
    assert len(set(names)) == len(names), "two cases of one name"
    files = {FOLDER / f"{case.head['case']}.jsonl": case.text() for case in CASES}
    if "--check" in sys.argv[1:]:
        different = [path.name for path, text in files.items() if not path.exists() or path.read_text() != text]
        known = {path.name for path in files} | {path.name for path in FOLDER.glob("recorded-*.jsonl")}
        different += [path.name for path in FOLDER.glob("*.jsonl") if path.name not in known]
        if different:
            sys.exit(f"not what tools/conformance/cases.py writes: {', '.join(sorted(different))}")
        return
    for path, text in files.items():
        path.write_text(text)
    print(f"{len(files)} cases, {sum(len(text.encode()) for text in files.values())} bytes")


if __name__ == "__main__":
    main()
