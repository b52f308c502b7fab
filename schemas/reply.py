"""What a role must reply: declared once as fields; prompt block, parser and JSON Schema follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from schemas.answer_type import AnswerType

FieldKind: TypeAlias = Literal["number", "choice", "answer", "text", "list"]

BLOCK = "Reply once, in this form, each label at the start of a line of its own:"
ENDING = """\
Write your reasoning first, step by step. Then end your reply with this form, each label at the start of \
a line of its own:"""
LAST_LINE = """\
Write your reasoning first, step by step. Only then, as the last line of your reply, give the final \
answer, just as the problem asks for it:"""
# What a form stands under. A small model writes down first what it sees first, so what it is to do
# before it fills in the form is said before it.
LEADS = (BLOCK, ENDING, LAST_LINE)
ABOUT = "What goes where:"
REASONING = "reasoning"
"""The place to think in a reply by JSON Schema: its first property, and no field of any role."""
_STEP = re.compile(r"\d{1,4}", re.ASCII)
# What labels of texts are called in which somebody thinks; behind others stands what was thought
# out already.
_THOUGHT = re.compile(
    r"thought|think|reason|rationale|analysis|justif|finding|compar|reflect|assess|feedback|check|ground|step|result",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Field:
    """One labelled field of a reply.

    ``number`` holds a decimal number (of a ``unit`` one in [0, 1]), ``choice`` one of ``choices``
    (or one of ``aliases``, which pairs other words for them with the choice), ``answer`` the final
    answer in ``\\boxed{}``, ``text`` one or more lines, ``list`` between ``least`` and ``most`` items of
    a line each, which may be ``ratings`` of a step from 0 to 1 by these names: of the ``steps`` that a
    question's variable ``counted`` names. ``none``: the word none
    is an answer too, and says that there is none. ``when`` names a choice field and the values of
    it for which this field is needed; otherwise it must be left out. ``unless`` names a choice field and the values
    of it beside which this field, which is asked for, may be missing: what is to be changed, of what is sound.
    ``implied`` names a field before this choice, and the choice that goes without saying where that says NONE.
    ``form`` is what an answer has to be.
    """

    label: str
    kind: FieldKind
    about: str
    choices: tuple[str, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    least: int = 1
    most: int | None = None
    unit: bool = False
    ratings: tuple[str, ...] = ()
    counted: str = ""
    steps: tuple[int, ...] = ()
    required: bool = True
    none: bool = False
    when: tuple[str, tuple[str, ...]] | None = None
    unless: tuple[str, tuple[str, ...]] | None = None
    implied: tuple[str, str] | None = None
    form: AnswerType | None = None

    def line(self) -> str:
        """The line of the prompt's form: what the reply's own line looks like, and nothing to copy."""
        match self.kind:
            case "choice":
                shape = " | ".join(self.choices)
            # A JSON value in a box would have its braces counted with the box's own.
            case "answer" if self.form is None or self.form.type != "json":
                shape = "\\boxed{...}"
            case "number":
                shape = "0.xx" if self.unit else "N"
            case "list" if self.ratings:
                shape = f"\n- Step i: {', '.join(f'{name}=0.xx' for name in self.ratings)}"
            case "list":
                shape = "\n- ..."
            case "answer" | "text":
                shape = "..."
        return f"{self.label}:{shape}" if shape.startswith("\n") else f"{self.label}: {shape}"

    def note(self) -> str:
        """What the field holds, how many items, and when it is wanted, as the form's explanation says it."""
        parts = [self.about]
        if self.kind == "list" and not self.ratings:
            parts.append(self._count())
        if self.when is not None:
            parts.append(f"only if {self.when[0]} is {' or '.join(self.when[1])}")
        return f"- {self.label}: {'; '.join(parts)}"

    def _count(self) -> str:
        if self.most is None:
            return f"{self.least} or more items" if self.least else "any number of items, or NONE"
        if self.least == self.most:
            return f"exactly {self.most} items" if self.most > 1 else "exactly 1 item"
        items = "item" if self.most == 1 else "items"
        return (
            f"{self.least} to {self.most} items"
            if self.least
            else f"up to {self.most} {items}, or NONE"
        )

    def is_needed(self, values: Mapping[str, object]) -> bool:
        """Whether a reply that holds these values has to hold this one too."""
        return self.required and not (
            self.unless is not None and values.get(self.unless[0]) in self.unless[1]
        )

    @property
    def optional(self) -> bool:
        """Whether a reply may leave it out."""
        return not self.required or self.when is not None

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this field's value; ``null`` where it may be left out."""
        match self.kind:
            case "number":
                within = {"minimum": 0, "maximum": 1} if self.unit else {}
                value: dict[str, Any] = {"type": "number"} | within
            case "choice":
                value = {"type": "string", "enum": list(self.choices)}
            case "list":
                most = {} if self.most is None else {"maxItems": self.most}
                items = {"type": "array", "items": {"type": "string"}, "minItems": self.least}
                value = items | most
            case "answer" if self.form is not None and self.form.shape is not None:
                value = dict(self.form.shape)
            case "answer" | "text":
                value = {"type": "string"}
        # Strict servers want every property to be required; what may be left out may then be null.
        if self.optional:
            value = {"anyOf": [value, {"type": "null"}]}
        about = self.about
        if self.kind == "list":
            rated = f"each item: Step i: {', '.join(f'{name}=0.xx' for name in self.ratings)}"
            about = f"{about}; {rated if self.ratings else self._count()}"
        if self.when is not None:
            about = f"{about}; only if {self.when[0]} is {' or '.join(self.when[1])}, else null"
        return value | {"description": about}


