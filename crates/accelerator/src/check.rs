//! Checking a control word, of which nothing is believed before.
//!
//! A [`CheckedWord`] has every span inside the arena, no output over anything else that the word names, and
//! zeros in every field that its opcode does not use. It depends on the word, on the arena's length, on the
//! entries of its gather list and on the algorithms that are allowed, and on nothing else.

use arrayvec::ArrayVec;
use millstream_cwq::{Algorithm, AlgorithmSet, ControlWord, Flags, Opcode, Status, VERSION};

use crate::algorithms::{
    comes_whole, given_by, hash_of, is_aead, is_aead_tag, is_checksum, is_cipher, is_format, is_long_result,
    is_mac, is_mac_tag, most_whole, takes_no_aad,
};
use crate::arena::{Arena, Span};
use crate::pairs::{DecryptionScheme, SECRET_BYTES, SignatureScheme, has_context};
use crate::shape::ANY;
use crate::uses::{USES, Uses, brings_public_key, is_of_pair, is_piece};

/// The most pieces of a gather list.
pub const MAX_PIECES: usize = 64;

/// The pieces of a gather list, read once.
pub(crate) type Pieces = ArrayVec<Span, MAX_PIECES>;

/// The place of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAt {
    None,
    Slot(u32),
    Arena(Span),
}

/// The place of the source. It is no enum: the length would lie in two places, and where code reads the one or the other, the
/// compiler has to keep the whole word in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    at: u32,
    len: u32,
    gathered: bool,
}

impl Source {
    /// The source in one piece.
    pub(crate) const fn at(Span { at, len }: Span) -> Self {
        Source { at, len, gathered: false }
    }

    /// The source in pieces, of so many bytes together.
    pub(crate) const fn gathered(total: u32) -> Self {
        Source { at: 0, len: total, gathered: true }
    }

    #[inline(always)]
    pub(crate) const fn len(self) -> u32 {
        self.len
    }

    /// Returns the source, if it is in one piece.
    #[inline(always)]
    pub(crate) const fn span(self) -> Option<Span> {
        if self.gathered { None } else { Some(Span { at: self.at, len: self.len }) }
    }

    /// Returns true if the source is in pieces.
    #[inline(always)]
    pub(crate) const fn is_gathered(self) -> bool {
        self.gathered
    }
}

/// A control word that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckedWord {
    pub(crate) opcode: Opcode,
    /// The algorithm; for a hash or HMAC, the hash.
    pub(crate) algorithm: Algorithm,
    /// The HMAC's hash in a combined operation.
    pub(crate) hash: Algorithm,
    pub(crate) reverse: bool,
    pub(crate) key: KeyAt,
    pub(crate) mac_key: KeyAt,
    pub(crate) source: Source,
    /// Empty where the opcode writes none.
    pub(crate) destination: Span,
    /// Associated data, the mid-state before, a signature to verify, or a label.
    pub(crate) aad: Span,
    pub(crate) iv: Span,
    pub(crate) mac: Span,
    /// The place of a mid-state or of a long result of a key pair; empty unless one is to be written.
    pub(crate) state: Span,
    /// Bytes in front that a combined operation does not encrypt.
    pub(crate) clear: u32,
    pub(crate) parameter: u32,
    /// True for a piece with which the message begins, so that there is no mid-state before it.
    pub(crate) first: bool,
    /// True when the accelerator makes the nonce of an AEAD, and writes it to `iv`.
    pub(crate) makes_nonce: bool,
}

impl CheckedWord {
    /// A word that does nothing, for [`check`] to fill in.
    pub(crate) const NOTHING: CheckedWord = CheckedWord {
        opcode: Opcode::Null,
        algorithm: Algorithm::None,
        hash: Algorithm::None,
        reverse: false,
        key: KeyAt::None,
        mac_key: KeyAt::None,
        source: Source::at(Span { at: 0, len: 0 }),
        destination: Span { at: 0, len: 0 },
        aad: Span { at: 0, len: 0 },
        iv: Span { at: 0, len: 0 },
        mac: Span { at: 0, len: 0 },
        state: Span { at: 0, len: 0 },
        clear: 0,
        parameter: 0,
        first: false,
        makes_nonce: false,
    };

