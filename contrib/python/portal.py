# SPDX-License-Identifier: Apache-2.0
"""Lets a Python program be saved and go on elsewhere under portald (capture `values`).

    import portal
    state = portal.state(step=0, model=Model())   # on resume the saved values replace these
    while state.step < 1000:
        train(state)
        state.step += 1
        portal.safe_point()                       # the only place where a save can happen

Strict: a value is carried exactly or refused by name. What is carried is a list (NODES below); whatever is not on it is refused,
with its path, its type and the reason, all of them at once, and the program runs on. There is no pickle in here: loading
imports classes by name and sets attributes; it calls no constructor of yours.

Without portald (no PORTAL_SOCKET, no PORTAL_CHECKPOINT_DIR) every call does nothing and the defaults stay.
Needs Python >= 3.9 and nothing but its standard library; numpy and torch are served when the program has imported them.
"""
import base64, copyreg, fcntl, importlib, json, os, select, socket, struct, sys, threading, time, types, zlib
from collections import Counter, OrderedDict, defaultdict, deque

__all__ = ["state", "register", "safe_point", "progress", "out_of_memory", "resumed", "Error", "State"]

VERSION = 1                  # of the files and of the talk on the socket
MAGIC = "portal-values"
MANIFEST = "manifest"
INLINE = 4096                # bytes; larger raw data goes into a file of its own
SHORT = 64                   # characters; longer text is written once and referred to
NAMED_MAX = 1000             # refusals listed one by one; the rest is counted
LINE_MAX = 65536             # bytes of one request
TALKERS_MAX = 8              # connections at a time


class Error(Exception):
    """A checkpoint cannot be taken up, or the module was used wrongly. The text says what to do."""


class _Refusal(Exception):
    def __init__(self, reason, fix=""):
        super().__init__(reason)
        self.reason, self.fix = reason, fix


class _TooLate(Exception):
    pass


KEEP_OUT = "keep it out of the saved values and make it anew on start, or portal.register() a get and a set for what matters of it"
REGISTER = "portal.register(name, get, set) with functions that give and take what matters of it"

# ---------------------------------------------------------------------------------------------- classes and names

_STDLIB = getattr(sys, "stdlib_module_names", None)
# Classes of the standard library that are nothing but their attributes, or that add nothing to an instance.
_PLAIN_STDLIB = {
    "argparse.Namespace", "argparse._AttributeHolder", "types.SimpleNamespace", "collections.UserDict", "collections.UserList", "collections.UserString",
    "collections.ChainMap", "abc.ABC", "typing.Generic", "typing.Protocol", "dataclasses.InitVar",
}
_OWN_WAYS = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")


def _type_name(cls):
    name = getattr(cls, "__qualname__", "?")
    mod = getattr(cls, "__module__", "?")
    return name if mod == "builtins" else "%s.%s" % (mod, name)


def _is_stdlib(cls):
    top = str(cls.__module__).partition(".")[0]
    if _STDLIB is not None:
        return top in _STDLIB
    if top in sys.builtin_module_names:
        return True
    origin = getattr(sys.modules.get(top), "__file__", None) or ""       # Python 3.9 has no list of names
    return origin.startswith(os.path.dirname(os.__file__)) and "-packages" not in origin


def _by_name(module, qualname):
    obj = sys.modules.get(module)
    for part in qualname.split("."):
        obj = getattr(obj, part, None) if obj is not None else None
    return obj


def _name_of(obj):
    """`module:qualname` of a class or function that can be found again under it."""
    module, qualname = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(qualname, str):
        raise _Refusal("it has no name of its own in a module", KEEP_OUT)
    if "<lambda>" in qualname:
        raise _Refusal("a lambda has no name under which it could be found again", "use a function defined at module level")
    if "<locals>" in qualname:
        raise _Refusal("it is defined inside a function and cannot be found again by name", "define it at module level")
    if _by_name(module, qualname) is not obj:
        raise _Refusal("%s:%s is not this object: it cannot be found again by name" % (module, qualname),
                       "define it at module level under its own name")
    return "%s:%s" % (module, qualname)


def _own_way(cls):
    for name in _OWN_WAYS:
        how = cls.__dict__.get(name)
        if how is None or getattr(how, "__module__", "") == "dataclasses":
            continue                                                     # what @dataclass(slots=True) writes
        if name == "__getnewargs__" and cls.__bases__ == (tuple,) and "_fields" in cls.__dict__:
            continue                                                     # what namedtuple writes
        return name
    return None


_base_cache = {}


def _base_of(cls):
    """The carriable builtin that cls extends, or object; refuses a class whose state is not all in __dict__ and __slots__."""
    if cls not in _base_cache:
        _base_cache[cls] = _find_base(cls)
    found = _base_cache[cls]
    if isinstance(found, _Refusal):
        raise found
    return found


def _find_base(cls):
    base = object
    try:
        for c in cls.__mro__:
            if c in _BASES:
                base = c if base is object else base
            elif c is not object:
                _check_plain(c, cls)
        if cls in copyreg.dispatch_table:
            raise _Refusal("its class has a way of its own to be copied (copyreg): only that knows what its state is", REGISTER)
        _check_layout(cls, base)
        _name_of(cls)
        return base
    except _Refusal as e:
        return e


def _check_plain(c, cls):
    if _is_stdlib(c):
        if _type_name(c) in _PLAIN_STDLIB or str(c.__module__) in ("collections.abc", "_collections_abc"):
            return
        if c is cls:
            raise _Refusal("values of this type are not on the list of what a checkpoint carries: it would come back "
                           "changed, or not at all", KEEP_OUT)
        raise _Refusal("its class extends %s, which is not on the list of what a checkpoint carries" % _type_name(c), KEEP_OUT)
    if not c.__flags__ & (1 << 9):
        raise _Refusal("its class %s is not written in Python: state outside its attributes would be lost" % _type_name(c), REGISTER)
    way = _own_way(c)
    if way:
        raise _Refusal("its class defines %s: only that knows what of its state may be carried" % way, REGISTER)


def _check_layout(cls, base):
    """An instance may be no larger than its base, __dict__, __weakref__ and __slots__ account for: what a compiled class
    keeps in fields of its own would be lost."""
    if base is object and issubclass(cls, types.SimpleNamespace):
        base = types.SimpleNamespace
    if base.__itemsize__:                                                # such a class can have no slots
        body = {}
    else:
        names = ["s%d" % i for i in range(len(copyreg._slotnames(cls)))]
        names += ["__dict__"] if cls.__dictoffset__ and not base.__dictoffset__ else []
        names += ["__weakref__"] if cls.__weakrefoffset__ and not base.__weakrefoffset__ else []
        body = {"__slots__": names}
    if cls.__basicsize__ > type("_Layout", (base,), body).__basicsize__:
        raise _Refusal("its class holds state outside of its attributes", REGISTER)


def _state_of(obj, cls):
    """(dict or None, [(slot, value)...])"""
    try:
        attrs = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        attrs = None
    slots = []
    for name in copyreg._slotnames(cls):
        try:
            slots.append((name, object.__getattribute__(obj, name)))
        except AttributeError:
            pass                                                         # a slot that was never set stays so
    return attrs, slots


# ---------------------------------------------------------------------------------------------- encode

