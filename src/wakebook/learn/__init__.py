"""3. Learn: archived transcripts become entries, with a model or without one, exactly once."""
