"""Every path of the page: status, type of content, names and types of all fields that it names."""

import re

from client import ApiError
from football_v1 import ENDPOINTS as V1
from football_v1 import INDEX
from football_v2 import ENDPOINTS as V2
from other_sports import SPORTS
from report import Different, NotServed, expect
from shapes import complaints, page

# What SERVICE lists and this hub does not have, because no source provides it; a 404 elsewhere is a fault.
ABSENT = re.compile(
    r"broadcasts/|tv-channels/|social/|/transfers/|/worldcup/|/bestxi/|/polymarket/|^/padel/|^/wom/|^/tipsters/|^/tennis/api/v2/odds/best/"
    # A match may have no prediction, and no player may be known.
    r"|/prediction/$"
)
# SPEC 4 and SERVICE 3.5, which names no field of them.
OTHERS = [
    ("/odds/api/", "obj"),
    ("/odds/api/sports/", page("obj")),
    ("/odds/api/events/", page("obj")),
    ("/odds/api/events/{event}/", "obj"),
    ("/wom/api/coverage/", "any"),
    ("/wom/api/events/", "any"),
    ("/wom/api/markets/", "any"),
    ("/wom/api/movers/", "any"),
    ("/tipsters/api/tips/", "any"),
    ("/tipsters/api/slips/", "any"),
]
# Of an answer with many faults the first few suffice.
SHOWN_MAX = 6


def walk(report, client, world):
    for path, shape in V2:
        visit(report, client, "/api/v2/" + path, shape, world.ids)
    # The same in other states of a match.
    for name in ("live", "upcoming"):
        for path, shape in V2:
            if "{event}" in path:
                visit(report, client, "/api/v2/" + path.replace("{event}", f"{{{name}}}"), shape, world.ids)
    with report.check("the index of version 1 names its lists"):
        index_of_version_1(client)
    for path, shape in V1:
        visit(report, client, "/api/" + path, shape, world.ids)
    events = client.get("/odds/api/events/", limit=1)["results"]
    for path, shape in OTHERS:
        visit(report, client, path, shape, {"event": events[0]["event_id"] if events else None})
    for sport, endpoints in SPORTS.items():
        ids = ids_of(client, sport, endpoints)
        for path, shape in endpoints:
            visit(report, client, f"/{sport}/api/v2/{path}", shape, ids)


def visit(report, client, template, shape, ids):
    """One path, named by its template, so that a run can be compared with another."""
    with report.check(f"GET {template}"):
        wanted = re.findall(r"{(\w+)}", template)
        unknown = [name for name in wanted if ids.get(name) is None]
        if unknown:
            raise NotServed(f"the hub names no {unknown[0].replace('_', ' ')}")
        look(client, template.format(**{name: ids[name] for name in wanted}), shape, ABSENT.search(template))


def wide_ids(value, at="answer"):
    """Ids that do not fit the 32-bit integers of typed clients."""
    if isinstance(value, list):
        return [wrong for place, item in enumerate(value) for wrong in wide_ids(item, f"{at}[{place}]")]
    if not isinstance(value, dict):
        return []
    wrong = []
    for name, item in value.items():
        is_id = name == "id" or name.endswith("_id")
        if is_id and isinstance(item, int) and not 0 < item < 2**31:
            wrong.append(f"{at}.{name}: {item} does not fit 32 bits")
        wrong += wide_ids(item, f"{at}.{name}")
    return wrong


def look(client, path, shape, may_be_absent):
    """The answer, which has the shape."""
    response = client.send("GET", path)
    if response.status_code == 404 and may_be_absent:
        expect(response.json() == {"error": True, "status": 404, "detail": "Not found"}, "a 404 as of SERVICE 6", response.text)
        raise NotServed("404, not served by this hub")
    if response.status_code == 503 and path.endswith("/prediction/"):
        expect(response.json().get("status") == 503, "a 503 as of SERVICE 6", response.text)
        raise NotServed(f"503, {response.json().get('detail')}")
    expect(response.status_code == 200, "status 200", f"{response.status_code} {response.text[:300]}")
    kind = response.headers["content-type"]
    expect(kind.split(";")[0] == "application/json", "content type application/json", kind)
    answer = response.json()
    found = complaints(shape, answer) + wide_ids(answer)
    if found:
        # `[12]` and `[13]` have the same fault.
        distinct = {re.sub(r"\[\d+\]", "[]", line): line for line in reversed(found)}
        lines = list(reversed(distinct.values()))
        raise Different("; ".join(lines[:SHOWN_MAX]) + (f"; and {len(lines) - SHOWN_MAX} more" if len(lines) > SHOWN_MAX else ""))
    return answer


def index_of_version_1(client):
    index = client.get("/api/")
    for name in INDEX:
        if name not in index:
            # What is not served may be absent from the index as well, and only that.
            status = client.send("GET", f"/api/{name}/").status_code
            expect(status == 404, f"{name} in the index, since /api/{name}/ answers", status)
    for name, url in index.items():
        expect(str(url).endswith(f"/api/{name}/"), f"the URL of {name}", url)


def ids_of(client, sport, endpoints):
    """An id of each list of a sport; `event` is a match in play, else any."""
    ids = {}
    for path, _ in endpoints:
        name = path.removesuffix("/")
        if "/" in name or "?" in name or "{" in name:
            continue
        try:
            rows = client.get(f"/{sport}/api/v2/{path}")["results"]
        except ApiError:
            continue
        ids[name] = rows[0].get("id") if rows else None
    main = "events" if sport == "basketball" else "matches"
    ids["event"] = ids.get(main)
    if sport != "horseracing":
        try:
            playing = client.get(f"/{sport}/api/v2/{main}/live/")
        except ApiError:
            return ids
        playing = playing if isinstance(playing, list) else playing.get("results") or playing.get("events") or []
        if playing:
            ids["event"] = playing[0]["id"]
    return ids