def _key_text(key):
    if type(key) in (str, int, bool, bytes, type(None), float):
        text = repr(key)
    elif type(key) is tuple and all(type(k) in (str, int, bool) for k in key):
        text = repr(key)
    else:
        text = "<%s>" % _type_name(type(key))
    return text if len(text) <= 80 else text[:77] + "..."


def _path_text(path):
    parts = []
    while path is not None:
        path, how, key = path
        parts.append(key if how == "root" else ".%s" % key if how == "attr" else "{%d}" % key if how == "member"
                     else "<key %s>" % _key_text(key) if how == "key" else "[%s]" % _key_text(key))
    return "".join(reversed(parts))


def _text(s):
    if s.isascii() or not any("\ud800" <= c <= "\udfff" for c in s):
        return s
    return {"u": s.encode("utf-8", "surrogatepass").hex()}               # JSON would join two lone surrogates


class _Encoder:
    """Walks a graph of values without recursion. Objects are a table; everything else refers into it, so that sharing and
    cycles are kept. Raw data is only noted (blobs), not copied: the program stands still until it is written."""

    def __init__(self):
        self.table, self.ids, self.keep, self.queue = [], {}, [], deque()
        self.refused, self.bad, self.again = [], set(), []
        self.blobs = []          # (bytes, function that gives a contiguous buffer)
        self.bytes = 0

    def refuse(self, path, typ, reason, fix=""):
        told = {"path": _path_text(path), "type": typ, "reason": reason, "fix": fix}
        self.refused.append({k: v.encode("utf-8", "backslashreplace").decode() for k, v in told.items()})

    def ref(self, obj, path):
        t = type(obj)
        if obj is None or t is bool:
            return obj
        if t is int:
            return obj if -(1 << 53) < obj < 1 << 53 else {"i": hex(obj)}
        if t is float:
            return {"f": struct.pack(">d", obj).hex()}
        if t is str and len(obj) <= SHORT:
            return _text(obj)
        n = self.ids.get(id(obj))
        if n is None:
            n = self.ids[id(obj)] = len(self.table)
            self.keep.append(obj)
            self.table.append(None)
            self.queue.append((obj, n, path))
        elif t not in _NODES:
            self.again.append((n, t, path))
        return {"r": n}

    def run(self, late=lambda: None):
        while self.queue:
            obj, n, path = self.queue.popleft()
            if n % 1024 == 0:
                late()
            try:
                self.table[n] = self.node(obj, path)
            except _Refusal as e:
                self.bad.add(n)
                self.refuse(path, _type_name(type(obj)), e.reason, e.fix)
        for n, t, path in self.again:
            if n in self.bad:
                self.refuse(path, _type_name(t), "the same object as one named above", KEEP_OUT)

    def node(self, obj, path):
        t = type(obj)
        how = _NODES.get(t)
        if how:
            return how(self, obj, path)
        how = _LATER_NODES.get(_type_name(t))
        if how and _by_name(t.__module__, t.__qualname__) is t:
            return how(self, obj, path)
        for test, how in _FAMILIES:
            if test(obj, t):
                return how(self, obj, path)
        base = _base_of(t)
        if base is object:
            return ["obj", {"c": _name_of(t)}, self.state(obj, t, path)]
        return ["sub", {"c": _name_of(t)}, _NODES[base](self, obj, path), self.state(obj, t, path)]

    def state(self, obj, cls, path):
        attrs, slots = _state_of(obj, cls)
        pairs = None
        if attrs is not None:
            pairs = [[self.ref(k, path), self.ref(v, (path, "attr", k))] for k, v in attrs.items()]
        return [pairs, [[k, self.ref(v, (path, "attr", k))] for k, v in slots]]

    def items(self, it, path):
        return [self.ref(v, (path, "item", i)) for i, v in enumerate(it)]

    def pairs(self, it, path):
        return [[self.ref(k, (path, "key", k)), self.ref(v, (path, "item", k))] for k, v in it]

    def data(self, size, give):
        """Raw bytes: give() is called when they are written and returns a contiguous buffer of `size` bytes."""
        self.bytes += size
        if size <= INLINE:
            return {"x": base64.b64encode(bytes(give())).decode()}
        self.blobs.append((size, give))
        return {"b": len(self.blobs)}                                    # file 0 is the table itself


def _list_node(e, obj, path):
    n = list.__len__(obj)
    if n > 16 and all(type(v) is float for v in list.__iter__(obj)):
        return ["floats", e.data(8 * n, lambda: struct.pack("<%dd" % n, *list.__iter__(obj)))]
    return ["list", e.items(list.__iter__(obj), path)]


def _odict_node(e, obj, path):
    return ["odict", e.pairs(OrderedDict.items(obj), path)] + _extra(e, obj, OrderedDict, path)


def _extra(e, obj, exact, path):
    """Attributes set on an instance of a builtin that has room for them; a subclass's go the way of `sub`."""
    attrs = getattr(obj, "__dict__", None) if type(obj) is exact else None
    return [e.state(obj, exact, path)] if attrs else []


def _set_node(kind, iterate):
    return lambda e, obj, path: [kind, [e.ref(v, (path, "member", i)) for i, v in enumerate(iterate(obj))]]


def _function_node(e, obj, path):
    if getattr(obj, "__closure__", None):
        raise _Refusal("a function that holds variables of its own (%s)" % ", ".join(obj.__code__.co_freevars), KEEP_OUT)
    if set(getattr(obj, "__dict__", ())) - {"__wrapped__"}:
        raise _Refusal("a function with attributes of its own, which its name alone would not bring back", KEEP_OUT)
    if type(obj) is types.BuiltinFunctionType and not isinstance(obj.__self__, types.ModuleType):
        raise _Refusal("a method bound to an object", KEEP_OUT)
    return ["name", _name_of(obj)]


def _enum_node(e, obj, path):
    cls, name = type(obj), obj._name_
    if name is not None and cls.__members__.get(name) is obj:
        return ["member", {"c": _name_of(cls)}, name]
    if "Flag" in (c.__name__ for c in cls.__mro__) and cls(obj._value_) == obj:
        return ["flags", {"c": _name_of(cls)}, e.ref(obj._value_, path)]
    raise _Refusal("it is no member of its enumeration %s" % _type_name(cls), KEEP_OUT)


def _is_enum(obj, t):
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(t, enum.EnumMeta)


_NODES = {
    int: lambda e, o, p: ["int", e.ref(int.__index__(o), p)],
    float: lambda e, o, p: ["float", e.ref(float.__float__(o), p)],
    complex: lambda e, o, p: ["complex", e.ref(complex.real.__get__(o), p), e.ref(complex.imag.__get__(o), p)],
    str: lambda e, o, p: ["str", _text(str.__str__(o))],
    bytes: lambda e, o, p: ["bytes", e.data(bytes.__len__(o), lambda: memoryview(o))],
    bytearray: lambda e, o, p: ["bytearray", e.data(bytearray.__len__(o), lambda: memoryview(o))],
    list: _list_node,
    tuple: lambda e, o, p: ["tuple", e.items(tuple.__iter__(o), p)],
    dict: lambda e, o, p: ["dict", e.pairs(dict.items(o), p)],
    set: _set_node("set", set.__iter__),
    frozenset: _set_node("frozenset", frozenset.__iter__),
    range: lambda e, o, p: ["range", e.ref(o.start, p), e.ref(o.stop, p), e.ref(o.step, p)],
    slice: lambda e, o, p: ["slice", e.ref(o.start, (p, "attr", "start")), e.ref(o.stop, (p, "attr", "stop")),
                            e.ref(o.step, (p, "attr", "step"))],
    deque: lambda e, o, p: ["deque", deque.maxlen.__get__(o), e.items(deque.__iter__(o), p)],
    type(...): lambda e, o, p: ["const", "Ellipsis"],
    type(NotImplemented): lambda e, o, p: ["const", "NotImplemented"],
    types.FunctionType: _function_node,
    types.BuiltinFunctionType: _function_node,
}
_CONST = {"Ellipsis": ..., "NotImplemented": NotImplemented}


