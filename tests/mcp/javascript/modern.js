// `@modelcontextprotocol/client`, which speaks 2026-07-28: `node modern.js --url URL --key KEY --key-without-addon KEY`.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { main } from "./scenario.js";
import { Wire } from "./transport.js";

class Connection {
  static async open(url, key) {
    const connection = new Connection();
    connection.wire = new Wire(key);
    connection.client = new Client({ name: "modern", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    connection.listeners = new Set();
    connection.client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      for (const listener of connection.listeners) listener(params);
    });
    try {
      await connection.client.connect(new StreamableHTTPClientTransport(new URL(url), connection.wire));
    } catch (error) {
      throw Object.assign(error, { wire: connection.wire });
    }
    return connection;
  }

  close = () => this.client.close();
  // Without a cursor the library fetches all pages.
  tools = async () => (await this.client.listTools(undefined, { cacheMode: "refresh" })).tools;
  resources = async () => (await this.client.listResources(undefined, { cacheMode: "refresh" })).resources;
  templates = async () => (await this.client.listResourceTemplates()).resourceTemplates;
  prompts = async () => (await this.client.listPrompts()).prompts;
  call = (name, args, options) => this.client.callTool({ name, arguments: args }, options);
  read = async (uri) => (await this.client.readResource({ uri }, { cacheMode: "bypass" })).contents;
  prompt = async (name, args) => (await this.client.getPrompt({ name, arguments: args })).messages;
  complete = async (ref, name, value) => (await this.client.complete({ ref, argument: { name, value } })).completion.values;

  /** Subscribes to resources; `listener` gets the parameters of each notification. */
  async listen(uris, listener) {
    this.listeners.add(listener);
    const subscription = await this.client.listen({ resourceSubscriptions: uris });
    return {
      honored: subscription.honoredFilter.resourceSubscriptions ?? [],
      close: async () => {
        this.listeners.delete(listener);
        await subscription.close();
        return subscription.closed;
      },
    };
  }

  version = () => this.client.getNegotiatedProtocolVersion();
}

await main({ name: "modern", version: "2026-07-28", open: Connection.open });
