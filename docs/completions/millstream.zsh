#compdef millstream

autoload -U is-at-least

_millstream() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_millstream_commands" \
"*::: :->millstream" \
&& ret=0
    case $state in
    (millstream)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-command-$line[1]:"
        case $line[1] in
            (caps)
_arguments "${_arguments_options[@]}" : \
'--json[Write JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
'-v[Print a line for each kernel]' \
'--verbose[Print a line for each kernel]' \
'--json[Write JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'--policy=[The policy file to read \[default\: /etc/millstream/policy.toml, if it is there\]]:FILE:_files' \
'--module=[The provider'\''s module \[default\: what MILLSTREAM_PROVIDER names, else the one installed with this program\]]:PATH:_files' \
'--json[Write JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::parts -- The parts to examine \[default\: all\]:((machine\:"The processor, the kernels'\'' answers, the system'\''s version and load"
isolation\:"A worker'\''s memory for keys, and its sandbox"
service\:"The running service, and the policy"
openssl\:"OpenSSL and the provider"
tracing\:"Tracing programs, and withholding features from them"))' \
&& ret=0
;;
(speed)
_arguments "${_arguments_options[@]}" : \
'--bytes=[Lengths of objects\: 16,64,1024, ranges as 64-1500\:4 or 16-16384\:x2, or imix]:LENGTHS:_default' \
'*--depth=[Objects in flight, for the ways that can have several \[default\: 64; 1,32 beside isolated keys\]]:N:_default' \
'--threads=[Threads that compute at the same time]:N:_default' \
'--seconds=[Seconds for each way at each length]:S:_default' \
'*--ways=[Measure only these ways \[default\: all available ones except queue-thread\]]:WAY:_sequence compadd - direct batch queue queue-thread isolated openssl openssl-oneshot getrandom pkcs11 softhsm p11-kit' \
'*--show=[The figures to show \[default\: all but kb\]]:MEASURE:_sequence compadd - kb gb ops ns cycles p50 p99 times' \
'--openssl=[The libcrypto of OpenSSL 3 to measure \[default\: libcrypto.so.3 if it is there\]]:PATH:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'*--against=[Measure an existing way of keeping keys elsewhere too, set up for this run]:PEER:_sequence compadd - softhsm p11-kit' \
'--pkcs11=[A PKCS #11 module to measure]:PATH:_files' \
'--token=[The label of its token \[default\: the only one\]]:LABEL:_default' \
'(--pin-file)--pin=[The token'\''s PIN, which everyone on this machine can see; a file is better]:PIN:_default' \
'--pin-file=[The file whose first line is the token'\''s PIN]:FILE:_files' \
'--plot=[Draw throughput over length into this SVG file]:FILE:_files' \
'-l[List the algorithms]' \
'--list[List the algorithms]' \
'-d[Decrypt, verify and decrypt, or open]' \
'--decrypt[Decrypt, verify and decrypt, or open]' \
'-I[Measure the isolated queue too, in the running service or else in one that is started for this run]' \
'--isolated[Measure the isolated queue too, in the running service or else in one that is started for this run]' \
'(-d --decrypt --bytes --depth --threads --ways --show --csv)--history[Repeat the experiments of 2008 to 2012 and print their figures beside ours]' \
'(--csv)--json[Write JSON]' \
'--csv[Write comma-separated values]' \
'-q[Show no progress]' \
'--quiet[Show no progress]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::algorithms -- The algorithms, as in aes-128-gcm, sha256, hmac-sha256, 3des-cbc+hmac-md5, '\''aes-*-cbc'\'':(aes-128-ecb aes-192-ecb aes-256-ecb aes-128-cbc aes-192-cbc aes-256-cbc aes-128-ctr aes-192-ctr aes-256-ctr aes-128-cfb aes-192-cfb aes-256-cfb aes-128-xts aes-256-xts aes-128-gcm aes-192-gcm aes-256-gcm chacha20-poly1305 camellia-128-ecb camellia-256-ecb camellia-128-cbc camellia-192-cbc camellia-256-cbc camellia-128-ctr camellia-256-ctr sm4-ecb sm4-cbc sm4-ctr des-ecb des-cbc des-cfb 3des-ecb 3des-cbc 3des-cfb rc4 aes-128-cbc+hmac-sha1 aes-128-cbc+hmac-sha256 aes-256-cbc+hmac-sha256 aes-256-cbc+hmac-sha512 3des-cbc+hmac-md5 3des-cbc+hmac-sha1 md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-224 sha3-256 sha3-384 sha3-512 hmac-md5 hmac-sha1 hmac-sha224 hmac-sha256 hmac-sha384 hmac-sha512 hmac-sha512-256 hmac-sha3-224 hmac-sha3-256 hmac-sha3-384 hmac-sha3-512 aes-128-cmac aes-192-cmac aes-256-cmac kasumi-f8 kasumi-f9 crc32 crc32c ip-checksum rng all)' \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
'-I+[Keep keys out of the program'\''s reach, in the running service or else in one that is started for this run\: all, or with --isolated=private the private keys that it loads. Implied where MILLSTREAM_SOCKET is set]::KEYS:((all\:"Every key that Millstream computes with"
private\:"Private keys that the program loads; those of sessions stay with it"))' \
'--isolated=[Keep keys out of the program'\''s reach, in the running service or else in one that is started for this run\: all, or with --isolated=private the private keys that it loads. Implied where MILLSTREAM_SOCKET is set]::KEYS:((all\:"Every key that Millstream computes with"
private\:"Private keys that the program loads; those of sessions stay with it"))' \
'--socket=[The service'\''s socket; implies --isolated \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'--module=[The provider'\''s module \[default\: what MILLSTREAM_PROVIDER names, else the one installed with this program\]]:PATH:_files' \
'--base=[The configuration to extend \[default\: what OPENSSL_CONF names, else the system'\''s\]]:FILE:_files' \
'--report=[Write the report to this file, not to standard error]:FILE:_files' \
'(--with-only)--without=[Withhold these features of the processor, and those that depend on them\: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families]:LIST:_sequence compadd - aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx' \
'--with-only=[Withhold all but these features and those that they need. An empty list leaves the ones every program may use]:LIST:_sequence compadd - aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx' \
'--knobs-only[With --without\: only set the variables that libraries read, without tracing the program. Libraries that read none go on using everything]' \
'--provider[With --without\: put Millstream into the program'\''s OpenSSL, too. Implied by --isolated, --socket, --module and --base]' \
'--list[List the features that can be withheld, and run nothing; with --json as JSON]' \
'--json[Write the report as JSON]' \
'-q[Write nothing to standard error]' \
'--quiet[Write nothing to standard error]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::command -- The program and its arguments:_default' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'-n+[Number of measured runs each way]:N:_default' \
'--runs=[Number of measured runs each way]:N:_default' \
'--warmup=[Number of unmeasured runs each way before those]:N:_default' \
'--input=[The file that CMD reads as standard input in each run \[default\: nothing\]]:FILE:_files' \
'(--with-only)--without=[Withhold these features of the processor, and those that depend on them\: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families]:LIST:_sequence compadd - aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx' \
'--with-only=[Withhold all but these features and those that they need. An empty list leaves the ones every program may use]:LIST:_sequence compadd - aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx' \
'--knobs-only[Only set the variables that libraries read, without tracing the program]' \
'--show[Show what CMD writes]' \
'--json[Write JSON]' \
'-q[No progress bar]' \
'--quiet[No progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::command -- The program and its arguments:_default' \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
'(--without --with-only)*-p+[The process to trace, with its threads and the processes that it starts from now on. Related processes, such as other workers of a server, are not included\: name each with its own --pid, or several in one, as pidof prints them]:PID:_default' \
'(--without --with-only)*--pid=[The process to trace, with its threads and the processes that it starts from now on. Related processes, such as other workers of a server, are not included\: name each with its own --pid, or several in one, as pidof prints them]:PID:_default' \
'--seconds=[With --pid\: stop after this many seconds]:N:_default' \
'--report=[Write the report to this file, not to standard error]:FILE:_files' \
'(--with-only)--without=[Withhold these features of the processor, and those that depend on them\: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families]:LIST:_sequence compadd - aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx' \
'--with-only=[Withhold all but these features and those that they need. An empty list leaves the ones every program may use]:LIST:_sequence compadd - aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx' \
'--once[Report what ran and what did not, at nearly no cost. This is the default]' \
'--count[Report how often\: every call of a function is counted, which slows it down]' \
'--rate[Report how often, estimated from samples at nearly no cost]' \
'--json[Write the report as JSON]' \
'-v[Report also what did not run, and the cost of tracing]' \
'--verbose[Report also what did not run, and the cost of tracing]' \
'--no-cache[Look through each file anew, and keep nothing of what was found for later traces]' \
'-q[No progress line]' \
'--quiet[No progress line]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::command -- The program and its arguments:_default' \
&& ret=0
;;
(sparc)
_arguments "${_arguments_options[@]}" : \
'--hwcap=[Capabilities that the processor shall lack, in the syntax of LD_HWCAP\: "-aes -des"]:LIST:_default' \
'--sysroot=[The directory with a dynamic program'\''s libraries]:DIR:_files' \
'--disassemble=[Show the program'\''s instructions, or those of the functions whose names match]::GLOB:_default' \
'--plot=[Draw that history'\''s tables into this SVG file]:FILE:_files' \
'--count=[Count entries into the functions whose names match, as in '\''*_t4_*'\'' or '\''libc.so.6\:mem*'\'']:GLOB:_default' \
'--report=[Write the counts to this file, not to standard error]:FILE:_files' \
'--argv0=[The name that the program is called by]:ARGV0:_default' \
'--counted=[The process that counts, as opposed to those that it starts]:COUNTED:_default' \
'--cpu=[The processor\: ultrasparc2, t1, t2, t3 or t4]:NAME:(ultrasparc2 t1 t2 t3 t4)' \
'--isainfo[Print what isainfo -v printed on that processor]' \
'--trace-syscalls[Report each system call of the program on standard error]' \
'--privileged[Let the program call the hypervisor, as a kernel does; its addresses are real ones then]' \
'--costs[Estimate the cost of the program and of its use of the accelerators with the timing model]' \
'--history[Print what Sun and Oracle published about these machines beside what the timing model says]' \
'--mix[Count instructions by kind, and the crypto instructions by name]' \
'--unreached[Name the crypto instructions of the program and its libraries that were never reached]' \
'--json[Write the counts as JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::command -- The program and its arguments:_default' \
&& ret=0
;;
(openssl-conf)
_arguments "${_arguments_options[@]}" : \
'-I+[Keep keys in the service, out of the programs'\'' reach\: all, or with --isolated=private the private keys that they load]::KEYS:((all\:"Every key that Millstream computes with"
private\:"Private keys that the program loads; those of sessions stay with it"))' \
'--isolated=[Keep keys in the service, out of the programs'\'' reach\: all, or with --isolated=private the private keys that they load]::KEYS:((all\:"Every key that Millstream computes with"
private\:"Private keys that the program loads; those of sessions stay with it"))' \
'--socket=[The service'\''s socket; implies --isolated \[default\: what MILLSTREAM_SOCKET names when a program runs, else its user'\''s or the machine'\''s\]]:PATH:_files' \
'--tally=[A file of counters that programs add to; it must exist when they run]:PATH:_files' \
'--module=[The provider'\''s module \[default\: what MILLSTREAM_PROVIDER names, else the one installed with this program\]]:PATH:_files' \
'--base=[The configuration to extend \[default\: what OPENSSL_CONF names, else the system'\''s\]]:FILE:_files' \
'--append[Leave out the inclusion, to append the output to the existing file instead]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
'--socket=[The path of the socket \[default\: what MILLSTREAM_SOCKET names, else in this user'\''s runtime directory\]]:PATH:_files' \
'--policy=[The limits of users, in TOML]:FILE:_files' \
'-n+[Number of workers, each with one accelerator]:N:_default' \
'--accelerators=[Number of workers, each with one accelerator]:N:_default' \
'--private-accelerators=[Number of workers for private keys, which come after the others]:N:_default' \
'*--pin=[Processors that the workers are pinned to, in turn]:CPU:_default' \
'--spin-us=[Microseconds that an idle worker polls for work before it sleeps]:N:_default' \
'--flush-us=[Microseconds that operations may wait so that others can be computed with them]:N:_default' \
'--gather-us=[The same for operations with private keys, which go together as soon as eight are there]:N:_default' \
'--key-memory=[Memory for the keys of each worker, as in 128M\: 2 KiB for each key slot that is granted]:SIZE:_default' \
'--metrics=[Serve metrics for Prometheus at this address, as in 127.0.0.1\:9464, or unix\:PATH for a socket with mode 0660]:ADDRESS:_default' \
'*--metrics-host=[Names of this machine under which metrics may be asked for, besides localhost and addresses]:NAME:_default' \
'--user=[Continue as this user, when started by root]:NAME:_default' \
'--ready-fd=[Write the socket'\''s path and a newline to this descriptor when clients can connect]:N:_default' \
'--metrics-names[List each grant in the metrics, with its process and the client'\''s name, besides users and workers]' \
'-q[Log warnings and errors only]' \
'--quiet[Log warnings and errors only]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'-w+[Update the view periodically, in place on a terminal; q ends it]::SECONDS:_default' \
'--watch=[Update the view periodically, in place on a terminal; q ends it]::SECONDS:_default' \
'--json[Write JSON; with --watch an object a line]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(revoke)
_arguments "${_arguments_options[@]}" : \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'-a[Every grant that you may revoke]' \
'--all[Every grant that you may revoke]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*:grants -- Numbers of grants, as `millstream status` shows them:_millstream_running' \
&& ret=0
;;
(move)
_arguments "${_arguments_options[@]}" : \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':grant -- The number of the grant, as `millstream status` shows it:_millstream_running' \
':worker -- The number of the worker:_millstream_running' \
&& ret=0
;;
(reload)
_arguments "${_arguments_options[@]}" : \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(keygen)
_arguments "${_arguments_options[@]}" : \
'-b+[The key'\''s length in bits \[default\: the longest; 256 for hmac\]]:BITS:_default' \
'--bits=[The key'\''s length in bits \[default\: the longest; 256 for hmac\]]:BITS:_default' \
'-o+[The file to make; without it, standard output, unless that is a terminal]:FILE:_files' \
'--output=[The file to make; without it, standard output, unless that is a terminal]:FILE:_files' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::kind -- The use of the key:((aes\:"AES, and encrypt'\''s default format\: 128, 192 or 256 bits"
aes-xts\:"AES-XTS, two keys in one\: 256 or 512 bits"
camellia\:"Camellia\: 128, 192 or 256 bits"
chacha20-poly1305\:"ChaCha20-Poly1305\: 256 bits"
hmac\:"HMAC\: 128 to 8192 bits, in whole bytes"
tink\:"A keyset of Tink in cleartext JSON, for encrypt'\''s default format\: 128 or 256 bits"
age\:"An identity file of age for ML-KEM-768 and X25519 together, with its recipient in a comment; seal, backup and age take them"))' \
&& ret=0
;;
(token)
_arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_millstream__subcmd__token_commands" \
"*::: :->token" \
&& ret=0

    case $state in
    (token)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-token-command-$line[1]:"
        case $line[1] in
            (init)
