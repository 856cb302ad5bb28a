// The core of this repository's client, `matchwire/stream`.

import { channels, key, load, meter, url } from "./meter.js";

const [{ Stream }, { WebSocket }] = await load(() => [import("../../../clients/js/src/stream.js"), import("ws")]);

meter.connecting();
const stream = new Stream(`${url}/stream/v1`, { key, WebSocket });
for (const ch of channels) {
  stream.subscribe(ch, ({ data }, { kind, merged }) => {
    if (kind === "image") meter.document();
    else if (kind === "update") meter.update(data, merged?.n);
  });
}
