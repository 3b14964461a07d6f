# SPDX-License-Identifier: Apache-2.0
"""Real graphs with gradients, as a user writes them: an unrolled LSTM and a residual network of 50 layers."""

from __future__ import annotations

import ngraph_rewrite as ng


def lstm(steps: int, hidden: int = 16, batch: int = 8, features: int = 12) -> list[ng.Op]:
    """The squared error of an LSTM over `steps` steps, and its gradients: 4 gates, of a dot with each of x and h."""
    f, h, before, n = ng.Axis("F", features), ng.Axis("H", hidden), ng.Axis("J", hidden), ng.Axis("N", batch)
    inputs = {g: ng.variable([h, f]) for g in "ifog"}
    recurrent = {g: ng.variable([h, before]) for g in "ifog"}
    biases = {g: ng.variable([h]) for g in "ifog"}
    output, offset = ng.variable([f, h]), ng.variable([f])
    state, cell, losses = ng.placeholder([h, n]), ng.placeholder([h, n]), []
    for _ in range(steps):
        x, wanted = ng.placeholder([f, n]), ng.placeholder([f, n])
        past = ng.cast_axes(state, [before, n])
        gates = {g: ng.dot(inputs[g], x) + ng.dot(recurrent[g], past) + biases[g] for g in "ifog"}
        i, forget, o = (ng.sigmoid(gates[g]) for g in "ifo")
        cell = forget * cell + i * ng.tanh(gates["g"])
        state = o * ng.tanh(cell)
        error = ng.dot(output, state) + offset - wanted
        losses.append(ng.sum(ng.square(error), out_axes=[]))
    loss = losses[0]
    for one in losses[1:]:
        loss = loss + one
    weights = [*inputs.values(), *recurrent.values(), *biases.values(), output, offset]
    return [loss, *ng.deriv(loss, weights)]


def resnet(layers: int, width: int = 8, size: int = 16, batch: int = 4, classes: int = 10) -> list[ng.Op]:
    """A residual network of bottleneck blocks in four stages with batch norm, and its gradients; 50 layers have 16."""
    weights: list[ng.Op] = []

    def convolved(x: ng.Op, out: int, window: int, stride: int = 1) -> ng.Op:
        w = ng.variable([x.axes[0], ng.Axis("R", window), ng.Axis("S", window), ng.Axis("K", out)])
        y = ng.convolution(x, w, stride=stride, padding=window // 2)
        y = ng.cast_axes(y, [ng.Axis("C", out), *y.axes[1:]])
        gamma, beta = ng.variable([y.axes[0]]), ng.variable([y.axes[0]])
        weights.extend([w, gamma, beta])
        return ng.batch_norm(y, gamma, beta)

    image = ng.placeholder([ng.Axis("C", 3), ng.Axis("H", size), ng.Axis("W", size), ng.Axis("N", batch)])
    x = ng.relu(convolved(image, width, 3))
    for stage, blocks in enumerate((3, 4, (layers - 2) // 3 - 10, 3)):
        inner = width * 2**stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = ng.relu(convolved(x, inner, 1))
            y = convolved(ng.relu(convolved(y, inner, 3, stride)), 4 * inner, 1)
            x = ng.relu(y + (x if block else convolved(x, 4 * inner, 1, stride)))
    last = ng.variable([ng.Axis("Y", classes), x.axes[0]])
    logits = ng.dot(last, ng.mean(x, ["H", "W"]))
    loss = ng.sum(ng.square(logits), out_axes=[])
    return [loss, *ng.deriv(loss, [*weights, last])]
