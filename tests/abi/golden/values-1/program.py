# SPDX-License-Identifier: Apache-2.0
# The program that this checkpoint was saved by (format version 1, Python 3.11). Frozen with it: never edit either.
import struct

def same(a, b, seen=None):
    '''Equal to the bit: types, order, nan, -0.0, attributes.'''
    seen = seen if seen is not None else {}
    if type(a) is not type(b):
        return False
    if id(a) in seen:
        return seen[id(a)] == id(b)
    if not isinstance(a, (str, bytes, int, float, complex)):         # of these, only the value counts
        seen[id(a)] = id(b)
    t = type(a)
    if isinstance(a, float) and t.__module__ != 'numpy':
        if struct.pack('>d', a) != struct.pack('>d', b):
            return False
    elif isinstance(a, complex) and t.__module__ != 'numpy':
        if struct.pack('>dd', a.real, a.imag) != struct.pack('>dd', b.real, b.imag):
            return False
    elif isinstance(a, dict):
        if len(a) != len(b) or not all(same(x, y, seen) and same(a[x], b[y], seen) for x, y in zip(a, b)):
            return False
        if t.__name__ == 'defaultdict' and a.default_factory is not b.default_factory:
            return False
    elif isinstance(a, (list, tuple)) or t.__name__ == 'deque':
        if len(a) != len(b) or not all(same(x, y, seen) for x, y in zip(a, b)):
            return False
        if t.__name__ == 'deque' and a.maxlen != b.maxlen:
            return False
    elif t.__module__ == 'numpy' and t.__name__ == 'ndarray':
        if (a.dtype.char, a.dtype.str, a.shape, a.flags.writeable, a.flags.f_contiguous) != (
                b.dtype.char, b.dtype.str, b.shape, b.flags.writeable, b.flags.f_contiguous) or a.tobytes() != b.tobytes():
            return False
        return True
    elif t.__module__ == 'numpy' and hasattr(a, 'tobytes'):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    elif t.__name__ == 'Random':
        if a.getstate() != b.getstate():
            return False
    elif t.__module__ != '__main__' or t.__eq__ is not object.__eq__:
        if a != b:
            return False
    if getattr(t, '__slots__', None) and t.__module__ == '__main__':
        for name in t.__slots__:
            if hasattr(a, name) != hasattr(b, name) or hasattr(a, name) and not same(getattr(a, name), getattr(b, name), seen):
                return False
    if isinstance(getattr(a, '__dict__', None), dict) and t.__name__ != 'type' and not callable(a) and not hasattr(t, '_value2member_map_'):
        return same(vars(a), vars(b), seen)
    return True

import argparse, array, collections, dataclasses, datetime, decimal, enum, fractions, pathlib, random, re, types, typing, uuid

class Plain:
    def __init__(self): self.x, self._private, self.__mangled = 1, 'p', [2]
class Slots:
    __slots__ = ('a', 'b', 'never', '__dict__')
class Child(Slots):
    __slots__ = ('c',)
@dataclasses.dataclass
class Data:
    a: int
    b: list = dataclasses.field(default_factory=list)
@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: str
class Color(enum.Enum):
    RED = 1
    GREEN = 'g'
class Level(enum.IntEnum):
    LOW = 1
class Perm(enum.Flag):
    R = 4
    W = 2
Point = collections.namedtuple('Point', 'x y')
class Typed(typing.NamedTuple):
    a: int
    b: str = 'z'
class MyList(list):
    pass
class MyDict(dict):
    def __getattr__(self, name): return self[name]
class MyInt(int):
    pass
class MyStr(str):
    pass
class MyFloat(float):
    pass
class MyTuple(tuple):
    pass
class MySet(set):
    pass
class MyOrdered(collections.OrderedDict):
    pass
class Keyed:
    def __init__(self, k): self.k = k
    def __eq__(self, other): return self.k == other.k
    def __hash__(self): return hash(('Keyed', self.k))
class Outer:
    class Inner:
        pass
class Generic(typing.Generic[typing.TypeVar('T')]):
    pass
def function(): pass

def nan(bits):
    return struct.unpack('>d', struct.pack('>Q', bits))[0]

def tagged(made, **more):
    vars(made).update(more)
    return made

