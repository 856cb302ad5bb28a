"""Log-ins, registrations, tickets, OAuth, webhooks, payments and pushes."""

import gzip
import itertools
import json
import re

from attack import asks, attack, control_asks, register
from generator import ANSWER
from wire import form, request


def forms(name, path, connections=200):
    """Forms of the site, with the cookie and the token of its page. The function returns the fields of the n-th."""

    def add(fields):
        def script(_hub, number):
            yield request(path)
            page = yield ANSWER
            cookie, token = re.search(rb"mw_visitor=\w+", page.head), re.search(rb'name="csrf" value="(\w+)"', page.body)
            if not cookie or not token:
                yield 1
                return
            for at in itertools.count(number, connections):
                yield form(path, f"csrf={token[1].decode()}&{fields(at)}", Cookie=cookie[0].decode())
                yield ANSWER

        register(name, script, control_asks, connections, strangers=True)

    return add


@forms("log-ins with wrong passwords", "/login/")
def log_ins(n):
    return f"email=victim0%40example.org&password=wrong+password+{n}"


@forms("log-ins to accounts that do not exist", "/login/")
def unknown_log_ins(n):
    return f"email=n{n}%40example.net&password=wrong+password+{n}"


@forms("log-ins with passwords of 60 kB", "/login/")
def long_passwords(n):
    return f"email=victim0%40example.org&password={n}" + "x" * 60_000


@forms("log-ins of operators", "/admin/login/")
def admin_log_ins(n):
    return f"name=root&password=wrong+password+{n}"


@forms("registrations", "/register/")
def registrations(n):
    return f"email=n{n}%40example.net&password=a+long+password+{n}"


@forms("password resets", "/reset/")
def resets(n):
    return f"email=victim{n}%40example.org"


@asks("tickets of sockets", 60)
def tickets(hub):
    return [request("/api/v2/stream/ticket/", hub.paying, "POST", b"")]


@asks("oauth: documents of applications", 60, strangers=True)
def client_documents(hub):
    query = "response_type=code&code_challenge=" + "x" * 43 + "&code_challenge_method=S256&redirect_uri=http://127.0.0.1/"
    return [request(f"/oauth/authorize/?client_id={hub.slow_hook}{n}&{query}") for n in range(500)]


@asks("oauth: wrong tokens", 60, strangers=True)
def tokens(_hub):
    return [form("/oauth/token/", f"grant_type=refresh_token&refresh_token={'x' * 60}{n}&client_id=http://127.0.0.1/") for n in range(100)]


@asks("oauth: requests at the limit of their size", 60, strangers=True)
def long_tokens(_hub):
    return [form("/oauth/token/", "grant_type=authorization_code&code=" + "x" * 60000)]


def made_and_deleted(key, body):
    while True:
        yield request("/api/v2/webhooks/", key, "POST", body)
        made = yield ANSWER
        if made.status == 201:
            yield request(f"/api/v2/webhooks/{json.loads(made.body)['id']}/", key, "DELETE")
            yield ANSWER


@attack("webhooks made and deleted", 20)
def webhooks(hub, number):
    return made_and_deleted(hub.paying, {"url": f"{hub.slow_hook}{number}", "events": ["goal"]})


@attack("webhooks: many channels and conditions", 20)
def conditions(hub, _number):
    prices = [{"market": "match_winner", "selection": "home", "at_least": f"{n + 2}.5"} for n in range(20)]
    channels = [f"football/{id}/odds" for id in hub.matches[:50]]
    return made_and_deleted(hub.paying, {"url": hub.slow_hook, "events": ["price"], "channels": channels, "prices": prices})


@attack("webhooks: on everything, to where nobody listens", 10)
def unreachable(hub, number):
    kinds = ["goal", "card", "retract", "correct", "suspend", "resume", "match_end", "feed_down", "feed_up"]
    yield request("/api/v2/webhooks/", hub.other, "POST", {"url": f"http://127.0.0.1:1/{number}", "events": kinds})
    yield ANSWER
    yield 3600


@asks("payments: forged webhooks of a MiB", 40, strangers=True)
def forged(_hub):
    body = b"{" + b" " * 250_000 + b"}"
    return [request(path, None, "POST", body, Stripe_Signature="t=1,v1=00") for path in ("/webhooks/stripe/", "/webhooks/paypal/")]


@asks("pushes that are refused", 16)
def refused(hub):
    lines = b"\n".join(json.dumps({"sport": "football", "match": f"{n}", "fact": {"nothing": n}}).encode() for n in range(2000))
    return [request("/ingest/v1/bad", hub.bad_feed, "POST", lines)]


@asks("pushes: bombs of gzip", 16)
def gzip_bombs(hub):
    return [request("/ingest/v1/bad", hub.bad_feed, "POST", gzip.compress(b" " * 100_000_000), Content_Encoding="gzip")]


@asks("pushes: deep JSON", 16)
def deep_pushes(hub):
    return [request("/ingest/v1/bad", hub.bad_feed, "POST", b"\n".join([b'{"batch":' + b"[" * 100_000] * 10))]


@asks("pushes with wrong keys", 60, strangers=True)
def wrong_pushes(_hub):
    return [request("/ingest/v1/board", f"mw_{n:048x}", "POST", b"{}\n" * 1000) for n in range(100)]


@asks("calendars", 60)
def calendars(hub):
    teams = [row["id"] for row in hub.get("/api/v2/teams/?limit=50")["results"]]
    return [request(f"/api/v2/teams/{id}/calendar/", hub.paying) for id in teams]
