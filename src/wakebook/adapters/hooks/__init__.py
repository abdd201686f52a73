"""Hooks: what a host tells us as it happens, and what we answer."""
