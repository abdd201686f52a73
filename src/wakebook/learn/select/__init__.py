"""Extraction without a model: each clause of the user's is judged by its features.

`features` says what can be seen of a clause, `weights` (fitted by bench/fit_rules.py) how much
that counts, `scoring` what it is; `cues` and `task_cues` hold frames as data. `reading` words
and joins what was found; acceptances, corrections, done reports, open questions and the
handoff have a module each. The rules read nearly nothing of what the agent says and would
rather miss a thing than keep junk. `extractor` folds over the messages.
"""
