#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layout of a folder of plugin headers as static_asserts with plain numbers: layout.py HEADERS > layout.h

Run once when a version is frozen, on an LP64 machine. The result is compiled against that version's headers and against the present ones."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

headers = Path(sys.argv[1])
text = "".join(re.sub(r"/\*.*?\*/", "", p.read_text(), flags=re.S) for p in sorted(headers.glob("portald/*.h")))
rows = []
for name, body in re.findall(r"^struct (pd_\w+) \{(.*?)^\};", text, re.S | re.M):
    rows.append(f'S("{name}", struct {name})')
    for line in " ".join(body.split()).split(";"):
        if "(*" in line:
            members = re.findall(r"\(\*(\w+)\)\(", line)[:1]
        else:
            # several in one declaration: "const char *zone, *type"
            members = [re.sub(r"\[.*\]", "", part).split()[-1].lstrip("*") for part in line.split(",") if part.strip()]
        rows += [f'M("{name}", struct {name}, {m})' for m in members]
for body in re.findall(r"^enum pd_\w+ \{(.*?)\};", text, re.S | re.M):
    rows += [f"E({e})" for e in re.findall(r"\b(PD_[A-Z_]+)\b(?= =)", body)]
rows += [f"E(PD_E_{e})" for e in re.findall(r"X\(\d+, ([A-Z_]+),", text)]
rows += ["E(PD_MAGIC)", "E(PD_ABI_MAJOR)"]

program = "#include <stdio.h>\n" + "".join(f"#include <portald/{p.name}>\n" for p in sorted(headers.glob("portald/*.h"))) + r"""
#define S(n_, t_) printf("static_assert(PD_ABI_MINOR ? sizeof(struct %s) >= %zu : sizeof(struct %s) == %zu, \"the size of %s\");\n", n_, sizeof(t_), n_, sizeof(t_), n_);
#define M(n_, t_, m_) printf("static_assert(offsetof(struct %s, %s) == %zu && sizeof(((struct %s *)0)->%s) == %zu, \"%s.%s\");\n", \
        n_, #m_, offsetof(t_, m_), n_, #m_, sizeof(((t_ *)0)->m_), n_, #m_);
#define E(e_) printf("static_assert((long long)%s == %lld, \"%s\");\n", #e_, (long long)e_, #e_);
int main(void) {
""" + "\n".join(rows) + "\n}\n"
with tempfile.TemporaryDirectory() as d:
    source = Path(d) / "layout.c"
    source.write_text(program)
    subprocess.run(["cc", "-std=gnu17", f"-I{headers}", "-o", f"{d}/layout", str(source)], check=True)
    print("/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by layout.py; never edited. */")
    print(subprocess.run([f"{d}/layout"], check=True, capture_output=True, text=True).stdout, end="")
