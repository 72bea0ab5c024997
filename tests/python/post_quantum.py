"""python-pkcs11 on a token: keys of ML-DSA and ML-KEM made, used and found, and those that `millstream key` made."""

import sys

import pkcs11
from pkcs11 import Attribute, KeyType, MLDSAParameterSet, MLKEMParameterSet, Mechanism, ObjectClass

TEXT = b"keys that stay" * 50
# More than travels to a service at once.
LONG = TEXT * 200
OPEN = {Attribute.SENSITIVE: False, Attribute.EXTRACTABLE: True}

library = pkcs11.lib(sys.argv[1])
token = library.get_token(token_label="web")


def signs(public, private):
    for text in (TEXT, LONG, b""):
        signature = private.sign(text, mechanism=Mechanism.ML_DSA)
        assert public.verify(text, signature, mechanism=Mechanism.ML_DSA)
        assert not public.verify(b"other", signature, mechanism=Mechanism.ML_DSA)
    return signature


def agrees(public, private):
    ciphertext, sent = public.encapsulate_key(KeyType.GENERIC_SECRET, 256, template=OPEN)
    received = private.decapsulate_key(ciphertext, KeyType.GENERIC_SECRET, 256, template=OPEN)
    assert len(sent[Attribute.VALUE]) == 32 and sent[Attribute.VALUE] == received[Attribute.VALUE]
    return ciphertext


with token.open(rw=True, user_pin=sys.argv[2]) as session:
    for store in (False, True):
        for set_, key, signature in (
            (MLDSAParameterSet.ML_DSA_44, 1312, 2420),
            (MLDSAParameterSet.ML_DSA_65, 1952, 3309),
            (MLDSAParameterSet.ML_DSA_87, 2592, 4627),
        ):
            template = {Attribute.PARAMETER_SET: set_}
            public, private = session.generate_keypair(KeyType.ML_DSA, store=store, label=set_.name, public_template=template)
            assert len(public[Attribute.VALUE]) == key and private[Attribute.PARAMETER_SET] == set_
            assert len(signs(public, private)) == signature
        for set_, key, ciphertext in (
            (MLKEMParameterSet.ML_KEM_512, 800, 768),
            (MLKEMParameterSet.ML_KEM_768, 1184, 1088),
            (MLKEMParameterSet.ML_KEM_1024, 1568, 1568),
        ):
            template = {Attribute.PARAMETER_SET: set_}
            public, private = session.generate_keypair(KeyType.ML_KEM, store=store, label=set_.name, public_template=template)
            assert len(public[Attribute.VALUE]) == key and private[Attribute.PARAMETER_SET] == set_
            assert len(agrees(public, private)) == ciphertext
    print("made")

with token.open(user_pin=sys.argv[2]) as session:
    def pair(label):
        classes = (ObjectClass.PUBLIC_KEY, ObjectClass.PRIVATE_KEY)
        return [session.get_key(label=label, object_class=of_class) for of_class in classes]

    for label in ("dsa", "ML_DSA_65"):
        signs(*pair(label))
    for label in ("kem", "ML_KEM_768"):
        agrees(*pair(label))
    # The test verifies with OpenSSL what was signed, and has encapsulated with it.
    with open("text", "wb") as file:
        file.write(LONG)
    with open("signature", "wb") as file:
        file.write(pair("dsa")[1].sign(LONG, mechanism=Mechanism.ML_DSA))
    with open("ciphertext", "rb") as file:
        received = pair("kem")[1].decapsulate_key(file.read(), KeyType.GENERIC_SECRET, 256, template=OPEN)
    with open("opened", "wb") as file:
        file.write(received[Attribute.VALUE])
    print("found")
