# TLS servers and clients in threads of one process: their data arrives, by every version and several suites.
import hashlib
import socket
import ssl
import sys
import threading

certificate, key = sys.argv[1:3]
data = bytes(i * 11 % 253 for i in range(1_000_003))


def receive(connection, length):
    parts, left = [], length
    while left:
        part = connection.recv(min(left, 1 << 16))
        assert part, "closed too early"
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def serve(listener, context, clients):
    for _ in range(clients):
        connection, _ = listener.accept()
        with context.wrap_socket(connection, server_side=True) as connection:
            connection.sendall(receive(connection, len(data)))
            # Who closes first does not lose data.
            connection.recv(1)


def talk(address, context, session=None):
    with socket.create_connection(address) as plain:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as connection:
            connection.sendall(data)
            assert receive(connection, len(data)) == data
            return connection.cipher()[0], connection.session, connection.session_reused


def suite(version, ciphers):
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    client = ssl.create_default_context(cafile=certificate)
    for context in server, client:
        context.minimum_version = context.maximum_version = version
        if ciphers:
            context.set_ciphers(ciphers)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        clients = 6
        serving = threading.Thread(target=serve, args=(listener, server, clients + 2))
        serving.start()
        first, session, _ = talk(address, client)
        second, _, reused = talk(address, client, session)
        results = []
        threads = [threading.Thread(target=lambda: results.append(talk(address, client)[0])) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        serving.join()
    assert len(results) == clients and set(results) == {first}, results
    print(version.name, first, reused, hashlib.sha256(data).hexdigest())


suite(ssl.TLSVersion.TLSv1_3, None)
for ciphers in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES256-SHA384"]:
    suite(ssl.TLSVersion.TLSv1_2, ciphers)
