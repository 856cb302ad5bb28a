"""The sockets: keys, codes, commands, limits, replay, resumption, and what comes while matches are played."""

import time

from frames import FOOTBALL_FRAMES, TENNIS_FRAMES
from report import Different, NotServed, expect
from shapes import complaints
from sockets import EVERY_SPORT, FOOTBALL, WAIT_S, Observer, Socket

# SERVICE 5.4: matches of one socket, and replayed frames.
MATCHES_MAX = 10
REPLAY_MAX = 30
# `event` and `odds` come each 30 s; a busy machine may be late.
CADENCE_S, LATE_S = 30, 25
# States of matches of which no more is sent.
OVER = ("finished", "retired", "walkover", "cancelled", "abandoned", "postponed")
OBSERVED_S_MIN = CADENCE_S + LATE_S + 15
# The least that the demo's football sends in that time.
KINDS = ("event", "livedata", "odds", "odds_book")


class Live:
    """The sockets' address, and the matches to follow."""

    def __init__(self, url, key, free_key, client, world):
        self.url, self.key, self.free_key, self.client, self.world = url, key, free_key, client, world
        events = sorted((event for event in world.live_events if event["live_websocket"]), key=left_of_its_half, reverse=True)
        self.football = [event["id"] for event in events]
        self.tennis = [match["id"] for match in client.get("/tennis/api/v2/matches/live/")]
        expect(self.football and self.tennis, "football and tennis in play that can be subscribed")
        slugs = [row["slug"] for row in client.get("/api/v2/bookmakers/")["results"] if row["slug"] != "consensus"]
        self.bookmaker = slugs[0]

    def socket(self, path=FOOTBALL, **options):
        return Socket(self.url, path, self.key, **options)

    def observers(self):
        """Both sockets, followed from now on while other checks run."""
        football = [{"event_id": number, "bookmaker_slug": self.bookmaker} for number in self.football[:6]]
        tennis = [{"event_id": number, "sport": "tennis"} for number in self.tennis[:4]]
        return Observer(self.url, FOOTBALL, self.key, football), Observer(self.url, EVERY_SPORT, self.key, football + tennis)


def left_of_its_half(event):
    """Minutes; a match in a break sends the least."""
    ends = {"1st_half": 45, "2nd_half": 90}.get(event["period"], 0)
    return max(ends - (event["current_minute"] or 0), 0)


def check_sockets(report, live):
    for check in (
        keys_of_sockets, refused_sockets, a_snapshot_comes_first, both_sockets_say_the_same, ping_is_answered_at_once, closing_ends_the_connection, bad_messages,
        unsubscribe_ends_it, ten_matches_a_socket, a_match_twice, ids_as_text, one_bookmaker_beside, tennis_only_where_it_is,
        sources_are_as_rest_says, finished_matches_are_not_tracked, resume_from_a_frame, resume_from_elsewhere,
    ):  # fmt: skip
        with report.check("sockets: " + check.__name__.replace("_", " ")):
            check(live)


def keys_of_sockets(live):
    for path in (FOOTBALL, EVERY_SPORT, FOOTBALL.rstrip("/"), EVERY_SPORT.rstrip("/")):
        for style, selected in (("query", None), ("subprotocol", "token")):
            with live.socket(path, style=style) as socket:
                expect(socket.connection.subprotocol == selected, f"{path} by {style}: subprotocol {selected}", socket.connection.subprotocol)
                expect(live.key not in str(socket.connection.response.headers), "no key in the answer")
                socket.send("ping")
                expect(socket.frame() == {"type": "pong"}, "a pong", "another frame")


def refused_sockets(live):
    for path in (FOOTBALL, EVERY_SPORT):
        for style in ("query", "subprotocol"):
            for key, code, names in (("mw_wrong", 4401, ("auth_failed", "auth_required")), (live.free_key, 4402, ("subscription_required",))):
                with Socket(live.url, path, key, style) as socket:
                    frames, closed = socket.closed()
                expect(closed == code, f"{path} by {style}: closed with {code}", closed)
                expect(all(frame["type"] == "error" and frame["code"] in names for frame in frames), f"an error of {names} before it", frames)
        with Socket(live.url, path) as socket:
            expect(socket.closed()[1] == 4401, f"{path} without a key: 4401")
    for path in ("/live/tennis/", "/live/", "/ws/nonsense/"):
        with live.socket(path) as socket:
            expect(socket.closed()[1] == 4404, f"{path}: 4404")


def described(frame, kinds):
    """Compares a frame with the page."""
    expect(frame["type"] in kinds, f"a frame of {sorted(kinds)}", frame["type"])
    found = complaints(kinds[frame["type"]], frame, frame["type"])
    if found:
        raise Different("; ".join(found[:6]))


