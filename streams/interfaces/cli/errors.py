"""Errors as people and scripts read them: place first, a stable code, and what to do next."""

from __future__ import annotations

# Scripts branch on these: a number keeps its meaning for ever, and a new meaning gets a new
# number.
OK, FAILED, USAGE, DIVERGED, SPENT, SETUP, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130


class CliError(Exception):
    """An error for people: what happened, where, and what to do, with the exit code of the process.

    ``error`` is the stable code in brackets, such as ``log.missing``. ``where`` is a file, line or URL,
    ``field`` the field or option that is wrong.
    """

    def __init__(
        self,
        detail: str,
        *,
        error: str,
        exit: int,
        where: str = "",
        field: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(detail)
        self.detail, self.error, self.exit = detail, error, exit
        self.where, self.field, self.hint = where, field, hint

    def text(self) -> str:
        """One line that says what happened, and a second that says what to do."""
        # On one line, whatever a path or a field holds: tools that read file:line:column read
        # lines.
        place = ": ".join(" ".join(part.split()) for part in (self.where, self.field) if part)
        first = f"{place}: {self.detail}" if place else self.detail
        first += f" [{self.error}, exit {self.exit}]"
        return first if not self.hint else f"{first}\n  {self.hint}"

    def record(self) -> dict[str, str | int]:
        """The same for scripts."""
        return {
            "error": self.error,
            "where": self.where,
            "field": self.field,
            "detail": self.detail,
            "hint": self.hint,
            "exit": self.exit,
        }


def sentence(said: str) -> str:
    """What is said, as a sentence of its own."""
    # For hints, which follow an error as sentences, while the same words stand within others
    # elsewhere.
    return said[:1].upper() + said[1:] + ("" if said.endswith(("?", ".")) else ".")


def usage(detail: str, *, field: str = "", hint: str = "", error: str = "usage") -> CliError:
    """A wrong command line."""
    return CliError(detail, error=error, exit=USAGE, field=field, hint=hint)