    /// Returns a word of a frequent kind once more, which the code for `SHAPE` has checked before, with all that the shape tells as constants.
    #[inline(always)]
    pub(crate) fn again<const SHAPE: u64>(word: &ControlWord) -> Self {
        let Some(opcode) = Opcode::from_code(word.opcode).filter(|_| SHAPE != ANY) else {
            return CheckedWord::NOTHING;
        };
        let (algorithm, hash) = algorithms(opcode, word).unwrap_or((Algorithm::None, Algorithm::None));
        let span = |at, len| Span { at, len };
        let has_destination = uses_of::<SHAPE>(opcode).is_some_and(Uses::has_destination);
        let key = |at| key(opcode, false, at, 0, 0).unwrap_or(KeyAt::None);
        let combined = is_combined(opcode);
        CheckedWord {
            opcode,
            algorithm,
            hash,
            reverse: is_reverse(opcode, word),
            key: key(word.key),
            mac_key: if combined { key(word.mac_key) } else { KeyAt::None },
            source: Source::at(span(word.source, word.source_len)),
            destination: span(word.destination, if has_destination { word.source_len } else { 0 }),
            aad: if combined { Span::default() } else { span(word.aad, word.aad_len) },
            clear: if combined { word.aad_len } else { 0 },
            iv: span(word.iv, word.iv_len.into()),
            mac: span(word.mac, word.mac_len.into()),
            parameter: word.parameter,
            makes_nonce: word.has(Flags::MAKE_NONCE),
            ..CheckedWord::NOTHING
        }
    }

    /// Returns true when the output takes the place of the input.
    #[inline(always)]
    pub(crate) fn is_in_place(&self) -> bool {
        self.source.span() == Some(self.destination)
    }

    /// Returns the bytes of the word's object: those of the source, or of the destination where nothing is read.
    #[inline(always)]
    pub(crate) fn object_len(&self) -> u32 {
        if self.opcode == Opcode::Random { self.destination.len } else { self.source.len() }
    }
}

/// Returns the fields that an opcode uses. In the code for a `SHAPE` they are constants.
#[inline(always)]
fn uses_of<const SHAPE: u64>(opcode: Opcode) -> Option<&'static Uses> {
    const OPCODE: u32 = 8;
    if SHAPE == ANY {
        USES.get(opcode as usize)
    } else {
        Some(const { &USES[(SHAPE >> OPCODE) as u8 as usize] })
    }
}

/// Checks a word against an arena, and against a policy if there is one. The entries of a gather list are read, just once,
/// into `pieces`.
///
/// The result is filled in where it lies, because moving it would cost as much as making it. In the code for a `SHAPE`, no function
/// that is not inlined gets the address of the word or of the result, so that the compiler knows them field by field: it leaves out all
/// that follows from what the shape tells.
///
/// # Errors
/// The status that says which rule the word breaks.
#[inline(always)]
pub(crate) fn check<const SHAPE: u64, A: Arena>(
    word: &ControlWord,
    arena: &A,
    allowed: Option<&AlgorithmSet>,
    pieces: &mut Pieces,
    checked: &mut CheckedWord,
) -> Result<(), Status> {
    if word.version != VERSION {
        return Err(Status::Version);
    }
    let opcode = Opcode::from_code(word.opcode).ok_or(Status::Opcode)?;
    let uses = uses_of::<SHAPE>(opcode).ok_or(Status::Opcode)?;
    if word.flags & !uses.flags != 0 {
        return Err(Status::Flags);
    }
    let mut unused = 0;
    for (bits, used) in word.to_words().iter().zip(&uses.words) {
        unused |= bits & !used;
    }
    if unused != 0 {
        return Err(Status::Reserved);
    }
    let len = arena.len();
    checked.opcode = opcode;
    (checked.algorithm, checked.hash) = algorithms(opcode, word)?;
    if let Some(allowed) = allowed {
        let may = |algorithm| algorithm == Algorithm::None || allowed.contains(algorithm);
        // The hash of a signature made a digest elsewhere.
        if !may(checked.algorithm) || !(may(checked.hash) || is_of_pair(opcode)) {
            return Err(Status::Policy);
        }
    }
    checked.reverse = is_reverse(opcode, word);
    checked.key = key(opcode, word.has(Flags::KEY_IN_ARENA), word.key, word.key_len, len)?;
    if is_combined(opcode) {
        checked.mac_key =
            key(opcode, word.has(Flags::MAC_KEY_IN_ARENA), word.mac_key, word.mac_key_len, len)?;
    }
    // Random bytes come from nowhere: their word has the length of its destination in the source's place.
    if word.has(Flags::GATHER) {
        checked.source = Source::gathered(gather(word.source, word.source_len, arena, pieces)?);
    } else if opcode != Opcode::Random {
        checked.source = Source::at(span(word.source, word.source_len, len, Status::SourceRange)?);
    }
    // The fields that an opcode does not use were found to be zero.
    if uses.has_iv() {
        checked.iv = span(word.iv, u32::from(word.iv_len), len, Status::IvRange)?;
    }
    if uses.has_mac() {
        checked.mac = span(word.mac, u32::from(word.mac_len), len, Status::MacRange)?;
    }
    checked.parameter = word.parameter;
    checked.first = word.has(Flags::FIRST);
    if word.has(Flags::MAKE_NONCE) {
        check_made_nonce(checked.reverse, checked.key, checked.iv.len)?;
        checked.makes_nonce = true;
    }
    outputs::<SHAPE>(checked, word, len)?;
    no_overlap::<SHAPE>(checked, word, pieces)
}

