"""Learning without a model: select, do not rewrite.

The user's own sentences (`speech`) are scored for what is worth keeping (`worth`), typed as far as
they say it themselves (`kinds`), and put beside what is known (`ledger`): what they replace or
report as done (`changes`). `handoff` says where a window stands when it ends, and `extractor` folds
over the messages. Word lists and patterns are data in cues.json, weights in weights.json.
"""