_arguments "${_arguments_options[@]}" : \
'--so-pin-file=[Read the security officer'\''s PIN from the first line of a file or a descriptor \[default\: ask at the terminal\]]:FILE:_files' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':token -- The label of the token:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--json[Write JSON]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(pin)
_arguments "${_arguments_options[@]}" : \
'--new-pin-file=[Read the new PIN from the first line of a file or a descriptor \[default\: ask at the terminal, twice\]]:FILE:_files' \
'--so-pin-file=[Read the security officer'\''s PIN from the first line of a file or a descriptor \[default\: ask at the terminal\]]:FILE:_files' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'(--officer --pin-file)--reset[Set the user PIN with the security officer'\''s, when it was forgotten or is locked]' \
'(--pin-file)--officer[Set the security officer'\''s PIN]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':token -- The label of the token:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--so-pin-file=[Read the security officer'\''s PIN from the first line of a file or a descriptor \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'(--so-pin-file)--force[Remove it without a PIN]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':token -- The label of the token:_default' \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
'--copy=[Write a copy of the secret into this new file first, which is to be kept in a safe place elsewhere]:FILE:_files' \
'--from=[Seal this copy of the secret, on another machine or after the TPM was cleared]:FILE:_files' \
'--pcrs=[Seal it to the values that these PCRs have now, as 7 or 0,7\: another firmware or boot loader does not get it]:PCRS:_default' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--no-copy[Make no copy\: there is one already, or the tokens may end with the TPM]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(migrate)
_arguments "${_arguments_options[@]}" : \
'--softhsm-token=[The label of the token in SoftHSM2, if the folder has several]:LABEL:_default' \
'--softhsm-pin-file=[Read the user PIN in SoftHSM2 from the first line of a file or a descriptor \[default\: ask at the terminal\]]:FILE:_files' \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'(--dry-run)--resume[Go on after this command was interrupted\: keys that it brought before are compared, and stay]' \
'(--pin-file)--dry-run[List what would be brought, and change nothing; this does not take the PIN of the token]' \
'--json[Write JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':folder -- The folder that directories.tokendir in softhsm2.conf names, or that of one token in there:_files' \
&& ret=0
;;
(setup)
_arguments "${_arguments_options[@]}" : \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label of the key]:LABEL:_default' \
'--token-key=[The label of the key]:LABEL:_default' \
'--module=[The PKCS #11 module \[default\: the installed one\]]:FILE:_files' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':program -- The program:((ssh\:"ssh, ssh-add and sshd"
nginx\:"nginx with OpenSSL'\''s engine for PKCS #11"
java\:"keytool and programs in Java"
nss\:"certutil and programs with NSS"
gnutls\:"p11tool and programs with GnuTLS"
bind\:"dnssec-keyfromlabel and dnssec-signzone of BIND 9.20"
knot\:"keymgr, kzonesign and knotd of Knot DNS"))' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__token__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-token-help-command-$line[1]:"
        case $line[1] in
            (init)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(pin)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(migrate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(setup)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(key)
_arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_millstream__subcmd__key_commands" \
"*::: :->key" \
&& ret=0

    case $state in
    (key)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-key-command-$line[1]:"
        case $line[1] in
            (generate)
_arguments "${_arguments_options[@]}" : \
'-b+[The key'\''s length in bits \[default\: 256, and 3072 for rsa\]]:BITS:_default' \
'--bits=[The key'\''s length in bits \[default\: 256, and 3072 for rsa\]]:BITS:_default' \
'(-T --token -K --token-key)-o+[The file to make in place of a key in a token; without both, standard output, unless that is a terminal]:FILE:_files' \
'(-T --token -K --token-key)--output=[The file to make in place of a key in a token; without both, standard output, unless that is a terminal]:FILE:_files' \
'(-T --token)--form=[The form of the file \[default\: pem, and raw for keys without a public part\]]:FORM:((pem\:"PKCS#8 or SubjectPublicKeyInfo in PEM"
der\:"The same in DER"
traditional\:"SEC 1 or PKCS#1 in PEM, as older programs have it"
jwk\:"A JSON Web Key"
tink\:"A cleartext keyset of Tink in JSON"
raw\:"The bytes of the key alone"))' \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label for the key]:LABEL:_default' \
'--token-key=[The label for the key]:LABEL:_default' \
'*--usages=[The uses of the key, with commas\: encrypt, decrypt, sign, verify, derive, wrap, unwrap \[default\: all that its kind does\]]:LIST:_default' \
'--id=[An identifier of the application'\''s, in hexadecimal, as PKCS #11'\''s CKA_ID]:HEX:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--exportable[Let the key leave the token again]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':kind -- The kind of key:((aes\:"AES\: 128, 192 or 256 bits"
aes-siv\:"AES-SIV, deterministic\: 256, 384 or 512 bits"
fernet\:"Fernet, for tokens\: 256 bits"
hmac\:"HMAC\: 128 to 8192 bits, in whole bytes"
chacha20-poly1305\:"ChaCha20-Poly1305\: 256 bits"
p-256\:"ECDSA and ECDH on P-256"
p-384\:"ECDSA and ECDH on P-384"
p-521\:"ECDSA and ECDH on P-521"
ed25519\:"Ed25519"
x25519\:"X25519"
rsa\:"RSA\: 2048, 3072 or 4096 bits"
ml-kem-512\:"ML-KEM-512"
ml-kem-768\:"ML-KEM-768"
ml-kem-1024\:"ML-KEM-1024"
ml-dsa-44\:"ML-DSA-44"
ml-dsa-65\:"ML-DSA-65"
ml-dsa-87\:"ML-DSA-87"
slh-dsa-sha2-128s\:"SLH-DSA-SHA2-128s"
slh-dsa-sha2-128f\:"SLH-DSA-SHA2-128f"
slh-dsa-sha2-192s\:"SLH-DSA-SHA2-192s"
slh-dsa-sha2-192f\:"SLH-DSA-SHA2-192f"
slh-dsa-sha2-256s\:"SLH-DSA-SHA2-256s"
slh-dsa-sha2-256f\:"SLH-DSA-SHA2-256f"
slh-dsa-shake-128s\:"SLH-DSA-SHAKE-128s"
slh-dsa-shake-128f\:"SLH-DSA-SHAKE-128f"
slh-dsa-shake-192s\:"SLH-DSA-SHAKE-192s"
slh-dsa-shake-192f\:"SLH-DSA-SHAKE-192f"
slh-dsa-shake-256s\:"SLH-DSA-SHAKE-256s"
slh-dsa-shake-256f\:"SLH-DSA-SHAKE-256f"))' \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
'--raw=[The kind of key, if the file holds its bytes alone]:KIND:((aes\:"AES\: 128, 192 or 256 bits"
aes-siv\:"AES-SIV, deterministic\: 256, 384 or 512 bits"
fernet\:"Fernet, for tokens\: 256 bits"
hmac\:"HMAC\: 128 to 8192 bits, in whole bytes"
chacha20-poly1305\:"ChaCha20-Poly1305\: 256 bits"
p-256\:"ECDSA and ECDH on P-256"
p-384\:"ECDSA and ECDH on P-384"
p-521\:"ECDSA and ECDH on P-521"
ed25519\:"Ed25519"
x25519\:"X25519"
rsa\:"RSA\: 2048, 3072 or 4096 bits"
ml-kem-512\:"ML-KEM-512"
ml-kem-768\:"ML-KEM-768"
ml-kem-1024\:"ML-KEM-1024"
ml-dsa-44\:"ML-DSA-44"
ml-dsa-65\:"ML-DSA-65"
ml-dsa-87\:"ML-DSA-87"
slh-dsa-sha2-128s\:"SLH-DSA-SHA2-128s"
slh-dsa-sha2-128f\:"SLH-DSA-SHA2-128f"
slh-dsa-sha2-192s\:"SLH-DSA-SHA2-192s"
slh-dsa-sha2-192f\:"SLH-DSA-SHA2-192f"
slh-dsa-sha2-256s\:"SLH-DSA-SHA2-256s"
slh-dsa-sha2-256f\:"SLH-DSA-SHA2-256f"
slh-dsa-shake-128s\:"SLH-DSA-SHAKE-128s"
slh-dsa-shake-128f\:"SLH-DSA-SHAKE-128f"
slh-dsa-shake-192s\:"SLH-DSA-SHAKE-192s"
slh-dsa-shake-192f\:"SLH-DSA-SHAKE-192f"
slh-dsa-shake-256s\:"SLH-DSA-SHAKE-256s"
slh-dsa-shake-256f\:"SLH-DSA-SHAKE-256f"))' \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label for the key or the certificate]:LABEL:_default' \
'--token-key=[The label for the key or the certificate]:LABEL:_default' \
'*--usages=[The uses of the key, with commas\: encrypt, decrypt, sign, verify, derive, wrap, unwrap \[default\: all that its kind does\]]:LIST:_default' \
'--id=[An identifier of the application'\''s, in hexadecimal, as PKCS #11'\''s CKA_ID]:HEX:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--exportable[Let the key leave the token again]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':file -- The file\: PKCS#8, SEC 1 or PKCS#1 in PEM or DER, a JSON Web Key, a keyset of Tink, or an X.509 certificate in PEM or DER:_files' \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label of the key, or its identifier]:LABEL:_default' \
'--token-key=[The label of the key, or its identifier]:LABEL:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'-o+[The file to make; without it, standard output, unless that is a terminal]:FILE:_files' \
'--output=[The file to make; without it, standard output, unless that is a terminal]:FILE:_files' \
'--form=[The form of the file \[default\: pem, and raw for keys without a public part\]]:FORM:((pem\:"PKCS#8 or SubjectPublicKeyInfo in PEM"
der\:"The same in DER"
traditional\:"SEC 1 or PKCS#1 in PEM, as older programs have it"
jwk\:"A JSON Web Key"
tink\:"A cleartext keyset of Tink in JSON"
raw\:"The bytes of the key alone"))' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(copy)
_arguments "${_arguments_options[@]}" : \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label of the key, or its identifier]:LABEL:_default' \
'--token-key=[The label of the key, or its identifier]:LABEL:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--to-token=[The token for the copy \[default\: the same\]]:TOKEN:_default' \
'--to-label=[The label of the copy \[default\: the same\]]:LABEL:_default' \
'--to-pin-file=[Read the user PIN of the other token from the first line of a file or a descriptor \[default\: ask at the terminal\]]:FILE:_files' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--json[Write JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'(-T --token)--raw=[The kind of key, if the file holds its bytes alone]:KIND:((aes\:"AES\: 128, 192 or 256 bits"
aes-siv\:"AES-SIV, deterministic\: 256, 384 or 512 bits"
fernet\:"Fernet, for tokens\: 256 bits"
hmac\:"HMAC\: 128 to 8192 bits, in whole bytes"
chacha20-poly1305\:"ChaCha20-Poly1305\: 256 bits"
p-256\:"ECDSA and ECDH on P-256"
p-384\:"ECDSA and ECDH on P-384"
p-521\:"ECDSA and ECDH on P-521"
ed25519\:"Ed25519"
x25519\:"X25519"
rsa\:"RSA\: 2048, 3072 or 4096 bits"
ml-kem-512\:"ML-KEM-512"
ml-kem-768\:"ML-KEM-768"
ml-kem-1024\:"ML-KEM-1024"
ml-dsa-44\:"ML-DSA-44"
ml-dsa-65\:"ML-DSA-65"
ml-dsa-87\:"ML-DSA-87"
slh-dsa-sha2-128s\:"SLH-DSA-SHA2-128s"
slh-dsa-sha2-128f\:"SLH-DSA-SHA2-128f"
slh-dsa-sha2-192s\:"SLH-DSA-SHA2-192s"
slh-dsa-sha2-192f\:"SLH-DSA-SHA2-192f"
slh-dsa-sha2-256s\:"SLH-DSA-SHA2-256s"
slh-dsa-sha2-256f\:"SLH-DSA-SHA2-256f"
slh-dsa-shake-128s\:"SLH-DSA-SHAKE-128s"
slh-dsa-shake-128f\:"SLH-DSA-SHAKE-128f"
slh-dsa-shake-192s\:"SLH-DSA-SHAKE-192s"
slh-dsa-shake-192f\:"SLH-DSA-SHAKE-192f"
slh-dsa-shake-256s\:"SLH-DSA-SHAKE-256s"
slh-dsa-shake-256f\:"SLH-DSA-SHAKE-256f"))' \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label of the key in the token, or its identifier]:LABEL:_default' \
'--token-key=[The label of the key in the token, or its identifier]:LABEL:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--json[Write JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The file of the key:_files' \
&& ret=0
;;
(public)
_arguments "${_arguments_options[@]}" : \
'(-T --token)--raw=[The kind of key, if the file holds its bytes alone]:KIND:((aes\:"AES\: 128, 192 or 256 bits"
aes-siv\:"AES-SIV, deterministic\: 256, 384 or 512 bits"
fernet\:"Fernet, for tokens\: 256 bits"
hmac\:"HMAC\: 128 to 8192 bits, in whole bytes"
chacha20-poly1305\:"ChaCha20-Poly1305\: 256 bits"
p-256\:"ECDSA and ECDH on P-256"
p-384\:"ECDSA and ECDH on P-384"
p-521\:"ECDSA and ECDH on P-521"
ed25519\:"Ed25519"
x25519\:"X25519"
rsa\:"RSA\: 2048, 3072 or 4096 bits"
ml-kem-512\:"ML-KEM-512"
ml-kem-768\:"ML-KEM-768"
ml-kem-1024\:"ML-KEM-1024"
ml-dsa-44\:"ML-DSA-44"
ml-dsa-65\:"ML-DSA-65"
ml-dsa-87\:"ML-DSA-87"
slh-dsa-sha2-128s\:"SLH-DSA-SHA2-128s"
slh-dsa-sha2-128f\:"SLH-DSA-SHA2-128f"
slh-dsa-sha2-192s\:"SLH-DSA-SHA2-192s"
slh-dsa-sha2-192f\:"SLH-DSA-SHA2-192f"
slh-dsa-sha2-256s\:"SLH-DSA-SHA2-256s"
slh-dsa-sha2-256f\:"SLH-DSA-SHA2-256f"
slh-dsa-shake-128s\:"SLH-DSA-SHAKE-128s"
slh-dsa-shake-128f\:"SLH-DSA-SHAKE-128f"
slh-dsa-shake-192s\:"SLH-DSA-SHAKE-192s"
slh-dsa-shake-192f\:"SLH-DSA-SHAKE-192f"
slh-dsa-shake-256s\:"SLH-DSA-SHAKE-256s"
slh-dsa-shake-256f\:"SLH-DSA-SHAKE-256f"))' \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label of the key in the token, or its identifier]:LABEL:_default' \
'--token-key=[The label of the key in the token, or its identifier]:LABEL:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'-o+[The file to write; without it, standard output]:FILE:_files' \
'--output=[The file to write; without it, standard output]:FILE:_files' \
'--form=[The form of the file]:FORM:((pem\:"PKCS#8 or SubjectPublicKeyInfo in PEM"
der\:"The same in DER"
traditional\:"SEC 1 or PKCS#1 in PEM, as older programs have it"
jwk\:"A JSON Web Key"
tink\:"A cleartext keyset of Tink in JSON"
raw\:"The bytes of the key alone"))' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The file of the key:_files' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'-K+[The label of the key, or its identifier]:LABEL:_default' \
'--token-key=[The label of the key, or its identifier]:LABEL:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__key__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-key-help-command-$line[1]:"
        case $line[1] in
            (generate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(copy)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(public)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(agent)
_arguments "${_arguments_options[@]}" : \
'-T+[The label of the token]:TOKEN:_default' \
'--token=[The label of the token]:TOKEN:_default' \
'*-K+[The label of a key, or its identifier; may be repeated \[default\: all keys of the token that sign for SSH\]]:LABEL:_default' \
'*--token-key=[The label of a key, or its identifier; may be repeated \[default\: all keys of the token that sign for SSH\]]:LABEL:_default' \
'--socket=[The socket \[default\: millstream-agent.sock in XDG_RUNTIME_DIR\]]:PATH:_files' \
'--lifetime=[Forget the keys after this time, as 90s, 30m or 8h]:TIME:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--confirm[Ask before each signature, by the program that SSH_ASKPASS names]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::command -- A program that finds the agent in SSH_AUTH_SOCK, and its arguments\: the agent ends with it:_default' \
&& ret=0
;;
(encrypt)
_arguments "${_arguments_options[@]}" : \
'-k+[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'--key-file=[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'-K+[The label of a key in a token, or its identifier]:LABEL:_files' \
'--token-key=[The label of a key in a token, or its identifier]:LABEL:_files' \
'-T+[The label of the token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of the token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*-i+[The file to read; without it, or with -, standard input; several are like operands]:FILE:_files' \
'*--input=[The file to read; without it, or with -, standard input; several are like operands]:FILE:_files' \
'-o+[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--output=[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--format=[The file format; decrypt recognises authenticated formats by itself]:FORMAT:((tink\:"Tink'\''s streaming AEAD AES256-GCM-HKDF with 1 MB segments\: authenticated, the default"
solaris\:"The format of the Solaris commands, version 1"
openssl\:"The format of openssl enc -pbkdf2"
raw\:"Ciphertext alone"))' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--aad=[Text that is authenticated but not stored\: decrypt needs the same (formats tink, raw)]:TEXT:_default' \
'--iv=[The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)]:HEX:_default' \
'(--iv)--iv-file=[The file whose bytes are the initialisation vector (format raw)]:FILE:_files' \
'--iter=[Iterations of PBKDF2\: 10000 in the format openssl, 1000 in the format solaris]:N:_default' \
'--output-dir=[The folder for the outputs of several files \[default\: beside each\]]:DIR:_files' \
'--suffix=[The end of encrypted files'\'' names\: encrypt adds it, decrypt takes it away \[default\: .enc\]]:SUFFIX:_default' \
'-a+[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:(aes arcfour des 3des aes-gcm-hkdf aes-ecb aes-cbc aes-ctr aes-cfb aes-xts aes-gcm chacha20-poly1305 camellia-ecb camellia-cbc camellia-ctr sm4-ecb sm4-cbc sm4-ctr des-ecb des-cbc des-cfb 3des-ecb 3des-cbc 3des-cfb rc4)' \
'--algorithm=[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:(aes arcfour des 3des aes-gcm-hkdf aes-ecb aes-cbc aes-ctr aes-cfb aes-xts aes-gcm chacha20-poly1305 camellia-ecb camellia-cbc camellia-ctr sm4-ecb sm4-cbc sm4-ctr des-ecb des-cbc des-cfb 3des-ecb 3des-cbc 3des-cfb rc4)' \
'-l[List the algorithms, their key sizes and the formats that use them; allows no other option]' \
'--list[List the algorithms, their key sizes and the formats that use them; allows no other option]' \
'-v[Draw the progress bar of the Solaris commands]' \
'--verbose[Draw the progress bar of the Solaris commands]' \
'--no-pad[Do no padding\: leave the last block as it is, in ECB and CBC (format raw)]' \
'-q[Show no progress bar and no warning]' \
'--quiet[Show no progress bar and no warning]' \
'-f[Replace files that have the names of outputs]' \
'--force[Replace files that have the names of outputs]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- Several files, each with an output of its own beside it or in the folder of --output-dir:_files' \
&& ret=0
;;
(decrypt)
_arguments "${_arguments_options[@]}" : \
'-k+[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'--key-file=[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'-K+[The label of a key in a token, or its identifier]:LABEL:_files' \
'--token-key=[The label of a key in a token, or its identifier]:LABEL:_files' \
'-T+[The label of the token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of the token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*-i+[The file to read; without it, or with -, standard input; several are like operands]:FILE:_files' \
'*--input=[The file to read; without it, or with -, standard input; several are like operands]:FILE:_files' \
'-o+[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--output=[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--format=[The file format; decrypt recognises authenticated formats by itself]:FORMAT:((tink\:"Tink'\''s streaming AEAD AES256-GCM-HKDF with 1 MB segments\: authenticated, the default"
solaris\:"The format of the Solaris commands, version 1"
openssl\:"The format of openssl enc -pbkdf2"
raw\:"Ciphertext alone"))' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--aad=[Text that is authenticated but not stored\: decrypt needs the same (formats tink, raw)]:TEXT:_default' \
'--iv=[The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)]:HEX:_default' \
'(--iv)--iv-file=[The file whose bytes are the initialisation vector (format raw)]:FILE:_files' \
'--iter=[Iterations of PBKDF2\: 10000 in the format openssl, 1000 in the format solaris]:N:_default' \
'--output-dir=[The folder for the outputs of several files \[default\: beside each\]]:DIR:_files' \
'--suffix=[The end of encrypted files'\'' names\: encrypt adds it, decrypt takes it away \[default\: .enc\]]:SUFFIX:_default' \
'-a+[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:(aes arcfour des 3des aes-gcm-hkdf aes-ecb aes-cbc aes-ctr aes-cfb aes-xts aes-gcm chacha20-poly1305 camellia-ecb camellia-cbc camellia-ctr sm4-ecb sm4-cbc sm4-ctr des-ecb des-cbc des-cfb 3des-ecb 3des-cbc 3des-cfb rc4)' \
'--algorithm=[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:(aes arcfour des 3des aes-gcm-hkdf aes-ecb aes-cbc aes-ctr aes-cfb aes-xts aes-gcm chacha20-poly1305 camellia-ecb camellia-cbc camellia-ctr sm4-ecb sm4-cbc sm4-ctr des-ecb des-cbc des-cfb 3des-ecb 3des-cbc 3des-cfb rc4)' \
'-l[List the algorithms, their key sizes and the formats that use them; allows no other option]' \
'--list[List the algorithms, their key sizes and the formats that use them; allows no other option]' \
'-v[Draw the progress bar of the Solaris commands]' \
'--verbose[Draw the progress bar of the Solaris commands]' \
'--no-pad[Do no padding\: leave the last block as it is, in ECB and CBC (format raw)]' \
'-q[Show no progress bar and no warning]' \
'--quiet[Show no progress bar and no warning]' \
'-f[Replace files that have the names of outputs]' \
'--force[Replace files that have the names of outputs]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- Several files, each with an output of its own beside it or in the folder of --output-dir:_files' \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
'-k+[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--key-file=[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--isolated=[The label of a key of AES in a token of the service, where it stays]:LABEL:_files' \
'-T+[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*--recipient=[The file with a public key of X25519 (PEM, DER or JWK), or with recipients of age, whose private key opens; may be given several times]:FILE:_files' \
'-o+[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--output=[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::input -- The file to read; without it, or with -, standard input:_files' \
&& ret=0
;;
(open)
_arguments "${_arguments_options[@]}" : \
'-k+[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--key-file=[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--isolated=[The label of a key of AES in a token of the service, where it stays]:LABEL:_files' \
'-T+[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*--identity=[The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times]:FILE:_files' \
'-o+[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--output=[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'::input -- The file to read; without it, or with -, standard input:_files' \
&& ret=0
;;
(backup)
_arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_millstream__subcmd__backup_commands" \
"*::: :->backup" \
&& ret=0

    case $state in
    (backup)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-backup-command-$line[1]:"
        case $line[1] in
            (put)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'-k+[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--key-file=[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--isolated=[The label of a key of AES in a token of the service, where it stays]:LABEL:_files' \
'-T+[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*--recipient=[The file with a public key of X25519 (PEM, DER or JWK), or with recipients of age, whose private key opens; may be given several times]:FILE:_files' \
'--segment=[The bytes of a segment, which is an object of the store]:SIZE:_default' \
'--memory=[The most memory for segments, as in 1G]:SIZE:_default' \
'-q[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--quiet[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--json[Write an object of JSON in a line for each segment, and for the end]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
'::file -- A file, a device, or a folder, which becomes a stream of tar; without it, or with -, standard input:_files' \
'*::command -- A command whose output is kept, and that must end well:_default' \
&& ret=0
;;
(resume)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'-k+[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--key-file=[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--isolated=[The label of a key of AES in a token of the service, where it stays]:LABEL:_files' \
'-T+[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*--identity=[The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times]:FILE:_files' \
'--memory=[The most memory for segments, as in 1G]:SIZE:_default' \
'-q[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--quiet[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--json[Write an object of JSON in a line for each segment, and for the end]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
'::file -- A file, a device, or a folder, which becomes a stream of tar; without it, or with -, standard input:_files' \
'*::command -- A command whose output is kept, and that must end well:_default' \
&& ret=0
;;
(get)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'-k+[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--key-file=[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--isolated=[The label of a key of AES in a token of the service, where it stays]:LABEL:_files' \
'-T+[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*--identity=[The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times]:FILE:_files' \
'-o+[The file or device to write; without it, or with -, standard output]:FILE:_files' \
'--output=[The file or device to write; without it, or with -, standard output]:FILE:_files' \
'--range=[The bytes that are wanted, as in 0-99 for the first hundred, or 4096- for all from there on]:FIRST-LAST:_default' \
'--verifier=[The verifier that put printed\: refuse a backup that it has not signed]:HEX:_default' \
'--memory=[The most memory for segments, as in 1G]:SIZE:_default' \
'--moved[Accept a backup that has another name than it was made under]' \
'-q[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--quiet[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--json[Write an object of JSON in a line for each segment, and for the end]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'--json[Write an object of JSON in a line for each]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'-k+[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--key-file=[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--isolated=[The label of a key of AES in a token of the service, where it stays]:LABEL:_files' \
'-T+[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*--identity=[The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times]:FILE:_files' \
'--sample=[Examine so many percent of the segments, chosen at random]:PERCENT:_default' \
'--verifier=[The verifier that put printed\: refuse a backup that it has not signed]:HEX:_default' \
'--memory=[The most memory for segments, as in 1G]:SIZE:_default' \
'--moved[Accept a backup that has another name than it was made under]' \
'-q[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--quiet[Show neither a progress bar nor what was done. Of a backup the verifier is not shown either]' \
'--json[Write an object of JSON in a line for each segment, and for the end]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'--keep=[The number of backups that are kept]:N:_default' \
'--partial[Remove interrupted backups, too. None of them may be running]' \
'-n[Only list what would be removed]' \
'--dry-run[Only list what would be removed]' \
'--json[Write an object of JSON in a line for each]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
&& ret=0
;;
(rekey)
_arguments "${_arguments_options[@]}" : \
'--bandwidth=[The most bytes a second to and from the store, on average over some segments, as in 20M]:RATE:_default' \
'--retries=[The number of times that a failed call to the store is made again]:N:_default' \
'-k+[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--key-file=[The file with a key of 32 bytes, as millstream keygen makes it]:KEYFILE:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--isolated=[The label of a key of AES in a token of the service, where it stays]:LABEL:_files' \
'-T+[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of that token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'*--identity=[The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times]:FILE:_files' \
'--new-key=[The file with the new key of 32 bytes]:KEYFILE:_files' \
'--new-passphrase-file=[The file whose first line is the new passphrase]:FILE:_files' \
'*--new-recipient=[The file with the public key of a new recipient; may be given several times]:FILE:_files' \
'--moved[Accept a backup that has another name than it was made under]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':address -- The address\: s3\://BUCKET/NAME, gs\://BUCKET/NAME, az\://CONTAINER/NAME, or a folder:_default' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__backup__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-backup-help-command-$line[1]:"
        case $line[1] in
            (put)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(resume)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(get)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rekey)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(columns)
_arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_millstream__subcmd__columns_commands" \
"*::: :->columns" \
&& ret=0

    case $state in
    (columns)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-columns-command-$line[1]:"
        case $line[1] in
            (hash)
_arguments "${_arguments_options[@]}" : \
'-a+[The hash, as sha256 or sha3_256; with a key its HMAC]:HASH:_default' \
'--algorithm=[The hash, as sha256 or sha3_256; with a key its HMAC]:HASH:_default' \
'(--isolated)-k+[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key-file=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'--isolated=[A key in a token of the service, where it stays\: TOKEN/LABEL, or LABEL]:NAME:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'--encoding=[The form of the results \[default\: binary, and hex in CSV\]]:FORM:((binary\:"The bytes themselves"
hex\:"Pairs of hexadecimal digits"
base64\:"RFC 4648, with padding"))' \
'*--column=[The name of a column to replace; may be given several times]:NAME:_default' \
'--from=[The format of the input\: parquet, arrow, arrows or csv \[default\: what its first bytes tell\]]:FORMAT:_default' \
'--to=[The format of the output \[default\: what its name ends with, else that of the input\]]:FORMAT:_default' \
'--delimiter=[The character between the values of CSV]:CHARACTER:_default' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':input -- The file to read; with -, standard input:_files' \
':output -- The file to write, which may be the input; with -, standard output:_files' \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
'-a+[The cipher\: aes-gcm, chacha20-poly1305, xaes-256-gcm, aes-gcm-siv or aes-siv \[default\: aes-gcm, or what the isolated key or the keyset is for\]]:CIPHER:_default' \
'--algorithm=[The cipher\: aes-gcm, chacha20-poly1305, xaes-256-gcm, aes-gcm-siv or aes-siv \[default\: aes-gcm, or what the isolated key or the keyset is for\]]:CIPHER:_default' \
'(--isolated)-k+[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key-file=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'--isolated=[A key in a token of the service, where it stays\: TOKEN/LABEL, or LABEL]:NAME:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'(--aad-column)--aad=[Bind each value to this text, which is needed again to open it]:TEXT:_default' \
'--aad-column=[Bind each value to the value of this column in the same row, as a primary key of type text]:COLUMN:_default' \
'--encoding=[The form of the results \[default\: binary, and base64 in CSV\]]:FORM:((binary\:"The bytes themselves"
hex\:"Pairs of hexadecimal digits"
base64\:"RFC 4648, with padding"))' \
'*--column=[The name of a column to replace; may be given several times]:NAME:_default' \
'--from=[The format of the input\: parquet, arrow, arrows or csv \[default\: what its first bytes tell\]]:FORMAT:_default' \
'--to=[The format of the output \[default\: what its name ends with, else that of the input\]]:FORMAT:_default' \
'--delimiter=[The character between the values of CSV]:CHARACTER:_default' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':input -- The file to read; with -, standard input:_files' \
':output -- The file to write, which may be the input; with -, standard output:_files' \
&& ret=0
;;
(open)
_arguments "${_arguments_options[@]}" : \
'-a+[The cipher\: aes-gcm, chacha20-poly1305, xaes-256-gcm, aes-gcm-siv or aes-siv \[default\: aes-gcm, or what the isolated key or the keyset is for\]]:CIPHER:_default' \
'--algorithm=[The cipher\: aes-gcm, chacha20-poly1305, xaes-256-gcm, aes-gcm-siv or aes-siv \[default\: aes-gcm, or what the isolated key or the keyset is for\]]:CIPHER:_default' \
'(--isolated)-k+[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key-file=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'--isolated=[A key in a token of the service, where it stays\: TOKEN/LABEL, or LABEL]:NAME:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'(--aad-column)--aad=[Bind each value to this text, which is needed again to open it]:TEXT:_default' \
'--aad-column=[Bind each value to the value of this column in the same row, as a primary key of type text]:COLUMN:_default' \
'--encoding=[The form of sealed values that are text]:FORM:((binary\:"The bytes themselves"
hex\:"Pairs of hexadecimal digits"
base64\:"RFC 4648, with padding"))' \
'*--column=[The name of a column to replace; may be given several times]:NAME:_default' \
'--from=[The format of the input\: parquet, arrow, arrows or csv \[default\: what its first bytes tell\]]:FORMAT:_default' \
'--to=[The format of the output \[default\: what its name ends with, else that of the input\]]:FORMAT:_default' \
'--delimiter=[The character between the values of CSV]:CHARACTER:_default' \
'--text[Open to text even if the table does not say that the values were text]' \
'--null-failed[Put null in the place of a value that does not open]' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':input -- The file to read; with -, standard input:_files' \
':output -- The file to write, which may be the input; with -, standard output:_files' \
&& ret=0
;;
(encrypt)
_arguments "${_arguments_options[@]}" : \
'(--isolated)-k+[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key-file=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'--isolated=[A key in a token of the service, where it stays\: TOKEN/LABEL, or LABEL]:NAME:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'(--radix)--alphabet=[The characters that values are of, each once \[default\: 0123456789\]]:CHARACTERS:_default' \
'--radix=[The number of characters, of the decimal digits and then the letters from a to z]:2-36:_default' \
'(--tweak-column)--tweak=[Encrypt under this text, which is no secret and is needed again, as the name of the column]:TEXT:_default' \
'--tweak-column=[Encrypt each value under the value of this column in the same row, of type text]:COLUMN:_default' \
'*--column=[The name of a column to replace; may be given several times]:NAME:_default' \
'--from=[The format of the input\: parquet, arrow, arrows or csv \[default\: what its first bytes tell\]]:FORMAT:_default' \
'--to=[The format of the output \[default\: what its name ends with, else that of the input\]]:FORMAT:_default' \
'--delimiter=[The character between the values of CSV]:CHARACTER:_default' \
'--null-failed[Put null in the place of a value with other characters, or with too few]' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':input -- The file to read; with -, standard input:_files' \
':output -- The file to write, which may be the input; with -, standard output:_files' \
&& ret=0
;;
(decrypt)
_arguments "${_arguments_options[@]}" : \
'(--isolated)-k+[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key-file=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'(--isolated)--key=[The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink]:KEYFILE:_files' \
'--isolated=[A key in a token of the service, where it stays\: TOKEN/LABEL, or LABEL]:NAME:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'(--radix)--alphabet=[The characters that values are of, each once \[default\: 0123456789\]]:CHARACTERS:_default' \
'--radix=[The number of characters, of the decimal digits and then the letters from a to z]:2-36:_default' \
'(--tweak-column)--tweak=[Encrypt under this text, which is no secret and is needed again, as the name of the column]:TEXT:_default' \
'--tweak-column=[Encrypt each value under the value of this column in the same row, of type text]:COLUMN:_default' \
'*--column=[The name of a column to replace; may be given several times]:NAME:_default' \
'--from=[The format of the input\: parquet, arrow, arrows or csv \[default\: what its first bytes tell\]]:FORMAT:_default' \
'--to=[The format of the output \[default\: what its name ends with, else that of the input\]]:FORMAT:_default' \
'--delimiter=[The character between the values of CSV]:CHARACTER:_default' \
'--null-failed[Put null in the place of a value with other characters, or with too few]' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':input -- The file to read; with -, standard input:_files' \
':output -- The file to write, which may be the input; with -, standard output:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__columns__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-columns-help-command-$line[1]:"
        case $line[1] in
            (hash)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(open)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(encrypt)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(decrypt)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(esp)
