# SPDX-License-Identifier: MIT OR Apache-2.0
"""Terms: numbers of a known width and truths, some of them unknown, for the solvers and for plain evaluation.

Each term exists once, so that two are the same exactly if they are the same object. They are simplified as they are made:
numbers are folded, and what only moves bits about is kept as a list of slices, so that the field of a word that was put
together a moment ago is that field again. What a solver must still show is left to it.
"""

import itertools
import operator

BOOL = 0

_terms = {}
_numbers = itertools.count()


class Term:
    """An operation with its arguments, which are terms, or plain numbers for widths, places and values."""

    __slots__ = ("op", "size", "args", "key", "_variables")

    def __repr__(self):
        return f"{self.op}{self.size}{self.args}"

    __hash__ = object.__hash__

    def __bool__(self):
        raise TypeError("a term is no truth of Python's")

    @property
    def is_constant(self):
        return self.op == "const"

    @property
    def value(self):
        assert self.op == "const"
        return self.args[0]

    @property
    def variables(self):
        """The names of all variables within."""
        if self._variables is None:
            todo = [self]
            while todo:
                term = todo[-1]
                inner = [a for a in term.args if isinstance(a, Term) and a._variables is None]
                if inner:
                    todo += inner
                    continue
                todo.pop()
                if term.op == "var":
                    term._variables = frozenset([term.args[0]])
                else:
                    sets = {id(a._variables): a._variables for a in term.args if isinstance(a, Term)}
                    sets = list(sets.values())
                    term._variables = sets[0] if len(sets) == 1 else frozenset().union(*sets)
        return self._variables

    # As Python writes it. Comparisons of order are named, as they have a sign or not.

    def __add__(self, other):
        return add(self, as_term(other, self.size))

    __radd__ = __add__

    def __sub__(self, other):
        return sub(self, as_term(other, self.size))

    def __rsub__(self, other):
        return sub(as_term(other, self.size), self)

    def __mul__(self, other):
        return mul(self, as_term(other, self.size))

    __rmul__ = __mul__

    def __and__(self, other):
        return bit_and(self, as_term(other, self.size))

    def __or__(self, other):
        return bit_or(self, as_term(other, self.size))

    def __xor__(self, other):
        return bit_xor(self, as_term(other, self.size))

    def __invert__(self):
        return bit_xor(self, number((1 << self.size) - 1, self.size))

    def __lshift__(self, other):
        return shl(self, as_term(other, self.size))

    def __eq__(self, other):
        return equal(self, as_term(other, self.size))

    def __ne__(self, other):
        return Not(equal(self, as_term(other, self.size)))

    def ult(self, other):
        return less(self, as_term(other, self.size))

    def ule(self, other):
        return Not(less(as_term(other, self.size), self))

    def ugt(self, other):
        return less(as_term(other, self.size), self)

    def uge(self, other):
        return Not(less(self, as_term(other, self.size)))

    def slt(self, other):
        return signed_less(self, as_term(other, self.size))

    def sge(self, other):
        return Not(signed_less(self, as_term(other, self.size)))


def make(op, size, *args):
    key = (op, size, *[id(a) if isinstance(a, Term) else a for a in args])
    term = _terms.get(key)
    if term is None:
        term = Term.__new__(Term)
        term.op, term.size, term.args, term._variables = op, size, args, None
        term.key = next(_numbers)
        if op == "const":
            term._variables = frozenset()
        _terms[key] = term
    return term


def number(value, size=64):
    return make("const", size, value & ((1 << size) - 1))


def variable(name, size):
    return make("var", size, name)


TRUE, FALSE = make("const", BOOL, 1), make("const", BOOL, 0)


def as_term(value, size):
    if isinstance(value, Term):
        assert value.size == size, (value.size, size)
        return value
    return (TRUE if value else FALSE) if size == BOOL else number(value, size)


def is_value(term, value):
    return term.op == "const" and term.args[0] == value & ((1 << term.size) - 1)


# Slices. A concatenation has its parts highest first.


