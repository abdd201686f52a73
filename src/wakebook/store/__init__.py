"""4. Index: everything that can be read, made findable. Deletable at any time.

    entries, notes, topics, transcripts -> Chunks -> words (postings) and meaning (vectors)

words      text -> terms: languages, stems, stop words, scripts without spaces
chunk      what a Chunk is, and how an entry, a note and a transcript are cut into them
store      index.db: its tables, its versions, and what happens to a broken one
postings   which chunks hold a term, and how well they fit a question (BM25)
vectors    which chunks lie near a question: sign bits first, then the vectors themselves
fields     which words of a chunk count how much, and what its meaning is taken from
sync       what changed since the last time, and nothing else
writer     chunks in and out
related    what replaces what, and where it was said
scope      which chunks a question may see at all
question   what was asked, taken apart; dates that it names
rank       from two lists of scores to one, with what is known about each chunk
search     a Query -> candidates, in order
hits       what a reader gets: text, source and reason; snippet
scan       the same without an index
index      all of it for one home: sync, search, status (health)
"""
