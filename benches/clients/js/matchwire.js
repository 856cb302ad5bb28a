// This repository's client.

import { channels, key, load, meter, url } from "./meter.js";

const [{ connect }, { WebSocket }] = await load(() => [import("../../../clients/js/src/index.js"), import("ws")]);

meter.connecting();
const hub = connect(url, { key, WebSocket });
for (const ch of channels) {
  hub.follow(ch, { lossless: true }).on("change", ({ data, patch, merged }) => {
    if (patch === undefined) meter.document();
    else meter.update(data, merged?.n);
  });
}
