# SPDX-License-Identifier: MIT OR Apache-2.0
"""Divisions by a million that a compiler has made products of, put back.

A solver understands such a product only in small steps. Here each is shown to be the quotient by arithmetic alone:

- The upper half of `x * factor` never falls as `x` grows. So it is the quotient everywhere if it is at both ends of each
  stretch of a million.
- `x * odd`, rotated, is another number for each `x`. So there are as many `x` for which it is less than a bound as the bound
  says, and if these are the multiples of a million, no others are.
"""

from terms import If, equal, folded, number, rebuilt, variable, widened

MILLION = 1_000_000
MILLIS, REST = variable("millis", 10), variable("rest", 20)
# Any number of nanoseconds below a second.
NANOS = widened(MILLIS, 32) * MILLION + widened(REST, 32)
PARTS = frozenset({"millis", "rest"})


class Quotients:
    def __init__(self, solver):
        self.solver, self.reached, self.known = solver, {}, {}

    def look(self, term, known):
        """The term with quotients and remainders in place of products; `known` are truths about the arguments."""
        return folded(term, self.known.setdefault(known, {}), lambda this, args: self.put(rebuilt_of(this, args), known))

    def put(self, term, known):
        if not term.variables or not term.variables <= PARTS:
            return term
        for found in (quotient, is_multiple):
            if (put := found(term)) is not None:
                offset, result = put
                if self.is_reached(offset, known):
                    return result
        return term

    def is_reached(self, offset, known):
        """Whether the nanoseconds are so many at least."""
        if offset == 0:
            return True
        if (offset, known) not in self.reached:
            # Those truths suffice that have no product in them.
            plain = [truth for truth in known if not has(truth, "mul", 64)]
            self.reached[offset, known] = not self.solver.satisfiable([*plain, NANOS.ult(offset)])
        return self.reached[offset, known]


def rebuilt_of(term, args):
    is_same = all(old is new for old, new in zip(term.args, args))
    return term if is_same else rebuilt(term, args)


def has(term, op, size):
    found = []
    folded(term, {}, lambda this, args: found.append(this) if this.op == op and this.size == size else None)
    return bool(found)


def less_nanos(term):
    """How many fewer than the nanoseconds a term is; `None` if it is another number."""
    if term is NANOS:
        return 0
    if term.op == "add" and term.size == 32:
        one, other = term.args
        if other is NANOS:
            one, other = other, one
        if one is NANOS and other.op == "const" and -other.args[0] % (1 << 32) < MILLION:
            return -other.args[0] % (1 << 32)
    return None


def quotient(term):
    """`extract(x * factor)`, of nanoseconds less an offset below a million."""
    if term.op != "extract":
        return None
    low, product = term.args
    if product.op != "mul" or product.size != 64 or product.args[1].op != "const":
        return None
    wide, factor = product.args[0], product.args[1].args[0]
    if wide.op != "concat" or len(wide.args) != 2 or wide.args[0].op != "const" or wide.args[0].args[0] or wide.args[1].size != 32:
        return None
    less = less_nanos(wide.args[1])
    if less is None or 1_000 * MILLION * factor >> 64 or 1_000 * MILLION * factor >> (low + term.size):
        return None
    for ms in range(1_001):
        # From here on it is one more, until the last before the next.
        begin, end = ms * MILLION, min((ms + 1) * MILLION, 1_000 * MILLION) - 1
        if any(begin <= x <= end and x * factor >> low != ms for x in (begin, end)):
            return None
    whole = widened(MILLIS, term.size)
    return less, whole - If(widened(REST, 32).ult(less), number(1, term.size), number(0, term.size))


def is_multiple(term):
    """`rotated(x * odd) < bound`, of nanoseconds less an offset below a million."""
    if term.op != "ult" or term.args[1].op != "const" or term.args[0].op != "concat" or len(term.args[0].args) != 2:
        return None
    high, low = term.args[0].args
    if high.op != "extract" or low.op != "extract" or high.args[1] is not low.args[1]:
        return None
    (begin, product), by = high.args, low.args[0]
    if begin != 0 or by != high.size or product.size != 32 or by + low.size != 32:
        return None
    if product.op != "mul" or product.args[1].op != "const":
        return None
    odd, bound = product.args[1].args[0], term.args[1].args[0]
    less = less_nanos(product.args[0])
    if less is None or odd % 2 == 0:
        return None
    back = pow(odd, -1, 1 << 32)
    found = {(value << by | value >> (32 - by)) % (1 << 32) * back % (1 << 32) for value in range(bound)}
    if found != set(range(0, 1 << 32, MILLION)):
        return None
    return less, equal(widened(REST, 32), number(less, 32))
