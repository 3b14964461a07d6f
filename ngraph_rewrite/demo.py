# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a network learns to read digits, then one of its expressions is followed to its kernels."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

import ngraph_rewrite as ng
from ngraph_rewrite.digits import Split, load_digits, split
from ngraph_rewrite.explaining.files import demand_writable
from ngraph_rewrite.runtime.cuda.device import find_device

EPOCHS, BATCH, KEEP, RATE, MASS = 30, 32, 0.75, 0.05, 0.9
GOAL = 0.97
SHOWN = 12
HIDDEN = 128
# Of a simulated GPU, whose threads are Python's: images to learn from and to be judged by, and units of a hidden layer.
FEW, NARROW = 16, 8

Array = NDArray[Any]


class Model(NamedTuple):
    """The terms of the network and of its training step."""

    images: ng.Op
    labels: ng.Op
    rate: ng.Op
    hidden: ng.Op
    digit: ng.Op
    loss: ng.Op
    step: ng.Op


class Outcome(NamedTuple):
    """What training gave: a loss for each epoch, a digit for each test image, and the accuracy of those."""

    losses: list[float]
    digits: Array
    accuracy: float


def main(epochs: int = EPOCHS, output: str | Path = ".", target: str = "cpu", seed: int = 0) -> int:
    """Run the demonstration.

    Args:
        epochs: How often to go through the training images, at least once; fewer than 30 are not judged.
        output: The folder for the picture; it is made if it is not there.
        target: The name of the transformer.
        seed: Of the initial weights, the order of the images and the dropout.

    Returns:
        0, or 1 if the test accuracy is under 0.97.

    Raises:
        ArgumentError: for a folder that cannot be written, before anything is learnt.
        DeviceError: for the target cuda where there is no GPU.
    """
    demand_writable(output)
    simulated = target == "cuda" and not find_device().is_real
    data = split(*load_digits())
    if simulated:
        epochs, data = 1, first_of(data, FEW)
        print("the GPU is simulated: a small network learns from a few images, and is not judged")
    print(f"{len(data.train_labels)} images of digits to learn from, {len(data.test_labels)} held out")
    model = build_model(np.random.default_rng(seed), NARROW if simulated else HIDDEN)
    with ng.make_transformer(target, seed=seed) as transformer:
        train = transformer.computation([model.loss, model.step], model.images, model.labels, model.rate)
        predict = transformer.computation(model.digit, model.images, keep=[model.hidden])
        losses = list(progress(epochs, learn(train, data, epochs, np.random.default_rng(seed))))
        digits = predict(data.test_images)
        tell(predict, model.hidden, train)
    outcome = Outcome(losses, digits, float(np.mean(digits == data.test_labels)))
    picture = draw(data, outcome, Path(output))
    print(f"picture: {picture}")
    print(f"test accuracy: {outcome.accuracy:.3f}")
    return int(outcome.accuracy < GOAL and epochs >= EPOCHS)


def first_of(data: Split, count: int) -> Split:
    """The first so many images to learn from, and to be judged by."""
    images, labels, test_images, test_labels = data
    return Split(images[:count], labels[:count], test_images[:count], test_labels[:count])


# -- the model --------------------------------------------------------------------------------------


def build_model(random: np.random.Generator, hidden: int = HIDDEN) -> Model:
    """Two hidden layers of rectified units, dropout, softmax, and gradient descent with momentum.

    The axis N of the batch has no length: one training step serves every size of batch.
    """
    N, H, W, K = ng.Axis("N"), ng.Axis("H", 8), ng.Axis("W", 8), ng.Axis("K", 10)
    images, labels = ng.placeholder([N, H, W], name="images"), ng.placeholder([N], "int64", name="labels")
    rate = ng.placeholder([], name="rate")
    sizes = [ng.Axes([H, W]), ng.Axes(ng.Axis("A", hidden)), ng.Axes(ng.Axis("B", hidden)), ng.Axes(K)]
    layers = [layer(i, o, f"{n}", random) for n, (i, o) in enumerate(zip(sizes, sizes[1:], strict=False), 1)]
    trained, tested = network(images, layers, KEEP), network(images, layers)
    error = ng.cross_entropy_multi(ng.softmax(trained[-1]), ng.one_hot(labels, K))
    loss = ng.mean(error, out_axes=[])
    parameters = [p for pair in layers for p in pair]
    slopes = ng.deriv(loss, parameters)
    step = ng.doall([momentum(p, s, rate) for p, s in zip(parameters, slopes, strict=True)])
    return Model(images, labels, rate, tested[0], ng.argmax(tested[-1], out_axes=[N]), loss, step)


