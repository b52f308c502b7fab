"""The policies that work by themselves, by name; a graph memory can be built around any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handlers.policies.base import Policy
from handlers.policies.baselines.a_mem import A_MEM
from handlers.policies.baselines.best_of_n import BEST_OF_N
from handlers.policies.baselines.buffer_of_thought import BUFFER_OF_THOUGHT
from handlers.policies.baselines.chain import COT, GREEDY
from handlers.policies.baselines.consistency import SELF_CONSISTENCY
from handlers.policies.baselines.direct import IO
from handlers.policies.baselines.direct_trajectory import DIRECT_TRAJECTORY
from handlers.policies.baselines.evo_prompt import EVO_PROMPT
from handlers.policies.baselines.expel import EXPEL
from handlers.policies.baselines.hiar_icl import HIAR_ICL
from handlers.policies.baselines.macm import MACM
from handlers.policies.baselines.mcr import MCR
from handlers.policies.baselines.mcts import REST_MCTS
from handlers.policies.baselines.meta_prompting import META_PROMPTING
from handlers.policies.baselines.meta_reasoning import META_REASONING
from handlers.policies.baselines.reflexion import REFLEXION
from handlers.policies.baselines.self_refine import SELF_REFINE
from handlers.policies.baselines.self_verification import SELF_VERIFICATION
from handlers.policies.baselines.tool_reasoning import TOOL_REASONING
from handlers.policies.baselines.tree import TOT
from handlers.policies.baselines.ttpi import TTPI
from handlers.policies.cascade import CASCADE
from handlers.policies.cot2_meta import COT2_META
from handlers.policies.mc2 import MC2
from handlers.policies.meta_reasoner import META_REASONER
from handlers.policies.mgv import MGV_ACQUISITION, MGV_FLAVELL, MGV_RETRIEVAL

# Apart from the registry, which also holds the graph memory: the graph is built around one of
# these, and would else import the module that imports it.


# In the order in which lists and tables show them.
SYSTEMS: Mapping[str, Policy[Any]] = {
    each.name: each
    for each in (MC2, COT2_META, META_REASONER, MGV_FLAVELL, MGV_ACQUISITION, MGV_RETRIEVAL)
}
"""The systems of the papers."""
_BASELINES: tuple[Policy[Any], ...] = (
    COT,
    GREEDY,
    IO,
    SELF_CONSISTENCY,
    BEST_OF_N,
    TOT,
    REST_MCTS,
    SELF_VERIFICATION,
    SELF_REFINE,
    REFLEXION,
    META_REASONING,
    META_PROMPTING,
    MCR,
    MACM,
    BUFFER_OF_THOUGHT,
    TTPI,
    HIAR_ICL,
    EVO_PROMPT,
    TOOL_REASONING,
    DIRECT_TRAJECTORY,
    A_MEM,
    EXPEL,
)
BASELINES: Mapping[str, Policy[Any]] = {each.name: each for each in _BASELINES}
"""What they are compared with."""
BASES: Mapping[str, Policy[Any]] = {**SYSTEMS, **BASELINES, CASCADE.name: CASCADE}
