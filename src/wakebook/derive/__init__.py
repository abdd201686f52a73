"""What follows from it: entries from transcripts, the briefing and the first words."""