@dataclass(frozen=True, slots=True)
class Reply:
    """The fields that a role's reply must hold, in order. ``reasons``: free reasoning comes before them.

    ``running``: a label may also follow the sentence before it, where no reply comes of labels on lines of their own.
    """

    fields: tuple[Field, ...]
    reasons: bool = False
    running: bool = False

    def block(self) -> str:
        """What closes a prompt's instructions: what goes into the form of the reply, and last the form.

        Whatever ends a prompt is what a small model goes on with: the form, and no explanation of it. An
        answer alone needs none.
        """
        form = (field.line() for field in self.fields)
        alone = [field.kind for field in self.fields] == ["answer"]
        if alone and self.reasons:
            return "\n".join((LAST_LINE, *form))
        notes = () if alone else (ABOUT, *(field.note() for field in self.fields), "")
        return "\n".join((*notes, ENDING if self.reasons else BLOCK, *form))

    def typed(self, form: AnswerType) -> Reply:
        """The form of a reply to a problem whose answer is of a type."""
        fields = (
            replace(each, form=form) if each.kind == "answer" else each for each in self.fields
        )
        return replace(self, fields=tuple(fields))

    def asked(self, variables: Mapping[str, str]) -> Reply:
        """The form of one question: which steps it wants rated, its variables say."""
        # A form that counts nothing stays the same object, which keeps what is cached by it.
        if not any(field.counted for field in self.fields):
            return self
        counted = (
            replace(field, steps=tuple(map(int, _STEP.findall(variables.get(field.counted, "")))))
            for field in self.fields
        )
        return replace(self, fields=tuple(counted))

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema of a structured reply, for servers that constrain their output by one.

        Where no text to think in opens the reply, a property to reason in comes first: who must answer before
        it may think answers badly.
        """
        first = self.fields[0] if self.fields else None
        thinks = first is not None and first.kind == "text" and bool(_THOUGHT.search(first.label))
        place = {"type": "string", "description": "the whole reasoning, before anything else"}
        fields = {field.label: field.schema() for field in self.fields}
        properties = fields if thinks else {REASONING: place} | fields
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