def _default_node(e, obj, path):
    factory = e.ref(defaultdict.default_factory.__get__(obj), (path, "attr", "default_factory"))
    return ["ddict", factory, e.pairs(dict.items(obj), path)]


def _counter_node(e, obj, path):
    return ["counter", e.pairs(dict.items(obj), path)] + _extra(e, obj, Counter, path)


def _array_node(e, obj, path):
    def give():
        if sys.byteorder == "little":
            return memoryview(obj).cast("B")
        swapped = obj[:]
        swapped.byteswap()
        return swapped.tobytes()
    return ["array", obj.typecode, obj.itemsize, e.data(len(obj) * obj.itemsize, give)]


def _time_node(e, obj, path):
    return ["time", [obj.hour, obj.minute, obj.second, obj.microsecond], obj.fold, e.ref(obj.tzinfo, (path, "attr", "tzinfo"))]


def _datetime_node(e, obj, path):
    when = [obj.year, obj.month, obj.day, obj.hour, obj.minute, obj.second, obj.microsecond]
    return ["datetime", when, obj.fold, e.ref(obj.tzinfo, (path, "attr", "tzinfo"))]


def _zone_node(e, obj, path):
    if obj.key is None:
        raise _Refusal("a time zone without a name", "make it by ZoneInfo(name)")
    return ["zoneinfo", obj.key]


def _path_node(e, obj, path):
    return ["path", type(obj).__name__, e.ref(str(obj), path)]


def _random_node(e, obj, path):
    return ["random", e.ref(obj.getstate(), path)] + _extra(e, obj, type(obj), path)


def _pattern_node(e, obj, path):
    return ["pattern", e.ref(obj.pattern, path), obj.flags]


# By name, so that nothing is imported that the program does not use.
_LATER_NODES = {
    "array.array": _array_node,
    "datetime.datetime": _datetime_node,
    "datetime.date": lambda e, o, p: ["date", o.year, o.month, o.day],
    "datetime.time": _time_node,
    "datetime.timedelta": lambda e, o, p: ["timedelta", o.days, o.seconds, o.microseconds],
    "datetime.timezone": lambda e, o, p: ["timezone", [e.ref(v, p) for v in o.__getinitargs__()]],
    "zoneinfo.ZoneInfo": _zone_node,
    "decimal.Decimal": lambda e, o, p: ["decimal", str(o)],
    "fractions.Fraction": lambda e, o, p: ["fraction", e.ref(o.numerator, p), e.ref(o.denominator, p)],
    "uuid.UUID": lambda e, o, p: ["uuid", o.hex, o.is_safe.name],
    "random.Random": _random_node,
    "re.Pattern": _pattern_node,
}
for _m in ("pathlib", "pathlib._local"):
    for _n in ("PurePosixPath", "PureWindowsPath", "PosixPath"):
        _LATER_NODES["%s.%s" % (_m, _n)] = _path_node

# ---------------------------------------------------------------------------------------------- numpy and torch

_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def _descr(np, dtype):
    if dtype.hasobject:
        raise _Refusal("an array of Python objects (dtype %s)" % dtype, "keep objects in a list; an array carries raw numbers")
    descr = np.lib.format.dtype_to_descr(dtype)
    if _undescr(np, json.loads(json.dumps(descr))) != dtype or dtype.metadata:
        raise _Refusal("an array of the type %s, which cannot be written exactly" % dtype, "convert it to a plain dtype")
    if isinstance(descr, str) and np.dtype(descr).char != dtype.char:
        return dtype.char                                                # long long, where it is as wide as long
    return descr


def _undescr(np, descr):
    def tuples(d):
        if isinstance(d, str):
            return d
        if len(d) == 2 and isinstance(d[0], (list, str)) and isinstance(d[1], list) and all(isinstance(n, int) for n in d[1]):
            return (tuples(d[0]), tuple(d[1]))
        out = []
        for field in d:
            name = tuple(field[0]) if isinstance(field[0], list) else field[0]
            out.append((name, tuples(field[1])) + tuple(tuple(shape) for shape in field[2:]))
        return out
    return np.lib.format.descr_to_dtype(tuples(descr))


def _ndarray_node(e, a, path):
    np = sys.modules["numpy"]
    descr = _descr(np, a.dtype)
    owner = a.base
    while type(owner) is np.ndarray and owner.base is not None:
        owner = owner.base
    if type(owner) is np.ndarray and owner.dtype.itemsize and (owner.flags.c_contiguous or owner.flags.f_contiguous):
        where = a.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        if a.size and not owner.dtype.hasobject and where >= 0:
            return ["ndview", descr, list(a.shape), list(a.strides), where, bool(a.flags.writeable), e.ref(owner, path)]
    if owner is not None and type(owner) is not bytes and a.size:
        raise _Refusal("an array over memory that belongs to a %s: changes through it would be lost" % _type_name(type(owner)),
                       "save a copy of it: array.copy()")
    order = "C" if a.flags.c_contiguous or not a.flags.f_contiguous else "F"

    def give():
        flat = np.ascontiguousarray(a if order == "C" else a.T)
        return memoryview(flat.reshape(-1).view(np.uint8)) if a.dtype.itemsize else b""
    return ["ndarray", descr, list(a.shape), order, bool(a.flags.writeable), e.data(a.nbytes, give if a.size else lambda: b"")]


def _npscalar_node(e, obj, path):
    np = sys.modules["numpy"]
    if type(obj) is not obj.dtype.type:
        raise _Refusal("a numpy scalar of a class of its own", KEEP_OUT)
    return ["npscalar", _descr(np, obj.dtype), e.data(obj.dtype.itemsize, obj.tobytes)]


def _bitgen_node(e, obj, path):
    seq = getattr(obj, "seed_seq", None) or getattr(obj, "_seed_seq", None)
    seed = None
    if _type_name(type(seq)).endswith(".SeedSequence"):
        seed = e.ref({"entropy": seq.entropy, "spawn_key": seq.spawn_key, "pool_size": seq.pool_size,
                      "n_children_spawned": seq.n_children_spawned}, path)
    return ["bitgen", type(obj).__name__, e.ref(obj.state, path), seed]


def _is_numpy(name):
    def test(obj, t):
        np = sys.modules.get("numpy")
        if np is None:
            return False
        if name == "bitgen":
            return t.__name__ in _BIT_GENERATORS and getattr(np.random, t.__name__, None) is t
        if name in ("Generator", "RandomState"):
            return getattr(np.random, name, None) is t
        return t is np.ndarray if name == "ndarray" else isinstance(obj, np.generic) if name == "generic" else isinstance(obj, np.dtype)
    return test


