"""Requests: REST, the pages, images, MCP."""

from attack import asks, attack, control_asks
from generator import HEAD_ANSWER
from wire import mcp, request, tool

LONG = "Selvan" + "a" * 89
EVENTS = "/api/v2/events/"


def gets(hub, *paths, key="paying", **headers):
    return [request(path, getattr(hub, key), **headers) for path in paths]


@asks("rest: long names in search", 60)
def search(hub):
    return gets(hub, *(f"/api/v2/search/?q={LONG}{n}" for n in range(50)))


@asks("rest: names in place of ids", 60)
def names(hub):
    return gets(hub, *(f"/api/v2/teams/?name={LONG}{n}" for n in range(50)))


@asks("rest: the longest pages, at deep offsets", 60)
def deep_pages(hub):
    return gets(hub, *(f"{EVENTS}?limit=200&offset={n * 97}" for n in range(100)))


@asks("rest: everything included", 60)
def includes(hub):
    return gets(hub, *(f"{EVENTS}?limit=200&offset={n}&include=odds,stats,lineups,incidents,refs" for n in range(50)))


@asks("rest: one match with all it has", 60)
def one_match(hub):
    return gets(hub, *(f"{EVENTS}{id}/?include=odds,stats,lineups,incidents,refs" for id in hub.matches[:100]))


@asks("rest: prices of all matches", 60)
def odds(hub):
    return gets(hub, *(f"/api/v2/odds/?limit=200&offset={n * 31}" for n in range(100)))


@asks("rest: best prices", 60)
def best_odds(hub):
    return gets(hub, *(f"/api/v2/odds/best/?limit=200&offset={n}" for n in range(100)))


@asks("rest: the odds API, all events with br", 60)
def odds_api(hub):
    return gets(hub, *(f"/odds/api/events/?limit=200&offset={n}" for n in range(100)), Accept_Encoding="br")


@asks("rest: histories of prices", 60)
def histories(hub):
    return gets(hub, *(f"/odds/api/events/{id}/history/?limit=1000" for id in hub.matches[:100]))


@asks("rest: comparisons of bookmakers", 60)
def comparisons(hub):
    return gets(hub, *(f"{EVENTS}{id}/odds/comparison/" for id in hub.matches[:100]))


@asks("rest: tops of statistics", 60)
def tops(hub):
    leagues = [row["id"] for row in hub.get("/api/v2/leagues/?limit=20")["results"]]
    return gets(hub, *(f"/api/v2/leagues/{id}/top/{stat}/?limit=200" for id in leagues for stat in ("goals", "assists", "rating", "passes")))


@asks("rest: players at deep offsets", 60)
def players(hub):
    return gets(hub, *(f"/api/v2/players/?limit=200&offset={n * 53}" for n in range(100)))


@asks("rest: images of the board in all encodings", 60)
def encodings(hub):
    return [request("/stream/v1/channels/football", hub.paying, Accept_Encoding=encoding) for encoding in ("br", "gzip", "zstd", "deflate", "identity")]


@asks("rest: the list of replays", 60)
def replays(hub):
    return gets(hub, "/stream/v1/replays/?sport=football", "/stream/v1/replays/")


@asks("rest: conditional requests", 60)
def conditional(hub):
    etags = ", ".join(f'"{n:032x}"' for n in range(200))
    return gets(hub, "/stream/v1/channels/football", f"{EVENTS}?limit=200", If_None_Match=etags)


@asks("rest: ranges", 60)
def ranges(hub):
    return gets(hub, "/api/schema/", "/static/site.css", Range="bytes=" + ",".join(f"{n}-{n}" for n in range(500)))


@attack("rest: HEAD", 60)
def heads(hub, number):
    while True:
        yield request(f"{EVENTS}?limit=200&offset={number}", hub.paying, "HEAD")
        yield HEAD_ANSWER


@asks("rest: long addresses", 60)
def addresses(hub):
    return gets(hub, *(f"{EVENTS}?" + "&".join(f"{name}{n}=%41" for n in range(700)) for name in "abcdef"))


@asks("rest: 200 parameters", 60)
def parameters(hub):
    return gets(hub, *(f"{EVENTS}?" + "&".join(f"team_id={n}" for n in range(first, first + 199)) for first in range(0, 2000, 100)))


@asks("rest: many cookies and headers", 60)
def cookies(_hub):
    jar = "; ".join(f"c{n}=" + "x" * 40 for n in range(150))
    return [request("/dashboard/", Cookie=jar, **{f"X_{n}": "y" * 100 for n in range(60)})]


@asks("rest: wrong keys", 60, strangers=True)
def wrong_keys(_hub):
    return [request(EVENTS, f"mw_{n:048x}") for n in range(1000)]


@asks("rest: an account with named keys", 60, named=True)
def named(hub):
    return [request(f"{EVENTS}?limit=200&offset={n}", key) for n, key in enumerate(hub.named)]


