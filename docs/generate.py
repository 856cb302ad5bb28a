#!/usr/bin/env python3
"""Writes what the pages of docs/ say that the code says already:

- codes of errors and closes, in `docs/PROTOCOL.md` and `docs/API.md`, and endpoints, in `docs/ENDPOINTS.md`, from the comments of the code;
- each setting, in `docs/SETTINGS.md` and in the comments of `matchwire.toml.example`, from the doc comments of its field;
- each command with its options, in `docs/COMMANDS.md`, from the comments of `src/cli`;
- fields and events of the stream protocol, in the tables of `docs/PROTOCOL.md`, from `tools/schema/documents.schema.json`;
- those of the older sockets there, from `docs/asyncapi.json`.

Without options it writes the files; with --check it says which ones differ, and fails. It needs Python 3.11 alone.
"""

import argparse
import json
import re
import sys
import textwrap
import tomllib
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
DOCS = TOP / "docs"
EXAMPLE = TOP / "matchwire.toml.example"
SETTINGS, PROTOCOL, API, ENDPOINTS = (DOCS / f"{name}.md" for name in ("SETTINGS", "PROTOCOL", "API", "ENDPOINTS"))
CONFIG = TOP / "src" / "config.rs"
SOURCES = "source"
COMMENT_WIDTH = 116


class Wrong(Exception):
    """A source contradicts itself or another one, or leaves something out."""


# ------------------------------------------------------------------------------- settings in Rust


@dataclass
class Setting:
    name: str
    text: str
    is_optional: bool


@dataclass
class Section:
    """A struct of settings. Its text begins with its name: "`[hub]`: ..", or "`betfair-stream`: .." of a kind of sources."""

    title: str
    text: str
    settings: dict = field(default_factory=dict)


STRUCT = re.compile(r"((?:^(?:///|#\[).*\n)+)^pub struct (\w+) \{\n((?:(?!\}).*\n)*)", re.MULTILINE)
ALIAS = re.compile(r"^pub type (\w+) = [^;]*\b(\w+)>+;", re.MULTILINE)
FIELD = re.compile(r"((?:^    (?:///|#\[).*\n)*)^    pub (\w+): ([^\n]*),\n", re.MULTILINE)
TITLE = re.compile(r"`\[*([\w.-]+)[^`]*`: ")


def doc_text(block):
    """The doc comments in a block of comments and attributes, as one line."""
    lines = (line.strip() for line in block.splitlines())
    return " ".join(" ".join(line[3:].strip() for line in lines if line.startswith("///")).split())


def read_section(block, body):
    """The section of a struct: its attributes and comments, and its fields."""
    text = doc_text(block)
    title = TITLE.match(text)
    fields = {}
    for attributes, name, kind in FIELD.findall(body):
        is_optional = "serde(default" in attributes or kind.startswith(("Option<", "BTreeMap<"))
        fields[name] = Setting(name, doc_text(attributes), is_optional)
    return Section(title[1] if title else "", sentence(TITLE.sub("", text, 1)), fields)


def sentence(text):
    return text[:1].upper() + text[1:]


def structs():
    """The structs with public fields of all modules of settings, by name."""
    found = {}
    files = (path for top in (TOP, TOP / "crates", TOP / "tools") for name in ("config.rs", "config/*.rs") for path in top.glob(f"*/src/{name}"))
    for path in sorted([*TOP.glob("src/config/*.rs"), *files]):
        source = path.read_text()
        found |= {name: read_section(block, body) for block, name, body in STRUCT.findall(source)}
        found |= {alias: found[name] for alias, name in ALIAS.findall(source) if name in found}
    return found


def sections():
    """The sections of the settings file by name, and the kinds of sources."""
    found = structs()
    [body] = re.findall(r"^pub struct Config \{\n(.*?)^\}", CONFIG.read_text(), re.MULTILINE | re.DOTALL)
    fields = re.findall(r"^    pub (\w+): (?:Vec<)?(\w+)>?,$", body, re.MULTILINE)
    if unknown := {kind for _, kind in fields} - set(found):
        raise Wrong(f"no public struct of settings is named {', '.join(sorted(unknown))}")
    named = {SOURCES if name == "sources" else name: found[kind] for name, kind in fields}
    kinds = {kind.title: kind for kind in found.values() if kind.title and kind.title not in named and "." not in kind.title}
    return named, kinds


# ---------------------------------------------------------------------------------- the example


