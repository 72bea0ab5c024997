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
(speed)
_arguments "${_arguments_options[@]}" : \
'--bytes=[Lengths of objects\: 16,64,1024, ranges as 64-1500\:4 or 16-16384\:x2, or imix]:LENGTHS:_default' \
'*--depth=[Objects in flight, for the ways that can have several \[default\: 64; 1,32 beside isolated keys\]]:N:_default' \
'--threads=[Threads that compute at the same time]:N:_default' \
'--seconds=[Time for each way at each length]:S:_default' \
'*--ways=[Only these ways \[default\: all that are there but queue-thread\]]:WAY:((direct\:"One object a call"
batch\:"Many objects a call, side by side in lanes"
queue\:"Operations in flight, computed on the thread that polls for results"
queue-thread\:"Operations in flight, computed on a thread beside"
isolated\:"Operations in flight, computed by the service, which has the keys"
openssl\:"OpenSSL, everything fetched and set up beforehand"
openssl-oneshot\:"OpenSSL, everything fetched and set up for each object"
pkcs11\:"The PKCS #11 module"
softhsm\:"SoftHSM, loaded into the process"
p11-kit\:"SoftHSM in another process, behind the server of p11-kit"))' \
'*--show=[What to show \[default\: all but kb\]]:MEASURE:((kb\:"1000s of bytes a second, as \`openssl speed\` prints them"
gb\:"Gigabytes (10^9 bytes) a second"
ops\:"Operations a second"
ns\:"Nanoseconds of a thread for an object"
cycles\:"Cycles of the core for an object"
p50\:"Nanoseconds that half of the operations took at most, from handing over to result"
p99\:"The same for 99 of 100 operations"
times\:"How many times as many operations a second the isolated queue does as others whose keys are out of reach"))' \
'--openssl=[The libcrypto of OpenSSL 3 to measure \[default\: libcrypto.so.3 if it is there\]]:PATH:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'*--against=[Measure a mediated way of today too, set up for this run]:PEER:((softhsm\:"SoftHSM, loaded into the process"
p11-kit\:"SoftHSM in another process, behind the server of p11-kit"))' \
'--pkcs11=[A PKCS #11 module to measure]:PATH:_files' \
'--token=[The label of its token \[default\: the only one\]]:LABEL:_default' \
'(--pin-file)--pin=[The token'\''s PIN, for everyone on this machine to see; better a file]:PIN:_default' \
'--pin-file=[The file whose first line is the token'\''s PIN]:FILE:_files' \
'--plot=[Draw throughput over length into this SVG file]:FILE:_files' \
'-l[List the algorithms]' \
'--list[List the algorithms]' \
'-d[Decrypt, verify and decrypt, or open]' \
'--decrypt[Decrypt, verify and decrypt, or open]' \
'-I[Measure the isolated queue too\: of the running service, else of one that is started for this run]' \
'--isolated[Measure the isolated queue too\: of the running service, else of one that is started for this run]' \
'(-d --decrypt --bytes --depth --threads --ways --show --csv)--history[Repeat the experiments of 2008 to 2012 and print their figures beside ours]' \
'(--csv)--json[Write JSON]' \
'--csv[Write comma-separated values]' \
'-q[Show no progress]' \
'--quiet[Show no progress]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::algorithms -- What to measure, as in aes-128-gcm, sha256, hmac-sha256, 3des-cbc+hmac-md5, '\''aes-*-cbc'\'':_default' \
&& ret=0
;;
(run)
_arguments "${_arguments_options[@]}" : \
'(--with-only)--without=[Withhold these features of the processor, and what can'\''t be used without them\: names of --list between commas, as in aes,sha. crypto is all cryptographic ones, avx512 and amx are the families]:LIST:_default' \
'--with-only=[Withhold all but these features and what they need. An empty list leaves what every program is compiled for]:LIST:_default' \
'--socket=[The service'\''s socket; implies --isolated \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'--module=[The provider'\''s module \[default\: what MILLSTREAM_PROVIDER names, else the one installed with this program\]]:PATH:_files' \
'--base=[The configuration to extend \[default\: what OPENSSL_CONF names, else the system'\''s\]]:FILE:_files' \
'--report=[Say it in this file, not on standard error]:FILE:_files' \
'--knobs-only[With --without\: set the variables that libraries read, and leave the program to itself. Libraries that read none go on using everything]' \
'--provider[With --without\: Millstream in its OpenSSL too. Implied by --isolated, --socket, --module and --base]' \
'--list[List the features that can be withheld, and run nothing; with --json as JSON]' \
'-I[Keep keys out of the program'\''s reach\: in the running service, else in one that is started for this run. So it is also where MILLSTREAM_SOCKET is set]' \
'--isolated[Keep keys out of the program'\''s reach\: in the running service, else in one that is started for this run. So it is also where MILLSTREAM_SOCKET is set]' \
'--json[Say what was done as JSON]' \
'-q[Say nothing on standard error]' \
'--quiet[Say nothing on standard error]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::command -- The program and its arguments:_default' \
&& ret=0
;;
(compare)
_arguments "${_arguments_options[@]}" : \
'(--with-only)--without=[Withhold these features of the processor, and what can'\''t be used without them\: names of --list between commas, as in aes,sha. crypto is all cryptographic ones, avx512 and amx are the families]:LIST:_default' \
'--with-only=[Withhold all but these features and what they need. An empty list leaves what every program is compiled for]:LIST:_default' \
'-n+[How often each way]:N:_default' \
'--runs=[How often each way]:N:_default' \
'--warmup=[How often each way before that, without looking at the time]:N:_default' \
'--input=[What CMD reads on standard input, each time from its beginning \[default\: nothing\]]:FILE:_files' \
'--knobs-only[Set the variables that libraries read, and leave the program to itself]' \
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
'(--with-only)--without=[Withhold these features of the processor, and what can'\''t be used without them\: names of --list between commas, as in aes,sha. crypto is all cryptographic ones, avx512 and amx are the families]:LIST:_default' \
'--with-only=[Withhold all but these features and what they need. An empty list leaves what every program is compiled for]:LIST:_default' \
'(--without --with-only)*-p+[The process to trace, with its threads and what it starts from now on. Not those beside it, as other workers of a server\: name each with a --pid of its own, or several in one, as pidof prints them]:PID:_default' \
'(--without --with-only)*--pid=[The process to trace, with its threads and what it starts from now on. Not those beside it, as other workers of a server\: name each with a --pid of its own, or several in one, as pidof prints them]:PID:_default' \
'--seconds=[With --pid\: end after so many seconds]:N:_default' \
'--report=[Say it in this file, not on standard error]:FILE:_files' \
'--once[What ran, and what did not, at nearly no cost. This is the default]' \
'--count[How often\: each entry of a function is counted, which slows it down]' \
'--rate[How often, by samples\: nearly no cost]' \
'--json[Say it as JSON]' \
'-v[Say also what did not run, and what tracing cost]' \
'--verbose[Say also what did not run, and what tracing cost]' \
'--no-cache[Look through each file, and keep nothing of what was found in it for later traces]' \
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
'--cpu=[The processor\: ultrasparc2, t1, t2, t3 or t4]:NAME:_default' \
'--hwcap=[Capabilities that it is not to have, as LD_HWCAP took them\: "-aes -des"]:LIST:_default' \
'--sysroot=[The directory with a dynamic program'\''s libraries]:DIR:_files' \
'--disassemble=[Show the program'\''s instructions, or those of the functions whose names match]::GLOB:_default' \
'--plot=[Draw that history'\''s tables into this SVG file]:FILE:_files' \
'--count=[Count entries into the functions whose names match, as in '\''*_t4_*'\'' or '\''libc.so.6\:mem*'\'']:GLOB:_default' \
'--report=[Say it in this file, not on standard error]:FILE:_files' \
'--argv0=[The name that the program is called by]:ARGV0:_default' \
'--counted=[The process that counts\: not those that it starts]:COUNTED:_default' \
'--isainfo[Say what isainfo -v said on it]' \
'--trace-syscalls[Tell each system call of the program on standard error]' \
'--privileged[Let the program call the hypervisor, as a kernel does\: its addresses are real ones]' \
'--costs[Say what it and its use of the accelerators cost, by the timing model]' \
'--history[Say what Sun and Oracle published of these machines, and what the timing model says to it]' \
'--mix[Count instructions by kind, and the crypto instructions by name]' \
'--unreached[Name the crypto instructions that the program and its libraries have but did not come to]' \
'--json[Say what was counted as JSON]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::command -- The program and its arguments:_default' \
&& ret=0
;;
(openssl-conf)
_arguments "${_arguments_options[@]}" : \
'--socket=[The service'\''s socket; implies --isolated \[default\: what MILLSTREAM_SOCKET names when a program runs, else its user'\''s or the machine'\''s\]]:PATH:_files' \
'--tally=[A file of counters that programs add to, which must be there when they run]:PATH:_files' \
'--module=[The provider'\''s module \[default\: what MILLSTREAM_PROVIDER names, else the one installed with this program\]]:PATH:_files' \
'--base=[The configuration to extend \[default\: what OPENSSL_CONF names, else the system'\''s\]]:FILE:_files' \
'-I[Keep keys out of the programs'\'' reach\: in the service]' \
'--isolated[Keep keys out of the programs'\'' reach\: in the service]' \
'--append[Leave out the inclusion, to be put at the end of the file that would be included]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
'--socket=[Where clients connect \[default\: what MILLSTREAM_SOCKET names, else in this user'\''s runtime directory\]]:PATH:_files' \
'--policy=[Who may have what, in TOML]:FILE:_files' \
'-n+[Workers, each with one accelerator]:N:_default' \
'--accelerators=[Workers, each with one accelerator]:N:_default' \
'*--pin=[Processors that the workers are pinned to, in turn]:CPU:_default' \
'--spin-us=[How long a worker that has nothing to do looks for more before it sleeps, in microseconds]:N:_default' \
'--flush-us=[How long operations may wait for others to be computed with, in microseconds]:N:_default' \
'--key-memory=[Memory for the keys of each worker, as in 128M\: 2 KiB for each key slot that is granted]:SIZE:_default' \
'--metrics=[Serve metrics for Prometheus there, as in 127.0.0.1\:9464, or unix\:PATH for a socket with mode 0660]:ADDRESS:_default' \
'*--metrics-host=[Names of this machine by which metrics may be asked for, beside localhost and addresses]:NAME:_default' \
'--user=[Go on as this user, where started by root]:NAME:_default' \
'--ready-fd=[Write the socket'\''s path and a newline to this descriptor when clients can connect]:N:_default' \
'--metrics-names[Tell of each grant in the metrics, with its process and that one'\''s name, and not only of users]' \
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
'-w+[Show it again and again, in a terminal at the same place; q ends it]::SECONDS:_default' \
'--watch=[Show it again and again, in a terminal at the same place; q ends it]::SECONDS:_default' \
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
'()-a[Every grant that one may revoke]' \
'()--all[Every grant that one may revoke]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::grants -- Numbers of grants, as `millstream status` shows them:_default' \
&& ret=0
;;
(move)
_arguments "${_arguments_options[@]}" : \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
':grant -- The number of the grant, as `millstream status` shows it:_default' \
':worker -- The number of the worker:_default' \
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
(digest)
_arguments "${_arguments_options[@]}" : \
'-a+[The algorithm; -l lists them]:ALGORITHM:_default' \
'--algorithm=[The algorithm; -l lists them]:ALGORITHM:_default' \
'-l[List the algorithms; this option stands alone]' \
'--list[List the algorithms; this option stands alone]' \
'-v[Put the algorithm and the file'\''s name before each digest]' \
'--verbose[Put the algorithm and the file'\''s name before each digest]' \
'--json[Write a line of JSON for each file]' \
'-q[Show no progress bar]' \
'--quiet[Show no progress bar]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- The files; without any, standard input:_default' \
&& ret=0
;;
(mac)
_arguments "${_arguments_options[@]}" : \
'-a+[The algorithm; -l lists them]:ALGORITHM:_default' \
'--algorithm=[The algorithm; -l lists them]:ALGORITHM:_default' \
'-k+[The file whose bytes are the key]:KEYFILE:_files' \
'--key-file=[The file whose bytes are the key]:KEYFILE:_files' \
'-K+[The label of a key in a PKCS #11 token (not in this version)]:LABEL:_default' \
'--token-key=[The label of a key in a PKCS #11 token (not in this version)]:LABEL:_default' \
'-T+[The token, as \`name\[\:manufacturer\[\:serial\]\]\` (not in this version)]:TOKEN:_default' \
'--token=[The token, as \`name\[\:manufacturer\[\:serial\]\]\` (not in this version)]:TOKEN:_default' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--socket=[The service'\''s socket \[default\: what MILLSTREAM_SOCKET names, else this user'\''s or the machine'\''s\]]:PATH:_files' \
'-l[List the algorithms and their key sizes; this option stands alone]' \
'--list[List the algorithms and their key sizes; this option stands alone]' \
'-v[Put the algorithm and the file'\''s name before each code]' \
'--verbose[Put the algorithm and the file'\''s name before each code]' \
'-I[Have the running service compute it\: the key is used in another process]' \
'--isolated[Have the running service compute it\: the key is used in another process]' \
'--json[Write a line of JSON for each file]' \
'-q[Show no progress bar and no warning]' \
'--quiet[Show no progress bar and no warning]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
'*::files -- The files; without any, standard input:_default' \
&& ret=0
;;
(encrypt)
_arguments "${_arguments_options[@]}" : \
'-a+[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:_default' \
'--algorithm=[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:_default' \
'-k+[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'--key-file=[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'-K+[The label of a key in a PKCS #11 token (not in this version)]:LABEL:_default' \
'--token-key=[The label of a key in a PKCS #11 token (not in this version)]:LABEL:_default' \
'-T+[The token, as \`name\[\:manufacturer\[\:serial\]\]\` (not in this version)]:TOKEN:_default' \
'--token=[The token, as \`name\[\:manufacturer\[\:serial\]\]\` (not in this version)]:TOKEN:_default' \
'-i+[The file to read; without it, or with -, standard input]:FILE:_files' \
'--input=[The file to read; without it, or with -, standard input]:FILE:_files' \
'-o+[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--output=[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--format=[The file format; decrypt finds out which it is where that is authenticated]:FORMAT:((tink\:"Tink'\''s streaming AEAD AES256-GCM-HKDF with 1 MB segments\: authenticated, the default"
solaris\:"That of the Solaris commands, version 1"
openssl\:"That of openssl enc -pbkdf2"
raw\:"Ciphertext alone"))' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--aad=[Text that is authenticated but not stored\: decrypt needs the same (formats tink, raw)]:TEXT:_default' \
'--iv=[The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)]:HEX:_default' \
'(--iv)--iv-file=[The file whose bytes are the initialisation vector (format raw)]:FILE:_files' \
'--iter=[Iterations of PBKDF2\: 10000 in the format openssl, 1000 in the format solaris]:N:_default' \
'-l[List the algorithms, their key sizes and the formats that use them; this option stands alone]' \
'--list[List the algorithms, their key sizes and the formats that use them; this option stands alone]' \
'-v[Draw the progress bar of the Solaris commands]' \
'--verbose[Draw the progress bar of the Solaris commands]' \
'--no-pad[Leave the last block as it is, in ECB and CBC (format raw)]' \
'-q[Show no progress bar and no warning]' \
'--quiet[Show no progress bar and no warning]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(decrypt)
_arguments "${_arguments_options[@]}" : \
'-a+[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:_default' \
'--algorithm=[The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them]:ALGORITHM:_default' \
'-k+[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'--key-file=[The file whose bytes are the key, or a cleartext Tink keyset in JSON]:KEYFILE:_files' \
'-K+[The label of a key in a PKCS #11 token (not in this version)]:LABEL:_default' \
'--token-key=[The label of a key in a PKCS #11 token (not in this version)]:LABEL:_default' \
'-T+[The token, as \`name\[\:manufacturer\[\:serial\]\]\` (not in this version)]:TOKEN:_default' \
'--token=[The token, as \`name\[\:manufacturer\[\:serial\]\]\` (not in this version)]:TOKEN:_default' \
'-i+[The file to read; without it, or with -, standard input]:FILE:_files' \
'--input=[The file to read; without it, or with -, standard input]:FILE:_files' \
'-o+[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--output=[The file to write, which may be the input; without it, or with -, standard output]:FILE:_files' \
'--format=[The file format; decrypt finds out which it is where that is authenticated]:FORMAT:((tink\:"Tink'\''s streaming AEAD AES256-GCM-HKDF with 1 MB segments\: authenticated, the default"
solaris\:"That of the Solaris commands, version 1"
openssl\:"That of openssl enc -pbkdf2"
raw\:"Ciphertext alone"))' \
'--passphrase-file=[The file whose first line is the passphrase]:FILE:_files' \
'--aad=[Text that is authenticated but not stored\: decrypt needs the same (formats tink, raw)]:TEXT:_default' \
'--iv=[The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)]:HEX:_default' \
'(--iv)--iv-file=[The file whose bytes are the initialisation vector (format raw)]:FILE:_files' \
'--iter=[Iterations of PBKDF2\: 10000 in the format openssl, 1000 in the format solaris]:N:_default' \
'-l[List the algorithms, their key sizes and the formats that use them; this option stands alone]' \
'--list[List the algorithms, their key sizes and the formats that use them; this option stands alone]' \
'-v[Draw the progress bar of the Solaris commands]' \
'--verbose[Draw the progress bar of the Solaris commands]' \
'--no-pad[Leave the last block as it is, in ECB and CBC (format raw)]' \
'-q[Show no progress bar and no warning]' \
'--quiet[Show no progress bar and no warning]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
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
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
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
(digest)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(mac)
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
'speed:Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules' \
'run:Run a program with Millstream in its OpenSSL, or without features of the processor' \
'compare:Run a program with and without features of the processor, and say what they are worth' \
'trace:Say which cryptographic instructions a program runs' \
'sparc:Run a program for 64-bit SPARC, and say what it executed' \
'openssl-conf:Print the OpenSSL configuration that gives Millstream to programs' \
'serve:Serve programs whose keys are to be out of their reach' \
'status:Show the workers and grants of the running service' \
'revoke:Take grants away from their owners' \
'move:Give a grant to another worker' \
'reload:Have the running service read its policy file again' \
'digest:Compute the digest of files or of standard input' \
'mac:Compute the message authentication code of files or of standard input' \
'encrypt:Encrypt a file or standard input' \
'decrypt:Decrypt a file or standard input' \
'man:Write the manual pages into a directory' \
'completions:Write completions for a shell to standard output' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream commands' commands "$@"
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
(( $+functions[_millstream__subcmd__encrypt_commands] )) ||
_millstream__subcmd__encrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream encrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help_commands] )) ||
_millstream__subcmd__help_commands() {
    local commands; commands=(
'caps:Show the processor'\''s features and the kernel chosen for each algorithm' \
'check:Test every kernel this processor can run against published answers' \
'speed:Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules' \
'run:Run a program with Millstream in its OpenSSL, or without features of the processor' \
'compare:Run a program with and without features of the processor, and say what they are worth' \
'trace:Say which cryptographic instructions a program runs' \
'sparc:Run a program for 64-bit SPARC, and say what it executed' \
'openssl-conf:Print the OpenSSL configuration that gives Millstream to programs' \
'serve:Serve programs whose keys are to be out of their reach' \
'status:Show the workers and grants of the running service' \
'revoke:Take grants away from their owners' \
'move:Give a grant to another worker' \
'reload:Have the running service read its policy file again' \
'digest:Compute the digest of files or of standard input' \
'mac:Compute the message authentication code of files or of standard input' \
'encrypt:Encrypt a file or standard input' \
'decrypt:Decrypt a file or standard input' \
'man:Write the manual pages into a directory' \
'completions:Write completions for a shell to standard output' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'millstream help commands' commands "$@"
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
(( $+functions[_millstream__subcmd__help__subcmd__encrypt_commands] )) ||
_millstream__subcmd__help__subcmd__encrypt_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help encrypt commands' commands "$@"
}
(( $+functions[_millstream__subcmd__help__subcmd__help_commands] )) ||
_millstream__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help help commands' commands "$@"
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
(( $+functions[_millstream__subcmd__help__subcmd__trace_commands] )) ||
_millstream__subcmd__help__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'millstream help trace commands' commands "$@"
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
(( $+functions[_millstream__subcmd__trace_commands] )) ||
_millstream__subcmd__trace_commands() {
    local commands; commands=()
    _describe -t commands 'millstream trace commands' commands "$@"
}

if [ "$funcstack[1]" = "_millstream" ]; then
    _millstream "$@"
else
    compdef _millstream millstream
fi
