// A WebSocket for versions of Node that have none: text messages over plain TCP, as far as the client
// needs them.

import { randomBytes } from "node:crypto";
import { connect } from "node:net";

export class Socket {
  #tcp;
  #bytes = Buffer.alloc(0);
  #upgraded = false;
  #closed = false;

  constructor(url, protocols) {
    const { hostname, port, pathname } = new URL(url);
    this.#tcp = connect(Number(port), hostname, () =>
      this.#tcp.write(
        `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
          `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n` +
          `Sec-WebSocket-Protocol: ${protocols.join(", ")}\r\n\r\n`,
      ),
    );
    this.#tcp.on("data", (data) => this.#read(data));
    this.#tcp.on("error", () => {});
    this.#tcp.on("close", () => this.#end(1006, ""));
  }

  send(text) {
    const body = Buffer.from(text);
    const head = body.length < 126 ? Buffer.from([0x81, 0x80 | body.length]) : Buffer.alloc(body.length < 65536 ? 4 : 10);
    if (body.length >= 126) {
      head[0] = 0x81;
      head[1] = 0x80 | (body.length < 65536 ? 126 : 127);
      if (body.length < 65536) head.writeUInt16BE(body.length, 2);
      else head.writeBigUInt64BE(BigInt(body.length), 2);
    }
    // The mask is zero: it serves no purpose here.
    this.#tcp.write(Buffer.concat([head, Buffer.alloc(4), body]));
  }

  close() {
    this.#tcp.end();
  }

  /** Ends the connection like a broken network. */
  cut() {
    this.#tcp.destroy();
  }

  #read(data) {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    if (!this.#upgraded) {
      const end = this.#bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.#upgraded = true;
      this.#bytes = this.#bytes.subarray(end + 4);
    }
    for (;;) {
      if (this.#bytes.length < 2) return;
      const short = this.#bytes[1];
      const head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (this.#bytes.length < head) return;
      const size = head === 2 ? short : head === 4 ? this.#bytes.readUInt16BE(2) : Number(this.#bytes.readBigUInt64BE(2));
      if (this.#bytes.length < head + size) return;
      const opcode = this.#bytes[0] & 15;
      const body = this.#bytes.subarray(head, head + size);
      this.#bytes = this.#bytes.subarray(head + size);
      if (opcode === 1) this.onmessage({ data: body.toString() });
      if (opcode === 8) this.#end(body.length >= 2 ? body.readUInt16BE(0) : 1005, body.subarray(2).toString());
    }
  }

  #end(code, reason) {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose({ code, reason });
  }
}