def _random_state_node(e, obj, path):
    return ["nprandomstate", e.ref(obj.get_state(legacy=False), path)]


def _is_tensor(obj, t):
    torch = sys.modules.get("torch")
    return torch is not None and (t is torch.Tensor or t is torch.nn.Parameter)


def _tensor_node(e, obj, path):
    torch = sys.modules["torch"]
    if obj.layout is not torch.strided or obj.is_quantized or obj.is_conj() or obj.is_neg():
        raise _Refusal("a tensor that is not plainly strided (%s)" % obj.layout, "save tensor.to_dense() or a resolved copy")
    if obj.grad_fn is not None:
        raise _Refusal("a tensor that is part of a gradient graph", "save tensor.detach(), or save between steps")
    if obj.device.type not in ("cpu", "cuda"):
        raise _Refusal("a tensor on the device %s" % obj.device, "save tensor.cpu()")
    storage = obj.untyped_storage()
    key = ("torch", str(obj.device), storage.data_ptr() if storage.nbytes() else id(obj))
    if key not in e.ids:
        e.ids[key] = len(e.table)
        e.keep.append(storage)
        raw = torch.empty(0, dtype=torch.uint8, device=obj.device).set_(storage)
        e.table.append(["storage", str(obj.device), e.data(storage.nbytes(), lambda: _tensor_bytes(raw))])
    return ["tensor", type(obj).__name__, str(obj.dtype).partition(".")[2], list(obj.shape), list(obj.stride()), obj.storage_offset(),
            bool(obj.requires_grad), {"r": e.ids[key]}, e.ref(obj.grad, (path, "attr", "grad"))] + [
            [[k, e.ref(v, (path, "attr", k))] for k, v in obj.__dict__.items()]]


def _tensor_bytes(raw):
    import ctypes
    cpu = raw.cpu()
    return bytes((ctypes.c_char * cpu.numel()).from_address(cpu.data_ptr())) if cpu.numel() else b""


_FAMILIES = [
    (_is_enum, _enum_node),
    (lambda o, t: isinstance(o, type), lambda e, o, p: ["name", _name_of(o)]),
    (_is_numpy("ndarray"), _ndarray_node),
    (_is_numpy("generic"), _npscalar_node),
    (_is_numpy("dtype"), lambda e, o, p: ["dtype", _descr(sys.modules["numpy"], o)]),
    (_is_numpy("bitgen"), _bitgen_node),
    (_is_numpy("Generator"), lambda e, o, p: ["npgenerator", e.ref(o.bit_generator, (p, "attr", "bit_generator"))]),
    (_is_numpy("RandomState"), _random_state_node),
    (_is_tensor, _tensor_node),
    (lambda o, t: _type_name(t) == "torch.device" or _type_name(t) == "torch.dtype", lambda e, o, p: ["torchname", str(o)]),
]
_NODES.update({OrderedDict: _odict_node, defaultdict: _default_node, Counter: _counter_node})
# Builtins that a class may extend; an instance then travels as the builtin's content and its own attributes.
_BASES = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, deque, OrderedDict, defaultdict, Counter)

# ---------------------------------------------------------------------------------------------- decode


class _NotYet(Exception):
    pass


def _find(name):
    module, _, qualname = name.partition(":")
    try:
        importlib.import_module(module)
    except ImportError as e:
        raise Error("the checkpoint needs %s, and %s cannot be imported here: %s" % (name, module, e))
    obj = _by_name(module, qualname)
    if obj is None:
        raise Error("the checkpoint needs %s, which is not defined at this point; run the program that was saved, and define its "
                    "classes before portal.state()" % name)
    return obj


class _Decoder:
    """Builds the graph back: mutable objects first as empty shells, so that cycles close; an object's parts before itself."""

    def __init__(self, table, blob):
        self.table, self.blob = table, blob
        self.obj, self.done = {}, set()

    def value(self, x):
        if type(x) is not dict:
            return x
        (kind, arg), = x.items()
        if kind == "r":
            if arg not in self.obj:
                raise _NotYet()
            return self.obj[arg]
        if kind == "i":
            return int(arg, 16)
        if kind == "f":
            return struct.unpack(">d", bytes.fromhex(arg))[0]
        if kind == "u":
            return bytes.fromhex(arg).decode("utf-8", "surrogatepass")
        if kind == "x":
            return base64.b64decode(arg, validate=True)
        if kind == "b":
            return self.blob(arg)
        if kind == "c":
            return _find(arg)
        raise Error("the checkpoint holds a value of the unknown kind %r" % kind)

    def children(self, x):
        todo, found = [x], []
        while todo:
            v = todo.pop()
            if type(v) is list:
                todo.extend(v)
            elif type(v) is dict and "r" in v:
                found.append(v["r"])
        return found[::-1]

    def build(self, root):
        """Makes object number `root` and all that it needs."""
        entered, late, stack = set(), [], []
        if root not in self.done:
            stack = [(root, self.enter(root, entered))]
        while stack:
            n, rest = stack[-1]
            child = next((c for c in rest if c not in self.done and c not in entered), None)
            if child is not None:
                stack.append((child, self.enter(child, entered)))
                continue
            stack.pop()
            if not self.finish(n, strict=True):
                late.append(n)
        strict = True
        while late:
            left = [n for n in late if not self.finish(n, strict)]
            if len(left) == len(late):
                if not strict:
                    raise Error("the checkpoint's table has a circle that cannot be closed")
                strict = False
            else:
                strict = True
            late = left

    def enter(self, n, entered):
        entered.add(n)
        node = self.table[n]
        kind = node[0] if node[0] != "sub" else node[2][0]
        shell = _SHELLS.get(kind)
        if shell:
            self.obj[n] = shell(self, node, _find(node[1]["c"]) if node[0] == "sub" else None)
        return iter(self.children(node))

    def finish(self, n, strict):
        """Completes object n; False = a part of it is missing yet. Strict: what is hashed must be whole before it is."""
        node = self.table[n]
        if n in self.done:
            return True
        if strict and node[0] in _HASHED and any(c not in self.done for c in self.children(node)):
            return False
        try:
            self.fill(n, node)
        except _NotYet:
            return False
        self.done.add(n)
        return True

    def fill(self, n, node):
        kind, cls, body, state = node[0], None, node, None
        if kind == "sub":
            cls, body, state = _find(node[1]["c"]), node[2], node[3]
        elif kind in ("odict", "counter", "random") and len(node) > 2:
            state = node[2]
        if body[0] in _SHELLS:
            _FILLS[body[0]](self, self.obj[n], body)
        elif n not in self.obj:
            made = _MAKES[body[0]](self, body)
            self.obj[n] = made if cls is None else _subclass(cls, made)
        if state is not None:
            self.set_state(self.obj[n], state)

    def set_state(self, obj, state):
        attrs = None if state[0] is None else [(self.value(k), self.value(v)) for k, v in state[0]]
        slots = [(k, self.value(v)) for k, v in state[1]]
        if attrs:
            object.__getattribute__(obj, "__dict__").update(attrs)
        for name, v in slots:
            object.__setattr__(obj, name, v)


def _subclass(cls, made):
    return type(made).__new__(cls, made)


def _deque_shell(d, node, cls):
    body = node if cls is None else node[2]
    made = deque.__new__(cls or deque)
    deque.__init__(made, (), body[1])
    return made


