"""Log-ins, registrations, tickets, OAuth, webhooks, payments and pushes."""

import gzip
import json

from attack import asks, attack, control_asks
from generator import ANSWER
from wire import form, request


@asks("log-ins with wrong passwords", 60, strangers=True)
def log_ins(_hub):
    return [form("/login/", f"email=victim%40example.org&password=wrong+password+{n}") for n in range(100)]


@asks("log-ins of operators", 60, strangers=True)
def admin_log_ins(_hub):
    return [form("/admin/login/", f"name=root&email=root%40example.org&password=wrong+password+{n}") for n in range(100)]


@asks("log-ins with passwords of a megabyte", 20, strangers=True)
def long_passwords(_hub):
    return [form("/login/", "email=victim%40example.org&password=" + "x" * 1_000_000)]


@asks("registrations", 60, strangers=True)
def registrations(_hub):
    return [form("/register/", f"email=n{n}%40example.net&password=a+long+password+{n}&password_again=a+long+password+{n}&terms=on") for n in range(2000)]


@asks("password resets", 60, strangers=True)
def resets(_hub):
    return [form("/reset/", f"email=victim{n}%40example.org") for n in range(100)]


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


@attack("webhooks made and deleted", 20, control_asks)
def webhooks(hub, number):
    while True:
        yield request("/api/v2/webhooks/", hub.paying, "POST", {"url": f"{hub.slow_hook}{number}", "events": ["goal"]})
        made = yield ANSWER
        if made.status == 201:
            yield request(f"/api/v2/webhooks/{json.loads(made.body)['id']}/", hub.paying, "DELETE")
            yield ANSWER


@asks("webhooks: many channels and conditions", 20)
def conditions(hub):
    prices = [{"market": "match_winner", "selection": "home", "at_least": f"{n + 2}.5"} for n in range(20)]
    channels = [f"football/{id}/odds" for id in hub.matches[:500]]
    return [request("/api/v2/webhooks/", hub.paying, "POST", {"url": hub.slow_hook, "events": ["price"], "channels": channels, "prices": prices})]


@asks("payments: forged webhooks of a MiB", 40, strangers=True)
def forged(_hub):
    body = b"{" + b" " * 250_000 + b"}"
    return [request(path, None, "POST", body, Stripe_Signature="t=1,v1=00") for path in ("/webhooks/stripe/", "/webhooks/paypal/")]


@asks("reports of browsers about nothing", 60, strangers=True)
def reports(_hub):
    body = json.dumps({"csp-report": {"blocked-uri": "x" * 4000}}).encode()
    return [request(path, None, "POST", body, Content_Type="application/csp-report") for path in ("/csp/", "/csp-report/", "/truth/")]


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
