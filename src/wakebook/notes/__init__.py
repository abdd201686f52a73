"""Notes: the log as readable knowledge, a page for everything that it is about.

Pure functions of entries, subjects, what was condensed, and now. A page is made of items, each
with the entries behind it, so that every line can say where it comes from.
"""
