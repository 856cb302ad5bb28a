"""Prices, and the permission to use them, of documents written by hand."""

from decimal import Decimal

import pytest
from script import Script

from matchwire._view import OddsView, view_of
from matchwire.odds import find_market, find_selection

BOOK = {
    "suspended": False,
    "markets": {
        "m1": {
            "kind": "match_winner", "status": "open", "in_play": True,
            "selections": {
                "1": {"outcome": "home", "status": "active", "price": "2.10", "lay": "2.12"},
                "2": {"outcome": "draw", "status": "active"},
                "3": {"outcome": "away", "status": "removed", "price": "4.0"},
            },
        },
        "m2": {"kind": "over_under", "line": "2.5", "status": "suspended", "selections": {"o": {"outcome": "over", "status": "active", "price": "1.90"}}},
        "m3": {"kind": "match_winner", "period": "first_half", "status": "open", "selections": {"h": {"outcome": "home", "status": "active", "price": "3.5"}}},
    },
}  # fmt: skip
NAME = "football/1/odds/acme"


class Context:
    def __init__(self, script):
        self.script = script

    def now(self):
        return self.script.now

    def server_now(self):
        return self.script.session.server_now(self.script.now)

    def health_of(self, channel):
        return self.script.session.health(channel, self.script.now)


def book(data=BOOK):
    script = Script()
    script.follow(NAME)
    script.hello().subscribed(epoch="e1", seq=1, resumed=False).image(NAME, 1, data)
    view = view_of(Context(script), script.channel(NAME))
    assert isinstance(view, OddsView)
    script.noted = len(script.seen)
    return script, view


def note(script, view):
    for name, change in script.seen[script.noted :]:
        if name == view.name:
            view._note(change, script.now)
    script.noted = len(script.seen)


@pytest.mark.parametrize(
    ("market", "selection", "price"),
    [
        ("m1", "1", "2.10"), ("1x2", "HOME", "2.10"), ("match_winner", "home", "2.10"), ("match_winner:first_half", "home", "3.5"),
        ("1x2", "draw", None), ("1x2", "away", None), ("over_under@2.5", "over", None), ("over_under", "over", None),
        ("nothing", "home", None), ("1x2", "nobody", None),
    ],
)  # fmt: skip
def test_price_is_there_only_while_it_can_be_had(market, selection, price):
    _, view = book()
    assert view.price(market, selection) == (Decimal(price) if price else None)


@pytest.mark.parametrize(
    ("market", "selection", "why"),
    [("1x2", "home", None), ("1x2", "away", "removed"), ("over_under@2.5", "over", "suspended")],
)
def test_last_price_says_why_it_must_not_be_used(market, selection, why):
    _, view = book()
    assert view.last_price(market, selection).why == why


def test_hold_of_the_hub_takes_all_prices_though_markets_are_open():
    script, view = book()
    script.update(NAME, 1, 2, {"suspended": True, "life": "suspended"})
    assert view.price("1x2", "home") is None
    assert view.last_price("1x2", "home").why == "suspended"


def test_price_is_gone_while_stale_and_lost_and_has_an_age():
    script, view = book()
    script.passes(9)
    assert view.price("1x2", "home") == Decimal("2.10")
    assert view.last_price("1x2", "home").age_ms == pytest.approx(9000)
    script.passes(1)
    assert view.price("1x2", "home") is None
    assert view.last_price("1x2", "home").why == "stale"
    script.hang_up()
    assert view.price("1x2", "home") is None
    assert view.last_price("1x2", "home").why == "lost"
    assert view.last_price("1x2", "home").price == Decimal("2.10")


def test_feed_that_is_late_takes_the_price():
    script, view = book()
    script.update(NAME, 1, 2, {"feed": "late"})
    assert view.price("1x2", "home") is None
    assert view.last_price("1x2", "home").why == "late"