/// Returns true for a cipher and an HMAC over the same bytes.
#[inline(always)]
fn is_combined(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::EncryptThenMac | Opcode::MacThenDecrypt)
}

/// Returns true for a word that decrypts, opens or verifies.
#[inline(always)]
fn is_reverse(opcode: Opcode, word: &ControlWord) -> bool {
    word.has(Flags::REVERSE) || opcode == Opcode::MacThenDecrypt
}

/// Checks a word for which a nonce is made.
#[cold]
fn check_made_nonce(reverse: bool, key: KeyAt, iv_len: u32) -> Result<(), Status> {
    if reverse {
        return Err(Status::Flags);
    }
    // Nobody counts the nonces of a key that its word carries.
    if !matches!(key, KeyAt::Slot(_)) {
        return Err(Status::NonceMissing);
    }
    if iv_len != ControlWord::MADE_NONCE_BYTES {
        return Err(Status::IvLength);
    }
    Ok(())
}

/// Returns the algorithm and the hash, where the opcode has them.
#[inline(always)]
fn algorithms(opcode: Opcode, word: &ControlWord) -> Result<(Algorithm, Algorithm), Status> {
    let algorithm = Algorithm::from_code(word.algorithm).ok_or(Status::Algorithm)?;
    let hash = Algorithm::from_code(word.hash).ok_or(Status::Algorithm)?;
    let is_hash = hash_of(hash).is_some();
    let fits = match opcode {
        Opcode::Null | Opcode::Copy | Opcode::Cancel => true,
        Opcode::Checksum | Opcode::CopyChecksum => is_checksum(algorithm),
        Opcode::Hash | Opcode::PartialHash | Opcode::Hmac => is_hash,
        Opcode::Cipher => is_cipher(algorithm) || is_format(algorithm),
        Opcode::Aead => is_aead(algorithm),
        Opcode::PartialAead => is_aead(algorithm) && !comes_whole(algorithm),
        Opcode::PartialMac => match algorithm {
            Algorithm::None => is_hash,
            _ => algorithm == Algorithm::AesCmac && hash == Algorithm::None,
        },
        Opcode::Mac => is_mac(algorithm),
        Opcode::Sign
        | Opcode::Agree
        | Opcode::PublicKey
        | Opcode::Decrypt
        | Opcode::Encapsulate
        | Opcode::Decapsulate => given_by(algorithm, opcode) > 0,
        Opcode::Verify => given_by(algorithm, Opcode::Sign) > 0,
        Opcode::Random => algorithm == Algorithm::Random,
        // F8's length in bits has no meaning beside an HMAC's in bytes.
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            is_cipher(algorithm) && algorithm != Algorithm::KasumiF8 && is_hash
        }
        _ => false,
    };
    if !fits {
        return Err(Status::Algorithm);
    }
    Ok(match opcode {
        Opcode::Hash | Opcode::PartialHash | Opcode::Hmac => (hash, hash),
        Opcode::PartialMac if is_hash => (hash, hash),
        _ => (algorithm, hash),
    })
}

/// Returns a span that is inside the arena.
#[inline(always)]
fn span(at: u32, len: u32, arena: u32, outside: Status) -> Result<Span, Status> {
    if u64::from(at) + u64::from(len) > u64::from(arena) {
        return Err(outside);
    }
    Ok(Span { at, len })
}

