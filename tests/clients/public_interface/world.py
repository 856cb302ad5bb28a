"""What can be requested: ids from the hub's own answers."""

import time
from datetime import datetime

from client import ApiError
from report import expect

# A hub that was started moments before still learns its past.
BEGINNING_S_MAX, PAST_S_MAX = 60, 75
POLL_S = 1.0
# Consecutive polls without a change after which the past counts as complete.
STILL_POLLS = 4
# Lists that grow as long as the past comes.
GROWING = (
    "/api/v2/events/", "/tennis/api/v2/matches/", "/basketball/api/v2/events/", "/hockey/api/v2/matches/", "/darts/api/v2/matches/",
    "/csgo/api/v2/matches/", "/horseracing/api/v2/races/",
)  # fmt: skip


def wait_for_the_first_results(client):
    """Polls until there are finished matches of football."""
    until = time.monotonic() + BEGINNING_S_MAX
    while time.monotonic() < until:
        if client.get("/api/v2/events/", status="finished", limit=1)["count"] > 0:
            return
        time.sleep(POLL_S)
    expect(False, f"finished matches within {BEGINNING_S_MAX} s")


def wait_for_the_past(client):
    """Polls until no more comes, as far as it does in time: lists that still grow are distinguished later."""
    until, seen, still = time.monotonic() + PAST_S_MAX, None, 0
    while still < STILL_POLLS and time.monotonic() < until:
        counts = [client.get(path, limit=1)["count"] for path in GROWING]
        still = still + 1 if counts == seen else 0
        seen = counts
        time.sleep(POLL_S)


class World:
    """One id of each kind. `None` where the hub has nothing of it."""

    def __init__(self, client):
        self.client = client
        # The list also has matches that are about to begin, or have just ended.
        self.live_events = [event for event in client.get("/api/v2/events/live/")["events"] if event["status"] == "inprogress"]
        expect(self.live_events, "football matches in play")
        self.live = self.live_events[0]
        finished = client.get("/api/v2/events/", status="finished", limit=200)["results"]
        # One about which much is known: a goal, a referee, and a coach on both sides.
        detailed = [e for e in finished if e["home_score"] and e["referee_id"] and e["home_coach_id"] and e["season_id"]]
        self.finished = (detailed or finished)[-1]
        upcoming = client.get("/api/v2/events/", status="notstarted", limit=200)["results"]
        # Not one whose prices are suspended by its kick-off meanwhile.
        later = [event for event in upcoming if datetime.fromisoformat(event["event_date"].replace("Z", "+00:00")).timestamp() > time.time() + 3600]
        self.upcoming = (later or upcoming or [self.finished])[0]
        event = self.finished
        self.ids = {
            "event": event["id"], "live": self.live["id"], "upcoming": self.upcoming["id"], "league": event["league_id"],
            "season": event["season_id"], "team": event["home_team_id"], "manager": event["home_coach_id"],
            "referee": event["referee_id"], "venue": event["venue_id"],
            "player": self.first(f"/api/v2/teams/{event['home_team_id']}/squad/", "players"),
            "odds": self.first("/api/v2/odds/"), "prediction": self.first("/api/v2/predictions/"),
            "player_stats": self.first(f"/api/v2/events/{event['id']}/player-stats/", "player_stats"),
        }  # fmt: skip

    def first(self, path, rows="results"):
        try:
            found = self.client.get(path)[rows]
        except ApiError:
            return None
        return found[0]["id"] if found else None
