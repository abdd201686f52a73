"""Topics: playbooks that come to an agent when a message calls for them."""