#[inline(always)]
fn key(opcode: Opcode, in_arena: bool, key: u32, key_len: u16, arena: u32) -> Result<KeyAt, Status> {
    if in_arena {
        let span = span(key, u32::from(key_len), arena, Status::KeyRange)?;
        let most = if brings_public_key(opcode) {
            ControlWord::MOST_PUBLIC_KEY_BYTES
        } else {
            ControlWord::MOST_KEY_BYTES
        };
        return if key_len <= most { Ok(KeyAt::Arena(span)) } else { Err(Status::KeyLength) };
    }
    if key_len != 0 {
        return Err(Status::Reserved);
    }
    Ok(match opcode {
        Opcode::Cipher
        | Opcode::Aead
        | Opcode::Hmac
        | Opcode::Mac
        | Opcode::EncryptThenMac
        | Opcode::MacThenDecrypt
        | Opcode::PartialMac
        | Opcode::PartialAead
        | Opcode::Sign
        | Opcode::Agree
        | Opcode::PublicKey
        | Opcode::Decrypt
        | Opcode::Decapsulate => KeyAt::Slot(key),
        // A public key is in no slot: it comes with the word.
        Opcode::Verify | Opcode::Encapsulate => return Err(Status::Key),
        _ => KeyAt::None,
    })
}

/// Reads a gather list, and returns how many bytes it names.
#[cold]
#[inline(never)]
fn gather<A: Arena>(at: u32, count: u32, arena: &A, pieces: &mut Pieces) -> Result<u32, Status> {
    pieces.clear();
    if count as usize > MAX_PIECES {
        return Err(Status::Gather);
    }
    let list = gather_list(at, count);
    span(list.at, list.len, arena.len(), Status::Gather)?;
    let mut bytes = [0; 8 * MAX_PIECES];
    let bytes = &mut bytes[..list.len as usize];
    arena.read(list.at, bytes);
    let mut total = 0;
    for entry in bytes.as_chunks::<8>().0 {
        let [a, b, c, d, e, f, g, h] = *entry;
        let (at, len) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        pieces.push(span(at, len, arena.len(), Status::Gather)?);
        total += u64::from(len);
    }
    // A list may name no more bytes than the arena holds, so that what is staged for a word is bounded.
    if total > u64::from(arena.len()) {
        return Err(Status::Gather);
    }
    Ok(total as u32)
}

/// Returns how many bytes a gather list names, on which its word's cost depends; 0 for a list that breaks a rule. [`check`]
/// reads the list again and believes only what it reads.
#[cold]
pub(crate) fn gathered_len<A: Arena>(word: &ControlWord, arena: &A) -> u32 {
    let mut pieces = Pieces::new();
    gather(word.source, word.source_len, arena, &mut pieces).unwrap_or(0)
}

/// Returns the span of the list of a word with [`Flags::GATHER`], if it has no more than [`MAX_PIECES`] entries.
fn gather_list(at: u32, count: u32) -> Span {
    Span { at, len: count * 8 }
}

/// Checks the spans that the word writes, and what depends on them.
#[inline(always)]
fn outputs<const SHAPE: u64>(
    checked: &mut CheckedWord,
    word: &ControlWord,
    arena: u32,
) -> Result<(), Status> {
    match checked.opcode {
        // The word is executed at once, however short turns are.
        Opcode::Aead | Opcode::Cipher
            if most_whole(checked.algorithm)
                .is_some_and(|most| checked.source.len().max(word.aad_len) > most) =>
        {
            return Err(Status::DataLength);
        }
        Opcode::Aead if takes_no_aad(checked.algorithm) && word.aad_len > 0 => {
            return Err(Status::Reserved);
        }
        Opcode::Copy | Opcode::CopyChecksum | Opcode::Cipher | Opcode::Aead | Opcode::PartialAead => {
            checked.destination =
                span(word.destination, checked.source.len(), arena, Status::DestinationRange)?;
        }
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => {
            checked.destination =
                span(word.destination, checked.source.len(), arena, Status::DestinationRange)?;
            if word.aad_len > checked.source.len() {
                return Err(Status::DataLength);
            }
            checked.clear = word.aad_len;
        }
        Opcode::Random => {
            if word.source_len > ControlWord::MOST_RANDOM_BYTES {
                return Err(Status::DataLength);
            }
            checked.destination = span(word.destination, word.source_len, arena, Status::DestinationRange)?;
        }
        // The word is executed at once, however short turns are.
        Opcode::Sign | Opcode::Verify | Opcode::Decrypt
            if checked.source.len().max(word.aad_len) > ControlWord::MOST_SIGNED_BYTES =>
        {
            return Err(Status::DataLength);
        }
        // A peer's public key is as long as one's own, or compressed.
        Opcode::Agree if checked.source.len() > given_by(checked.algorithm, Opcode::PublicKey) => {
            return Err(Status::DataLength);
        }
        Opcode::Decapsulate if checked.source.len() != given_by(checked.algorithm, Opcode::Encapsulate) => {
            return Err(Status::DataLength);
        }
        _ => {}
    }
    if SHAPE == ANY && is_of_pair(checked.opcode) {
        (checked.aad, checked.state) = pair_outputs(checked.opcode, checked.algorithm, *word, arena)?;
    }
    if matches!(checked.opcode, Opcode::Aead | Opcode::PartialHash | Opcode::PartialMac | Opcode::PartialAead)
    {
        checked.aad = span(word.aad, word.aad_len, arena, Status::AadRange)?;
    }
    if SHAPE == ANY && is_piece(checked.opcode) {
        checked.state = state(checked.opcode, checked.first, *word, arena)?;
    }
    if !mac_fits(checked, u32::from(word.mac_len), word.has(Flags::LAST)) {
        return Err(Status::MacLength);
    }
    if !parameter_fits(checked) {
        return Err(Status::Parameter);
    }
    Ok(())
}

