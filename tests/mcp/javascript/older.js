// `@modelcontextprotocol/sdk`, with which hosts were built until mid-2026: `initialize`, no sessions.
//
//   node older.js --url URL --key KEY --key-without-addon KEY

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { main } from "./scenario.js";
import { Wire } from "./transport.js";

class Connection {
  static async open(url, key) {
    const connection = new Connection();
    connection.wire = new Wire(key);
    connection.client = new Client({ name: "older", version: "1" });
    connection.transport = new StreamableHTTPClientTransport(new URL(url), connection.wire);
    try {
      await connection.client.connect(connection.transport);
    } catch (error) {
      throw Object.assign(error, { wire: connection.wire });
    }
    return connection;
  }

  close = () => this.client.close();
  tools = () => allPages("tools", (params) => this.client.listTools(params));
  resources = () => allPages("resources", (params) => this.client.listResources(params));
  templates = () => allPages("resourceTemplates", (params) => this.client.listResourceTemplates(params));
  prompts = () => allPages("prompts", (params) => this.client.listPrompts(params));
  call = (name, args, options) => this.client.callTool({ name, arguments: args }, undefined, options);
  read = async (uri) => (await this.client.readResource({ uri })).contents;
  prompt = async (name, args) => (await this.client.getPrompt({ name, arguments: args })).messages;
  complete = async (ref, name, value) => (await this.client.complete({ ref, argument: { name, value } })).completion.values;
  version = () => this.transport.protocolVersion;
}

/** No list has more pages; a cursor that never ends is a failure. */
const PAGES_MAX = 20;

async function allPages(field, list) {
  const rows = [];
  let cursor;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const answer = await list(cursor ? { cursor } : {});
    rows.push(...answer[field]);
    cursor = answer.nextCursor;
    if (!cursor) return rows;
  }
  throw new Error(`${field}: more than ${PAGES_MAX} pages`);
}

await main({ name: "older", version: "2025-11-25", open: Connection.open });
