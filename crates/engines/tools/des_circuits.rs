//! Searches for small circuits for the S-boxes of DES and prints them as Rust.
//!
//! A circuit is found by recursion over truth tables, of which each is one word. The function wanted
//! is, on the inputs that matter, an existing gate; or one or two new gates over existing ones; or
//! else it is split on one input bit into two functions that matter on half of these inputs each,
//! and both are found the same way. Orders are random; the smallest circuit of many tries is kept.
//!
//! ```text
//! rustc -O --edition 2024 crates/engines/tools/des_circuits.rs -o target/des_circuits
//! target/des_circuits 25 | rustfmt --edition 2024 > target/circuits.rs   # seconds for each circuit
//! ```
//!
//! What was found in 25 seconds each is `src/des/circuits.rs`; longer searches find smaller ones. A
//! test in `src/des/slices.rs` checks it against the standard's tables for every input.

use std::fmt::Write;
use std::time::{Duration, Instant};

#[allow(dead_code)]
#[path = "../src/des/tables.rs"]
mod tables;

/// What one gate can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Base {
    /// AND, OR, XOR, AND-NOT of two values.
    Binary,
    /// Any function of three values.
    Ternary,
}

#[derive(Clone, Copy, Debug)]
enum Gate {
    Input,
    And(u8, u8),
    Or(u8, u8),
    Xor(u8, u8),
    /// `!a & b`.
    AndNot(u8, u8),
    Not(u8),
    /// Truth table in the order of the vpternlog immediate.
    Lut(u8, u8, u8, u8),
}

#[derive(Clone)]
struct Circuit {
    gates: Vec<(Gate, u64)>,
}

struct Search {
    base: Base,
    seed: u64,
    /// Gates allowed, inputs counted.
    limit: usize,
}

