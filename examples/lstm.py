# SPDX-License-Identifier: Apache-2.0
"""A long short-term memory learns a poem by heart, character by character, and writes it down.

It is written three times, in the words of three families, and learns the same from the same weights. However long a
sequence is, its step is compiled once, and runs as a loop.
"""

from __future__ import annotations

import math

import numpy as np
from training import Model, adam, drawn, options, variables

import ngraph_rewrite as ng

POEM = """\
Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?

In what distant deeps or skies,
Burnt the fire of thine eyes?
On what wings dare he aspire?
What the hand, dare seize the fire?

And what shoulder, & what art,
Could twist the sinews of thy heart?
And when thy heart began to beat,
What dread hand? & what dread feet?
"""  # William Blake, The Tyger, 1794: the first three stanzas
LETTERS = sorted(set(POEM))
WINDOW, BATCH, STEPS, RATE = 32, 16, 40, 0.02  # characters in a sequence, sequences in a step, steps in an epoch

AXES = {"w": "gate H V", "u": "gate H before", "b": "gate H", "out": "V H", "bias": "V"}
SIZES = {"gate": 4, "H": 64, "before": 64, "V": len(LETTERS)}
INPUTS = {"w": "V", "u": "before", "out": "H"}


def axes(values: dict[str, np.ndarray]) -> Model:
    """By names, with the layer of the library: along the axis REC, for each of N."""
    w, dtype = variables(values, AXES), values["w"].dtype
    V = w["bias"].axes[0]
    letters, following = (ng.placeholder({"REC": None, "N": None}, "int64") for _ in range(2))
    h, _ = ng.lstm(ng.one_hot(letters, V, dtype=dtype), w["w"], w["u"], w["b"])
    scores = ng.dot(w["out"], h) + w["bias"]
    error = ng.cross_entropy_multi(ng.softmax(scores), ng.one_hot(following, V, dtype=dtype))
    return Model((letters, following), ng.mean(error, out_axes=[]), ng.argmax(scores), w)


def simple(values: dict[str, np.ndarray]) -> Model:
    """By position, with N and R marked: a scan along R, whose step sees one character of each sample."""
    s, w, N, R = ng.simple, variables(values), ng.simple.N, ng.simple.R
    (size, hidden), dtype = values["out"].shape, values["w"].dtype

    def step(state: tuple[ng.Op, ng.Op], z: ng.Op) -> tuple[tuple[ng.Op, ng.Op], ng.Op]:
        h, c = state
        gates = z + w["u"] @ h
        i, f, g, o = (gates[k] for k in range(4))
        c = s.sigmoid(f) * c + s.sigmoid(i) * s.tanh(g)
        h = s.sigmoid(o) * s.tanh(c)
        return (h, c), h

    letters, following = (s.placeholder((R, N), "int64") for _ in range(2))
    z = w["w"] @ s.one_hot(letters, size, dtype) + w["b"]
    start = s.constant(0, (hidden, N), dtype)
    _, h = s.scan(step, (start, start), z)
    scores = w["out"] @ h + w["bias"]
    error = s.cross_entropy_multi(s.softmax(scores), s.one_hot(following, size, dtype))
    return Model((letters, following), s.mean(error, keep=()), s.argmax(scores), w)


def numpy(values: dict[str, np.ndarray]) -> Model:
    """As one would in NumPy, but for the loop: a scan along the first axis."""
    n, w = ng.numpy, variables(values)
    (size, hidden), dtype = values["out"].shape, values["w"].dtype

    def step(state: tuple[ng.Op, ng.Op], z: ng.Op) -> tuple[tuple[ng.Op, ng.Op], ng.Op]:
        h, c = state
        gates = z + n.einsum("ghk,nk->ngh", w["u"], h)
        i, f, g, o = (gates[:, k] for k in range(4))
        c = n.sigmoid(f) * c + n.sigmoid(i) * n.tanh(g)
        h = n.sigmoid(o) * n.tanh(c)
        return (h, c), h

    letters = ng.placeholder((None, None), "int64")
    following = ng.placeholder(letters.axes, "int64")
    z = n.einsum("ghv,tnv->tngh", w["w"], n.eye(size, dtype=dtype)[letters]) + w["b"]
    start = n.zeros((letters.shape[1], hidden), dtype=dtype)
    _, h = n.scan(step, (start, start), z)
    scores = h @ n.matrix_transpose(w["out"]) + w["bias"]
    scores = scores - n.max(scores, axis=-1, keepdims=True)
    chosen = n.take_along_axis(scores, following[..., None], axis=-1)[..., 0]
    loss = n.mean(n.log(n.sum(n.exp(scores), axis=-1)) - chosen)
    return Model((letters, following), loss, n.argmax(scores, axis=-1), w)


FAMILIES = {"axes": axes, "simple": simple, "numpy": numpy}


def windows(text: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The characters from each start on, a column each, and those that follow them."""
    at = starts + np.arange(WINDOW)[:, None]
    return text[at], text[at + 1]


def main(arguments: list[str] | None = None) -> float:
    """Train, let the network write, and print the share of characters that it foresees."""
    chosen = options(__doc__.partition("\n")[0], FAMILIES, 8, arguments)
    text, random = np.array([LETTERS.index(c) for c in POEM]), np.random.default_rng(0)
    starts = np.arange(len(text) - WINDOW)
    model = FAMILIES[chosen.family](drawn(AXES, SIZES, INPUTS))
    rate = ng.placeholder([])
    with ng.make_transformer(chosen.target) as transformer:
        train = transformer.computation([model.loss, adam(model, rate)], *model.inputs, rate)
        foresee = transformer.computation(model.answer, model.inputs[0])
        for epoch in range(chosen.epochs):
            speed = RATE * (1 + math.cos(math.pi * epoch / chosen.epochs)) / 2
            drawn_starts = random.choice(starts, (STEPS, BATCH))
            losses = [float(train(*windows(text, s), speed)[0]) for s in drawn_starts]
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
        written = list(text[:WINDOW])
        while len(written) < len(text):
            written.append(foresee(np.array(written[-WINDOW:])[:, None])[-1, 0])
        letters, following = windows(text, starts)
        accuracy = float(np.mean(foresee(letters)[-1] == following[-1]))
    print("".join(LETTERS[k] for k in written))
    print(f"characters foreseen: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
