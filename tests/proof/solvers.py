# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two solvers behind one door: Bitwuzla answers, and Z3 may be asked for its own opinion."""

import bitwuzla
import z3

from terms import BOOL, folded


class Translated:
    """Terms in a solver's own form, each made once."""

    def __init__(self):
        self.known = {}

    def get(self, term):
        return folded(term, self.known, lambda this, args: self.make(this, this.op, this.size, args))


class InBitwuzla(Translated):
    def __init__(self):
        super().__init__()
        self.tm = bitwuzla.TermManager()
        kind = bitwuzla.Kind
        self.kinds = {
            "add": kind.BV_ADD,
            "sub": kind.BV_SUB,
            "mul": kind.BV_MUL,
            "udiv": kind.BV_UDIV,
            "urem": kind.BV_UREM,
            "and": kind.BV_AND,
            "or": kind.BV_OR,
            "xor": kind.BV_XOR,
            "not": kind.BV_NOT,
            "neg": kind.BV_NEG,
            "shl": kind.BV_SHL,
            "lshr": kind.BV_SHR,
            "ashr": kind.BV_ASHR,
            "concat": kind.BV_CONCAT,
            "ult": kind.BV_ULT,
            "slt": kind.BV_SLT,
            "eq": kind.EQUAL,
            "ite": kind.ITE,
            "band": kind.AND,
            "bnot": kind.NOT,
        }

    def make(self, term, op, size, args):
        tm, kind = self.tm, bitwuzla.Kind
        if op == "const":
            if size == BOOL:
                return tm.mk_true() if args[0] else tm.mk_false()
            return tm.mk_bv_value(tm.mk_bv_sort(size), args[0])
        if op == "var":
            return tm.mk_const(tm.mk_bool_sort() if size == BOOL else tm.mk_bv_sort(size), args[0])
        if op == "extract":
            low, inner = args
            return tm.mk_term(kind.BV_EXTRACT, [inner], [low + size - 1, low])
        if op == "sext":
            return tm.mk_term(kind.BV_SIGN_EXTEND, args, [size - term.args[0].size])
        return tm.mk_term(self.kinds[op], args)


class WithAnyProduct(InBitwuzla):
    """Products are any numbers here, the same for the same factors, and nothing where a factor is. Whatever cannot hold with these cannot
    hold with the right ones, and two products of the same factors need no arithmetic to be equal."""

    def __init__(self, plain):
        self.known, self.tm, self.kinds = {}, plain.tm, plain.kinds
        self.functions = {}

    def make(self, term, op, size, args):
        if not is_product(term):
            return super().make(term, op, size, args)
        tm, kind = self.tm, bitwuzla.Kind
        # The lower half of a product is that of the whole one, so both are known to agree.
        width = max(size, 64)
        args = [tm.mk_term(kind.BV_ZERO_EXTEND, [arg], [width - size]) for arg in args]
        if width not in self.functions:
            bits = tm.mk_bv_sort(width)
            self.functions[width] = tm.mk_const(tm.mk_fun_sort([bits, bits], bits), f"product_{width}")
        # In either order.
        is_less = tm.mk_term(kind.BV_ULT, args)
        less, more = (tm.mk_term(kind.ITE, [is_less, *pair]) for pair in (args, args[::-1]))
        product, none = tm.mk_term(kind.APPLY, [self.functions[width], less, more]), tm.mk_bv_zero(tm.mk_bv_sort(width))
        whole = tm.mk_term(kind.ITE, [tm.mk_term(kind.EQUAL, [less, none]), none, product])
        return tm.mk_term(kind.BV_EXTRACT, [whole], [size - 1, 0])


def is_product(term):
    """Not those with a simple constant, as of seconds in milliseconds, which are easy."""
    return term.op == "mul" and not any(factor.is_constant and factor.args[0].bit_count() < 8 for factor in term.args)


class InZ3(Translated):
    make_of = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "udiv": z3.UDiv,
        "urem": z3.URem,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "not": lambda a: ~a,
        "neg": lambda a: -a,
        "shl": lambda a, b: a << b,
        "lshr": z3.LShR,
        "ashr": lambda a, b: a >> b,
        "concat": lambda *a: z3.Concat(*a),
        "ult": z3.ULT,
        "slt": lambda a, b: a < b,
        "eq": lambda a, b: a == b,
        "ite": z3.If,
        "band": z3.And,
        "bnot": z3.Not,
    }

    def make(self, term, op, size, args):
        if op == "const":
            return z3.BoolVal(bool(args[0])) if size == BOOL else z3.BitVecVal(args[0], size)
        if op == "var":
            return z3.Bool(args[0]) if size == BOOL else z3.BitVec(args[0], size)
        if op == "extract":
            return z3.Extract(args[0] + size - 1, args[0], args[1])
        if op == "sext":
            return z3.SignExt(size - term.args[0].size, args[0])
        return self.make_of[op](*args)


# Seconds for a question with any products; and if nothing else is asked.
FIRST_TRY, WITHOUT = 10, 100


class Unsure(Exception):
    """A solver gave up."""


class Bitwuzla:
    """Answers whether constraints can hold together."""

    def __init__(self):
        self.form = InBitwuzla()
        self.without = WithAnyProduct(self.form)
        self.multiplies = {}
        self.options = bitwuzla.Options()
        self.options.set(bitwuzla.Option.PRODUCE_MODELS, True)
        self.fresh()

    def fresh(self, limit=0):
        self.options.set(bitwuzla.Option.TIME_LIMIT_PER, 1000 * limit)
        self.solver, self.limit = bitwuzla.Bitwuzla(self.form.tm, self.options), limit

    def satisfiable(self, constraints, limit=0):
        """Whether they can hold together; without an answer after `limit` seconds, if there is one, it is unsure."""
        if any([self.has_product(constraint) for constraint in constraints]):
            try:
                if not self.ask(self.without, constraints, limit or FIRST_TRY):
                    return False
            except Unsure:
                pass
        return self.ask(self.form, constraints, limit)

    def possible(self, constraints):
        """Likewise, but that a way may be taken for possible that is not: products are any numbers, and an answer that takes long is not
        waited for."""
        form = self.without if any([self.has_product(constraint) for constraint in constraints]) else self.form
        try:
            return self.ask(form, constraints, FIRST_TRY)
        except Unsure:
            return True

    def excluded(self, constraints):
        """Whether they cannot hold together, whatever products are."""
        try:
            return not self.ask(self.without, constraints, WITHOUT)
        except Unsure:
            return False

    def ask(self, form, constraints, limit):
        self.fresh(limit)
        for constraint in constraints:
            self.solver.assert_formula(form.get(constraint))
        found = self.solver.check_sat()
        if found == bitwuzla.Result.UNKNOWN:
            raise Unsure
        return found == bitwuzla.Result.SAT

    def has_product(self, term):
        return folded(term, self.multiplies, lambda this, args: is_product(this) or any(arg is True for arg in args))

    def model(self, terms):
        """The values of these terms after an answer that they can."""
        return [int(self.solver.get_value(self.form.get(t)).value(10)) for t in terms]


class Z3:
    def __init__(self, limit):
        self.form, self.limit = InZ3(), limit

    def satisfiable(self, constraints):
        solver = z3.SolverFor("QF_BV")
        solver.set("timeout", 1000 * self.limit)
        solver.add(*[self.form.get(c) for c in constraints])
        found = solver.check()
        if found == z3.unknown:
            raise Unsure
        return found == z3.sat