def comment(text):
    return [f"# {line}" for line in textwrap.wrap(text, COMMENT_WIDTH, break_long_words=False, break_on_hyphens=False)]


TABLE = re.compile(r"#?\[+(\w+)(?:\.(\w+))?.*\]+$")
ASSIGNMENT = re.compile(r"#?(\w+) = ")


def example(text, named, kinds):
    """The file with the comments of the code. Its first paragraph, its values and their order stay; `#name = value`, without a
    blank, is a setting that has no default."""
    head, _, rest = text.partition("\n\n")
    lines, settings = [], {}
    for line in rest.splitlines():
        table, assignment = TABLE.match(line), ASSIGNMENT.match(line)
        if line.startswith("# ") or line == "#":
            continue
        if table and table[2] and table[1] in named and table[2] in named[table[1]].settings:
            lines += comment(named[table[1]].settings[table[2]].text)
            settings = {}
        elif table:
            lines += comment(named[table[1]].text)
            settings = named[table[1]].settings
            if table[1] == SOURCES:
                settings = kinds["betfair-stream"].settings | settings
        elif assignment and assignment[1] in settings:
            lines += comment(settings[assignment[1]].text)
        lines.append(line)
    return "\n".join([head, "", *lines]) + "\n"


# ------------------------------------------------------------------------------- docs/SETTINGS.md

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": 1000, "min": 60_000, "hours": 3_600_000}
DEFAULT = re.compile(r"\bDefaults?:? `?(\d[\d ]*(?:\.\d+)?)(?: ?(KiB|MiB|GiB|s|min|hours)\b)?")
PAGE = re.compile(r"\bdocs/([A-Z_]+\.md)(#[\w-]+)?")


def check_default(name, text, value):
    stated = DEFAULT.search(text)
    if stated and not isinstance(value, bool) and isinstance(value, (int, float)):
        number = float(stated[1].replace(" ", "")) * UNITS.get(stated[2], 1)
        if number != value:
            raise Wrong(f"{name}: the comment says {stated[0]!r}, and the example has {value}")


def cell(text):
    return PAGE.sub(lambda page: f"[{page[1]}]({page[1]}{page[2] or ''})", text.replace("|", "\\|"))


def shown(value):
    if value == "":
        return "empty"
    return f"`{json.dumps(value)}`" if isinstance(value, bool | int | float) else f"`{value}`"


def settings_tables(named, kinds, values):
    lines = []
    for title, section in named.items():
        lines += [f"## {title}", "", cell(section.text), ""]
        if title in values:
            lines += ["| setting | default | meaning |", "|---|---|---|"]
            if missing := {name for name, setting in section.settings.items() if not setting.is_optional} - set(values[title]):
                raise Wrong(f"{EXAMPLE.name} has no {', '.join(sorted(missing))} in [{title}]: add it with its default")
        else:
            lines += ["| setting | meaning |", "|---|---|"]
        for name, setting in section.settings.items():
            if not setting.text:
                raise Wrong(f"{title}.{name} has no doc comment")
            default = values.get(title, {}).get(name)
            check_default(f"{title}.{name}", setting.text, default)
            middle = [shown(default) if default is not None else "none"] if title in values else []
            lines.append(f"| {' | '.join([f'`{title}.{name}`', *middle, cell(setting.text)])} |")
        lines.append("")
    for title, section in kinds.items():
        lines += [f"### {title}", "", cell(section.text), "", "| setting | meaning |", "|---|---|"]
        for name, setting in section.settings.items():
            if not setting.text:
                raise Wrong(f"{name} of {title} has no doc comment")
            lines.append(f"| `{name}` | {'' if setting.is_optional else 'Required. '}{cell(setting.text)} |")
        lines.append("")
    return lines[:-1]


# ----------------------------------------------------------------------- the stream protocol's tables

SCHEMA = TOP / "tools" / "schema" / "documents.schema.json"
OF_ALL = ("life", "feed", "stale_after_ms")
OF_MATCHES = ("id", "sport", "refs", "competition", "start", "home", "away", "p1", "p2")
PRIMITIVES = {"Decimal": "decimal", "Timestamp": "integer, µs", "Id": "integer", "Seq": "integer", "Ladder": "object, price to size"}
# Objects whose fields explain themselves, and those that have a table of their own.
PLAIN = ("Participant", "HomeAway", "PlayerPair")
WITH_TABLE = ("Incident", "Market", "Selection", "ConsensusMarket", "ConsensusSelection", "Runner", "Source")
EVENTS = {
    "football match": "FootballEvent", "tennis match": "TennisEvent", "match with a scoreboard": "ScoreboardEvent", "race": "RaceEvent",
    "book": "OddsEvent", "consensus": "ConsensusEvent", "`signals`": "SignalEvent",
}
FEW = 8


