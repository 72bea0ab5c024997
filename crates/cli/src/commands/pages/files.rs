//! Pages of the commands that work on files: `digest`, `mac`, `encrypt` and `decrypt`.

use super::Section;

pub const KEYGEN: &[Section] = &[
    (
        "KEYS",
        "A key file holds the bytes of the key and nothing else. The kind tink makes a text instead, a keyset with one key of \
Tink's template AES256_GCM_HKDF_1MB, or AES128_GCM_HKDF_1MB with 128 bits. The kind age makes an identity file of age, version 1.3 and later: the private \
key of a pair, whose public part stands in its comment and is what 'millstream key public' writes. No quantum computer finds the one from the other.

The file has the mode 0600 from the first moment, and gets its name when it is whole. A file that is there already stays: what \
was encrypted with its key could not be decrypted any more. Keep a copy of each key. Whoever loses it has lost the files.",
    ),
    (
        "EXIT STATUS",
        "0
  when the key was written.
1
  when it was not.
2
  when the command was called wrongly, or standard output is a terminal.",
    ),
    (
        "EXAMPLES",
        "A key for encrypt, one for mac, and a keyset for Tink:

  millstream keygen -o key
  millstream keygen hmac -o mac.key
  millstream keygen tink -o keyset.json

A pair to seal files and backups for:

  millstream keygen age -o identity
  millstream key public identity -o recipient

A key for another machine, which is never in a file here:

  millstream keygen | ssh host 'umask 077; cat > key'",
    ),
];

pub const DIGEST: &[Section] = &[
    (
        "FORMS",
        "none
  The digest alone; for several files, lines as in (a.iso) = 1c09...
-v
  sha256 (a.iso) = 1c09..., with the algorithm as it was named. These two are the forms of Solaris.
--sum
  1c09...  a.iso, as sha256sum and its kin print.
--tag
  SHA256 (a.iso) = 1c09..., as BSD and sha256sum --tag print.
--json
  An object a line, with the members algorithm, file and digest. A name that is not UTF-8 has its bytes in Base64 in the \
member file_base64, too.

With --sum and --tag, a line whose name has a backslash or an end of line in it begins with a backslash, and has \\\\, \\n and \\r \
for these, as sha256sum writes it. The other forms write names as they are. On a terminal, control characters are spelled out.",
    ),
    (
        "CHECKING",
        "With --check, each FILE, or standard input, is a list of digests in any of these forms but JSON, and each file in it \
is digested again. Lines that name their algorithm need no -a. Empty lines and those that begin with # are passed over. For each \
file a line says OK, FAILED, or FAILED open or read; at the end, standard error has the numbers of those that did not match, \
could not be read, or were no proper lines. The options --ignore-missing, --quiet, --status, --strict and --warn are those of \
sha256sum.",
    ),
    (
        "EXIT STATUS",
        "0
  when every digest was printed, or with --check every file matched.
1
  when a file could not be read, the algorithm is unknown, or with --check anything was wrong.
2
  when the command was called wrongly, or a file could not be opened. The other files are digested.",
    ),
    (
        "EXAMPLES",
        "The digest of one file, of several, and of standard input:

  millstream digest -a sha256 disk.img
  millstream digest -v -a sha512 a.iso b.iso
  tar c photos | millstream digest -a sha256

A list for sha256sum, and a check of it:

  millstream digest --sum -a sha256 *.iso > SHA256SUMS
  millstream digest --check -a sha256 SHA256SUMS",
    ),
];

pub const MAC: &[Section] = &[
    (
        "EXIT STATUS",
        "0
  when every code was printed.
1
  when a file could not be read, the algorithm is unknown or the key can't be used.
2
  when the command was called wrongly, or a file could not be opened. The codes of the other files are printed.",
    ),
    (
        "KEYS",
        "All bytes of the file named with -k are the key. A passphrase becomes a key by \
PBKDF2 with HMAC-SHA-1, a fixed salt and 1000 iterations, as in the Solaris command, so that the same \
passphrase gives the same code everywhere. That is weak; prefer a key file.

An algorithm that is too weak for new data, which -l marks as legacy, causes a warning of one line; -q turns it off. \
Called through a link named mac, the command behaves like that of Solaris and warns only of a key that everyone may read.",
    ),
    (
        "EXAMPLES",
        "Make a key, and authenticate two files with it:

  millstream keygen -o key
  millstream mac -a sha256_hmac -k key a.iso b.iso

The same with the key in another process, a worker of 'millstream serve':

  millstream mac --isolated -a sha256_hmac -k key a.iso b.iso",
    ),
];

const CRYPT_STATUS: Section = (
    "EXIT STATUS",
    "0
  when the output is complete.
1
  when it failed. No output is left under its final name, and the input is as it was. Of several files, those that did not fail \
are complete. Output that went to standard output \
before the failure can't be taken back. With the tink format it consists of whole segments that verified, so check the status \
before using them.
2
  when the command was called wrongly.
130, 143, 129
  when SIGINT, SIGTERM or SIGHUP ended it. Nothing is left behind but complete outputs of several files, and the input is as it was.",
);

