//! Pages of `seal`, `open` and `backup`.

use super::Section;

const KEYS: Section = (
    "KEYS",
    "Each file and each backup has a random key of its own. It stands in front of it, wrapped for every key that was named:

-k KEYFILE
  32 random bytes, as millstream keygen writes them.
--passphrase-file FILE
  A passphrase, from which Argon2id makes a key.
--recipient FILE, and --identity FILE to open
  A key pair of X25519, or of ML-KEM-768 and X25519 together, which 'millstream keygen age' makes. Sealing takes the public key alone, so a machine that makes backups need not be able to read them. To go on with an \
interrupted backup the private key is needed.
--isolated LABEL
  A key of AES in a token of the service. It never leaves its worker, which wraps and unwraps the key of the file. That key is in this process \
while it works.",
);

pub const SEAL: &[Section] = &[
    KEYS,
    (
        "FORMAT",
        "A head with the wrapped keys, and a message of C2SP chunked encryption with AES-256-GCM: see docs/backup-format.md. 'millstream open' and \
'millstream decrypt' tell the files of each other by their first bytes.",
    ),
    (
        "EXIT STATUS",
        "0
  when the output is complete.
1
  when it failed. No output is left under its final name.
2
  when the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "With a key file, for two recipients, and with a passphrase:

  millstream seal -k key disk.img -o disk.img.sealed
  millstream seal --recipient alice.pub --recipient bob.pub letter -o letter.sealed
  millstream seal letter -o letter.sealed",
    ),
];

pub const OPEN: &[Section] = &[
    KEYS,
    (
        "EXIT STATUS",
        "0
  when the output is complete.
1
  when it failed. No output is left under its final name; what went to standard output before is a true beginning.
2
  when the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "With a key file, and with a private key:

  millstream open -k key disk.img.sealed -o disk.img
  millstream open --identity alice.pem < letter.sealed > letter",
    ),
];

pub const BACKUP: &[Section] = &[
    (
        "STORES",
        "s3://BUCKET/NAME
  S3, and what speaks its protocol. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL are read.
gs://BUCKET/NAME
  Google Cloud Storage. GOOGLE_SERVICE_ACCOUNT names the file of an account.
az://CONTAINER/NAME
  Azure. AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY are read.
/FOLDER, or file:///FOLDER
  A folder of this machine.

The first three need a millstream that was built with the feature cloud, as those of its packages are.",
    ),
    KEYS,
    (
        "STREAMS",
        "put and resume read standard input, a file, a device, a folder (which tar makes a stream), or the output of a COMMAND behind --. Prefer that to a \
pipe: a command that fails leaves no backup that looks whole, and a shell's pipe does not tell.",
    ),
    (
        "INTERRUPTIONS",
        "A backup is there when its manifest is, and that is written last. Whatever ends put before, resume goes on from the last whole segment, if the \
stream comes again. Where the stream is another one, segments are sealed anew; nothing is ever sealed under the same salt as something else.",
    ),
    (
        "OPEN TO THE STORE",
        "Who can read the store sees the name, the time, the number and the lengths of segments, and which kinds of keys open the backup. Everything else is \
sealed.",
    ),
    (
        "EXIT STATUS",
        "0
  when it was done, and for verify when everything is right.
1
  when it was not.
2
  when the command was called wrongly.",
    ),
    (
        "EXAMPLES",
        "A snapshot of ZFS, and its way back:

  millstream backup put s3://bucket/pool/now -k key -- zfs send pool@now
  millstream backup get s3://bucket/pool/now -k key | zfs receive pool/again

A folder on another disk, verified without the key; of many, the newest seven are kept:

  millstream backup put /mnt/disk/home/monday -k key /home
  millstream backup verify /mnt/disk/home/monday
  millstream backup prune /mnt/disk/home --keep 7",
    ),
];