def values():
    v = {}
    v['none'], v['true'], v['false'] = None, True, False
    v['int'], v['int 2**53'], v['int big'], v['int -big'] = -7, 2**53, 3**9000, -(1 << 70)
    v['float'], v['float -0.0'], v['float inf'], v['float tiny'] = 0.1, -0.0, float('-inf'), 5e-324
    v['float nan'], v['float nan with a payload'] = float('nan'), nan(0xfff800000000beef)
    v['complex'] = complex(-0.0, nan(0x7ff8000000000123))
    v['str'], v['str long'], v['str wide'] = 'tab\t\0', 'x' * 5000, 'a\u00e9\u4e2d\U0001f600'
    v['str lone surrogates'], v['str a pair of them'] = '\udc80abc', '\ud83d\ude00'
    v['bytes'], v['bytes long'], v['bytearray'] = b'\0\xff', bytes(range(256)) * 100, bytearray(b'abc')
    v['list'], v['list of floats'] = [1, [2, [3]]], [i / 7 for i in range(2000)] + [-0.0, float('inf')]
    v['tuple'], v['tuple empty'] = (1, ('a', None)), ()
    v['dict in order'] = {'z': 1, 'a': 2, 3: 'int', 3.5: 'float', None: 0, (1, 'x'): 't', b'k': 1, True: 'bool'}
    v['dict with keys of ours'] = {Keyed(1): 'a', Frozen(2, 'b'): 'c', frozenset([Keyed(3)]): 'd'}
    v['set'], v['frozenset'] = {1, 'a', (2, 3)}, frozenset([1, frozenset([2])])
    v['range'], v['slice'] = range(10, -5, -3), slice(None, 2**70, [1])
    v['deque'] = collections.deque([1, 2], maxlen=5)
    v['OrderedDict'] = collections.OrderedDict([('b', 1), ('a', [2])])
    v['OrderedDict with attributes'] = tagged(collections.OrderedDict(a=1), _metadata={'version': 2})
    v['defaultdict'] = collections.defaultdict(list, {'k': [1]})
    v['Counter'] = collections.Counter('abracadabra')
    v['ChainMap'] = collections.ChainMap({'a': 1}, {'b': 2})
    v['array'], v['array of bytes'] = array.array('d', [0.1, -0.0] * 1000), array.array('b', [-1, 2])
    v['datetime'] = datetime.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=datetime.timezone(datetime.timedelta(hours=-3, microseconds=1), 'odd'))
    v['date'], v['time'], v['timedelta'] = datetime.date(1, 1, 1), datetime.time(1, 2, 3, 4), datetime.timedelta(-1, 5, 7)
    v['timezone utc'] = datetime.timezone.utc
    v['Decimal'] = [decimal.Decimal('-0.0010'), decimal.Decimal('Infinity'), decimal.Decimal('1E+999')]
    v['Fraction'], v['UUID'] = fractions.Fraction(-3, 7**80), uuid.UUID(int=5)
    v['paths'] = [pathlib.Path('/a/b'), pathlib.PurePosixPath('x'), pathlib.PureWindowsPath('c:/x')]
    v['enum'], v['IntEnum'], v['Flag'] = [Color.RED, Color.GREEN], Level.LOW, [Perm.R, Perm.R | Perm.W, Perm(0)]
    v['namedtuple'], v['NamedTuple'] = Point(1, [2]), Typed(3)
    v['dataclass'], v['frozen dataclass'] = Data(1, [2]), Frozen(1, 'x')
    v['plain object'], v['object of an inner class'], v['generic'] = Plain(), Outer.Inner(), Generic()
    child = Child()
    child.a, child.c, child.extra = 1, [2], 'd'
    v['slots'] = child
    v['subclass of list'] = tagged(MyList([1, 2]), note='kept')
    v['subclass of dict'] = tagged(MyDict(a=1), hidden=2)
    v['subclasses of scalars'] = [tagged(MyInt(2**80), u='m'), tagged(MyStr('s'), u=1), tagged(MyFloat('nan'), u=2)]
    v['subclass of tuple, set, OrderedDict'] = [tagged(MyTuple((1, 2)), t=1), tagged(MySet([1]), t=2), tagged(MyOrdered(b=1, a=2), t=3)]
    r = random.Random(5)
    r.gauss(0, 1)
    v['random.Random'] = r
    v['pattern'] = re.compile(r'a+(?P<x>b)', re.I | re.M)
    v['names'] = [int, Plain, Outer.Inner, function, len, collections.deque]
    v['namespaces'] = [argparse.Namespace(a=1), types.SimpleNamespace(b=[2])]
    v['constants'] = [..., NotImplemented]
    return v

made = values()
state = portal.state(values=made, step=3)
if portal.resumed():
    fresh = values()
    for name in fresh:
        try:
            good = name in state.values and same(fresh[name], state.values[name])
        except Exception as e:
            good = False
        print("%s %s" % ("same" if good else "DIFFERENT", name))
        if not good:
            print("  was", repr(fresh[name])[:200], "->", repr(state.values.get(name))[:200])
    print("all", list(fresh) == list(state.values), state.step, flush=True)
    sys.exit(0)
stand_by()