def _bare(cls):
    return (types.SimpleNamespace if issubclass(cls, types.SimpleNamespace) else object).__new__(cls)


def _random_shell(d, node, cls):
    import random
    return random.Random()


_SHELLS = {
    "list": lambda d, n, cls: list.__new__(cls or list),
    "floats": lambda d, n, cls: list.__new__(cls or list),
    "bytearray": lambda d, n, cls: bytearray.__new__(cls or bytearray),
    "set": lambda d, n, cls: set.__new__(cls or set),
    "dict": lambda d, n, cls: dict.__new__(cls or dict),
    "odict": lambda d, n, cls: OrderedDict.__new__(cls or OrderedDict),
    "ddict": lambda d, n, cls: defaultdict.__new__(cls or defaultdict),
    "counter": lambda d, n, cls: Counter.__new__(cls or Counter),
    "deque": _deque_shell,
    "random": _random_shell,
    "obj": lambda d, n, cls: _bare(_find(n[1]["c"])),
}
_HASHED = ("set", "frozenset", "dict", "odict", "ddict", "counter", "sub")


def _fill_pairs(put, at=1):
    def fill(d, obj, node):
        pairs = [(d.value(k), d.value(v)) for k, v in node[at]]
        for k, v in pairs:
            put(obj, k, v)
    return fill


def _fill_default(d, obj, node):
    factory = d.value(node[1])
    _fill_pairs(dict.__setitem__, 2)(d, obj, node)
    defaultdict.default_factory.__set__(obj, factory)


def _fill_deque(d, obj, node):
    items = [d.value(v) for v in node[2]]
    deque.clear(obj)
    deque.extend(obj, items)


def _fill_list(d, obj, node):
    items = [d.value(v) for v in node[1]]
    list.clear(obj)
    list.extend(obj, items)


_FILLS = {
    "list": _fill_list,
    "floats": lambda d, o, n: list.extend(o, (v for v, in struct.iter_unpack("<d", d.value(n[1])))),
    "bytearray": lambda d, o, n: bytearray.extend(o, d.value(n[1])),
    "set": lambda d, o, n: set.update(o, [d.value(v) for v in n[1]]),
    "dict": _fill_pairs(dict.__setitem__),
    "odict": _fill_pairs(OrderedDict.__setitem__),
    "ddict": _fill_default,
    "counter": _fill_pairs(dict.__setitem__),
    "deque": _fill_deque,
    "random": lambda d, o, n: o.setstate(d.value(n[1])),
    "obj": lambda d, o, n: d.set_state(o, n[2]),
}


def _make_array(d, n):
    import array
    made = array.array(n[1])
    if made.itemsize != n[2]:
        raise Error("array('%s') has items of %d bytes here and had %d where it was saved" % (n[1], made.itemsize, n[2]))
    made.frombytes(d.value(n[3]))
    if sys.byteorder != "little":
        made.byteswap()
    return made


def _make_when(name):
    def make(d, n):
        import datetime
        return getattr(datetime, name)(*n[1], fold=n[2], tzinfo=d.value(n[3]))
    return make


def _lib(module, name, args):
    def make(d, n):
        return getattr(importlib.import_module(module), name)(*args(d, n))
    return make


def _make_timezone(d, n):
    import datetime
    args = [d.value(v) for v in n[1]]
    return datetime.timezone.utc if args == [datetime.timedelta(0)] else datetime.timezone(*args)


def _make_uuid(d, n):
    import uuid
    return uuid.UUID(hex=n[1], is_safe=uuid.SafeUUID[n[2]])


def _make_member(d, n):
    cls = d.value(n[1])
    if n[2] not in cls.__members__:
        raise Error("the checkpoint holds %s.%s, which the enumeration no longer has" % (_type_name(cls), n[2]))
    return cls.__members__[n[2]]


def _make_ndarray(d, n):
    import numpy as np
    made = np.empty(n[2], _undescr(np, n[1]), n[3])
    data = d.value(n[5])
    if len(data) != made.nbytes:
        raise Error("an array's data is %d bytes and not %d" % (len(data), made.nbytes))
    if made.nbytes:
        flat = made if n[3] == "C" else made.T
        flat.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
    made.flags.writeable = n[4]
    return made


def _make_ndview(d, n):
    import numpy as np
    owner = d.value(n[6])
    made = np.ndarray(n[2], _undescr(np, n[1]), owner if owner.flags.c_contiguous else owner.T, n[4], n[3])
    if made.flags.writeable != n[5]:
        made.flags.writeable = n[5]
    return made


def _make_npscalar(d, n):
    import numpy as np
    dtype = _undescr(np, n[1])
    return np.ndarray((), dtype, bytearray(d.value(n[2])))[()] if dtype.itemsize else dtype.type()


def _make_bitgen(d, n):
    import numpy as np
    state, seed = d.value(n[2]), d.value(n[3])
    made = getattr(np.random, n[1])(np.random.SeedSequence(**seed) if seed else None)
    made.state = state
    return made


def _make_npgenerator(d, n):
    import numpy as np
    return np.random.Generator(d.value(n[1]))


def _make_nprandomstate(d, n):
    import numpy as np
    made = np.random.RandomState()
    made.set_state(d.value(n[1]))
    return made


def _make_dtype(d, n):
    import numpy as np
    return _undescr(np, n[1])


def _make_torchname(d, n):
    import torch
    return getattr(torch, n[1].partition(".")[2]) if n[1].startswith("torch.") else torch.device(n[1])


def _make_storage(d, n):
    import torch
    data = d.value(n[2])
    raw = torch.frombuffer(bytearray(data), dtype=torch.uint8).clone() if data else torch.empty(0, dtype=torch.uint8)
    return raw.to(n[1]).untyped_storage()


def _make_tensor(d, n):
    import torch
    storage, grad = d.value(n[7]), d.value(n[8])
    attrs = [(k, d.value(v)) for k, v in n[9]]
    made = torch.empty(0, dtype=getattr(torch, n[2]), device=storage.device).set_(storage, n[5], n[3], n[4])
    made = torch.nn.Parameter(made, n[6]) if n[1] == "Parameter" else made.requires_grad_(n[6])
    if grad is not None:
        made.grad = grad
    made.__dict__.update(attrs)
    return made


_MAKES = {
    "int": lambda d, n: d.value(n[1]),
    "float": lambda d, n: d.value(n[1]),
    "str": lambda d, n: d.value(n[1]),
    "bytes": lambda d, n: bytes(d.value(n[1])),
    "complex": lambda d, n: complex(d.value(n[1]), d.value(n[2])),
    "tuple": lambda d, n: tuple([d.value(v) for v in n[1]]),
    "frozenset": lambda d, n: frozenset([d.value(v) for v in n[1]]),
    "range": lambda d, n: range(d.value(n[1]), d.value(n[2]), d.value(n[3])),
    "slice": lambda d, n: slice(d.value(n[1]), d.value(n[2]), d.value(n[3])),
    "const": lambda d, n: _CONST[n[1]],
    "name": lambda d, n: _find(n[1]),
    "member": _make_member,
    "flags": lambda d, n: d.value(n[1])(d.value(n[2])),
    "array": _make_array,
    "datetime": _make_when("datetime"),
    "time": _make_when("time"),
    "date": _lib("datetime", "date", lambda d, n: n[1:]),
    "timedelta": _lib("datetime", "timedelta", lambda d, n: n[1:]),
    "timezone": _make_timezone,
    "zoneinfo": _lib("zoneinfo", "ZoneInfo", lambda d, n: n[1:]),
    "decimal": _lib("decimal", "Decimal", lambda d, n: n[1:]),
    "fraction": _lib("fractions", "Fraction", lambda d, n: (d.value(n[1]), d.value(n[2]))),
    "uuid": _make_uuid,
    "pattern": _lib("re", "compile", lambda d, n: (d.value(n[1]), n[2])),
    "path": lambda d, n: getattr(importlib.import_module("pathlib"), n[1])(d.value(n[2])),
    "ndarray": _make_ndarray,
    "ndview": _make_ndview,
    "npscalar": _make_npscalar,
    "dtype": _make_dtype,
    "bitgen": _make_bitgen,
    "npgenerator": _make_npgenerator,
    "nprandomstate": _make_nprandomstate,
    "torchname": _make_torchname,
    "storage": _make_storage,
    "tensor": _make_tensor,
}

