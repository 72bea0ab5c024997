# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_millstream_global_optspecs
    string join \n h/help V/version
end

function __fish_millstream_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_millstream_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_millstream_using_subcommand
    set -l cmd (__fish_millstream_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c millstream -n "__fish_millstream_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_needs_command" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "caps" -d 'Show the processor\'s features and the kernel chosen for each algorithm'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "check" -d 'Test every kernel this processor can run against published answers'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "doctor" -d 'Examine this machine, and say what to do about what it lacks'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "speed" -d 'Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "run" -d 'Run a program with Millstream in its OpenSSL, or without features of the processor'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "compare" -d 'Run a program with and without features of the processor, and say what they are worth'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "trace" -d 'Say which cryptographic instructions a program runs'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "sparc" -d 'Run a program for 64-bit SPARC, and say what it executed'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "openssl-conf" -d 'Print an OpenSSL configuration that makes programs use Millstream'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "serve" -d 'Serve programs whose keys are to be out of their reach'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "status" -d 'Show the workers and grants of the running service'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "revoke" -d 'Take grants away from their owners'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "move" -d 'Move a grant to another worker'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "reload" -d 'Have the running service read its policy file again'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "keygen" -d 'Make a key'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "token" -d 'Make tokens, which keep keys, and set their PINs'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "key" -d 'Make, import, export and list keys, in tokens and in files'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "agent" -d 'Sign for SSH with the keys of a token'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "encrypt" -d 'Encrypt files or standard input'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "decrypt" -d 'Decrypt files or standard input'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "seal" -d 'Seal a file for keys, passphrases or recipients'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "open" -d 'Open a file that \'millstream seal\' made'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "backup" -d 'Keep streams in object stores: snapshots, folders, devices'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "columns" -d 'Hash, seal, encrypt and open columns of tables'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "esp" -d 'Carry packets of IPsec\'s ESP, where the kernel can\'t'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "digest" -d 'Compute the digest of files or of standard input'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "mac" -d 'Compute the message authentication code of files or of standard input'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "man" -d 'Write the manual pages into a directory'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "completions" -d 'Write completions for a shell to standard output'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand caps" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand caps" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand caps" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand check" -s v -l verbose -d 'Print a line for each kernel'
complete -c millstream -n "__fish_millstream_using_subcommand check" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand check" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand doctor" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand doctor" -l policy -d 'The policy file to read [default: /etc/millstream/policy.toml, if it is there]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand doctor" -l module -d 'The provider\'s module [default: what MILLSTREAM_PROVIDER names, else the one installed with this program]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand doctor" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l bytes -d 'Lengths of objects: 16,64,1024, ranges as 64-1500:4 or 16-16384:x2, or imix' -r
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l depth -d 'Objects in flight, for the ways that can have several [default: 64; 1,32 beside isolated keys]' -r
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l threads -d 'Threads that compute at the same time' -r
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l seconds -d 'Seconds for each way at each length' -r
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l ways -d 'Measure only these ways [default: all available ones except queue-thread]' -r -f -a "direct\t'One object per call'
batch\t'Many objects per call, side by side in lanes'
queue\t'Operations in flight, computed on the thread that polls for results'
queue-thread\t'Operations in flight, computed on a second thread'
isolated\t'Operations in flight, computed by the service, which has the keys'
openssl\t'OpenSSL, with everything fetched and set up beforehand'
openssl-oneshot\t'OpenSSL, with everything fetched and set up for each object'
getrandom\t'The kernel\'s random bytes, for rng'
pkcs11\t'The PKCS #11 module'
softhsm\t'SoftHSM, loaded into the process'
p11-kit\t'SoftHSM in another process, behind the server of p11-kit'"
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l show -d 'The figures to show [default: all but kb]' -r -f -a "kb\t'1000s of bytes a second, as `openssl speed` prints them'
gb\t'Gigabytes (10^9 bytes) a second'
ops\t'Operations a second'
ns\t'Nanoseconds of a thread per object'
cycles\t'Cycles of the core per object'
p50\t'The median time of an operation in nanoseconds, from submission to result'
p99\t'The time that 99 of 100 operations did not exceed'
times\t'The ratio of the isolated queue\'s operations a second to those of other ways that keep keys out of reach'"
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l openssl -d 'The libcrypto of OpenSSL 3 to measure [default: libcrypto.so.3 if it is there]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l against -d 'Measure an existing way of keeping keys elsewhere too, set up for this run' -r -f -a "softhsm\t'SoftHSM, loaded into the process'
p11-kit\t'SoftHSM in another process, behind the server of p11-kit'"
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l pkcs11 -d 'A PKCS #11 module to measure' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l token -d 'The label of its token [default: the only one]' -r
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l pin -d 'The token\'s PIN, which everyone on this machine can see; a file is better' -r
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l pin-file -d 'The file whose first line is the token\'s PIN' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l plot -d 'Draw throughput over length into this SVG file' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand speed" -s l -l list -d 'List the algorithms'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -s d -l decrypt -d 'Decrypt, verify and decrypt, or open'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -s I -l isolated -d 'Measure the isolated queue too, in the running service or else in one that is started for this run'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l history -d 'Repeat the experiments of 2008 to 2012 and print their figures beside ours'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l csv -d 'Write comma-separated values'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -s q -l quiet -d 'Show no progress'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand speed" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s I -l isolated -d 'Keep keys out of the program\'s reach, in the running service or else in one that is started for this run: all, or with --isolated=private the private keys that it loads. Implied where MILLSTREAM_SOCKET is set' -r -f -a "all\t'Every key that Millstream computes with'
private\t'Private keys that the program loads; those of sessions stay with it'"
complete -c millstream -n "__fish_millstream_using_subcommand run" -l socket -d 'The service\'s socket; implies --isolated [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l module -d 'The provider\'s module [default: what MILLSTREAM_PROVIDER names, else the one installed with this program]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l base -d 'The configuration to extend [default: what OPENSSL_CONF names, else the system\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l report -d 'Write the report to this file, not to standard error' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l without -d 'Withhold these features of the processor, and those that depend on them: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families' -r -f -a "aes\t''
pclmul\t''
sha\t''
sse3\t''
ssse3\t''
sse4.1\t''
sse4.2\t''
sse4a\t''
popcnt\t''
lzcnt\t''
movbe\t''
rdrand\t''
rdseed\t''
bmi1\t''
bmi2\t''
adx\t''
avx\t''
f16c\t''
fma\t''
xop\t''
fma4\t''
avx2\t''
avxvnni\t''
avxvnniint8\t''
avxvnniint16\t''
avxneconvert\t''
avxifma\t''
avx512f\t''
avx512dq\t''
avx512ifma\t''
avx512pf\t''
avx512er\t''
avx512cd\t''
avx512bw\t''
avx512vl\t''
avx512vbmi\t''
avx512vbmi2\t''
avx512vnni\t''
avx512bitalg\t''
avx512vpopcntdq\t''
avx512vnniw\t''
avx512fmaps\t''
avx512vp2intersect\t''
avx512fp16\t''
avx512bf16\t''
avx10\t''
amxtile\t''
amxint8\t''
amxbf16\t''
amxfp16\t''
amxcomplex\t''
gfni\t''
vaes\t''
vpclmul\t''
sha512\t''
sm3\t''
sm4\t''
keylocker\t''
padlock\t''
crypto\t''
avx512\t''
amx\t''"
complete -c millstream -n "__fish_millstream_using_subcommand run" -l with-only -d 'Withhold all but these features and those that they need. An empty list leaves the ones every program may use' -r -f -a "aes\t''
pclmul\t''
sha\t''
sse3\t''
ssse3\t''
sse4.1\t''
sse4.2\t''
sse4a\t''
popcnt\t''
lzcnt\t''
movbe\t''
rdrand\t''
rdseed\t''
bmi1\t''
bmi2\t''
adx\t''
avx\t''
f16c\t''
fma\t''
xop\t''
fma4\t''
avx2\t''
avxvnni\t''
avxvnniint8\t''
avxvnniint16\t''
avxneconvert\t''
avxifma\t''
avx512f\t''
avx512dq\t''
avx512ifma\t''
avx512pf\t''
avx512er\t''
avx512cd\t''
avx512bw\t''
avx512vl\t''
avx512vbmi\t''
avx512vbmi2\t''
avx512vnni\t''
avx512bitalg\t''
avx512vpopcntdq\t''
avx512vnniw\t''
avx512fmaps\t''
avx512vp2intersect\t''
avx512fp16\t''
avx512bf16\t''
avx10\t''
amxtile\t''
amxint8\t''
amxbf16\t''
amxfp16\t''
amxcomplex\t''
gfni\t''
vaes\t''
vpclmul\t''
sha512\t''
sm3\t''
sm4\t''
keylocker\t''
padlock\t''
crypto\t''
avx512\t''
amx\t''"
complete -c millstream -n "__fish_millstream_using_subcommand run" -l knobs-only -d 'With --without: only set the variables that libraries read, without tracing the program. Libraries that read none go on using everything'
complete -c millstream -n "__fish_millstream_using_subcommand run" -l provider -d 'With --without: put Millstream into the program\'s OpenSSL, too. Implied by --isolated, --socket, --module and --base'
complete -c millstream -n "__fish_millstream_using_subcommand run" -l list -d 'List the features that can be withheld, and run nothing; with --json as JSON'
complete -c millstream -n "__fish_millstream_using_subcommand run" -l json -d 'Write the report as JSON'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s q -l quiet -d 'Write nothing to standard error'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s n -l runs -d 'Number of measured runs each way' -r
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l warmup -d 'Number of unmeasured runs each way before those' -r
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l input -d 'The file that CMD reads as standard input in each run [default: nothing]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l without -d 'Withhold these features of the processor, and those that depend on them: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families' -r -f -a "aes\t''
pclmul\t''
sha\t''
sse3\t''
ssse3\t''
sse4.1\t''
sse4.2\t''
sse4a\t''
popcnt\t''
lzcnt\t''
movbe\t''
rdrand\t''
rdseed\t''
bmi1\t''
bmi2\t''
adx\t''
avx\t''
f16c\t''
fma\t''
xop\t''
fma4\t''
avx2\t''
avxvnni\t''
avxvnniint8\t''
avxvnniint16\t''
avxneconvert\t''
avxifma\t''
avx512f\t''
avx512dq\t''
avx512ifma\t''
avx512pf\t''
avx512er\t''
avx512cd\t''
avx512bw\t''
avx512vl\t''
avx512vbmi\t''
avx512vbmi2\t''
avx512vnni\t''
avx512bitalg\t''
avx512vpopcntdq\t''
avx512vnniw\t''
avx512fmaps\t''
avx512vp2intersect\t''
avx512fp16\t''
avx512bf16\t''
avx10\t''
amxtile\t''
amxint8\t''
amxbf16\t''
amxfp16\t''
amxcomplex\t''
gfni\t''
vaes\t''
vpclmul\t''
sha512\t''
sm3\t''
sm4\t''
keylocker\t''
padlock\t''
crypto\t''
avx512\t''
amx\t''"
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l with-only -d 'Withhold all but these features and those that they need. An empty list leaves the ones every program may use' -r -f -a "aes\t''
pclmul\t''
sha\t''
sse3\t''
ssse3\t''
sse4.1\t''
sse4.2\t''
sse4a\t''
popcnt\t''
lzcnt\t''
movbe\t''
rdrand\t''
rdseed\t''
bmi1\t''
bmi2\t''
adx\t''
avx\t''
f16c\t''
fma\t''
xop\t''
fma4\t''
avx2\t''
avxvnni\t''
avxvnniint8\t''
avxvnniint16\t''
avxneconvert\t''
avxifma\t''
avx512f\t''
avx512dq\t''
avx512ifma\t''
avx512pf\t''
avx512er\t''
avx512cd\t''
avx512bw\t''
avx512vl\t''
avx512vbmi\t''
avx512vbmi2\t''
avx512vnni\t''
avx512bitalg\t''
avx512vpopcntdq\t''
avx512vnniw\t''
avx512fmaps\t''
avx512vp2intersect\t''
avx512fp16\t''
avx512bf16\t''
avx10\t''
amxtile\t''
amxint8\t''
amxbf16\t''
amxfp16\t''
amxcomplex\t''
gfni\t''
vaes\t''
vpclmul\t''
sha512\t''
sm3\t''
sm4\t''
keylocker\t''
padlock\t''
crypto\t''
avx512\t''
amx\t''"
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l knobs-only -d 'Only set the variables that libraries read, without tracing the program'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l show -d 'Show what CMD writes'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s q -l quiet -d 'No progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s p -l pid -d 'The process to trace, with its threads and the processes that it starts from now on. Related processes, such as other workers of a server, are not included: name each with its own --pid, or several in one, as pidof prints them' -r
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l seconds -d 'With --pid: stop after this many seconds' -r
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l report -d 'Write the report to this file, not to standard error' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l without -d 'Withhold these features of the processor, and those that depend on them: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families' -r -f -a "aes\t''
pclmul\t''
sha\t''
sse3\t''
ssse3\t''
sse4.1\t''
sse4.2\t''
sse4a\t''
popcnt\t''
lzcnt\t''
movbe\t''
rdrand\t''
rdseed\t''
bmi1\t''
bmi2\t''
adx\t''
avx\t''
f16c\t''
fma\t''
xop\t''
fma4\t''
avx2\t''
avxvnni\t''
avxvnniint8\t''
avxvnniint16\t''
avxneconvert\t''
avxifma\t''
avx512f\t''
avx512dq\t''
avx512ifma\t''
avx512pf\t''
avx512er\t''
avx512cd\t''
avx512bw\t''
avx512vl\t''
avx512vbmi\t''
avx512vbmi2\t''
avx512vnni\t''
avx512bitalg\t''
avx512vpopcntdq\t''
avx512vnniw\t''
avx512fmaps\t''
avx512vp2intersect\t''
avx512fp16\t''
avx512bf16\t''
avx10\t''
amxtile\t''
amxint8\t''
amxbf16\t''
amxfp16\t''
amxcomplex\t''
gfni\t''
vaes\t''
vpclmul\t''
sha512\t''
sm3\t''
sm4\t''
keylocker\t''
padlock\t''
crypto\t''
avx512\t''
amx\t''"
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l with-only -d 'Withhold all but these features and those that they need. An empty list leaves the ones every program may use' -r -f -a "aes\t''
pclmul\t''
sha\t''
sse3\t''
ssse3\t''
sse4.1\t''
sse4.2\t''
sse4a\t''
popcnt\t''
lzcnt\t''
movbe\t''
rdrand\t''
rdseed\t''
bmi1\t''
bmi2\t''
adx\t''
avx\t''
f16c\t''
fma\t''
xop\t''
fma4\t''
avx2\t''
avxvnni\t''
avxvnniint8\t''
avxvnniint16\t''
avxneconvert\t''
avxifma\t''
avx512f\t''
avx512dq\t''
avx512ifma\t''
avx512pf\t''
avx512er\t''
avx512cd\t''
avx512bw\t''
avx512vl\t''
avx512vbmi\t''
avx512vbmi2\t''
avx512vnni\t''
avx512bitalg\t''
avx512vpopcntdq\t''
avx512vnniw\t''
avx512fmaps\t''
avx512vp2intersect\t''
avx512fp16\t''
avx512bf16\t''
avx10\t''
amxtile\t''
amxint8\t''
amxbf16\t''
amxfp16\t''
amxcomplex\t''
gfni\t''
vaes\t''
vpclmul\t''
sha512\t''
sm3\t''
sm4\t''
keylocker\t''
padlock\t''
crypto\t''
avx512\t''
amx\t''"
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l once -d 'Report what ran and what did not, at nearly no cost. This is the default'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l count -d 'Report how often: every call of a function is counted, which slows it down'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l rate -d 'Report how often, estimated from samples at nearly no cost'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l json -d 'Write the report as JSON'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s v -l verbose -d 'Report also what did not run, and the cost of tracing'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l no-cache -d 'Look through each file anew, and keep nothing of what was found for later traces'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s q -l quiet -d 'No progress line'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l hwcap -d 'Capabilities that the processor shall lack, in the syntax of LD_HWCAP: "-aes -des"' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l sysroot -d 'The directory with a dynamic program\'s libraries' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l disassemble -d 'Show the program\'s instructions, or those of the functions whose names match' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l plot -d 'Draw that history\'s tables into this SVG file' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l count -d 'Count entries into the functions whose names match, as in \'*_t4_*\' or \'libc.so.6:mem*\'' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l report -d 'Write the counts to this file, not to standard error' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l argv0 -d 'The name that the program is called by' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l counted -d 'The process that counts, as opposed to those that it starts' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l cpu -d 'The processor: ultrasparc2, t1, t2, t3 or t4' -r -f -a "ultrasparc2\t''
t1\t''
t2\t''
t3\t''
t4\t''"
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l isainfo -d 'Print what isainfo -v printed on that processor'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l trace-syscalls -d 'Report each system call of the program on standard error'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l privileged -d 'Let the program call the hypervisor, as a kernel does; its addresses are real ones then'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l costs -d 'Estimate the cost of the program and of its use of the accelerators with the timing model'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l history -d 'Print what Sun and Oracle published about these machines beside what the timing model says'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l mix -d 'Count instructions by kind, and the crypto instructions by name'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l unreached -d 'Name the crypto instructions of the program and its libraries that were never reached'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l json -d 'Write the counts as JSON'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -s I -l isolated -d 'Keep keys in the service, out of the programs\' reach: all, or with --isolated=private the private keys that they load' -r -f -a "all\t'Every key that Millstream computes with'
private\t'Private keys that the program loads; those of sessions stay with it'"
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l socket -d 'The service\'s socket; implies --isolated [default: what MILLSTREAM_SOCKET names when a program runs, else its user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l tally -d 'A file of counters that programs add to; it must exist when they run' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l module -d 'The provider\'s module [default: what MILLSTREAM_PROVIDER names, else the one installed with this program]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l base -d 'The configuration to extend [default: what OPENSSL_CONF names, else the system\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l append -d 'Leave out the inclusion, to append the output to the existing file instead'
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l socket -d 'The path of the socket [default: what MILLSTREAM_SOCKET names, else in this user\'s runtime directory]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l policy -d 'The limits of users, in TOML' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand serve" -s n -l accelerators -d 'Number of workers, each with one accelerator' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l private-accelerators -d 'Number of workers for private keys, which come after the others' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l pin -d 'Processors that the workers are pinned to, in turn' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l spin-us -d 'Microseconds that an idle worker polls for work before it sleeps' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l flush-us -d 'Microseconds that operations may wait so that others can be computed with them' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l gather-us -d 'The same for operations with private keys, which go together as soon as eight are there' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l key-memory -d 'Memory for the keys of each worker, as in 128M: 2 KiB for each key slot that is granted' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l metrics -d 'Serve metrics for Prometheus at this address, as in 127.0.0.1:9464, or unix:PATH for a socket with mode 0660' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l metrics-host -d 'Names of this machine under which metrics may be asked for, besides localhost and addresses' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l user -d 'Continue as this user, when started by root' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l ready-fd -d 'Write the socket\'s path and a newline to this descriptor when clients can connect' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l metrics-names -d 'List each grant in the metrics, with its process and the client\'s name, besides users and workers'
complete -c millstream -n "__fish_millstream_using_subcommand serve" -s q -l quiet -d 'Log warnings and errors only'
complete -c millstream -n "__fish_millstream_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand serve" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand status" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand status" -s w -l watch -d 'Update the view periodically, in place on a terminal; q ends it' -r
complete -c millstream -n "__fish_millstream_using_subcommand status" -l json -d 'Write JSON; with --watch an object a line'
complete -c millstream -n "__fish_millstream_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand status" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand revoke" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand revoke" -s a -l all -d 'Every grant that you may revoke'
complete -c millstream -n "__fish_millstream_using_subcommand revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand revoke" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand move" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand move" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand move" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand reload" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand reload" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand reload" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand keygen" -s b -l bits -d 'The key\'s length in bits [default: the longest; 256 for hmac]' -r
complete -c millstream -n "__fish_millstream_using_subcommand keygen" -s o -l output -d 'The file to make; without it, standard output, unless that is a terminal' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand keygen" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand keygen" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "init" -d 'Make a token'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "list" -d 'List the tokens; this takes no PIN'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "pin" -d 'Set a PIN'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "remove" -d 'Remove a token with all of its keys'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "seal" -d 'Have this machine\'s TPM seal the device secret of a store'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "migrate" -d 'Bring the keys of a token of SoftHSM2 into a token'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "setup" -d 'Print the configuration with which a program uses the keys of a token'
complete -c millstream -n "__fish_millstream_using_subcommand token; and not __fish_seen_subcommand_from init list pin remove seal migrate setup help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from init" -l so-pin-file -d 'Read the security officer\'s PIN from the first line of a file or a descriptor [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from init" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from init" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from init" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from list" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from list" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -l new-pin-file -d 'Read the new PIN from the first line of a file or a descriptor [default: ask at the terminal, twice]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -l so-pin-file -d 'Read the security officer\'s PIN from the first line of a file or a descriptor [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -l reset -d 'Set the user PIN with the security officer\'s, when it was forgotten or is locked'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -l officer -d 'Set the security officer\'s PIN'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from pin" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from remove" -l so-pin-file -d 'Read the security officer\'s PIN from the first line of a file or a descriptor [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from remove" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from remove" -l force -d 'Remove it without a PIN'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from remove" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from seal" -l copy -d 'Write a copy of the secret into this new file first, which is to be kept in a safe place elsewhere' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from seal" -l from -d 'Seal this copy of the secret, on another machine or after the TPM was cleared' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from seal" -l pcrs -d 'Seal it to the values that these PCRs have now, as 7 or 0,7: another firmware or boot loader does not get it' -r
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from seal" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from seal" -l no-copy -d 'Make no copy: there is one already, or the tokens may end with the TPM'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from seal" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from seal" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -l softhsm-token -d 'The label of the token in SoftHSM2, if the folder has several' -r
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -l softhsm-pin-file -d 'Read the user PIN in SoftHSM2 from the first line of a file or a descriptor [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -l resume -d 'Go on after this command was interrupted: keys that it brought before are compared, and stay'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -l dry-run -d 'List what would be brought, and change nothing; this does not take the PIN of the token'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from migrate" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from setup" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from setup" -s K -l token-key -d 'The label of the key' -r
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from setup" -l module -d 'The PKCS #11 module [default: the installed one]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from setup" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "init" -d 'Make a token'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the tokens; this takes no PIN'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "pin" -d 'Set a PIN'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a token with all of its keys'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "seal" -d 'Have this machine\'s TPM seal the device secret of a store'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "migrate" -d 'Bring the keys of a token of SoftHSM2 into a token'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "setup" -d 'Print the configuration with which a program uses the keys of a token'
complete -c millstream -n "__fish_millstream_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "generate" -d 'Make a key in a token, or in a file'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "import" -d 'Bring the key or the certificate of a file into a token'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "export" -d 'Write a key of a token to a file, if it may leave the token'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "copy" -d 'Copy a key within a token, or to another one'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "list" -d 'List the keys of a token; this takes no PIN'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "show" -d 'Show what is known of a key, and its public part, or a certificate'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "public" -d 'Write the public part of a key'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "remove" -d 'Remove a key from a token'
complete -c millstream -n "__fish_millstream_using_subcommand key; and not __fish_seen_subcommand_from generate import export copy list show public remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -s b -l bits -d 'The key\'s length in bits [default: 256, and 3072 for rsa]' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -s o -l output -d 'The file to make in place of a key in a token; without both, standard output, unless that is a terminal' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -l form -d 'The form of the file [default: pem, and raw for keys without a public part]' -r -f -a "pem\t'PKCS#8 or SubjectPublicKeyInfo in PEM'
der\t'The same in DER'
traditional\t'SEC 1 or PKCS#1 in PEM, as older programs have it'
jwk\t'A JSON Web Key'
tink\t'A cleartext keyset of Tink in JSON'
raw\t'The bytes of the key alone'"
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -s K -l token-key -d 'The label for the key' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -l usages -d 'The uses of the key, with commas: encrypt, decrypt, sign, verify, derive, wrap, unwrap [default: all that its kind does]' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -l id -d 'An identifier of the application\'s, in hexadecimal, as PKCS #11\'s CKA_ID' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -l exportable -d 'Let the key leave the token again'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from generate" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -l raw -d 'The kind of key, if the file holds its bytes alone' -r -f -a "aes\t'AES: 128, 192 or 256 bits'
aes-siv\t'AES-SIV, deterministic: 256, 384 or 512 bits'
fernet\t'Fernet, for tokens: 256 bits'
hmac\t'HMAC: 128 to 8192 bits, in whole bytes'
chacha20-poly1305\t'ChaCha20-Poly1305: 256 bits'
p-256\t'ECDSA and ECDH on P-256'
p-384\t'ECDSA and ECDH on P-384'
p-521\t'ECDSA and ECDH on P-521'
ed25519\t'Ed25519'
x25519\t'X25519'
rsa\t'RSA: 2048, 3072 or 4096 bits'
ml-kem-512\t'ML-KEM-512'
ml-kem-768\t'ML-KEM-768'
ml-kem-1024\t'ML-KEM-1024'
ml-dsa-44\t'ML-DSA-44'
ml-dsa-65\t'ML-DSA-65'
ml-dsa-87\t'ML-DSA-87'
slh-dsa-sha2-128s\t'SLH-DSA-SHA2-128s'
slh-dsa-sha2-128f\t'SLH-DSA-SHA2-128f'
slh-dsa-sha2-192s\t'SLH-DSA-SHA2-192s'
slh-dsa-sha2-192f\t'SLH-DSA-SHA2-192f'
slh-dsa-sha2-256s\t'SLH-DSA-SHA2-256s'
slh-dsa-sha2-256f\t'SLH-DSA-SHA2-256f'
slh-dsa-shake-128s\t'SLH-DSA-SHAKE-128s'
slh-dsa-shake-128f\t'SLH-DSA-SHAKE-128f'
slh-dsa-shake-192s\t'SLH-DSA-SHAKE-192s'
slh-dsa-shake-192f\t'SLH-DSA-SHAKE-192f'
slh-dsa-shake-256s\t'SLH-DSA-SHAKE-256s'
slh-dsa-shake-256f\t'SLH-DSA-SHAKE-256f'"
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -s K -l token-key -d 'The label for the key or the certificate' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -l usages -d 'The uses of the key, with commas: encrypt, decrypt, sign, verify, derive, wrap, unwrap [default: all that its kind does]' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -l id -d 'An identifier of the application\'s, in hexadecimal, as PKCS #11\'s CKA_ID' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -l exportable -d 'Let the key leave the token again'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from import" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -s K -l token-key -d 'The label of the key, or its identifier' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -s o -l output -d 'The file to make; without it, standard output, unless that is a terminal' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -l form -d 'The form of the file [default: pem, and raw for keys without a public part]' -r -f -a "pem\t'PKCS#8 or SubjectPublicKeyInfo in PEM'
der\t'The same in DER'
traditional\t'SEC 1 or PKCS#1 in PEM, as older programs have it'
jwk\t'A JSON Web Key'
tink\t'A cleartext keyset of Tink in JSON'
raw\t'The bytes of the key alone'"
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from export" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -s K -l token-key -d 'The label of the key, or its identifier' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -l to-token -d 'The token for the copy [default: the same]' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -l to-label -d 'The label of the copy [default: the same]' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -l to-pin-file -d 'Read the user PIN of the other token from the first line of a file or a descriptor [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from copy" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from list" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from list" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from list" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -l raw -d 'The kind of key, if the file holds its bytes alone' -r -f -a "aes\t'AES: 128, 192 or 256 bits'
aes-siv\t'AES-SIV, deterministic: 256, 384 or 512 bits'
fernet\t'Fernet, for tokens: 256 bits'
hmac\t'HMAC: 128 to 8192 bits, in whole bytes'
chacha20-poly1305\t'ChaCha20-Poly1305: 256 bits'
p-256\t'ECDSA and ECDH on P-256'
p-384\t'ECDSA and ECDH on P-384'
p-521\t'ECDSA and ECDH on P-521'
ed25519\t'Ed25519'
x25519\t'X25519'
rsa\t'RSA: 2048, 3072 or 4096 bits'
ml-kem-512\t'ML-KEM-512'
ml-kem-768\t'ML-KEM-768'
ml-kem-1024\t'ML-KEM-1024'
ml-dsa-44\t'ML-DSA-44'
ml-dsa-65\t'ML-DSA-65'
ml-dsa-87\t'ML-DSA-87'
slh-dsa-sha2-128s\t'SLH-DSA-SHA2-128s'
slh-dsa-sha2-128f\t'SLH-DSA-SHA2-128f'
slh-dsa-sha2-192s\t'SLH-DSA-SHA2-192s'
slh-dsa-sha2-192f\t'SLH-DSA-SHA2-192f'
slh-dsa-sha2-256s\t'SLH-DSA-SHA2-256s'
slh-dsa-sha2-256f\t'SLH-DSA-SHA2-256f'
slh-dsa-shake-128s\t'SLH-DSA-SHAKE-128s'
slh-dsa-shake-128f\t'SLH-DSA-SHAKE-128f'
slh-dsa-shake-192s\t'SLH-DSA-SHAKE-192s'
slh-dsa-shake-192f\t'SLH-DSA-SHAKE-192f'
slh-dsa-shake-256s\t'SLH-DSA-SHAKE-256s'
slh-dsa-shake-256f\t'SLH-DSA-SHAKE-256f'"
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -s K -l token-key -d 'The label of the key in the token, or its identifier' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -l raw -d 'The kind of key, if the file holds its bytes alone' -r -f -a "aes\t'AES: 128, 192 or 256 bits'
aes-siv\t'AES-SIV, deterministic: 256, 384 or 512 bits'
fernet\t'Fernet, for tokens: 256 bits'
hmac\t'HMAC: 128 to 8192 bits, in whole bytes'
chacha20-poly1305\t'ChaCha20-Poly1305: 256 bits'
p-256\t'ECDSA and ECDH on P-256'
p-384\t'ECDSA and ECDH on P-384'
p-521\t'ECDSA and ECDH on P-521'
ed25519\t'Ed25519'
x25519\t'X25519'
rsa\t'RSA: 2048, 3072 or 4096 bits'
ml-kem-512\t'ML-KEM-512'
ml-kem-768\t'ML-KEM-768'
ml-kem-1024\t'ML-KEM-1024'
ml-dsa-44\t'ML-DSA-44'
ml-dsa-65\t'ML-DSA-65'
ml-dsa-87\t'ML-DSA-87'
slh-dsa-sha2-128s\t'SLH-DSA-SHA2-128s'
slh-dsa-sha2-128f\t'SLH-DSA-SHA2-128f'
slh-dsa-sha2-192s\t'SLH-DSA-SHA2-192s'
slh-dsa-sha2-192f\t'SLH-DSA-SHA2-192f'
slh-dsa-sha2-256s\t'SLH-DSA-SHA2-256s'
slh-dsa-sha2-256f\t'SLH-DSA-SHA2-256f'
slh-dsa-shake-128s\t'SLH-DSA-SHAKE-128s'
slh-dsa-shake-128f\t'SLH-DSA-SHAKE-128f'
slh-dsa-shake-192s\t'SLH-DSA-SHAKE-192s'
slh-dsa-shake-192f\t'SLH-DSA-SHAKE-192f'
slh-dsa-shake-256s\t'SLH-DSA-SHAKE-256s'
slh-dsa-shake-256f\t'SLH-DSA-SHAKE-256f'"
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -s K -l token-key -d 'The label of the key in the token, or its identifier' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -s o -l output -d 'The file to write; without it, standard output' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -l form -d 'The form of the file' -r -f -a "pem\t'PKCS#8 or SubjectPublicKeyInfo in PEM'
der\t'The same in DER'
traditional\t'SEC 1 or PKCS#1 in PEM, as older programs have it'
jwk\t'A JSON Web Key'
tink\t'A cleartext keyset of Tink in JSON'
raw\t'The bytes of the key alone'"
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from public" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from remove" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from remove" -s K -l token-key -d 'The label of the key, or its identifier' -r
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from remove" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from remove" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from remove" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "generate" -d 'Make a key in a token, or in a file'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "import" -d 'Bring the key or the certificate of a file into a token'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "export" -d 'Write a key of a token to a file, if it may leave the token'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "copy" -d 'Copy a key within a token, or to another one'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the keys of a token; this takes no PIN'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show what is known of a key, and its public part, or a certificate'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "public" -d 'Write the public part of a key'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a key from a token'
complete -c millstream -n "__fish_millstream_using_subcommand key; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand agent" -s T -l token -d 'The label of the token' -r
complete -c millstream -n "__fish_millstream_using_subcommand agent" -s K -l token-key -d 'The label of a key, or its identifier; may be repeated [default: all keys of the token that sign for SSH]' -r
complete -c millstream -n "__fish_millstream_using_subcommand agent" -l socket -d 'The socket [default: millstream-agent.sock in XDG_RUNTIME_DIR]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand agent" -l lifetime -d 'Forget the keys after this time, as 90s, 30m or 8h' -r
complete -c millstream -n "__fish_millstream_using_subcommand agent" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand agent" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand agent" -l confirm -d 'Ask before each signature, by the program that SSH_ASKPASS names'
complete -c millstream -n "__fish_millstream_using_subcommand agent" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand agent" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s k -l key-file -d 'The file whose bytes are the key, or a cleartext Tink keyset in JSON' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s K -l token-key -d 'The label of a key in a token, or its identifier' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s T -l token -d 'The label of the token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s i -l input -d 'The file to read; without it, or with -, standard input; several are like operands' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s o -l output -d 'The file to write, which may be the input; without it, or with -, standard output' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l format -d 'The file format; decrypt recognises authenticated formats by itself' -r -f -a "tink\t'Tink\'s streaming AEAD AES256-GCM-HKDF with 1 MB segments: authenticated, the default'
solaris\t'The format of the Solaris commands, version 1'
openssl\t'The format of openssl enc -pbkdf2'
raw\t'Ciphertext alone'"
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l aad -d 'Text that is authenticated but not stored: decrypt needs the same (formats tink, raw)' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l iv -d 'The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l iv-file -d 'The file whose bytes are the initialisation vector (format raw)' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l iter -d 'Iterations of PBKDF2: 10000 in the format openssl, 1000 in the format solaris' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l output-dir -d 'The folder for the outputs of several files [default: beside each]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l suffix -d 'The end of encrypted files\' names: encrypt adds it, decrypt takes it away [default: .enc]' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s a -l algorithm -d 'The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them' -r -f -a "aes\t''
arcfour\t''
des\t''
3des\t''
aes-gcm-hkdf\t''
aes-ecb\t''
aes-cbc\t''
aes-ctr\t''
aes-cfb\t''
aes-xts\t''
aes-gcm\t''
chacha20-poly1305\t''
camellia-ecb\t''
camellia-cbc\t''
camellia-ctr\t''
sm4-ecb\t''
sm4-cbc\t''
sm4-ctr\t''
des-ecb\t''
des-cbc\t''
des-cfb\t''
3des-ecb\t''
3des-cbc\t''
3des-cfb\t''
rc4\t''"
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s l -l list -d 'List the algorithms, their key sizes and the formats that use them; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s v -l verbose -d 'Draw the progress bar of the Solaris commands'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l no-pad -d 'Do no padding: leave the last block as it is, in ECB and CBC (format raw)'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s q -l quiet -d 'Show no progress bar and no warning'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s f -l force -d 'Replace files that have the names of outputs'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s k -l key-file -d 'The file whose bytes are the key, or a cleartext Tink keyset in JSON' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s K -l token-key -d 'The label of a key in a token, or its identifier' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s T -l token -d 'The label of the token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s i -l input -d 'The file to read; without it, or with -, standard input; several are like operands' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s o -l output -d 'The file to write, which may be the input; without it, or with -, standard output' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l format -d 'The file format; decrypt recognises authenticated formats by itself' -r -f -a "tink\t'Tink\'s streaming AEAD AES256-GCM-HKDF with 1 MB segments: authenticated, the default'
solaris\t'The format of the Solaris commands, version 1'
openssl\t'The format of openssl enc -pbkdf2'
raw\t'Ciphertext alone'"
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l aad -d 'Text that is authenticated but not stored: decrypt needs the same (formats tink, raw)' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l iv -d 'The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l iv-file -d 'The file whose bytes are the initialisation vector (format raw)' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l iter -d 'Iterations of PBKDF2: 10000 in the format openssl, 1000 in the format solaris' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l output-dir -d 'The folder for the outputs of several files [default: beside each]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l suffix -d 'The end of encrypted files\' names: encrypt adds it, decrypt takes it away [default: .enc]' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s a -l algorithm -d 'The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them' -r -f -a "aes\t''
arcfour\t''
des\t''
3des\t''
aes-gcm-hkdf\t''
aes-ecb\t''
aes-cbc\t''
aes-ctr\t''
aes-cfb\t''
aes-xts\t''
aes-gcm\t''
chacha20-poly1305\t''
camellia-ecb\t''
camellia-cbc\t''
camellia-ctr\t''
sm4-ecb\t''
sm4-cbc\t''
sm4-ctr\t''
des-ecb\t''
des-cbc\t''
des-cfb\t''
3des-ecb\t''
3des-cbc\t''
3des-cfb\t''
rc4\t''"
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s l -l list -d 'List the algorithms, their key sizes and the formats that use them; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s v -l verbose -d 'Draw the progress bar of the Solaris commands'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l no-pad -d 'Do no padding: leave the last block as it is, in ECB and CBC (format raw)'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s q -l quiet -d 'Show no progress bar and no warning'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s f -l force -d 'Replace files that have the names of outputs'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand seal" -s k -l key-file -d 'The file with a key of 32 bytes, as millstream keygen makes it' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand seal" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand seal" -l isolated -d 'The label of a key of AES in a token of the service, where it stays' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand seal" -s T -l token -d 'The label of that token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand seal" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand seal" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand seal" -l recipient -d 'The file with a public key of X25519 (PEM, DER or JWK), or with recipients of age, whose private key opens; may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand seal" -s o -l output -d 'The file to write, which may be the input; without it, or with -, standard output' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand seal" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand seal" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand seal" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand open" -s k -l key-file -d 'The file with a key of 32 bytes, as millstream keygen makes it' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand open" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand open" -l isolated -d 'The label of a key of AES in a token of the service, where it stays' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand open" -s T -l token -d 'The label of that token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand open" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand open" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand open" -l identity -d 'The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand open" -s o -l output -d 'The file to write, which may be the input; without it, or with -, standard output' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand open" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand open" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "put" -d 'Make a backup of a stream'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "resume" -d 'Go on with a backup that was interrupted'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "get" -d 'Restore a backup, or a range of it'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "list" -d 'List the backups under a name; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "verify" -d 'Verify a backup'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "remove" -d 'Remove a backup, or the beginning of one; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "prune" -d 'Remove all backups under a name but the newest; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "rekey" -d 'Wrap a backup\'s key for other keys, passphrases and recipients'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and not __fish_seen_subcommand_from put resume get list verify remove prune rekey help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -s k -l key-file -d 'The file with a key of 32 bytes, as millstream keygen makes it' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l isolated -d 'The label of a key of AES in a token of the service, where it stays' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -s T -l token -d 'The label of that token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l recipient -d 'The file with a public key of X25519 (PEM, DER or JWK), or with recipients of age, whose private key opens; may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l segment -d 'The bytes of a segment, which is an object of the store' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l memory -d 'The most memory for segments, as in 1G' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -s q -l quiet -d 'Show neither a progress bar nor what was done. Of a backup the verifier is not shown either'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -l json -d 'Write an object of JSON in a line for each segment, and for the end'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from put" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -s k -l key-file -d 'The file with a key of 32 bytes, as millstream keygen makes it' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l isolated -d 'The label of a key of AES in a token of the service, where it stays' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -s T -l token -d 'The label of that token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l identity -d 'The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l memory -d 'The most memory for segments, as in 1G' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -s q -l quiet -d 'Show neither a progress bar nor what was done. Of a backup the verifier is not shown either'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -l json -d 'Write an object of JSON in a line for each segment, and for the end'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from resume" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -s k -l key-file -d 'The file with a key of 32 bytes, as millstream keygen makes it' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l isolated -d 'The label of a key of AES in a token of the service, where it stays' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -s T -l token -d 'The label of that token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l identity -d 'The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -s o -l output -d 'The file or device to write; without it, or with -, standard output' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l range -d 'The bytes that are wanted, as in 0-99 for the first hundred, or 4096- for all from there on' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l verifier -d 'The verifier that put printed: refuse a backup that it has not signed' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l memory -d 'The most memory for segments, as in 1G' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l moved -d 'Accept a backup that has another name than it was made under'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -s q -l quiet -d 'Show neither a progress bar nor what was done. Of a backup the verifier is not shown either'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -l json -d 'Write an object of JSON in a line for each segment, and for the end'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from get" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from list" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from list" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from list" -l json -d 'Write an object of JSON in a line for each'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from list" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -s k -l key-file -d 'The file with a key of 32 bytes, as millstream keygen makes it' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l isolated -d 'The label of a key of AES in a token of the service, where it stays' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -s T -l token -d 'The label of that token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l identity -d 'The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l sample -d 'Examine so many percent of the segments, chosen at random' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l verifier -d 'The verifier that put printed: refuse a backup that it has not signed' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l memory -d 'The most memory for segments, as in 1G' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l moved -d 'Accept a backup that has another name than it was made under'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Show neither a progress bar nor what was done. Of a backup the verifier is not shown either'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -l json -d 'Write an object of JSON in a line for each segment, and for the end'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from verify" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from remove" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from remove" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from remove" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -l keep -d 'The number of backups that are kept' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -l partial -d 'Remove interrupted backups, too. None of them may be running'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -s n -l dry-run -d 'Only list what would be removed'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -l json -d 'Write an object of JSON in a line for each'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from prune" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l bandwidth -d 'The most bytes a second to and from the store, on average over some segments, as in 20M' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l retries -d 'The number of times that a failed call to the store is made again' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -s k -l key-file -d 'The file with a key of 32 bytes, as millstream keygen makes it' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l isolated -d 'The label of a key of AES in a token of the service, where it stays' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -s T -l token -d 'The label of that token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l identity -d 'The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l new-key -d 'The file with the new key of 32 bytes' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l new-passphrase-file -d 'The file whose first line is the new passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l new-recipient -d 'The file with the public key of a new recipient; may be given several times' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -l moved -d 'Accept a backup that has another name than it was made under'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from rekey" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "put" -d 'Make a backup of a stream'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Go on with a backup that was interrupted'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "get" -d 'Restore a backup, or a range of it'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the backups under a name; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Verify a backup'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a backup, or the beginning of one; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "prune" -d 'Remove all backups under a name but the newest; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "rekey" -d 'Wrap a backup\'s key for other keys, passphrases and recipients'
complete -c millstream -n "__fish_millstream_using_subcommand backup; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -f -a "hash" -d 'Hash each value, or with a key authenticate it'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -f -a "seal" -d 'Seal each value'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -f -a "open" -d 'Open sealed values'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -f -a "encrypt" -d 'Encrypt each value to another of the same alphabet and length'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -f -a "decrypt" -d 'Decrypt values that encrypt has made'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and not __fish_seen_subcommand_from hash seal open encrypt decrypt help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -s a -l algorithm -d 'The hash, as sha256 or sha3_256; with a key its HMAC' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -s k -l key-file -l key -d 'The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l isolated -d 'A key in a token of the service, where it stays: TOKEN/LABEL, or LABEL' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l encoding -d 'The form of the results [default: binary, and hex in CSV]' -r -f -a "binary\t'The bytes themselves'
hex\t'Pairs of hexadecimal digits'
base64\t'RFC 4648, with padding'"
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l column -d 'The name of a column to replace; may be given several times' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l from -d 'The format of the input: parquet, arrow, arrows or csv [default: what its first bytes tell]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l to -d 'The format of the output [default: what its name ends with, else that of the input]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -l delimiter -d 'The character between the values of CSV' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from hash" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -s a -l algorithm -d 'The cipher: aes-gcm, chacha20-poly1305, xaes-256-gcm, aes-gcm-siv or aes-siv [default: aes-gcm, or what the isolated key or the keyset is for]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -s k -l key-file -l key -d 'The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l isolated -d 'A key in a token of the service, where it stays: TOKEN/LABEL, or LABEL' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l aad -d 'Bind each value to this text, which is needed again to open it' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l aad-column -d 'Bind each value to the value of this column in the same row, as a primary key of type text' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l encoding -d 'The form of the results [default: binary, and base64 in CSV]' -r -f -a "binary\t'The bytes themselves'
hex\t'Pairs of hexadecimal digits'
base64\t'RFC 4648, with padding'"
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l column -d 'The name of a column to replace; may be given several times' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l from -d 'The format of the input: parquet, arrow, arrows or csv [default: what its first bytes tell]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l to -d 'The format of the output [default: what its name ends with, else that of the input]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -l delimiter -d 'The character between the values of CSV' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from seal" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -s a -l algorithm -d 'The cipher: aes-gcm, chacha20-poly1305, xaes-256-gcm, aes-gcm-siv or aes-siv [default: aes-gcm, or what the isolated key or the keyset is for]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -s k -l key-file -l key -d 'The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l isolated -d 'A key in a token of the service, where it stays: TOKEN/LABEL, or LABEL' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l aad -d 'Bind each value to this text, which is needed again to open it' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l aad-column -d 'Bind each value to the value of this column in the same row, as a primary key of type text' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l encoding -d 'The form of sealed values that are text' -r -f -a "binary\t'The bytes themselves'
hex\t'Pairs of hexadecimal digits'
base64\t'RFC 4648, with padding'"
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l column -d 'The name of a column to replace; may be given several times' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l from -d 'The format of the input: parquet, arrow, arrows or csv [default: what its first bytes tell]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l to -d 'The format of the output [default: what its name ends with, else that of the input]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l delimiter -d 'The character between the values of CSV' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l text -d 'Open to text even if the table does not say that the values were text'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -l null-failed -d 'Put null in the place of a value that does not open'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from open" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -s k -l key-file -l key -d 'The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l isolated -d 'A key in a token of the service, where it stays: TOKEN/LABEL, or LABEL' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l alphabet -d 'The characters that values are of, each once [default: 0123456789]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l radix -d 'The number of characters, of the decimal digits and then the letters from a to z' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l tweak -d 'Encrypt under this text, which is no secret and is needed again, as the name of the column' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l tweak-column -d 'Encrypt each value under the value of this column in the same row, of type text' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l column -d 'The name of a column to replace; may be given several times' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l from -d 'The format of the input: parquet, arrow, arrows or csv [default: what its first bytes tell]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l to -d 'The format of the output [default: what its name ends with, else that of the input]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l delimiter -d 'The character between the values of CSV' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -l null-failed -d 'Put null in the place of a value with other characters, or with too few'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from encrypt" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -s k -l key-file -l key -d 'The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l isolated -d 'A key in a token of the service, where it stays: TOKEN/LABEL, or LABEL' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l alphabet -d 'The characters that values are of, each once [default: 0123456789]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l radix -d 'The number of characters, of the decimal digits and then the letters from a to z' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l tweak -d 'Encrypt under this text, which is no secret and is needed again, as the name of the column' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l tweak-column -d 'Encrypt each value under the value of this column in the same row, of type text' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l column -d 'The name of a column to replace; may be given several times' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l from -d 'The format of the input: parquet, arrow, arrows or csv [default: what its first bytes tell]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l to -d 'The format of the output [default: what its name ends with, else that of the input]' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l delimiter -d 'The character between the values of CSV' -r
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -l null-failed -d 'Put null in the place of a value with other characters, or with too few'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from decrypt" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from help" -f -a "hash" -d 'Hash each value, or with a key authenticate it'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from help" -f -a "seal" -d 'Seal each value'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from help" -f -a "open" -d 'Open sealed values'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from help" -f -a "encrypt" -d 'Encrypt each value to another of the same alphabet and length'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from help" -f -a "decrypt" -d 'Decrypt values that encrypt has made'
complete -c millstream -n "__fish_millstream_using_subcommand columns; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and not __fish_seen_subcommand_from run add del show help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and not __fish_seen_subcommand_from run add del show help" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and not __fish_seen_subcommand_from run add del show help" -f -a "run" -d 'Carry packets until a signal comes'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and not __fish_seen_subcommand_from run add del show help" -f -a "add" -d 'Add associations and policies to a running data plane'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and not __fish_seen_subcommand_from run add del show help" -f -a "del" -d 'Remove an association from a running data plane'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and not __fish_seen_subcommand_from run add del show help" -f -a "show" -d 'Show the associations of a running data plane, and its counters'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and not __fish_seen_subcommand_from run add del show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l sa -d 'The file with associations and policies; others may be added later' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l state -d 'The folder that has the sequence numbers of keys [default: the file\'s name with .state behind it]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l tun -d 'The name of the TUN device' -r
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -s n -l workers -d 'The number of threads that encrypt and decrypt; with 0 those that read packets do' -r
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l mtu -d 'The longest outer packet, in bytes' -r
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l least-path-mtu -d 'The narrowest path that messages of ICMP are believed about, in bytes of outer packets; with 0 none is believed, and routers may cut packets' -r
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l keepalive -d 'The seconds after which a keep-alive is sent where nothing else was; 0 for none' -r
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l socket -d 'The socket of the service [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l control -d 'The socket by which a data plane is changed [default: millstream-esp.sock in XDG_RUNTIME_DIR]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l from-kernel -d 'Take the associations and policies that a daemon of IKE has given to the kernel, and follow their changes'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l follow-peers -d 'Send to where a peer\'s newest authentic packet came from, when a NAT gives it another address or port; not where this machine is behind a NAT itself'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -l isolated -d 'Hold the keys in the service'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from run" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from add" -l control -d 'The socket by which a data plane is changed [default: millstream-esp.sock in XDG_RUNTIME_DIR]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from add" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from del" -l control -d 'The socket by which a data plane is changed [default: millstream-esp.sock in XDG_RUNTIME_DIR]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from del" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from del" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from show" -l control -d 'The socket by which a data plane is changed [default: millstream-esp.sock in XDG_RUNTIME_DIR]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from show" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from show" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from help" -f -a "run" -d 'Carry packets until a signal comes'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from help" -f -a "add" -d 'Add associations and policies to a running data plane'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from help" -f -a "del" -d 'Remove an association from a running data plane'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the associations of a running data plane, and its counters'
complete -c millstream -n "__fish_millstream_using_subcommand esp; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s a -l algorithm -d 'The algorithm; -l lists them' -r -f -a "sha1\t''
md5\t''
sha224\t''
sha256\t''
sha384\t''
sha512\t''
sha512_256\t''
sha3_224\t''
sha3_256\t''
sha3_384\t''
sha3_512\t''
crc32\t''
crc32c\t''"
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s l -l list -d 'List the algorithms; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s v -l verbose -d 'Put the algorithm and the file\'s name before each digest, as on Solaris'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -l sum -d 'Print lines as sha256sum does: the digest, two blanks, the file\'s name'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -l tag -d 'Print lines as BSD and sha256sum --tag do: SHA256 (file) = digest'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -l json -d 'Write a line of JSON for each file'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s q -l quiet -d 'Show no progress bar, and with --check no OK'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s c -l check -d 'Read digests from each FILE, and compare them with those of the files that it names'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -l ignore-missing -d 'Pass over files that are not there'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -l status -d 'Print nothing about files; the exit status tells'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -l strict -d 'Fail if a line is not properly formatted'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s w -l warn -d 'Warn of each line that is not properly formatted'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s k -l key-file -d 'The file whose bytes are the key' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s K -l token-key -d 'The label of a key in a token, or its identifier' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s T -l token -d 'The label of the token [default: the only one there is]' -r
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l pin-file -d 'Read the user PIN from the first line of a file, or of a descriptor as /dev/fd/3 [default: ask at the terminal]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l store -d 'The folder of a store of this machine\'s files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any for this user; else the folder of this user, or of the machine for root]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s a -l algorithm -d 'The algorithm; -l lists them' -r -f -a "des_mac\t''
sha1_hmac\t''
md5_hmac\t''
sha224_hmac\t''
sha256_hmac\t''
sha384_hmac\t''
sha512_hmac\t''
sha512_256_hmac\t''
sha3_224_hmac\t''
sha3_256_hmac\t''
sha3_384_hmac\t''
sha3_512_hmac\t''
aes_cmac\t''"
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s l -l list -d 'List the algorithms and their key sizes; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s v -l verbose -d 'Put the algorithm and the file\'s name before each code'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s I -l isolated -d 'Have the running service compute the code, so that the key is used in another process'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l json -d 'Write a line of JSON for each file'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s q -l quiet -d 'Show no progress bar and no warning'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand man" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand man" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand completions" -l running -d 'Print the grants or workers that may follow these words of a command line, for the scripts' -r
complete -c millstream -n "__fish_millstream_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand completions" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "caps" -d 'Show the processor\'s features and the kernel chosen for each algorithm'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "check" -d 'Test every kernel this processor can run against published answers'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "doctor" -d 'Examine this machine, and say what to do about what it lacks'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "speed" -d 'Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "run" -d 'Run a program with Millstream in its OpenSSL, or without features of the processor'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "compare" -d 'Run a program with and without features of the processor, and say what they are worth'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "trace" -d 'Say which cryptographic instructions a program runs'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "sparc" -d 'Run a program for 64-bit SPARC, and say what it executed'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "openssl-conf" -d 'Print an OpenSSL configuration that makes programs use Millstream'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "serve" -d 'Serve programs whose keys are to be out of their reach'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "status" -d 'Show the workers and grants of the running service'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "revoke" -d 'Take grants away from their owners'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "move" -d 'Move a grant to another worker'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "reload" -d 'Have the running service read its policy file again'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "keygen" -d 'Make a key'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "token" -d 'Make tokens, which keep keys, and set their PINs'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "key" -d 'Make, import, export and list keys, in tokens and in files'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "agent" -d 'Sign for SSH with the keys of a token'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "encrypt" -d 'Encrypt files or standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "decrypt" -d 'Decrypt files or standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "seal" -d 'Seal a file for keys, passphrases or recipients'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "open" -d 'Open a file that \'millstream seal\' made'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "backup" -d 'Keep streams in object stores: snapshots, folders, devices'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "columns" -d 'Hash, seal, encrypt and open columns of tables'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "esp" -d 'Carry packets of IPsec\'s ESP, where the kernel can\'t'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "digest" -d 'Compute the digest of files or of standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "mac" -d 'Compute the message authentication code of files or of standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "man" -d 'Write the manual pages into a directory'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "completions" -d 'Write completions for a shell to standard output'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check doctor speed run compare trace sparc openssl-conf serve status revoke move reload keygen token key agent encrypt decrypt seal open backup columns esp digest mac man completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "init" -d 'Make a token'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "list" -d 'List the tokens; this takes no PIN'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "pin" -d 'Set a PIN'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "remove" -d 'Remove a token with all of its keys'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "seal" -d 'Have this machine\'s TPM seal the device secret of a store'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "migrate" -d 'Bring the keys of a token of SoftHSM2 into a token'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "setup" -d 'Print the configuration with which a program uses the keys of a token'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "generate" -d 'Make a key in a token, or in a file'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "import" -d 'Bring the key or the certificate of a file into a token'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "export" -d 'Write a key of a token to a file, if it may leave the token'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "copy" -d 'Copy a key within a token, or to another one'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "list" -d 'List the keys of a token; this takes no PIN'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "show" -d 'Show what is known of a key, and its public part, or a certificate'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "public" -d 'Write the public part of a key'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "remove" -d 'Remove a key from a token'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "put" -d 'Make a backup of a stream'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "resume" -d 'Go on with a backup that was interrupted'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "get" -d 'Restore a backup, or a range of it'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "list" -d 'List the backups under a name; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "verify" -d 'Verify a backup'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "remove" -d 'Remove a backup, or the beginning of one; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "prune" -d 'Remove all backups under a name but the newest; this takes no key'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from backup" -f -a "rekey" -d 'Wrap a backup\'s key for other keys, passphrases and recipients'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from columns" -f -a "hash" -d 'Hash each value, or with a key authenticate it'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from columns" -f -a "seal" -d 'Seal each value'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from columns" -f -a "open" -d 'Open sealed values'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from columns" -f -a "encrypt" -d 'Encrypt each value to another of the same alphabet and length'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from columns" -f -a "decrypt" -d 'Decrypt values that encrypt has made'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from esp" -f -a "run" -d 'Carry packets until a signal comes'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from esp" -f -a "add" -d 'Add associations and policies to a running data plane'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from esp" -f -a "del" -d 'Remove an association from a running data plane'
complete -c millstream -n "__fish_millstream_using_subcommand help; and __fish_seen_subcommand_from esp" -f -a "show" -d 'Show the associations of a running data plane, and its counters'
complete -c millstream -n "__fish_millstream_using_subcommand doctor" -f -a "machine isolation service openssl tracing"
complete -c millstream -n "__fish_millstream_using_subcommand speed" -f -a "aes-128-ecb aes-192-ecb aes-256-ecb aes-128-cbc aes-192-cbc aes-256-cbc aes-128-ctr aes-192-ctr aes-256-ctr aes-128-cfb aes-192-cfb aes-256-cfb aes-128-xts aes-256-xts aes-128-gcm aes-192-gcm aes-256-gcm chacha20-poly1305 camellia-128-ecb camellia-256-ecb camellia-128-cbc camellia-192-cbc camellia-256-cbc camellia-128-ctr camellia-256-ctr sm4-ecb sm4-cbc sm4-ctr des-ecb des-cbc des-cfb 3des-ecb 3des-cbc 3des-cfb rc4 aes-128-cbc+hmac-sha1 aes-128-cbc+hmac-sha256 aes-256-cbc+hmac-sha256 aes-256-cbc+hmac-sha512 3des-cbc+hmac-md5 3des-cbc+hmac-sha1 md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-224 sha3-256 sha3-384 sha3-512 hmac-md5 hmac-sha1 hmac-sha224 hmac-sha256 hmac-sha384 hmac-sha512 hmac-sha512-256 hmac-sha3-224 hmac-sha3-256 hmac-sha3-384 hmac-sha3-512 aes-128-cmac aes-192-cmac aes-256-cmac kasumi-f8 kasumi-f9 crc32 crc32c ip-checksum rng all"
complete -c millstream -n "__fish_millstream_using_subcommand keygen" -f -a "aes aes-xts camellia chacha20-poly1305 hmac tink age"
complete -c millstream -n "__fish_millstream_using_subcommand completions" -f -a "bash elvish fish powershell zsh millstream digest mac encrypt decrypt"
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l ways -r -f -a "(__fish_complete_list , 'string split \" \" \"direct batch queue queue-thread isolated openssl openssl-oneshot getrandom pkcs11 softhsm p11-kit\"')"
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l show -r -f -a "(__fish_complete_list , 'string split \" \" \"kb gb ops ns cycles p50 p99 times\"')"
complete -c millstream -n "__fish_millstream_using_subcommand speed" -l against -r -f -a "(__fish_complete_list , 'string split \" \" \"softhsm p11-kit\"')"
complete -c millstream -n "__fish_millstream_using_subcommand run" -l without -r -f -a "(__fish_complete_list , 'string split \" \" \"aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx\"')"
complete -c millstream -n "__fish_millstream_using_subcommand run" -l with-only -r -f -a "(__fish_complete_list , 'string split \" \" \"aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx\"')"
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l without -r -f -a "(__fish_complete_list , 'string split \" \" \"aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx\"')"
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l with-only -r -f -a "(__fish_complete_list , 'string split \" \" \"aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx\"')"
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l without -r -f -a "(__fish_complete_list , 'string split \" \" \"aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx\"')"
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l with-only -r -f -a "(__fish_complete_list , 'string split \" \" \"aes pclmul sha sse3 ssse3 sse4.1 sse4.2 sse4a popcnt lzcnt movbe rdrand rdseed bmi1 bmi2 adx avx f16c fma xop fma4 avx2 avxvnni avxvnniint8 avxvnniint16 avxneconvert avxifma avx512f avx512dq avx512ifma avx512pf avx512er avx512cd avx512bw avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512bitalg avx512vpopcntdq avx512vnniw avx512fmaps avx512vp2intersect avx512fp16 avx512bf16 avx10 amxtile amxint8 amxbf16 amxfp16 amxcomplex gfni vaes vpclmul sha512 sm3 sm4 keylocker padlock crypto avx512 amx\"')"
complete -c millstream -n "__fish_millstream_using_subcommand revoke" -f -a "(millstream completions --running (commandline -opc)[2..-1] 2>/dev/null)"
complete -c millstream -n "__fish_millstream_using_subcommand move" -f -a "(millstream completions --running (commandline -opc)[2..-1] 2>/dev/null)"
