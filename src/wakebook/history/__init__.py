"""The home's history, through the git command.

Only paths of the home are ever staged or committed, and they are committed by name, so
that a home inside the user's own repository leaves the user's index as it was. The user's
checkout is never switched: what needs another branch gets a worktree of its own. Git may be
missing: `Repository.find` then gives None, and everything else goes on without it.
"""
