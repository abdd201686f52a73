"""What everybody stands on: errors, time, settings, the home on disk, Markdown, text."""
