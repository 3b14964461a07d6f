# SPDX-License-Identifier: Apache-2.0
"""LeNet reads handwritten digits: two convolutions, each with pooling, and three full layers.

After LeCun, Bottou, Bengio and Haffner, *Gradient-Based Learning Applied to Document Recognition* (1998), for images
of 8 by 8. It is written three times, in the words of three families, and learns the same from the same weights.
"""

from __future__ import annotations

import math

import numpy as np
from training import Model, adam, drawn, options, variables

import ngraph_rewrite as ng
from ngraph_rewrite.digits import load_digits, split

BATCH, RATE, MARGIN = 32, 0.003, 3  # LeNet puts a margin around its images: strokes may end at a border

AXES = {
    "conv1": "C R S M", "bias1": "M", "conv2": "M R S K", "bias2": "K",
    "full3": "K H W A", "bias3": "A", "full4": "A B", "bias4": "B", "full5": "B Y", "bias5": "Y",
}  # fmt: skip
SIZES = {"C": 1, "R": 3, "S": 3, "M": 6, "K": 16, "H": 2, "W": 2, "A": 120, "B": 84, "Y": 10}
INPUTS = {"conv1": "C R S", "conv2": "M R S", "full3": "K H W", "full4": "A", "full5": "B"}


def axes(values: dict[str, np.ndarray]) -> Model:
    """By names: a full layer sums over whatever axes its weights and its input share."""
    w, dtype = variables(values, AXES), values["conv1"].dtype
    N, Y = ng.Axis("N"), w["bias5"].axes[0]
    images, labels = ng.placeholder({"N": None, "C": 1, "H": 14, "W": 14}, dtype), ng.placeholder([N], "int64")
    x = ng.pooling(ng.relu(ng.convolution(images, w["conv1"]) + w["bias1"]), "max", size={"H": 2, "W": 2})
    x = ng.pooling(ng.relu(ng.convolution(x, w["conv2"]) + w["bias2"]), "max", size={"H": 2, "W": 2})
    x = ng.relu(ng.dot(w["full3"], x) + w["bias3"])
    x = ng.relu(ng.dot(w["full4"], x) + w["bias4"])
    scores = ng.dot(w["full5"], x) + w["bias5"]
    error = ng.cross_entropy_multi(ng.softmax(scores), ng.one_hot(labels, Y, dtype=dtype))
    return Model((images, labels), ng.mean(error, out_axes=[]), ng.argmax(scores), w)


def simple(values: dict[str, np.ndarray]) -> Model:
    """By position, with the samples marked: features are channels, rows and columns."""
    s, w, N = ng.simple, variables(values), ng.simple.N

    def layer(x: ng.Op, filters: ng.Op, bias: ng.Op) -> ng.Op:
        y = s.convolution(x, filters)
        return s.pooling(s.relu(y + s.broadcast(bias, y.shape[1:], new=[1, 2])), "max", size=2)

    images, labels = s.placeholder((N, 1, 14, 14), values["conv1"].dtype), s.placeholder((N,), "int64")
    x = layer(layer(images, w["conv1"], w["bias1"]), w["conv2"], w["bias2"])
    x = s.relu(s.tensordot(x, w["full3"], [0, 1, 2], [0, 1, 2]) + w["bias3"])
    x = s.relu(x @ w["full4"] + w["bias4"])
    scores = x @ w["full5"] + w["bias5"]
    error = s.cross_entropy_multi(s.softmax(scores), s.one_hot(labels, scores.shape[1], scores.dtype))
    return Model((images, labels), s.mean(error, keep=()), s.argmax(scores), w)


def numpy(values: dict[str, np.ndarray]) -> Model:
    """As one would in NumPy: windows by indices, pooling by a shape of pairs."""
    n, w = ng.numpy, variables(values)

    def layer(x: ng.Op, filters: ng.Op, bias: ng.Op) -> ng.Op:
        size, side = filters.shape[1], x.shape[-1] - filters.shape[1] + 1
        at = np.arange(side)[:, None] + np.arange(size)  # where the elements of each window are
        windows = x[:, :, at[:, None, :, None], at[None, :, None, :]]
        y = n.maximum(n.einsum("nchwrs,crsk->nkhw", windows, filters) + bias[:, None, None], 0)
        return n.max(n.reshape(y, (-1, y.shape[1], side // 2, 2, side // 2, 2)), axis=(3, 5))

    images, labels = ng.placeholder((None, 1, 14, 14), values["conv1"].dtype), ng.placeholder((None,), "int64")
    x = layer(layer(images, w["conv1"], w["bias1"]), w["conv2"], w["bias2"])
    x = n.maximum(n.tensordot(x, w["full3"], axes=3) + w["bias3"], 0)
    x = n.maximum(x @ w["full4"] + w["bias4"], 0)
    scores = x @ w["full5"] + w["bias5"]
    scores = scores - n.max(scores, axis=1, keepdims=True)
    chosen = n.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    loss = n.mean(n.log(n.sum(n.exp(scores), axis=1)) - chosen)
    return Model((images, labels), loss, n.argmax(scores, axis=1), w)


FAMILIES = {"axes": axes, "simple": simple, "numpy": numpy}


def framed(images: np.ndarray) -> np.ndarray:
    """Images with one channel and a margin."""
    return np.pad(images[:, None], ((0, 0), (0, 0), (MARGIN, MARGIN), (MARGIN, MARGIN)))


def main(arguments: list[str] | None = None) -> float:
    """Train, and print the share of the test images that are read rightly."""
    chosen = options(__doc__.partition("\n")[0], FAMILIES, 12, arguments)
    data, random = split(*load_digits()), np.random.default_rng(0)
    model = FAMILIES[chosen.family](drawn(AXES, SIZES, INPUTS))
    rate = ng.placeholder([])
    with ng.make_transformer(chosen.target) as transformer:
        train = transformer.computation([model.loss, adam(model, rate)], *model.inputs, rate)
        read = transformer.computation(model.answer, model.inputs[0])
        images = framed(data.train_images)
        for epoch in range(chosen.epochs):
            order = random.permutation(len(images))
            speed = RATE * (1 + math.cos(math.pi * epoch / chosen.epochs)) / 2
            batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
            losses = [float(train(images[b], data.train_labels[b], speed)[0]) for b in batches]
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
        accuracy = float(np.mean(read(framed(data.test_images)) == data.test_labels))
    print(f"test accuracy: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
