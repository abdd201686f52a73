"""Chats and memories from elsewhere, as plain sessions of this home.

take              an import: all of it is put on a shelf, <home>/imports, and caught up on
export            its nouns, and the zip of a data export
chatgpt, claude   conversations of a data export: read by the one flow, as any host's are
markdown, mem0    old memories: each item is a message of its own
extractor         such an item becomes an entry
"""