impl Search {
    fn random(&mut self, below: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) as usize % below
    }

    fn shuffled(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            let j = self.random(i + 1);
            order.swap(i, j);
        }
        order
    }

    fn add(&self, c: &mut Circuit, gate: Gate) -> Option<u8> {
        let v = |i: u8| c.gates[i as usize].1;
        let value = match gate {
            Gate::Input => unreachable!(),
            Gate::And(a, b) => v(a) & v(b),
            Gate::Or(a, b) => v(a) | v(b),
            Gate::Xor(a, b) => v(a) ^ v(b),
            Gate::AndNot(a, b) => !v(a) & v(b),
            Gate::Not(a) => !v(a),
            Gate::Lut(f, a, b, d) => lut(f, v(a), v(b), v(d)),
        };
        if let Some(i) = c.gates.iter().position(|g| g.1 == value) {
            return Some(i as u8);
        }
        if c.gates.len() >= self.limit {
            return None;
        }
        c.gates.push((gate, value));
        Some(c.gates.len() as u8 - 1)
    }

    /// A gate that equals `want` where `mask` is set.
    fn find(&mut self, c: &mut Circuit, want: u64, mask: u64, used: u8) -> Option<u8> {
        let n = c.gates.len();
        let order = self.shuffled(n);
        for &i in &order {
            if (c.gates[i].1 ^ want) & mask == 0 {
                return Some(i as u8);
            }
        }
        if n >= self.limit {
            return None;
        }
        match self.base {
            Base::Binary => {
                if let Some(g) = self.pair(c, &order, want, mask) {
                    return self.add(c, g);
                }
                if n + 2 <= self.limit {
                    if let Some((g, with)) = self.triple(c, &order, want, mask) {
                        let i = self.add(c, g)?;
                        return self.add(c, with(i));
                    }
                }
            }
            Base::Ternary => {
                if let Some(g) = lut3(c, &order, want, mask) {
                    return self.add(c, g);
                }
                if n + 2 <= self.limit {
                    if let Some((f, a, b, d, g, e, h)) = lut5(c, &order, want, mask) {
                        let i = self.add(c, Gate::Lut(f, a, b, d))?;
                        return self.add(c, Gate::Lut(g, i, e, h));
                    }
                }
            }
        }
        if n + 3 > self.limit {
            return None;
        }
        self.split(c, want, mask, used)
    }

    fn split(&mut self, c: &mut Circuit, want: u64, mask: u64, used: u8) -> Option<u8> {
        let mut best: Option<(Circuit, u8)> = None;
        let saved = self.limit;
        let depth = used.count_ones();
        for bit in self.shuffled(6) {
            if used >> bit & 1 == 1 {
                continue;
            }
            let b = bit as u8;
            let x = c.gates[bit].1;
            let forms = if self.base == Base::Ternary { 2 } else { 6 };
            for form in self.shuffled(forms) {
                if self.base == Base::Binary && depth == 0 && self.random(3) > 0 {
                    continue;
                }
                let mut t = c.clone();
                let got = self.split_as(&mut t, want, mask, used | 1 << bit, b, x, form);
                if let Some(g) = got {
                    let better = best.as_ref().is_none_or(|(k, _)| t.gates.len() < k.gates.len());
                    if better {
                        self.limit = t.gates.len().saturating_sub(1);
                        best = Some((t, g));
                    }
                }
            }
        }
        self.limit = saved;
        let (circuit, gate) = best?;
        *c = circuit;
        Some(gate)
    }

    fn split_as(
        &mut self,
        c: &mut Circuit,
        want: u64,
        mask: u64,
        used: u8,
        b: u8,
        x: u64,
        form: usize,
    ) -> Option<u8> {
        // The half found first; what is left to be added on the other.
        let first = if form & 1 == 0 { !x } else { x };
        let g = self.find(c, want, mask & first, used)?;
        let rest = mask & !first;
        let gv = c.gates[g as usize].1;
        if self.base == Base::Ternary {
            let h = self.find(c, want, rest, used)?;
            // b chooses h or g.
            let f = if form & 1 == 0 { 0xca } else { 0xac };
            return self.add(c, Gate::Lut(f, b, h, g));
        }
        // g where `first`; elsewhere g combined with h.
        match form >> 1 {
            0 => {
                let h = self.find(c, want ^ gv, rest, used)?;
                let h = self.add(c, if form & 1 == 0 { Gate::And(b, h) } else { Gate::AndNot(b, h) })?;
                self.add(c, Gate::Xor(g, h))
            }
            1 => {
                // want = g | h: only where g does not have a one too many.
                if gv & !want & rest != 0 {
                    return None;
                }
                let h = self.find(c, want, rest & !gv, used)?;
                let h = self.add(c, if form & 1 == 0 { Gate::And(b, h) } else { Gate::AndNot(b, h) })?;
                self.add(c, Gate::Or(g, h))
            }
            _ => {
                // want = g & !h.
                if !gv & want & rest != 0 {
                    return None;
                }
                let h = self.find(c, !want, rest & gv, used)?;
                let h = self.add(c, if form & 1 == 0 { Gate::And(b, h) } else { Gate::AndNot(b, h) })?;
                self.add(c, Gate::AndNot(h, g))
            }
        }
    }

    fn pair(&mut self, c: &Circuit, order: &[usize], want: u64, mask: u64) -> Option<Gate> {
        for (k, &i) in order.iter().enumerate() {
            let a = c.gates[i].1;
            if (!a ^ want) & mask == 0 {
                return Some(Gate::Not(i as u8));
            }
            for &j in &order[..k] {
                if let Some(g) = binary(a, c.gates[j].1, i as u8, j as u8, want, mask) {
                    return Some(g);
                }
            }
        }
        None
    }

    /// Two gates over three values.
    fn triple(
        &mut self,
        c: &Circuit,
        order: &[usize],
        want: u64,
        mask: u64,
    ) -> Option<(Gate, impl Fn(u8) -> Gate + use<>)> {
        for (k, &i) in order.iter().enumerate() {
            for &j in &order[..k] {
                let (a, b) = (c.gates[i].1, c.gates[j].1);
                let (x, y) = (i as u8, j as u8);
                for (value, gate) in [
                    (a & b, Gate::And(x, y)),
                    (a | b, Gate::Or(x, y)),
                    (a ^ b, Gate::Xor(x, y)),
                    (!a & b, Gate::AndNot(x, y)),
                    (a & !b, Gate::AndNot(y, x)),
                ] {
                    for &l in order {
                        if let Some(g) = binary(value, c.gates[l].1, 255, l as u8, want, mask) {
                            return Some((gate, move |new: u8| rename(g, new)));
                        }
                    }
                }
            }
        }
        None
    }
}