class Schema:
    """The definitions of documents, and how tables show their fields."""

    def __init__(self, text):
        self.definitions = json.loads(text)["$defs"]
        self.matches = tuple(dict.fromkeys(self.named(reference)[0] for reference in self.definitions["Match"]["anyOf"]))
        properties = (value for name in (*self.matches, *WITH_TABLE) for value in self.definitions[name]["properties"].values())
        self.in_documents = {self.named(value)[0] for value in properties}

    def named(self, value):
        """The name and the definition that a value refers to, if it does."""
        name = value.get("$ref", "").rpartition("/")[2]
        return name, self.definitions.get(name)

    def kind(self, value):
        name, definition = self.named(value)
        if name in PRIMITIVES:
            return PRIMITIVES[name]
        if name in WITH_TABLE:
            return f"`{name}`"
        if definition is not None:
            return f"`{{{', '.join(definition['properties'])}}}`" if "properties" in definition else self.kind(definition)
        if isinstance(value.get("additionalProperties"), dict):
            return f"object of {self.kind(value['additionalProperties'])}"
        if value.get("type") == "array":
            return f"list of {self.kind(value['items'])}"
        return value.get("type", "object")

    def meaning(self, value, known=()):
        """The description of a field, with the words or fields of what it refers to, unless that is known."""
        inner = value
        while isinstance(inner.get("additionalProperties", inner.get("items")), dict):
            inner = inner.get("additionalProperties", inner.get("items"))
        name, definition = self.named(inner)
        if definition is None or name in (*PRIMITIVES, *PLAIN, *WITH_TABLE, *known):
            return value["description"]
        # The first sentence of a type repeats that of the field, unless it has words in backquotes.
        text = definition["description"]
        first, _, rest = text.partition(". ")
        parts = [value["description"]] + [rest if rest and "`" not in first else text] * ("`" in text)
        if "enum" in definition:
            parts.append(f"{', '.join(f'`{word}`' for word in definition['enum'])}.")
        properties = definition.get("properties", {})
        targets = {self.named(inside)[0] for inside in properties.values()}
        if len(targets) == 1 and "" not in targets and (target := self.definitions[targets.pop()]).get("properties") and len(target["properties"]) > FEW:
            definition, properties = target, target["properties"]
            parts.append(definition["description"])
        if len(properties) > FEW:
            parts.append(f"{', '.join(f'`{field}`' for field in properties)}.")
        else:
            parts += [f"`{field}`{self.optional(definition, field)}: {self.meaning(inside, known)}" for field, inside in properties.items()]
        return " ".join(dict.fromkeys(parts))

    def optional(self, definition, field):
        return "" if field in definition.get("required", ()) else " (opt)"

    def fields(self, names, only=None, without=()):
        """A table of the fields of definitions, required ones first."""
        rows = {}
        for definition in (self.definitions[name] for name in names):
            for field, value in definition["properties"].items():
                if field not in without and (only is None or field in only):
                    rows.setdefault(field, []).append((field not in definition.get("required", ()), value))
        order = list(only) if only else sorted(rows, key=lambda field: rows[field][0][0])
        lines = ["| field | type | meaning |", "|---|---|---|"]
        for field in order:
            is_optional, value = rows[field][0]
            words = list(dict.fromkeys(other["const"] for _, other in rows[field] if "const" in other))
            meaning = f"One of {', '.join(f'`{word}`' for word in words)}." if len(words) > 1 else self.meaning(value)
            lines.append(f"| `{field}` | {self.kind(value)}{', opt' if is_optional else ''} | {cell(meaning)} |")
        return lines

    def list_of_fields(self, definition, known, without):
        """The fields of a definition in a cell. Those that the known ones have are named only."""
        texts = []
        for field, value in definition["properties"].items():
            if field not in without:
                is_known = known.get(field, {}).get("description") == value["description"]
                texts.append(f"`{field}`{self.optional(definition, field)}{'' if is_known else ': ' + self.meaning(value, self.in_documents)}")
        return " · ".join(texts)

    def events(self):
        known, shown_already = self.definitions["Incident"]["properties"], set()
        lines = ["| channel | `kind` | what happened | fields |", "|---|---|---|---|"]
        for channel, union in EVENTS.items():
            for reference in self.definitions[union]["anyOf"]:
                name, definition = self.named(reference)
                word = definition["properties"]["kind"]["const"]
                fields = "as above" if name in shown_already else self.list_of_fields(definition, known, ("kind", "eid"))
                shown_already.add(name)
                lines.append(f"| {channel} | `{word}` | {cell(definition['description'])} | {cell(fields)} |")
                channel = ""
        return lines

    def signals(self):
        kinds = [self.named(reference)[1] for reference in self.definitions["Signal"]["anyOf"]]
        common = set.intersection(*({*definition["properties"]} for definition in kinds))
        first = kinds[0] | {"properties": {name: value for name, value in kinds[0]["properties"].items() if name in common}}
        lines = ["| `kind` | what it says | fields |", "|---|---|---|", f"| all | | {cell(self.list_of_fields(first, {}, ('kind',)))} |"]
        for definition in kinds:
            fields = self.list_of_fields(definition, {}, common)
            lines.append(f"| `{definition['properties']['kind']['const']}` | {cell(definition['description'])} | {cell(fields)} |")
        return lines

    def table(self, name):
        of_documents = {*OF_ALL, *OF_MATCHES}
        tables = {
            "fields of all documents": lambda: self.fields(["FootballMatch"], OF_ALL),
            "fields of all matches": lambda: self.fields(self.matches, OF_MATCHES),
            "events": self.events,
            "kinds of signals": self.signals,
        }
        if name in tables:
            return tables[name]()
        definition = name.removeprefix("fields of ")
        if definition not in self.definitions:
            raise Wrong(f"PROTOCOL.md: there is no table {name!r}")
        return self.fields([definition], without=of_documents if "life" in self.definitions[definition]["properties"] else ())


