//! How each usual host of MCP servers is configured.
//!
//! The formats are those of November 2026. A host that reads secrets from the environment or asks for them is
//! configured that way, so that the key does not end up in a file that is shared.

use crate::site::mcp_servers::McpServer;

/// The placeholder for the key. The page marks each, so that the reader's browser can fill in a key.
pub(super) const KEY: &str = "YOUR_KEY";

/// A host and what to paste.
#[derive(Debug)]
pub(super) struct Host {
    /// The fragment of its section.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What to do, and what to know. Code is between backticks.
    hint: &'static str,
    pub(super) snippet: Snippet,
}

impl Host {
    /// The parts of the hint, and whether each is code.
    pub(super) fn hint_parts(&self) -> impl Iterator<Item = (&str, bool)> {
        self.hint.split('`').zip([false, true].into_iter().cycle())
    }
}

#[derive(Debug)]
pub(super) struct Snippet {
    /// The file or the place that it belongs to.
    pub(super) title: &'static str,
    pub(super) language: &'static str,
    text: String,
}

impl Snippet {
    /// Whether the place is a file.
    pub(super) fn is_file(&self) -> bool {
        self.title.contains('.')
    }

    /// The parts around each key.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.text.split(KEY)
    }
}

/// Every host, the most used first. `base` is the URL of the hub without a trailing slash.
pub(super) fn all(base: &str, server: &McpServer) -> Vec<Host> {
    let url = &*format!("{base}{}", server.path());
    let name = &*server.name();
    vec![
        claude_code(name, url),
        claude(url),
        claude_desktop(name, base, server),
        cursor(name, url),
        vs_code(name, url),
        windsurf(name, url),
        codex(name, url),
        gemini(name, url),
        zed(name, url),
        jetbrains(name, url),
        other(name, url),
        python(url),
        fastmcp(url),
        typescript(url),
    ]
}

fn claude_code(name: &str, url: &str) -> Host {
    Host {
        id: "claude-code",
        title: "Claude Code",
        hint: "Run this in a terminal. Add `--scope user` to have the server in every project. `/mcp` in Claude Code \
               shows its state.",
        snippet: shell(format!(
            "claude mcp add --transport http {name} {url} \\\n  --header \"Authorization: Bearer {KEY}\""
        )),
    }
}

fn claude(url: &str) -> Host {
    Host {
        id: "claude",
        title: "Claude: web, desktop and mobile",
        hint: "Open Settings, Connectors, Add custom connector, and paste this URL. Claude then opens the log-in \
               of this site, so you need no key. It connects from its own servers: the URL must be reachable from \
               the internet, over HTTPS.",
        snippet: Snippet { title: "Remote MCP server URL", language: "text", text: url.to_owned() },
    }
}

fn claude_desktop(name: &str, base: &str, server: &McpServer) -> Host {
    let sport = match server.is_main() {
        true => String::new(),
        false => format!(", \"--sport\", \"{}\"", server.sport()),
    };
    Host {
        id: "claude-desktop",
        title: "Claude Desktop, as a local program",
        hint: "For hosts that cannot connect to remote servers: the program `matchwire` forwards their messages. \
               On Windows the file is in `%APPDATA%\\Claude`. Restart Claude after you change it.",
        snippet: json(
            "~/Library/Application Support/Claude/claude_desktop_config.json",
            format!(
                r#"{{
  "mcpServers": {{
    "{name}": {{
      "command": "matchwire",
      "args": ["mcp", "--url", "{base}"{sport}],
      "env": {{ "MATCHWIRE_KEY": "{KEY}" }}
    }}
  }}
}}"#
            ),
        ),
    }
}

fn cursor(name: &str, url: &str) -> Host {
    Host {
        id: "cursor",
        title: "Cursor",
        hint: "Use `.cursor/mcp.json` in a project to have it there only. `Bearer ${env:MATCHWIRE_KEY}` reads the \
               key from the environment.",
        snippet: json(
            "~/.cursor/mcp.json",
            format!(
                r#"{{
  "mcpServers": {{
    "{name}": {{
      "url": "{url}",
      "headers": {{ "Authorization": "Bearer {KEY}" }}
    }}
  }}
}}"#
            ),
        ),
    }
}

fn vs_code(name: &str, url: &str) -> Host {
    Host {
        id: "vs-code",
        title: "VS Code",
        hint: "VS Code asks for the key once and stores it securely. The command `MCP: Open User Configuration` opens the file \
               for all projects.",
        snippet: json(
            ".vscode/mcp.json",
            format!(
                r#"{{
  "inputs": [
    {{
      "type": "promptString",
      "id": "matchwire-key",
      "description": "Matchwire API key",
      "password": true
    }}
  ],
  "servers": {{
    "{name}": {{
      "type": "http",
      "url": "{url}",
      "headers": {{ "Authorization": "Bearer ${{input:matchwire-key}}" }}
    }}
  }}
}}"#
            ),
        ),
    }
}

fn windsurf(name: &str, url: &str) -> Host {
    Host {
        id: "windsurf",
        title: "Windsurf",
        hint: "The field is `serverUrl`, not `url`. `Bearer ${env:MATCHWIRE_KEY}` reads the key from the environment.",
        snippet: json(
            "~/.codeium/windsurf/mcp_config.json",
            format!(
                r#"{{
  "mcpServers": {{
    "{name}": {{
      "serverUrl": "{url}",
      "headers": {{ "Authorization": "Bearer {KEY}" }}
    }}
  }}
}}"#
            ),
        ),
    }
}

