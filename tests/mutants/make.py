# SPDX-License-Identifier: Apache-2.0
"""Machine-made mutants: rewrites C sources so that each of many small faults can be switched on at run time in one binary.

clang's syntax tree says what an expression is and where it stands; the text is changed, not the tree. A mutant is a span of a function's body with
other text for it: `(mutant(N) ? other : original)`. Left out are macros' insides, loop headers and subscripts (they hang or overrun: the
sanitizers' part), constant expressions, and statements that only free or log."""
import dataclasses
import hashlib
import json
import re
import subprocess

RELATIONAL = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
LOGIC = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
BOUNDARY = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
# Without effect on what is decided or done: memory, the journal's text.
QUIET = re.compile(r"^(free|log_\w+|\w+_free|\w+_freep|json_decref|vec_free|printf|memset)$")
DEFAULTED = re.compile(r"^js_(int|bool|str)$")
SKIPPED = {"StaticAssertDecl", "CaseStmt", "UnaryExprOrTypeTraitExpr", "ConstantExpr", "GotoStmt"}


@dataclasses.dataclass
class Mutant:
    room: str
    file: str
    function: str
    kind: str
    line: int
    span: tuple
    parts: list  # text, or a span of the original
    shown: str
    key: str = ""
    number: int = 0


def at(loc):
    """(offset, end of token, in a macro) of one end of a node."""
    if not loc:
        return None
    if "expansionLoc" in loc:
        x = loc["expansionLoc"]
        return x["offset"], x["offset"] + x["tokLen"], True
    return (loc["offset"], loc["offset"] + loc["tokLen"], False) if "offset" in loc else None