/// Returns what words about key pairs have beside others: the signature or label, and the place of a long result.
#[cold]
#[inline(never)]
fn pair_outputs(
    opcode: Opcode,
    algorithm: Algorithm,
    word: ControlWord,
    arena: u32,
) -> Result<(Span, Span), Status> {
    let aad = match opcode {
        Opcode::Verify | Opcode::Decrypt => span(word.aad, word.aad_len, arena, Status::AadRange)?,
        _ => Span::default(),
    };
    if !has_context(algorithm) && (word.iv != 0 || word.iv_len != 0) {
        return Err(Status::Reserved);
    }
    if !is_long_result(algorithm, opcode) {
        let unused = word.destination == 0 && word.mac_key_len == 0;
        return if unused { Ok((aad, Span::default())) } else { Err(Status::Reserved) };
    }
    if !(1..=ControlWord::MOST_RESULT_BYTES).contains(&word.mac_key_len) {
        return Err(Status::DestinationRange);
    }
    let result = span(word.destination, u32::from(word.mac_key_len), arena, Status::DestinationRange)?;
    Ok((aad, result))
}

/// Checks the mid-states of a piece: the one before is there unless the message begins, the one after unless it ends. Returns the
/// place of the one after.
#[cold]
#[inline(never)]
fn state(opcode: Opcode, first: bool, word: ControlWord, arena: u32) -> Result<Span, Status> {
    let fits = match opcode {
        // A nonce or a state lies there, and is checked as such when it is read.
        Opcode::PartialAead => word.iv_len > 0,
        _ => first == (word.aad_len == 0) && word.aad_len <= ControlWord::STATE_BYTES,
    };
    if !fits {
        return Err(Status::MidState);
    }
    if !word.has(Flags::LAST) {
        return span(word.state, ControlWord::STATE_BYTES, arena, Status::StateRange);
    }
    if word.state == 0 { Ok(Span::default()) } else { Err(Status::Reserved) }
}

/// Returns true when the algorithm has digests or tags of that length.
#[inline(always)]
fn mac_fits(checked: &CheckedWord, len: u32, last: bool) -> bool {
    let digest = |algorithm| hash_of(algorithm).map_or(0, |hash| hash.output_len() as u32);
    match checked.opcode {
        Opcode::Hash => len == digest(checked.algorithm),
        Opcode::PartialMac | Opcode::PartialAead if !last => len == 0,
        Opcode::PartialHash => len == if last { digest(checked.algorithm) } else { 0 },
        Opcode::PartialMac if is_mac(checked.algorithm) => is_mac_tag(checked.algorithm, len),
        Opcode::Hmac | Opcode::PartialMac => (4..=digest(checked.algorithm)).contains(&len),
        Opcode::EncryptThenMac | Opcode::MacThenDecrypt => (4..=digest(checked.hash)).contains(&len),
        Opcode::Mac => is_mac_tag(checked.algorithm, len),
        Opcode::Encapsulate => len == SECRET_BYTES,
        Opcode::Sign | Opcode::Agree | Opcode::PublicKey | Opcode::Decapsulate => {
            let given = given_by(checked.algorithm, checked.opcode);
            len == if is_long_result(checked.algorithm, checked.opcode) { 0 } else { given }
        }
        Opcode::Aead | Opcode::PartialAead => is_aead_tag(checked.algorithm, len),
        _ => len == 0,
    }
}

