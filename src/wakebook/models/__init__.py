"""Models: what is asked for more than the words say, here or at a provider."""
