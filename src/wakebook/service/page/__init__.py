"""The page: a person's window into the memory, in the service that is there anyway.

`views.py` is the table of what there is. A view is a function from (Request, Memory) to a Sheet; it
never writes. An action is a function from (Request, Memory) to what was done, and is a verb of the
façade. `site.py` answers requests, `door.py` decides who may come in, `layout.py` draws the frame,
`live.py` tells open pages what has changed.
"""
