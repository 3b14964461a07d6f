# SPDX-License-Identifier: Apache-2.0
"""Renders a reduction nest, in one of two forms.

*Rows*: all kept loops are outside, the accumulators are variables. *Columns*, when the innermost loop is kept: the
other kept loops are outside, and a block of the innermost one is reduced at once, its accumulators in arrays on the
stack.
"""

from ngraph_rewrite.codegen.columns import columns
from ngraph_rewrite.codegen.form import Form
from ngraph_rewrite.codegen.nest import ReduceNest, argument_lines, signature
from ngraph_rewrite.codegen.rows import rows
from ngraph_rewrite.codegen.source import Source, imports, named
from ngraph_rewrite.codegen.template import kernel_template


def render_reduce(nest: ReduceNest) -> Source:
    """Return the kernel of a reduction nest; chunks split the first kept loop, and chunk 0 does all if there is none.

    >>> from ngraph_rewrite.codegen.loops import Operand, ReduceNest
    >>> x, y = Operand("float32", ("s", "1")), Operand("float32", ("1", "0"))
    >>> rows = ReduceNest(2, (x,), (), ((1, y),), (0, 1), (False, True), (("sum", 0),))
    >>> render_reduce(rows).signature
    ('n0', 'n1', 'x0', 'x0_s0', 'y0')
    """
    names = signature(nest)
    form = Form(nest)
    body = "\n".join([*form.start(), *(columns(form) if form.by_columns else rows(form))])
    template = kernel_template("reduce")
    text = template.fill(
        "cpu",
        name="$name",
        idea=template.idea,
        arguments=argument_lines(names),
        signature=", ".join(names),
        imports=imports(f"wide_vectors() argument() {body}"),
        nest=body,
    )
    return named("reduce", text, names)