def concat(*parts):
    flat = []
    for part in parts:
        for piece in part.args if part.op == "concat" else (part,):
            if flat and flat[-1].op == "const" and piece.op == "const":
                flat[-1] = number(flat[-1].args[0] << piece.size | piece.args[0], flat[-1].size + piece.size)
            elif flat and (joined := adjacent(flat[-1], piece)) is not None:
                flat[-1] = joined
            else:
                flat.append(piece)
    if len(flat) == 1:
        return flat[0]
    choices = [piece for piece in flat if piece.op != "const"]
    if len(choices) == 1 and is_choice(choices[0]):
        when, yes, no = choices[0].args
        return If(when, *[concat(*[k if p is choices[0] else p for p in flat]) for k in (yes, no)])
    if all(piece.op == "ite" and piece.args[0] is flat[0].args[0] for piece in flat):
        # Bytes of one choice, each of which was chosen by itself.
        yes, no = (concat(*[piece.args[k] for piece in flat]) for k in (1, 2))
        if yes.op != "concat" and no.op != "concat":
            return If(flat[0].args[0], yes, no)
    return make("concat", sum(piece.size for piece in flat), *flat)


def adjacent(high, low):
    """Two slices of one term that lie side by side, as one."""
    source, at = (high.args[1], high.args[0]) if high.op == "extract" else (high, 0)
    other, below = (low.args[1], low.args[0]) if low.op == "extract" else (low, 0)
    if source is other and below + low.size == at:
        return extract(source, below, high.size + low.size)
    return None


def extract(term, low, size):
    if size == term.size:
        return term
    assert 0 <= low and low + size <= term.size, (low, size, term.size)
    if term.op == "const":
        return number(term.args[0] >> low, size)
    if term.op == "extract":
        return extract(term.args[1], term.args[0] + low, size)
    if term.op == "concat":
        found, at = [], term.size
        for piece in term.args:
            at -= piece.size
            begin, end = max(low, at), min(low + size, at + piece.size)
            if begin < end:
                found.append(extract(piece, begin - at, end - begin))
        return concat(*found)
    if term.op == "ite":
        return If(term.args[0], extract(term.args[1], low, size), extract(term.args[2], low, size))
    if term.op == "sext" and low + size <= term.args[0].size:
        return extract(term.args[0], low, size)
    if low == 0 and size >= 32 and term.op in ("add", "sub", "neg", "mul"):
        return rebuilt(term, [extract(a, 0, size) for a in term.args])
    if term.op in ("and", "or", "xor"):
        a, b = (extract(a, low, size) for a in term.args)
        return {"and": bit_and, "or": bit_or, "xor": bit_xor}[term.op](a, b)
    return make("extract", size, low, term)


def widened(term, size):
    return term if size == term.size else concat(number(0, size - term.size), term)


def sign_extended(term, size):
    if size == term.size:
        return term
    if term.op == "const":
        value = term.args[0]
        return number(value - (1 << term.size if value >> (term.size - 1) else 0), size)
    if term.op == "concat" and term.args[0].op == "const":
        top = term.args[0]
        if top.args[0] >> (top.size - 1) == 0:
            return widened(term, size)
    if term.op == "ite":
        return If(term.args[0], sign_extended(term.args[1], size), sign_extended(term.args[2], size))
    return make("sext", size, term)


def pieces(term):
    return term.args if term.op == "concat" else (term,)


def by_pieces(a, b, whole):
    """Bit by bit: where either has constants, piece by piece. `whole` makes what is left."""
    if not any(piece.op == "const" for piece in (*pieces(a), *pieces(b))):
        return None
    bounds = set()
    for term in (a, b):
        at = term.size
        for piece in pieces(term):
            at -= piece.size
            bounds.add(at)
            if piece.op == "const":
                # Runs of equal bits.
                value = piece.args[0]
                for bit in range(1, piece.size):
                    if (value >> bit ^ value >> (bit - 1)) & 1:
                        bounds.add(at + bit)
    bounds = sorted(bounds | {a.size})
    if len(bounds) == 2:
        return None
    found = [whole(extract(a, i, j - i), extract(b, i, j - i)) for i, j in zip(bounds, bounds[1:])]
    return concat(*reversed(found))


def ordered(a, b):
    """A constant last; otherwise the older one first."""
    if a.op == "const" or (b.op != "const" and b.key < a.key):
        return b, a
    return a, b


