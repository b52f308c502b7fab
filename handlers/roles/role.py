"""A model role: a prompt, the fields it must reply with, and how it is asked.

A reply that cannot be read is sent back once with the name of the field that is wrong; what then
still cannot be read is a ``fallback``, and the policy decides what that means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self, TypeAlias

from msgspec import structs

from handlers.roles.form import Unreadable, Values, parse
from handlers.roles.objects import as_text
from handlers.roles.values import ECHO
from schemas.asking import OutOfLimit, Steps
from schemas.events.reasoning import Parse, ReplyReparsed
from schemas.prompt import Message, Section, Template, Tool
from schemas.questions import DEFAULT_SAMPLING, Complete, Completion, Sampling
from schemas.reply import Field, Reply

# What every judge is told: how an answer is to be written is between the problem and who answers
# it.
FAIR = "Judge what an answer says, not how it is written down."
CUT = Unreadable("reply", "it was cut off before its end; be brief")
Check: TypeAlias = Callable[[Values, str], Unreadable | None]
"""A rule over a reply's values and its text that the fields alone cannot say."""


@dataclass(frozen=True, slots=True)
class RoleReply:
    """What a role replied. ``values`` is empty where nothing could be read."""

    values: Values
    completions: tuple[Completion, ...]
    parse: Parse
    problem: Unreadable | None = None
    answer: str | None = None
    """The final answer: the first field of that kind."""

    @property
    def completion(self) -> Completion:
        """The reply that counts: the last one."""
        return self.completions[-1]

    @property
    def text(self) -> str:
        """The text of the reply that counts; of a JSON object its reasoning, then its fields as lines."""
        return as_text(self.completion.text)

    @property
    def source(self) -> str:
        """The address of the reply that counts."""
        return self.completion.address

    @property
    def readable(self) -> bool:
        """Whether the fields could be read."""
        return self.problem is None

    def get(self, label: str) -> str | None:
        """A text, choice or answer, if it was said. Raises ``TypeError`` where a number or a list was."""
        value = self.values.get(label)
        if value is None or isinstance(value, str):
            return value
        raise _misread(label, value)

    def number(self, label: str) -> float | None:
        """A number, if it was said. Raises ``TypeError`` where something else was."""
        value = self.values.get(label)
        if value is None or isinstance(value, float):
            return value
        raise _misread(label, value)

    def items(self, label: str) -> tuple[str, ...]:
        """The items of a list; empty if it was not said. Raises ``TypeError`` where something else was."""
        value = self.values.get(label, ())
        if isinstance(value, tuple):
            return value
        raise _misread(label, value)


def _misread(label: str, value: object) -> TypeError:
    """What was said is of another kind; nothing in its place would pass for what was not said."""
    how = "get" if isinstance(value, str) else "number" if isinstance(value, float) else "items"
    return TypeError(f"{label} is not of this kind: read it with {how}({label!r})")