# ---------------------------------------------------------------------------------------------- files


def _sync_dir(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_file(folder, name, buf, late):
    """A new file, on disk when this returns. (name, bytes, crc32)"""
    view, crc = memoryview(buf).cast("B"), 0
    fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        at = 0
        while at < len(view):
            late()
            n = os.write(fd, view[at:at + (4 << 20)])
            crc = zlib.crc32(view[at:at + n], crc)
            at += n
        os.fsync(fd)
    finally:
        os.close(fd)
    return name, len(view), crc


def _one_line(text):
    return " ".join(str(text).split()).encode("utf-8", "replace").decode()[:200]


def _write_checkpoint(folder, enc, tree, progress_text, late):
    """Raw data first, the table next, the manifest last: until that is renamed the checkpoint before it stays the one there is."""
    save = os.urandom(6).hex()
    made = []
    try:
        text = json.dumps(tree, separators=(",", ":"), allow_nan=False).encode()
        files = []
        for i, (size, give) in enumerate([(len(text), lambda: text)] + enc.blobs):
            made.append("v-%s-%d.bin" % (save, i))
            files.append(_write_file(folder, made[-1], give(), late))
            if files[-1][1] != size:
                raise OSError("value data changed its size while it was written")
        lines = ["save %s" % save, "by python %d.%d.%d" % sys.version_info[:3]]
        lines += ["progress %s" % _one_line(progress_text)] if progress_text else []
        lines += ["file %s %d %08x" % f for f in files] + ["tree 0"]
        body = ("\n".join(lines) + "\n").encode()
        made.append(".%s-%s" % (MANIFEST, save))
        _write_file(folder, made[-1], b"%s %d %08x\n" % (MAGIC.encode(), VERSION, zlib.crc32(body)) + body, late)
        _sync_dir(folder)
        os.rename(os.path.join(folder, made[-1]), os.path.join(folder, MANIFEST))
        made = []
        _sync_dir(folder)
    finally:
        for name in made:
            try:
                os.unlink(os.path.join(folder, name))
            except OSError:
                pass                                                     # a leftover without a manifest means nothing
    for name in os.listdir(folder):
        if name.startswith("v-") and name.endswith(".bin") and save not in name:
            os.unlink(os.path.join(folder, name))
    return save, sum(f[1] for f in files)


def _read_manifest(folder):
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, "rb") as f:
            head, body = f.readline(256), f.read()
    except FileNotFoundError:
        raise Error("this is a resumed job, and its checkpoint's manifest %s is not there" % path)
    words = head.decode("ascii", "replace").split()
    if len(words) != 3 or words[0] != MAGIC or not head.endswith(b"\n"):
        raise Error("%s is no manifest of saved values" % path)
    if words[1] != str(VERSION):
        raise Error("%s has version %s of the format; this portal.py reads version %d" % (path, words[1], VERSION))
    if words[2] != "%08x" % zlib.crc32(body):
        raise Error("%s does not match its checksum: it is damaged" % path)
    found = {"files": [], "values": {}, "tree": None}
    for line in body.decode().splitlines():
        word, _, rest = line.partition(" ")
        if word == "file":
            name, size, crc = rest.split(" ")
            found["files"].append((name, int(size), int(crc, 16)))
        elif word == "tree":
            found["tree"] = int(rest)
        elif word == "value":
            index, _, name = rest.partition(" ")
            found["values"][name] = int(index)
    return found


def _file_size(folder, entry):
    name, size, _ = entry
    path = os.path.join(folder, name)
    if "/" in name or name.startswith("."):
        raise Error("the checkpoint names a file outside of itself: %r" % name)
    try:
        there = os.stat(path).st_size
    except FileNotFoundError:
        raise Error("%s is part of the checkpoint and is not there" % path)
    if there != size:
        raise Error("%s is %d bytes and should be %d: it is damaged" % (path, there, size))
    return path


def _read_file(folder, entry):
    name, size, crc = entry
    path = _file_size(folder, entry)
    with open(path, "rb") as f:
        data = f.read(size + 1)
    if len(data) != size or zlib.crc32(data) != crc:
        raise Error("%s does not match its checksum: it is damaged" % path)
    return data


class _Saved:
    """A checkpoint that this process continues from; values are taken out by name, once."""

    def __init__(self, folder):
        manifest = _read_manifest(folder)
        self.raw = {name: _read_file(folder, manifest["files"][i]) for name, i in manifest["values"].items()}
        files, tree = manifest["files"], {"names": {}, "own": {}, "table": []}
        if manifest["tree"] is not None:
            tree = json.loads(_read_file(folder, files[manifest["tree"]]))
        for i, entry in enumerate(files):
            _file_size(folder, entry)                                    # what lacks is found before anything is taken up
        self.names, self.own = tree["names"], tree["own"]
        self.decoder = _Decoder(tree["table"], lambda i: _read_file(folder, files[i]))
        self.left = set(self.names) | set(self.raw)

    def value(self, x):
        try:
            for n in self.decoder.children(x):
                self.decoder.build(n)
            return self.decoder.value(x)
        except Error:
            raise
        except Exception as e:
            raise Error("a saved value cannot be taken up here: %s: %s" % (type(e).__name__, e)) from e

    def take(self, name):
        self.left.discard(name)
        return self.raw[name] if name in self.raw else self.value(self.names[name])


# ---------------------------------------------------------------------------------------------- what goes along by itself

def _own_states():
    """Name -> (get, set) of process state that a program relies on without naming it."""
    own = {"cwd": (os.getcwd, os.chdir)}
    if "random" in sys.modules:
        random = sys.modules["random"]
        own["random"] = (random.getstate, random.setstate)
    if "numpy.random" in sys.modules:
        np = sys.modules["numpy"]
        own["numpy"] = (lambda: np.random.get_state(legacy=False), np.random.set_state)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        own["torch"] = (torch.get_rng_state, torch.set_rng_state)
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            own["torch.cuda"] = (torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all)
    return own


def _put_own(saved, cwd):
    for name in saved.own:
        if name != "cwd" and name.partition(".")[0] not in sys.modules:
            importlib.import_module(name.partition(".")[0])
    if "numpy" in saved.own:
        importlib.import_module("numpy.random")
    known = _own_states()
    for name, x in saved.own.items():
        if name == "cwd" and not cwd:
            continue
        if name not in known:
            raise Error("the checkpoint holds the state of %s, which is not at hand here" % name)
        try:
            known[name][1](saved.value(x))
        except OSError as e:
            raise Error("the working directory of the saved job cannot be entered: %s" % e)