class Source:
    def __init__(self, room, path, file, tree):
        with open(path, "rb") as f:
            self.text = f.read()
        self.room, self.file, self.found, self.function = room, file, [], ""
        for node in tree["inner"]:
            name = node.get("name", "").encode()
            loc = node.get("loc", {})
            if node.get("kind") != "FunctionDecl" or "includedFrom" in loc or "offset" not in loc:
                continue
            if self.text[loc["offset"]:loc["offset"] + len(name)] != name:
                continue
            body = next((c for c in node.get("inner", ()) if c.get("kind") == "CompoundStmt"), None)
            if body:
                self.function = node["name"]
                self.early_return(node, body)
                self.statement(body)

    # --- spans ---
    def span(self, node):
        """Where the node's text is; None when a macro has a part in it that cannot be told from here."""
        r = node.get("range", {})
        b, e = at(r.get("begin")), at(r.get("end"))
        if not b or not e or b[0] > e[0] or (b[2] and e[2] and b[0] == e[0]):
            return None
        end = e[1]
        if e[2]:  # NAME or NAME(...)
            rest = self.text[end:]
            if re.match(rb"\s*\(", rest):
                depth, i = 0, end
                while i < len(self.text):
                    depth += {40: 1, 41: -1}.get(self.text[i], 0)
                    i += 1
                    if depth == 0 and self.text[i - 1] == 41:
                        break
                end = i
        return b[0], end

    def name_span(self, node):
        """As span(), and also a macro's name that stands for the whole node (NULL, USEC_PER_SEC, BIT(x))."""
        s = self.span(node)
        r = node.get("range", {})
        b, e = at(r.get("begin")), at(r.get("end"))
        if s or not b or not e or b[0] != e[0] or "isMacroArgExpansion" in json.dumps(r):
            return s
        fake = {"range": {"begin": {"offset": b[0], "tokLen": 1}, "end": r["end"]}}
        return self.span(fake) if self.text[b[0]:b[1]].decode().isidentifier() else None

    def cut(self, span):
        return self.text[span[0]:span[1]].decode()

    def around(self, b, e):
        """The line of a constant, with the constant and what it becomes marked."""
        start, end = self.text.rfind(b"\n", 0, b) + 1, self.text.find(b"\n", e)
        line = self.text[start:b] + b"[" + self.text[b:e] + b" -> %d]" % (int(self.text[b:e]) + 1) + self.text[e:end]
        return " ".join(line.decode().split())

    def add(self, kind, span, parts, shown, all_shown=None):
        line = self.text.count(b"\n", 0, span[0]) + 1
        was = " ".join(self.cut(span).split())
        self.found.append(Mutant(self.room, self.file, self.function, kind, line, span, parts,
                                 all_shown or f"{was[:90]}  ->  {' '.join(shown.split())[:90]}"))

    # --- what can be changed ---
    def early_return(self, node, body):
        kind = node["type"]["qualType"].split(" (")[0].split("(")[0].strip()
        value = {"void": "", "int": "0", "bool": "0", "_Bool": "0", "int64_t": "0", "size_t": "0"}.get(kind, "0" if kind.endswith("*") else None)
        s = self.span(body)
        if value is None or not s or len(body.get("inner", ())) < 2:
            return
        brace = (s[0], s[0] + 1)
        self.add("early", brace, ["{ if (portald_mutant_is(%d)) return " + value + ";"], f"return {value}".strip() + " at once")

    def statement(self, node):
        kind = node.get("kind")
        inner = [c for c in node.get("inner", ()) if c]
        if kind in SKIPPED and kind != "CaseStmt":
            return
        if kind == "CaseStmt":
            for c in inner[1:]:
                self.statement_of_body(c)
        elif kind in ("CompoundStmt", "DefaultStmt", "LabelStmt"):
            for c in inner:
                self.statement_of_body(c)
        elif kind == "IfStmt":
            self.condition(inner[0])
            for c in inner[1:]:
                self.statement_of_body(c)
        elif kind in ("ForStmt", "WhileStmt", "DoStmt"):
            body = inner[0] if kind == "DoStmt" else inner[-1]
            self.statement_of_body(body)
        elif kind == "SwitchStmt":
            self.statement(inner[-1])
        elif kind == "DeclStmt":
            for c in inner:
                if c.get("kind") == "VarDecl" and c.get("storageClass") != "static":
                    for x in c.get("inner", ()):
                        if not x.get("kind", "").endswith("Attr"):
                            self.expression(x)
        elif kind == "ReturnStmt":
            for c in inner:
                self.expression(c)
        else:
            self.expression(node)

    def statement_of_body(self, node):
        self.drop(node)
        self.statement(node)

    def callee(self, node):
        while node.get("inner") and node.get("kind") in ("ImplicitCastExpr", "ParenExpr", "CStyleCastExpr", "CallExpr"):
            node = node["inner"][0]
        return node.get("referencedDecl", {}).get("name") or node.get("name") or ""

    def drop(self, node):
        kind = node.get("kind")
        call = node
        if kind == "CStyleCastExpr" and node.get("castKind") == "ToVoid":
            call = node["inner"][0]
        is_call = call.get("kind") == "CallExpr"
        assigns = kind == "CompoundAssignOperator" or (kind == "BinaryOperator" and node.get("opcode") == "=") or (
            kind == "UnaryOperator" and node.get("opcode") in ("++", "--"))
        s = self.span(node)
        if not s or not (is_call or assigns) or (is_call and QUIET.match(self.callee(call))):
            return
        if is_call and self.callee(call) in ("snprintf", "str_format"):
            return
        self.add("drop", s, ["(void)0"], "nothing")

    def condition(self, node):
        s = self.span(node)
        if s:
            self.add("negate", s, ["!(", s, ")"], "!(" + self.cut(s) + ")")
        self.expression(node)

    def integers(self, *nodes):
        return all(re.search(r"[*\[]", n.get("type", {}).get("qualType", "*")) is None for n in nodes)

    def binary(self, node, s):
        op = node.get("opcode")
        left, right = node["inner"]
        l, r = self.name_span(left), self.name_span(right)
        if not l or not r or not (s[0] <= l[0] < l[1] <= r[0] < r[1] <= s[1]):
            return
        between = self.text[l[1]:r[0]].decode()
        if between.count(op) != 1 and between.strip(" \n\t()") != op:
            return

        def other(new):
            return [(s[0], l[0]), l, between.replace(op, new, 1), r, (r[1], s[1])]

        if op in RELATIONAL:
            for new in RELATIONAL[op]:
                self.add("boundary" if (op, new) in BOUNDARY else "relation", s, other(new), f"{op} becomes {new}")
        elif op in LOGIC:
            self.add("logic", s, other(LOGIC[op]), f"{op} becomes {LOGIC[op]}")
        elif op in ARITHMETIC and self.integers(left, right):
            self.add("arithmetic", s, other(ARITHMETIC[op]), f"{op} becomes {ARITHMETIC[op]}")

    def expression(self, node):
        kind = node.get("kind")
        inner = [c for c in node.get("inner", ()) if c]
        if kind in SKIPPED or not kind:
            return
        s = self.span(node)
        if kind in ("BinaryOperator", "CompoundAssignOperator") and s:
            self.binary(node, s)
        elif kind == "ConditionalOperator":
            self.condition(inner[0])
            inner = inner[1:]
        elif kind == "IntegerLiteral":
            b = at(node["range"]["begin"])
            if b and not b[2] and re.fullmatch(rb"[0-9]+", self.text[b[0]:b[1]]):
                self.add("constant", (b[0], b[1]), [str(int(self.cut((b[0], b[1]))) + 1)], "", self.around(b[0], b[1]))
        elif kind == "ArraySubscriptExpr":
            inner = inner[:1]
        elif kind == "CallExpr":
            if QUIET.match(self.callee(node)):
                return
            if DEFAULTED.match(self.callee(node)):  # the value of a member that is always there
                inner = inner[:-1]
        elif kind == "InitListExpr":
            inner = [c for c in inner if not self.is_zero(c)]
        elif kind == "StmtExpr":
            return
        for c in inner:
            self.expression(c)

    @staticmethod
    def is_zero(node):
        while node.get("kind") == "ImplicitCastExpr" and node.get("inner"):
            node = node["inner"][0]
        return node.get("kind") == "IntegerLiteral" and node.get("value") == "0"

    # --- the text with the chosen ones in it ---
    def rewritten(self, chosen):
        spans = {}
        for m in chosen:
            spans.setdefault(m.span, []).append(m)
        order = sorted(spans, key=lambda s: (s[0], -s[1]))

        def render(b, e, skip=None):
            out, pos = [], b
            for s in order:
                if s[0] < pos or s[1] > e or s == skip:
                    continue
                out.append(self.text[pos:s[0]].decode())
                out.append(edit(s))
                pos = s[1]
            out.append(self.text[pos:e].decode())
            return "".join(out)

        def fill(m, parts):
            return "".join(p if isinstance(p, str) else render(*p, skip=m.span) for p in parts)

        def edit(s):
            if spans[s][0].kind == "early":
                return spans[s][0].parts[0] % spans[s][0].number
            drops = any(m.kind == "drop" for m in spans[s])
            cast = "(void)" if drops else ""
            text = "".join(f"portald_mutant_is({m.number}) ? {cast}({fill(m, m.parts)}) : " for m in spans[s])
            return f"({text}{cast}({render(*s, skip=s)}))"

        return render(0, len(self.text))