def layer(inputs: ng.Axes, outputs: ng.Axes, number: str, random: np.random.Generator) -> tuple[ng.Op, ng.Op]:
    """The weights, scaled for rectified units (He et al. 2015), and the biases of one layer."""
    axes = outputs + inputs
    weights = random.normal(0, math.sqrt(2 / float(inputs.size)), axes.lengths)  # type: ignore[arg-type]
    return ng.variable(axes, initial_value=weights, name="w" + number), ng.variable(outputs, name="b" + number)


def network(x: ng.Op, layers: list[tuple[ng.Op, ng.Op]], keep: float = 1.0) -> list[ng.Op]:
    """The values of each layer; in training a hidden value is kept with probability `keep`, and scaled by it."""
    found = []
    for w, b in layers:
        found.append(ng.dot(w, x) + b)
        if len(found) < len(layers):
            found[-1] = x = ng.relu(found[-1])
            x = ng.where(ng.uniform(x) < keep, x / keep, 0.0) if keep < 1 else x
    return found


def momentum(parameter: ng.Op, slope: ng.Op, rate: ng.Op) -> ng.Op:
    """Move a parameter against its slope, and keep some of the speed (Polyak 1964)."""
    speed = ng.persistent_tensor(parameter.axes, name=f"speed of {parameter.name}")
    return ng.sequential([ng.assign(speed, MASS * speed - rate * slope), ng.assign(parameter, parameter + speed)])


# -- training ---------------------------------------------------------------------------------------


def learn(train: ng.Computation, data: Split, epochs: int, random: np.random.Generator) -> Iterator[float]:
    """Go through the images in batches, in a new order each time; yields the mean loss of each epoch."""
    for epoch in range(epochs):
        order = random.permutation(len(data.train_labels))
        rate = RATE * (1 + math.cos(math.pi * epoch / epochs)) / 2
        total = 0.0
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            loss, _ = train(data.train_images[batch], data.train_labels[batch], rate)
            total += float(loss) * len(batch)
        yield total / len(order)


def progress(epochs: int, losses: Iterator[float]) -> Iterator[float]:
    """Passes the losses on, and shows a bar if there is a terminal to show it on."""
    columns = TextColumn("training"), BarColumn(), TextColumn("{task.fields[loss]}"), TimeRemainingColumn()
    with Progress(*columns, disable=not sys.stdout.isatty()) as bar:
        task = bar.add_task("training", total=epochs, loss="")
        for loss in losses:
            bar.update(task, advance=1, loss=f"loss {loss:.4f}")
            yield loss


# -- what is shown ----------------------------------------------------------------------------------


def tell(predict: ng.Computation, expression: ng.Op, train: ng.Computation) -> None:
    """Print how one expression was lowered, rule by rule, the kernel that computes it, and how many ran."""
    derivation = predict.explain(expression)
    print(f"\nOne expression of the model, the first hidden layer, rule by rule:\n\n{derivation}")
    kernel = re.search(rf"^def {derivation.split()[-1]}\(.*?(?=^\S|\Z)", predict.source(), re.MULTILINE | re.DOTALL)
    if kernel:
        print(f"\nThat kernel, as it was compiled:\n\n{kernel[0].rstrip()}")
    print()
    for what, computation in (("training step", train), ("prediction", predict)):
        names = computation.stats()["kernels"]
        kinds = Counter(name.partition("_")[0] for name in names)
        told = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none: every op was interpreted"
        print(f"kernels that ran in a {what}: {told}")


def draw(data: Split, outcome: Outcome, folder: Path) -> Path:
    """Write a picture: the loss of each epoch, and the first twelve test images with the digits read from them."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    spec = figure.add_gridspec(3, SHOWN // 2, height_ratios=(2, 1, 1))
    curve = figure.add_subplot(spec[0, :])
    curve.semilogy(range(1, len(outcome.losses) + 1), outcome.losses)
    curve.set(xlabel="epoch", ylabel="training loss", title=f"test accuracy {outcome.accuracy:.3f}")
    for n, (read, label) in enumerate(zip(outcome.digits[:SHOWN], data.test_labels[:SHOWN], strict=True)):
        place = figure.add_subplot(spec[1 + n // (SHOWN // 2), n % (SHOWN // 2)])
        place.imshow(data.test_images[n], cmap="gray_r")
        wrong = "" if read == label else f", is {label}"
        place.set_title(f"read {read}{wrong}", color="red" if wrong else "black")
        place.set_axis_off()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "digits.png")
    return folder / "digits.png"