/// Returns true when the parameter is zero, a radix, or one of KASUMI's.
#[inline(always)]
fn parameter_fits(checked: &CheckedWord) -> bool {
    let unused_bits = checked.parameter & 7;
    match checked.algorithm {
        Algorithm::AesFf1 => (2..=1 << 16).contains(&checked.parameter),
        Algorithm::KasumiF8 => {
            checked.parameter & !(ControlWord::ANY_START | 7) == 0
                && (unused_bits == 0 || checked.source.len() > 0)
        }
        Algorithm::KasumiF9 => {
            checked.parameter & !0x107 == 0 && (unused_bits == 0 || checked.source.len() > 0)
        }
        _ if matches!(checked.opcode, Opcode::Sign | Opcode::Verify) => {
            SignatureScheme::of_word(checked.algorithm, checked.hash, checked.parameter).is_some()
        }
        _ if checked.opcode == Opcode::Decrypt => {
            let label: &[u8] = if checked.aad.len == 0 { &[] } else { &[0] };
            DecryptionScheme::of_word(checked.hash, checked.parameter, label).is_some()
        }
        _ => checked.parameter == 0,
    }
}

/// Checks that no output overlaps anything else that the word names, but for a destination that is the source.
#[inline(always)]
fn no_overlap<const SHAPE: u64>(
    checked: &CheckedWord,
    word: &ControlWord,
    pieces: &Pieces,
) -> Result<(), Status> {
    const MORE: u16 = Flags::GATHER | Flags::KEY_IN_ARENA | Flags::MAC_KEY_IN_ARENA | Flags::MAKE_NONCE;
    if SHAPE == ANY && (word.flags & MORE != 0 || checked.state.len > 0) {
        return no_overlap_of_all(*checked, *word, pieces);
    }
    // One with a list went the other way. A source that is the destination lies apart from the rest where that does.
    let source = if checked.is_in_place() { None } else { checked.source.span() }.unwrap_or_default();
    let CheckedWord { destination, iv, aad, mac, reverse, makes_nonce, .. } = *checked;
    // Clients mostly have the nonce and the tag in front of the output, in this order, so these lie apart. The rest has to lie apart from
    // the last two, and from a nonce that is written.
    let in_order = checked.opcode == Opcode::Aead
        && iv.end() <= u64::from(mac.at)
        && mac.end() <= u64::from(destination.at);
    let apart = if in_order {
        let all = u64::from(if makes_nonce { iv.at } else { mac.at })..destination.end();
        source.is_outside(&all) & aad.is_outside(&all)
    } else {
        let (out, tag) = (destination.range(), mac.range());
        let of_out =
            source.is_outside(&out) & iv.is_outside(&out) & aad.is_outside(&out) & mac.is_outside(&out);
        let of_tag = reverse | source.is_outside(&tag) & iv.is_outside(&tag) & aad.is_outside(&tag);
        of_out & of_tag & !makes_nonce
    };
    // Something empty may lie inside something else.
    if apart { Ok(()) } else { no_overlap_of_all(*checked, *word, pieces) }
}

/// Checks the same for all that a word can name. It takes its arguments by value, so that the common path need not have them
/// in memory.
#[cold]
#[inline(never)]
fn no_overlap_of_all(checked: CheckedWord, word: ControlWord, pieces: &Pieces) -> Result<(), Status> {
    let (written_mac, read_mac) =
        if checked.reverse { (Span::default(), checked.mac) } else { (checked.mac, Span::default()) };
    let source = match checked.source.span() {
        Some(_) if checked.is_in_place() => Span::default(),
        Some(source) => source,
        None => gather_list(word.source, word.source_len),
    };
    let (made_iv, given_iv) =
        if checked.makes_nonce { (checked.iv, Span::default()) } else { (Span::default(), checked.iv) };
    let in_arena = |key| if let KeyAt::Arena(span) = key { span } else { Span::default() };
    let inputs = [source, given_iv, checked.aad, read_mac, in_arena(checked.key), in_arena(checked.mac_key)];
    let outputs = [checked.destination, written_mac, checked.state, made_iv];
    let mut overlap = false;
    for (index, output) in outputs.into_iter().enumerate() {
        for other in &outputs[..index] {
            overlap |= output.overlaps(*other);
        }
        for input in inputs.iter().chain(pieces) {
            overlap |= output.overlaps(*input);
        }
    }
    if overlap { Err(Status::Overlap) } else { Ok(()) }
}
