"""Learning without a model: select, do not rewrite.

The user's own sentences (`speech`) are scored for what is worth keeping (`worth`) and put beside
what is known (`ledger`): what they replace or report as done (`changes`). `handoff` says where a
window stands at its end, `extractor` types and keeps. Patterns and weights are data.
"""
