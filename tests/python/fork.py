# Threads and forked children after the provider was used, while other threads use it.
import hashlib
import hmac
import multiprocessing
import os
import threading

data = bytes(range(256)) * 400


def work(seed):
    out = []
    for turn in range(40):
        piece = data[seed:][: 1000 + 97 * turn]
        out.append(hashlib.sha256(piece).hexdigest())
        out.append(hmac.new(b"key", piece, "sha1").hexdigest())
        out.append(hmac.digest(b"key", piece, "sha384").hex())
    return hashlib.sha512("".join(out).encode()).hexdigest()


def children():
    expected = [work(seed) for seed in range(8)]
    # The state of a digest goes on in both processes.
    begun = hashlib.sha256(data)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            work(3)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(20):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            begun.update(b"child")
            os.write(write, (work(turn % 8) + begun.hexdigest()).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            digest = hashlib.sha256(data + b"child").hexdigest()
            assert answer.read() == expected[turn % 8] + digest
        assert os.waitpid(pid, 0)[1] == 0
    stop.set()
    for thread in threads:
        thread.join()

    for method in ["fork", "spawn", "forkserver"]:
        with multiprocessing.get_context(method).Pool(4) as pool:
            assert pool.map(work, range(8)) == expected, method
    begun.update(b"parent")
    print(begun.hexdigest(), *expected)


# What multiprocessing starts imports this file again.
if __name__ == "__main__":
    children()
