//! The page of `columns`.

use super::Section;

pub const COLUMNS: &[Section] = &[
    (
        "TABLES",
        "A table is a file of Parquet (parquet), of Arrow's IPC (arrow, and arrows for its stream), or CSV with a header (csv). The first bytes tell which; \
the end of the output's name tells how it is written. A table in CSV or arrows may come through a pipe. No more of a table is in memory than a batch, and one group of \
rows of Parquet.

In CSV each value is text, and stays as it is written; an empty one is null. Nulls stay null. What is sealed remembers if it was text, but in CSV everything is. \
Values of Parquet that are changed have no statistics any more, and a file keeps its compression and its metadata.

This command needs a millstream that was built with the feature tables, as those of its packages are.",
    ),
    (
        "KEYS",
        "-k KEYFILE
  The key's bytes, as millstream keygen writes them: 16, 24 or 32 for aes-gcm, 32 for chacha20-poly1305 and xaes-256-gcm, 16 or 32 for aes-gcm-siv, 32, \
48 or 64 for aes-siv, 16, 24 or 32 to encrypt, any number for hash. To seal and open it may also be a keyset of Tink in the clear, as JSON: its primary key seals, the first five bytes of a value name the key, and each enabled key opens what it has sealed, so that keys can be replaced while values of the old one are still there. A keyset of AesSivKey is deterministic; AesGcmKey, AesGcmSivKey and ChaCha20Poly1305Key are the others.
--isolated NAME
  A key in a token of the service: aes, aes-siv or chacha20-poly1305 to seal and open, hmac to hash, aes to encrypt. It never leaves its worker.

Up to 2^32 values may be sealed with one key of aes-gcm, and any number with xaes-256-gcm.",
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
        "A column sealed and opened, each value bound to its row, and two tables tokenised for a join:

  millstream keygen -o key 32
  millstream columns seal --column ssn --aad-column id -k key people.parquet sealed.parquet
  millstream columns open --column ssn --aad-column id -k key sealed.parquet people.parquet
  millstream columns hash --column email -k key people.csv tokens.csv

Numbers of cards that stay numbers of 16 digits:

  millstream columns encrypt --column card --tweak orders.card -k key orders.csv encrypted.csv",
    ),
];
