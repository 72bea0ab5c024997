//! `millstream sparc --disassemble`: a program's instructions, as `objdump -d` shows them.

use std::io::{self, Write};

use millstream_ultrasparc::counts::glob;
use millstream_ultrasparc::isa;
use millstream_ultrasparc::program::{Code, Function, Program};

/// Writes the functions that match a pattern, or all code.
pub fn write(program: &Program, pattern: Option<&str>, to: &mut impl Write) -> io::Result<()> {
    for section in &program.sections {
        let mut listing = Listing { program, section, to };
        match pattern {
            None => listing.all()?,
            Some(pattern) => listing.matching(pattern)?,
        }
    }
    Ok(())
}

/// Returns true when a program has functions that match.
pub fn has_any(program: &Program, pattern: &str) -> bool {
    program.functions.iter().any(|function| glob(pattern, &function.name))
}

struct Listing<'a, W> {
    program: &'a Program,
    section: &'a Code,
    to: &'a mut W,
}

impl<W: Write> Listing<'_, W> {
    fn all(&mut self) -> io::Result<()> {
        writeln!(self.to, "\nSection {}:", self.section.name)?;
        let end = self.section.address + 4 * self.section.words.len() as u64;
        self.lines(self.section.address, end)
    }

    /// Writes the functions that match, each to its end. A function with several names is shown under the
    /// first.
    fn matching(&mut self, pattern: &str) -> io::Result<()> {
        let end = self.section.address + 4 * self.section.words.len() as u64;
        let mut done = None;
        for function in self.program.beginning_in(self.section.address, end) {
            if glob(pattern, &function.name) && done != Some(function.address) {
                done = Some(function.address);
                self.lines(function.address, self.end(function).min(end))?;
            }
        }
        Ok(())
    }

    /// Returns the end of a function, from the file, or else the beginning of the next one.
    fn end(&self, function: &Function) -> u64 {
        let next = self.program.beginning_in(function.address + 1, u64::MAX).first();
        match function.size {
            0 => next.map_or(u64::MAX, |next| next.address),
            size => function.address + size,
        }
    }

    fn lines(&mut self, start: u64, end: u64) -> io::Result<()> {
        let first = (start - self.section.address) as usize / 4;
        let words = self.section.words[first..].iter();
        let mut high = High::default();
        for (&word, address) in words.zip((start..end).step_by(4)) {
            for function in self.program.beginning_in(address, address + 1) {
                writeln!(self.to, "\n{address:016x} <{}>:", function.name)?;
            }
            let text = isa::disassemble(word, address);
            write!(self.to, "{address:8x}:  {word:08x}  {text}")?;
            if let Some(place) = text.target.and_then(|target| self.place(target)) {
                write!(self.to, " <{place}>")?;
            }
            if let Some(value) = high.with(word) {
                let place = self.place(value).map(|place| format!(" <{place}>")).unwrap_or_default();
                write!(self.to, "  ! {value:#x}{place}")?;
            }
            writeln!(self.to)?;
        }
        Ok(())
    }

    /// Formats an address like `main+0x10`.
    fn place(&self, address: u64) -> Option<String> {
        let function = self.program.function_at(address)?;
        match address - function.address {
            0 => Some(function.name.clone()),
            offset => Some(format!("{}+{offset:#x}", function.name)),
        }
    }
}

/// The register that the last `sethi` set, so that the instruction that adds the low bits can be explained.
#[derive(Default)]
struct High {
    register: u8,
    value: u64,
}

impl High {
    /// Takes note of one more instruction. Returns the whole value, if the instruction completes one.
    fn with(&mut self, word: u32) -> Option<u64> {
        let fields = isa::Word(word);
        let row = isa::find(word)?;
        if row.name == "sethi" {
            *self = High { register: fields.rd(), value: u64::from(word << 10) };
            return None;
        }
        let completes = ["or", "add"].contains(&row.name) && fields.i() && fields.rs1() == self.register;
        let value = self.value.wrapping_add(fields.signed(13));
        // The register no longer holds the high part.
        (completes && self.register != 0).then(|| {
            self.register = if fields.rd() == self.register { 0 } else { self.register };
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program() -> Program {
        // sethi %hi(0x1000), %o0; call twice; or %o0, 8, %o0 / retl; nop
        let words = vec![0x1100_0004, 0x4000_0002, 0x9012_2008, 0x81c3_e008, 0x0100_0000];
        let code = Code { name: ".text".into(), address: 0x1000, words };
        let function = |name: &str, address, size| Function { name: name.into(), address, size };
        Program {
            sections: vec![code],
            functions: vec![function("main", 0x1000, 12), function("twice", 0x100c, 0)],
            ..Program::default()
        }
    }

    fn listing(pattern: Option<&str>) -> String {
        let mut text = Vec::new();
        write(&program(), pattern, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn code_is_shown_with_symbols_and_targets() {
        let expected = "
Section .text:

0000000000001000 <main>:
    1000:  11000004  sethi  %hi(0x1000), %o0
    1004:  40000002  call  0x100c <twice>
    1008:  90122008  or  %o0, 8, %o0  ! 0x1008 <main+0x8>

000000000000100c <twice>:
    100c:  81c3e008  retl
    1010:  01000000  nop
";
        assert_eq!(listing(None), expected);
    }

    #[test]
    fn a_pattern_chooses_functions() {
        assert!(listing(Some("tw*")).starts_with("\n000000000000100c <twice>:\n    100c:"));
        assert!(listing(Some("main")).ends_with("<main+0x8>\n"));
        assert!(has_any(&program(), "t*") && !has_any(&program(), "x*"));
    }
}
