#!/usr/bin/env python3
"""Measures `millstream backup` beside restic, rclone crypt and age into rclone, put and get, interleaved in one run.

    bench/backup.py [--size 2G] [--rounds 3] [--store FOLDER] [--s3 VERSITYGW] [--millstream PATH] [--record]

Each round runs every program once, in an order that turns from round to round. What each restores is compared with what it was given, and what
it stored is removed, so that the disk has to hold the stream twice. The stores are folders, or a bucket of an S3 server, the given versitygw, which
the bench starts. The last lines have the best of the others' medians over millstream's: above 1, millstream is faster. `plain` is
rclone without encryption. To the S3 server it is curl, and there is no rclone: the pieces in which Debian 12's uploads a stream fail there. `--record` writes the output to bench/records, too.
"""
import argparse, datetime, os, pathlib, re, shutil, socket, statistics, subprocess, sys, tempfile, time

CHUNK = 1 << 20

# Without encryption, to the S3 server.
CURL = "curl -sSf --aws-sigv4 aws:amz:us-east-1:s3 --user us:er"


def size(text):
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1] in "KMG" else int(text)


def make(path, size):
    """Writes a file that does not compress and does not repeat."""
    with open(path, "wb") as out:
        left = size
        while left:
            out.write(os.urandom(min(left, CHUNK)))
            left -= min(left, CHUNK)


def shell(line, env, shown=None):
    start = time.monotonic()
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], env=env, capture_output=True, text=True)
    took = time.monotonic() - start
    if done.returncode:
        sys.exit(f"{shown or line}\n{done.stdout}{done.stderr}")
    return took