const FORMATS: Section = (
    "FORMATS",
    "Without --format, decrypt accepts a file by its look only if that format is authenticated, which tink is, and age's. \
Otherwise anybody who can write the file could replace it by one of another format, and change the plaintext unnoticed. For \
the other formats, decrypt says what the file looks like and which option to add. The names aes, arcfour, des and 3des for -a \
mean the format solaris.

tink
  Tink's streaming AEAD AES256-GCM-HKDF with 1 MB segments, the default. It is authenticated: a change, a truncation \
and a wrong key are detected. -k names 32 random bytes, or a cleartext Tink keyset in JSON. With a \
passphrase, 40 bytes in front of the stream say how Argon2id makes the key from it.
solaris
  Version 1 of the format of the Solaris commands, with -a aes, arcfour, des or 3des. It is not authenticated.
openssl
  The format of openssl enc -pbkdf2, with a passphrase. -a takes openssl's names; the default is aes-256-cbc. It is not \
authenticated.
raw
  Ciphertext alone, with -a, -k and --iv. aes-gcm and chacha20-poly1305 append a tag of 16 bytes, \
and take at most 1 GiB; aes-xts takes at most 16 MiB, as one data unit.

decrypt reads files of age, too, binary or in ASCII armour: -k names an identity file with keys of X25519, and a file for a passphrase takes \
that. For the files of millstream seal there is millstream open.",
);

const FILES: Section = (
    "OUTPUT FILES",
    "The output gets its name only when it is complete and verified. Until then it has no name, or, if the \
file system does not allow that, a hidden one in the same directory that is removed on failure. So -i and -o \
may name the same file. An existing file keeps its permissions; its other hard links keep the old contents.

A new file is no more readable than the file it is made from. It has the permissions of that file, except those to execute \
and those that the umask takes away. If its group differs from the input's, the group gets no more than everyone has. \
Data that is decrypted from a pipe can be read by the owner only. The files of the key, the passphrase and the initialisation \
vector are never overwritten, whatever link names them.",
);

const MANY: Section = (
    "SEVERAL FILES",
    "Files that are named as operands, and those of repeated -i, each have an output of their own: encrypt puts .enc, or the \
--suffix, behind the name, and decrypt takes it away. The outputs are beside their inputs, or in the folder of --output-dir. An \
output does not replace a file without --force, and never the file of a secret or another input. A single FILE with -o is like -i.

Each output is whole or not there. A file that fails is named on standard error, in the order of the files, and the others are \
done. All processors read, compute and write, and small files of the format tink are computed in batches. With a passphrase, that \
format makes its key once for all files of the run, which then begin with the same 40 bytes. An initialisation vector is for one \
file.",
);

const SLIPS: Section = (
    "CAUTIONS",
    "An option with a value may be given once, but for -i. encrypt does not write to a terminal, and decrypt \
shows only text there; -o - overrides that. encrypt warns, in one line that -q turns off, if the format is not authenticated, \
if the algorithm is too weak for new data, and if the key file holds text or hexadecimal digits instead of a random key. The \
format tink refuses a key that is all zero.",
);

const SOLARIS: Section = (
    "SOLARIS",
    "Called through a link named encrypt or decrypt, the command is that of Solaris with more formats. The format of a file \
does not depend on the command's name: on Solaris -a is required, and with the algorithms of Solaris it means the format of \
Solaris here too. Without -a and --format, the same rules hold as for millstream encrypt and millstream decrypt. Under these \
names the last of repeated options counts, as with getopt(3C), and the only warning is of a key that everyone may \
read. A minus for -i and -o names the standard streams; for a file of that name, write ./-.",
);

pub const ENCRYPT: &[Section] = &[
    FORMATS,
    FILES,
    MANY,
    SLIPS,
    SOLARIS,
    CRYPT_STATUS,
    (
        "EXAMPLES",
        "With a key file, and with a passphrase in place:

  millstream keygen -o key
  millstream encrypt -k key -i disk.img -o disk.img.enc
  millstream encrypt -i letter -o letter

Every file of a folder, beside it and in another one:

  millstream encrypt -k key photos/*.jpg
  millstream encrypt -k key --output-dir /mnt/backup photos/*.jpg

For openssl, and for an old Solaris machine:

  millstream encrypt --format openssl -a aes-256-ctr -i a -o a.enc
  millstream encrypt -a aes -k key -i a -o a.enc",
    ),
];

pub const DECRYPT: &[Section] = &[
    FORMATS,
    FILES,
    MANY,
    SLIPS,
    SOLARIS,
    CRYPT_STATUS,
    (
        "EXAMPLES",
        "With a key file, and from a pipe with a passphrase:

  millstream decrypt -k key -i disk.img.enc -o disk.img
  ssh host cat backup.enc | millstream decrypt | tar x

Every file of a folder:

  millstream decrypt -k key --output-dir photos /mnt/backup/*.enc

Files that openssl enc -aes-256-cbc -pbkdf2 and an old Solaris machine wrote:

  millstream decrypt --format openssl -a aes-256-cbc -i a.enc -o a
  millstream decrypt -a aes -k key -i a.enc -o a",
    ),
];
