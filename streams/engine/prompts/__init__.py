"""Prompts as settings: which there are, and files that say them in other words.

``catalogue`` finds every prompt that the code holds and which policy asks with which; ``files`` and ``folders`` read
and write them as YAML. What was changed travels as a setting, so that it is part of an episode's identity like any
other: its name, its digest and its replays follow from it, and two wordings can never share a record.
"""
