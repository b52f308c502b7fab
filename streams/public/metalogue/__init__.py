"""Metalogue in a program: solve problems under a policy, with every question and reply on the record.

>>> import metalogue
>>> metalogue.solve("What is 17 + 25?", policy="mc2", backbone="rehearsal").status
'answered'

On a log the answer is kept, and whoever asks again pays nothing:

>>> answer = metalogue.solve("What is 17 + 25?", backbone="rehearsal", log="sqlite:my.db")
>>> metalogue.solve("What is 17 + 25?", backbone="rehearsal", log="sqlite:my.db") == answer
True
>>> edit = {"at": "0", "edit": "Final_answer: 42"}
>>> other = metalogue.fork("sqlite:my.db", answer.episode, backbone="rehearsal", **edit)
>>> other.closed.answer, other.made
('42', 0)
>>> metalogue.verify("sqlite:my.db").diverged
[]

In an event loop:

>>> (
...     await metalogue.asolve("What is 17 + 25?", backbone="rehearsal", answer_type="number")
... ).usage.calls
1

``solve`` and ``asolve`` work on one problem. ``Engine`` works on many, in your event loop; ``Client`` hands them to
workers elsewhere. ``open_log`` reads what was recorded, ``verify`` derives it again without a model, ``fork`` asks
what if. ``Policy``, ``Role`` and their kin are what a policy of your own is written with, ``play`` what it is
tested with. ``Error`` is what all of them raise where something is wrong; its ``code`` is stable.

Names load what they need when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import os.path
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handlers.policies.base import Conclusion, Policy, Task
    from handlers.roles.role import Role, choice, number, text
    from schemas.answer import Answer
    from schemas.asking import All, Steps
    from schemas.memory import Memory, MemoryItem
    from schemas.problem import Limits, Problem
    from schemas.questions import Review, Reviewed
    from schemas.record import Record
    from schemas.settings import PolicySettings
    from schemas.usage import Usage
    from streams.interfaces.door.asking import Asked
    from streams.interfaces.door.client import Client
    from streams.interfaces.door.engine import Engine
    from streams.interfaces.door.errors import Error
    from streams.interfaces.door.handle import Handle
    from streams.interfaces.door.reading import Episode, Log, fork, open_log, verify
    from streams.interfaces.door.solving import asolve, solve
    from streams.replay.fork import Forked
    from streams.replay.verify import Verified
    from streams.research.trials.play import play

__all__ = [
    "All",
    "Answer",
    "Asked",
    "Client",
    "Conclusion",
    "Engine",
    "Episode",
    "Error",
    "Forked",
    "Handle",
    "Limits",
    "Log",
    "Memory",
    "MemoryItem",
    "Policy",
    "PolicySettings",
    "Problem",
    "Record",
    "Review",
    "Reviewed",
    "Role",
    "Steps",
    "Task",
    "Usage",
    "Verified",
    "asolve",
    "choice",
    "fork",
    "number",
    "open_log",
    "play",
    "solve",
    "text",
    "verify",
]

PLACES = {
    "handlers.policies.base": ("Conclusion", "Policy", "Task"),
    "handlers.roles.role": ("Role", "choice", "number", "text"),
    "schemas.answer": ("Answer",),
    "schemas.asking": ("All", "Steps"),
    "schemas.memory": ("Memory", "MemoryItem"),
    "schemas.problem": ("Limits", "Problem"),
    "schemas.questions": ("Review", "Reviewed"),
    "schemas.record": ("Record",),
    "schemas.settings": ("PolicySettings",),
    "schemas.usage": ("Usage",),
    "streams.interfaces.door.asking": ("Asked",),
    "streams.interfaces.door.client": ("Client",),
    "streams.interfaces.door.engine": ("Engine",),
    "streams.interfaces.door.errors": ("Error",),
    "streams.interfaces.door.handle": ("Handle",),
    "streams.interfaces.door.reading": ("Episode", "Log", "fork", "open_log", "verify"),
    "streams.interfaces.door.solving": ("asolve", "solve"),
    "streams.replay.fork": ("Forked",),
    "streams.replay.verify": ("Verified",),
    "streams.research.trials.play": ("play",),
}
"""Where each name is defined: every class has one place, and this package is its door."""
_HOME = {name: module for module, names in PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'metalogue' has no attribute {name!r}")
    # Kept, so that this is asked once for each name.
    found = globals()[name] = getattr(import_module(module), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


def _check_ours() -> None:
    """Raises ``ImportError`` where something else by the name of one of our packages is found before it.

    Beside this package stand ours in a wheel; in a checkout they stand two folders up. A folder `schemas` beside a
    user's script would else be taken for ours, and fail on some name that it lacks, far from here.
    """
    # ``find_spec`` finds without importing: a stranger's module must not run
    # because we looked at it.
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    homes = {here, os.path.dirname(os.path.dirname(here))}
    for ours in ("schemas", "handlers", "state", "streams"):
        spec = find_spec(ours)
        places = (
            [] if spec is None else [*(spec.submodule_search_locations or [spec.origin or "?"])]
        )
        if places and os.path.dirname(os.path.abspath(places[0])) not in homes:
            raise ImportError(
                f"metalogue needs its package {ours!r}, and {places[0]} is found before it: "
                "rename that folder or file, or start Python elsewhere"
            )


_check_ours()