@asks("open: documents of the interface with br", 60, strangers=True)
def schema(_hub):
    return [request(path, Accept_Encoding=encoding) for encoding in ("br", "gzip") for path in ("/api/schema/", "/api/asyncapi/", "/api/schema/documents/")]


@asks("open: pages", 60, strangers=True)
def pages(_hub):
    paths = ["/", "/pricing/", "/docs/", "/docs/rest/", "/mcp-info/", "/board/", "/truth/", "/trade/", "/watch/", "/login/", "/llms.txt"]
    return [request(path, Accept_Encoding=encoding) for path in paths for encoding in ("br", "gzip", "identity")]


@asks("open: pages of matches", 60, strangers=True)
def match_pages(hub):
    paths = [f"/{page}/football/{id}/" for page in ("match", "trade") for id in hub.matches[:100]]
    return [request(path, Accept_Encoding="br") for path in [*paths, "/truth/feed/", "/watch/boards/football/"]]


@asks("open: pages that do not exist", 60, strangers=True)
def nothing(_hub):
    return [request(f"/{'x' * 200}/{n}", Accept_Encoding="br") for n in range(100)]


@asks("open: images of many sizes", 60, strangers=True)
def images(hub):
    teams = [row["id"] for row in hub.get("/api/v2/teams/?limit=100")["results"]]
    styles = [f"size={size}&format={format}&bg={bg}" for size in (16, 256, 512) for format in ("png", "webp") for bg in ("transparent", "")]
    return [request(f"/img/team/{id}/?{style}") for id in teams for style in styles]


@asks("rest: tables and head to heads", 60)
def tables(hub):
    leagues = [row["id"] for row in hub.get("/api/v2/leagues/?limit=50")["results"]]
    return gets(hub, *(f"/api/v2/leagues/{id}/standings/" for id in leagues), *(f"{EVENTS}{id}/h2h/" for id in hub.matches[:100]))


@asks("rest: results, the newest first", 60)
def sorted_pages(hub):
    return gets(hub, *(f"{EVENTS}?limit=200&sort=-date&status=finished&date_from=2026-01-01&offset={n * 11}" for n in range(100)))


@asks("rest: predictions", 60)
def predictions(hub):
    return gets(hub, *(f"/api/v2/predictions/?limit=200&offset={n}" for n in range(50)))


@asks("rest: the other sports", 60)
def sports(hub):
    paths = ("tennis/api/v2/matches", "csgo/api/v2/matches", "darts/api/v2/matches", "hockey/api/v2/matches", "basketball/api/v2/events", "horseracing/api/v2/races")
    return gets(hub, *(f"/{path}/?limit=200&offset={n}" for path in paths for n in (0, 500)))


@asks("rest: signals", 60)
def signals(hub):
    return gets(hub, "/signals/api/?limit=200", "/signals/api/?limit=200&offset=100")


@asks("mcp: lists of tools", 60)
def tools(hub):
    return [mcp(hub.free, "tools/list", {})]


@asks("mcp: sessions without end", 60)
def sessions(hub):
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x" * 1000, "version": "1"}}
    return [mcp(hub.free, "initialize", client)]


@asks("mcp: waits for changes", 60)
def waits(hub):
    return [tool(hub.free, "wait_for_change", {"match_id": int(id), "timeout_s": 50}) for id in hub.matches[:60]]


@asks("mcp: 50 matches by names in one call", 60)
def by_names(hub):
    return [tool(hub.free, "check_matches", {"match_ids": [f"{LONG}{n} v {LONG}" for n in range(50)]})]


@asks("mcp: deep JSON", 60)
def mcp_deep(hub):
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * 8000 + b"1" + b"}" * 8001
    return [request("/mcp", hub.free, "POST", body, Content_Type="application/json", Accept="application/json, text/event-stream")]


@asks("mcp: the board as a resource", 60)
def resources(hub):
    return [mcp(hub.free, "resources/read", {"uri": uri}) for uri in ("matchwire://football", "matchwire://docs/operating")]


@asks("mcp: completions", 60)
def completions(hub):
    reference = {"type": "ref/resource", "uri": "matchwire://football/{id}"}
    return [mcp(hub.free, "completion/complete", {"ref": reference, "argument": {"name": "id", "value": f"{LONG}{n}"}}) for n in range(50)]


@asks("mcp: batches of calls", 60)
def batches(hub):
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":{"q":"' + LONG.encode() + b'"}}}'
    body = b"[" + b",".join([call] * 300) + b"]"
    return [request("/mcp", hub.free, "POST", body, Content_Type="application/json", Accept="application/json, text/event-stream")]


@attack("sse: connected again and again", 60, control_asks)
def sse_again(hub, number):
    yield request(f"/stream/v1/sse/?ch=football&ch=*/*/odds&every_ms={(0, 100, 250)[number % 3]}", hub.paying)
    yield 0.1
