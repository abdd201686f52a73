"""4. Index: everything that can be read, made findable. Deletable at any time.

    entries, notes, topics, transcripts -> Chunks -> words (postings) and meaning (vectors)

`sync` brings in what changed, `search` answers a question, `index` does both for one home. The
first line of each file says the rest.
"""
