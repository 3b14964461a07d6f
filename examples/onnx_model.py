# SPDX-License-Identifier: Apache-2.0
"""Read an ONNX model, and run it on noise; without one, make a small network of ONNX operators and train it.

It needs the package ``onnx``. The reader is in ``onnx_reader``.
"""

from __future__ import annotations

import argparse
import math
from time import perf_counter

import numpy as np
import onnx
import training
from onnx import numpy_helper, parser
from onnx_reader import Model, read

import ngraph_rewrite as ng
from ngraph_rewrite.digits import load_digits, split

EPOCHS, BATCH = 4, 32
TEXT = """
<ir_version: 10, opset_import: ["": 21]>
digits (float[batch, 1, 8, 8] images) => (float[batch, 10] scores) {
    a = Conv <pads = [1, 1, 1, 1]> (images, filters1, shift1)
    b = Relu (a)
    c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
    d = Conv <pads = [1, 1, 1, 1]> (c, filters2, shift2)
    e = Relu (d)
    f = Flatten (e)
    scores = Gemm (f, weights, bias)
}
"""
SHAPES = {"filters1": (16, 1, 3, 3), "shift1": (16,), "filters2": (32, 16, 3, 3), "shift2": (32,)}
SHAPES |= {"weights": (512, 10), "bias": (10,)}


def filled(text: str, shapes: dict[str, tuple[int, ...]], seed: int = 0) -> onnx.ModelProto:
    """A model with weights: normal, of variance 2 over what they are multiplied with, and biases of zero."""
    random, model = np.random.default_rng(seed), parser.parse_model(text)
    for name, shape in shapes.items():
        over = math.prod(shape[1:]) if len(shape) > 2 else shape[0]
        value = random.normal(size=shape) * math.sqrt(2 / over) * (len(shape) > 1)
        model.graph.initializer.append(numpy_helper.from_array(value.astype(np.float32), name))
    return model


def loss(model: Model, classes: ng.Op) -> ng.Op:
    """The cross-entropy of the model's scores."""
    n, (scores,) = ng.numpy, model.outputs.values()
    scores = scores - n.max(scores, axis=1, keepdims=True)
    chosen = n.take_along_axis(scores, classes[:, None], axis=1)[:, 0]
    return n.mean(n.log(n.sum(n.exp(scores), axis=1)) - chosen)


def train(target: str, epochs: int) -> float:
    """The share of new images that the network of `TEXT` reads rightly, once it has been trained."""
    random, model = np.random.default_rng(0), read(filled(TEXT, SHAPES))
    data = split(*load_digits())
    (images,), (scores,) = model.inputs.values(), model.outputs.values()
    classes = ng.placeholder((images.shape[0],), "int64", name="classes")
    error = loss(model, classes)
    with ng.make_transformer(target) as transformer:
        whole = training.Model((images, classes), error, ng.numpy.argmax(scores, axis=1), model.weights)
        step = transformer.computation([error, training.adam(whole, 0.002)], images, classes)
        answer = transformer.computation(whole.answer, images)
        for epoch in range(epochs):
            order = random.permutation(len(data.train_images))
            batches = [order[i : i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH)]
            losses = [float(step(data.train_images[b][:, None], data.train_labels[b])[0]) for b in batches]
            print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}")
        accuracy = float(np.mean(answer(data.test_images[:, None]) == data.test_labels))
    print(f"images read rightly: {accuracy:.3f}")
    return accuracy


def run(path: str, target: str, length: int) -> None:
    """What a model in a file takes and gives, and how long a call takes."""
    model, random = read(path), np.random.default_rng(0)
    for kind, terms in ("takes", model.inputs), ("gives", model.outputs):
        print(kind, ", ".join(f"{name} {getattr(term, 'type', 'known')}" for name, term in terms.items()))
    arrays = [
        random.uniform(size=[n if isinstance(n, int) else length for n in x.shape]).astype(x.dtype)
        for x in model.inputs.values()
    ]
    with ng.make_transformer(target) as transformer:
        outputs = [y for y in model.outputs.values() if isinstance(y, ng.Op)]
        computation = transformer.computation(outputs, *model.inputs.values())
        computation(*arrays)
        begin = perf_counter()
        computation(*arrays)
        print(f"{len(model.weights)} weights, {1000 * (perf_counter() - begin):.2f} ms")


def main(arguments: list[str] | None = None) -> float | None:
    """Run a file, or train."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("model", nargs="?", help="a file; without one a network is trained")
    options.add_argument("--target", default="cpu", help="cpu or reference, which is slow")
    options.add_argument("--epochs", type=int, default=EPOCHS)
    options.add_argument("--length", type=int, default=2, help="for axes whose length the model leaves open")
    chosen = options.parse_args(arguments)
    if chosen.model is not None:
        return run(chosen.model, chosen.target, chosen.length)
    return train(chosen.target, chosen.epochs)


if __name__ == "__main__":
    main()
