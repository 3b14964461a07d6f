# SPDX-License-Identifier: Apache-2.0
"""Tensors by position, with the sample axis N and the recurrent axis R marked; docs/simple.rst has the rules.

>>> import ngraph_rewrite as ng
>>> N = ng.simple.N
>>> x, w, b = ng.simple.placeholder((28, N)), ng.simple.variable((10, 28)), ng.simple.variable((10,))
>>> ng.simple.tanh(ng.simple.dot(w, x) + b).type
float32[10, sample:N]
"""

from __future__ import annotations

from ngraph_rewrite.frontend.simple.elementwise import *
from ngraph_rewrite.frontend.simple.movement import *
from ngraph_rewrite.frontend.simple.operands import Marker, N, R
from ngraph_rewrite.frontend.simple.reductions import *
from ngraph_rewrite.frontend.simple.sources import *
