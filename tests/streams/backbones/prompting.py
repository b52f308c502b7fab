"""Prompts as roles declare them, and one simulator's replies to them."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.prompt import Section, Template
from schemas.questions import DEFAULT_SAMPLING
from schemas.reply import Field, Reply
from streams.answering.backbones.rehearsal import Options, Rehearsal
from streams.core.backbone import ModelReply, ModelRequest

FAULTLESS = Options(malformed=0, truncated=0, empty=0)

SOLVE = Template(
    "solve",
    "Solve the problem. Write out your whole reasoning first.",
    (
        Section("Problem", "problem"),
        Section("Guidance", "guidance", optional=True),
        Section("Advice", "advice", optional=True),
    ),
    Reply((Field("Final_answer", "answer", "the final answer"),)),
)
AUDIT = Template(
    "audit",
    "Explain your analysis in your own words first.",
    (
        Section("Problem", "problem"),
        Section("Trajectory", "trajectory"),
        Section("Guidance", "guidance", optional=True),
    ),
    Reply(
        (
            Field("Error_found", "choice", "YES: a step is wrong; NO: none is", ("YES", "NO")),
            Field("Error_step", "text", "the number of the first wrong step, or NONE"),
            Field("Confidence", "number", "how sure the solution is right, from 0 to 1"),
        )
    ),
)


def request(
    template: Template,
    /,
    **variables: str,
) -> ModelRequest:
    """A call with these sections; those that are not given are empty."""
    filled = {section.variable: "" for section in template.sections} | variables
    return ModelRequest(messages=template.render(filled), sampling=DEFAULT_SAMPLING, seed=0)


def reply(asked: ModelRequest, options: Options = FAULTLESS) -> ModelReply:
    """The simulator's reply."""
    return Rehearsal(options).reply(asked)


def fields(text: str) -> Mapping[str, str]:
    """The labelled lines of a reply."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {label: value.strip() for label, _, value in pairs}


def boxed(text: str) -> str:
    """The boxed answer of a reply."""
    return text.rpartition("\\boxed{")[2].rpartition("}")[0]
