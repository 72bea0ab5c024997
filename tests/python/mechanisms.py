"""A client of PKCS #11 in Python alone, by the C functions of version 3.2: it uses every mechanism that the token offers for all that its flags allow.

What Python computes itself is compared. A mechanism without a recipe here ends the program.
"""

import ctypes
import hashlib
import hmac
import struct
import sys

NAMES = """Initialize Finalize GetInfo GetFunctionList GetSlotList GetSlotInfo GetTokenInfo GetMechanismList GetMechanismInfo InitToken InitPIN
SetPIN OpenSession CloseSession CloseAllSessions GetSessionInfo GetOperationState SetOperationState Login Logout CreateObject CopyObject
DestroyObject GetObjectSize GetAttributeValue SetAttributeValue FindObjectsInit FindObjects FindObjectsFinal EncryptInit Encrypt EncryptUpdate
EncryptFinal DecryptInit Decrypt DecryptUpdate DecryptFinal DigestInit Digest DigestUpdate DigestKey DigestFinal SignInit Sign SignUpdate
SignFinal SignRecoverInit SignRecover VerifyInit Verify VerifyUpdate VerifyFinal VerifyRecoverInit VerifyRecover DigestEncryptUpdate
DecryptDigestUpdate SignEncryptUpdate DecryptVerifyUpdate GenerateKey GenerateKeyPair WrapKey UnwrapKey DeriveKey SeedRandom GenerateRandom
GetFunctionStatus CancelFunction WaitForSlotEvent GetInterfaceList GetInterface LoginUser SessionCancel MessageEncryptInit EncryptMessage
EncryptMessageBegin EncryptMessageNext MessageEncryptFinal MessageDecryptInit DecryptMessage DecryptMessageBegin DecryptMessageNext
MessageDecryptFinal MessageSignInit SignMessage SignMessageBegin SignMessageNext MessageSignFinal MessageVerifyInit VerifyMessage
VerifyMessageBegin VerifyMessageNext MessageVerifyFinal EncapsulateKey DecapsulateKey""".split()

TEXT = b"keys that stay, " * 10
BLOCK = 16
LONG = struct.Struct("@L").pack
kept = []  # What C has the address of must not go.


def at(data):
    """Returns the address of bytes."""
    kept.append(ctypes.create_string_buffer(bytes(data), max(1, len(data))))
    return ctypes.addressof(kept[-1])


def pack(form, *values):
    """Packs a structure of C; bytes among the values become an address and a length."""
    flat = []
    for value in values:
        flat.extend((at(value), len(value)) if isinstance(value, bytes) else (value,))
    return struct.pack("@" + form, *flat)


