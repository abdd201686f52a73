"""What was learned: the append-only log of entries, and the subjects they are about."""
