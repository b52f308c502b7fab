"""The forward pass of a small BERT encoder in NumPy, float32 throughout.

Source: Devlin et al. 2019 (encoder); Reimers and Gurevych 2019 (mean of the tokens, length 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Tokens: TypeAlias = NDArray[np.int64]

HEADS = 12
EPSILON = np.float32(1e-12)
MASKED = np.float32(-1e9)

ONE, HALF, ROOT_HALF = np.float32(1), np.float32(0.5), np.float32(0.5**0.5)
STRETCH = np.float32(0.3275911)
SERIES = np.array([1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592], np.float32)


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear map, kept as it is multiplied: inputs × outputs."""

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        """All tokens of all texts in one product: the weights pass by the core's cache once."""
        made: Floats = x.reshape(-1, x.shape[-1]) @ self.weight
        made += self.bias
        return made.reshape(*x.shape[:-1], -1)


@dataclass(frozen=True, slots=True)
class Norm:
    """Normalisation of each token's features, then their own scale and shift."""

    scale: Floats
    shift: Floats

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
        parts = [
            _dense(weights, f"{at}.attention.self.{name}") for name in ("query", "key", "value")
        ]
        return cls(
            Dense(
                np.concatenate([part.weight for part in parts], axis=1),
                np.concatenate([part.bias for part in parts]),
            ),
            _dense(weights, f"{at}.attention.output.dense"),
            _norm(weights, f"{at}.attention.output.LayerNorm"),
            _dense(weights, f"{at}.intermediate.dense"),
            _dense(weights, f"{at}.output.dense"),
            _norm(weights, f"{at}.output.LayerNorm"),
        )

    def __call__(self, x: Floats, away: Floats) -> Floats:
        x = self.attended(x + self.joined(_attention(self.attention(x), away)))
        return self.left(x + self.narrow(gelu(self.wide(x))))


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
        return cls(words, places, _norm(weights, f"{at}.LayerNorm"), layers)

    def __call__(self, tokens: Tokens, mask: Floats) -> Floats:
        """(texts, tokens) ids, and 1 where one is meant → (texts, features)."""
        x = self.first(self.words[tokens] + self.places[: tokens.shape[1]])
        away = ((1 - mask) * MASKED)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, away)
        mean: Floats = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        length: Floats = np.sqrt((mean * mean).sum(axis=1, keepdims=True))
        return mean / length


def _attention(both: Floats, away: Floats) -> Floats:
    texts, tokens, features = both.shape
    heads = both.reshape(texts, tokens, 3, HEADS, features // 3 // HEADS).transpose(2, 0, 3, 1, 4)
    query, key, value = heads
    scores: Floats = query @ key.swapaxes(2, 3) / np.float32(np.sqrt(query.shape[-1])) + away
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed: Floats = (scores / scores.sum(axis=-1, keepdims=True)) @ value
    return mixed.transpose(0, 2, 1, 3).reshape(texts, tokens, features // 3)


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


def _dense(weights: Mapping[str, Floats], name: str) -> Dense:
    return Dense(np.ascontiguousarray(weights[f"{name}.weight"].T), weights[f"{name}.bias"])


def _norm(weights: Mapping[str, Floats], name: str) -> Norm:
    return Norm(weights[f"{name}.weight"], weights[f"{name}.bias"])
