"""Extraction without a model: each clause of the user's is judged by its features.

`phrases.json` holds the word lists and frames, `features` says what can be seen of a clause and,
by `weights.json` (fitted by bench/fit_rules.py), what it is; `reading` words and joins what was
found. The rules read nearly nothing of what the agent says and would rather miss a thing than keep
junk. `extractor` folds over the messages.
"""