fn codex(name: &str, url: &str) -> Host {
    Host {
        id: "codex",
        title: "Codex CLI",
        hint: "Codex reads the key from the environment: set `MATCHWIRE_KEY` in the shell that starts it. The IDE \
               extension reads the same file.",
        snippet: Snippet {
            title: "~/.codex/config.toml",
            language: "toml",
            text: format!(
                "# export MATCHWIRE_KEY={KEY}\n[mcp_servers.{name}]\nurl = \"{url}\"\n\
                 bearer_token_env_var = \"MATCHWIRE_KEY\""
            ),
        },
    }
}

fn gemini(name: &str, url: &str) -> Host {
    Host {
        id: "gemini-cli",
        title: "Gemini CLI",
        hint: "Run this in a terminal. It writes `~/.gemini/settings.json`, where the field of the URL is `httpUrl`.",
        snippet: shell(format!(
            "gemini mcp add --scope user --transport http \\\n  --header \"Authorization: Bearer {KEY}\" {name} {url}"
        )),
    }
}

fn zed(name: &str, url: &str) -> Host {
    Host {
        id: "zed",
        title: "Zed",
        hint: "The command `zed: open settings` opens the file.",
        snippet: json(
            "~/.config/zed/settings.json",
            format!(
                r#"{{
  "context_servers": {{
    "{name}": {{
      "url": "{url}",
      "headers": {{ "Authorization": "Bearer {KEY}" }}
    }}
  }}
}}"#
            ),
        ),
    }
}

fn jetbrains(name: &str, url: &str) -> Host {
    Host {
        id: "jetbrains",
        title: "JetBrains IDEs",
        hint: "Add a server in the settings of AI Assistant, choose JSON, and paste this. Versions that have only \
               local servers need the local program, as for Claude Desktop.",
        snippet: json("Settings, Tools, AI Assistant, Model Context Protocol", typed(name, url)),
    }
}

fn other(name: &str, url: &str) -> Host {
    Host {
        id: "other",
        title: "Other hosts",
        hint: "Most hosts read this JSON. Some name the type `streamable-http`, or need none. Any client needs only \
               the URL and the header.",
        snippet: json("mcp.json", typed(name, url)),
    }
}

/// The most common form.
fn typed(name: &str, url: &str) -> String {
    format!(
        r#"{{
  "mcpServers": {{
    "{name}": {{
      "type": "http",
      "url": "{url}",
      "headers": {{ "Authorization": "Bearer {KEY}" }}
    }}
  }}
}}"#
    )
}

fn python(url: &str) -> Host {
    Host {
        id: "python",
        title: "Python: mcp",
        hint: "The official SDK: `pip install mcp`. The time limit is above the longest wait of `wait_for_change`.",
        snippet: Snippet {
            title: "list_tools.py",
            language: "python",
            text: format!(
                r#"import asyncio

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL = "{url}"
HEADERS = {{"Authorization": "Bearer {KEY}"}}


async def main():
    async with httpx2.AsyncClient(headers=HEADERS, timeout=90) as http:
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            for tool in (await client.list_tools()).tools:
                print(tool.name)


asyncio.run(main())"#
            ),
        },
    }
}

fn fastmcp(url: &str) -> Host {
    Host {
        id: "fastmcp",
        title: "Python: fastmcp",
        hint: "Another client: `pip install fastmcp`.",
        snippet: Snippet {
            title: "list_tools.py",
            language: "python",
            text: format!(
                r#"import asyncio

from fastmcp import Client


async def main():
    async with Client("{url}", auth="{KEY}") as client:
        for tool in await client.list_tools():
            print(tool.name)


asyncio.run(main())"#
            ),
        },
    }
}

fn typescript(url: &str) -> Host {
    Host {
        id: "typescript",
        title: "TypeScript",
        hint: "The official SDK: `npm install @modelcontextprotocol/client`.",
        snippet: Snippet {
            title: "list-tools.mts",
            language: "typescript",
            text: format!(
                r#"import {{ Client, StreamableHTTPClientTransport }} from "@modelcontextprotocol/client";

const transport = new StreamableHTTPClientTransport(new URL("{url}"), {{
  authProvider: {{ token: async () => "{KEY}" }},
}});
const client = new Client({{ name: "my-agent", version: "1.0.0" }});
await client.connect(transport);
const {{ tools }} = await client.listTools();
console.log(tools.map((tool) => tool.name));
await client.close();"#
            ),
        },
    }
}

fn shell(text: String) -> Snippet {
    Snippet { title: "Terminal", language: "shell", text }
}

fn json(title: &'static str, text: String) -> Snippet {
    Snippet { title, language: "json", text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::mcp_servers;

    #[test]
    fn snippets_in_json_are_valid() {
        for server in mcp_servers::ALL.iter() {
            for host in all("https://api.test", server) {
                if host.snippet.language == "json" {
                    let read = serde_json::from_str::<serde_json::Value>(&host.snippet.text);
                    assert!(read.is_ok(), "{}: {read:?}", host.title);
                }
            }
        }
    }

    #[test]
    fn snippets_name_the_server() {
        let tennis = McpServer::named("tennis").unwrap();
        for host in all("https://api.test", tennis) {
            let text = &host.snippet.text;
            let is_bridge = text.contains(r#""--url", "https://api.test", "--sport", "tennis""#);
            assert!(is_bridge || text.contains("https://api.test/tennis/mcp"), "{text}");
        }
    }

    #[test]
    fn fragments_are_unique() {
        let hosts = all("https://api.test", &mcp_servers::ALL[0]);
        let ids: std::collections::HashSet<_> = hosts.iter().map(|host| host.id).collect();
        assert_eq!(ids.len(), hosts.len());
    }
}
