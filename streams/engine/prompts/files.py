"""Files that say prompts in other words: YAML, one prompt a file, whole, so that it can be read as it stands.

A file holds all words of its prompt, changed or not. What it leaves out is an error that names the file, the
role and the place, for nobody can see what is missing from a text. What counts is only what differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from handlers.roles.wording import changed, faults, lacking, texts_of, words_of
from schemas.settings import PROMPT_CHARS, PromptWords, meant
from streams.engine.prompts.catalogue import Prompt, every, ours
from streams.support.yamls import Flaw, document

if TYPE_CHECKING:
    import yaml

SUFFIX = ".yaml"
KEYS = ("prompt", "made_from", "instructions", "sections", "closing", "reply")
_BLOCK_CHARS = 60


class BadPrompt(ValueError):
    """A file of a prompt cannot be used. The message names file, prompt, role and place."""


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A prompt as a file says it."""

    file: str
    """How it is called."""
    prompt: Prompt
    words: PromptWords
    """All that it says."""
    made_from: str | None = None
    """The digest of the prompt that it was written from."""

    @property
    def changed(self) -> PromptWords:
        """What it says otherwise than the prompt."""
        return changed(self.prompt.template, self.words)

    @property
    def is_old(self) -> bool:
        """Whether the prompt itself was changed since the file was written."""
        return self.made_from not in (None, self.prompt.template.digest)


def text_of(prompt: Prompt, words: PromptWords | None = None) -> str:
    """The file of a prompt, in its own words or in others."""
    import yaml

    said = words_of(prompt.template) if words is None else words
    body = {"prompt": prompt.name, "made_from": prompt.template.digest, **said}
    # Never folded: a line that YAML broke could not be told from one that the prompt breaks.
    text = yaml.dump(body, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=1 << 20)
    # Comments are for people: what may be changed, and what the policy fills in and reads.
    template = prompt.template
    optional = [each.variable for each in template.sections if each.optional]
    lines = [
        f"The prompt {template.name}. Change its texts, and leave the names: instructions, what is said of each",
        "section (by the variable that fills it), what is said last, and what each field of the reply holds.",
        *(
            [f"Shown only where there is something to show: {', '.join(optional)}."]
            if optional
            else []
        ),
        f"Try it: metalogue prompts check {template.name}{SUFFIX}",
    ]
    return "".join(f"# {line}\n" for line in lines) + text


def _dumper() -> type[Any]:
    """Writes long texts as blocks, as people write them."""
    # A class of its own, made here, since representers belong to a class: those of YAML's own
    # must stay as they are.
    import yaml

    class Blocks(yaml.SafeDumper):
        """As plain as YAML can be."""

    def block(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        style = "|" if len(text) > _BLOCK_CHARS or "\n" in text else None
        made: yaml.Node = dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)  # pyright: ignore[reportUnknownMemberType]
        return made

    Blocks.add_representer(str, block)
    return Blocks


def prompt_in(text: str, file: str = "-") -> PromptFile:
    """The prompt that a file's text says. Raises ``BadPrompt``."""
    try:
        said = document(text)
    except Flaw as error:
        raise BadPrompt(f"{file}:{error.line}: {error}") from error
    if not isinstance(said, dict):
        raise BadPrompt(f"{file}: expected a mapping of {', '.join(KEYS)}")
    body = cast("dict[str, Any]", said)
    for key in body:
        if key not in KEYS:
            raise BadPrompt(f"{file}: {key!r:.80}: no such key; {meant(str(key), KEYS)}")
    name = body.get("prompt")
    if not isinstance(name, str):
        raise BadPrompt(f"{file}: prompt: expected the name of a prompt; metalogue prompts list")
    # Ours first: ``every`` loads the policies of files and distributions, which is
    # slow and may fail.
    prompt = ours().get(name) or every().get(name)
    if prompt is None:
        raise BadPrompt(f"{file}: prompt: no prompt {name!r:.100}; {meant(name, every())}")
    words, wrong = _words(body)
    # What is no text counts as missing too. Nobody needs to hear of it twice.
    wrong += lacking(prompt.template, words) if not wrong else []
    wrong += faults(prompt.template, words)
    if wrong:
        # All of them at once: whoever mends a file should not have to run this for each line.
        faulty = (f"{file}: {who(prompt)}: {where}: {what}" for where, what in wrong)
        raise BadPrompt("\n".join(faulty))
    made_from = body.get("made_from")
    return PromptFile(file, prompt, words, made_from if isinstance(made_from, str) else None)


def who(prompt: Prompt) -> str:
    """A prompt and who is asked with it, as an error names them."""
    return f"prompt {prompt.name} (role {', '.join(prompt.roles)})"


def _words(body: Mapping[str, Any]) -> tuple[PromptWords, list[tuple[str, str]]]:
    """The words of a file without spaces at their ends, and what is no text."""
    words: PromptWords = {}
    wrong: list[tuple[str, str]] = []

    def text(where: str, said: object) -> str:
        if not isinstance(said, str):
            wrong.append((where, f"expected a text, found {type(said).__name__}"))
        elif len(said) > PROMPT_CHARS:
            wrong.append((where, f"longer than {PROMPT_CHARS:,} characters"))
        return str(said).strip()

    def texts(name: str) -> dict[str, str]:
        said: object = body[name]
        if said is None:
            return {}
        if isinstance(said, dict):
            held = cast("dict[object, object]", said)
            return {str(key): text(f"{name}.{key}", value) for key, value in held.items()}
        wrong.append((name, "expected a mapping of names to texts"))
        return {}

    if "instructions" in body:
        words["instructions"] = text("instructions", body["instructions"])
    if "sections" in body:
        words["sections"] = texts("sections")
    words["closing"] = text("closing", body.get("closing", ""))
    if "reply" in body:
        words["reply"] = texts("reply")
    return words, wrong


def differing(file: PromptFile) -> Iterator[tuple[str, str, str]]:
    """Each text that a file says otherwise: its place, as the prompt has it, and as the file does."""
    own = dict(texts_of(words_of(file.prompt.template)))
    for where, text in texts_of(file.changed):
        yield where, own.get(where, ""), text
