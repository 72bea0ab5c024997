# Digests, codes and key derivation: prints every result, for comparison with another provider's.
import hashlib
import hmac

data = bytes(i * 7 % 251 for i in range(100_003))
names = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512_256", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b"]
for name in names:
    for length in [0, 1, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 1000, len(data)]:
        print(name, length, hashlib.new(name, data[:length]).hexdigest())
    # In pieces, with copies that go different ways.
    whole = hashlib.new(name)
    copies = []
    for at in range(0, len(data), 7919):
        whole.update(data[at:at + 7919])
        copies.append(whole.copy())
    print(name, "pieces", whole.hexdigest(), whole.hexdigest())
    for number, copy in enumerate(copies):
        copy.update(b"another end")
        print(name, "copy", number, copy.hexdigest())
    assert whole.hexdigest() == hashlib.new(name, data).hexdigest()

for name in ["shake_128", "shake_256"]:
    print(name, hashlib.new(name, data).hexdigest(500), hashlib.new(name).hexdigest(1))

for name in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256"]:
    for key in [b"k", b"k" * 64, b"k" * 65, b"k" * 128, b"k" * 200]:
        print("hmac", name, len(key), hmac.new(key, data, name).hexdigest(), hmac.digest(key, data[:99], name).hex())
        code = hmac.new(key, digestmod=name)
        code.update(data[:100])
        other = code.copy()
        code.update(data[100:])
        other.update(b"x")
        print("hmac", name, "copies", code.hexdigest(), other.hexdigest(), code.hexdigest())
    print("pbkdf2", name, hashlib.pbkdf2_hmac(name, b"password", b"salt", 1000, 77).hex())
print("scrypt", hashlib.scrypt(b"password", salt=b"salt", n=1024, r=8, p=1).hex())
