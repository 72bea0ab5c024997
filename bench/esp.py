#!/usr/bin/env python3
"""Measures tunnels between two network namespaces, in turns: `millstream esp`, strongSwan's kernel-libipsec, wireguard-go, and the system
calls of a tunnel alone (bench/esp/bare.c).

    bench/esp.py [--rounds 3] [--seconds 3] [--only NAME]... [--millstream PATH] [--wireguard PATH] [--record]

Each round sets up every tunnel once, in an order that turns from round to round. A megabyte goes through it first, and what comes out is compared.
Then iperf3 measures one stream of TCP, and datagrams of 64 bytes that one program sends as fast as it can. All tunnels have an MTU of 1400
bytes, on a wire of 1500. Both ends, the sender and the receiver share this machine's processors. What is not installed is left out, and named.
It needs user namespaces, TUN devices, iproute2, nsenter, iperf3 and a C compiler. `--record` writes the output to bench/records, too.
"""
import argparse, datetime, hashlib, json, os, pathlib, re, shutil, statistics, subprocess, sys, tempfile, time

from backup import processor

CHARON = "/usr/lib/ipsec/charon"
INNER = {"a": "10.1.0.1", "b": "10.2.0.1"}
OUTER = {"a": "192.0.2.1", "b": "192.0.2.2"}
OTHER = {"a": "b", "b": "a"}
MTU = 1400
# An outer packet of AES-GCM with an inner one of 1400 bytes, behind the header of UDP.
BARE_BYTES = MTU + 36

GCM = "aead rfc4106(gcm(aes)) KEY20 128"
CBC = "enc cbc(aes) KEY16\n auth-trunc hmac(sha256) KEY32 128"

# The other end waits for one connection, sends back all that comes, and ends.
ECHO = """
import socket
server = socket.create_server(("10.2.0.1", 5199))
print("listens", flush=True)
peer = server.accept()[0]
while data := peer.recv(1 << 16):
    peer.sendall(data)
"""


