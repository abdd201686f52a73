"""The service: everything that the façade can do, over HTTP on this machine."""
