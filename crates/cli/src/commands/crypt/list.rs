//! The algorithms of `encrypt` and `decrypt`: their names and the list of them.

use millstream_engines::modes::Direction;
use millstream_files::cipher::{self, Cipher};
use millstream_files::solaris;

use crate::commands::print;
use crate::error::Error;
use crate::names;

/// The name of the algorithm of the default format.
pub(super) const TINK: &str = "aes-gcm-hkdf";

/// Returns the error for a name that no format knows.
pub(super) fn unknown(direction: Direction, name: &str) -> Error {
    let command = if direction == Direction::Encrypt { "encrypt" } else { "decrypt" };
    let lower = name.to_ascii_lowercase();
    let near = match Cipher::from_name(&lower) {
        Some(_) => Some(lower),
        None => names::nearest(name, self::names()).map(str::to_owned),
    };
    Error::UnknownAlgorithm { name: name.to_owned(), command, near }
}

/// Returns the names for `-a`, without key lengths.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let solaris = solaris::Algorithm::ALL.into_iter().map(|algorithm| algorithm.name());
    solaris.chain([TINK]).chain(cipher::list().map(|listed| listed.name))
}

/// The head of the tables that `mac -l` and `encrypt -l` print.
pub(crate) const LIST_HEAD: &str =
    "Algorithm       Keysize:  Min   Max (bits)\n------------------------------------------\n";

/// Formats a line of those tables: the columns of Solaris, and a remark behind them.
pub(crate) fn list_line(name: &str, least: usize, most: usize, remark: &str) -> String {
    format!("{name:15}         {least:5} {most:5}  {remark}").trim_end().to_owned() + "\n"
}

/// Prints the algorithms.
pub(super) fn list() -> Result<(), Error> {
    let mut text = LIST_HEAD.to_owned();
    for algorithm in solaris::Algorithm::ALL {
        let (least, most) = algorithm.key_bits();
        let remark = if algorithm == solaris::Algorithm::Aes { "solaris" } else { "solaris; legacy" };
        text += &list_line(algorithm.name(), least, most, remark);
    }
    text += &list_line(TINK, 256, 256, "tink (the default)");
    for listed in cipher::list() {
        let formats = if listed.cipher.is_in_openssl_enc() { "openssl, raw" } else { "raw" };
        let legacy = if listed.cipher.is_legacy() { "; legacy" } else { "" };
        text += &list_line(listed.name, listed.least_bits, listed.most_bits, &format!("{formats}{legacy}"));
    }
    print(text)
}
