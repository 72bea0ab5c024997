//! No output of a word lies over anything else that the word names.

use millstream_cwq::{ControlWord, Flags, Opcode, Status};

use super::{CheckedWord, KeyAt, Pieces, gather_list};
use crate::arena::Span;
use crate::shape::ANY;

/// Checks that no output overlaps anything else that the word names, but for a destination that is the source.
#[inline(always)]
pub(super) fn no_overlap<const SHAPE: u64>(
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