def _notes():
    """What this process has that does not travel and that no value can show: told, never refused."""
    notes = ["started anew on resume: environment, arguments, signal handlers, class attributes, module globals"]
    others = [t.name for t in threading.enumerate() if t is not threading.main_thread() and t is not _rt.thread
              and t.name != "portal-talk"]
    if others:
        notes.append("threads run on during the save and are not carried: %s" % ", ".join(others[:8]))
    try:
        with open("/proc/self/task/%d/children" % os.getpid()) as f:
            children = f.read().split()
        if children:
            notes.append("%d child processes are not carried" % len(children))
        ours, open_fds = _rt.descriptors(), []
        for fd in os.listdir("/proc/self/fd"):
            if int(fd) > 2 and int(fd) not in ours:
                try:
                    open_fds.append("%s %s" % (fd, os.readlink("/proc/self/fd/" + fd)))
                except OSError:
                    pass                                                 # the one that listdir itself used
        if open_fds:
            notes.append("open descriptors are not carried: %s" % _one_line(", ".join(sorted(open_fds)[:8])))
    except OSError:
        notes.append("open descriptors and child processes could not be listed (no /proc)")
    return notes


# ---------------------------------------------------------------------------------------------- the program's side

class State:
    """Named values as attributes. Made by state()."""

    def __repr__(self):
        return "portal.state(%s)" % ", ".join("%s=%r" % item for item in self.__dict__.items())


class _Request:
    def __init__(self, op, deadline):
        self.op, self.deadline = op, deadline
        self.begun = self.gone = False
        self.done = threading.Event()
        self.answer, self.values, self.notes = None, [], []

    def late(self):
        if self.gone:
            raise _TooLate("nobody waits for the save any more")
        if time.monotonic() > self.deadline:
            raise _TooLate("the save did not end by its deadline")


