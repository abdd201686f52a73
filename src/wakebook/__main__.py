"""python -m wakebook"""

from wakebook.adapters.entry import main

main()
