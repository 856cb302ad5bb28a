"""Connections that read nothing, end nothing, or come in masses."""

from attack import PROXIED, asks, attack, control_opens, holds, says
from generator import HEAD_END, Until
from wire import command, frame, request, upgrade

READS_NOTHING = {"reads": False, "receive_buffer": 2048}


@holds("slow: the board, read by nobody", 500, **READS_NOTHING)
def board(hub):
    return [request("/stream/v1/channels/football", hub.paying) * 5]


@holds("slow: open documents, read by nobody", 1000, strangers=True, **READS_NOTHING)
def documents(hub):
    return [request(f"/test/{hub.epochs[1]}/"), request("/api/schema/")]


@holds("slow: server-sent events, read by nobody", 100, **READS_NOTHING)
def events(hub):
    return [request("/stream/v1/sse/?ch=football&ch=*/*&ch=*/*/odds&ch=*/*/odds/*", hub.paying)]


@holds("slow: lists, read by nobody", 500, **READS_NOTHING)
def lists(hub):
    return [request(f"/api/v2/events/?limit=200&offset={n}", hub.paying) for n in range(50)]


@holds("half open: nothing at all", 1000, strangers=True)
def silent(_hub):
    return [b""]


@holds("half open: heads of 60 kB", 1000, strangers=True)
def long_heads(_hub):
    return [b"GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 60000]


@attack("half open: heads by bytes", 1000, control_opens, strangers=True)
def drip(_hub, _number):
    for byte in b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X-a: b\r\n" * 1000:
        yield bytes([byte])
        yield 0.3


@holds("half open: upgrades of sockets without the rest", 1000, strangers=True)
def half_upgrades(_hub):
    return [upgrade()[:-2]]


@attack("half open: closed after one byte", 200, control_opens, strangers=True)
def one_byte(_hub, _number):
    yield b"G"


@attack("half open: closed before the response", 200, control_opens, strangers=True)
def impatient(hub, _number):
    yield request(f"/test/{hub.epochs[1]}/", Accept_Encoding="br")


@attack("half open: commands without their last byte", 90, control_opens)
def half_commands(hub, _number):
    yield upgrade(key=hub.paying)
    yield Until(HEAD_END)
    yield command("subscribe", chs=[f"football/{n}" for n in range(9000)])[:-1]
    yield 3600


@attack("half open: bodies by bytes", 500, control_opens)
def slow_bodies(hub, number):
    path = ("/mcp", "/api/v2/webhooks/", "/api/v2/stream/ticket/")[number % 3]
    yield request(path, hub.free, "POST", Content_Type="application/json", Accept="application/json, text/event-stream", Content_Length=60000)
    while True:
        yield b" "
        yield 0.3


@attack("pipelined requests", 60, control_opens, **READS_NOTHING)
def pipelined(hub, _number):
    while True:
        yield request("/api/v2/events/?limit=200", hub.paying) * 50


@attack("sockets that speak HTTP, HTTP that speaks frames", 60, control_opens)
def confused(hub, number):
    yield upgrade(key=hub.paying) + request("/") * 20 if number % 2 else frame(b"x" * 100) * 100
    yield 0.05


@says("slow: everything through a tiny window", 100, receive_buffer=1024, every_s=1)
def tiny_window(_hub):
    return [command("subscribe", chs=["*", "*/*", "*/*/odds", "*/*/odds/*"]), command("cursor")]


@asks("proxied: wrong keys from 50,000 networks", 60, **PROXIED)
def networks(_hub):
    return [request("/api/v2/events/", f"mw_{n:048x}", X_Forwarded_For=f"2001:db8:{n:x}::1") for n in range(50_000)]


@asks("proxied: a free account from 10,000 addresses", 60, **PROXIED)
def roaming(hub):
    return [request(f"/api/v2/events/?limit=200&offset={n}", hub.free, X_Forwarded_For=f"10.1.{n >> 8}.{n & 255}") for n in range(10_000)]


@asks("proxied: chains of 400 addresses in each request", 60, **PROXIED)
def chains(_hub):
    chain = ", ".join(f"10.2.{n >> 8}.{n & 255}" for n in range(400))
    return [request("/", X_Forwarded_For=chain), request("/", X_Forwarded_For="x" * 6000)]


@holds("proxied: 1,000 bodies that never come", 1000, **PROXIED)
def proxied_bodies(hub):
    headers = {"Content_Type": "application/json", "Accept": "application/json, text/event-stream", "Content_Length": 65000}
    return [request("/mcp", hub.free, "POST", X_Forwarded_For=f"10.3.{n >> 8}.{n & 255}", **headers) for n in range(1000)]
