# SPDX-License-Identifier: Apache-2.0
"""Learn to read handwritten digits: a network with two hidden layers and dropout, trained with momentum."""

import math

import numpy as np

import ngraph_rewrite as ng
from ngraph_rewrite.digits import load_digits, split

EPOCHS, BATCH, KEEP = 30, 32, 0.75
random = np.random.default_rng(0)
data = split(*load_digits())

N, H, W, K = ng.Axis("N"), ng.Axis("H", 8), ng.Axis("W", 8), ng.Axis("K", 10)  # N is known when data is
images, labels = ng.placeholder([N, H, W]), ng.placeholder([N], "int64")
rate = ng.placeholder([])
sizes = [ng.Axes([H, W]), ng.Axes(ng.Axis("A", 128)), ng.Axes(ng.Axis("B", 128)), ng.Axes(K)]
pairs = list(zip(sizes, sizes[1:], strict=False))
weights = [ng.variable(o + i, initial_value=random.normal(0, math.sqrt(2 / i.size), (o + i).lengths)) for i, o in pairs]
biases = [ng.variable(o) for _, o in pairs]


def network(x, keep=1.0):
    """The scores of each class; in training a hidden value is kept with probability `keep`."""
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        x = ng.relu(ng.dot(w, x) + b)
        x = ng.where(ng.uniform(x) < keep, x / keep, 0.0) if keep < 1 else x
    return ng.dot(weights[-1], x) + biases[-1]


def momentum(w, slope, mass=0.9):
    """Move `w` against its slope, and keep some of the speed."""
    speed = ng.persistent_tensor(w.axes)
    return ng.sequential([ng.assign(speed, mass * speed - rate * slope), ng.assign(w, w + speed)])


error = ng.cross_entropy_multi(ng.softmax(network(images, KEEP)), ng.one_hot(labels, K))
loss = ng.mean(error, out_axes=[])
parameters = weights + biases
step = ng.doall([momentum(w, s) for w, s in zip(parameters, ng.deriv(loss, parameters), strict=True)])

with ng.make_transformer("cpu") as transformer:
    train = transformer.computation([loss, step], images, labels, rate)
    predict = transformer.computation(ng.argmax(network(images), out_axes=[N]), images)
    for epoch in range(EPOCHS):
        order = random.permutation(len(data.train_labels))
        speed = 0.05 * (1 + math.cos(math.pi * epoch / EPOCHS)) / 2
        for batch in (order[i : i + BATCH] for i in range(0, len(order), BATCH)):
            now, _ = train(data.train_images[batch], data.train_labels[batch], speed)
        print(f"epoch {epoch + 1}: loss {now:.4f}")
    print(f"test accuracy: {np.mean(predict(data.test_images) == data.test_labels):.3f}")
