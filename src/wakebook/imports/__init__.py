"""Chats and memories from elsewhere, as plain sessions of this home.

chatgpt, claude   conversations of a data export (`export` reads its zip)
markdown, mem0    old memories: each item (`items`) is a message of its own
take              an import: all of it is put on the shelf, <home>/imports, as files that only grow
extractor         an item becomes an entry; chats are read by the one flow, as any host's are
"""
