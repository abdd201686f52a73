"""What other memories and chats leave behind, as plain sessions of this home.

export           the nouns: an Export with its Conversations, or what cannot be read of it
parcel           what a person downloaded: a zip, a folder or a bare file
chatgpt, claude  conversations of a data export
markdown, openclaw_memory, mem0   old memories: each item is a message of its own
items            the items of a note: bullets, paragraphs, rows of tables
guess            which kind of thing lies at a path
shelf            <home>/imports, where all of it becomes plain files that only grow

Nothing is extracted here: the files on the shelf are read by the one flow, as any host's are.
"""
