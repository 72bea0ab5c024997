# Installs the packages in a clean system, uses each, removes and purges them. Nothing may be left.
packages='millstream libmillstream0 libmillstream-dev openssl-provider-millstream millstream-pkcs11 millstream-srtp'
policy=/etc/millstream/policy.toml
fail() {
    echo "packages: $*" >&2
    exit 1
}
# Lists everything but dpkg's own records and the loader's cache.
list() {
    find / -xdev \( -path /proc -o -path /tmp -o -path /from -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache \
        -o -path /etc/ld.so.cache \) -prune -o -print | sort
}
list >/tmp/before

dpkg --install /from/*.deb
dpkg --audit
cd /tmp

echo "==== the command"
millstream check
head -c 32 /dev/urandom >key && chmod 600 key
millstream encrypt -k key -i /etc/os-release -o release.enc
millstream decrypt -k key -i release.enc -o release.txt
cmp /etc/os-release release.txt
[ "$(millstream digest -a sha256 release.txt)" = "$(sha256sum <release.txt | cut -d' ' -f1)" ] || fail "digest differs"
[ -e /usr/share/man/man1/millstream.1.gz ] && [ -e /usr/share/bash-completion/completions/millstream ] || fail "no manual"

echo "==== the libraries"
examples=/usr/share/doc/libmillstream-dev/examples
cc "$examples/direct.c" $(pkg-config --cflags --libs millstream) -o direct
ldd ./direct | grep -q 'libmillstream.so.0 => /' || fail "not linked with the shared library"
./direct | grep -q '^opened: one small object$' || fail "direct.c"
cc -static "$examples/batch.c" $(pkg-config --static --cflags --libs millstream) -o batch
! ldd ./batch >ldd.txt 2>&1 || fail "not static: $(cat ldd.txt)"
./batch | grep -q '^crc32c e3069283$' || fail "batch.c"

echo "==== the provider"
openssl list -providers -provider millstream | grep -q 'name: Millstream' || fail "OpenSSL does not find the provider"
[ "$(openssl dgst -provider millstream -provider default -propquery provider=millstream -sha256 -r release.txt)" \
    = "$(openssl dgst -sha256 -r release.txt)" ] || fail "openssl dgst differs"
millstream run --json --report report.json -- openssl dgst -sha256 release.txt
grep -q sha256 report.json || fail "nothing was accelerated"

echo "==== the PKCS #11 module"
module=$(sed -n 's/^module: //p' /usr/share/p11-kit/modules/millstream.module)
umask 077
echo 271828 >so-pin && echo 314159 >pin
millstream token init web --store tokens --so-pin-file so-pin --pin-file pin
millstream key generate p-256 --store tokens -T web -K host --pin-file pin
cat >slots.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
    unsigned long count = 0;
    void *module = dlopen(argv[1], RTLD_NOW);
    unsigned long (*get)(void ***) = module ? dlsym(module, "C_GetFunctionList") : NULL;
    void **list;
    if (!get || get(&list)) return fprintf(stderr, "%s\n", dlerror()), 1;
    unsigned long (*initialize)(void *) = list[1];
    unsigned long (*slots)(unsigned char, unsigned long *, unsigned long *) = list[5];
    if (initialize(NULL) || slots(1, NULL, &count)) return 2;
    return printf("slots: %lu\n", count), 0;
}
END
cc slots.c -o slots
MILLSTREAM_STORE=$PWD/tokens ./slots "$module" | grep -q '^slots: 2$' || fail "the module shows no token"
umask 022

echo "==== the service"
[ -L /etc/systemd/system/sockets.target.wants/millstream.socket ] || fail "the socket is not enabled"
mkdir -p /run/millstream
millstream serve --quiet --policy $policy &
service=$!
for _ in $(seq 300); do
    ! millstream status >status.txt 2>&1 || break
    sleep 0.1
done
millstream status || fail "the service does not answer"
! millstream mac --isolated -a sha256_hmac -k key release.txt 2>refusal.txt || fail "the shipped policy lets root in"
grep -q policy refusal.txt || fail "$(cat refusal.txt)"
kill $service && wait $service || true
rm -rf /run/millstream

echo "==== the library in front of libsrtp2"
srtp=$(echo /usr/lib/*/millstream/libmillstream-srtp.so)
[ "$(LD_PRELOAD=$srtp sh -c 'grep -c libmillstream-srtp /proc/$$/maps')" -gt 0 ] || fail "$srtp is not loaded"

echo "==== upgrade, removal, purge"
echo '# mine' >>$policy
dpkg --install /from/*.deb
tail -n 1 $policy | grep -q '^# mine$' || fail "an upgrade changed the policy"
dpkg --remove $packages
[ -e $policy ] && [ ! -e /usr/bin/millstream ] || fail "a removal did not keep the policy and only that"
dpkg --purge millstream
list >/tmp/after
diff /tmp/before /tmp/after || fail "a purge left something, or took too much"
