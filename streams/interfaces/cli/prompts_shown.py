"""The commands ``prompts list|show|edit|check``."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from handlers.roles.wording import worded, words_of
from schemas.settings import meant
from streams.engine.prompts.catalogue import Prompt, every, of_policy, ours
from streams.engine.prompts.files import SUFFIX, BadPrompt, PromptFile, differing, text_of
from streams.engine.prompts.folders import read_all
from streams.interfaces.cli.errors import FAILED, OK, CliError, usage
from streams.interfaces.cli.output import out, out_json, say
from streams.interfaces.cli.prompting import CODE, read
from streams.interfaces.cli.setup import policy_of
from streams.replay.words import word_diff
from streams.views.words import plural


def show_all(policy: str | None, *, json: bool) -> None:
    """``prompts list``."""
    known = every() if policy is None else of_policy(policy_of(policy))
    if json:
        for prompt in known.values():
            out_json(_record(prompt))
        return
    width = max(map(len, known), default=0)
    for name, prompt in known.items():
        out(f"{name:<{width}}  {prompt.template.digest}  {', '.join(prompt.roles)}")


def _record(prompt: Prompt) -> dict[str, Any]:
    return {
        "prompt": prompt.name,
        "digest": prompt.template.digest,
        "roles": list(prompt.roles),
        "variables": [
            {"name": each.variable, "heading": each.heading, "optional": each.optional}
            for each in prompt.template.sections
        ],
        "fields": [
            {"label": each.label, "kind": each.kind} for each in prompt.template.reply.fields
        ],
        "words": words_of(prompt.template),
    }


def found(name: str) -> Prompt:
    """The prompt of that name, else the only one of a role. Raises a usage error."""
    known = ours()
    # Ours alone are tried first, since to find all means to load what other distributions bring.
    if name not in known:
        known = every()
    if name in known:
        return known[name]
    of_role = [each for each in known.values() if name in each.roles]
    # A role is what users know from a trace; its prompt's name they learn here.
    if len(of_role) == 1:
        return of_role[0]
    if of_role:
        names = ", ".join(each.name for each in of_role)
        raise usage(
            f"role {name} is asked with {len(of_role)} prompts",
            field="ROLE",
            error="prompt.several",
            hint=f"Name one: {names}",
        )
    raise usage(f"no prompt {name!r:.100}; {meant(name, known)}", field="ROLE", error="prompt.none")


def show(name: str, path: str | None, *, json: bool) -> None:
    """``prompts show``: as the product has it, or as files say it."""
    prompt = found(name)
    file = None
    if path is not None:
        file = next((each for each in read(path) if each.prompt.name == prompt.name), None)
        if file is None:
            detail = f"{path}: no file here says prompt {prompt.name}"
            raise usage(detail, field="--prompts", error=CODE)
    template = prompt.template if file is None else worded(prompt.template, file.words)
    if json:
        record = _record(Prompt(template, prompt.roles))
        out_json(record | ({} if file is None else {"file": file.file, "changed": file.changed}))
        return
    out(f"{prompt.name}   asked as {', '.join(prompt.roles)}   {template.digest}")
    fields = [
        f"{each.label} ({each.kind}{', may be left out' if each.optional else ''}): {each.about}"
        for each in template.reply.fields
    ]
    optional = [each.variable for each in template.sections if each.optional]
    when = f", where there is something to show: {', '.join(optional)}" if optional else ""
    # The very text that a model gets, with names in the place of what is filled in.
    user = template.user({each.variable: f"{{{each.variable}}}" for each in template.sections})
    out(f"\n── system\n{template.system}")
    out(f"\n── user{when}\n{user}")
    out("\n── fields of the reply\n" + "\n".join(fields))
    if file is not None:
        out(f"\n── changed by {file.file}")
        _tell(file)


def _tell(file: PromptFile) -> None:
    """What a file changes, both sides by words."""
    for where, before, now in differing(file):
        # By words and cut: prompts are long paragraphs, in which a difference by lines would show
        # all of both.
        old, new = word_diff(before, now)
        out(f"{where}\n  - {old[:200]}\n  + {new[:200]}")


def edit(name: str, folder: str) -> int:
    """``prompts edit``: the file is written once; who calls it again goes on with what is there."""
    prompt = found(name)
    path = Path(folder) / f"{prompt.name}{SUFFIX}"
    # A file that is there holds somebody's work.
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text_of(prompt), encoding="utf-8")
        except OSError as error:
            raise usage(f"{path}: {error.strerror}", field="--out") from error
    # No editor is opened where no person sits: a script would wait for ever.
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if editor and sys.stdin.isatty() and sys.stdout.isatty():
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise usage(f"{editor}: {error}", field="EDITOR") from error
        # Checked at once, while whoever wrote it still has it before him.
        return check(str(path), json=False)
    out(str(path))
    say(f"change its texts, then: metalogue prompts check {path}")
    return OK


def check(path: str, *, json: bool) -> int:
    """``prompts check``; the exit code. Raises a ``CliError`` for files that cannot be used."""
    try:
        files = read_all(path)
    except BadPrompt as error:
        # A file may be wrong in several places; all are told, so that it is mended in one go.
        first, *others = str(error).split("\n")
        hint = "\n  ".join(others)
        raise CliError(first, error=CODE, exit=FAILED, hint=hint) from error
    for file in files:
        if json:
            out_json(
                {
                    "file": file.file,
                    "prompt": file.prompt.name,
                    "roles": list(file.prompt.roles),
                    "changed": file.changed,
                    "old": file.is_old,
                }
            )
            continue
        many = len(list(differing(file)))
        what = f"{plural(many, 'text')} changed" if many else "as the product has it"
        out(f"{file.file}: {file.prompt.name}: {what}")
        _tell(file)
        # Its texts still hold, but ours have changed since, and nobody merges the two unseen.
        if file.is_old:
            say(f"{file.file}: was written from an earlier {file.prompt.name}; compare them")
    return OK