def a_snapshot_comes_first(live):
    with live.socket() as socket:
        for number in live.football[:3]:
            socket.send("subscribe", event_id=number)
            frame = socket.until("subscribed", number)
            described(frame, FOOTBALL_FRAMES)
            expect(len(frame["livedata"]) <= REPLAY_MAX and len(frame["history"]) <= REPLAY_MAX, f"at most {REPLAY_MAX} frames replayed")
            expect(frame["event"]["event_id"] == number, "the event of that match", frame["event"]["event_id"])
            times = [item["uts"] for item in frame["livedata"]]
            expect(all(1e12 < at < 1e13 for at in times), "uts of 13 digits", times[:1])
            expect(frame["source"] == "full" or frame["history"] == [], "history of full alone", frame["source"])


def both_sockets_say_the_same(live):
    number = live.football[0]
    with live.socket(FOOTBALL) as one, live.socket(EVERY_SPORT) as other:
        first, second = one.subscribe(number), other.subscribe(number)
        for field in ("home", "away", "websocket_plus"):
            expect(first["event"][field] == second["event"][field], f"the same {field} on both", second["event"][field])
        expect(first["source"] == second["source"], "the same source on both", second["source"])
        # From then on each frame is the same, by its number.
        here = {(f["epoch"], f["seq"]): f for f in (one.frame() for _ in range(4)) if "seq" in f and f["type"] != "subscribed"}
        for _ in range(20):
            frame = other.frame()
            mine = here.get((frame.get("epoch"), frame.get("seq")))
            if mine is not None and frame["type"] != "subscribed":
                expect(mine == frame, "the frame of the same number on both", frame)
                return
    raise NotServed("no frame came on both in time")


def ping_is_answered_at_once(live):
    with live.socket() as socket:
        for _ in range(3):
            socket.send("ping")
            expect(socket.frame() == {"type": "pong"}, "a pong", "another frame")
        expect(socket.connection.ping().wait(20), "an answer to a ping of WebSocket itself")


def closing_ends_the_connection(live):
    """The server ends the connection at once when both have closed (RFC 6455 7.1.1): clients wait for it."""
    for key in (live.key, "mw_wrong"):
        seconds = []
        for _ in range(3):
            socket = Socket(live.url, FOOTBALL, key, close_timeout=WAIT_S)
            sent_at = time.monotonic()
            socket.connection.close()
            seconds.append(time.monotonic() - sent_at)
        expect(min(seconds) < WAIT_S / 2, "the end of the connection with the closing handshake", f"{min(seconds):.1f} s later")


def bad_messages(live):
    with live.socket() as socket:
        for text, code in (
            ("this is not JSON", "bad_action"), ("[]", "bad_action"), ("{}", "bad_action"), ('{"action":"dance"}', "bad_action"), ('{"action":7}', "bad_action"),
            ('{"action":"subscribe"}', "bad_event_id"), ('{"action":"subscribe","event_id":"abc"}', "bad_event_id"),
            ('{"action":"subscribe","event_id":null}', "bad_event_id"), ('{"action":"subscribe","event_id":1.5}', "bad_event_id"),
            ('{"action":"subscribe","event_id":1}', "not_tracked"),
            (f'{{"action":"subscribe","event_id":{live.football[0]},"bookmaker_slug":"no-such"}}', "unknown_bookmaker"),
        ):  # fmt: skip
            socket.say(text)
            frame = socket.frame()
            expect((frame["type"], frame.get("code")) == ("error", code), f"{text}: error {code}", frame)
            expect(isinstance(frame.get("message"), str), f"{text}: a message", frame)
            if text == "{}":
                expect(frame["message"] == "Unknown action: None", "the text for no action", frame["message"])
            if code == "not_tracked":
                expect(frame["message"] == "No live tracking for event 1" and frame["event_id"] == 1, "the text and the event", frame)
        socket.send("ping")
        expect(socket.frame() == {"type": "pong"}, "the socket stays", "another frame")


def unsubscribe_ends_it(live):
    number = live.football[0]
    with live.socket() as socket:
        socket.subscribe(number)
        socket.send("unsubscribe", event_id=number)
        frame = socket.until("unsubscribed")
        expect(frame["event_id"] == number, "which match", frame)
        socket.send("ping")
        expect(socket.frame() == {"type": "pong"}, "nothing of the match behind `unsubscribed`", "another frame")
        again = socket.subscribe(number)
        expect(again["type"] == "subscribed", "subscribed again", again)


