//! Pages of the commands for tokens and their keys.

use super::Section;

const PINS: Section = (
    "PINS",
    "A PIN has 4 to 255 bytes. It is asked for at the terminal, or is the first line of a file that nobody else may read, as with \
--pin-file PIN, or of an open descriptor, as with --pin-file /dev/fd/3. It is never an argument, since every user sees those.

Ten wrong user PINs in a row lock the token until the security officer resets it. Ten wrong PINs of the officer lock that one for good. Each \
try is on the disk before the PIN is compared.",
);

const PLACE: Section = (
    "FILES",
    "tokens.redb
  The store: sealed keys, and in the clear labels, kinds, usages and public keys.
device-secret
  32 random bytes of this machine, which open the tokens together with a PIN. Whoever has the store and this file can try \
PINs as fast as their machines can. A systemd service gets the secret as the credential millstream.device-secret instead. Without it nothing \
opens the tokens: have a copy of it in a safe place.
device-secret.tpm
  The same secret in place of that file, sealed by this machine's TPM with 'millstream token seal'. Nothing opens it but that TPM: /dev/tpmrm0, or the device that MILLSTREAM_TPM names. This needs a \
millstream that was built with the feature tpm.

Where the service keeps tokens for this user ([tokens] in its policy), the commands work on those: PINs and keys go to one of its workers, and both files are the \
service's. They don't where --store or MILLSTREAM_STORE names a folder.

Else both lie in that folder, or in /var/lib/millstream for root and in millstream below XDG_STATE_HOME or \
~/.local/state for others. Nothing in the store can be changed, exchanged or brought back singly without a command telling so. An older copy of \
the whole store can't be told from the newest.",
);

const STATUS: Section = (
    "EXIT STATUS",
    "0
  when it was done.
1
  when it was not: nothing was changed.
2
  when the command was called wrongly.",
);

pub const TOKEN: &[Section] = &[
    PINS,
    PLACE,
    STATUS,
    (
        "EXAMPLES",
        "A token, with the PINs asked for, and a new PIN after the old one was forgotten:

  millstream token init web
  millstream token pin web --reset

The keys of a token of SoftHSM2, first as a list and then brought:

  millstream token migrate /var/lib/softhsm/tokens -T web --dry-run
  millstream token migrate /var/lib/softhsm/tokens -T web",
    ),
];

pub const KEY: &[Section] = &[
    (
        "FORMS",
        "Files are recognised: PKCS#8, SEC 1 and PKCS#1 in PEM or DER, JSON Web Keys, and keysets of Tink with a key of AesGcmKey, \
HmacKey or Ed25519PrivateKey. A file that holds the bytes of a key and nothing else needs --raw KIND. Encrypted keys are decrypted first with \
'openssl pkey -in FILE -out PLAIN'.",
    ),
    PINS,
    PLACE,
    STATUS,
    (
        "EXAMPLES",
        "A key that never leaves its token, and its public part:

  millstream key generate p-256 -T web -K server
  millstream key public -T web -K server -o server.pub

A key of OpenSSL's, brought into a token:

  openssl genpkey -algorithm ed25519 -out key.pem
  millstream key import key.pem -T web -K signer",
    ),
];

pub const AGENT: &[Section] = &[
    (
        "CLIENTS",
        "Programs of this user and of root may connect; the socket has mode 600. They can list the keys and have messages signed, with RSA by \
SHA-1, SHA-256 or SHA-512, ECDSA or Ed25519. 'ssh-add -x' locks the agent and 'ssh-add -X' unlocks it. Keys can't be added or removed, and \
extensions are refused, those for destinations among them: --confirm and --lifetime hold for all keys.

At most 64 clients are served at a time.",
    ),
    PINS,
    (
        "EXAMPLES",
        "A shell in which ssh and git use the keys of a token:

  millstream agent -T web -- bash

The host key of an sshd, whose configuration has the lines 'HostKeyAgent /run/millstream-agent.sock' and 'HostKey /etc/ssh/host.pub', where the \
latter is what 'ssh-add -L' says:

  millstream agent -T host --socket /run/millstream-agent.sock --pin-file /etc/millstream/host.pin",
    ),
];