# ------------------------------------------------------------------------------- the older sockets

ASYNCAPI = DOCS / "asyncapi.json"
# What every frame has, and the page describes once.
OF_ALL_FRAMES = ("type", "event_id", "epoch", "seq", "sport")


class Frames:
    """The frames of the older sockets, as the AsyncAPI document has them."""

    def __init__(self, text):
        components = json.loads(text)["components"]
        self.schemas = components["schemas"] | {name: message["payload"] for name, message in components["messages"].items() if "payload" in message}

    def kind(self, value):
        if "$ref" in value:
            target = self.schemas[value["$ref"].rpartition("/")[2]]
            frame = target["properties"].get("type", {}).get("const")
            return f"`{frame}` frame" if frame else self.kind(target)
        if "anyOf" in value:
            return " or ".join(dict.fromkeys(map(self.kind, value["anyOf"])))
        if "properties" in value:
            inside = f"`{{{', '.join(value['properties'])}}}`"
            return inside + " or `null`" * ("null" in value["type"])
        if value.get("type") == "array":
            return f"list of {self.kind(value['items'])}"
        words = ["`null`" if word is None else f"`{word}`" for word in value.get("enum", ())]
        types = [value["type"]] if isinstance(value.get("type"), str) else value.get("type", [])
        return " or ".join(words or ["`null`" if kind == "null" else kind for kind in types])

    def rows(self, definition, prefix=""):
        for field, value in definition["properties"].items():
            if not prefix and field in OF_ALL_FRAMES:
                continue
            inner = value.get("properties") or value.get("items", {}).get("properties", {})
            if "description" in value:
                yield f"| `{prefix}{field}` | {self.kind(value)} | {cell(value['description'])} |"
            if len({inside.get("description") for inside in inner.values()}) > 1:
                yield from self.rows({"properties": inner}, f"{prefix}{field}.")

    def table(self, name):
        return ["| field | type | meaning |", "|---|---|---|", *self.rows(self.schemas[name])]


# -------------------------------------------------------------------------------- the command line