def parse(compiler, flags, path):
    done = subprocess.run([compiler, "-Xclang", "-ast-dump=json", "-fsyntax-only", "-w", *flags, path], capture_output=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"{path}: {done.stderr.decode()[-500:]}")
    return json.loads(done.stdout)


def name_all(mutants):
    """A key that stays while the function does not change: no line numbers in it."""
    seen = {}
    for m in mutants:
        base = f"{m.room}/{m.file}:{m.function}:{m.kind}:" + hashlib.sha256(m.shown.encode()).hexdigest()[:8]
        seen[base] = seen.get(base, 0) + 1
        m.key = base if seen[base] == 1 else f"{base}.{seen[base]}"


def choose(mutants, sizes, count, seed):
    """count of them, to each room its share by lines (at least a twentieth), the kinds in turn; which, says the hash of seed and key."""
    shares = {r: max(sizes[r] * count // sum(sizes.values()), count // 20) for r in sizes}
    shares[max(shares, key=shares.get)] += count - sum(shares.values())
    chosen = []
    for room, share in sorted(shares.items()):
        kinds = {}
        for m in sorted((m for m in mutants if m.room == room), key=lambda m: hashlib.sha256(f"{seed} {m.key}".encode()).digest()):
            kinds.setdefault(m.kind, []).append(m)
        while share > 0 and any(kinds.values()):
            for k in sorted(kinds):
                if share > 0 and kinds[k]:
                    chosen.append(kinds[k].pop(0))
                    share -= 1
    chosen.sort(key=lambda m: (m.room, m.file, m.span))
    for i, m in enumerate(chosen):
        m.number = i + 1
    return chosen
