"""Extraction without a model: cue phrases, read sentence by sentence.

The rules read what the user says and nearly nothing of what the agent says. They would
rather miss a thing than keep junk. `extractor` folds over the messages; every other module
owns one noun and is pure; `cues` holds the phrases as data.
"""

from wakebook.derive.rules.extractor import RuleExtractor

__all__ = ["RuleExtractor"]
