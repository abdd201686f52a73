"""What the agent reads: looking things up in everything that is kept."""
