"""Rebuild: all conversations read anew, on a branch of their own, compared, merged or dropped.

rebuilds  the handle, and one rebuild from its beginning to its commit
site      the branch and its work tree, a home of its own; which transcripts, and how far it has
          come: a killed rebuild goes on where it was
replay    the transcripts through an extractor, in the order in which they were said
carry     what a person wrote, and what is not read anew, comes along
compare   what would be different
answers   how much the entries of both sides know, and how sound they are
merge     the new log in the place of the old one, with what came since
"""