CLI = TOP / "src" / "cli.rs"
COMMANDS = DOCS / "COMMANDS.md"
ITEM = re.compile(r"((?:^(?:///|#\[).*\n)*)^pub (?:struct|enum) (\w+) \{\n((?:(?!\}).*\n)*)", re.MULTILINE)
ATTRIBUTES = r"((?:^    (?:///.*|#\[(?:[^\]\[]|\[[^\]]*\])*\])\n)*)"
VARIANT = re.compile(ATTRIBUTES + r"^    (\w+)(?:\((?:\w+::)*(\w+)\))?,\n", re.MULTILINE)
ARGUMENT = re.compile(ATTRIBUTES + r"^    (?:pub )?(\w+): (?:\w+<)*(?:\w+::)*(\w+)>*,\n", re.MULTILINE)


class Commands:
    """The commands and their options, from the comments of `src/cli`."""

    def __init__(self):
        self.items = {}
        for path in (CLI, *sorted((TOP / "src" / "cli").glob("*.rs"))):
            self.items |= {name: (doc_text(block), body) for block, name, body in ITEM.findall(path.read_text())}

    def leaves(self, enum, prefix):
        """Each command of an enum with its text and the struct of its arguments."""
        for attributes, variant, kind in VARIANT.findall(self.items[enum][1]):
            if "command(flatten)" in attributes:
                yield from self.leaves(kind, prefix)
                continue
            renamed = re.search(r'name = "([\w-]+)"', attributes)
            name = f"{prefix} {renamed[1] if renamed else re.sub(r'(?<!^)(?=[A-Z])', '-', variant).lower()}"
            if "command(subcommand)" in attributes:
                yield from self.leaves(kind, name)
            else:
                yield name, doc_text(attributes) or self.items[kind][0], kind

    def arguments(self, struct):
        for attributes, name, kind in ARGUMENT.findall(self.items[struct][1]):
            if "command(flatten)" in attributes:
                yield from self.arguments(kind)
                continue
            value = re.search(r'value_name = "([^"]+)"', attributes)
            long = re.search(r'\blong(?: = "([\w-]+)")?', attributes)
            default = re.search(r'default_value(?:_t)? = "?([^",)]+)', attributes)
            usage = [f"--{long[1] or name.replace('_', '-')}"] if long else []
            usage += [value[1].replace("|", "\\|")] if value else []
            text = cell(doc_text(attributes)) + (f" Default `{default[1]}`." if default else "")
            yield f"| `{' '.join(usage) or name.upper()}` | {text} |"

    def table(self):
        lines = []
        for name, text, struct in self.leaves("Command", "matchwire"):
            options = list(self.arguments(struct))
            lines += [f"## {name}", "", cell(text), ""]
            lines += ["| argument | meaning |", "|---|---|", *options, ""] if options else []
        return lines[:-1]


# --------------------------------------------------------------- codes of the stream and of REST, endpoints

FANOUT, WEB, LIVE = (next(path for top in (TOP, TOP / "crates") if (path := top / folder).is_dir()) for folder in ("fanout/src", "web/src", "hub/src/dialect/live"))
CLOSE, HOST_CLOSE, CODES, LIVE_CODES = FANOUT / "close.rs", WEB / "http" / "close.rs", FANOUT / "protocol.rs", LIVE / "protocol.rs"
ANSWER = "fn into_response(self)"
ERRORS = (
    (TOP / "crates" / "accounts" / "src" / "accounts" / "access.rs", "Denial", "impl Denial", "fn answer(self)"),
    (WEB / "http" / "error.rs", "HttpError", "impl IntoResponse for HttpError", ANSWER),
    (WEB / "rest" / "error.rs", "ApiError", "impl IntoResponse for ApiError", ANSWER),
)
DOCS_OF = r"((?:^ *///[^\n]*\n)+)"
CASE = re.compile(DOCS_OF + r"(?:^    #\[.*\n)*^    (\w+)\b", re.MULTILINE)
ENDPOINT = re.compile(DOCS_OF + r'^ +()"(/[^"]*)", params\(', re.MULTILINE)
HANDLER = re.compile(DOCS_OF + r'#\[utoipa::path\(\n +(get|post|delete), path = "([^"]+)"', re.MULTILINE)
SPORTS = TOP / "crates" / "facts" / "src" / "event" / "sport.rs"


def sports():
    """The titles of the sports with paths of their own, by their words."""
    source = SPORTS.read_text()
    words = dict(re.findall(r'^        (\w+) = "(\w+)",$', source, re.MULTILINE))
    titles = {}
    for variant, profile in re.findall(r"^            Self::(\w+) => const \{ &SportProfile \{(.*?)^            \} \},$", source, re.MULTILINE | re.DOTALL):
        full = re.search(r'full_title: "([^"]+)"', profile) or re.search(r'of_teams\("([^"]+)"', profile)
        if "is_product: false" not in profile:
            titles[words[variant]] = full[1]
    return titles