class _Runtime:
    def __init__(self, env=os.environ):
        self.cond = threading.Condition()
        self.serving = threading.Lock()
        self.request = None
        self.standing = self.reached = False
        self.names = {}                    # name -> (get, set or None), in the order of registration
        self.saved = None
        self.thread = self.listener = None
        self.talkers = 0
        self.conns = set()
        self.progress_text = ""
        self.progress_at = 0.0
        self.last_rate = 200 << 20         # bytes a second, until a save has measured it
        self.folder = env.get("PORTAL_CHECKPOINT_DIR")
        self.path = env.get("PORTAL_SOCKET")
        self.resumed = env.get("PORTAL_RESUMED") == "1" and self.folder is not None
        self.owner = self.claim() if self.path and self.folder else None
        if self.resumed:
            self.saved = _Saved(self.folder)
        if self.path and self.folder:
            self.listen()

    def claim(self):
        """One process of a job is the one that is saved; a second one would be lost without a word."""
        fd = os.open(self.path + ".owner", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise Error("another process of this job is the one that is saved already: values can be registered in one process; let "
                        "it gather what the others have, or start them without PORTAL_SOCKET in their environment")
        return fd

    # -- values

    def add(self, name, get, put):
        if not isinstance(name, str) or not name or not name.isprintable():
            raise Error("a value's name is a printable, non-empty string, not %r" % (name,))
        if name in self.names:
            raise Error("a value named %r is registered already: each name is given once" % name)
        if self.saved is not None and not self.reached:
            if name not in self.saved.left:
                raise Error("the checkpoint holds no value named %r: it was saved by another program, or by another version of "
                            "this one (it holds %s)" % (name, ", ".join(sorted(self.saved.names) or sorted(self.saved.raw))))
            put(self.saved.take(name))
        with self.serving:
            self.names[name] = (get, put)

    def after_adding(self):
        if self.saved is not None and not self.reached:
            _put_own(self.saved, cwd=not getattr(self, "cwd_done", False))
            self.cwd_done = True

    def encode(self, late):
        """(encoder, tree): the walk over every registered value."""
        enc, roots = _Encoder(), {}
        for name, (get, _) in self.names.items():
            path = (None, "root", name)
            try:
                roots[name] = enc.ref(get(), path)
            except Exception as e:         # of the program's own: told as a value that cannot be had
                enc.refuse(path, _type_name(type(e)), "the function that gives this value raised: %s" % e,
                           "mend the get function that was given to portal.register()")
        own = {}
        for name, (get, _) in _own_states().items():
            own[name] = enc.ref(get(), (None, "root", "(%s)" % name))
        enc.run(late)
        return enc, {"names": roots, "own": own, "table": enc.table}

    def text(self):
        if self.progress_text:
            return self.progress_text
        for name, (get, _) in self.names.items():
            if name.rpartition(".")[2] in ("step", "epoch", "iteration"):
                return "%s %s" % (name, get())
        return ""

    # -- at the safe point, on the program's own thread

    def safe_point(self):
        if not self.reached:
            self.first()
        if self.request is None:
            return
        with self.serving:
            while True:
                with self.cond:
                    req = self.request
                    if req is None and not self.standing:
                        return
                    if req is None:
                        self.cond.wait()
                        continue
                    if req.gone or time.monotonic() > req.deadline:
                        self.request = None
                        continue
                    req.begun = True
                self.serve(req)

    def first(self):
        if self.saved is not None and self.saved.left:
            raise Error("the checkpoint holds values that this program never asked for: %s; register every saved value before the "
                        "first safe point" % ", ".join(sorted(self.saved.left)))
        self.reached = True
        if self.saved is not None:
            self.saved = _Taken

    def serve(self, req):
        try:
            req.answer = self.work(req)
        except _TooLate as e:
            req.answer = {"ok": False, "code": "DEADLINE", "text": str(e)}
        except OSError as e:
            full = e.errno in (28, 122)
            req.answer = {"ok": False, "code": "FULL" if full else "IO", "text": "the save could not be written: %s" % e}
        except MemoryError:
            req.answer = {"ok": False, "code": "NOMEM", "text": "no memory for the save"}
        except Exception as e:
            req.answer = {"ok": False, "code": "INTERNAL", "text": "%s: %s" % (type(e).__name__, e)}
        with self.cond:
            self.standing = self.standing or (req.op == "save" and req.answer["ok"] and not req.gone)
            self.request = None
            req.done.set()

    def work(self, req):
        if not self.names:
            return {"ok": False, "code": "CONFLICT", "text": "the program has registered no value: call portal.state() or "
                    "portal.register() before the first safe point"}
        began = time.monotonic()
        enc, tree = self.encode(req.late)
        if enc.refused:
            req.values = enc.refused[:NAMED_MAX]
            if len(enc.refused) > NAMED_MAX:
                req.values.append({"path": "(and %d more)" % (len(enc.refused) - NAMED_MAX), "type": "", "fix": "",
                                   "reason": "only the first %d values are listed" % NAMED_MAX})
            return {"ok": False, "code": "REFUSED", "text": "%d values cannot be carried" % len(enc.refused)}
        req.notes = _notes()
        if req.op == "precheck":
            return {"ok": True}
        size = enc.bytes + 64 * len(enc.table)
        if req.op == "estimate":
            took = time.monotonic() - began
            return {"ok": True, "bytes": size, "freeze_us": int((2 * took + size / self.last_rate) * 1e6)}
        save, size = _write_checkpoint(self.folder, enc, tree, self.text(), req.late)
        took = max(time.monotonic() - began, 1e-3)
        if size > 1 << 20:
            self.last_rate = max(int(size / took), 1 << 20)
        return {"ok": True, "save": save, "bytes": size, "freeze_us": int(took * 1e6), "progress": _one_line(self.text())}

    # -- the talk, on threads of its own

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        new = "%s.%d" % (self.path, os.getpid())
        try:
            self.listener.bind(new)
            self.listener.listen(TALKERS_MAX)
            os.rename(new, self.path)      # whoever finds the name finds a listener behind it
        except OSError as e:
            raise Error("portald cannot be answered: the socket %s cannot be made: %s" % (self.path, e))
        self.thread = threading.Thread(target=self.accept, name="portal-accept", daemon=True)
        self.thread.start()

    def descriptors(self):
        return {s.fileno() for s in [self.listener, *self.conns]} | {self.owner}

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            with self.cond:
                busy = self.talkers >= TALKERS_MAX
                self.talkers += not busy
            if busy:
                conn.close()
                continue
            self.conns.add(conn)
            threading.Thread(target=self.talk, args=(conn,), name="portal-talk", daemon=True).start()

    def talk(self, conn):
        try:
            buf = b""
            while True:
                conn.settimeout(60)
                while b"\n" not in buf:
                    more = conn.recv(LINE_MAX)
                    if not more or len(buf) > LINE_MAX:
                        return
                    buf += more
                line, _, buf = buf.partition(b"\n")
                self.answer(conn, line)
        except (OSError, ValueError):
            pass                           # a talker that goes away, or that does not speak this
        finally:
            self.conns.discard(conn)
            conn.close()
            with self.cond:
                self.talkers -= 1

    def answer(self, conn, line):
        try:
            ask = json.loads(line)
            op, span = ask["op"], min(float(ask.get("timeout_ms", 5000)) / 1000, 30 * 86400)
        except (ValueError, KeyError, TypeError, AttributeError):
            return _send(conn, [{"ok": False, "code": "INVALID", "text": "a request is one line: a JSON object with \"op\""}])
        if op in ("precheck", "estimate", "save"):
            return self.ask(conn, _Request(op, time.monotonic() + span), span)
        known = {"hello": self.hello, "verify": self.verify, "resume": self.go_on, "abort": self.go_on}
        if op not in known:
            return _send(conn, [{"ok": False, "code": "UNSUPPORTED", "text": "unknown op %r" % _one_line(op)}])
        return _send(conn, [known[op]()])

    def hello(self):
        return {"ok": True, "version": VERSION, "by": "python %d.%d.%d" % sys.version_info[:3], "pid": os.getpid(),
                "names": list(self.names)[:NAMED_MAX], "resumed": self.resumed, "standing": self.standing}

    def verify(self):
        saved = self.saved
        if not self.resumed:
            return {"ok": False, "code": "CONFLICT", "text": "the program was not started as a resumed one"}
        if saved.left:
            return {"ok": False, "code": "BUSY", "text": "not taken up yet: %s" % _one_line(", ".join(sorted(saved.left)))}
        return {"ok": True}

    def go_on(self):
        with self.cond:
            self.standing = False
            if self.request is not None and self.request.op == "save":
                self.request.gone = True
            self.cond.notify_all()
        return {"ok": True}

    def ask(self, conn, req, span):
        with self.cond:
            if self.request is not None:
                return _send(conn, [{"ok": False, "code": "BUSY", "text": "another request is at work: %s" % self.request.op}])
            if self.standing and req.op == "save":
                return _send(conn, [{"ok": False, "code": "CONFLICT", "text": "it is saved and stands still already"}])
            self.request = req
            self.cond.notify_all()
        self.wait(conn, req, span)
        lines = [{"value": v} for v in req.values] + [{"note": n} for n in req.notes] + [req.answer]
        try:
            _send(conn, lines)
        except OSError:
            if req.op == "save":
                self.go_on()               # nobody knows of this save: it must not hold the program
            raise

    def wait(self, conn, req, span):
        """Until it is answered. Withdrawn at the deadline if no safe point took it up, or when the talker goes away."""
        while not req.done.wait(0.02):
            ready, _, _ = select.select([conn], [], [], 0)
            left = ready and conn.recv(1, socket.MSG_PEEK) == b""
            with self.cond:
                req.gone = req.gone or bool(left)
                if req.begun or not (req.gone or time.monotonic() > req.deadline):
                    continue
                if self.request is req:
                    self.request = None
                req.answer = {"ok": False, "code": "CANCELLED" if req.gone else "DEADLINE",
                              "text": "withdrawn" if req.gone else "the job reached no safe point in %g s" % span}
                return

    # -- progress

    def progress(self, text):
        self.progress_text = _one_line(text)
        now = time.monotonic()
        if self.path is None or now - self.progress_at < 0.1:
            return                         # often is not oftener than anyone looks
        self.progress_at = now
        self.tell("progress", self.progress_text)

    def tell(self, name, text):
        if self.path is None:
            return
        path = os.path.join(os.path.dirname(self.path), name)
        new = "%s.%d" % (path, os.getpid())
        try:
            with open(new, "w", encoding="utf-8") as f:
                f.write(text + "\n")
            os.rename(new, path)
        except OSError:
            pass                           # a report that cannot be written must not end the program


class _Taken:
    left = frozenset()


def _send(conn, lines):
    conn.settimeout(30)
    conn.sendall(b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines))


_rt = None
_rt_lock = threading.Lock()


def _runtime():
    global _rt
    with _rt_lock:
        if _rt is None:
            _rt = _Runtime()
    return _rt


def _forked():
    """A forked child is another program: portald talks to its parent, and the child's safe points do nothing."""
    global _rt, _rt_lock
    _rt_lock = threading.Lock()
    if _rt is not None:
        for s in [_rt.listener, *_rt.conns]:
            if s is not None:
                s.close()
        _rt = _Runtime({})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def state(**values):
    """Registers named values and returns them as attributes. On resume each comes back as it was saved instead of its default.
    May be called more than once, with other names. Seed random numbers before it: their state comes back here too."""
    rt, made = _runtime(), State()
    for name, default in values.items():
        setattr(made, name, default)
        rt.add(name, lambda name=name: getattr(made, name), lambda v, name=name: setattr(made, name, v))
    rt.after_adding()
    return made


def register(name, get, set):
    """Registers a value that lives elsewhere: get() is called at a save, set(value) at once when this is a resumed run."""
    rt = _runtime()
    rt.add(name, get, set)
    rt.after_adding()


def safe_point():
    """Where the program may be saved: between two steps, with nothing half done. Costs next to nothing when nobody asks; while a
    save is taken, and until portald says to go on, it does not return."""
    _runtime().safe_point()


def progress(text):
    """Says how far the program is ("step 120"): shown by portald, and what keeps a job from counting as idle."""
    _runtime().progress(text)


def out_of_memory(text=""):
    """Says that an allocation failed (a MemoryError, CUDA) while the program lives: with oom = on it is saved and suspended."""
    _runtime().tell("oom", _one_line(text))


def resumed():
    """True when this run continues from a checkpoint."""
    return _runtime().resumed