def lifted(op, a, b):
    """An operation with a constant, done within a choice of two constants."""
    for one, other, is_swapped in ((a, b, False), (b, a, True)):
        if one.op == "ite" and other.op == "const" and one.args[1].op == "const" and one.args[2].op == "const":
            yes, no = ((other, k) if is_swapped else (k, other) for k in one.args[1:])
            return If(one.args[0], op(*yes), op(*no))
    return None


def piecewise(op, a, b):
    done = by_pieces(a, b, op)
    if done is None:
        done = lifted(op, a, b)
    return together(op, a, b) if done is None else done


def together(op, a, b):
    """An operation within a choice of constants, where the other one is a choice by the same truth."""
    if a.op == b.op == "ite" and a.args[0] is b.args[0] and (is_choice(a) or is_choice(b)):
        return If(a.args[0], op(a.args[1], b.args[1]), op(a.args[2], b.args[2]))
    return None


def masked(op, name, plain, absorbing, a, b):
    """One constant decides alone, its opposite changes nothing."""
    a, b = ordered(a, b)
    if b.op == "const":
        if a.op == "const":
            return number(plain(a.args[0], b.args[0]), a.size)
        if is_value(b, absorbing):
            return b
        if is_value(b, ~absorbing):
            return a
    if a is b:
        return a
    done = piecewise(op, a, b)
    return make(name, a.size, a, b) if done is None else done


def bit_and(a, b):
    return masked(bit_and, "and", operator.and_, 0, a, b)


def bit_or(a, b):
    return masked(bit_or, "or", operator.or_, -1, a, b)


def bit_xor(a, b):
    a, b = ordered(a, b)
    if b.op == "const":
        if a.op == "const":
            return number(a.args[0] ^ b.args[0], a.size)
        if b.args[0] == 0:
            return a
    if a is b:
        return number(0, a.size)
    if is_value(b, -1):
        if a.op == "not":
            return a.args[0]
        done = piecewise(bit_xor, a, b)
        return make("not", a.size, a) if done is None else done
    done = piecewise(bit_xor, a, b)
    return make("xor", a.size, a, b) if done is None else done


# Sums.


def add(a, b):
    a, b = ordered(a, b)
    if b.op == "const":
        if a.op == "const":
            return number(a.args[0] + b.args[0], a.size)
        if b.args[0] == 0:
            return a
        if a.op == "add" and a.args[1].op == "const":
            return add(a.args[0], add(a.args[1], b))
    low = known_low(a), known_low(b)
    if low[0] and low[1]:
        # Known bits below: they are added, and what they carry.
        count = min(low)
        total = extract(a, 0, count).args[0] + extract(b, 0, count).args[0]
        if count < a.size:
            carried = number(total >> count, a.size - count)
            above = add(add(extract(a, count, a.size - count), extract(b, count, a.size - count)), carried)
            return concat(above, number(total, count))
    for one, other in ((a, b), (b, a)):
        # Zeros below leave the bits of the other one as they are.
        zeros = low_zeros(one)
        if 0 < zeros < a.size:
            above = add(extract(a, zeros, a.size - zeros), extract(b, zeros, a.size - zeros))
            return concat(above, extract(other, 0, zeros))
    done = lifted(add, a, b)
    if done is None:
        done = together(add, a, b)
    return summed(a, 1, b, 1) if done is None else done


def known_low(term):
    """The number of known bits at the lower end."""
    last = pieces(term)[-1]
    return last.size if last.op == "const" else 0


def low_zeros(term):
    last = pieces(term)[-1]
    if last.op != "const":
        return 0
    value = last.args[0]
    return last.size if value == 0 else (value & -value).bit_length() - 1


def sub(a, b):
    if a is b:
        return number(0, a.size)
    if b.op == "const":
        return add(a, number(-b.args[0], b.size))
    if is_value(a, 0):
        return negated(b)
    done = lifted(sub, a, b)
    if done is None:
        done = together(sub, a, b)
    return summed(a, 1, b, -1) if done is None else done


def negated(a):
    if a.op == "const":
        return number(-a.args[0], a.size)
    return summed(a, -1, number(0, a.size), 1)


