# SPDX-License-Identifier: MIT OR Apache-2.0
"""The operations of p-code that only compute."""

import pypcode

from state import BITS
from terms import (
    And,
    If,
    Not,
    Or,
    add,
    as_bit,
    ashr,
    bit_and,
    bit_or,
    bit_xor,
    concat,
    divided,
    equal,
    extract,
    is_set,
    less,
    lshr,
    mul,
    negated,
    number,
    shl,
    sign_extended,
    signed_less,
    sub,
    widened,
)

code = pypcode.OpCode


def flag(truth):
    return as_bit(truth)


def carries(_, a, b):
    return flag(less(add(a, b), a))


def signed_carries(_, a, b):
    top, total = a.size - 1, add(a, b)
    out = bit_and(~bit_xor(a, b), bit_xor(a, total))
    return flag(equal(extract(out, top, 1), number(1, 1)))


def signed_borrows(_, a, b):
    top, total = a.size - 1, sub(a, b)
    out = bit_and(bit_xor(a, b), bit_xor(a, total))
    return flag(equal(extract(out, top, 1), number(1, 1)))


def shifted(how):
    def shift(size, a, by):
        if by.size > size:
            # An amount that does not fit shifts all bits out.
            is_wide = is_set(extract(by, size, by.size - size))
            most = number((1 << size) - 1, size)
            return how(a, If(is_wide, most, extract(by, 0, size)))
        return how(a, widened(by, size))

    return shift


def ones(size, a):
    total = number(0, size)
    for k in range(a.size):
        total = add(total, widened(extract(a, k, 1), size))
    return total


def leading_zeros(size, a):
    found = number(a.size, size)
    for k in range(a.size):
        found = If(is_set(extract(a, k, 1)), number(a.size - 1 - k, size), found)
    return found


def as_truth(a):
    return is_set(a)


PLAIN = {
    code.COPY: lambda size, a: a,
    code.INT_ADD: lambda size, a, b: add(a, b),
    code.INT_SUB: lambda size, a, b: sub(a, b),
    code.INT_MULT: lambda size, a, b: mul(a, b),
    code.INT_DIV: lambda size, a, b: divided("udiv", a, b),
    code.INT_REM: lambda size, a, b: divided("urem", a, b),
    code.INT_AND: lambda size, a, b: bit_and(a, b),
    code.INT_OR: lambda size, a, b: bit_or(a, b),
    code.INT_XOR: lambda size, a, b: bit_xor(a, b),
    code.INT_NEGATE: lambda size, a: ~a,
    code.INT_2COMP: lambda size, a: negated(a),
    code.INT_ZEXT: lambda size, a: widened(a, size),
    code.INT_SEXT: lambda size, a: sign_extended(a, size),
    code.INT_LEFT: shifted(shl),
    code.INT_RIGHT: shifted(lshr),
    code.INT_SRIGHT: shifted(ashr),
    code.INT_EQUAL: lambda size, a, b: flag(equal(a, b)),
    code.INT_NOTEQUAL: lambda size, a, b: flag(Not(equal(a, b))),
    code.INT_LESS: lambda size, a, b: flag(less(a, b)),
    code.INT_LESSEQUAL: lambda size, a, b: flag(Not(less(b, a))),
    code.INT_SLESS: lambda size, a, b: flag(signed_less(a, b)),
    code.INT_SLESSEQUAL: lambda size, a, b: flag(Not(signed_less(b, a))),
    code.INT_CARRY: carries,
    code.INT_SCARRY: signed_carries,
    code.INT_SBORROW: signed_borrows,
    code.BOOL_NEGATE: lambda size, a: flag(Not(as_truth(a))),
    code.BOOL_AND: lambda size, a, b: flag(And(as_truth(a), as_truth(b))),
    code.BOOL_OR: lambda size, a, b: flag(Or(as_truth(a), as_truth(b))),
    code.BOOL_XOR: lambda size, a, b: flag(Not(equal(as_truth(a), as_truth(b)))),
    code.PIECE: lambda size, a, b: concat(a, b),
    code.SUBPIECE: lambda size, a, b: subpiece(size, a, b),
    code.POPCOUNT: ones,
    code.LZCOUNT: leading_zeros,
}


def subpiece(size, a, low):
    at = low.args[0] * BITS
    if at + size > a.size:
        a = widened(a, at + size)
    return extract(a, at, size)
