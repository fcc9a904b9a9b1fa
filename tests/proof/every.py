# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether a truth of one number of 32 bits holds for each of them: tried, by a program that is compiled for it.

Divisions that a compiler has made of products are hard for a solver, and 2³² numbers are few.
"""

import os
import subprocess
import tempfile

from terms import folded

WORST = 64
INFIX = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "band": "&", "eq": "==", "ult": "<"}


def written(lines, this, args):
    """Adds the line that computes a term of those before it; returns its name."""
    op, size, name = this.op, max(this.size, 1), f"t{len(lines)}"
    if size > WORST or any(getattr(part, "size", 0) > WORST for part in this.args):
        raise ValueError("too wide")
    if op == "var":
        value = "x"
    elif op == "const":
        value = f"{int(args[0])}ull"
    elif op == "ite":
        value = f"{args[0]} ? {args[1]} : {args[2]}"
    elif op == "concat":
        value = "0"
        for piece, part in zip(this.args, args):
            value = part if value == "0" else f"(({value}) << {piece.size} | {part})"
    elif op == "extract":
        value = f"{args[1]} >> {args[0]}"
    elif op in ("bnot", "not"):
        value = f"~{args[0]}"
    elif op == "lshr" and this.args[1].is_constant and this.args[1].value < WORST:
        value = f"{args[0]} >> {args[1]}"
    elif op in INFIX:
        value = f"{args[0]} {INFIX[op]} {args[1]}"
    else:
        raise ValueError(f"{op} is not written")
    lines.append(f"uint64_t {name} = ({value}) & {(1 << size) - 1}ull;")
    return name


def holds_for_each(truth):
    lines = []
    try:
        result = folded(truth, {}, lambda this, args: written(lines, this, args))
    except ValueError:
        return False
    body = "\n".join(lines)
    source = f"""#include <stdint.h>
        int main(void) {{
            uint32_t n = 0;
            do {{ uint64_t x = n; {body} if (!{result}) return 1; }} while (++n);
            return 0;
        }}"""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "each")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-x", "c", "-", "-o", program], input=source, text=True, check=True)
        return subprocess.run([program]).returncode == 0
