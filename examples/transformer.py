# SPDX-License-Identifier: Apache-2.0
"""A transformer block learns to copy: it reads letters, then a mark, and says the letters again.

Causal attention of several heads and two full layers, each behind a layer norm and beside a residual path, after
Vaswani et al., *Attention Is All You Need* (2017), with the norms first, as in Xiong et al., *On Layer Normalization in
the Transformer Architecture* (2020). It is written three times, in the words of three families, and learns the same
from the same weights.
"""

from __future__ import annotations

import math

import numpy as np
from training import Model, adam, drawn, options, variables

import ngraph_rewrite as ng

LETTERS, LENGTH, BATCH, STEPS, RATE = 26, 12, 32, 20, 0.005  # different letters, letters to copy, and of training

AXES = {
    "letters": "V F", "places": "REC F", "gain1": "F", "shift1": "F",
    "query": "A D F", "key": "A D F", "value": "A D F", "mix": "F A D", "gain2": "F", "shift2": "F",
    "up": "H F", "bias": "H", "down": "F H", "scores": "V F",
}  # fmt: skip
SIZES = {"REC": 2 * LENGTH, "V": LETTERS + 1, "F": 32, "A": 4, "D": 8, "H": 64}
INPUTS = {
    "letters": "F", "places": "F", "query": "F", "key": "F", "value": "F", "mix": "A D", "up": "F", "down": "H",
    "scores": "F",
}  # fmt: skip


def axes(values: dict[str, np.ndarray]) -> Model:
    """By names: heads, positions and samples need no place, and no transposition."""
    w, dtype = variables(values, AXES), values["places"].dtype
    T, V, D = w["places"].axes[0], w["scores"].axes[0], w["query"].axes[1]
    S = ng.Axis("S", T.length)  # T once more, for the positions that are looked at
    causal = ng.constant(np.tri(T.length, dtype=bool), [T, S])

    def attention(x: ng.Op) -> ng.Op:
        q, k, v = (ng.dot(w[name], x) for name in ("query", "key", "value"))
        k, v = (ng.map_roles(y, {"REC": "S"}) for y in (k, v))
        fits = ng.sum(q * k, [D]) / math.sqrt(D.length)
        share = ng.softmax(ng.where(causal, fits, -1e9), [S])
        return ng.dot(w["mix"], ng.sum(share * v, [S]))

    half = T.length // 2
    letters, copy = (ng.placeholder({"REC": length, "N": None}, "int64") for length in (T.length, half))
    x = ng.lookuptable(w["letters"], letters, [*w["gain1"].axes, *letters.axes]) + w["places"]
    x = x + attention(ng.layer_norm(x, w["gain1"] + 1, w["shift1"]))
    x = x + ng.dot(w["down"], ng.relu(ng.dot(w["up"], ng.layer_norm(x, w["gain2"] + 1, w["shift2"])) + w["bias"]))
    scores = ng.slice_along_axis(ng.dot(w["scores"], x), T, slice(half, None))
    error = ng.cross_entropy_multi(ng.softmax(scores), ng.one_hot(copy, V, dtype=dtype))
    return Model((letters, copy), ng.mean(error, out_axes=[]), ng.argmax(scores), w)


