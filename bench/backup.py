#!/usr/bin/env python3
"""Measures `millstream backup` beside restic, rclone crypt and age into rclone, put and get, interleaved in one run.

    bench/backup.py [--size 2G] [--rounds 3] [--store FOLDER | --s3 PORT] [--millstream PATH]

Each round runs every program once, in an order that turns from round to round. What each restores is compared with what it was given. The
stores are folders, or a bucket of an S3 server that listens at PORT of this machine (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the environment, bucket `bench`).
The last column is the best of the others' medians over millstream's: above 1, millstream is faster. `plain` is rclone without encryption.
"""
import argparse, hashlib, os, pathlib, shutil, statistics, subprocess, sys, tempfile, time

CHUNK = 1 << 20


def size(text):
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1] in "KMG" else int(text)


def make(path, size):
    """Writes a file that does not compress and does not repeat."""
    sha = hashlib.sha256()
    with open(path, "wb") as out:
        left = size
        while left:
            block = os.urandom(min(left, CHUNK))
            out.write(block)
            sha.update(block)
            left -= len(block)
    return sha.hexdigest()


def shell(line, env, shown=None):
    start = time.monotonic()
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=env, capture_output=True, text=True)
    took = time.monotonic() - start
    if done.returncode:
        sys.exit(f"{shown or line}\n{done.stderr}")
    return took, done.stdout


class Programs:
    def __init__(self, given, work, path):
        self.millstream, self.work, self.path = given.millstream, work, path
        self.env = dict(os.environ, RESTIC_PASSWORD="bench", RESTIC_CACHE_DIR=str(work / "cache"), RCLONE_CONFIG=str(work / "rclone.conf"))
        (work / "key").write_bytes(os.urandom(32))
        (work / "key").chmod(0o600)
        if given.s3:
            end = f"http://127.0.0.1:{given.s3}"
            self.env.update(AWS_ENDPOINT_URL=end, AWS_REGION="us-east-1")
            self.at, self.restic = "s3://bench", f"s3:{end}/bench/restic"
            remote = ["type = s3", "provider = Other", f"endpoint = {end}", "env_auth = true", "force_path_style = true"]
            root = "store:bench"
        else:
            self.at, self.restic = str(work / "store/m"), str(work / "store/restic")
            remote, root = ["type = local"], f"store:{work}/store/r"
        obscured = subprocess.run(["rclone", "obscure", "bench"], capture_output=True, text=True, check=True).stdout.strip()
        crypt = ["type = crypt", f"remote = {root}/crypt", f"password = {obscured}"]
        (work / "rclone.conf").write_text("\n".join(["[store]", *remote, "", "[crypt]", *crypt, ""]))
        subprocess.run(["age-keygen", "-o", work / "id"], capture_output=True, check=True)
        self.recipient = subprocess.run(["age-keygen", "-y", work / "id"], capture_output=True, text=True, check=True).stdout.strip()
        shell(f"restic init -r {self.restic}", self.env)
        self.root = root

    def commands(self, n):
        """Returns a program's name, what it puts from standard input, and what it gets to standard output."""
        m, key, work = self.millstream, self.work / "key", self.work
        return [
            ("millstream", f"{m} backup put {self.at}/{n} -k {key} -q", f"{m} backup get {self.at}/{n} -k {key} -q"),
            ("restic", f"restic -q -r {self.restic} backup --stdin --stdin-filename f{n}",
             f"restic -q -r {self.restic} dump latest f{n}"),
            ("rclone crypt", f"rclone rcat crypt:f{n}", f"rclone cat crypt:f{n}"),
            ("age | rclone", f"age -r {self.recipient} | rclone rcat {self.root}/age{n}",
             f"rclone cat {self.root}/age{n} | age -d -i {work}/id"),
            ("plain", f"rclone rcat {self.root}/plain{n}", f"rclone cat {self.root}/plain{n}"),
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=size, default=size("2G"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", help="the folder to work in [default: a temporary one]")
    parser.add_argument("--s3", type=int, help="the port of an S3 server with a bucket `bench`")
    parser.add_argument("--millstream", default="target/release/millstream")
    given = parser.parse_args()
    given.millstream = str(pathlib.Path(given.millstream).absolute())
    work = pathlib.Path(tempfile.mkdtemp(prefix="bench-backup-", dir=given.store))
    try:
        run(given, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def run(given, work):
    path = work / "stream"
    sha = make(path, given.size)
    programs = Programs(given, work, path)
    times = {}
    print(f"load {os.getloadavg()[0]:.1f}, {given.size} bytes, {given.rounds} rounds, {'S3' if given.s3 else 'folder'}")
    for n in range(given.rounds):
        commands = programs.commands(n)
        for name, put, get in commands[n % len(commands):] + commands[: n % len(commands)]:
            took, _ = shell(f"{{ {put}; }} < {path}", programs.env, name)
            times.setdefault((name, "put"), []).append(took)
            took, out = shell(f"{get} | sha256sum", programs.env, name)
            if out.split()[0] != sha:
                sys.exit(f"{name} restored something else")
            times.setdefault((name, "get"), []).append(took)
    names = list(dict.fromkeys(name for name, _ in times))
    medians = {key: statistics.median(taken) for key, taken in times.items()}
    for name in names:
        row = [f"{given.size / medians[name, what] / 1e6:8.0f} MB/s" for what in ("put", "get")]
        both = medians[name, "put"] + medians[name, "get"]
        print(f"{name:14} put {row[0]}  get {row[1]}  both {both:7.2f} s")
    both = {name: medians[name, "put"] + medians[name, "get"] for name in names}
    best = min(taken for name, taken in both.items() if name not in ("millstream", "plain"))
    print(f"put + get: {best / both['millstream']:.2f} times the best of the others; put: {medians['plain', 'put'] / medians['millstream', 'put']:.2f} of plaintext by rclone")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
