"""What is refused, and how: SPEC 5 and 7, SERVICE 0, 1.4 and 6."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import httpx

from client import Client
from report import NotServed, expect

# More at once than an address may ask (SERVICE 6).
BURST = 400
NOT_FOUND = {"error": True, "status": 404, "detail": "Not found"}
# What `/api/v2/events/` takes (SERVICE 1.4), in alphabetical order.
EVENT_PARAMETERS = ["date_from", "date_to", "league_id", "limit", "offset", "round", "season_id", "stage", "status", "team_id", "team_name"]


def check_errors(report, client, free, world):
    url = str(client.http.base_url)
    for check in (
        without_a_key, keys_in_each_place, differing_keys, unknown_parameter, bad_values, older_names_are_translated, addons_are_402,
        bookmakers_are_403, free_football, unknown_things, unknown_paths, other_methods, conditional_get, head_and_options, compression,
        slashes, preflight, formats, coverage_and_images_need_no_key, images, too_many_requests, account_of_the_key, schema_and_docs,
    ):  # fmt: skip
        with report.check(check.__name__.replace("_", " ")):
            check(url, client, free, world)


def without_a_key(url, *_):
    for path in ("/api/v2/events/", "/api/events/", "/tennis/api/v2/matches/", "/odds/api/sports/", "/api/v2/account/"):
        for key, style in ((None, "Token"), ("mw_wrong", "Token"), ("mw_wrong", "Bearer"), ("mw_wrong", "query"), ("", "query"), ("a b", "Basic")):
            response = Client(url, key, style).send("GET", path)
            at = f"{path} with {style} {key!r}"
            expect(response.status_code == 401, f"{at}: 401", f"{response.status_code} {response.text[:200]}")
            body = response.json()
            expect(set(body) >= {"error", "code", "detail", "register"}, f"{at}: error, code, detail, register", body)
            expect(all(isinstance(body[name], str) for name in ("error", "code", "detail", "register")), f"{at}: all strings", body)
            expect(body["code"] == "authentication_required", f"{at}: the code", body["code"])
            expect("Authorization" in body["detail"], f"{at}: the detail names the header", body["detail"])
            expect(body["register"].startswith("http") and body["register"].endswith("/register/"), f"{at}: where to register", body["register"])


def keys_in_each_place(url, client, *_):
    key = client.http.headers["authorization"].split()[1]
    for style in ("Token", "Bearer", "query"):
        response = Client(url, key, style).send("GET", "/api/v2/events/", {"limit": 1})
        expect(response.status_code == 200, f"the key as {style}", response.status_code)
    for scheme in ("token", "BEARER"):
        response = Client(url, key, scheme).send("GET", "/api/v2/events/", {"limit": 1})
        expect(response.status_code == 200, f"the scheme {scheme} in any case", response.status_code)
    response = client.send("GET", "/api/v2/events/", {"limit": 1, "token": key})
    expect(response.status_code == 200, "the same key twice", response.status_code)


def differing_keys(url, client, free, _):
    """Two keys are no key, even where both are good."""
    other = free.http.headers["authorization"].split()[1]
    for second in (other, "mw_wrong"):
        response = client.send("GET", "/api/v2/events/", {"limit": 1, "token": second})
        expect(response.status_code == 401, "401 for two keys that differ", response.status_code)


def unknown_parameter(url, client, *_):
    error = client.refused("/api/v2/events/", foo=1)
    expect(error.status == 400, "400", error.status)
    expect(error.body["detail"] == "Unknown query parameter(s): foo.", "the detail", error.body["detail"])
    accepted = error.body["accepted_parameters"]
    expect(accepted == sorted(accepted), "accepted_parameters sorted", accepted)
    missing = [name for name in EVENT_PARAMETERS if name not in accepted]
    expect(not missing, f"{missing} among the accepted parameters", accepted)
    two = client.refused("/api/v2/teams/", foo=1, bar=2).body["detail"]
    expect("foo" in two and "bar" in two, "both names in the detail", two)
    for path in ("/api/v2/leagues/", "/tennis/api/v2/matches/", "/odds/api/events/", "/hockey/api/v2/teams/"):
        error = client.refused(path, nonsense=1)
        expect(error.status == 400 and "accepted_parameters" in error.body, f"{path}: 400 with accepted_parameters", error.body)
    expect(client.send("GET", "/api/v2/events/", {"format": "json", "limit": 1}).status_code == 200, "format is never a filter")


def bad_values(url, client, _, world):
    given = world.ids
    for path, query in (
        ("/api/v2/teams/", {"in_competition": "true"}),
        (f"/api/v2/players/{given['player']}/stats/", {"event_id": given["event"]}),
        ("/api/v2/odds/", {"market": "1x2", "outcome": "over"}),
        ("/api/v2/odds/", {"market": "btts", "outcome": "HOME"}),
        ("/api/v2/odds/", {"bookmaker_slug": "William Hill"}),
        ("/api/v2/events/", {"date_from": "tomorrow"}),
        ("/api/v2/events/", {"league_id": "abc"}),
        ("/api/v2/events/", {"limit": "many"}),
    ):
        error = client.refused(path, **query)
        expect(error.status == 400, f"{path} {query}: 400", error.status)
        expect(isinstance(error.body.get("detail"), str), f"{path} {query}: a detail", error.body)


def older_names_are_translated(url, client, _, world):
    old = client.get("/api/v2/events/", league=world.ids["league"], season=world.ids["season"], page_size=3)
    new = client.get("/api/v2/events/", league_id=world.ids["league"], season_id=world.ids["season"], limit=3)
    expect([row["id"] for row in old["results"]] == [row["id"] for row in new["results"]], "league, season, page_size", len(old["results"]))
    moved = client.get("/api/v2/teams/", page=2, limit=1)["results"]
    expect(moved == client.get("/api/v2/teams/", offset=2, limit=1)["results"], "page is offset", moved)


GATED = {
    "/tennis/api/v2/matches/": "Sports", "/tennis/api/v2/matches/live/": "Sports", "/csgo/api/v2/matches/": "Sports",
    "/darts/api/v2/matches/": "Sports", "/hockey/api/v2/matches/": "Sports", "/basketball/api/v2/events/": "Sports",
    "/horseracing/api/v2/races/": "Sports", "/horseracing/api/v2/races/next-to-jump/": "Sports", "/tennis/api/predictions/": "Sports",
    "/odds/api/": "Odds", "/odds/api/sports/": "Odds", "/odds/api/events/": "Odds",
}  # fmt: skip


def addons_are_402(url, _, free, world):
    for path, addon in GATED.items():
        error = free.refused(path)
        expect(error.status == 402, f"{path}: 402", error.status)
        expect(error.code == "addon_required", f"{path}: the code", error.code)
        expect(error.body["error"] == f"{addon} Addon required", f"{path}: the error", error.body["error"])
        expect(error.body["pricing_url"].endswith("/pricing/"), f"{path}: pricing_url", error.body.get("pricing_url"))
        expect("$5/mo" in error.body["detail"], f"{path}: the price in the detail", error.body["detail"])
        if addon == "Sports":
            for word in ("tennis", "CS2", "darts", "hockey", "basketball", "horse racing"):
                expect(word in error.body["detail"], f"{path}: {word} in the detail", error.body["detail"])


def bookmakers_are_403(url, _, free, world):
    for path, query in (
        ("/api/v2/odds/best/", {}),
        (f"/api/v2/events/{world.ids['upcoming']}/odds/comparison/", {}),
        ("/api/v2/odds/", {"bookmaker_slug": "amberline"}),
    ):
        error = free.refused(path, **query)
        expect((error.status, error.code) == (403, "bookmakers_not_entitled"), f"{path}: 403 bookmakers_not_entitled", error.body)
        expect(error.body.get("error") is True and error.body.get("status") == 403, f"{path}: the envelope", error.body)


def free_football(url, _, free, world):
    """Football, its signals and the consensus are for every account; a quota header shows the rest."""
    slugs = {row["bookmaker_slug"] for row in free.all("/api/v2/odds/", event_id=world.ids["upcoming"], limit=200)}
    expect(slugs <= {"consensus"}, "the consensus alone for a free key", slugs)
    for path in ("/api/v2/events/live/", "/api/live/", f"/api/v2/events/{world.ids['event']}/stats/", "/api/v2/leagues/"):
        response = free.send("GET", path)
        expect(response.status_code == 200, f"{path} for a free key", response.status_code)
        policy, left = response.headers.get("ratelimit-policy"), response.headers.get("ratelimit")
        expect(policy == '"football";q=7500;w=86400', f"{path}: RateLimit-Policy", policy)
        expect(left is not None and left.startswith('"football";r=') and ";t=" in left, f"{path}: RateLimit", left)
        paid = [name for name in response.headers if name.lower().startswith("x-ratelimit")]
        expect(not paid, "no X-RateLimit headers", paid)


def unknown_things(url, client, _, world):
    for path in (
        "/api/v2/events/1/", "/api/v2/events/1/stats/", "/api/v2/events/1/odds/comparison/", "/api/v2/leagues/1/", "/api/v2/leagues/1/standings/", "/api/v2/teams/1/",
        "/api/v2/teams/1/squad/", "/api/v2/players/1/", "/api/v2/managers/1/", "/api/v2/referees/1/", "/api/v2/venues/1/", "/api/v2/odds/1/",
        "/api/events/1/", "/api/teams/1/", "/tennis/api/v2/matches/1/", "/basketball/api/v2/events/1/", "/horseracing/api/v2/races/1/",
        "/api/v2/events/abc/", f"/api/v2/leagues/{world.ids['league']}/top/nonsense/", "/api/v2/events/99999999999999999999/",
    ):  # fmt: skip
        error = client.refused(path)
        expect((error.status, error.body) == (404, NOT_FOUND), f"{path}: 404 {NOT_FOUND}", f"{error.status} {error.body}")


def unknown_paths(url, client, _, world):
    event = world.ids["event"]
    for path in (
        "/api/v2/schema/", "/api/v2/openapi.json", "/api/v2/coaches/", "/football/api/v2/events/", f"/api/v2/events/{event}/shotmap/",
        f"/api/v2/events/{event}/pregame/", f"/api/v2/events/{event}/team-stats/", "/api/v2/nonsense/", "/nonsense/api/v2/matches/",
    ):  # fmt: skip
        error = client.refused(path)
        expect((error.status, error.body) == (404, NOT_FOUND), f"{path}: 404 {NOT_FOUND}", f"{error.status} {error.body}")


def other_methods(url, client, *_):
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        response = client.send(method, "/api/v2/events/")
        expect(response.status_code == 405, f"{method}: 405", response.status_code)
        expect("GET" in response.headers.get("allow", ""), f"{method}: what is allowed", response.headers.get("allow"))
        body = response.json()
        expect(body.get("error") is True and body.get("status") == 405, f"{method}: the envelope", body)


def conditional_get(url, client, _, world):
    for path in (f"/api/v2/venues/{world.ids['venue']}/", f"/api/v2/teams/{world.ids['team']}/", f"/api/teams/{world.ids['team']}/"):
        first = client.send("GET", path)
        tag = first.headers.get("etag")
        expect(tag is not None, f"{path}: an ETag", tag)
        for given in (tag, f'"other", {tag}', "*"):
            again = client.send("GET", path, headers={"If-None-Match": given})
            expect(again.status_code == 304 and again.content == b"", f"{path}: 304 without a body for {given}", again.status_code)
        other = client.send("GET", path, headers={"If-None-Match": '"other"'})
        expect(other.status_code == 200 and other.content, f"{path}: 200 for another ETag", other.status_code)


def head_and_options(url, client, _, world):
    path = f"/api/v2/teams/{world.ids['team']}/"
    head, get = client.send("HEAD", path), client.send("GET", path)
    expect((head.status_code, head.content) == (200, b""), "HEAD: 200 without a body", (head.status_code, head.content))
    for name in ("content-type", "etag"):
        expect(head.headers.get(name) == get.headers.get(name), f"HEAD: the {name} of GET", head.headers.get(name))
    options = Client(url).send("OPTIONS", path)
    expect(options.status_code in (200, 204), "OPTIONS without a key", options.status_code)


def compression(url, client, *_):
    # As it is on the wire, not as the library hands it on.
    with client.http.stream("GET", "/api/v2/teams/?limit=200", headers={"Accept-Encoding": "gzip"}) as response:
        expect(response.headers.get("content-encoding") == "gzip", "gzip where it is accepted", response.headers.get("content-encoding"))
        packed = b"".join(response.iter_raw())
    plain = client.send("GET", "/api/v2/teams/", {"limit": 200}, headers={"Accept-Encoding": "identity"})
    expect("content-encoding" not in plain.headers, "as it is where nothing is accepted", plain.headers.get("content-encoding"))
    expect(json.loads(gzip.decompress(packed)) == plain.json(), "the same text either way")
    expect("accept-encoding" in plain.headers.get("vary", "").lower(), "Vary: accept-encoding", plain.headers.get("vary"))


def slashes(url, client, _, world):
    """A path is the same with and without its last slash, by itself or by a redirect that keeps the query."""
    for path in ("/api/v2/events", f"/api/v2/events/{world.ids['event']}", "/api/events", "/tennis/api/v2/matches", "/api/v2/leagues", "/odds/api/sports"):
        without = client.send("GET", path, {"format": "json"}, follow_redirects=True)
        expect(without.status_code == 200, f"{path} without the slash", without.status_code)
        expect(client.send("GET", path + "/").status_code == 200, f"{path}/ with it")


def preflight(url, client, _, world):
    headers = {"Origin": "https://app.example", "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    for path in ("/api/v2/events/", "/tennis/api/v2/matches/", "/odds/api/sports/", "/api/events/"):
        answer = Client(url).send("OPTIONS", path, headers=headers)
        expect(answer.status_code in (200, 204), f"{path}: a preflight without a key", answer.status_code)
        expect(answer.headers.get("access-control-allow-origin") in ("*", "https://app.example"), f"{path}: the origin", dict(answer.headers))
        allowed = answer.headers.get("access-control-allow-headers", "").lower()
        expect("authorization" in allowed, f"{path}: the header is allowed", allowed)
    for answer in (
        client.send("GET", "/api/v2/leagues/", headers={"Origin": "https://app.example"}),
        client.send("GET", "/api/v2/events/1/", headers={"Origin": "https://app.example"}),
        client.send("GET", "/api/v2/nonsense/", headers={"Origin": "https://app.example"}),
        Client(url).send("GET", "/api/v2/leagues/", headers={"Origin": "https://app.example"}),
    ):
        origin = answer.headers.get("access-control-allow-origin")
        expect(origin in ("*", "https://app.example"), f"a {answer.status_code} that a page may read", origin)


def formats(url, client, *_):
    """An API answers in JSON, even if a browser prefers HTML."""
    for accept in ("*/*", "application/json", "text/html,application/xhtml+xml,*/*;q=0.8"):
        response = client.send("GET", "/api/v2/leagues/", headers={"Accept": accept})
        expect(response.headers["content-type"].startswith("application/json"), f"JSON for {accept}", response.headers["content-type"])


def coverage_and_images_need_no_key(url, _client, _free, world):
    expect(Client(url).send("GET", "/api/v2/coverage/").status_code == 200, "coverage without a key")
    expect(Client(url).send("GET", f"/img/team/{world.ids['team']}/").status_code in (200, 204, 404), "an image without a key")


def images(url, client, _, world):
    kinds = {name: world.ids[name] for name in ("team", "league", "player", "manager", "venue")}
    for kind, number in kinds.items():
        response = Client(url).send("GET", f"/img/{kind}/{number}/")
        expect(response.status_code == 200, f"an image of a {kind}", response.status_code)
        expect(response.headers["content-type"] in ("image/png", "image/webp"), f"{kind}: PNG or WebP", response.headers["content-type"])
        magic = response.content[:4] in (b"\x89PNG", b"RIFF")
        expect(magic, f"{kind}: bytes of an image", response.content[:8])
        age = response.headers.get("cache-control", "")
        expect("public" in age and "max-age=31536000" in age, f"{kind}: cached for a year", age)
    clear = Client(url).send("GET", f"/img/team/{kinds['team']}/?bg=transparent")
    expect((clear.status_code, clear.headers["content-type"]) == (200, "image/png"), "PNG with bg=transparent", clear.headers["content-type"])
    cut = Client(url).send("GET", f"/img/player/{kinds['player']}/?bg=transparent&sor=true")
    expect(cut.status_code == 200, "both parameters of a player", cut.status_code)
    for kind in ("nonsense", "event"):
        expect(Client(url).send("GET", f"/img/{kind}/1/").status_code == 404, f"404 for the type {kind}")
    for kind, path in (("tennis-player", "/tennis/api/v2/players/"), ("csgo-team", "/csgo/api/v2/teams/"), ("csgo/team", "/csgo/api/v2/teams/"),
                       ("csgo-tournament", "/csgo/api/v2/tournaments/"), ("basketball/team", "/basketball/api/v2/teams/"), ("hockey/team", "/hockey/api/v2/teams/")):  # fmt: skip
        number = client.get(path, limit=1)["results"][0]["id"]
        response = Client(url).send("GET", f"/img/{kind}/{number}/")
        expect(response.status_code == 200, f"an image of a {kind}", response.status_code)


def too_many_requests(url, client, *_):
    """Provoked without any setting, by requests as fast as possible; a slow hub may never reach the limit."""
    with httpx.Client(base_url=url, headers=client.http.headers, timeout=60) as hasty, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: hasty.get("/api/v2/bookmakers/"), range(BURST)))
    refused = [answer for answer in answers if answer.status_code == 429]
    if not refused:
        raise NotServed(f"{BURST} requests at once were all answered: no 429 was provoked")
    for answer in refused:
        expect(answer.json()["code"] == "rate_limited", "the code rate_limited", answer.text)
        expect(answer.headers.get("retry-after") == "1", "Retry-After: 1", answer.headers.get("retry-after"))
    expect(client.send("GET", "/api/v2/bookmakers/").status_code == 200, "an answer again after that second")


def account_of_the_key(url, client, free, _):
    account = client.get("/api/v2/account/")
    expect(isinstance(account["founder"], bool), "whether the account has the badge", account.get("founder"))
    addons = {addon["addon"]: addon for addon in account["addons"]}
    expect(all(addons[name]["active"] and addons[name]["expires"] for name in ("websocket", "sports", "odds")), "three add-ons with their ends", addons)
    expect(account["usage"]["days"] == 30, "the use of 30 days", account["usage"])
    expect(not any(addon["active"] for addon in free.get("/api/v2/account/")["addons"]), "no add-on of the free account")


def schema_and_docs(url, *_):
    schema = Client(url).send("GET", "/api/schema/", {"format": "json"})
    expect(schema.status_code == 200 and schema.json().get("openapi", "").startswith("3."), "OpenAPI at /api/schema/", schema.status_code)
    for path in ("/api/v2/events/", "/api/v2/events/{id}/", "/tennis/api/v2/matches/"):
        expect(path in schema.json()["paths"], f"{path} in the schema")
    for path in ("/api/docs/", "/api/redoc/", "/docs/", "/pricing/", "/register/", "/addons/", "/dashboard/"):
        status = Client(url).send("GET", path, follow_redirects=True).status_code
        expect(status == 200, f"{path} is there", status)
