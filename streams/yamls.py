"""YAML that people write: no key may stand twice in one mapping. YAML's readers take the last in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

TWICE = "stands twice"


def key_twice(root: yaml.Node | None) -> yaml.ScalarNode | None:
    """The first key that stands there a second time, wherever in a document; what is aliased is seen once."""
    import yaml

    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            found = _second(node.value)
            if found is not None:
                return found
            waiting += [value for _, value in reversed(node.value)]
    return None


def _second(pairs: list[tuple[Any, Any]]) -> yaml.ScalarNode | None:
    import yaml

    known = set[str]()
    for key, _ in pairs:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in known:
            return key
        known.add(key.value)
    return None
