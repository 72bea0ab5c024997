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
complete -c millstream -n "__fish_millstream_needs_command" -f -a "digest" -d 'Compute the digest of files or of standard input'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "mac" -d 'Compute the message authentication code of files or of standard input'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "encrypt" -d 'Encrypt a file or standard input'
complete -c millstream -n "__fish_millstream_needs_command" -f -a "decrypt" -d 'Decrypt a file or standard input'
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
complete -c millstream -n "__fish_millstream_using_subcommand run" -l without -d 'Withhold these features of the processor, and those that depend on them: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families' -r
complete -c millstream -n "__fish_millstream_using_subcommand run" -l with-only -d 'Withhold all but these features and those that they need. An empty list leaves the ones every program may use' -r
complete -c millstream -n "__fish_millstream_using_subcommand run" -l socket -d 'The service\'s socket; implies --isolated [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l module -d 'The provider\'s module [default: what MILLSTREAM_PROVIDER names, else the one installed with this program]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l base -d 'The configuration to extend [default: what OPENSSL_CONF names, else the system\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l report -d 'Write the report to this file, not to standard error' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand run" -l knobs-only -d 'With --without: only set the variables that libraries read, without tracing the program. Libraries that read none go on using everything'
complete -c millstream -n "__fish_millstream_using_subcommand run" -l provider -d 'With --without: put Millstream into the program\'s OpenSSL, too. Implied by --isolated, --socket, --module and --base'
complete -c millstream -n "__fish_millstream_using_subcommand run" -l list -d 'List the features that can be withheld, and run nothing; with --json as JSON'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s I -l isolated -d 'Keep keys out of the program\'s reach, in the running service or else in one that is started for this run. Implied where MILLSTREAM_SOCKET is set'
complete -c millstream -n "__fish_millstream_using_subcommand run" -l json -d 'Write the report as JSON'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s q -l quiet -d 'Write nothing to standard error'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand run" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l without -d 'Withhold these features of the processor, and those that depend on them: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families' -r
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l with-only -d 'Withhold all but these features and those that they need. An empty list leaves the ones every program may use' -r
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s n -l runs -d 'Number of measured runs each way' -r
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l warmup -d 'Number of unmeasured runs each way before those' -r
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l input -d 'The file that CMD reads as standard input in each run [default: nothing]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l knobs-only -d 'Only set the variables that libraries read, without tracing the program'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l show -d 'Show what CMD writes'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -l json -d 'Write JSON'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s q -l quiet -d 'No progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand compare" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l without -d 'Withhold these features of the processor, and those that depend on them: names from --list between commas, as in aes,sha. crypto means all cryptographic ones, avx512 and amx mean the families' -r
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l with-only -d 'Withhold all but these features and those that they need. An empty list leaves the ones every program may use' -r
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s p -l pid -d 'The process to trace, with its threads and the processes that it starts from now on. Related processes, such as other workers of a server, are not included: name each with its own --pid, or several in one, as pidof prints them' -r
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l seconds -d 'With --pid: stop after this many seconds' -r
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l report -d 'Write the report to this file, not to standard error' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l once -d 'Report what ran and what did not, at nearly no cost. This is the default'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l count -d 'Report how often: every call of a function is counted, which slows it down'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l rate -d 'Report how often, estimated from samples at nearly no cost'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l json -d 'Write the report as JSON'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s v -l verbose -d 'Report also what did not run, and the cost of tracing'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -l no-cache -d 'Look through each file anew, and keep nothing of what was found for later traces'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s q -l quiet -d 'No progress line'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand trace" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l cpu -d 'The processor: ultrasparc2, t1, t2, t3 or t4' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l hwcap -d 'Capabilities that the processor shall lack, in the syntax of LD_HWCAP: "-aes -des"' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l sysroot -d 'The directory with a dynamic program\'s libraries' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l disassemble -d 'Show the program\'s instructions, or those of the functions whose names match' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l plot -d 'Draw that history\'s tables into this SVG file' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l count -d 'Count entries into the functions whose names match, as in \'*_t4_*\' or \'libc.so.6:mem*\'' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l report -d 'Write the counts to this file, not to standard error' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l argv0 -d 'The name that the program is called by' -r
complete -c millstream -n "__fish_millstream_using_subcommand sparc" -l counted -d 'The process that counts, as opposed to those that it starts' -r
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
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l socket -d 'The service\'s socket; implies --isolated [default: what MILLSTREAM_SOCKET names when a program runs, else its user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l tally -d 'A file of counters that programs add to; it must exist when they run' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l module -d 'The provider\'s module [default: what MILLSTREAM_PROVIDER names, else the one installed with this program]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l base -d 'The configuration to extend [default: what OPENSSL_CONF names, else the system\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -s I -l isolated -d 'Keep keys in the service, out of the programs\' reach'
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -l append -d 'Leave out the inclusion, to append the output to the existing file instead'
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand openssl-conf" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l socket -d 'The path of the socket [default: what MILLSTREAM_SOCKET names, else in this user\'s runtime directory]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l policy -d 'The limits of users, in TOML' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand serve" -s n -l accelerators -d 'Number of workers, each with one accelerator' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l pin -d 'Processors that the workers are pinned to, in turn' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l spin-us -d 'Microseconds that an idle worker polls for work before it sleeps' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l flush-us -d 'Microseconds that operations may wait so that others can be computed with them' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l key-memory -d 'Memory for the keys of each worker, as in 128M: 2 KiB for each key slot that is granted' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l metrics -d 'Serve metrics for Prometheus at this address, as in 127.0.0.1:9464, or unix:PATH for a socket with mode 0660' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l metrics-host -d 'Names of this machine under which metrics may be asked for, besides localhost and addresses' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l user -d 'Continue as this user, when started by root' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l ready-fd -d 'Write the socket\'s path and a newline to this descriptor when clients can connect' -r
complete -c millstream -n "__fish_millstream_using_subcommand serve" -l metrics-names -d 'List each grant in the metrics, with its process and the client\'s name, and not only users'
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
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s a -l algorithm -d 'The algorithm; -l lists them' -r
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s l -l list -d 'List the algorithms; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s v -l verbose -d 'Put the algorithm and the file\'s name before each digest'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -l json -d 'Write a line of JSON for each file'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s q -l quiet -d 'Show no progress bar'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand digest" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s a -l algorithm -d 'The algorithm; -l lists them' -r
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s k -l key-file -d 'The file whose bytes are the key' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s K -l token-key -d 'The label of a key in a PKCS #11 token (not in this version)' -r
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s T -l token -d 'The token, as `name[:manufacturer[:serial]]` (not in this version)' -r
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l passphrase-file -d 'The file whose first line is the passphrase' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l socket -d 'The service\'s socket [default: what MILLSTREAM_SOCKET names, else this user\'s or the machine\'s]' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s l -l list -d 'List the algorithms and their key sizes; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s v -l verbose -d 'Put the algorithm and the file\'s name before each code'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s I -l isolated -d 'Have the running service compute the code, so that the key is used in another process'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -l json -d 'Write a line of JSON for each file'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s q -l quiet -d 'Show no progress bar and no warning'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand mac" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s a -l algorithm -d 'The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s k -l key-file -d 'The file whose bytes are the key, or a cleartext Tink keyset in JSON' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s K -l token-key -d 'The label of a key in a PKCS #11 token (not in this version)' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s T -l token -d 'The token, as `name[:manufacturer[:serial]]` (not in this version)' -r
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s i -l input -d 'The file to read; without it, or with -, standard input' -r -F
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
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s l -l list -d 'List the algorithms, their key sizes and the formats that use them; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s v -l verbose -d 'Draw the progress bar of the Solaris commands'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -l no-pad -d 'Do no padding: leave the last block as it is, in ECB and CBC (format raw)'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s q -l quiet -d 'Show no progress bar and no warning'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand encrypt" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s a -l algorithm -d 'The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s k -l key-file -d 'The file whose bytes are the key, or a cleartext Tink keyset in JSON' -r -F
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s K -l token-key -d 'The label of a key in a PKCS #11 token (not in this version)' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s T -l token -d 'The token, as `name[:manufacturer[:serial]]` (not in this version)' -r
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s i -l input -d 'The file to read; without it, or with -, standard input' -r -F
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
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s l -l list -d 'List the algorithms, their key sizes and the formats that use them; allows no other option'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s v -l verbose -d 'Draw the progress bar of the Solaris commands'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -l no-pad -d 'Do no padding: leave the last block as it is, in ECB and CBC (format raw)'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s q -l quiet -d 'Show no progress bar and no warning'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c millstream -n "__fish_millstream_using_subcommand decrypt" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand man" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand man" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand completions" -s h -l help -d 'Print help'
complete -c millstream -n "__fish_millstream_using_subcommand completions" -s V -l version -d 'Print version'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "caps" -d 'Show the processor\'s features and the kernel chosen for each algorithm'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "check" -d 'Test every kernel this processor can run against published answers'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "speed" -d 'Measure how fast objects are computed, beside OpenSSL and PKCS #11 modules'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "run" -d 'Run a program with Millstream in its OpenSSL, or without features of the processor'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "compare" -d 'Run a program with and without features of the processor, and say what they are worth'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "trace" -d 'Say which cryptographic instructions a program runs'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "sparc" -d 'Run a program for 64-bit SPARC, and say what it executed'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "openssl-conf" -d 'Print an OpenSSL configuration that makes programs use Millstream'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "serve" -d 'Serve programs whose keys are to be out of their reach'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "status" -d 'Show the workers and grants of the running service'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "revoke" -d 'Take grants away from their owners'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "move" -d 'Move a grant to another worker'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "reload" -d 'Have the running service read its policy file again'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "digest" -d 'Compute the digest of files or of standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "mac" -d 'Compute the message authentication code of files or of standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "encrypt" -d 'Encrypt a file or standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "decrypt" -d 'Decrypt a file or standard input'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "man" -d 'Write the manual pages into a directory'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "completions" -d 'Write completions for a shell to standard output'
complete -c millstream -n "__fish_millstream_using_subcommand help; and not __fish_seen_subcommand_from caps check speed run compare trace sparc openssl-conf serve status revoke move reload digest mac encrypt decrypt man completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
