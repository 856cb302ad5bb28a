// No client: `ws` and `JSON.parse`, and the frames of this repository's protocol.

import { channels, key, load, merge, meter, url } from "./meter.js";

const [{ WebSocket }] = await load(() => [import("ws")]);

meter.connecting();
const socket = new WebSocket(`${url}/stream/v1`, { headers: { Authorization: `Token ${key}` } });
const documents = new Map();
socket.on("open", () => {
  for (const [id, ch] of channels.entries()) socket.send(JSON.stringify({ op: "subscribe", id, ch }));
});
socket.on("message", (text) => {
  const frame = JSON.parse(text);
  if (frame.type === "image") {
    documents.set(frame.ch, frame.data);
    meter.document();
  } else if (frame.type === "update") {
    meter.update(merge(documents.get(frame.ch), frame.patch ?? {}), frame.n);
  }
});
