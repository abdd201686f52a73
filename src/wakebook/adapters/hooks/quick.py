"""`wakebook hook`, as hosts run it: python -I -S quick.py HOST EVENT --home PATH.

-S leaves out what Python looks for at its start (packages, their hooks), which takes longer than
a call to the service; -I keeps the user's project and environment out. If this process has to do
the work itself, its child makes up for it.
"""

import os
import sys

if __name__ == "__main__":
    here = os.path.abspath(__file__)  # noqa: PTH100
    sys.path.insert(0, here[: -len("/wakebook/adapters/hooks/quick.py")])
    from wakebook.adapters.entry import main

    sys.argv.insert(1, "hook")
    main()