# The part of the interface of each beginning of a path; the first that fits.
GROUPS = {
    "/api/v2/account/": "Account", "/api/v2/webhooks/": "Webhooks", "/api/v2/stream/": "Stream", "/stream/": "Stream", "/test/": "Stream",
    "/api/v2/": "Football", "/api/": "Football, version 1", **{f"/{word}/": title for word, title in sports().items()},
    "/odds/": "The Odds API", "/signals/": "Signals", "/img/": "Images",
}


def snake_case(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def block(source, head):
    """The lines after this one that are indented more, up to its closing brace."""
    found = re.search(rf"^( *)(?:pub(?:\([a-z]+\))? )?{re.escape(head)}[^\n]*\n((?:\1 +[^\n]*\n|\n)*)", source, re.MULTILINE)
    if not found:
        raise Wrong(f"no {head!r} in the source of a table")
    return found[2]


def arms(function, enum="Self"):
    """What a `match` gives for each variant."""
    parts = re.findall(rf"^ +((?:\|? ?{enum}::\w+[^=\n]*\n? *)+)=> (.*?)(?=^ +(?:{enum}::|\}}))", function, re.MULTILINE | re.DOTALL)
    return {name: value.strip() for names, value in parts for name in re.findall(rf"{enum}::(\w+)", names)}


def variants(source, enum):
    return [(name, doc_text(comment)) for comment, name in CASE.findall(block(source, f"enum {enum} {{"))]


def close_codes():
    """The codes with which sockets are closed: of the fan-out, and of its host."""
    source, host = CLOSE.read_text(), HOST_CLOSE.read_text()
    codes, reasons, byes = (arms(block(source, f"fn {name}(self)")) for name in ("code", "reason", "bye"))
    rows = [(codes[name].rstrip(","), reasons[name].strip(',"'), byes[name].startswith("Some"), text) for name, text in variants(source, "Close") if name != "Host"]
    constant = re.compile(DOCS_OF + r"^pub\(crate\) const \w+: Close =(.*?);\n", re.MULTILINE | re.DOTALL)
    for comment, value in constant.findall(host):
        code, reason = re.search(r"code: (\d+)", value)[1], re.search(r'reason: "(\w+)"', value)[1]
        rows.append((code, reason, "bye: true" in value, doc_text(comment)))
    rows = sorted((int(code), *row) if code.isdigit() else (0, *row) for code, *row in rows)
    lines = ["| code | reason | `bye` | when, and what to do |", "|---|---|---|---|"]
    return lines + [f"| {code or 'that of the client'} | `{reason}` |{' yes' if bye else ''} | {cell(text)} |" for code, reason, bye, text in rows]


def error_codes(schema):
    """The codes of `error` frames. The schema has those of the host, which say why it closes the socket."""
    known = {snake_case(name): text for name, text in variants(CODES.read_text(), "Code")}
    host = [code for code in schema.definitions["ErrorCode"]["enum"] if code not in known]
    codes = {f"`{code}`": text for code, text in known.items() if code != "host"} | {", ".join(f"`{code}`" for code in host): known["host"]}
    return ["| `code` of an `error` | what is wrong |", "|---|---|", *(f"| {code} | {cell(text)} |" for code, text in codes.items())]


def older_error_codes():
    """The codes of `error` frames of the older sockets."""
    codes = variants(LIVE_CODES.read_text(), "Code")
    return ["| `code` | when |", "|---|---|", *(f"| `{snake_case(code)}` | {cell(text)} |" for code, text in codes)]


def status(source, expression):
    """The status in an expression, or in the functions that it calls."""
    if found := re.search(r"StatusCode::(\w+)", expression):
        return HTTPStatus[found[1]].value
    called = (name for name in re.findall(r"(\w+)\(", expression) if f"fn {name}(" in source and name != "into_response")
    return next((found for name in called if (found := status(source, block(source, f"fn {name}(")))), None)


def rest_errors():
    rows = {}
    for path, enum, start, function in ERRORS:
        source = path.read_text()
        answers = arms(block(source[source.index(start):], function))
        labels = arms(block(source, "fn reason(&self)")) if enum == "HttpError" else {}
        for name, text in variants(source, enum):
            code = re.search(r'"(\w+)"', labels.get(name) or answers[name])
            code = f" `{code[1]}`" if code and code[1].islower() and code[1] not in ("other", "failed") else ""
            if number := status(source, answers[name]):
                rows.setdefault((number, code), []).append(text)
    lines = ["| status | `code` | when |", "|---|---|---|"]
    return lines + [f"| {number} |{code} | {cell(' '.join(dict.fromkeys(texts)))} |" for (number, code), texts in sorted(rows.items())]


def endpoints():
    groups = {title: [] for title in dict.fromkeys(GROUPS.values())}
    for path in sorted(WEB.rglob("*.rs")):
        for comment, method, address in [*ENDPOINT.findall(source := path.read_text()), *HANDLER.findall(source)]:
            title = next(title for start, title in GROUPS.items() if address.startswith(start))
            groups[title].append((address, method.upper() or "GET", doc_text(comment)))
    lines = []
    for title, found in groups.items():
        lines += [f"## {title}", "", "| request | answer |", "|---|---|"]
        lines += [f"| {f'{method} ' if method != 'GET' else ''}`{address}` | {cell(text)} |" for address, method, text in sorted(found)]
        lines.append("")
    return lines[:-1]


# The settings that clients of the stream meet.
LIMITS = (
    "fanout.channels_max", "fanout.channels_max_per_account", "fanout.patterns_max", "server.command_bytes_max", "server.command_fragments_max", "fanout.from_bytes_max", "fanout.catch_up_burst",
    "fanout.catch_ups_per_second", "fanout.outbox_bytes", "fanout.outbox_age_ms", "fanout.send_buffer_bytes", "fanout.unsent_bytes", "fanout.idle_ms",
    "fanout.stall_ms", "fanout.sockets_max_per_account", "fanout.sockets_max", "hub.tail_bytes", "hub.tail_ms", "hub.matches_max", "hub.matches_max_per_source",
    "hub.ended_keep_ms",
)


def limits_table(named, values):
    """The first sentence of each of these settings."""
    lines = ["| limit | default | setting |", "|---|---|---|"]
    for name in LIMITS:
        title, _, setting = name.partition(".")
        first = re.split(r"(?<=\.) (?=[A-Z])", named[title].settings[setting].text)[0]
        lines.append(f"| {cell(first)} | {values[title][setting]:,} | [`{name}`](SETTINGS.md#{title}) |")
    return lines


# ------------------------------------------------------------------------------------- the markers

MARKERS = re.compile(r"(<!-- ([^\n]+): made by docs/generate\.py -->\n).*?(<!-- end of [^\n]+ -->)", re.DOTALL)


def with_tables(page, make):
    """The page with what `make` returns for the name of each pair of markers between them."""
    return MARKERS.sub(lambda found: "\n".join([found[1], *make(found[2]), "", found[3]]), page)


def files():
    """What each generated file must contain."""
    named, kinds = sections()
    text = example(EXAMPLE.read_text(), named, kinds)
    values = tomllib.loads(text)
    settings, limits = settings_tables(named, kinds, values), limits_table(named, values)
    schema, frames = Schema(SCHEMA.read_text()), Frames(ASYNCAPI.read_text())
    protocol = {"limits": limits, "errors": error_codes(schema), "closes": close_codes(), "errors of the older sockets": older_error_codes()}
    return {
        EXAMPLE: text,
        SETTINGS: with_tables(SETTINGS.read_text(), lambda _: settings),
        COMMANDS: with_tables(COMMANDS.read_text(), lambda _: Commands().table()),
        PROTOCOL: with_tables(PROTOCOL.read_text(), lambda name: protocol[name] if name in protocol else (frames if name in frames.schemas else schema).table(name)),
        API: with_tables(API.read_text(), lambda _: rest_errors()),
        ENDPOINTS: with_tables(ENDPOINTS.read_text(), lambda _: endpoints()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file differs")
    arguments = parser.parse_args()
    try:
        made = files()
    except Wrong as wrong:
        sys.exit(str(wrong))
    different = [path for path, text in made.items() if path.read_text() != text]
    names = ", ".join(str(path.relative_to(TOP)) for path in different)
    if arguments.check:
        if different:
            sys.exit(f"not what the code says: {names}; run docs/generate.py")
        return
    for path in different:
        path.write_text(made[path])
    print(names)


if __name__ == "__main__":
    main()
