"""Rebuild: all conversations read anew, on a branch of their own, compared, merged or dropped.

plan      which transcripts, and what state the rebuild is in
site      the branch and its work tree, which is a home of its own
journal   what has been read so far: a killed rebuild goes on where it was
replay    the transcripts through an extractor, in the order in which they were said
carry     what a person wrote, and what is not read anew, comes along
condensed what rewrites have put together comes along, with the new ids
compare   what would be different
quality   how well labelled questions are answered, before and after
merge     the new log in the place of the old one, with what came since
"""
