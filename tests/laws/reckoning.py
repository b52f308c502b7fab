"""A battery of everything that the product decides by numbers, over many drawn ones: what a processor
makes of them is one line, by which it is compared with another."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, cast

import numpy as np

from handlers.learning import calibrate, metrics, reinforce
from handlers.learning.cosine import cosine
from handlers.learning.features import features
from handlers.learning.linucb import Dual, LinUcb, Ridge, kept
from handlers.policies.baselines.mcts import Branch, uct
from handlers.policies.baselines.tree import START
from handlers.policies.baselines.ttpi import Candidate, perplexity
from handlers.policies.cot2_meta.scores import selection_score
from handlers.policies.mgv.nearest import Vectors
from handlers.policies.mgv.satisfice import Thresholds, lowered
from handlers.policies.mgv.settings import RetrievalSettings
from schemas.identity import canonical, hash01, text_digest
from schemas.memory import MemoryItem
from schemas.questions import Recall
from schemas.vectors import pack
from state.mirror import Block
from streams.answering.embedders.hashed import hashed

SIDES = 24
"""Of the drawn graphs and matrices."""


def drawn(name: str, count: int, low: float = -1.0, high: float = 1.0) -> list[float]:
    return [low + (high - low) * hash01(7, name, at) for at in range(count)]


def graphs() -> object:
    """A graph moved by two hundred compared pairs, one after the other."""
    paths, principles = [f"t{at}" for at in range(6)], [f"m{at}" for at in range(12)]
    weights = iter(drawn("weights", 10**4, 0.0, 2.0))
    part = reinforce.Active(
        {"q": 0.9, "r": 0.4},
        {(case, path): next(weights) for case in "qr" for path in paths},
        {(path, name): next(weights) for path in paths for name in principles},
    )
    for at, reward in enumerate(drawn("rewards", 200)):
        part = reinforce.learn_pair(part, principles[at % len(principles)], reward, 0.1)
    shares = reinforce.softmax(reinforce.relevance(part))
    rewards = [reinforce.advantages(drawn(f"group {at}", 9)) for at in range(200)]
    return [sorted(part.to_path.items()), sorted(part.to_principle.items()), shares, rewards]


def calibrators() -> object:
    """Calibrators of either kind, and what they make of a confidence."""
    made: list[object] = []
    for labels in (40, 200, 400):
        sure = drawn(f"sure {labels}", labels, 0.0)
        pairs = [(c, hash01(7, "right", at) < c) for at, c in enumerate(sure)]
        calibrator = calibrate.fit(pairs)
        assert calibrator is not None
        made += [[calibrator(c) for c in drawn("asked", 300, 0.0)]]
        made += [metrics.brier(pairs), metrics.ece(pairs), metrics.aurc(pairs)]
        made.append(metrics.entropy_share([labels, 3, 7]))
    return made


def bandits() -> object:
    """Regressions of one arm and of five, their scores, and the scores of one that is kept by its pulls."""
    made: list[object] = []
    for arms in (1, 5):
        bandit = LinUcb(SIDES, 1.0, 0.5)
        for _ in range(arms):
            bandit.grow()
        for at in range(60):
            x = features(pack(drawn(f"context {at}", 64)), SIDES)
            made += bandit.scores(x)
            bandit.add(at % arms, x, hash01(7, "reward", at))
        made += map(kept, bandit.arms)
    rows = [np.array(drawn(f"row {at}", SIDES)) for at in range(9)]
    dual, ridge = Dual(SIDES, 1.0), Ridge(SIDES, 1.0)
    for row, reward in zip(rows, drawn("pulls", 9), strict=True):
        dual.add(row, reward)
        made.append(dual.score(rows[0] + rows[1], 0.5))
        ridge.add(row, 0.3)
    return [*made, ridge.theta.tolist()]


def similarities() -> object:
    """Which of three hundred are nearest, by either index, many of them equally near."""
    texts = [f"lesson {at % 97} on {at % 5} signs" for at in range(300)]
    items = tuple(
        MemoryItem(f"{at:03}", "lesson", "r", text, text_digest(text), 1, vector=pack(hashed(text)))
        for at, text in enumerate(texts)
    )
    cases = Vectors([(item.id, item.vector) for item in items])
    block, made = Block.of(items), list[object]()
    for at in range(12):
        query = hashed(f"a lesson on {at} signs")
        near = block.nearest(Recall("", ("r",), 7), query)
        made += [[(item.id, score) for item, score in near], cases.nearest(query, 7)]
        made.append(cosine(query, drawn(f"any {at}", len(query))))
    return made


def searches() -> object:
    """Scores by which a tree is searched, thresholds that fall, perplexities."""
    values = drawn("values", 400, 0.0)
    root = Branch(START)
    made: list[object] = []
    for at, value in enumerate(values):
        made.append(selection_score(value, at % 7, at, 0.3))
        root.visits = at + 1
        child = Branch(START, root, visits=1 + at % 9, mean=value)
        made.append(uct(child, 1.4))
        made.append(perplexity(Candidate("a", "t", "x", -3 * value, "own")))
        fallen, factor = lowered(
            Thresholds(value, 0.5), Thresholds(0.7, value), at % 40, (), RetrievalSettings()
        )
        made += [fallen.confidence, fallen.knowing, factor]
    return made


BATTERY: Mapping[str, Callable[[], object]] = {
    each.__name__: each for each in (graphs, calibrators, bandits, similarities, searches)
}


def said(values: Any) -> Any:
    """Numbers to their last bit."""
    if isinstance(values, float):
        return values.hex()
    if isinstance(values, Mapping):
        return {str(name): said(value) for name, value in cast("Mapping[Any, Any]", values).items()}
    if isinstance(values, Sequence) and not isinstance(values, str):
        return [said(value) for value in cast("Sequence[Any]", values)]
    return str(values)


def reckoned() -> str:
    """A digest of each part of the battery."""
    return json.dumps(
        {name: sha256(canonical(said(part()))).hexdigest()[:12] for name, part in BATTERY.items()}
    )
