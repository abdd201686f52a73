"""The judge: what a model proposes is judged by plain code before it becomes an entry.

A model reads untrusted text and may be lazy or fooled, so a draft has to earn its place. It is
refused when it was not said (`grounds`), when only a passage that gives orders to its reader says
it (`passages`, `cues`), when it would do harm no matter who said it, and when it is general
knowledge or talk about the talk (`worth`). The judge is pure and never asks a model. In doubt a
draft passes, unless part of the conversation is suspect.
"""
