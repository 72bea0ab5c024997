//! The chains of CMAC of many strings under one key, a block of each at a time.
//!
//! Ref. NIST SP 800-38B §6.2; RFC 5297 §2.4.

use crate::aes::vector::load_short;
use crate::aes::{Block, Forward, wipe};
use crate::cmac::double;

/// The chains that are under way side by side: as many blocks as the widest kernel of ECB takes at a time.
pub(super) const LANES: usize = 32;

/// One string: the blocks that are taken as they are, and one or two that the MAC changes.
#[derive(Clone, Copy)]
pub(super) struct Chain<'a> {
    pub(super) blocks: &'a [u8],
    ends: [Block; 2],
    /// The blocks in `ends` in use, or none for a chain that has nothing to do.
    count: usize,
    pub(super) value: Block,
}

impl<'a> Chain<'a> {
    pub(super) const NONE: Chain<'static> =
        Chain { blocks: &[], ends: [[0; 16]; 2], count: 0, value: [0; 16] };

    /// A component of the associated data.
    #[inline(always)]
    pub(super) fn of_component(bytes: &'a [u8], subkeys: &[Block; 2]) -> Self {
        let (blocks, last) = bytes.split_at(bytes.len().saturating_sub(1) & !15);
        Chain { blocks, ends: [last_block(last, subkeys), [0; 16]], count: 1, value: [0; 16] }
    }

    /// The text, with `d` XORed onto its end, or doubled and XORed onto the padded text if that is shorter than a block.
    #[inline(always)]
    pub(super) fn of_text(text: &'a [u8], d: Block, subkeys: &[Block; 2]) -> Self {
        let len = text.len();
        let Some(end) = text.last_chunk::<16>() else {
            let padded = load_short(text) | 0x80 << (8 * len);
            let block = xor(xor(double(d), padded.to_le_bytes()), subkeys[0]);
            return Chain { blocks: &[], ends: [block, [0; 16]], count: 1, value: [0; 16] };
        };
        // The last 16 bytes, changed, stand across the last two blocks unless the text has whole blocks.
        let changed = xor(*end, d);
        let rest = len % 16;
        if rest == 0 {
            let ends = [xor(changed, subkeys[0]), [0; 16]];
            return Chain { blocks: &text[..len - 16], ends, count: 1, value: [0; 16] };
        }
        let start = len - 16 - rest;
        let mut tail = [0; 32];
        tail[..16].copy_from_slice(&text[start..start + 16]);
        tail[rest..rest + 16].copy_from_slice(&changed);
        tail[rest + 16] = 0x80;
        let [first, second] = *tail.as_chunks().0 else { unreachable!("two blocks") };
        let ends = [first, xor(second, subkeys[1])];
        Chain { blocks: &text[..start], ends, count: 2, value: [0; 16] }
    }

    /// The last blocks.
    pub(super) fn ends(&self) -> &[Block] {
        &self.ends[..self.count]
    }

    pub(super) fn wipe(&mut self) {
        self.ends = [[0; 16]; 2];
        self.value = [0; 16];
        zeroize::optimization_barrier(self);
    }

    #[inline(always)]
    fn steps(&self) -> usize {
        self.blocks.len() / 16 + self.count
    }

    /// The block of step `i`.
    #[inline(always)]
    fn block(&self, i: usize) -> Block {
        let whole = self.blocks.len() / 16;
        if i < whole { self.blocks.as_chunks().0[i] } else { self.ends[(i - whole) & 1] }
    }
}

/// Computes the value of each chain, of which there are at most [`LANES`].
#[inline(always)]
pub(super) fn run(key: &Forward, chains: &mut [Chain<'_>]) {
    let mut states = [[0; 16]; LANES];
    let mut owners = [0; LANES];
    let mut live = 0;
    for (i, chain) in chains.iter().enumerate() {
        if chain.count > 0 {
            owners[live] = i;
            live += 1;
        }
    }
    let mut step = 0;
    while live > 0 {
        for (state, owner) in states[..live].iter_mut().zip(owners) {
            *state = xor(*state, chains[owner].block(step));
        }
        key.encrypt(&mut states[..live]);
        step += 1;
        let mut lane = live;
        while lane > 0 {
            lane -= 1;
            let chain = &mut chains[owners[lane]];
            if chain.steps() == step {
                chain.value = states[lane];
                live -= 1;
                (owners[lane], states[lane]) = (owners[live], states[live]);
            }
        }
    }
    wipe(&mut states);
}

/// SP 800-38B §6.2 step 4.
#[inline(always)]
fn last_block(bytes: &[u8], subkeys: &[Block; 2]) -> Block {
    match <Block>::try_from(bytes) {
        Ok(whole) => xor(whole, subkeys[0]),
        Err(_) => xor((load_short(bytes) | 0x80 << (8 * bytes.len())).to_le_bytes(), subkeys[1]),
    }
}

#[inline(always)]
pub(super) fn xor(a: Block, b: Block) -> Block {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}