fn rename(gate: Gate, new: u8) -> Gate {
    let r = |x: u8| if x == 255 { new } else { x };
    match gate {
        Gate::And(a, b) => Gate::And(r(a), r(b)),
        Gate::Or(a, b) => Gate::Or(r(a), r(b)),
        Gate::Xor(a, b) => Gate::Xor(r(a), r(b)),
        Gate::AndNot(a, b) => Gate::AndNot(r(a), r(b)),
        other => other,
    }
}

#[inline(always)]
fn binary(a: u64, b: u64, x: u8, y: u8, want: u64, mask: u64) -> Option<Gate> {
    if (a & b ^ want) & mask == 0 {
        return Some(Gate::And(x, y));
    }
    if ((a | b) ^ want) & mask == 0 {
        return Some(Gate::Or(x, y));
    }
    if (a ^ b ^ want) & mask == 0 {
        return Some(Gate::Xor(x, y));
    }
    if (!a & b ^ want) & mask == 0 {
        return Some(Gate::AndNot(x, y));
    }
    if (a & !b ^ want) & mask == 0 {
        return Some(Gate::AndNot(y, x));
    }
    None
}

fn lut(f: u8, a: u64, b: u64, c: u64) -> u64 {
    let mut out = 0;
    for i in 0..8 {
        if f >> i & 1 == 1 {
            out |= (if i & 4 != 0 { a } else { !a })
                & (if i & 2 != 0 { b } else { !b })
                & (if i & 1 != 0 { c } else { !c });
        }
    }
    out
}

/// The function of three values that is `want`, if there is one.
#[inline(always)]
fn function(a: u64, b: u64, c: u64, ones: u64, zeros: u64) -> Option<u8> {
    let mut f = 0;
    for i in 0..8 {
        let cell = (if i & 4 != 0 { a } else { !a })
            & (if i & 2 != 0 { b } else { !b })
            & (if i & 1 != 0 { c } else { !c });
        if cell & ones != 0 {
            if cell & zeros != 0 {
                return None;
            }
            f |= 1 << i;
        }
    }
    Some(f)
}

fn lut3(c: &Circuit, order: &[usize], want: u64, mask: u64) -> Option<Gate> {
    let (ones, zeros) = (want & mask, !want & mask);
    for (k, &i) in order.iter().enumerate() {
        let a = c.gates[i].1;
        for (l, &j) in order[..k].iter().enumerate() {
            let b = c.gates[j].1;
            // What two values already tell apart wrongly must be mended by the third.
            for &m in &order[..l] {
                if let Some(f) = function(a, b, c.gates[m].1, ones, zeros) {
                    return Some(Gate::Lut(f, i as u8, j as u8, m as u8));
                }
            }
        }
    }
    None
}

type Lut5 = (u8, u8, u8, u8, u8, u8, u8);