def ten_matches_a_socket(live):
    upcoming = [event["id"] for event in live.client.get("/api/v2/events/", status="notstarted", limit=200)["results"] if event["live_websocket"]]
    numbers = [(number, {}) for number in live.football + upcoming] + [(number, {"sport": "tennis"}) for number in live.tennis]
    if len(numbers) <= MATCHES_MAX:
        raise NotServed(f"only {len(numbers)} matches can be subscribed now")
    with live.socket(EVERY_SPORT) as socket:
        for number, more in numbers[:MATCHES_MAX]:
            frame = socket.subscribe(number, **more)
            expect(frame["type"] == "subscribed", f"subscription {number}", frame)
        number, more = numbers[MATCHES_MAX]
        frame = socket.subscribe(number, **more)
        expect((frame["type"], frame.get("code")) == ("error", "limit"), "an error `limit` for the eleventh", frame)
        socket.send("unsubscribe", event_id=numbers[0][0])
        socket.until("unsubscribed")
        frame = socket.subscribe(number, **more)
        expect(frame["type"] == "subscribed", "room again after one has left", frame)


def a_match_twice(live):
    number = live.football[0]
    with live.socket() as socket:
        socket.subscribe(number)
        again = socket.subscribe(number)
        expect(again["type"] == "subscribed", "a snapshot again", again)


def ids_as_text(live):
    with live.socket() as socket:
        frame = socket.subscribe(str(live.football[0]))
        expect(frame["type"] == "subscribed" and frame["event_id"] == live.football[0], "an id as text is taken", frame["type"])


def one_bookmaker_beside(live):
    number = live.football[0]
    with live.socket() as socket:
        frame = socket.subscribe(number, bookmaker_slug=live.bookmaker)
        described(frame, FOOTBALL_FRAMES)
        expect("odds_book" in frame, "odds_book in the snapshot", list(frame))
        book = frame["odds_book"]
        expect(book["bookmaker_slug"] == book["bookmaker"] == live.bookmaker, "of that bookmaker", book)
    with live.socket() as socket:
        expect("odds_book" not in socket.subscribe(number), "no odds_book where none was requested")


def tennis_only_where_it_is(live):
    number = live.tennis[0]
    with live.socket(EVERY_SPORT) as socket:
        frame = socket.subscribe(number, sport="tennis")
        described(frame, TENNIS_FRAMES)
        expect(frame.get("history", []) == [], "no history of tennis", frame.get("history"))
        expect(len(frame["livedata"]) <= REPLAY_MAX, "the replay is bounded", len(frame["livedata"]))
        mixed = socket.subscribe(live.football[0], sport="football")
        expect(mixed["type"] == "subscribed", "football on the same socket", mixed)
        socket.send("unsubscribe", event_id=number, sport="tennis")
        left = socket.until("unsubscribed")
        expect((left["event_id"], left.get("sport")) == (number, "tennis"), "tennis left", left)
        expect(socket.subscribe(number)["code"] == "not_tracked", "football by default")
    with live.socket(FOOTBALL) as socket:
        frame = socket.subscribe(number, sport="tennis")
        expect(frame["type"] == "error", "no tennis on /live/football/", frame["type"])


def sources_are_as_rest_says(live):
    upcoming = [event for event in live.client.get("/api/v2/events/", status="notstarted", limit=50)["results"] if event["live_websocket"]][:4]
    with live.socket() as socket:
        for event in live.client.get("/api/v2/events/live/")["events"][:4] + upcoming:
            frame = socket.subscribe(event["id"])
            # What is not yet played may begin meanwhile.
            now = live.client.get(f"/api/v2/events/{event['id']}/")
            full = {event["websocket_plus"], now["websocket_plus"]}
            expect((frame["source"] == "full") in full, f"source full is websocket_plus {full}", frame["source"])
            expect(frame["event"]["websocket_plus"] == (frame["source"] == "full"), "websocket_plus in the event", frame["event"]["websocket_plus"])


def finished_matches_are_not_tracked(live):
    old = live.world.finished
    expect(old["live_websocket"] is False, "live_websocket false of a match long over", old["live_websocket"])
    with live.socket() as socket:
        frame = socket.subscribe(old["id"])
        expect(frame.get("code") == "not_tracked", "not_tracked", frame)


def resume_from_a_frame(live):
    """Another socket follows the match meanwhile, so its numbers go on."""
    number = live.football[0]
    with live.socket() as kept, live.socket() as cut:
        kept.subscribe(number)
        first = cut.subscribe(number)
        seen = [frame for frame in (cut.frame() for _ in range(4)) if frame.get("event_id") == number]
        cut.connection.close()
        position = {"epoch": first["epoch"], "seq": first["seq"]}
        with live.socket() as back:
            answer = back.subscribe(number, **{"from": position})
            expect(answer.get("resumed") is True, "resumed", answer.get("why"))
            expect("event" not in answer and "odds" not in answer, "no snapshot where it was resumed", list(answer))
            for earlier in seen:
                frame = back.frame()
                expect(frame == earlier, f"frame {earlier['seq']} again as it was", frame)
            following = back.frame()
            expect(following["seq"] == seen[-1]["seq"] + 1, "and then the next", following["seq"])


