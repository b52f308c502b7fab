"""The forward pass of a small BERT encoder in NumPy, float32 throughout.

Texts lie one behind the other, without padding. A library of linear algebra adds up a row of a product
in an order that hangs on the product's shape, on where the row stands in it and on the processor; so
no product here spans two texts. Everything else goes number by number or row by row. That is why a
text has one vector wherever it stands in whatever batch.

Source: Devlin et al. 2019 (encoder); Reimers and Gurevych 2019 (mean of the tokens, length 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Places: TypeAlias = Sequence[slice]
"""Which rows are which text's."""

HEADS = 12
EPSILON = np.float32(1e-12)

ONE, HALF, ROOT_HALF = np.float32(1), np.float32(0.5), np.float32(0.5**0.5)
STRETCH = np.float32(0.3275911)
SERIES = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], np.float32)


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear map, kept as it is multiplied: inputs × outputs."""

    weight: Floats
    bias: Floats

    @classmethod
    def of(cls, weights: Mapping[str, Floats], name: str) -> Self:
        """The map of this name in a checkpoint, which keeps it the other way round."""
        return cls(np.ascontiguousarray(weights[f"{name}.weight"].T), weights[f"{name}.bias"])

    def __call__(self, x: Floats, texts: Places) -> Floats:
        """A product for each text; the weights stay in the core's cache from one to the next."""
        made: Floats = np.empty((len(x), len(self.bias)), np.float32)
        for text in texts:
            np.matmul(x[text], self.weight, out=made[text])
        made += self.bias
        return made


@dataclass(frozen=True, slots=True)
class Norm:
    """Normalisation of each token's features, then their own scale and shift."""

    scale: Floats
    shift: Floats

    @classmethod
    def of(cls, weights: Mapping[str, Floats], name: str) -> Self:
        """The scale and shift of this name in a checkpoint."""
        return cls(weights[f"{name}.weight"], weights[f"{name}.bias"])

    def __call__(self, x: Floats) -> Floats:
        centred: Floats = x - x.mean(axis=-1, keepdims=True)
        spread: Floats = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + EPSILON)
        return centred / spread * self.scale + self.shift


@dataclass(frozen=True, slots=True)
class Layer:
    """Attention over the tokens, then two maps of each; each adds to what came in."""

    attention: Dense
    """Query, key and value side by side."""
    joined: Dense
    attended: Norm
    wide: Dense
    narrow: Dense
    left: Norm

    @classmethod
    def of(cls, weights: Mapping[str, Floats], number: int) -> Self:
        """The layer of a checkpoint."""
        at = f"encoder.layer.{number}"
        names = (f"{at}.attention.self.{name}" for name in ("query", "key", "value"))
        # One product in the place of three: the tokens are read from memory once.
        parts = [Dense.of(weights, name) for name in names]
        return cls(
            Dense(
                np.concatenate([part.weight for part in parts], axis=1),
                np.concatenate([part.bias for part in parts]),
            ),
            Dense.of(weights, f"{at}.attention.output.dense"),
            Norm.of(weights, f"{at}.attention.output.LayerNorm"),
            Dense.of(weights, f"{at}.intermediate.dense"),
            Dense.of(weights, f"{at}.output.dense"),
            Norm.of(weights, f"{at}.output.LayerNorm"),
        )

    def __call__(self, x: Floats, texts: Places) -> Floats:
        x = self.attended(x + self.joined(_attention(self.attention(x, texts), texts), texts))
        return self.left(x + self.narrow(gelu(self.wide(x, texts)), texts))


@dataclass(frozen=True, slots=True)
class Encoder:
    """Token ids to one vector of length 1 for each text."""

    words: Floats
    places: Floats
    first: Norm
    layers: tuple[Layer, ...]

    @classmethod
    def of(cls, weights: Mapping[str, Floats]) -> Self:
        """The encoder of a checkpoint."""
        at = "embeddings"
        kinds = weights[f"{at}.token_type_embeddings.weight"]
        places = weights[f"{at}.position_embeddings.weight"] + kinds[0]
        count = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder."))
        layers = tuple(Layer.of(weights, number) for number in range(count))
        words = weights[f"{at}.word_embeddings.weight"]
        return cls(words, places, Norm.of(weights, f"{at}.LayerNorm"), layers)

    def __call__(self, tokens: Sequence[Sequence[int]]) -> Floats:
        """The ids of each text's tokens, at least one → (texts, features)."""
        texts = [slice(*ends) for ends in pairwise(accumulate(map(len, tokens), initial=0))]
        x = self.first(
            np.concatenate([self.words[ids] + self.places[: len(ids)] for ids in map(list, tokens)])
        )
        for layer in self.layers:
            x = layer(x, texts)
        mean: Floats = np.stack([x[text].mean(axis=0) for text in texts])
        length: Floats = np.sqrt((mean * mean).sum(axis=1, keepdims=True))
        return mean / length


def _attention(both: Floats, texts: Places) -> Floats:
    features = both.shape[1] // 3
    made: Floats = np.empty((len(both), features), np.float32)
    for text in texts:
        heads = both[text].reshape(-1, 3, HEADS, features // HEADS)
        query, key, value = heads.transpose(1, 2, 0, 3)
        scores: Floats = query @ key.swapaxes(1, 2) / np.float32(np.sqrt(query.shape[-1]))
        # Less the largest, so that no exponential overflows; the shares stay the same.
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed: Floats = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        made[text] = mixed.transpose(1, 0, 2).reshape(-1, features)
    return made


def gelu(x: Floats) -> Floats:
    """x Φ(x), with the error function to 1.5e-7. Source: Abramowitz and Stegun 7.1.26."""
    size: Floats = np.abs(x) * ROOT_HALF
    t: Floats = np.reciprocal(ONE + STRETCH * size)
    series = np.zeros_like(t)
    for factor in SERIES:
        series += factor
        series *= t
    tail: Floats = series * np.exp(-size * size) * HALF
    share: Floats = np.where(x < 0, tail, ONE - tail)
    return x * share
