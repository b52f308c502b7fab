"""Meta-prompting: one conductor with the whole history calls fresh experts, who see one instruction.

After meta-prompting, simplified: no expert runs code.

Source: Suzgun and Kalai 2024, Algorithm 1; design/baselines.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import structs
from pydantic import PositiveInt

from handlers.policies.base import Conclusion, Policy, Task
from handlers.policies.last_call import answering
from handlers.roles.form import Unreadable, Values
from handlers.roles.role import Role, choice, text
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import Generated, ReplyReparsed
from schemas.prompt import Message
from schemas.questions import Sampling
from schemas.reply import Field
from schemas.settings import PolicySettings

CONDUCTOR = Role.of(
    "conductor",
    '''\
You conduct experts of every kind to solve the problem below; you see all that was said, they see \
nothing of it. In each turn either call one expert or give the final answer. To call one, name the \
expert and write an instruction between triple quotes (""") that holds everything it needs: it \
remembers nothing and knows neither the problem nor its colleagues. Have results checked by \
another expert before you trust them. Once you are sure, answer.''',
    sections=("Problem",),
    reply=(
        choice("Next", ("EXPERT", "ANSWER"), "whether you call an expert or answer now"),
        Field("Expert", "text", "which kind of expert", when=("Next", ("EXPERT",))),
        Field("Instruction", "text", "between triple quotes", when=("Next", ("EXPERT",))),
        Field("Final_answer", "answer", "the answer", when=("Next", ("ANSWER",))),
    ),
    mends=False,
)
EXPERT = Role.of(
    "expert",
    """\
You are an expert for what the task below asks. Do exactly that, show how you came to it, and close \
with your result.""",
    sections=("Task",),
    reply=[text("Result", "what you found, and the solution it rests on")],
    mends=False,
)
ERROR = (
    "This holds neither a call of an expert, with an instruction between triple quotes, nor a final "
    "answer. Do one of the two, in the format asked for."
)
_QUOTED = re.compile(r'"""(.+?)"""', re.DOTALL)


class ConductorSettings(PolicySettings):
    """Settings of meta-prompting."""

    paper: ClassVar[Mapping[str, Any]] = {"output_cap": None}

    max_rounds: PositiveInt = 15
    """Turns of the conductor."""
    output_cap: PositiveInt | None = 8_192
    """Tokens that a reply may take."""


def called(values: Values | Unreadable) -> str | None:
    """The instruction that an expert will see, and nothing else: what stands between the quotes."""
    if isinstance(values, Unreadable) or values.get("Next") != "EXPERT":
        return None
    # Whatever stands around the quotes is the conductor's own thinking. An expert that read it
    # would know the problem, and could no longer check what the others found.
    quoted = _QUOTED.search(str(values["Instruction"]))
    return quoted[1].strip() or None if quoted else None


def answered(values: Values | Unreadable) -> str | None:
    """The final answer, if it was given."""
    if isinstance(values, Unreadable) or values.get("Next") != "ANSWER":
        return None
    found = values.get("Final_answer")
    return found if isinstance(found, str) else None


def solve(task: Task, settings: ConductorSettings) -> Steps[Conclusion]:
    """At most two calls a turn."""
    sampling = Sampling(max_tokens=settings.output_cap)
    question = CONDUCTOR.question({"problem": task.stated}, sampling=sampling)
    try:
        for turn in range(settings.max_rounds):
            reply = yield from question
            values = CONDUCTOR.hear(reply)
            answer = answered(values)
            if answer is not None:
                yield Generated(round=turn, role="conductor", answer=answer, source=reply.address)
                return Conclusion(answer=answer, ended_by="answered")
            instruction = called(values)
            if instruction is None:
                # The conductor is told so in its own conversation, which costs no
                # more than any turn.
                heard = ERROR
                reason = "no expert and no answer"
                yield ReplyReparsed(role="conductor", source=reply.address, reason=reason)
            else:
                # The turn is the draw: an expert that is asked the same twice may
                # find something else.
                asked = EXPERT.question({"task": instruction}, draw=turn, sampling=sampling)
                output = yield from asked
                yield Generated(round=turn, role="expert", source=output.address)
                heard = f"The expert's output:\n{output.text.strip() or '(nothing)'}"
            history: tuple[Message, ...] = (
                *question.history,
                ("assistant", reply.text.strip() or "(no reply)"),
                ("user", heard),
            )
            question = structs.replace(question, history=history)
    except OutOfLimit as limit:
        return Conclusion(answer=None, ended_by="limit", limit=limit.which)
    return Conclusion(answer=None, ended_by="max_rounds")


META_PROMPTING = Policy(
    name="meta_prompting",
    version="2",
    about="after meta-prompting, simplified: a conductor calls fresh experts, none of whom runs code",
    settings=ConductorSettings,
    roles=("conductor", "expert", "reasoner"),
    solve=answering(solve),
)
