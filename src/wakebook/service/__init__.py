"""The service: everything that the façade can do, over HTTP and MCP on this machine."""