def summands(term, factor, found):
    """Adds a sum to those found: how often each of its parts counts, and constants under `None`."""
    todo = [(term, factor)]
    while todo:
        this, times = todo.pop()
        if this.op == "const":
            found[None] = found.get(None, 0) + times * this.args[0]
        elif this.op == "add":
            todo += [(this.args[0], times), (this.args[1], times)]
        elif this.op == "sub":
            todo += [(this.args[0], times), (this.args[1], -times)]
        elif this.op == "neg":
            todo.append((this.args[0], -times))
        elif this.op == "mul" and this.args[1].op == "const":
            todo.append((this.args[0], times * this.args[1].args[0]))
        else:
            found[this] = found.get(this, 0) + times


def summed(a, one, b, other):
    """A sum in one form: its parts in the order in which they came into being, those that are subtracted last."""
    size, found = a.size, {}
    summands(a, one, found)
    summands(b, other, found)
    modulus = 1 << size
    constant = found.pop(None, 0) % modulus
    parts = [(term, times % modulus) for term, times in found.items() if times % modulus]
    parts.sort(key=lambda part: part[0].key)
    plus = [term if n == 1 else mul(term, number(n, size)) for term, n in parts if n != modulus - 1]
    minus = [term for term, n in parts if n == modulus - 1]
    result = None
    for term in plus:
        result = term if result is None else make("add", size, result, term)
    for term in minus:
        result = make("neg", size, term) if result is None else make("sub", size, result, term)
    if result is None:
        return number(constant, size)
    return make("add", size, result, number(constant, size)) if constant else result


def mul(a, b):
    a, b = ordered(a, b)
    if b.op == "const":
        if a.op == "const":
            return number(a.args[0] * b.args[0], a.size)
        value = b.args[0]
        if value == 0:
            return b
        if value & (value - 1) == 0:
            return shl(a, number(value.bit_length() - 1, a.size))
        if a.op == "mul" and a.args[1].op == "const":
            return mul(a.args[0], mul(a.args[1], b))
    return make("mul", a.size, a, b)