def test_withdrawn_price_is_remembered_with_its_age():
    script, view = book()
    script.passes(1).update(NAME, 1, 2, {"markets": {"m1": {"selections": {"1": {"price": None}}}}})
    note(script, view)
    script.passes(2)
    last = view.last_price("1x2", "home")
    assert (last.price, last.why) == (Decimal("2.10"), "withdrawn")
    assert last.age_ms == pytest.approx(2000)
    assert view.price("1x2", "home") is None


def test_time_of_the_last_change_of_a_price():
    script, view = book()
    assert view.last_price("1x2", "home").changed_at is None
    frame = {"type": "update", "ch": NAME, "prev": 1, "seq": 2, "at": {"src": None, "in": 5, "pub": 7}}
    script.say(frame | {"patch": {"markets": {"m1": {"selections": {"1": {"price": "2.2"}}}}}})
    script.say(frame | {"prev": 2, "seq": 3, "at": {"pub": 99}, "patch": {"match_seq": 3}})
    note(script, view)
    assert view.last_price("1x2", "home").changed_at == 7


def test_memory_of_prices_is_that_of_the_document():
    script, view = book()
    script.update(NAME, 1, 2, {"markets": {"m1": None, "m2": {"selections": {"o": None}}}})
    note(script, view)
    assert len(view._notes.history._known) == 1
    script.image(NAME, 3, {"suspended": False, "markets": {}})
    note(script, view)
    assert view._notes.history._known == {}
    assert view.last_price("1x2", "home") is None


@pytest.mark.parametrize("price", ["", "abc", "NaN", "Infinity", 2.1, None, [], {}])
def test_what_is_no_decimal_is_no_price(price):
    data = {
        "suspended": False,
        "markets": {"m": {"kind": "k", "status": "open", "selections": {"s": {"status": "active", "price": price}}}},
    }
    _, view = book(data)
    assert view.price("m", "s") is None
    assert view.last_price("m", "s") is None


def test_prices_from_before_a_goal_are_told():
    script, view = book(BOOK | {"match_seq": 10})
    script.follow("football/1")
    script.image("football/1", 10, {"score": {"home": 0, "away": 0}})
    match = view_of(Context(script), script.channel("football/1"))
    script.noted = len(script.seen)
    assert view.has_seen(match)
    script.update("football/1", 10, 11, {"ball": {"x": 1}}).update("football/1", 11, 12, {"score": {"home": 1}})
    note(script, match)
    assert not view.has_seen(match)
    script.update(NAME, 1, 2, {"match_seq": 12})
    assert view.has_seen(match)


@pytest.mark.parametrize(
    ("document", "patch"),
    [
        ({"sets": {"1": {"p1": 0, "p2": 0}}, "game": {"p1": "0", "p2": "0"}, "points": 0}, {"game": {"p1": "15"}, "points": 1}),
        ({"sets": {"1": {"p1": 0, "p2": 0}}}, {"sets": {"1": {"p1": 1}}}),
        ({"points": 1}, {"points": 2}),
        ({"score": {"home": 0, "away": 0}}, {"score": {"away": 1}}),
        ({"score": {"home": 0, "away": 0}}, {"score": {"pens": {"home": 1, "away": 0}}}),
        ({"score": {"home": 0, "away": 0}, "periods": {"1": {"home": 3, "away": 2}}}, {"periods": {"1": {"home": 4}}}),
    ],
)
def test_score_is_that_of_any_sport(document, patch):
    script, view = book(BOOK | {"match_seq": 10})
    script.follow("tennis/1")
    script.image("tennis/1", 10, document)
    match = view_of(Context(script), script.channel("tennis/1"))
    script.noted = len(script.seen)
    script.update("tennis/1", 10, 11, {"server": 2})
    note(script, match)
    assert view.has_seen(match)
    script.update("tennis/1", 11, 12, patch)
    note(script, match)
    assert not view.has_seen(match)
    script.update(NAME, 1, 2, {"match_seq": 12})
    assert view.has_seen(match)


