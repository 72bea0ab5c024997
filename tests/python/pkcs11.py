"""python-pkcs11 on a token: keys of all kinds made, used, found and removed, and compared with OpenSSL's answers by the test."""

import hashlib
import hmac
import os
import sys

import pkcs11
from pkcs11 import KDF, Attribute, KeyType, MGF, Mechanism, ObjectClass
from pkcs11.util.ec import encode_ec_public_key, encode_named_curve_parameters
from pkcs11.util.rsa import encode_rsa_public_key

TEXT = b"keys that stay" * 50

library = pkcs11.lib(sys.argv[1])
token = library.get_token(token_label="web")
for mechanism in token.slot.get_mechanisms():
    token.slot.get_mechanism_info(mechanism)

with token.open(rw=True, user_pin=sys.argv[2]) as session:
    # Secrets: what Python computes itself is the same.
    assert session.digest(TEXT, mechanism=Mechanism.SHA256) == hashlib.sha256(TEXT).digest()
    assert session.digest((TEXT, TEXT), mechanism=Mechanism.SHA512) == hashlib.sha512(2 * TEXT).digest()
    assert len(set(session.generate_random(8 * 10000))) == 256
    secret = session.create_object(
        {
            Attribute.CLASS: ObjectClass.SECRET_KEY,
            Attribute.KEY_TYPE: KeyType.GENERIC_SECRET,
            Attribute.VALUE: b"k" * 40,
            Attribute.SIGN: True,
            Attribute.VERIFY: True,
        }
    )
    code = secret.sign(TEXT, mechanism=Mechanism.SHA256_HMAC)
    assert code == hmac.digest(b"k" * 40, TEXT, "sha256")
    assert secret.verify(TEXT, code, mechanism=Mechanism.SHA256_HMAC)
    assert not secret.verify(TEXT, bytes(32), mechanism=Mechanism.SHA256_HMAC)
    for bits in (128, 192, 256):
        key = session.generate_key(KeyType.AES, bits, label="aes", id=b"\x07", store=True)
        assert session.get_key(label="aes", object_class=ObjectClass.SECRET_KEY) == key
        iv = session.generate_random(128)
        sealed = key.encrypt(TEXT, mechanism_param=iv)
        assert key.decrypt(sealed, mechanism_param=iv) == TEXT
        parts = b"".join(key.encrypt((TEXT[:99], TEXT[99:]), mechanism_param=iv))
        assert parts == sealed
        param = pkcs11.GCMParams(iv[:12], b"header", 128)
        sealed = key.encrypt(TEXT, mechanism=Mechanism.AES_GCM, mechanism_param=param)
        assert key.decrypt(sealed, mechanism=Mechanism.AES_GCM, mechanism_param=param) == TEXT
        forged = bytes([sealed[0] ^ 1]) + sealed[1:]
        try:
            key.decrypt(forged, mechanism=Mechanism.AES_GCM, mechanism_param=param)
            sys.exit("a forged text was opened")
        except pkcs11.exceptions.PKCS11Error:
            pass
        kek = session.generate_key(KeyType.AES, 256, capabilities=pkcs11.MechanismFlag.WRAP | pkcs11.MechanismFlag.UNWRAP)
        inner = session.generate_key(KeyType.AES, bits, template={Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: False})
        again = kek.unwrap_key(
            ObjectClass.SECRET_KEY,
            KeyType.AES,
            kek.wrap_key(inner, mechanism=Mechanism.AES_KEY_WRAP),
            mechanism=Mechanism.AES_KEY_WRAP,
            template={Attribute.EXTRACTABLE: True, Attribute.SENSITIVE: False},
        )
        assert again[Attribute.VALUE] == inner[Attribute.VALUE]
        key.destroy()
    print("secrets")

    # Pairs: the test verifies the files with OpenSSL.
    public, private = session.generate_keypair(KeyType.RSA, 2048, label="rsa", store=True)
    signatures = {
        "rsa-pkcs1": private.sign(TEXT, mechanism=Mechanism.SHA256_RSA_PKCS),
        "rsa-pss": private.sign(
            TEXT, mechanism=Mechanism.SHA256_RSA_PKCS_PSS, mechanism_param=(Mechanism.SHA256, MGF.SHA256, 32)
        ),
    }
    assert public.verify(TEXT, signatures["rsa-pkcs1"], mechanism=Mechanism.SHA256_RSA_PKCS)
    assert private.decrypt(public.encrypt(b"short")) == b"short"
    oaep = (Mechanism.SHA_1, MGF.SHA1, None)
    assert private.decrypt(public.encrypt(b"oaep", mechanism_param=oaep), mechanism_param=oaep) == b"oaep"
    keys = {"rsa": encode_rsa_public_key(public)}

    curve = session.create_domain_parameters(
        KeyType.EC, {Attribute.EC_PARAMS: encode_named_curve_parameters("secp256r1")}, local=True
    )
    public, private = curve.generate_keypair(label="ec", store=True, capabilities=pkcs11.MechanismFlag.SIGN | pkcs11.MechanismFlag.VERIFY | pkcs11.MechanismFlag.DERIVE)
    signatures["ec"] = private.sign(hashlib.sha256(TEXT).digest(), mechanism=Mechanism.ECDSA)
    assert public.verify(TEXT, private.sign(TEXT, mechanism=Mechanism.ECDSA_SHA256), mechanism=Mechanism.ECDSA_SHA256)
    keys["ec"] = encode_ec_public_key(public)
    other_public, other_private = curve.generate_keypair(capabilities=pkcs11.MechanismFlag.DERIVE)

    def agree(key, peer):
        template = {Attribute.SENSITIVE: False, Attribute.EXTRACTABLE: True}
        param = (KDF.NULL, None, peer[Attribute.EC_POINT])
        return key.derive_key(KeyType.GENERIC_SECRET, 256, mechanism_param=param, template=template)[Attribute.VALUE]

    assert agree(private, other_public) == agree(other_private, public)

    edwards = session.create_domain_parameters(
        KeyType.EC_EDWARDS, {Attribute.EC_PARAMS: encode_named_curve_parameters("1.3.101.112")}, local=True
    )
    public, private = edwards.generate_keypair(
        mechanism=Mechanism.EC_EDWARDS_KEY_PAIR_GEN, label="ed", store=True,
        capabilities=pkcs11.MechanismFlag.SIGN | pkcs11.MechanismFlag.VERIFY,
    )
    signatures["ed"] = private.sign(TEXT, mechanism=Mechanism.EDDSA)
    assert public.verify(TEXT, signatures["ed"], mechanism=Mechanism.EDDSA)
    assert not public.verify(b"other", signatures["ed"], mechanism=Mechanism.EDDSA)
    print("pairs")

    for name, bytes_of in signatures.items():
        with open(name + ".sig", "wb") as file:
            file.write(bytes_of)
    for name, bytes_of in keys.items():
        with open(name + ".der", "wb") as file:
            file.write(bytes_of)
    with open("text", "wb") as file:
        file.write(TEXT)
    print("found", len(list(session.get_objects({Attribute.LABEL: "rsa"}))))

with token.open() as session:
    # A user who has not logged in sees public keys alone.
    assert {type(found).__name__ for found in session.get_objects()} <= {"PublicKey", "Certificate"}

# A child starts anew.
with token.open(rw=True, user_pin=sys.argv[2]) as session:
    key = session.generate_key(KeyType.AES, 128)
    child = os.fork()
    if child == 0:
        try:
            session.generate_random(8)
        except pkcs11.exceptions.PKCS11Error:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert key.encrypt(b"", mechanism=Mechanism.AES_CBC_PAD, mechanism_param=bytes(16))
    print("forks")