def simple(values: dict[str, np.ndarray]) -> Model:
    """By position, with the samples marked: a product of matrices for each head and sample."""
    s, w, N = ng.simple, variables(values), ng.simple.N
    (times, _), (heads, depth, _), dtype = w["places"].shape, w["query"].shape, values["places"].dtype
    causal = np.tri(times, dtype=bool)

    def attention(x: ng.Op) -> ng.Op:
        q, k, v = (s.tensordot(x, w[name], [1], [2]) for name in ("query", "key", "value"))
        found = []
        for h in range(heads):
            fits = q[:, h] @ s.transpose(k[:, h]) / math.sqrt(depth)
            found.append(s.softmax(s.where(causal, fits, -1e9), [1]) @ v[:, h])
        return s.tensordot(s.stack(found, 1), w["mix"], [1, 2], [1, 2])

    letters, copy = s.placeholder((times, N), "int64"), s.placeholder((times // 2, N), "int64")
    x = s.take(w["letters"], letters) + w["places"]
    x = x + attention(s.layer_norm(x, w["gain1"] + 1, w["shift1"], [1]))
    y = s.tensordot(s.layer_norm(x, w["gain2"] + 1, w["shift2"], [1]), w["up"], [1], [1])
    x = x + s.tensordot(s.relu(y + s.broadcast(w["bias"], y.shape[:2], new=[0])), w["down"], [1], [1])
    scores = s.tensordot(w["scores"], x[times // 2 :], [1], [1])
    error = s.cross_entropy_multi(s.softmax(scores, [0]), s.one_hot(copy, w["letters"].shape[0], dtype), axes=[0])
    return Model((letters, copy), s.mean(error, keep=()), s.argmax(scores, [0]), w)


def numpy(values: dict[str, np.ndarray]) -> Model:
    """As one would in NumPy, with the subscripts of einsum."""
    n, w = ng.numpy, variables(values)
    times, depth = w["places"].shape[0], w["query"].shape[1]

    def norm(x: ng.Op, gain: ng.Op, shift: ng.Op) -> ng.Op:
        average, spread = n.mean(x, axis=-1, keepdims=True), n.var(x, axis=-1, keepdims=True)
        return (x - average) / n.sqrt(spread + 1e-5) * (gain + 1) + shift

    def attention(x: ng.Op) -> ng.Op:
        q, k, v = (n.einsum("adf,tnf->natd", w[name], x) for name in ("query", "key", "value"))
        fits = n.einsum("natd,nasd->nats", q, k) / math.sqrt(depth)
        share = n.softmax(n.where(np.tri(times, dtype=bool), fits, -1e9), axis=-1)
        return n.einsum("fad,nats,nasd->tnf", w["mix"], share, v)

    letters, copy = ng.placeholder((times, None), "int64"), ng.placeholder((times // 2, None), "int64")
    x = w["letters"][letters] + w["places"][:, None]
    x = x + attention(norm(x, w["gain1"], w["shift1"]))
    y = n.relu(n.einsum("hf,tnf->tnh", w["up"], norm(x, w["gain2"], w["shift2"])) + w["bias"])
    x = x + n.einsum("fh,tnh->tnf", w["down"], y)
    scores = x[times // 2 :] @ n.matrix_transpose(w["scores"])
    loss = -n.mean(n.take_along_axis(n.log_softmax(scores, axis=-1), copy[..., None], axis=-1))
    return Model((letters, copy), loss, n.argmax(scores, axis=-1), w)


FAMILIES = {"axes": axes, "simple": simple, "numpy": numpy}


def sequences(random: np.random.Generator, count: int, length: int = LENGTH) -> tuple[np.ndarray, np.ndarray]:
    """Letters, the mark, and the letters again but for the last; and what is to be said from the mark on."""
    letters = random.integers(0, LETTERS, (length, count))
    return np.concatenate([letters, np.full((1, count), LETTERS), letters[:-1]]), letters


def main(arguments: list[str] | None = None) -> float:
    """Train, show one sequence, and print the share of letters of new sequences that are copied rightly."""
    chosen = options(__doc__.partition("\n")[0], FAMILIES, 12, arguments)
    random = np.random.default_rng(0)
    model = FAMILIES[chosen.family](drawn(AXES, SIZES, INPUTS))
    rate = ng.placeholder([])
    with ng.make_transformer(chosen.target) as transformer:
        train = transformer.computation([model.loss, adam(model, rate)], *model.inputs, rate)
        answer = transformer.computation(model.answer, model.inputs[0])
        for epoch in range(chosen.epochs):
            speed = RATE * (1 + math.cos(math.pi * epoch / chosen.epochs)) / 2
            losses = [float(train(*sequences(random, BATCH), speed)[0]) for _ in range(STEPS)]
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
        letters, copy = sequences(random, 256)
        said = answer(letters)
    for what, column in ("read", letters[:LENGTH, 0]), ("said", said[:, 0]):
        print(f"{what}: {''.join(chr(ord('a') + k) for k in column)}")
    accuracy = float(np.mean(said == copy))
    print(f"letters copied: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
