"""The memory for clients of the Model Context Protocol: over standard input, and over HTTP."""