class Module:
    """The functions of a module; each returns nothing, or raises what the module answered."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        found = ctypes.c_void_p()
        version = (ctypes.c_ubyte * 2)(3, 2)
        assert library.C_GetInterface(None, version, ctypes.byref(found), ctypes.c_ulong(0)) == 0
        # The name, the list of functions, the flags; the list begins with a version.
        functions = ctypes.cast(found, ctypes.POINTER(ctypes.c_void_p))[1]
        self.functions = ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))

    def __getattr__(self, name):
        function = ctypes.CFUNCTYPE(ctypes.c_ulong)(self.functions[1 + NAMES.index(name)])

        def call(*arguments):
            as_c = [ctypes.c_ulong(a) if isinstance(a, int) else ctypes.c_void_p(at(a)) if isinstance(a, bytes) else a for a in arguments]
            value = function(*as_c)
            if value:
                raise RuntimeError(f"C_{name}: {value:#x}")

        return call


module = Module(sys.argv[1])
module.Initialize(None)
session_place = ctypes.c_ulong()
module.OpenSession(0, 6, None, None, ctypes.byref(session_place))
session = session_place.value
module.Login(session, 1, sys.argv[2].encode(), len(sys.argv[2]))


def mechanism(number, parameter=b""):
    return struct.pack("@LPL", number, at(parameter) if parameter else 0, len(parameter))


def template(**values):
    numbers = {
        "cls": 0, "value": 0x11, "type": 0x100, "sensitive": 0x103, "encrypt": 0x104, "decrypt": 0x105, "wrap": 0x106, "unwrap": 0x107,
        "sign": 0x108, "sign_recover": 0x109, "verify": 0x10A, "verify_recover": 0x10B, "derive": 0x10C, "bits": 0x121, "exponent": 0x122,
        "len": 0x161, "extractable": 0x162, "params": 0x180, "point": 0x181, "set": 0x61D,
    }  # fmt: skip
    packed = b""
    for name, value in values.items():
        data = bytes([value]) if isinstance(value, bool) else LONG(value) if isinstance(value, int) else value
        packed += struct.pack("@LPL", numbers[name], at(data), len(data))
    return packed, len(values)


def result(function, *arguments):
    """Calls a function whose last arguments are a place and its length."""
    place, length = ctypes.create_string_buffer(70000), ctypes.c_ulong(70000)
    function(session, *arguments, place, ctypes.byref(length))
    return place.raw[: length.value]


def handle(function, *arguments):
    made = ctypes.c_ulong()
    function(session, *arguments, ctypes.byref(made))
    return made.value


OPEN = {"sensitive": False, "extractable": True}


def read(key, kind=0x11):
    place = ctypes.create_string_buffer(5000)
    wanted = ctypes.create_string_buffer(struct.pack("@LPL", kind, ctypes.addressof(place), 5000))
    module.GetAttributeValue(session, key, wanted, 1)
    return place.raw[: struct.unpack("@LPL", wanted.raw[:24])[2]]


def secret(kind, value):
    usages = {name: True for name in ("encrypt", "decrypt", "wrap", "unwrap", "sign", "verify", "derive")}
    return handle(module.CreateObject, *template(cls=4, type=kind, value=value, **OPEN, **usages))


def pair(number, public, private=None):
    made = ctypes.c_ulong(), ctypes.c_ulong()
    arguments = (*template(**public), *template(**(private or {})))
    module.GenerateKeyPair(session, mechanism(number), *arguments, *map(ctypes.byref, made))
    return made[0].value, made[1].value


AES_KEY = bytes(range(32))
aes, xts, des3, chacha = secret(0x1F, AES_KEY), secret(0x35, bytes(range(64))), secret(0x15, bytes(range(24))), secret(0x33, AES_KEY)
generic = secret(0x10, b"k" * 48)
both = {"encrypt": True, "verify": True, "wrap": True, "verify_recover": True}, {"decrypt": True, "sign": True, "unwrap": True, "sign_recover": True}
rsa = pair(0, {"bits": 2048, "exponent": b"\1\0\1", **both[0]}, both[1])
ec = pair(0x1040, {"params": b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", "verify": True}, {"sign": True, "derive": True})
edwards = pair(0x1055, {"params": b"\x06\x03\x2b\x65\x70"})
pair(0x1056, {"params": b"\x06\x03\x2b\x65\x6e"}, {"derive": True})
kem = pair(0xF, {"set": 1})
dsa = pair(0x1C, {"set": 1})
slh = pair(0x2D, {"set": 3})
PAIRS = {0, 0x1040, 0x1055, 0x1056, 0xF, 0x1C, 0x2D}

# The numbers of a hash, of its HMAC with whole and with cut tags, and Python's name.
HASHES = {
    "md5": (0x210, 0x211, 0x212), "sha1": (0x220, 0x221, 0x222), "sha224": (0x255, 0x256, 0x257), "sha256": (0x250, 0x251, 0x252),
    "sha384": (0x260, 0x261, 0x262), "sha512": (0x270, 0x271, 0x272), "sha512_256": (0x4C, 0x4D, 0x4E), "sha3_224": (0x2B5, 0x2B6, 0x2B7),
    "sha3_256": (0x2B0, 0x2B1, 0x2B2), "sha3_384": (0x2C0, 0x2C1, 0x2C2), "sha3_512": (0x2D0, 0x2D1, 0x2D2),
}  # fmt: skip
# The numbers of a hash's MGF1, and of signatures: PKCS #1 v1.5, PSS, ECDSA.
SIGNED = {
    "sha1": (1, 6, 0xE, 0x1042), "sha224": (5, 0x46, 0x47, 0x1043), "sha256": (2, 0x40, 0x43, 0x1044), "sha384": (3, 0x41, 0x44, 0x1045),
    "sha512": (4, 0x42, 0x45, 0x1046), "sha3_224": (6, 0x66, 0x67, 0x1047), "sha3_256": (7, 0x60, 0x63, 0x1048),
    "sha3_384": (8, 0x61, 0x64, 0x1049), "sha3_512": (9, 0x62, 0x65, 0x104A),
}  # fmt: skip


def signs(number, keys, data=TEXT, parameter=b"", expected=None):
    how = mechanism(number, parameter)
    module.SignInit(session, how, keys[1])
    made = result(module.Sign, data, len(data))
    assert expected is None or made == expected, "another signature"
    module.VerifyInit(session, how, keys[0])
    module.Verify(session, data, len(data), made, len(made))
    module.VerifyInit(session, how, keys[0])
    try:
        module.Verify(session, data, len(data), bytes([made[0] ^ 1]) + made[1:], len(made))
    except RuntimeError as refused:
        assert "0xc0" in str(refused) or "0xc1" in str(refused), refused
    else:
        raise AssertionError("a wrong signature was taken")
    module.MessageSignInit(session, how, keys[1])
    made = result(module.SignMessage, None, 0, data, len(data))
    module.MessageSignFinal(session)
    module.MessageVerifyInit(session, how, keys[0])
    module.VerifyMessage(session, None, 0, data, len(data), made, len(made))
    module.MessageVerifyFinal(session)


def recovers(number, data):
    module.SignRecoverInit(session, mechanism(number), rsa[1])
    made = result(module.SignRecover, data, len(data))
    module.VerifyRecoverInit(session, mechanism(number), rsa[0])
    assert result(module.VerifyRecover, made, len(made)) == data


def ciphers(number, keys, data=TEXT, parameter=b"", extra=None):
    how = mechanism(number, parameter)
    module.EncryptInit(session, how, keys[0])
    sealed = result(module.Encrypt, data, len(data))
    assert sealed != data and (extra is None or len(sealed) == len(data) + extra)
    module.DecryptInit(session, how, keys[1])
    assert result(module.Decrypt, sealed, len(sealed)) == data


def wraps(number, keys, parameter=b""):
    how, inner = mechanism(number, parameter), secret(0x10, b"v" * 32)
    wrapped = result(module.WrapKey, how, keys[0], inner)
    back = handle(module.UnwrapKey, how, keys[1], wrapped, len(wrapped), *template(cls=4, type=0x10, **OPEN))
    assert read(back) == b"v" * 32


def messages(number, key, gcm):
    nonce, tag = at(b"n" * 12), at(bytes(16))
    parameter = struct.pack("@PLLLPL", nonce, 12, 0, 0, tag, 128) if gcm else struct.pack("@PLP", nonce, 12, tag)
    module.MessageEncryptInit(session, mechanism(number), key)
    sealed = result(module.EncryptMessage, parameter, len(parameter), b"head", 4, TEXT, len(TEXT))
    module.MessageEncryptFinal(session)
    module.MessageDecryptInit(session, mechanism(number), key)
    assert result(module.DecryptMessage, parameter, len(parameter), b"head", 4, sealed, len(sealed)) == TEXT
    module.MessageDecryptFinal(session)


def derived(number, key, parameter, expected=None, length=None, kind=0x10, **more):
    given = {"cls": 4, "type": kind, "len": length, **more, **OPEN} if length else {"cls": 4, "type": kind, **more, **OPEN}
    made = handle(module.DeriveKey, mechanism(number, parameter), key, *template(**given))
    assert expected is None or read(made) == expected, "another key"
    return made


def made(number, parameter=b"", **given):
    return handle(module.GenerateKey, mechanism(number, parameter), *template(**given, **OPEN))


def prf(key, label, seed, length, name="sha256"):
    """The PRF of TLS 1.2 (RFC 5246 §5)."""
    out, a = b"", label + seed
    while len(out) < length:
        a = hmac.digest(key, a, name)
        out += hmac.digest(key, a + label + seed, name)
    return out[:length]


def recipes():
    """Returns what is done with each mechanism, by its number."""
    todo = {}
    for name, (digest, mac, general) in HASHES.items():
        if name == "sha512_256" and name not in hashlib.algorithms_available:
            name = "sha512-256"
        expected = hashlib.new(name, TEXT).digest()
        code = hmac.new(b"k" * 48, TEXT, name).digest()

        def digests(digest=digest, expected=expected):
            module.DigestInit(session, mechanism(digest))
            assert result(module.Digest, TEXT, len(TEXT)) == expected

        todo[digest] = digests
        todo[mac] = lambda mac=mac, code=code: signs(mac, (generic, generic), expected=code)
        todo[general] = lambda general=general, code=code: signs(general, (generic, generic), parameter=LONG(9), expected=code[:9])
    for name, (mgf, pkcs1, pss, ecdsa) in SIGNED.items():
        salt = struct.pack("@LLL", HASHES[name][0], mgf, 20)
        todo[pkcs1] = lambda number=pkcs1: signs(number, rsa)
        todo[pss] = lambda number=pss, salt=salt: signs(number, rsa, parameter=salt)
        todo[ecdsa] = lambda number=ecdsa: signs(number, ec)
    sha256 = hashlib.sha256(TEXT).digest()
    iv, sealed = bytes(range(16)), pack("PLPLL", b"n" * 12, b"head", 128)
    gcm = pack("PLLPLL", b"n" * 12, 96, b"head", 128)
    tls = pack("PLPL", b"c" * 32, b"s" * 32)
    version = at(b"\3\3")
    premaster = handle(module.CreateObject, *template(cls=4, type=0x10, value=b"\3\3" + b"p" * 46, derive=True, **OPEN))
    master = handle(module.CreateObject, *template(cls=4, type=0x10, value=b"m" * 48, derive=True, sign=True, verify=True, **OPEN))
    randoms = b"c" * 32 + b"s" * 32

    def connection(number, vector_bits):
        out = ctypes.create_string_buffer(struct.pack("@LLLLPP", 0, 0, 0, 0, at(bytes(16)), at(bytes(16))))
        parameter = struct.pack("@LLLB7x", 0, 128, vector_bits, 0) + tls + struct.pack("@PL", ctypes.addressof(out), 0x250)
        handle_or_none = ctypes.c_ulong()
        module.DeriveKey(session, mechanism(number, parameter), master, *template(cls=4, type=0x1F, **OPEN), ctypes.byref(handle_or_none))
        client, server = struct.unpack("@LLLLPP", out.raw[:48])[2:4]
        assert read(client) + read(server) == prf(b"m" * 48, b"key expansion", b"s" * 32 + b"c" * 32, 32)

    def finished(number):
        parameter = struct.pack("@LLL", 0x250, 12, 1)
        signs(number, (master, master), sha256, parameter, prf(b"m" * 48, b"server finished", sha256, 12))

    def hkdf(number, cls):
        parameter = struct.pack("@BB6xL", 1, 1, 0x250) + pack("LPLLPL", 2, b"salt", 0, b"info")
        extracted = hmac.digest(b"salt", b"k" * 48, "sha256")
        expected = hmac.digest(extracted, b"info\1", "sha256")
        if cls == 4:
            return derived(number, generic, parameter, expected, 32)
        data = handle(module.DeriveKey, mechanism(number, parameter), generic, *template(cls=0, len=32))
        assert read(data) == expected

    def password():
        parameter = pack("LPLLLPLPL", 1, b"salt", 1000, 4, 0, 0, b"password")
        assert read(made(0x3B0, parameter, cls=4, type=0x10, len=32)) == hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000, 32)

    def agrees(number):
        point = read(ec[0], 0x181)
        return derived(number, ec[1], struct.pack("@LLPLP", 1, 0, 0, len(point), at(point)), length=32)

    def encapsulates():
        place, length, sent = ctypes.create_string_buffer(2000), ctypes.c_ulong(2000), ctypes.c_ulong()
        given = template(cls=4, type=0x10, len=32, **OPEN)
        module.EncapsulateKey(session, mechanism(0x17), kem[0], *given, place, ctypes.byref(length), ctypes.byref(sent))
        received = handle(module.DecapsulateKey, mechanism(0x17), kem[1], *given, place.raw[: length.value], length.value)
        assert read(sent.value) == read(received) != bytes(32)

    extended = struct.pack("@LPLP", 0x250, at(sha256), 32, version)
    extended_dh = struct.pack("@LPLP", 0x250, at(sha256), 32, 0)
    todo.update({
        0x1081: lambda: ciphers(0x1081, (aes, aes), extra=0),
        0x1082: lambda: (ciphers(0x1082, (aes, aes), parameter=iv, extra=0), wraps(0x1082, (aes, aes), iv)),
        0x1085: lambda: (ciphers(0x1085, (aes, aes), TEXT[:99], iv), wraps(0x1085, (aes, aes), iv)),
        0x1086: lambda: ciphers(0x1086, (aes, aes), TEXT[:99], LONG(128) + iv, 0),
        0x1087: lambda: (ciphers(0x1087, (aes, aes), TEXT[:99], gcm, 16), wraps(0x1087, (aes, aes), gcm), messages(0x1087, aes, True)),
        0x1071: lambda: ciphers(0x1071, (xts, xts), TEXT[:99], iv, 0),
        0x108A: lambda: signs(0x108A, (aes, aes)),
        0x108B: lambda: signs(0x108B, (aes, aes), parameter=LONG(8)),
        0x2109: lambda: (ciphers(0x2109, (aes, aes), extra=8), wraps(0x2109, (aes, aes))),
        0x210B: lambda: (ciphers(0x210B, (aes, aes), TEXT[:99]), wraps(0x210B, (aes, aes))),
        0x4021: lambda: (
            ciphers(0x4021, (chacha, chacha), TEXT[:99], sealed[:32], 16), wraps(0x4021, (chacha, chacha), sealed[:32]), messages(0x4021, chacha, False)
        ),
        0x132: lambda: ciphers(0x132, (des3, des3), extra=0),
        0x133: lambda: ciphers(0x133, (des3, des3), parameter=iv[:8], extra=0),
        0x136: lambda: ciphers(0x136, (des3, des3), TEXT[:99], iv[:8]),
        0x1: lambda: (signs(1, rsa, TEXT[:32]), ciphers(1, rsa, TEXT[:32]), wraps(1, rsa), recovers(1, TEXT[:32])),
        0x3: lambda: (signs(3, rsa, bytes(1) + b"x" * 255), ciphers(3, rsa, bytes(1) + b"x" * 255), recovers(3, bytes(1) + b"x" * 255)),
        0x9: lambda: (ciphers(9, rsa, TEXT[:32], pack("LLLPL", 0x250, 2, 1, b"label")), wraps(9, rsa, pack("LLLPL", 0x250, 2, 1, b""))),
        0xD: lambda: signs(0xD, rsa, sha256, struct.pack("@LLL", 0x250, 2, 32)),
        0x1041: lambda: signs(0x1041, ec, sha256),
        0x1057: lambda: signs(0x1057, edwards),
        0x1D: lambda: signs(0x1D, dsa),
        0x1F: lambda: signs(0x1F, dsa, sha256, pack("LPLL", 0, b"", 0x250)),
        0x2E: lambda: signs(0x2E, slh),
        0x34: lambda: signs(0x34, slh, sha256, pack("LPLL", 0, b"", 0x250)),
        0x17: encapsulates,
        0x1050: lambda: agrees(0x1050),
        0x1051: lambda: agrees(0x1051),
        0x402A: lambda: hkdf(0x402A, 4),
        0x402B: lambda: hkdf(0x402B, 0),
        0x374: lambda: made(0x374, b"\3\3"),
        0x3E0: lambda: derived(0x3E0, premaster, tls + struct.pack("@PL", version, 0x250), prf(b"\3\3" + b"p" * 46, b"master secret", randoms, 48)),
        0x3E2: lambda: derived(0x3E2, premaster, tls + struct.pack("@PL", 0, 0x250), prf(b"\3\3" + b"p" * 46, b"master secret", randoms, 48)),
        0x56: lambda: derived(0x56, premaster, extended, prf(b"\3\3" + b"p" * 46, b"extended master secret", sha256, 48)),
        0x57: lambda: derived(0x57, premaster, extended_dh, prf(b"\3\3" + b"p" * 46, b"extended master secret", sha256, 48)),
        0x3E1: lambda: connection(0x3E1, 128),
        0x3E3: lambda: connection(0x3E3, 0),
        0x3B0: password,
        0x1080: lambda: made(0x1080, len=32),
        0x1072: lambda: made(0x1072, len=64),
        0x131: lambda: made(0x131),
        0x1225: lambda: made(0x1225),
        0x350: lambda: made(0x350, len=20),
        0x402C: lambda: made(0x402C, len=32),
    })  # fmt: skip
    for number in (0x3D9, 0x3E5):
        parameter = struct.pack("@L", 0x250) + pack("PL", b"label") + tls + struct.pack("@PL", 0, 0)
        todo[number] = lambda n=number, p=parameter: derived(n, master, p, prf(b"m" * 48, b"label", randoms, 40), 40)
    for number in (0x3D8, 0x3E4):
        todo[number] = lambda n=number: finished(n)
    for number in range(0x4003, 0x4008):
        todo[number] = lambda n=number: made(n, len=32)
    for base, keys in ((0x23, dsa), (0x36, slh)):
        for number in range(base, base + 10):
            todo[number] = lambda n=number, keys=keys: signs(n, keys)
    return {**todo, **{number: lambda: None for number in PAIRS}}


count = ctypes.c_ulong()
module.GetMechanismList(0, None, ctypes.byref(count))
offered = (ctypes.c_ulong * count.value)()
module.GetMechanismList(0, offered, ctypes.byref(count))
todo = recipes()
missing = [f"{number:#x}" for number in offered if number not in todo]
assert not missing, f"no recipe for {missing}"
for number in offered:
    try:
        todo[number]()
    except Exception as error:
        raise SystemExit(f"mechanism {number:#x}: {error!r}") from error
print(f"{len(offered)} mechanisms")
