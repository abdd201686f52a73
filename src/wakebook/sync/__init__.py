"""Sync: one memory on several machines. Git carries it, and never merges its contents.

merge     what each file becomes, from what two machines have and what they had in common
records   the files of records: log, receipts, subjects, settings
prose     notes and other texts that people write
carry     the git side: fetch, read, commit with two parents, push
machine   which machine this is, and what others have said of themselves
together  the doer, and the handle of this room
sealed    a remote that must not be able to read anything
erasures  what was erased on one machine goes from the others, and from the remote
share     chosen entries for another person's home
heal      what plain merges and file-sync tools have left in a home
"""
