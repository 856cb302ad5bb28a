"""What a client does with the hub's MCP servers: lists, calls every tool with good and bad arguments, reads resources,
follows live matches through a goal and a suspension of prices, and meets 401, 402 and the quota. What a connection
of a library can do is in `official.py`. The same walk in JavaScript is `../javascript/scenario.js`.
"""

import argparse
import asyncio
import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

from jsonschema import Draft202012Validator
from table import TABLE, NoSuchId, all_fields, all_text, bytes_max, first_field, resolve

sys.path.append(str(Path(__file__).parents[2] / "clients" / "public_interface"))
from report import NotServed, Report, expect  # noqa: E402

# An id that no match, team or player has.
UNKNOWN_ID = 2_147_480_001
# The kind of event that each thing to wait for is reported as.
KINDS = {"goal": "goal", "suspension": "suspend"}
# How many live matches are waited on at once until one of them has a goal; how long one call waits, since clients
# give up after 60 s; how often each is repeated; and how often others are chosen then: those that were live may have
# ended without a goal.
WAITED_MAX, WAIT_S, WAITS_MAX, CHOICES_MAX = 8, 25, 2, 8
# How many listed resources each client reads.
READ_MAX = 6
# Far more than a coalesced notification of a live match takes.
NOTIFIED_S_MAX = 60
# Far more calls than the quota of the hub under test.
CALLS_MAX = 200
FEED_STATES = ("live", "late", "down", "recovering", "archived")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
# Control characters and those that change the direction of text.
HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def main(libraries):
    """Walks with the library in one of its modes; returns the exit code."""
    parser = argparse.ArgumentParser()
    for option in ("url", "key", "key-without-addon"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--mode", choices=libraries, default=next(iter(libraries)))
    arguments = parser.parse_args()
    version, connect = libraries[arguments.mode]
    report = Report()
    asyncio.run(Scenario(version, connect, arguments, report).run())
    print(report.sum())
    return 1 if report.failed else 0


class Scenario:
    def __init__(self, version, connect, hub, report):
        self.version, self.connect, self.hub, self.report = version, connect, hub, report

    async def run(self):
        chapters = [self.server(name) for name in TABLE["servers"]]
        chapters += [self.follow("goal"), self.follow("suspension"), self.listen(), self.refusals(), self.quota()]
        for broken in await asyncio.gather(*chapters, return_exceptions=True):
            if broken is not None:
                self.report.fail("a chapter broke off", repr(broken))

    def open(self, server, key=None):
        return self.connect(self.hub.url.rstrip("/") + TABLE["servers"][server]["path"], key or self.hub.key)

    # ------------------------------------------------------------------------------- one server

    async def server(self, name):
        check = self.report.check
        async with self.open(name) as connection:
            with check(f"{name}: the version"):
                expect(connection.version == self.version, self.version, connection.version)
            tools = await connection.tools()
            self.check_tools(name, tools)
            ids = await self.find_ids(name, connection)
            for tool in tools:
                entry = TABLE["servers"][name]["tools"].get(tool.name)
                if not entry:
                    continue
                with check(f"{name} {tool.name}: good arguments"):
                    await call_well(connection, tool, entry, arguments_of(entry["arguments"], ids))
                # The names of arguments that agents were written with.
                for also in entry.get("also", []):
                    with check(f"{name} {tool.name}: {json.dumps(also)}"):
                        await call_well(connection, tool, {}, arguments_of(also, ids))
                with check(f"{name} {tool.name}: bad arguments"):
                    await call_badly(connection, tool, entry, arguments_of(entry["arguments"], ids))
            with check(f"{name}: an unknown tool"):
                error = await failure(connection.call("no_such_tool", {}))
                expect(getattr(error, "code", None) == -32602, "the error -32602", error)
            await self.resources(name, connection)
            await self.prompts(name, connection, ids)

    def check_tools(self, server, tools):
        with self.report.check(f"{server}: the names of the tools"):
            names, expected = sorted(tool.name for tool in tools), sorted(TABLE["servers"][server]["tools"])
            expect(names == expected, expected, names)
        with self.report.check(f"{server}: each tool is described"):
            for tool in tools:
                hints = tool.annotations
                expect(tool.description, f"a description of {tool.name}")
                expect(tool.input_schema["type"] == "object", f"arguments of {tool.name}", tool.input_schema)
                expect((tool.output_schema or {}).get("type") == "object", f"an output schema of {tool.name}", tool.output_schema)
                read_only = hints and hints.read_only_hint and hints.idempotent_hint and hints.open_world_hint is False
                expect(read_only, f"annotations of {tool.name}", hints)

    async def find_ids(self, server, connection):
        """The ids that the arguments of other calls need, each from the answer to a call."""
        ids = {}
        for name, source in TABLE["servers"][server]["ids"].items():
            try:
                result = await connection.call(source["tool"], resolve(source.get("arguments", {}), ids))
                # The last row of matches is far from its end, after which some of what is known is no longer told.
                found = all_fields(result.structured_content, source["field"])[-1:] if source.get("last") else []
                ids[name] = found[0] if found else first_field(result.structured_content, source["field"])
            except NoSuchId:
                ids[name] = None
        return ids

    # -------------------------------------------------------------------- resources and prompts

    async def resources(self, server, connection):
        check = self.report.check
        with check(f"{server}: the list of resources"):
            listed = [str(it.uri) for it in await connection.resources()]
            expect(1 <= len(listed) <= 100, "1 to 100 resources", len(listed))
            # Matches and documentation alike.
            for uri in dict.fromkeys(listed[: READ_MAX // 2] + listed[-READ_MAX // 2 :]):
                with check(f"{server}: read {uri}"):
                    check_content(uri, await connection.read(uri))
        with check(f"{server}: a template of matches"):
            templates = [it.uri_template for it in await connection.templates()]
            template = next((it for it in templates if it.endswith("{id}")), None)
            expect(template, "a template that ends with {id}", templates)
            ids = await connection.complete("resource", template, "id", "")
            expect(1 <= len(ids) <= 100, "1 to 100 ids", ids)
            uri = template.replace("{id}", ids[0])
            check_content(uri, await connection.read(uri))
        with check(f"{server}: an unknown resource"):
            error = await failure(connection.read(template.replace("{id}", str(UNKNOWN_ID))))
            # Until 2025-11-25 the protocol had a code of its own for it.
            code = -32002 if self.version < "2026" else -32602
            expect(getattr(error, "code", None) == code, f"the error {code}", error)

    async def prompts(self, server, connection, ids):
        check = self.report.check
        with check(f"{server}: the list of prompts"):
            prompts = await connection.prompts()
            expect(prompts, "some prompts")
        today = datetime.now(timezone.utc).date().isoformat()
        known = {"match": str(ids.get("match") or ids.get("race")), "date": today, "market": "1x2", "since": "0"}
        for prompt in prompts:
            with check(f"{server}: the prompt {prompt.name}"):
                given = {it.name: known.get(it.name, "1") for it in prompt.arguments or [] if it.required}
                text = "\n".join(it.content.text for it in await connection.prompt(prompt.name, given))
                expect("as_of" in text and "feed" in text, "words on as_of and feed", text)
        with check(f"{server}: the matches for a prompt"):
            names = [it.name for it in prompts if any(argument.name == "match" for argument in it.arguments or [])]
            expect(names, "a prompt about a match")
            values = await connection.complete("prompt", names[0], "match", "")
            expect(1 <= len(values) <= 100, "1 to 100 matches", values)

    # ----------------------------------------------------------------------------- live matches

    async def follow(self, until):
        """Waits on several live matches at once, and checks the answer of the first one in which it happens."""
        check = self.report.check
        with check(f"a {until}"):
            async with self.open("football") as connection:
                await connection.tools()
                match, before, data = await change_of_any(connection, until)
                kinds = [event["kind"] for event in data["events"]]
                expect(data["reason"] == until and KINDS[until] in kinds, f"an event of the kind {KINDS[until]}", data)
                if until == "goal":
                    await self.repeat(connection, match, before, data)

    async def repeat(self, connection, match, before, data):
        """The position is the whole state: the same question again is answered at once."""
        position = data["positions"][f"football/{match}"]
        with self.report.check("goal: the position"):
            expect(position["epoch"] == before["epoch"] and position["seq"] > before["seq"], f"behind {before}", position)
        with self.report.check("goal: from the same position again"):
            arguments = {"match_id": match, "until": ["goal"], "timeout_s": 1, "since": before}
            again = (await connection.call("wait_for_change", arguments)).structured_content["data"]
            goals = {event["eid"] for event in data["events"] if event["kind"] == "goal"}
            expect(goals <= {event["eid"] for event in again["events"]}, goals, again)

    async def listen(self):
        with self.report.check("listen"):
            async with self.open("football") as connection:
                if not connection.listens:
                    return
                live = [str(it.uri) for it in await connection.resources()]
                # The board too: after a match its own document rests.
                matches = [uri for uri in live if re.fullmatch(r"matchwire://football/\d+", uri)]
                uris = ["matchwire://football", *matches[:WAITED_MAX]]
                async with connection.listen(uris) as subscription:
                    honored = subscription.honored.resource_subscriptions
                    expect(sorted(honored or []) == sorted(uris), uris, honored)
                    event = await asyncio.wait_for(anext(aiter(subscription)), NOTIFIED_S_MAX)
                    expect(event.uri in uris, uris, event)
                    check_content(event.uri, await connection.read(event.uri))

    # --------------------------------------------------------------------------------- refusals

    async def refusals(self):
        cases = [
            ("a wrong key", "football", "mw_" + "0" * 48, 401, "authentication_required"),
            ("no add-on", "tennis", self.hub.key_without_addon, 402, "addon_required"),
        ]
        for name, server, key, status, code in cases:
            with self.report.check(f"{name}: {status}"):
                error = await failure(self.try_to_open(server, key))
                expect(getattr(error, "status", None) == status and f'"{code}"' in error.body, f"{status} {code}", error)

    async def try_to_open(self, server, key):
        async with self.open(server, key):
            pass

    async def quota(self):
        """The quota of a free account: tools count, lists do not, and a model can read that it is used up."""
        check = self.report.check
        async with self.open("football", self.hub.key_without_addon) as connection:
            await connection.tools()

            async def call():
                result = await connection.call("get_feeds", {})
                return result, ((result.meta or {}).get("org.matchwire/usage") or {}).get("left")

            with check("quota: lists are free"):
                first, before = await call()
                expect(isinstance(before, int), "a number of calls left", first.meta)
                await connection.tools()
                await connection.prompts()
                result, left = await call()
                expect(left == before - 1, before - 1, left)
            with check("quota: used up"):
                for _ in range(CALLS_MAX):
                    if result.is_error:
                        break
                    result, _ = await call()
                code, document, text = refusal(result)
                expect(code == "taster_exhausted" and document["retry_after_s"] > 0, "taster_exhausted with retry_after_s", text)
            with check("quota: a read is refused"):
                error = await failure(connection.read("matchwire://feeds"))
                said = f"{error!r} {getattr(error, 'data', '')}"
                refused = connection.wire.status == 429 or re.search(r"\b429\b|taster_exhausted", said)
                expect(error and refused, "429 or taster_exhausted", said)


# ------------------------------------------------------------------------------------- one call


def arguments_of(arguments, ids):
    try:
        return resolve(arguments, ids)
    except NoSuchId as missing:
        raise NotServed(f"the demo has no {missing} now") from missing


async def call_well(connection, tool, entry, arguments):
    # The library validates the document against the output schema too.
    result = await connection.call(tool.name, arguments)
    document, text = result.structured_content, text_of(result)
    if result.is_error and (code := entry.get("may_be_refused_with")):
        return expect(refusal(result)[0] == code, code, text)
    expect(not result.is_error, "an answer", text)
    expect(tool.output_schema, "an output schema")
    faults = [error.message for error in Draft202012Validator(tool.output_schema).iter_errors(document)]
    expect(not faults, "a document of its schema", faults[:3])
    size = len(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())
    expect(size <= bytes_max(entry), f"at most {bytes_max(entry)} bytes", size)
    expect(json.loads(text) == document, "the same JSON as text", text[:400])
    expect(TIME.fullmatch(document.get("as_of", "")), "a time as_of", document.get("as_of"))
    expect(document.get("feed") in FEED_STATES, FEED_STATES, document.get("feed"))
    expect(re.match(r"https?://", document.get("url", "")), "a url", document.get("url"))
    expect(tool.name in document.get("cite", ""), "a line to cite", document.get("cite"))
    if entry.get("continues"):
        await check_rest(connection, tool, arguments, document)
    expect(not HIDDEN.search(all_text(document)), "no control characters", HIDDEN.findall(all_text(document)))


async def check_rest(connection, tool, arguments, document):
    """What was cut is said, and the cursor continues behind it."""
    expect(document.get("truncated"), "a list that is cut")
    cut = document["truncated"][0]
    following = (await connection.call(tool.name, arguments | {"cursor": cut["cursor"]})).structured_content
    shown, after = ([row["id"] for row in page["data"]["results"]] for page in (document, following))
    expect(len(shown) == cut["shown"] and after and not set(after) & set(shown), f"other rows than {shown}", after)


async def call_badly(connection, tool, entry, arguments):
    properties = tool.input_schema.get("properties", {})
    typed = next((name for name, schema in properties.items() if "type" in schema), next(iter(properties), None))
    cases = [("an unknown argument", {"no_such_argument": 1}, "no_such_argument")]
    if entry.get("id"):
        cases.append(("an unknown id", {entry["id"]: UNKNOWN_ID}, ""))
    if typed:
        cases.append(("a wrong type", {typed: {"no": "such type"}}, typed))
    for what, bad, named in cases:
        result = await connection.call(tool.name, arguments | bad)
        code, _, text = refusal(result)
        expect(result.is_error, f"{what} is refused", text[:400])
        expect(code and named in text, f"{what}: a code and the word {named!r}", text)
        if what == "an unknown argument" and properties:
            expect(any(name in text for name in properties), f"{what}: what is accepted", text)


def check_content(uri, contents):
    expect(len(contents) == 1, "one content", contents)
    content = contents[0]
    expect(str(content.uri) == uri and content.mime_type and content.text, f"a text of {uri}", content)
    expect(not HIDDEN.search(content.text), "no control characters")
    if content.mime_type == "application/json":
        expect(TIME.fullmatch(json.loads(content.text)["as_of"]), "a time as_of", content.text[:200])


async def change_of_any(connection, until):
    """The live match in which it happens first, the position before that, and the answer."""
    field = TABLE["servers"]["football"]["ids"]["match"]["field"]
    for _ in range(CHOICES_MAX):
        board = (await connection.call("get_live_scores", {"limit": 50})).structured_content
        matches = list(dict.fromkeys(all_fields(board, field)))[:WAITED_MAX]
        expect(matches, "live matches", board)
        if found := await first_change(connection, matches, until):
            return found
    raise TimeoutError(f"no {until} in {CHOICES_MAX * WAITS_MAX * WAIT_S} s; at last in none of {matches}")


async def first_change(connection, matches, until):
    """The match in which it happens first, the position before that, and the answer; `None` if it happens in none. The
    other calls are cancelled."""

    async def wait(match):
        detail = await connection.call("get_match_detail", {"match_id": match})
        if detail.is_error:
            # It has ended since it was listed.
            return None
        before = detail.structured_content["position"]
        since = {"since": before} if until == "goal" else {}
        for _ in range(WAITS_MAX):
            arguments = {"match_id": match, "until": [until], "timeout_s": WAIT_S} | since
            result = await connection.call("wait_for_change", arguments)
            if refusal(result)[0] == "ended":
                return None
            data = result.structured_content["data"]
            if data.get("reason"):
                return match, before, data
            since = {"since": data["positions"]}
        return None

    waiting = {asyncio.create_task(wait(match)) for match in matches}
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if found := next((found for task in done if (found := task.result())), None):
                return found
        return None
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def failure(awaitable):
    """The error with which it fails; None if it does not."""
    try:
        await awaitable
    except Exception as error:  # noqa: BLE001 - each library has its own
        return error
    return None


def text_of(result):
    return next((block.text for block in result.content if block.type == "text"), "")


def refusal(result):
    """What a model reads of an error: its code, its document and its text."""
    text = text_of(result)
    try:
        document = result.structured_content or json.loads(text)
        return document.get("code"), document, text
    except (ValueError, AttributeError):
        return None, {}, text
