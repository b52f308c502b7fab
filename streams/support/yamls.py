"""YAML that people write: bounded in size, depth and what its aliases come to, and no key twice in one mapping.

YAML's readers take the last of two keys in silence, open brackets until their stack is full, and copy what is
merged as often as it is named.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

TWICE = "stands twice"
FILE_CHARS = 1 << 18
DEPTH = 32
"""Mappings and lists within each other; no setting and no recipe needs ten."""
VALUES = 20_000
"""Keys and values with those that aliases stand for."""
DIGITS = 4300
"""Characters of a number: Python writes no longer one, so that nobody could even be told of it."""
NUMERAL = frozenset("0123456789abcdefABCDEFox+-_:.")
"""Characters of what YAML may take for a number, be it hexadecimal or in sixties."""
WRONG = (ValueError, ArithmeticError, LookupError, TypeError, AttributeError)
"""What PyYAML raises for a value that is not what it is marked as, or looks like."""


class Flaw(ValueError):
    """A file is not as it should be; ``line`` counts from 1."""

    def __init__(self, what: str, line: int = 1) -> None:
        super().__init__(what)
        self.line = line


class TooMuch(Flaw):
    """A file is beyond what is read."""


def document(text: str) -> Any:
    """What a file holds, in plain values. Raises ``Flaw`` where it is no YAML, too much, or has a key twice."""
    import yaml

    # Twice through the text: the tree knows lines and both of two keys, the values do not.
    try:
        key, said = key_twice(root(text)), plain(text)
    except Flaw:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = 1 if mark is None else mark.line + 1
        raise Flaw(f"not YAML: {problem or error}", line) from error
    if key is not None:
        raise Flaw(f"{key.value}: {TWICE}", key.start_mark.line + 1)
    return said


@cache
def reader() -> type[Any]:
    """Return a reader of YAML into plain values alone; it is ten times as fast where PyYAML was built with libyaml."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Reader(base):  # type: ignore[misc]
        """Whatever a value is wrong in, it is an error of YAML that knows its place."""

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                return base.construct_object(self, node, deep)
            except yaml.YAMLError:
                raise
            except WRONG as error:
                # The value itself is not told: it may be a secret.
                what = f"a value cannot be read as {node.tag.rpartition(':')[2]}; quote it if it is text"
                raise yaml.constructor.ConstructorError(
                    None, None, what, node.start_mark
                ) from error

    return Reader


def plain(text: str) -> Any:
    """Return what a document holds, in plain values. Raises as ``bounded`` does."""
    made = reader()(bounded(text))
    try:
        return made.get_single_data()
    finally:
        made.dispose()


def root(text: str) -> yaml.Node | None:
    """Return the tree of a document, of which places are told. Raises as ``bounded`` does."""
    made = reader()(bounded(text))
    try:
        found: yaml.Node | None = made.get_single_node()
        return found
    finally:
        made.dispose()


def bounded(text: str) -> str:
    """The text of a file of settings. Raises ``TooMuch``, or what YAML's reader raises where it is none."""
    # Counted from events, which come one by one and take no room. Once it is built, a
    # tree of aliases of aliases has filled the memory already.
    import yaml

    if len(text) > FILE_CHARS:
        raise TooMuch(f"longer than {FILE_CHARS:,} characters")
    sizes, opened, total = dict[str, int](), list[tuple[str | None, int]](), 0
    for event in yaml.parse(text, Loader=reader()):
        line = 1 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, total))
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            # What an alias of it stands for later; what aliases within it stand
            # for is part of that.
            sizes[anchor or ""] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            sizes[event.anchor or ""] = 1
            total += 1
            value: str = event.value
            # What is quoted is a text, and no number.
            if len(value) > DIGITS and not event.implicit[1] and NUMERAL.issuperset(value):
                raise TooMuch(f"a number of more than {DIGITS:,} characters", line)
        elif isinstance(event, yaml.AliasEvent):
            total += sizes.get(event.anchor or "", 1)
        if len(opened) > DEPTH:
            raise TooMuch(f"nested deeper than {DEPTH}", line)
        if total > VALUES:
            raise TooMuch(f"more than {VALUES:,} values, with those that aliases stand for", line)
    return text


def key_twice(root: yaml.Node | None) -> yaml.ScalarNode | None:
    """The first key that stands there a second time, wherever in a document; what is aliased is seen once."""
    import yaml

    # Without recursion, and each node once: aliases can make a tree of a few nodes
    # look like millions.
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            known = set[str]()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                if key.value in known:
                    return key
                known.add(key.value)
            waiting += [value for _, value in reversed(node.value)]
    return None
