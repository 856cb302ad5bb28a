"""Bytes of HTTP requests and of WebSocket frames, built once and sent many times."""

import json
import struct
import zlib

TEXT, CONTINUATION, PING, PONG = 0x1, 0x0, 0x9, 0xA
MASK = bytes.fromhex("37fa213d")
# The end of the head of a response, and so of an upgrade.
HEAD_END = b"\r\n\r\n"


def request(path, key=None, method="GET", body=None, **headers):
    """A request. Names of headers are written with `_` for `-`; a body that is not bytes becomes JSON."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if key:
        lines.append(f"Authorization: Token {key}")
    if body is not None:
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content_Type", "application/json")
        headers.setdefault("Content_Length", len(body))
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + HEAD_END + (body or b"")


def form(path, fields, **headers):
    return request(path, method="POST", body=fields.encode(), Content_Type="application/x-www-form-urlencoded", **headers)


def upgrade(path="/stream/v1", key=None, **headers):
    """The request that opens a WebSocket."""
    return request(path, key, Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Version=13, Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==", **headers)


def mcp(key, method, params, path="/mcp"):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return request(path, key, "POST", body, Accept="application/json, text/event-stream", MCP_Protocol_Version="2025-06-18")


def tool(key, name, arguments, path="/mcp"):
    return mcp(key, "tools/call", {"name": name, "arguments": arguments}, path)


def frame(payload=b"", opcode=TEXT, fin=True, compressed=False):
    head = bytes([fin << 7 | compressed << 6 | opcode])
    if len(payload) < 126:
        head += bytes([0x80 | len(payload)])
    elif len(payload) < 1 << 16:
        head += struct.pack("!BH", 0x80 | 126, len(payload))
    else:
        head += struct.pack("!BQ", 0x80 | 127, len(payload))
    mask = (MASK * (len(payload) // 4 + 1))[: len(payload)]
    return head + MASK + (int.from_bytes(payload, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(payload), "big")


def command(op, **fields):
    """A frame with a command."""
    return frame(json.dumps({"op": op, "id": 1} | fields, separators=(",", ":")).encode())


def deflated(text):
    """A compressed frame, for permessage-deflate without context takeover."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text.encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
    return frame(packed.removesuffix(b"\x00\x00\xff\xff"), compressed=True)