class Bed:
    """Two namespaces with a wire between them: this process's, and another one."""

    def __init__(self, work):
        self.work, self.started = work, []
        self.other = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        while os.readlink(f"/proc/{self.other.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            time.sleep(0.01)
        while pathlib.Path(f"/proc/{self.other.pid}/comm").read_text() != "sleep\n":
            time.sleep(0.01)
        for end in "ab":
            self.run(end, "sh", "-c", "for c in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 > $c; done; ip link set lo up")
        self.run("a", "ip", "link", "add", "wire-a", "type", "veth", "peer", "name", "wire-b")
        self.run("a", "ip", "link", "set", "wire-b", "netns", str(self.other.pid))
        for end in "ab":
            self.run(end, "ip", "addr", "add", f"{OUTER[end]}/24", "dev", f"wire-{end}")
            self.run(end, "ip", "link", "set", f"wire-{end}", "up")

    def words(self, end, words):
        return [*(["nsenter", "-t", str(self.other.pid), "-n"] if end == "b" else []), *map(str, words)]

    def run(self, end, *words, check=True):
        done = subprocess.run(self.words(end, words), capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def start(self, end, *words, env=None):
        """Starts a program that ends with the tunnel."""
        log = open(self.work / f"log-{end}", "a")
        program = subprocess.Popen(self.words(end, words), stdout=log, stderr=log, env=dict(os.environ, **(env or {})))
        self.started.append(program)

    def wait(self, end, *words):
        """Waits until a command succeeds."""
        for _ in range(500):
            if subprocess.run(self.words(end, words), capture_output=True).returncode == 0:
                return
            time.sleep(0.02)
        raise RuntimeError(f"{' '.join(map(str, words))} does not succeed\n" + (self.work / "log-a").read_text()[-3000:])

    def address(self, end, device, more=()):
        self.wait(end, "ip", "link", "show", device)
        self.run(end, "ip", "addr", "add", f"{INNER[end]}/32", "dev", device)
        self.run(end, "ip", "link", "set", device, "mtu", MTU, *more, "up")
        self.run(end, "ip", "route", "add", f"{INNER[OTHER[end]]}/32", "dev", device, "src", INNER[end])

    def stop(self):
        for program in self.started:
            program.terminate()
        for program in self.started:
            program.wait()
        self.started.clear()


def bare(bed, given):
    program = bed.work / "bare"
    source = pathlib.Path(__file__).parent / "esp/bare.c"
    subprocess.run(["cc", "-O2", "-o", program, source, "-lpthread"], check=True)
    for end in "ab":
        bed.start(end, program, f"bare-{end}", OUTER[end], OUTER[OTHER[end]], 4600, BARE_BYTES)
        bed.address(end, f"bare-{end}", ["gso_max_size", 64000])


def millstream(suite, workers):
    def begin(bed, given):
        state = ""
        for number, (source, destination) in enumerate([("a", "b"), ("b", "a")]):
            line = re.sub(r"KEY(\d+)", lambda key: "0x" + os.urandom(int(key[1])).hex(), suite)
            state += (
                f"src {OUTER[source]} dst {OUTER[destination]}\n proto esp spi 0xc0de000{number} reqid 1 mode tunnel\n {line}\n"
                " replay-window 1024 flag esn\n encap type espinudp sport 4500 dport 4500 addr 0.0.0.0\n"
            )
        place = pathlib.Path(tempfile.mkdtemp(dir=bed.work))
        file = place / "sa.conf"
        file.touch(mode=0o600)
        file.write_text(state)
        for end in "ab":
            bed.start(end, given.millstream, "esp", "run", "--sa", file, "--state", place / end, "--control", place / f"{end}.sock",
                      "--tun", f"esp-{end}", "--workers", workers)
            bed.wait(end, given.millstream, "esp", "show", "--control", place / f"{end}.sock")
            bed.address(end, f"esp-{end}")
    return begin


def libipsec(suite):
    def begin(bed, given):
        for end in "ab":
            place = bed.work / f"charon-{end}"
            place.mkdir()
            peer = OTHER[end]
            (place / "strongswan.conf").write_text(
                "charon {\n load = random nonce openssl aes sha1 sha2 hmac gcm kdf curve25519 kernel-libipsec kernel-netlink socket-default vici\n"
                f" plugins {{ vici {{ socket = unix://{place}/vici }} }}\n}}\n"
            )
            (place / "swanctl.conf").write_text(
                f"connections {{ t {{\n version = 2\n local_addrs = {OUTER[end]}\n remote_addrs = {OUTER[peer]}\n"
                " proposals = aes128-sha256-x25519\n local { auth = psk\n id = %s\n }\n remote { auth = psk\n id = %s\n }\n" % (end, peer)
                + f" children {{ c {{\n local_ts = {INNER[end]}/32\n remote_ts = {INNER[peer]}/32\n esp_proposals = {suite}\n }} }} }} }}\n"
                "secrets { ike-1 { secret = bench } }\n"
            )
            # charon has one file for its number, wherever it is told to be.
            script = f"mount -t tmpfs tmpfs /run && exec {CHARON}"
            bed.start(end, "unshare", "-m", "sh", "-c", script, env={"STRONGSWAN_CONF": str(place / "strongswan.conf")})
            control = ["--uri", f"unix://{place}/vici"]
            bed.wait(end, "swanctl", "--stats", *control)
            bed.run(end, "swanctl", "--load-all", "--file", place / "swanctl.conf", *control)
            bed.run(end, "ip", "addr", "add", f"{INNER[end]}/32", "dev", "lo", check=False)
        bed.run("a", "swanctl", "--initiate", "--child", "c", "--timeout", 10, "--uri", f"unix://{bed.work}/charon-a/vici")
        for end in "ab":
            bed.wait(end, "ip", "link", "set", "ipsec0", "mtu", MTU)
    return begin


def wireguard(bed, given):
    keys = {end: bed.run("a", "wg", "genkey").strip() for end in "ab"}
    public = {end: subprocess.run(["wg", "pubkey"], input=keys[end], capture_output=True, text=True, check=True).stdout.strip() for end in "ab"}
    for end in "ab":
        device, peer = f"wg-{end}", OTHER[end]
        bed.start(end, given.wireguard, "-f", device)
        bed.wait(end, "wg", "show", device)
        file = bed.work / f"{device}.conf"
        file.write_text(
            f"[Interface]\nPrivateKey = {keys[end]}\nListenPort = 51820\n[Peer]\nPublicKey = {public[peer]}\n"
            f"AllowedIPs = {INNER[peer]}/32\nEndpoint = {OUTER[peer]}:51820\n"
        )
        bed.run(end, "wg", "setconf", device, file)
        bed.address(end, device)


def tunnels(given):
    """Returns the tunnels by name, and why others are left out."""
    all_of = {
        "system calls alone": (bare, None),
        "millstream AES-128-GCM, 0 workers": (millstream(GCM, 0), given.millstream),
        "millstream AES-128-GCM, 1 worker": (millstream(GCM, 1), given.millstream),
        "millstream AES-128-CBC, HMAC-SHA256, 0 workers": (millstream(CBC, 0), given.millstream),
        "millstream AES-128-CBC, HMAC-SHA256, 1 worker": (millstream(CBC, 1), given.millstream),
        "millstream AES-128-CBC, HMAC-SHA256, 2 workers": (millstream(CBC, 2), given.millstream),
        "libipsec AES-128-GCM": (libipsec("aes128gcm16"), CHARON),
        "libipsec AES-128-CBC, HMAC-SHA256": (libipsec("aes128-sha256"), CHARON),
        "wireguard-go": (wireguard, given.wireguard),
    }
    chosen = {name: way for name, way in all_of.items() if not given.only or any(only in name for only in given.only)}
    absent = [name for name, (_, program) in chosen.items() if program and not shutil.which(program)]
    return {name: begin for name, (begin, _) in chosen.items() if name not in absent}, absent


def compare(bed):
    """Sends a megabyte there and back."""
    bed.wait("a", "ping", "-c", 1, "-W", 1, INNER["b"])
    echo = subprocess.Popen(bed.words("b", ["python3", "-c", ECHO]), stdout=subprocess.PIPE, text=True)
    echo.stdout.readline()
    data = os.urandom(1 << 20)
    import socket, threading

    with socket.create_connection((INNER["b"], 5199), timeout=20) as peer:
        def send():
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)

        sender = threading.Thread(target=send)
        sender.start()
        came = hashlib.sha256()
        while part := peer.recv(1 << 16):
            came.update(part)
        sender.join()
    echo.wait()
    if came.digest() != hashlib.sha256(data).digest():
        raise RuntimeError("what came out is not what went in")


def iperf(bed, given, *options):
    server = subprocess.Popen(bed.words("b", ["iperf3", "-s", "-1", "-B", INNER["b"], "-J"]), stdout=subprocess.PIPE, text=True)
    bed.wait("b", "sh", "-c", "grep -q ':1451 00000000:0000 0A' /proc/net/tcp")
    bed.run("a", "iperf3", "-c", INNER["b"], "-t", given.seconds, "-O", 0.5, "-J", *options)
    return json.loads(server.communicate()[0])["end"]


def measure(bed, given):
    """Returns gigabits of TCP a second, and thousands of datagrams of 64 bytes."""
    stream = iperf(bed, given)["sum_received"]["bits_per_second"] / 1e9
    datagrams = iperf(bed, given, "-u", "-b", 0, "-l", 64)["sum"]
    return stream, (datagrams["packets"] - datagrams["lost_packets"]) / datagrams["seconds"] / 1e3


def run(given):
    lines = []

    def say(line):
        print(line, flush=True)
        lines.append(line)

    chosen, absent = tunnels(given)
    say(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {given.rounds} rounds of {given.seconds} s, Linux {os.uname().release}")
    say(subprocess.run([given.millstream, "--version"], capture_output=True, text=True).stdout.splitlines()[0])
    for name in absent:
        say(f"left out, since it is not installed: {name}")
    found = {name: [] for name in chosen}
    names = list(chosen)
    for number in range(given.rounds):
        for name in names[number % len(names):] + names[:number % len(names)]:
            work = pathlib.Path(tempfile.mkdtemp(prefix="bench-esp-"))
            bed = Bed(work)
            try:
                chosen[name](bed, given)
                compare(bed)
                found[name].append(measure(bed, given))
            finally:
                bed.stop()
                bed.run("a", "ip", "link", "del", "wire-a", check=False)
                bed.run("a", "ip", "addr", "flush", "dev", "lo", check=False)
                bed.other.kill()
                bed.other.wait()
                shutil.rmtree(work)
    medians = {name: [statistics.median(column) for column in zip(*of)] for name, of in found.items()}
    best = medians.get("system calls alone")
    say(f"{'':48} {'Gb/s':>6} {'K packets/s':>12}" + (f" {'of system calls':>16}" if best else ""))
    for name, (stream, datagrams) in medians.items():
        of = f" {stream / best[0]:8.2f} {datagrams / best[1]:7.2f}" if best else ""
        say(f"{name:48} {stream:6.2f} {datagrams:12.0f}{of}")
    say(f"load {os.getloadavg()[0]:.1f}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--only", action="append", help="the tunnels whose names have this in them")
    parser.add_argument("--millstream", default="target/release/millstream")
    parser.add_argument("--wireguard", default="wireguard-go")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    given.millstream = str(pathlib.Path(given.millstream).absolute())
    if not os.environ.get("BENCH_ESP_INSIDE"):
        words = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        done = subprocess.run([*words, sys.executable, *sys.argv], env=dict(os.environ, BENCH_ESP_INSIDE="1"))
        sys.exit(done.returncode)
    # The sockets of wireguard-go.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    lines = run(given)
    if given.record:
        path = pathlib.Path("bench/records") / f"{datetime.date.today()}-{processor()}-esp.md"
        path.write_text("# Tunnels of ESP, in turns\n\n```text\n" + "\n".join(lines) + "\n```\n")
        print(path)


if __name__ == "__main__":
    main()