@dataclass(frozen=True, slots=True)
class Role:
    """Who is asked, with which prompt. ``mends``: an unreadable reply is asked for once more.

    ``least`` is the form as it is read, where a reply may hold less than its prompt asks for.
    """

    name: str
    template: Template
    sampling: Sampling = DEFAULT_SAMPLING
    mends: bool = True
    least: Reply | None = None

    @classmethod
    def of(
        cls,
        name: str,
        instructions: str,
        *,
        sections: Iterable[str],
        reply: Iterable[Field],
        notes: Mapping[str, str] = MappingProxyType({}),
        template: str = "",
        sampling: Sampling = DEFAULT_SAMPLING,
        mends: bool = True,
        reasons: bool | None = None,
        running: bool = False,
        tools: tuple[Tool, ...] = (),
        closing: str = "",
    ) -> Self:
        """A role from its parts. ``"Recent work?"`` is optional, and filled by ``recent_work``.

        ``reasons``: its reply begins with free reasoning; left out, it does where an answer comes first.
        ``running``: its fields are so short that a small model writes them one after the other into a line.

        ``notes`` say what a section is for, by its heading, and are shown only with it: a prompt speaks of
        nothing that it does not show. ``closing`` is said last, behind the sections.
        """
        marked = tuple(
            Section(
                title := heading.removesuffix("?"),
                title.lower().replace(" ", "_"),
                title != heading,
                notes.get(title, ""),
            )
            for heading in sections
        )
        fields = tuple(reply)
        thinks = bool(fields) and fields[0].kind == "answer" if reasons is None else reasons
        return cls(
            name,
            Template(
                template or name,
                instructions,
                marked,
                Reply(fields, thinks, running),
                tools,
                closing,
            ),
            sampling,
            mends,
        )

    def noting(self, heading: str, note: str, *, template: str) -> Self:
        """The same role with other words about one of its sections, under a template's name of its own."""
        sections = tuple(
            replace(each, note=note) if each.heading == heading else each
            for each in self.template.sections
        )
        return replace(self, template=replace(self.template, name=template, sections=sections))

    @property
    def reply(self) -> Reply:
        """The fields that a reply must hold."""
        return self.template.reply

    def read(self, text: str, check: Check | None = None) -> Values | Unreadable:
        """The values of a reply, or what is wrong with it."""
        form = self.least or self.reply
        values = parse(text, form)
        if isinstance(values, Unreadable):
            return values
        # Texts and items that were copied from the prompt's own instructions say nothing. They are
        # taken out before a check sees them: a lesson of copied lines would pass every rule of
        # form.
        own = dict(values)
        for field in form.fields:
            said = values.get(field.label)
            if isinstance(said, tuple):
                own[field.label] = tuple(item for item in said if not self.template.says(item))
            copied = own.get(field.label) == () != said or (
                field.kind == "text" and self.template.says(str(said or ""))
            )
            if copied and field.is_needed(own):
                return Unreadable(field.label, ECHO)
            if copied:
                del own[field.label]
        return own if check is None else check(own, text) or own

    def hear(self, reply: Completion, check: Check | None = None) -> Values | Unreadable:
        """The values of a whole reply. One that was cut off has none: what it says last was not its last word."""
        return CUT if reply.cut else self.as_asked(reply).read(reply.text, check)

    def as_asked(self, reply: Completion) -> Self:
        """The role in the words that a reply was asked with: what is copied from them says nothing."""
        asked = reply.template
        if asked is None:
            return self
        form = next((each.form for each in asked.reply.fields if each.form is not None), None)
        if form is None and asked.words == self.template.words:
            return self
        # An answer's type was put into the template that was asked with; the lenient form of the
        # role has to hold answers to the same type.
        least = self.least if self.least is None or form is None else self.least.typed(form)
        return replace(self, template=asked, least=least)

    def question(
        self, variables: Mapping[str, str], *, draw: int = 0, sampling: Sampling | None = None
    ) -> Complete:
        # A missing section is a defect of the policy, found on its first run and not in a model's
        # odd reply.
        """One model call. Raises ``TypeError`` naming a section that is missing or unknown."""
        sections = self.template.sections
        missing = {s.variable for s in sections if not s.optional} - variables.keys()
        unknown = variables.keys() - {section.variable for section in sections}
        if missing or unknown:
            named = ", ".join(sorted(missing or unknown))
            raise TypeError(f"{self.name} {'needs' if missing else 'has no section for'} {named}")
        filled = tuple((s.variable, variables.get(s.variable, "")) for s in sections)
        return Complete(
            self.name, self.template, filled, sampling=sampling or self.sampling, draw=draw
        )

    def ask(self, *, draw: int = 0, **variables: str) -> Steps[RoleReply]:
        """The role's reply to these sections; asked once more if it cannot be read."""
        return self.put(variables, draw=draw)

    def put(
        self,
        variables: Mapping[str, str],
        *,
        draw: int = 0,
        sampling: Sampling | None = None,
        check: Check | None = None,
    ) -> Steps[RoleReply]:
        """As ``ask``, with its own sampling and a rule that readable values must keep too."""
        question = self.question(variables, draw=draw, sampling=sampling)
        first = yield from question
        values = self.hear(first, check)
        if not isinstance(values, Unreadable):
            return self._said(values, (first,), "ok")
        # A wrong form of a typed answer is asked for again even by roles that mend nothing else:
        # it is the one mistake that whoever put the problem would see.
        if not self.mends and not values.form:
            return RoleReply({}, (first,), "unreadable", values)
        # The fact is stated before the second call: after a crash in between, the log already says
        # why it was made.
        yield ReplyReparsed(role=self.name, source=first.address, reason=str(values))
        try:
            second = yield from structs.replace(question, history=mending(first.text, values))
        except OutOfLimit:
            # A role that never asks again has no call set aside for
            # this one; its policy expects no end here.
            if self.mends:
                raise
            return RoleReply({}, (first,), "unreadable", values)
        values = self.hear(second, check)
        if isinstance(values, Unreadable):
            return RoleReply({}, (first, second), "fallback", values)
        return self._said(values, (first, second), "reparsed")

    def _said(self, values: Values, completions: tuple[Completion, ...], parse: Parse) -> RoleReply:
        # The first field of that kind is the answer, for all roles, so that policies need not know
        # the label.
        labels = (field.label for field in self.reply.fields if field.kind == "answer")
        found = next((values[label] for label in labels if label in values), None)
        return RoleReply(
            values, completions, parse, answer=found if isinstance(found, str) else None
        )


def mending(text: str, problem: Unreadable) -> tuple[Message, ...]:
    """The unreadable reply and the request to mend it."""
    request = (
        f"This reply could not be read. {problem}. Write the whole reply again, "
        "in the form asked for above, each label at the start of a line of its own."
    )
    return (("assistant", text.strip() or "(no reply)"), ("user", request))


def answer(
    label: str = "Final_answer", about: str = "the final answer, just as the problem asks for it"
) -> Field:
    """A field for the final answer."""
    return Field(label, "answer", about)


def open_answer() -> Field:
    """A field for the final answer, or for the word none while the problem is still open."""
    about = "the final answer, just as the problem asks for it, or none"
    return Field("Final_answer", "answer", about, none=True)


def text(label: str, about: str, *, unless: tuple[str, tuple[str, ...]] | None = None) -> Field:
    """A field of one or more lines, which may be missing beside such a choice."""
    return Field(label, "text", about, unless=unless)


def choice(
    label: str,
    choices: Iterable[str],
    about: str,
    aliases: Mapping[str, str] | None = None,
    *,
    implied: tuple[str, str] | None = None,
) -> Field:
    """A field that holds one of several words; ``aliases`` are read as the choices that they name."""
    other = tuple((aliases or {}).items())
    return Field(label, "choice", about, choices=tuple(choices), aliases=other, implied=implied)


def listed(label: str, about: str, *, least: int = 1, most: int | None = None) -> Field:
    """A field of several items, a line each."""
    return Field(label, "list", about, least=least, most=most)


def number(label: str, about: str, *, unit: bool = False) -> Field:
    """A field that holds a decimal number; of a unit one in [0, 1]."""
    return Field(label, "number", about, unit=unit)
