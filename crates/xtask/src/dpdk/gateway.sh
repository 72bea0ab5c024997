# Runs DPDK's gateway on the driver, in namespaces of this script's own: arguments are the example's folder, the driver and the command
# `millstream`. The folder that it begins in gets logs.
example=$1 driver=$2 millstream=$3 here=$PWD
ip link set lo up
no_devices="--no-huge -m 512 --no-pci --no-shconf --no-telemetry -d $driver"

# 1. The example's own tests of packets, as they are. They name a device that does nothing, and ours takes its place.
mkdir bin
ln -s /usr/bin/python3 bin/python3
cat > bin/secgw <<WRAPPER
#!/bin/bash
words=()
for word; do case \$word in --vdev=crypto_null0) words+=($no_devices --vdev=crypto_millstream) ;; --no-pci) ;; *) words+=("\$word") ;; esac; done
exec $example/build/ipsec-secgw "\${words[@]}"
WRAPPER
# What the scripts ask of net-tools.
printf '#!/bin/sh\ncase $2 in up) exec ip link set "$1" up ;; *) exec ip link show "$1" ;; esac\n' > bin/ifconfig
chmod +x bin/secgw bin/ifconfig
PATH=$here/bin:$PATH SGW_PATH=$here/bin/secgw bash "$example/test/run_test.sh" -p > packets.log 2>&1 || { tail -n 60 packets.log; exit 1; }
[ "$(grep -c '^Test case .* succeeded' packets.log)" = 2 ] || { tail -n 60 packets.log; exit 1; }
grep -q 'crypto_millstream' ipsec-secgw.out1 || { echo "the gateway had another device"; exit 1; }
echo "the example's own tests of packets: $(grep -c '\.\.\. ok' packets.log) cases passed"

