// ably-js over JSON. Everything that would leave this machine is switched off.

import { channels, load, merge, meter, url } from "./meter.js";

const [{ Realtime }] = await load(() => [import("ably").then((it) => it.default)]);

meter.connecting();
const { hostname, port } = new URL(url);
const client = new Realtime({
  token: "replay",
  clientId: "bench",
  endpoint: hostname,
  port: Number(port),
  tls: false,
  fallbackHosts: [],
  disableConnectivityCheck: true,
  transports: ["web_socket"],
  useBinaryProtocol: false,
  logLevel: 1,
});
for (const ch of channels) {
  let document;
  client.channels.get(ch).subscribe(({ data }) => {
    if (document === undefined) {
      document = data;
      meter.document();
    } else {
      meter.update(merge(document, data.patch));
    }
  });
}
