//! MCP servers.
pub mod mount;