def resume_from_elsewhere(live):
    number = live.football[0]
    with live.socket() as socket:
        here = socket.subscribe(number)
        for position, why in (
            ({"epoch": "nonsense", "seq": 1}, "epoch"),
            ({"epoch": here["epoch"], "seq": here["seq"] + 1_000_000}, "ahead"),
            (7, None),
        ):
            frame = socket.subscribe(number, **{"from": position})
            described(frame, FOOTBALL_FRAMES)
            expect(frame.get("resumed") is False and frame.get("why") == why, f"a snapshot, because of {why}", frame.get("why"))


# --------------------------------------------------------------------- what was seen while it ran


def check_observed(report, live, observers):
    """The frames that came while the other checks ran."""
    while any(observer.seconds() < OBSERVED_S_MIN for observer in observers):
        time.sleep(0.2)
    for path, observer in zip((FOOTBALL, EVERY_SPORT), observers, strict=True):
        frames, seconds = observer.stop()
        for name, check in (
            ("stays open", lambda: expect(observer.ended is None, "an open socket", observer.ended)),
            ("frames are as described", lambda: all_described(frames)),
            ("numbers have no hole", lambda: numbers_have_no_hole(frames)),
            ("every kind comes", lambda: every_kind_comes(frames, live)),
            ("event and odds each 30 s", lambda: cadences(frames, seconds)),
            ("events agree with what happened", lambda: scores_agree(frames)),
            ("odds change where they say so", lambda: odds_change(frames)),
        ):
            with report.check(f"{path}: {name}"):
                check()


def is_tennis(frame):
    return frame.get("sport") == "tennis"


def by_match(frames):
    matches = {}
    for at, frame in frames:
        matches.setdefault(frame["event_id"], []).append((at, frame))
    return matches


def all_described(frames):
    for _, frame in frames:
        described(frame, TENNIS_FRAMES if is_tennis(frame) else FOOTBALL_FRAMES)


def numbers_have_no_hole(frames):
    """`seq` rises by one with each frame of a match; `odds_book` is numbered by itself."""
    position = {}
    for _, frame in frames:
        lane = (frame["event_id"], frame["type"] == "odds_book")
        if frame["type"] != "subscribed" and lane in position:
            epoch, seq = position[lane]
            expect((frame["epoch"], frame["seq"]) == (epoch, seq + 1), f"{frame['type']}: {epoch} {seq + 1}", f"{frame['epoch']} {frame['seq']}")
        position[lane] = (frame["epoch"], frame["seq"])


def every_kind_comes(frames, live):
    football = {frame["type"] for _, frame in frames if not is_tennis(frame)}
    expect(set(KINDS) <= football, f"frames of {KINDS}", sorted(football))
    if any(is_tennis(frame) for _, frame in frames):
        tennis = {frame["type"] for _, frame in frames if is_tennis(frame)}
        expect({"event", "score", "odds"} <= tennis, "event, score and odds of tennis", sorted(tennis))


def cadences(frames, seconds):
    for number, sent in by_match(frames).items():
        over = [at for at, frame in sent if frame["type"] == "event" and status_of(frame) in OVER]
        ends = min(over, default=seconds)
        for kind in ("event", "odds"):
            times = [0.0] + [at for at, frame in sent if frame["type"] in (kind, "subscribed") and at < ends] + [ends]
            longest = max(later - earlier for earlier, later in zip(times, times[1:], strict=False))
            expect(longest <= CADENCE_S + LATE_S, f"{kind} of {number} each {CADENCE_S} s", f"a gap of {longest:.0f} s")


def status_of(frame):
    return frame["status"]["name"] if is_tennis(frame) else frame["time"]["status"]


def scores_agree(frames):
    """The score that an action reports is the score of the next event; a clock does not run back in a half."""
    for sent in by_match(frames).values():
        goal_score, minute = None, {}
        for _, frame in sent:
            if frame["type"] == "action" and frame["action_type"] in ("goal", "deleted_event"):
                goal_score = frame["score"]
            elif frame["type"] == "event" and not is_tennis(frame):
                if goal_score is not None:
                    expect(frame["score"] == goal_score, f"the score of the last goal, {goal_score}", frame["score"])
                    goal_score = None
                now, period = frame["time"]["minute"], frame["time"]["period"]
                if now is not None and frame["time"]["status"] in ("1st_half", "2nd_half"):
                    expect(now >= minute.get(period, 0), f"no minute before {minute.get(period)}", now)
                    minute[period] = now


def odds_change(frames):
    """An `odds` frame with the reason `change` differs from the one before."""
    last = {}
    for _, frame in frames:
        if frame["type"] == "odds":
            before = last.get(frame["event_id"])
            if before is not None and frame["update_reason"] == "change":
                expect(frame["odds"] != before, "other prices than before", frame["odds"])
            last[frame["event_id"]] = frame["odds"]
