# SPDX-License-Identifier: Apache-2.0
"""Rewriting without tensors: numbers by successor, sets, a sort, and a small functional language."""

from pathlib import Path

import ngraph_rewrite as ng

# Numbers: zero and its successors. The order that shows that these rules end is found when they are read.
nat = ng.signature("naturals")
nat.sort("Nat")
zero, s = nat.operation("zero", (), "Nat"), nat.operation("s", ("Nat",), "Nat")
plus, times = (nat.operation(name, ("Nat", "Nat"), "Nat") for name in ("plus", "times"))
arithmetic = nat.rules("""
rule plus_zero:   plus(zero(), y)   =>  y
rule plus_next:   plus(s(x), y)     =>  s(plus(x, y))
rule times_zero:  times(zero(), y)  =>  zero()
rule times_next:  times(s(x), y)    =>  plus(y, times(x, y))
""")
two = s(s(zero()))
print(f"two times two is {ng.normal_form(times(two, two), arithmetic)}")

# Sets: union is associative and commutative, so one rule makes sets of lists.
sets = ng.signature("sets")
sets.sort("Set")
empty, element = sets.operation("empty", (), "Set"), sets.operation("element", (), "Set", attributes=("letter",))
union = sets.operation("union", ("Set", "Set"), "Set", "associative", "commutative", identity="empty")
idempotent = sets.rules("rule twice: union(x, x) => x")
print(ng.normal_form(union(*(element(letter=letter) for letter in "mississippi")), idempotent))

# A bubble sort in one rule, with a condition on attributes: the list is a string of numbers.
lists = ng.signature("strings")
lists.sort("List")
item = lists.operation("item", (), "List", attributes=("value",))
string = lists.operation("string", ("List", "List"), "List", "associative")
sorting = lists.rules(
    """
rule swap: string(item(value=a), item(value=b)) => string(item(value=b), item(value=a))
    if a > b
""",
    unordered=True,
)
print(ng.normal_form(string(*(item(value=n) for n in (3, 1, 4, 1, 5, 9, 2, 6))), sorting))

# Two parts of one bag with the same total: sequences share operands in every way, and `:=` takes a normal form apart.
bags = ng.signature("bags")
bags.sort("Bag")
none, number = bags.operation("none", (), "Bag"), bags.operation("number", (), "Bag", attributes=("value",))
bag = bags.operation("bag", ("Bag", "Bag"), "Bag", "associative", "commutative", identity="none")
total, parted = (bags.operation(name, ("Bag",), "Bag") for name in ("total", "parted"))
bags.operation("parts", ("Bag", "Bag"), "Bag")
fair = bags.rules(
    """
rule total_none:  total(none())                          =>  number(value=0)
rule total:       total(bag(number(value=n), rest...))   =>  number(value=n + m)
    if number(value=m) := total(bag(rest...))
rule parted:      parted(bag(xs..., ys...))              =>  parts(bag(xs...), bag(ys...))
    if total(bag(xs...)) == total(bag(ys...))
""",
    unordered=True,
)
print(ng.normal_form(parted(bag(*(number(value=n) for n in (7, 5, 4, 3, 2, 1)))), fair))

# A functional language: its rules and operations are in a file of their own.
file = Path(__file__).with_name("functional.rules")
functional, evaluation = ng.signature(file), ng.checked_rules(file)
lit, var, sub, mul, less, when, fix, call = (functional[n] for n in "lit var sub mul less when fix call".split())
own, argument = var(value=1), var(value=0)
again = call(own, sub(argument, lit(value=1)))
factorial = fix(when(less(argument, lit(value=1)), lit(value=1), mul(argument, again)))
program = functional["eval"](call(factorial, lit(value=10)), functional["none"]())
print(f"10! is {ng.normal_form(program, evaluation).attribute('value')}")

# Each step is on record.
term = plus(s(zero()), zero())
print(ng.rewrite(term, ng.strategies.innermost(arithmetic)).explain(term))