# 2. Tunnels between the gateway and millstream esp. The example's other tests want a second machine whose kernel has IPsec: this is their
# equivalent, with the same suites, pings of all lengths, and files both ways.
key() { head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
colons() { sed 's/../&:/g; s/:$//'; }
# Begins a namespace that is known by a process, and prints that.
namespace() { unshare -n sleep 3600 > /dev/null & echo $!; }
tunnel() { # NAME GATEWAY'S-CIPHER KEY-BYTES GATEWAY'S-AUTH XFRM OPTIONS
    local name=$1 cipher=$2 bytes=$3 auth=$4 xfrm=$5 options=$6 direction
    mkdir "$name"; cd "$name"
    : > gateway.cfg; : > sa.conf; chmod 600 sa.conf
    for direction in out in; do
        local spi=4097 inner="src 10.1.0.0/24 dst 10.2.0.0/24" outer="src 192.0.2.1 dst 192.0.2.2" k a
        [ $direction = out ] || { spi=4098 inner="src 10.2.0.0/24 dst 10.1.0.0/24" outer="src 192.0.2.2 dst 192.0.2.1"; }
        k=$(key "$bytes") a=$(key 20)
        echo "sp ipv4 $direction esp protect $spi pri 1 $inner sport 0:65535 dport 0:65535" >> gateway.cfg
        if [ "$auth" = aead ]; then
            echo "sa $direction $spi aead_algo $cipher aead_key $(echo "$k" | colons) mode ipv4-tunnel $outer" >> gateway.cfg
        else
            echo "sa $direction $spi cipher_algo $cipher cipher_key $(echo "$k" | colons) auth_algo $auth auth_key $(echo "$a" | colons) mode ipv4-tunnel $outer" >> gateway.cfg
        fi
        echo "$outer proto esp spi $spi reqid 1 mode tunnel replay-window 64 $(echo "$xfrm" | sed "s/KEY/0x$k/; s/AUTH/0x$a/")" >> sa.conf
    done
    cat >> gateway.cfg <<ROUTES
rt ipv4 dst 192.0.2.2/32 port 0
rt ipv4 dst 10.1.0.0/24 port 1
neigh port 0 02:64:74:61:70:30
neigh port 1 02:64:74:61:70:31
ROUTES
    "$example/build/ipsec-secgw" --lcores=0 -n 4 $no_devices --vdev=crypto_millstream --vdev=net_tap0,mac=fixed --vdev=net_tap1,mac=fixed \
        -- -p 0x3 -u 1 -P '--config=(0,0,0),(1,0,0)' $options -f gateway.cfg > gateway.log 2>&1 &
    local gateway=$!
    until grep -q 'entering main loop' gateway.log; do kill -0 $gateway || { tail gateway.log; exit 1; }; sleep 0.05; done
    local peer host
    peer=$(namespace); host=$(namespace)
    until [ "$(cat /proc/$peer/comm /proc/$host/comm | uniq)" = sleep ]; do sleep 0.02; done
    in_peer() { nsenter -t $peer -n "$@"; }
    in_host() { nsenter -t $host -n "$@"; }
    for one in in_peer in_host; do $one sh -c 'for c in all default; do echo 1 > /proc/sys/net/ipv6/conf/$c/disable_ipv6; done'; $one ip link set lo up; done
    ip link set dtap0 netns $peer; ip link set dtap1 netns $host
    in_peer ip addr add 192.0.2.2/24 dev dtap0; in_peer ip link set dtap0 up
    in_peer ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev dtap0
    in_host ip addr add 10.1.0.1/24 dev dtap1; in_host ip link set dtap1 mtu 1400 up
    in_host ip route add 10.2.0.0/24 via 10.1.0.2; in_host ip neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev dtap1
    in_peer "$millstream" esp run --sa sa.conf --state state --control "$PWD/esp.sock" 2> esp.log & local esp=$!
    until in_peer "$millstream" esp show --control "$PWD/esp.sock" > /dev/null 2>&1; do kill -0 $esp || { cat esp.log; exit 1; }; sleep 0.05; done
    in_peer ip addr add 10.2.0.1/24 dev esp0; in_peer ip link set esp0 mtu 1400; in_peer ip route add 10.1.0.0/24 dev esp0
    in_host ping -q -c 1 -W 20 10.2.0.1 > ping.log || { cat ping.log; in_peer "$millstream" esp show --control "$PWD/esp.sock"; tail gateway.log; exit 1; }
    local size
    for size in $(seq 0 11 1350) 1351 1372; do in_host ping -q -c 1 -W 5 -s "$size" 10.2.0.1 > ping.log || { echo "$name: no answer to $size bytes"; exit 1; }; done
    head -c 3000000 /dev/urandom > sent
    in_peer /usr/bin/python3 -c 'import socket
server = socket.create_server(("10.2.0.1", 5199))
open("listens", "w").close()
peer = server.accept()[0]
while data := peer.recv(1 << 16): peer.sendall(data)' & local echo=$!
    until [ -e listens ]; do kill -0 $echo; sleep 0.02; done
    in_host timeout 60 /usr/bin/python3 -c 'import socket, threading
peer, data = socket.create_connection(("10.2.0.1", 5199)), open("sent", "rb").read()
def send(): peer.sendall(data); peer.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
came = b"".join(iter(lambda: peer.recv(1 << 16), b""))
assert came == data, "what came back is not what was sent"'
    in_peer "$millstream" esp show --json --control "$PWD/esp.sock" > show.json
    ! grep -A 1 '"dropped": {$' show.json | grep -q '[a-z_]*": [0-9]' || { cat show.json; exit 1; }
    kill $esp $gateway $peer $host; wait $esp $gateway $peer $host 2>/dev/null || true
    cd "$here"
    echo "$name: pings of all lengths, and a file both ways"
}
tunnel aes-cbc aes-128-cbc 16 sha1-hmac 'auth hmac(sha1) AUTH enc cbc(aes) KEY' -l
tunnel aes-ctr aes-128-ctr 20 sha1-hmac 'auth hmac(sha1) AUTH enc rfc3686(ctr(aes)) KEY' -l
tunnel aes-ctr-without-library aes-128-ctr 20 sha1-hmac 'auth hmac(sha1) AUTH enc rfc3686(ctr(aes)) KEY' ''
tunnel 3des-cbc 3des-cbc 24 sha1-hmac 'auth hmac(sha1) AUTH enc cbc(des3_ede) KEY' -l
tunnel aes-gcm aes-128-gcm 20 aead 'aead rfc4106(gcm(aes)) KEY 128' -l
tunnel aes-gcm-without-library aes-128-gcm 20 aead 'aead rfc4106(gcm(aes)) KEY 128' ''
