"""The sift: what a model proposes is judged by plain code before it becomes an entry.

A model reads untrusted text and may be lazy or fooled, so a draft has to earn its place. It is
refused when nobody said it (`grounds`), when only a passage that gives orders to the reader said
it (`passages`, `cues`), when it would do harm whoever said it (`harm`), when anybody could know
it without knowing this person, and when it tells of the talk and not of its matter (`worth`).
The sift is pure and never asks a model. In doubt a draft passes, unless poison is about.
"""