/// Two ternary gates over five values.
fn lut5(c: &Circuit, order: &[usize], want: u64, mask: u64) -> Option<Lut5> {
    let (ones, zeros) = (want & mask, !want & mask);
    let v = |i: usize| c.gates[i].1;
    let n = order.len();
    for i in 0..n {
        for j in 0..i {
            let (a, b) = (v(order[i]), v(order[j]));
            for k in 0..j {
                let d = v(order[k]);
                for l in 0..k {
                    let e = v(order[l]);
                    // Cells of four values that hold ones and zeros: a fifth must part each.
                    let mut mixed = [(0u64, 0u64); 16];
                    let mut count = 0;
                    for x in 0..16 {
                        let cell = (if x & 8 != 0 { a } else { !a })
                            & (if x & 4 != 0 { b } else { !b })
                            & (if x & 2 != 0 { d } else { !d })
                            & (if x & 1 != 0 { e } else { !e });
                        if cell & ones != 0 && cell & zeros != 0 {
                            mixed[count] = (cell & ones, cell & zeros);
                            count += 1;
                        }
                    }
                    'fifth: for m in 0..l {
                        let h = v(order[m]);
                        for &(o, z) in &mixed[..count] {
                            if (o & h != 0 && z & h != 0) || (o & !h != 0 && z & !h != 0) {
                                continue 'fifth;
                            }
                        }
                        if let Some(found) = lut5_of([i, j, k, l, m].map(|x| order[x]), c, ones, zeros) {
                            return Some(found);
                        }
                    }
                }
            }
        }
    }
    None
}

fn lut5_of(five: [usize; 5], c: &Circuit, ones: u64, zeros: u64) -> Option<Lut5> {
    let v = |i: usize| c.gates[i].1;
    for x in 0..5 {
        for y in 0..x {
            // x and y go into the outer gate, the others into the inner.
            let rest: Vec<usize> = (0..5).filter(|&z| z != x && z != y).map(|z| five[z]).collect();
            let (e, h) = (v(five[x]), v(five[y]));
            let (p, q, r) = (v(rest[0]), v(rest[1]), v(rest[2]));
            let mut cells = [0; 8];
            for (i, cell) in cells.iter_mut().enumerate() {
                *cell = (if i & 4 != 0 { p } else { !p })
                    & (if i & 2 != 0 { q } else { !q })
                    & (if i & 1 != 0 { r } else { !r });
            }
            // Inner functions up to complement.
            for f in 0..128u8 {
                let mut inner = 0;
                for i in 0..8 {
                    if f >> i & 1 == 1 {
                        inner |= cells[i];
                    }
                }
                if let Some(g) = function(inner, e, h, ones, zeros) {
                    return Some((
                        f,
                        rest[0] as u8,
                        rest[1] as u8,
                        rest[2] as u8,
                        g,
                        five[x] as u8,
                        five[y] as u8,
                    ));
                }
            }
        }
    }
    None
}

/// One try: all four outputs in random order.
fn attempt(search: &mut Search, s: usize) -> Option<(Circuit, [u8; 4])> {
    let mut c = Circuit { gates: Vec::new() };
    for bit in 0..6 {
        // Input bit 1 is the top one of the six.
        let value = (0..64).filter(|x| x >> (5 - bit) & 1 == 1).fold(0, |w, x| w | 1 << x);
        c.gates.push((Gate::Input, value));
    }
    let mut out = [0; 4];
    for q in search.shuffled(4) {
        out[q] = search.find(&mut c, tables::TRUTH[s][q], !0, 0)?;
    }
    Some((c, out))
}