@pytest.mark.parametrize("part", ["ht", "et"])
def test_score_of_a_part_is_no_other_score(part):
    script, view = book(BOOK | {"match_seq": 10})
    script.follow("football/1")
    script.image("football/1", 10, {"score": {"home": 1, "away": 0}})
    match = view_of(Context(script), script.channel("football/1"))
    script.noted = len(script.seen)
    script.update("football/1", 10, 11, {"score": {part: {"home": 1, "away": 0}}})
    note(script, match)
    assert view.has_seen(match)


def test_goal_counts_though_the_score_is_not_picked():
    script, view = book(BOOK | {"match_seq": 10})
    script.follow("football/1", pick=("/clock",))
    script.image("football/1", 10, {})
    match = view_of(Context(script), script.channel("football/1"))
    script.noted = len(script.seen)
    script.update("football/1", 10, 11, events=[{"kind": "card", "eid": "c"}])
    note(script, match)
    assert view.has_seen(match)
    script.update("football/1", 11, 12, events=[{"kind": "goal", "eid": "g"}])
    note(script, match)
    assert not view.has_seen(match)


def following_match():
    """A book that has seen the only goal of its match."""
    script, view = book(BOOK | {"match_seq": 20, "stale_after_ms": 60_000})
    script.follow("football/1")
    script.image("football/1", 19, {"score": {"home": 0}})
    match = view_of(Context(script), script.channel("football/1"))
    script.noted = len(script.seen)
    script.update("football/1", 19, 20, {"score": {"home": 1}})
    note(script, match)
    assert view.has_seen(match)
    return script, view, match


@pytest.mark.parametrize("feed", ["late", "down", "recovering"])
def test_nothing_is_seen_of_a_match_whose_source_is_not_healthy(feed):
    script, view, match = following_match()
    script.update("football/1", 20, 21, {"feed": feed})
    assert not view.has_seen(match)
    script.update("football/1", 21, 22, {"feed": "live", "life": "ended"})
    assert view.has_seen(match), "an end is final"


def test_nothing_is_seen_of_a_match_that_is_stale_lost_or_catching_up():
    script, view, match = following_match()
    script.passes(10)
    assert (view.health, match.health, view.has_seen(match)) == ("live", "stale", False)
    script.say({"type": "beat", "now": 0, "heads": {"football/1": 20}})
    assert view.has_seen(match)
    script.hang_up()
    assert not view.has_seen(match)
    script.passes(0.5).hello()
    assert (match.health, view.has_seen(match)) == ("catching_up", False)


@pytest.mark.parametrize(("home", "seen"), [(1, True), (2, False)])
def test_sequence_of_the_score_is_that_of_its_epoch(home, seen):
    script, view, match = following_match()
    script.image("football/1", 5, {"score": {"home": home}}, "e2")
    script.update(NAME, 1, 2, {"match_seq": 4})
    note(script, match)
    assert view.has_seen(match) is seen
    script.update(NAME, 2, 3, {"match_seq": 5})
    assert view.has_seen(match)


def test_two_markets_that_fit_are_none():
    data = {"markets": {"a": {"kind": "x"}, "b": {"kind": "x"}}}
    assert find_market(data, "x") is None
    assert find_market(data, "a")[0] == "a"
    assert find_selection({"selections": {"a": {"outcome": "yes"}, "b": {"outcome": "yes"}}}, "YES") is None


def test_frames_have_a_row_for_each_selection():
    _, view = book()
    frame = view.to_frame()
    assert list(frame["selection"]) == ["1", "2", "3", "o", "h"]
    assert list(frame["open"]) == [True, False, False, False, True]
    assert frame["price"].isna().sum() == 1
    assert view.to_frame(decimals=True)["price"][0] == Decimal("2.10")
    assert view.to_polars()["price"].to_list() == [2.1, None, 4.0, 1.9, 3.5]
    _, empty = book({"suspended": False, "markets": {}})
    assert list(empty.to_frame().columns) == list(frame.columns)
    assert empty.to_polars().columns == list(frame.columns)