def divided(op, a, b):
    if a.op == "const" and b.op == "const" and b.args[0]:
        return number(a.args[0] // b.args[0] if op == "udiv" else a.args[0] % b.args[0], a.size)
    return make(op, a.size, a, b)


# Shifts. An amount that is a choice of constants is shifted by within the choice.


_choices = {}


def is_choice(term):
    if term.op != "ite":
        return term.op == "const"
    found = _choices.get(term)
    if found is None:
        found = _choices[term] = is_choice(term.args[1]) and is_choice(term.args[2])
    return found


def by_choice(op, a, by):
    when, yes, no = by.args
    here = (a.args[1], a.args[2]) if a.op == "ite" and a.args[0] is when else (a, a)
    return If(when, op(here[0], yes), op(here[1], no))


def shl(a, by):
    if by.op == "ite" and is_choice(by):
        return by_choice(shl, a, by)
    if by.op == "const":
        if by.args[0] >= a.size:
            return number(0, a.size)
        if by.args[0] == 0:
            return a
        return concat(extract(a, 0, a.size - by.args[0]), number(0, by.args[0]))
    return make("shl", a.size, a, by)


def lshr(a, by):
    by = as_term(by, a.size)
    if by.op == "ite" and is_choice(by):
        return by_choice(lshr, a, by)
    if by.op == "const":
        if by.args[0] >= a.size:
            return number(0, a.size)
        return widened(extract(a, by.args[0], a.size - by.args[0]), a.size)
    return make("lshr", a.size, a, by)


def ashr(a, by):
    if by.op == "const":
        by = min(by.args[0], a.size - 1)
        return sign_extended(extract(a, by, a.size - by), a.size)
    return make("ashr", a.size, a, by)


# Truths.


def equal(a, b):
    if a is b:
        return TRUE
    if a.size == BOOL:
        if a.op == "const":
            return b if a.args[0] else Not(b)
        if b.op == "const":
            return a if b.args[0] else Not(a)
        return make("eq", BOOL, *ordered(a, b))
    a, b = ordered(a, b)
    if b.op == "const":
        if a.op == "const":
            return as_term(a.args[0] == b.args[0], BOOL)
        if a.op == "concat":
            at, found = a.size, TRUE
            for piece in a.args:
                at -= piece.size
                found = And(found, equal(piece, extract(b, at, piece.size)))
            return found
        if a.op == "ite" and (a.args[1].op == "const" or a.args[2].op == "const"):
            return If(a.args[0], equal(a.args[1], b), equal(a.args[2], b))
        if a.op == "not":
            return equal(a.args[0], ~b)
        if a.op == "add" and a.args[1].op == "const":
            return equal(a.args[0], sub(b, a.args[1]))
        if b.args[0] == 0 and a.op == "sub":
            return equal(*a.args)
        if b.args[0] == 0 and a.op == "xor":
            return equal(*a.args)
    return make("eq", BOOL, a, b)


def less(a, b):
    if a is b or is_value(b, 0) or is_value(a, -1):
        return FALSE
    if a.op == "const" and b.op == "const":
        return as_term(a.args[0] < b.args[0], BOOL)
    if is_value(b, 1):
        return equal(a, number(0, a.size))
    if is_value(a, 0):
        return Not(equal(b, a))
    if b.op == "const" and b.args[0] & (b.args[0] - 1) == 0:
        at = b.args[0].bit_length() - 1
        return equal(extract(a, at, a.size - at), number(0, a.size - at))
    if a.op == "const" and (a.args[0] + 1) & a.args[0] == 0:
        return Not(less(b, number(a.args[0] + 1, a.size)))
    # Known bits at the top decide, or decide nothing.
    above = min(known_top(a), known_top(b))
    if above:
        tops = [extract(x, x.size - above, above).args[0] for x in (a, b)]
        if tops[0] != tops[1]:
            return as_term(tops[0] < tops[1], BOOL)
        return less(extract(a, 0, a.size - above), extract(b, 0, b.size - above))
    for one, other, is_swapped in ((a, b, False), (b, a, True)):
        if one.op == "ite" and other.op == "const" and one.args[1].op == "const" and one.args[2].op == "const":
            yes, no = ((other, k) if is_swapped else (k, other) for k in one.args[1:])
            return If(one.args[0], less(*yes), less(*no))
    return make("ult", BOOL, a, b)


def known_top(term):
    top = pieces(term)[0]
    return top.size if top.op == "const" else 0


def signed_less(a, b):
    if a is b:
        return FALSE
    if a.op == "const" and b.op == "const":
        half = 1 << (a.size - 1)
        return as_term((a.args[0] ^ half) < (b.args[0] ^ half), BOOL)
    done = lifted(signed_less, a, b)
    if done is not None:
        return done
    if known_top(a) and known_top(b):
        half = number(1 << (a.size - 1), a.size)
        return less(bit_xor(a, half), bit_xor(b, half))
    if is_value(b, 0):
        return equal(extract(a, a.size - 1, 1), number(1, 1))
    return make("slt", BOOL, a, b)


def Not(a):
    if a.op == "const":
        return FALSE if a.args[0] else TRUE
    if a.op == "bnot":
        return a.args[0]
    return make("bnot", BOOL, a)


def And(*terms):
    result = TRUE
    for term in terms:
        result = both(result, term)
    return result


def conjuncts(term):
    found, todo = {}, [term]
    while todo:
        this = todo.pop()
        if this.op == "band":
            todo += this.args
        else:
            found[this] = None
    return found


def both(a, b):
    if a is b or b is TRUE:
        return a
    if a is TRUE:
        return b
    if a is FALSE or b is FALSE or a is Not(b):
        return FALSE
    for one, other in ((a, b), (b, a)):
        if other.op == "bnot" and other.args[0].op == "band":
            # Of a choice of faults, those that are none here are left out.
            known, inner = conjuncts(one), conjuncts(other.args[0])
            if any(Not(term) in known for term in inner):
                return one
            left = [term for term in inner if term not in known]
            if len(left) < len(inner):
                return both(one, Not(And(*left)))
    known = conjuncts(a)
    if b in known:
        return a
    if Not(b) in known:
        return FALSE
    return make("band", BOOL, *ordered(a, b))


def Or(*terms):
    return Not(And(*[Not(term) for term in terms]))


def If(when, yes, no):
    if when.op == "const":
        return yes if when.args[0] else no
    if yes is no:
        return yes
    if when.op == "bnot":
        return If(when.args[0], no, yes)
    if yes.op == "ite" and yes.args[0] is when:
        yes = yes.args[1]
    if no.op == "ite" and no.args[0] is when:
        no = no.args[2]
    if when.op == "band":
        known = conjuncts(when)
        if yes.op == "ite" and yes.args[0] in known:
            return If(when, yes.args[1], no)
        if yes.op == "ite" and Not(yes.args[0]) in known:
            return If(when, yes.args[2], no)
        if no.op == "ite":
            # Choices that exclude each other become a chain of them.
            first, x, y = no.args
            if first in known:
                return If(first, If(And(*[k for k in known if k is not first]), yes, x), y)
            if Not(first) in known:
                return If(first, x, If(And(*[k for k in known if k is not Not(first)]), yes, y))
    if yes is no:
        return yes
    if yes.size == BOOL:
        if yes.op == "const":
            return Or(when, no) if yes.args[0] else And(Not(when), no)
        if no.op == "const":
            return Or(Not(when), yes) if no.args[0] else And(when, yes)
    elif yes.op == no.op == "concat" and len(yes.args) == len(no.args):
        sizes = [piece.size for piece in yes.args]
        if sizes == [piece.size for piece in no.args] and any(x is y for x, y in zip(yes.args, no.args)):
            return concat(*[If(when, x, y) for x, y in zip(yes.args, no.args)])
    return make("ite", yes.size, when, yes, no)


def as_bit(truth, size=8):
    return If(truth, number(1, size), number(0, size))


def is_set(term):
    return Not(equal(term, number(0, term.size)))


def rebuilt(term, args):
    """The same operation on other arguments, simplified anew."""
    builders = {
        "add": add,
        "sub": sub,
        "mul": mul,
        "and": bit_and,
        "or": bit_or,
        "xor": bit_xor,
        "not": lambda a: ~a,
        "neg": negated,
        "shl": shl,
        "lshr": lshr,
        "ashr": ashr,
        "concat": concat,
        "eq": equal,
        "ult": less,
        "slt": signed_less,
        "bnot": Not,
        "band": And,
        "ite": If,
    }
    if term.op in builders:
        return builders[term.op](*args)
    if term.op == "extract":
        return extract(args[1], args[0], term.size)
    if term.op == "sext":
        return sign_extended(args[0], term.size)
    return make(term.op, term.size, *args)


_fresh = itertools.count()


def fresh(name, size):
    return variable(f"{name}#{next(_fresh)}", size)


def folded(term, known, made):
    """Makes something of a term from what was made of its parts, each once. `known` keeps it."""
    todo = [term]
    while todo:
        this = todo[-1]
        if this in known:
            todo.pop()
            continue
        inner = [a for a in this.args if isinstance(a, Term) and a not in known]
        if inner:
            todo += inner
            continue
        todo.pop()
        known[this] = made(this, [known[a] if isinstance(a, Term) else a for a in this.args])
    return known[term]


def evaluate(term, values):
    """The number that a term is, with `values` for its variables by name."""
    return folded(term, {}, lambda this, args: step(this, args, values))


def step(term, args, values):
    op, mask = term.op, (1 << term.size) - 1

    def signed(value, size):
        return value - (1 << size) if value >> (size - 1) else value

    if op == "const":
        return args[0]
    if op == "var":
        return values[args[0]] & mask if term.size else int(bool(values[args[0]]))
    if op == "ite":
        return args[1] if args[0] else args[2]
    if op == "concat":
        result = 0
        for piece, value in zip(term.args, args):
            result = result << piece.size | value
        return result
    if op == "extract":
        return args[1] >> args[0] & mask
    if op == "sext":
        return signed(args[0], term.args[0].size) & mask
    if op == "eq":
        return int(args[0] == args[1])
    if op == "ult":
        return int(args[0] < args[1])
    if op == "slt":
        return int(signed(args[0], term.args[0].size) < signed(args[1], term.args[0].size))
    if op == "bnot":
        return 1 - args[0]
    if op == "band":
        return args[0] & args[1]
    if op == "not":
        return ~args[0] & mask
    if op == "neg":
        return -args[0] & mask
    a, b = args
    if op == "shl":
        return a << b & mask if b < term.size else 0
    if op == "lshr":
        return a >> b if b < term.size else 0
    if op == "ashr":
        return signed(a, term.size) >> min(b, term.size) & mask
    if op in ("udiv", "urem") and b == 0:
        return mask if op == "udiv" else a
    results = {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
        "udiv": lambda: a // b,
        "urem": lambda: a % b,
    }
    return results[op]() & mask