class S3:
    """versitygw over a folder, with the bucket `bench`."""

    def __init__(self, program, folder):
        (folder / "bench").mkdir(parents=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        os.environ.update(AWS_ACCESS_KEY_ID="us", AWS_SECRET_ACCESS_KEY="er")
        arguments = ["--access", "us", "--secret", "er", "--port", f"127.0.0.1:{self.port}", "--quiet", "posix", str(folder)]
        self.server = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                return socket.create_connection(("127.0.0.1", self.port)).close()
            except ConnectionRefusedError:
                time.sleep(0.05)
        sys.exit(f"{program} does not listen")


class Programs:
    def __init__(self, given, work, path, port):
        self.millstream, self.work, self.path = given.millstream, work, path
        self.env = dict(os.environ, RESTIC_PASSWORD="bench", RESTIC_CACHE_DIR=str(work / "cache"), RCLONE_CONFIG=str(work / "rclone.conf"))
        (work / "key").write_bytes(os.urandom(32))
        (work / "key").chmod(0o600)
        end = self.end = f"http://127.0.0.1:{port}" if port else None
        if end:
            self.env.update(AWS_ENDPOINT_URL=end, AWS_REGION="us-east-1")
            # rclone stumbles over it, and nothing here speaks TLS.
            self.env.pop("AWS_CA_BUNDLE", None)
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
        self.root = root

    def commands(self, n):
        """Returns a program's name, what it puts from standard input, and what it gets to standard output. MEASURE stands before a program
        whose memory is measured."""
        m, key, work = self.millstream, self.work / "key", self.work
        both = [
            ("millstream", f"MEASURE {m} backup put {self.at}/{n} -k {key} -q", f"MEASURE {m} backup get {self.at}/{n} -k {key} -q"),
            ("restic", f"MEASURE restic -q -r {self.restic} backup --stdin --stdin-filename f{n}",
             f"MEASURE restic -q -r {self.restic} dump latest f{n}"),
        ]
        if self.end:
            at, unsigned = f"{self.end}/bench/plain{n}", "-H 'x-amz-content-sha256: UNSIGNED-PAYLOAD'"
            return both + [("plain", f"MEASURE {CURL} {unsigned} -T {work}/stream {at}", f"MEASURE {CURL} {unsigned} {at}")]
        return both + [
            ("rclone crypt", f"MEASURE rclone rcat crypt:f{n}", f"MEASURE rclone cat crypt:f{n}"),
            ("age | rclone", f"age -r {self.recipient} | MEASURE rclone rcat {self.root}/age{n}",
             f"MEASURE rclone cat {self.root}/age{n} | age -d -i {work}/id"),
            ("plain", f"MEASURE rclone rcat {self.root}/plain{n}", f"MEASURE rclone cat {self.root}/plain{n}"),
        ]


def processor():
    """Returns the processor's name for a record."""
    facts = dict(re.findall(r"^([^\t\n]+)\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M))
    name = f"{facts['model name']} family {facts['cpu family']} model {facts['model']} stepping {facts['stepping']}"
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=size, default=size("2G"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", help="the folder to work in [default: a temporary one]")
    parser.add_argument("--s3", help="the program versitygw, whose bucket is the store")
    parser.add_argument("--millstream", default="target/release/millstream")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    given.millstream = str(pathlib.Path(given.millstream).absolute())
    work = pathlib.Path(tempfile.mkdtemp(prefix="bench-backup-", dir=given.store))
    s3 = S3(given.s3, work / "gateway") if given.s3 else None
    try:
        lines = run(given, work, s3 and s3.port)
    finally:
        if s3:
            s3.server.kill()
            s3.server.wait()
        shutil.rmtree(work, ignore_errors=True)
    if given.record:
        kind = "backup-s3" if given.s3 else "backup"
        path = pathlib.Path("bench/records") / f"{datetime.date.today()}-{processor()}-{kind}.md"
        path.write_text("# Backups, put and get in turns\n\n```text\n" + "\n".join(lines) + "\n```\n")
        print(path)


def run(given, work, port):
    lines = []

    def say(line):
        print(line, flush=True)
        lines.append(line)

    path, peak = work / "stream", work / "peak"
    make(path, given.size)
    programs = Programs(given, work, path, port)
    times, memory = {}, {}
    load = lambda: f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors"
    say(f"{load()}, {given.size} bytes, {given.rounds} rounds, {'S3' if port else 'folder'}")
    version = lambda *command: subprocess.run(command, capture_output=True, text=True).stdout.splitlines()[0]
    say(", ".join(version(*command) for command in [(given.millstream, "--version"), ("restic", "version"), ("rclone", "version")]))
    for n in range(given.rounds):
        commands = programs.commands(n)
        for name, put, get in commands[n % len(commands):] + commands[: n % len(commands)]:
            if name == "restic":
                shell(f"restic init -r {programs.restic}", programs.env)
            for what, line in ("put", f"{{ {put}; }} < {path}"), ("get", f"{get} | cmp - {path}"):
                took = shell(line.replace("MEASURE", f"/usr/bin/time -o {peak} -f %M"), programs.env, name)
                times.setdefault((name, what), []).append(took)
                memory[name] = max(memory.get(name, 0), int(peak.read_text().split()[-1]) >> 10)
            if port:
                shell(f"rclone delete {programs.root}", programs.env)
            else:
                shutil.rmtree(work / "store")
    names = list(dict.fromkeys(name for name, _ in times))
    medians = {key: statistics.median(taken) for key, taken in times.items()}
    for name in names:
        row = [f"{given.size / medians[name, what] / 1e6:8.0f} MB/s" for what in ("put", "get")]
        both = medians[name, "put"] + medians[name, "get"]
        say(f"{name:14} put {row[0]}  get {row[1]}  both {both:7.2f} s  {memory[name]:6} MiB at most")
    both = {name: medians[name, "put"] + medians[name, "get"] for name in names}
    best = min(taken for name, taken in both.items() if name not in ("millstream", "plain"))
    say(f"put + get: {best / both['millstream']:.2f} times the best of the others; put: {medians['plain', 'put'] / medians['millstream', 'put']:.2f} of plaintext")
    say(load())
    return lines


if __name__ == "__main__":
    main()