_arguments "${_arguments_options[@]}" : \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_millstream__subcmd__esp_commands" \
"*::: :->esp" \
&& ret=0

    case $state in
    (esp)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-esp-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
'--sa=[The file with associations and policies; others may be added later]:FILE:_files' \
'--state=[The folder that has the sequence numbers of keys \[default\: the file'\''s name with .state behind it\]]:FOLDER:_files' \
'--tun=[The name of the TUN device]:NAME:_default' \
'-n+[The number of threads that encrypt and decrypt; with 0 those that read packets do]:N:_default' \
'--workers=[The number of threads that encrypt and decrypt; with 0 those that read packets do]:N:_default' \
'--mtu=[The longest outer packet, in bytes]:BYTES:_default' \
'--least-path-mtu=[The narrowest path that messages of ICMP are believed about, in bytes of outer packets; with 0 none is believed, and routers may cut packets]:BYTES:_default' \
'--keepalive=[The seconds after which a keep-alive is sent where nothing else was; 0 for none]:SECONDS:_default' \
'--socket=[The socket of the service \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'--control=[The socket by which a data plane is changed \[default\: millstream-esp.sock in XDG_RUNTIME_DIR\]]:PATH:_files' \
'(--sa)--from-kernel[Take the associations and policies that a daemon of IKE has given to the kernel, and follow their changes]' \
'--follow-peers[Send to where a peer'\''s newest authentic packet came from, when a NAT gives it another address or port; not where this machine is behind a NAT itself]' \
'--isolated[Hold the keys in the service]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(add)
_arguments "${_arguments_options[@]}" : \
'--control=[The socket by which a data plane is changed \[default\: millstream-esp.sock in XDG_RUNTIME_DIR\]]:PATH:_files' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
'::file -- The file that describes them \[default\: standard input\]:_default' \
&& ret=0
;;
(del)
_arguments "${_arguments_options[@]}" : \
'--control=[The socket by which a data plane is changed \[default\: millstream-esp.sock in XDG_RUNTIME_DIR\]]:PATH:_files' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':spi -- The SPI, as 0xc0de0001:_default' \
'::destination -- The outer destination, where several associations have this SPI:_default' \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
'--control=[The socket by which a data plane is changed \[default\: millstream-esp.sock in XDG_RUNTIME_DIR\]]:PATH:_files' \
'--json[Write JSON]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__esp__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-esp-help-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(del)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
;;
(digest)
_arguments "${_arguments_options[@]}" : \
'-a+[The algorithm; -l lists them]:ALGORITHM:(sha1 md5 sha224 sha256 sha384 sha512 sha512_256 sha3_224 sha3_256 sha3_384 sha3_512 crc32 crc32c)' \
'--algorithm=[The algorithm; -l lists them]:ALGORITHM:(sha1 md5 sha224 sha256 sha384 sha512 sha512_256 sha3_224 sha3_256 sha3_384 sha3_512 crc32 crc32c)' \
'-l[List the algorithms; allows no other option]' \
'--list[List the algorithms; allows no other option]' \
'-v[Put the algorithm and the file'\''s name before each digest, as on Solaris]' \
'--verbose[Put the algorithm and the file'\''s name before each digest, as on Solaris]' \
'(-v --verbose --tag --json)--sum[Print lines as sha256sum does\: the digest, two blanks, the file'\''s name]' \
'(-v --verbose --json)--tag[Print lines as BSD and sha256sum --tag do\: SHA256 (file) = digest]' \
'--json[Write a line of JSON for each file]' \
'-q[Show no progress bar, and with --check no OK]' \
'--quiet[Show no progress bar, and with --check no OK]' \
'(-l --list -v --verbose --json --sum --tag)-c[Read digests from each FILE, and compare them with those of the files that it names]' \
'(-l --list -v --verbose --json --sum --tag)--check[Read digests from each FILE, and compare them with those of the files that it names]' \
'--ignore-missing[Pass over files that are not there]' \
'--status[Print nothing about files; the exit status tells]' \
'--strict[Fail if a line is not properly formatted]' \
'-w[Warn of each line that is not properly formatted]' \
'--warn[Warn of each line that is not properly formatted]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- The files, - for standard input; without any, standard input:_default' \
&& ret=0
;;
(mac)
_arguments "${_arguments_options[@]}" : \
'-k+[The file whose bytes are the key]:KEYFILE:_files' \
'--key-file=[The file whose bytes are the key]:KEYFILE:_files' \
'-K+[The label of a key in a token, or its identifier]:LABEL:_files' \
'--token-key=[The label of a key in a token, or its identifier]:LABEL:_files' \
'-T+[The label of the token \[default\: the only one there is\]]:TOKEN:_default' \
'--token=[The label of the token \[default\: the only one there is\]]:TOKEN:_default' \
'--pin-file=[Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 \[default\: ask at the terminal\]]:FILE:_files' \
'--store=[The folder of a store of this machine'\''s files \[default\: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root\]]:FOLDER:_files' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'-a+[The algorithm; -l lists them]:ALGORITHM:(des_mac sha1_hmac md5_hmac sha224_hmac sha256_hmac sha384_hmac sha512_hmac sha512_256_hmac sha3_224_hmac sha3_256_hmac sha3_384_hmac sha3_512_hmac aes_cmac)' \
'--algorithm=[The algorithm; -l lists them]:ALGORITHM:(des_mac sha1_hmac md5_hmac sha224_hmac sha256_hmac sha384_hmac sha512_hmac sha512_256_hmac sha3_224_hmac sha3_256_hmac sha3_384_hmac sha3_512_hmac aes_cmac)' \
'-l[List the algorithms and their key sizes; allows no other option]' \
'--list[List the algorithms and their key sizes; allows no other option]' \
'-v[Put the algorithm and the file'\''s name before each code]' \
'--verbose[Put the algorithm and the file'\''s name before each code]' \
'-I[Have the running service compute the code, so that the key is used in another process]' \
'--isolated[Have the running service compute the code, so that the key is used in another process]' \
'--json[Write a line of JSON for each file]' \
'-q[Show no progress bar and no warning]' \
'--quiet[Show no progress bar and no warning]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- The files, - for standard input; without any, standard input:_default' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':directory -- The directory, which must exist:_files' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'*--running=[Print the grants or workers that may follow these words of a command line, for the scripts]::RUNNING:_default' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
'::name -- The name by which the command is called:(millstream digest mac encrypt decrypt)' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-help-command-$line[1]:"
        case $line[1] in
            (caps)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(check)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(doctor)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(speed)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(trace)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(sparc)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(openssl-conf)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(status)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(revoke)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(move)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(reload)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(keygen)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(token)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__help__subcmd__token_commands" \
"*::: :->token" \
&& ret=0

    case $state in
    (token)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-help-token-command-$line[1]:"
        case $line[1] in
            (init)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(pin)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(migrate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(setup)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(key)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__help__subcmd__key_commands" \
"*::: :->key" \
&& ret=0

    case $state in
    (key)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-help-key-command-$line[1]:"
        case $line[1] in
            (generate)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(import)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(export)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(copy)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(public)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(agent)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(encrypt)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(decrypt)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(open)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(backup)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__help__subcmd__backup_commands" \
"*::: :->backup" \
&& ret=0

    case $state in
    (backup)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-help-backup-command-$line[1]:"
        case $line[1] in
            (put)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(resume)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(get)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(list)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(verify)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(remove)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(prune)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(rekey)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(columns)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__help__subcmd__columns_commands" \
"*::: :->columns" \
&& ret=0

    case $state in
    (columns)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-help-columns-command-$line[1]:"
        case $line[1] in
            (hash)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(seal)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(open)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(encrypt)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(decrypt)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(esp)
_arguments "${_arguments_options[@]}" : \
":: :_millstream__subcmd__help__subcmd__esp_commands" \
"*::: :->esp" \
&& ret=0

    case $state in
    (esp)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:millstream-help-esp-command-$line[1]:"
        case $line[1] in
            (run)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(add)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(del)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(show)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
(digest)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(mac)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_millstream_commands] )) ||
_millstream_commands() {
    local commands; commands=(
'caps:Show the processor'\''s features and the kernel chosen for each algorithm' \
'check:Test every kernel this processor can run against published answers' \
'doctor:Examine this machine, and say what to do about what it lacks' \
'speed:Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules' \
'run:Run a program with Millstream in its OpenSSL, or without features of the processor' \
'compare:Run a program with and without features of the processor, and say what they are worth' \
'trace:Say which cryptographic instructions a program runs' \
'sparc:Run a program for 64-bit SPARC, and say what it executed' \
'openssl-conf:Print an OpenSSL configuration that makes programs use Millstream' \
'serve:Serve programs whose keys are to be out of their reach' \
'status:Show the workers and grants of the running service' \
'revoke:Take grants away from their owners' \
'move:Move a grant to another worker' \
'reload:Have the running service read its policy file again' \
'keygen:Make a key' \
'token:Make tokens, which keep keys, and set their PINs' \
'key:Make, import, export and list keys, in tokens and in files' \
'agent:Sign for SSH with the keys of a token' \
'encrypt:Encrypt files or standard input' \
'decrypt:Decrypt files or standard input' \
'seal:Seal a file for keys, passphrases or recipients' \
'open:Open a file that '\''millstream seal'\'' made' \
'backup:Keep streams in object stores\: snapshots, folders, devices' \
'columns:Hash, seal, encrypt and open columns of tables' \
'esp:Carry packets of IPsec'\''s ESP, where the kernel can'\''t' \
'digest:Compute the digest of files or of standard input' \
'mac:Compute the message authentication code of files or of standard input' \
'man:Write the manual pages into a directory' \
'completions:Write completions for a shell to standard output' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream commands' commands "$@"
}
(( $+functions[_millstream__subcmd__agent_commands] )) ||
_millstream__subcmd__agent_commands() {
    local commands; commands=()
    _describe -t commands 'millstream agent commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup_commands] )) ||
_millstream__subcmd__backup_commands() {
    local commands; commands=(
'put:Make a backup of a stream' \
'resume:Go on with a backup that was interrupted' \
'get:Restore a backup, or a range of it' \
'list:List the backups under a name; this takes no key' \
'verify:Verify a backup' \
'remove:Remove a backup, or the beginning of one; this takes no key' \
'prune:Remove all backups under a name but the newest; this takes no key' \
'rekey:Wrap a backup'\''s key for other keys, passphrases and recipients' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream backup commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__get_commands] )) ||
_millstream__subcmd__backup__subcmd__get_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup get commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help_commands] )) ||
_millstream__subcmd__backup__subcmd__help_commands() {
    local commands; commands=(
'put:Make a backup of a stream' \
'resume:Go on with a backup that was interrupted' \
'get:Restore a backup, or a range of it' \
'list:List the backups under a name; this takes no key' \
'verify:Verify a backup' \
'remove:Remove a backup, or the beginning of one; this takes no key' \
'prune:Remove all backups under a name but the newest; this takes no key' \
'rekey:Wrap a backup'\''s key for other keys, passphrases and recipients' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream backup help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__get_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__get_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help get commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__help_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__list_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__prune_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__prune_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help prune commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__put_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__put_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help put commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__rekey_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__rekey_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help rekey commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__remove_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__resume_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__resume_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help resume commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__help__subcmd__verify_commands] )) ||
_millstream__subcmd__backup__subcmd__help__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup help verify commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__list_commands] )) ||
_millstream__subcmd__backup__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__prune_commands] )) ||
_millstream__subcmd__backup__subcmd__prune_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup prune commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__put_commands] )) ||
_millstream__subcmd__backup__subcmd__put_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup put commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__rekey_commands] )) ||
_millstream__subcmd__backup__subcmd__rekey_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup rekey commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__remove_commands] )) ||
_millstream__subcmd__backup__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__resume_commands] )) ||
_millstream__subcmd__backup__subcmd__resume_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup resume commands' commands "$@"
}
(( $+functions[_millstream__subcmd__backup__subcmd__verify_commands] )) ||
_millstream__subcmd__backup__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'millstream backup verify commands' commands "$@"
}
(( $+functions[_millstream__subcmd__caps_commands] )) ||
_millstream__subcmd__caps_commands() {
    local commands; commands=()
    _describe -t commands 'millstream caps commands' commands "$@"
}
(( $+functions[_millstream__subcmd__check_commands] )) ||
_millstream__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'millstream check commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns_commands] )) ||
_millstream__subcmd__columns_commands() {
    local commands; commands=(
'hash:Hash each value, or with a key authenticate it' \
'seal:Seal each value' \
'open:Open sealed values' \
'encrypt:Encrypt each value to another of the same alphabet and length' \
'decrypt:Decrypt values that encrypt has made' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream columns commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__decrypt_commands] )) ||
_millstream__subcmd__columns__subcmd__decrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns decrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__encrypt_commands] )) ||
_millstream__subcmd__columns__subcmd__encrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns encrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__hash_commands] )) ||
_millstream__subcmd__columns__subcmd__hash_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns hash commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__help_commands] )) ||
_millstream__subcmd__columns__subcmd__help_commands() {
    local commands; commands=(
'hash:Hash each value, or with a key authenticate it' \
'seal:Seal each value' \
'open:Open sealed values' \
'encrypt:Encrypt each value to another of the same alphabet and length' \
'decrypt:Decrypt values that encrypt has made' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream columns help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__help__subcmd__decrypt_commands] )) ||
_millstream__subcmd__columns__subcmd__help__subcmd__decrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns help decrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__help__subcmd__encrypt_commands] )) ||
_millstream__subcmd__columns__subcmd__help__subcmd__encrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns help encrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__help__subcmd__hash_commands] )) ||
_millstream__subcmd__columns__subcmd__help__subcmd__hash_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns help hash commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__help__subcmd__help_commands] )) ||
_millstream__subcmd__columns__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns help help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__help__subcmd__open_commands] )) ||
_millstream__subcmd__columns__subcmd__help__subcmd__open_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns help open commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__help__subcmd__seal_commands] )) ||
_millstream__subcmd__columns__subcmd__help__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns help seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__open_commands] )) ||
_millstream__subcmd__columns__subcmd__open_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns open commands' commands "$@"
}
(( $+functions[_millstream__subcmd__columns__subcmd__seal_commands] )) ||
_millstream__subcmd__columns__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream columns seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__compare_commands] )) ||
_millstream__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'millstream compare commands' commands "$@"
}
(( $+functions[_millstream__subcmd__completions_commands] )) ||
_millstream__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'millstream completions commands' commands "$@"
}
(( $+functions[_millstream__subcmd__decrypt_commands] )) ||
_millstream__subcmd__decrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream decrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__digest_commands] )) ||
_millstream__subcmd__digest_commands() {
    local commands; commands=()
    _describe -t commands 'millstream digest commands' commands "$@"
}
(( $+functions[_millstream__subcmd__doctor_commands] )) ||
_millstream__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'millstream doctor commands' commands "$@"
}
(( $+functions[_millstream__subcmd__encrypt_commands] )) ||
_millstream__subcmd__encrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream encrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp_commands] )) ||
_millstream__subcmd__esp_commands() {
    local commands; commands=(
'run:Carry packets until a signal comes' \
'add:Add associations and policies to a running data plane' \
'del:Remove an association from a running data plane' \
'show:Show the associations of a running data plane, and its counters' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream esp commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__add_commands] )) ||
_millstream__subcmd__esp__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp add commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__del_commands] )) ||
_millstream__subcmd__esp__subcmd__del_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp del commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__help_commands] )) ||
_millstream__subcmd__esp__subcmd__help_commands() {
    local commands; commands=(
'run:Carry packets until a signal comes' \
'add:Add associations and policies to a running data plane' \
'del:Remove an association from a running data plane' \
'show:Show the associations of a running data plane, and its counters' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream esp help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__help__subcmd__add_commands] )) ||
_millstream__subcmd__esp__subcmd__help__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp help add commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__help__subcmd__del_commands] )) ||
_millstream__subcmd__esp__subcmd__help__subcmd__del_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp help del commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__help__subcmd__help_commands] )) ||
_millstream__subcmd__esp__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp help help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__help__subcmd__run_commands] )) ||
_millstream__subcmd__esp__subcmd__help__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp help run commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__help__subcmd__show_commands] )) ||
_millstream__subcmd__esp__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp help show commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__run_commands] )) ||
_millstream__subcmd__esp__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp run commands' commands "$@"
}
(( $+functions[_millstream__subcmd__esp__subcmd__show_commands] )) ||
_millstream__subcmd__esp__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'millstream esp show commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help_commands] )) ||
_millstream__subcmd__help_commands() {
    local commands; commands=(
'caps:Show the processor'\''s features and the kernel chosen for each algorithm' \
'check:Test every kernel this processor can run against published answers' \
'doctor:Examine this machine, and say what to do about what it lacks' \
'speed:Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules' \
'run:Run a program with Millstream in its OpenSSL, or without features of the processor' \
'compare:Run a program with and without features of the processor, and say what they are worth' \
'trace:Say which cryptographic instructions a program runs' \
'sparc:Run a program for 64-bit SPARC, and say what it executed' \
'openssl-conf:Print an OpenSSL configuration that makes programs use Millstream' \
'serve:Serve programs whose keys are to be out of their reach' \
'status:Show the workers and grants of the running service' \
'revoke:Take grants away from their owners' \
'move:Move a grant to another worker' \
'reload:Have the running service read its policy file again' \
'keygen:Make a key' \
'token:Make tokens, which keep keys, and set their PINs' \
'key:Make, import, export and list keys, in tokens and in files' \
'agent:Sign for SSH with the keys of a token' \
'encrypt:Encrypt files or standard input' \
'decrypt:Decrypt files or standard input' \
'seal:Seal a file for keys, passphrases or recipients' \
'open:Open a file that '\''millstream seal'\'' made' \
'backup:Keep streams in object stores\: snapshots, folders, devices' \
'columns:Hash, seal, encrypt and open columns of tables' \
'esp:Carry packets of IPsec'\''s ESP, where the kernel can'\''t' \
'digest:Compute the digest of files or of standard input' \
'mac:Compute the message authentication code of files or of standard input' \
'man:Write the manual pages into a directory' \
'completions:Write completions for a shell to standard output' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__agent_commands] )) ||
_millstream__subcmd__help__subcmd__agent_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help agent commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup_commands] )) ||
_millstream__subcmd__help__subcmd__backup_commands() {
    local commands; commands=(
'put:Make a backup of a stream' \
'resume:Go on with a backup that was interrupted' \
'get:Restore a backup, or a range of it' \
'list:List the backups under a name; this takes no key' \
'verify:Verify a backup' \
'remove:Remove a backup, or the beginning of one; this takes no key' \
'prune:Remove all backups under a name but the newest; this takes no key' \
'rekey:Wrap a backup'\''s key for other keys, passphrases and recipients' \
    )
    _describe -t commands 'millstream help backup commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__get_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__get_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup get commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__list_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__prune_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__prune_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup prune commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__put_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__put_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup put commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__rekey_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__rekey_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup rekey commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__remove_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__resume_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__resume_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup resume commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__backup__subcmd__verify_commands] )) ||
_millstream__subcmd__help__subcmd__backup__subcmd__verify_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help backup verify commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__caps_commands] )) ||
_millstream__subcmd__help__subcmd__caps_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help caps commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__check_commands] )) ||
_millstream__subcmd__help__subcmd__check_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help check commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__columns_commands] )) ||
_millstream__subcmd__help__subcmd__columns_commands() {
    local commands; commands=(
'hash:Hash each value, or with a key authenticate it' \
'seal:Seal each value' \
'open:Open sealed values' \
'encrypt:Encrypt each value to another of the same alphabet and length' \
'decrypt:Decrypt values that encrypt has made' \
    )
    _describe -t commands 'millstream help columns commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__columns__subcmd__decrypt_commands] )) ||
_millstream__subcmd__help__subcmd__columns__subcmd__decrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help columns decrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__columns__subcmd__encrypt_commands] )) ||
_millstream__subcmd__help__subcmd__columns__subcmd__encrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help columns encrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__columns__subcmd__hash_commands] )) ||
_millstream__subcmd__help__subcmd__columns__subcmd__hash_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help columns hash commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__columns__subcmd__open_commands] )) ||
_millstream__subcmd__help__subcmd__columns__subcmd__open_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help columns open commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__columns__subcmd__seal_commands] )) ||
_millstream__subcmd__help__subcmd__columns__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help columns seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__compare_commands] )) ||
_millstream__subcmd__help__subcmd__compare_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help compare commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__completions_commands] )) ||
_millstream__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help completions commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__decrypt_commands] )) ||
_millstream__subcmd__help__subcmd__decrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help decrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__digest_commands] )) ||
_millstream__subcmd__help__subcmd__digest_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help digest commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__doctor_commands] )) ||
_millstream__subcmd__help__subcmd__doctor_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help doctor commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__encrypt_commands] )) ||
_millstream__subcmd__help__subcmd__encrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help encrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__esp_commands] )) ||
_millstream__subcmd__help__subcmd__esp_commands() {
    local commands; commands=(
'run:Carry packets until a signal comes' \
'add:Add associations and policies to a running data plane' \
'del:Remove an association from a running data plane' \
'show:Show the associations of a running data plane, and its counters' \
    )
    _describe -t commands 'millstream help esp commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__esp__subcmd__add_commands] )) ||
_millstream__subcmd__help__subcmd__esp__subcmd__add_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help esp add commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__esp__subcmd__del_commands] )) ||
_millstream__subcmd__help__subcmd__esp__subcmd__del_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help esp del commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__esp__subcmd__run_commands] )) ||
_millstream__subcmd__help__subcmd__esp__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help esp run commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__esp__subcmd__show_commands] )) ||
_millstream__subcmd__help__subcmd__esp__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help esp show commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__help_commands] )) ||
_millstream__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key_commands] )) ||
_millstream__subcmd__help__subcmd__key_commands() {
    local commands; commands=(
'generate:Make a key in a token, or in a file' \
'import:Bring the key or the certificate of a file into a token' \
'export:Write a key of a token to a file, if it may leave the token' \
'copy:Copy a key within a token, or to another one' \
'list:List the keys of a token; this takes no PIN' \
'show:Show what is known of a key, and its public part, or a certificate' \
'public:Write the public part of a key' \
'remove:Remove a key from a token' \
    )
    _describe -t commands 'millstream help key commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__copy_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__copy_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key copy commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__export_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key export commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__generate_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__generate_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key generate commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__import_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key import commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__list_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__public_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__public_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key public commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__remove_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__key__subcmd__show_commands] )) ||
_millstream__subcmd__help__subcmd__key__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help key show commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__keygen_commands] )) ||
_millstream__subcmd__help__subcmd__keygen_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help keygen commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__mac_commands] )) ||
_millstream__subcmd__help__subcmd__mac_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help mac commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__man_commands] )) ||
_millstream__subcmd__help__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help man commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__move_commands] )) ||
_millstream__subcmd__help__subcmd__move_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help move commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__open_commands] )) ||
_millstream__subcmd__help__subcmd__open_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help open commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__openssl-conf_commands] )) ||
_millstream__subcmd__help__subcmd__openssl-conf_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help openssl-conf commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__reload_commands] )) ||
_millstream__subcmd__help__subcmd__reload_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help reload commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__revoke_commands] )) ||
_millstream__subcmd__help__subcmd__revoke_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help revoke commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__run_commands] )) ||
_millstream__subcmd__help__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help run commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__seal_commands] )) ||
_millstream__subcmd__help__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__serve_commands] )) ||
_millstream__subcmd__help__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help serve commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__sparc_commands] )) ||
_millstream__subcmd__help__subcmd__sparc_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help sparc commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__speed_commands] )) ||
_millstream__subcmd__help__subcmd__speed_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help speed commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__status_commands] )) ||
_millstream__subcmd__help__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help status commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token_commands] )) ||
_millstream__subcmd__help__subcmd__token_commands() {
    local commands; commands=(
'init:Make a token' \
'list:List the tokens; this takes no PIN' \
'pin:Set a PIN' \
'remove:Remove a token with all of its keys' \
'seal:Have this machine'\''s TPM seal the device secret of a store' \
'migrate:Bring the keys of a token of SoftHSM2 into a token' \
'setup:Print the configuration with which a program uses the keys of a token' \
    )
    _describe -t commands 'millstream help token commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token__subcmd__init_commands] )) ||
_millstream__subcmd__help__subcmd__token__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help token init commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token__subcmd__list_commands] )) ||
_millstream__subcmd__help__subcmd__token__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help token list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token__subcmd__migrate_commands] )) ||
_millstream__subcmd__help__subcmd__token__subcmd__migrate_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help token migrate commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token__subcmd__pin_commands] )) ||
_millstream__subcmd__help__subcmd__token__subcmd__pin_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help token pin commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token__subcmd__remove_commands] )) ||
_millstream__subcmd__help__subcmd__token__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help token remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token__subcmd__seal_commands] )) ||
_millstream__subcmd__help__subcmd__token__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help token seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__token__subcmd__setup_commands] )) ||
_millstream__subcmd__help__subcmd__token__subcmd__setup_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help token setup commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__trace_commands] )) ||
_millstream__subcmd__help__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help trace commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key_commands] )) ||
_millstream__subcmd__key_commands() {
    local commands; commands=(
'generate:Make a key in a token, or in a file' \
'import:Bring the key or the certificate of a file into a token' \
'export:Write a key of a token to a file, if it may leave the token' \
'copy:Copy a key within a token, or to another one' \
'list:List the keys of a token; this takes no PIN' \
'show:Show what is known of a key, and its public part, or a certificate' \
'public:Write the public part of a key' \
'remove:Remove a key from a token' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream key commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__copy_commands] )) ||
_millstream__subcmd__key__subcmd__copy_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key copy commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__export_commands] )) ||
_millstream__subcmd__key__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key export commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__generate_commands] )) ||
_millstream__subcmd__key__subcmd__generate_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key generate commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help_commands] )) ||
_millstream__subcmd__key__subcmd__help_commands() {
    local commands; commands=(
'generate:Make a key in a token, or in a file' \
'import:Bring the key or the certificate of a file into a token' \
'export:Write a key of a token to a file, if it may leave the token' \
'copy:Copy a key within a token, or to another one' \
'list:List the keys of a token; this takes no PIN' \
'show:Show what is known of a key, and its public part, or a certificate' \
'public:Write the public part of a key' \
'remove:Remove a key from a token' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream key help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__copy_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__copy_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help copy commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__export_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__export_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help export commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__generate_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__generate_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help generate commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__help_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__import_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help import commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__list_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__public_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__public_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help public commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__remove_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__help__subcmd__show_commands] )) ||
_millstream__subcmd__key__subcmd__help__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key help show commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__import_commands] )) ||
_millstream__subcmd__key__subcmd__import_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key import commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__list_commands] )) ||
_millstream__subcmd__key__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__public_commands] )) ||
_millstream__subcmd__key__subcmd__public_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key public commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__remove_commands] )) ||
_millstream__subcmd__key__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__key__subcmd__show_commands] )) ||
_millstream__subcmd__key__subcmd__show_commands() {
    local commands; commands=()
    _describe -t commands 'millstream key show commands' commands "$@"
}
(( $+functions[_millstream__subcmd__keygen_commands] )) ||
_millstream__subcmd__keygen_commands() {
    local commands; commands=()
    _describe -t commands 'millstream keygen commands' commands "$@"
}
(( $+functions[_millstream__subcmd__mac_commands] )) ||
_millstream__subcmd__mac_commands() {
    local commands; commands=()
    _describe -t commands 'millstream mac commands' commands "$@"
}
(( $+functions[_millstream__subcmd__man_commands] )) ||
_millstream__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'millstream man commands' commands "$@"
}
(( $+functions[_millstream__subcmd__move_commands] )) ||
_millstream__subcmd__move_commands() {
    local commands; commands=()
    _describe -t commands 'millstream move commands' commands "$@"
}
(( $+functions[_millstream__subcmd__open_commands] )) ||
_millstream__subcmd__open_commands() {
    local commands; commands=()
    _describe -t commands 'millstream open commands' commands "$@"
}
(( $+functions[_millstream__subcmd__openssl-conf_commands] )) ||
_millstream__subcmd__openssl-conf_commands() {
    local commands; commands=()
    _describe -t commands 'millstream openssl-conf commands' commands "$@"
}
(( $+functions[_millstream__subcmd__reload_commands] )) ||
_millstream__subcmd__reload_commands() {
    local commands; commands=()
    _describe -t commands 'millstream reload commands' commands "$@"
}
(( $+functions[_millstream__subcmd__revoke_commands] )) ||
_millstream__subcmd__revoke_commands() {
    local commands; commands=()
    _describe -t commands 'millstream revoke commands' commands "$@"
}
(( $+functions[_millstream__subcmd__run_commands] )) ||
_millstream__subcmd__run_commands() {
    local commands; commands=()
    _describe -t commands 'millstream run commands' commands "$@"
}
(( $+functions[_millstream__subcmd__seal_commands] )) ||
_millstream__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__serve_commands] )) ||
_millstream__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'millstream serve commands' commands "$@"
}
(( $+functions[_millstream__subcmd__sparc_commands] )) ||
_millstream__subcmd__sparc_commands() {
    local commands; commands=()
    _describe -t commands 'millstream sparc commands' commands "$@"
}
(( $+functions[_millstream__subcmd__speed_commands] )) ||
_millstream__subcmd__speed_commands() {
    local commands; commands=()
    _describe -t commands 'millstream speed commands' commands "$@"
}
(( $+functions[_millstream__subcmd__status_commands] )) ||
_millstream__subcmd__status_commands() {
    local commands; commands=()
    _describe -t commands 'millstream status commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token_commands] )) ||
_millstream__subcmd__token_commands() {
    local commands; commands=(
'init:Make a token' \
'list:List the tokens; this takes no PIN' \
'pin:Set a PIN' \
'remove:Remove a token with all of its keys' \
'seal:Have this machine'\''s TPM seal the device secret of a store' \
'migrate:Bring the keys of a token of SoftHSM2 into a token' \
'setup:Print the configuration with which a program uses the keys of a token' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream token commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help_commands] )) ||
_millstream__subcmd__token__subcmd__help_commands() {
    local commands; commands=(
'init:Make a token' \
'list:List the tokens; this takes no PIN' \
'pin:Set a PIN' \
'remove:Remove a token with all of its keys' \
'seal:Have this machine'\''s TPM seal the device secret of a store' \
'migrate:Bring the keys of a token of SoftHSM2 into a token' \
'setup:Print the configuration with which a program uses the keys of a token' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream token help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__help_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help help commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__init_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help init commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__list_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__migrate_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__migrate_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help migrate commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__pin_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__pin_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help pin commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__remove_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__seal_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__help__subcmd__setup_commands] )) ||
_millstream__subcmd__token__subcmd__help__subcmd__setup_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token help setup commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__init_commands] )) ||
_millstream__subcmd__token__subcmd__init_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token init commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__list_commands] )) ||
_millstream__subcmd__token__subcmd__list_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token list commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__migrate_commands] )) ||
_millstream__subcmd__token__subcmd__migrate_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token migrate commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__pin_commands] )) ||
_millstream__subcmd__token__subcmd__pin_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token pin commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__remove_commands] )) ||
_millstream__subcmd__token__subcmd__remove_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token remove commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__seal_commands] )) ||
_millstream__subcmd__token__subcmd__seal_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token seal commands' commands "$@"
}
(( $+functions[_millstream__subcmd__token__subcmd__setup_commands] )) ||
_millstream__subcmd__token__subcmd__setup_commands() {
    local commands; commands=()
    _describe -t commands 'millstream token setup commands' commands "$@"
}
(( $+functions[_millstream__subcmd__trace_commands] )) ||
_millstream__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'millstream trace commands' commands "$@"
}

(( $+functions[_millstream_running] )) ||
_millstream_running() {
    local -a running
    running=(${(f)"$(millstream completions --running "${(@)words[1,CURRENT-1]}" 2>/dev/null)"})
    running=(${running//:/\\:})
    running=(${running/$'\t'/:})
    _describe -V running running
}

if [ "$funcstack[1]" = "_millstream" ]; then
    _millstream "$@"
else
    compdef _millstream millstream
fi
