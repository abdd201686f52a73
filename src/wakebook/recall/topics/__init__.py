"""Topics: playbooks that come to an agent when a message calls for them.

files       topics/*.md -> Topic, or what is wrong with it and on which line
triggers    tier 1: does a message match a trigger? (patterns, words, paths, names, ...)
similarity  tier 2: how much is a message like what a topic says? (TF-IDF, no model)
gate        tier 3: a cheap model says yes or no
activation  the three together: which topics a message activates, and why
book        the topics of a home at work: all of this together
decisions   what was decided, whether it helped, and which thresholds follow from that
fired       topics that wait for the next turn: webhooks, cron, and the agent's own words
"""
