"""The page: its views by themselves, and in a real browser."""
