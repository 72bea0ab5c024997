#!/usr/bin/env python3
"""Restores a backup of Millstream without Millstream: restore.py FOLDER KEYFILE > STREAM

Needs pyca/cryptography 50 or newer. FOLDER is the backup, copied from its store by any tool; docs/backup-format.md has the format.
"""
import hashlib, json, pathlib, struct, sys

from cryptography.cobblestone import Cobblestone256Decryptor
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

folder, secret = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes()
manifest = (folder / "manifest").read_bytes()
magic, version, kind, _, key_bytes, text_bytes = struct.unpack(">8sBBHII", manifest[:20])
if (magic, version, kind) != (b"Millseal", 1, 2):
    sys.exit("this is no manifest of a backup")
head, keys, key = manifest[: 20 + key_bytes + text_bytes], manifest[20 : 20 + key_bytes], None
while keys:
    kind, length = struct.unpack(">BH", keys[:3])
    body, keys = keys[3 : 3 + length], keys[3 + length :]
    if kind == 1:  # a key file
        wrapping = HKDF(SHA256(), 32, body[:32], b"millstream-wrap-v1 key").derive(secret)
        key = AESGCM(wrapping).decrypt(bytes(12), body[32:], None)
if key is None:
    sys.exit("this backup was not made for a key file")

def opened(message, context):
    decryptor = Cobblestone256Decryptor(key, context)
    return decryptor.update(message) + decryptor.finalize()

context = b"millstream-envelope-v1" + hashlib.sha256(head).digest()
print("restoring", json.loads(opened(manifest[len(head) : -64], context))["name"], file=sys.stderr)
index = json.loads(head[20 + key_bytes :])
for number, entry in enumerate(index["segments"]):
    message = (folder / index["id"] / f"{number:08}-{entry['salt'][:16]}.segment").read_bytes()
    context = b"millstream-backup-segment-v1" + bytes.fromhex(index["id"]) + struct.pack(">Q", number)
    sys.stdout.buffer.write(opened(message, context))