fn print(base: Base, s: usize, circuit: &Circuit, out: [u8; 4]) -> String {
    let name = |i: u8| if i < 6 { format!("x{}", i + 1) } else { format!("g{}", i - 5) };
    // Gates that turned out unused.
    let mut live = vec![false; circuit.gates.len()];
    for &o in &out {
        live[o as usize] = true;
    }
    for i in (6..live.len()).rev() {
        if !live[i] {
            continue;
        }
        let uses: Vec<u8> = match circuit.gates[i].0 {
            Gate::Input => vec![],
            Gate::And(a, b) | Gate::Or(a, b) | Gate::Xor(a, b) | Gate::AndNot(a, b) => vec![a, b],
            Gate::Not(a) => vec![a],
            Gate::Lut(_, a, b, c) => vec![a, b, c],
        };
        for u in uses {
            live[u as usize] = true;
        }
    }
    let count = live[6..].iter().filter(|l| **l).count();
    let bound = match base {
        Base::Binary => "Slice",
        Base::Ternary => "Ternary",
    };
    let mut t = String::new();
    writeln!(t, "    /// S{}, {count} gates.", s + 1).unwrap();
    writeln!(t, "    #[inline(always)]").unwrap();
    writeln!(t, "    unsafe fn s{}<V: {bound}>([x1, x2, x3, x4, x5, x6]: [V; 6]) -> [V; 4] {{", s + 1)
        .unwrap();
    writeln!(t, "        // SAFETY: as the caller says.").unwrap();
    writeln!(t, "        unsafe {{").unwrap();
    for i in 6..live.len() {
        if !live[i] {
            continue;
        }
        let gate = match circuit.gates[i].0 {
            Gate::Input => unreachable!(),
            Gate::And(a, b) => format!("{}.and({})", name(a), name(b)),
            Gate::Or(a, b) => format!("{}.or({})", name(a), name(b)),
            Gate::Xor(a, b) => format!("{}.xor({})", name(a), name(b)),
            Gate::AndNot(a, b) => format!("{}.without({})", name(b), name(a)),
            Gate::Not(a) => format!("{}.not()", name(a)),
            Gate::Lut(f, a, b, c) => format!("V::lut::<{f:#04x}>({}, {}, {})", name(a), name(b), name(c)),
        };
        writeln!(t, "            let {} = {gate};", name(i as u8)).unwrap();
    }
    writeln!(t, "            [{}]", out.map(name).join(", ")).unwrap();
    writeln!(t, "        }}\n    }}").unwrap();
    t
}

fn main() {
    let seconds: u64 = std::env::args().nth(1).map_or(10, |a| a.parse().expect("seconds"));
    println!("//! Circuits for the S-boxes: generated by `tools/des_circuits.rs`, not to be edited.");
    println!("//!\n//! # Safety\n//! The values' features exist, as their kernel's entry point has them.");
    println!("#![allow(unsafe_code)]");
    for base in [Base::Binary, Base::Ternary] {
        let (module, bound, doc) = match base {
            Base::Binary => ("binary", "Slice", "Gates of two inputs."),
            Base::Ternary => (
                "ternary",
                "Ternary",
                "Gates of three inputs, any function.\n#[cfg(any(test, target_arch = \"x86_64\"))]",
            ),
        };
        println!("\n/// {doc}\npub(super) mod {module} {{\n    use crate::des::slices::{bound};");
        for s in 0..8 {
            let mut best: Option<(Circuit, [u8; 4])> = None;
            let start = Instant::now();
            let mut tries = 0;
            while best.is_none() || start.elapsed() < Duration::from_secs(seconds) {
                tries += 1;
                let limit = best.as_ref().map_or(120, |(c, _)| c.gates.len() - 1);
                let mut search =
                    Search { base, seed: 0x9e37_79b9_7f4a_7c15 ^ ((s as u64) << 32 | tries), limit };
                if let Some(found) = attempt(&mut search, s) {
                    best = Some(found);
                    eprintln!(
                        "{module} S{} {} gates, try {tries}, {:?}",
                        s + 1,
                        best.as_ref().unwrap().0.gates.len() - 6,
                        start.elapsed()
                    );
                }
            }
            let (c, out) = best.unwrap();
            print!("\n{}", print(base, s, &c, out));
        }
        println!("    /// S-box `BOX + 1`.");
        println!("    #[inline(always)]");
        println!(
            "    pub(in crate::des) unsafe fn substitute<const BOX: usize, V: {bound}>(x: [V; 6]) -> [V; 4] {{"
        );
        println!("        // SAFETY: as the caller says.");
        println!("        unsafe {{\n            match BOX {{");
        for s in 0..8 {
            println!("                {} => s{}(x),", if s < 7 { s.to_string() } else { "_".into() }, s + 1);
        }
        println!("            }}\n        }}\n    }}");
        println!("}}");
    }
}
