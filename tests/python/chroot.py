# A TLS server and its client in one process, which shuts itself in before their first key, as servers' login processes do.
import os
import ssl
import sys
import tempfile

certificate, key = sys.argv[1:3]
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain(certificate, key)
client = ssl.create_default_context(cafile=certificate)

# Loaded while it can be.
"localhost".encode("idna")

with tempfile.TemporaryDirectory() as empty:
    os.chroot(empty)
    os.chdir("/")
assert os.listdir("/") == []

to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
sides = [
    client.wrap_bio(to_client, to_server, server_hostname="localhost"),
    server.wrap_bio(to_server, to_client, server_side=True),
]
open_sides = list(sides)
while open_sides:
    for side in list(open_sides):
        try:
            side.do_handshake()
            open_sides.remove(side)
        except ssl.SSLWantReadError:
            pass
data = bytes(i * 11 % 253 for i in range(10_003))
sides[0].write(data)
received = b""
while len(received) < len(data):
    received += sides[1].read(len(data))
assert received == data
print(sides[0].cipher()[0])
