"""Monitor–Generate–Verify: Flavell's and Nelson and Narens' theories as three policies.

Source: *Monitor-Generate-Verify: Formalising Metacognitive Theory for Language Model Reasoning*.
"""

from __future__ import annotations

from handlers.policies.base import Policy, Together
from handlers.policies.last_call import answering
from handlers.policies.mgv import acquisition, flavell, retrieval
from handlers.policies.mgv.parts import part
from handlers.policies.mgv.reflect import reflect
from handlers.policies.mgv.settings import (
    AcquisitionSettings,
    FlavellSettings,
    RetrievalSettings,
    rule_constants,
)

# Three algorithms over common parts: ``knowledge`` is what a memory version knows and what of it is
# in mind, ``feel`` and ``signals`` turn it into numbers, ``attempt`` makes answers and says how
# sure they are, ``strategies`` chooses. What an episode leaves is ``reflect``;
# ``handlers.learning.beliefs`` folds it into cases and beliefs. Prompts of attempts must hold no
# feeling, no threshold and no limit: monitoring acts through decisions alone, or it could not be
# told what it changed. ``monitor=off`` is the same policy without these decisions.

RULE = "beliefs@1"

MGV_FLAVELL = Policy(
    name="mgv_flavell",
    version="7",
    about="feels the difficulty, chooses a strategy, tries it, looks at it from one side",
    settings=FlavellSettings,
    roles=("reasoner", "monitor", "confidence"),
    solve=answering(flavell.solve),
    learns="labels",
    reflect=reflect,
    window=lambda settings, size: settings.batch_size,
    rule=RULE,
    rule_constants=rule_constants,
    confidence_source="stated",
)
MGV_ACQUISITION = Policy(
    name="mgv_acquisition",
    version="7",
    about="works until its judgement of learning meets the norm; more calls where it feels harder",
    settings=AcquisitionSettings,
    roles=("reasoner", "monitor", "confidence"),
    solve=acquisition.solve,
    together=Together(acquisition.acquire, part, lambda settings: settings.set_size),
    learns="labels",
    reflect=reflect,
    window=lambda settings, size: settings.batch_size,
    rule=RULE,
    rule_constants=rule_constants,
    confidence_source="vote_share",
)
MGV_RETRIEVAL = Policy(
    name="mgv_retrieval",
    version="7",
    about="searches by feelings of knowing; accepts less as the search goes on; may withhold",
    settings=RetrievalSettings,
    roles=("reasoner", "monitor", "confidence"),
    solve=answering(retrieval.solve),
    learns="labels",
    reflect=reflect,
    window=lambda settings, size: settings.batch_size,
    rule=RULE,
    rule_constants=rule_constants,
    confidence_source="stated",
)
