// centrifuge-js with its default codec, JSON.

import { channels, load, merge, meter, url } from "./meter.js";

const [{ Centrifuge }, { WebSocket }] = await load(() => [import("centrifuge"), import("ws")]);

meter.connecting();
const client = new Centrifuge(`${url}/centrifuge`, { websocket: WebSocket });
for (const ch of channels) {
  let document;
  const subscription = client.newSubscription(ch);
  subscription.on("publication", ({ data }) => {
    if (document === undefined) {
      document = data;
      meter.document();
    } else {
      meter.update(merge(document, data.patch));
    }
  });
  subscription.subscribe();
}
client.connect();
