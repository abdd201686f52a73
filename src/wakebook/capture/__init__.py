"""What was said: from a host's session to an immutable transcript."""
