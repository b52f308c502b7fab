"""What a role must reply: declared once as fields; prompt block, parser and JSON Schema follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

FieldKind: TypeAlias = Literal["number", "choice", "answer", "text", "list"]

BLOCK = "Reply with these fields, each label at the start of its own line, in this order:"


@dataclass(frozen=True, slots=True)
class Field:
    """One labelled field of a reply.

    ``number`` holds a decimal number (of a ``unit`` one in [0, 1]), ``choice`` one of ``choices``,
    ``answer`` the final answer (between ``###`` marks, or in ``\\boxed{}`` when ``boxed``), ``text``
    one or more lines, ``list`` between ``least`` and ``most`` items of a line each, which may be
    ``ratings`` of a step from 0 to 1 by these names. ``when`` names a choice field and the values of
    it for which this field is needed; otherwise it must be left out.
    """

    label: str
    kind: FieldKind
    about: str
    choices: tuple[str, ...] = ()
    least: int = 1
    most: int | None = None
    boxed: bool = False
    unit: bool = False
    ratings: tuple[str, ...] = ()
    required: bool = True
    when: tuple[str, tuple[str, ...]] | None = None

    def line(self) -> str:
        """The line of the prompt's format block that asks for this field."""
        only = (
            "" if self.when is None else f" (only if {self.when[0]} is {' or '.join(self.when[1])})"
        )
        return f"{self.label}: {self._body()}{only}"

    def _body(self) -> str:
        match self.kind:
            case "choice":
                return f"<choice: {' | '.join(self.choices)}; {self.about}>"
            case "answer":
                return f"\\boxed{{<answer>}} <{self.about}>" if self.boxed else "### <answer> ###"
            case "list":
                upto = "" if self.most is None else f"-{self.most}"
                return f"<list: {self.least}{upto} items, one a line; {self.about}>"
            case "number" | "text":
                return f"<{self.kind}: {self.about}>"

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this field's value."""
        match self.kind:
            case "number":
                within = {"minimum": 0, "maximum": 1} if self.unit else {}
                return {"type": "number", "description": self.about} | within
            case "choice":
                return {"type": "string", "enum": list(self.choices), "description": self.about}
            case "list":
                bounds = {"minItems": self.least} | (
                    {} if self.most is None else {"maxItems": self.most}
                )
                return {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": self.about,
                } | bounds
            case "answer" | "text":
                return {"type": "string", "description": self.about}


@dataclass(frozen=True, slots=True)
class Reply:
    """The fields that a role's reply must hold, in order."""

    fields: tuple[Field, ...]

    def block(self) -> str:
        """The format block that closes a prompt's instructions."""
        return "\n".join((BLOCK, *(field.line() for field in self.fields)))

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema of a structured reply, for servers that constrain their output by one."""
        return {
            "type": "object",
            "properties": {field.label: field.schema() for field in self.fields},
            "required": [f.label for f in self.fields if f.required and f.when is None],
            "additionalProperties": False,
        }
