"""The hosts: their hooks, and how each is wired to Wakebook."""
