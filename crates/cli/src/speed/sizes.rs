//! Lengths of objects, as `--bytes` names them.

use std::fmt;

/// The lengths of `openssl speed`, in bytes.
pub const USUAL: &str = "16,64,256,1024,8192,16384";

/// The most cells; nobody waits for more, or reads them.
const MOST: usize = 4096;

/// The longest object, in bytes.
const LONGEST: usize = 1 << 26;

/// The Internet mix: 64, 576 and 1500 bytes, which are seven, four and one out of twelve packets. Long ones
/// are spread among the short.
const IMIX: [usize; 12] = [64, 576, 64, 64, 576, 64, 1500, 64, 576, 64, 576, 64];

/// The length of a cell's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// So many bytes each.
    Bytes(usize),
    /// The Internet mix.
    Imix,
}

impl Size {
    /// Returns the lengths of objects, which repeat. For the mix they are rounded up to whole blocks.
    pub fn pattern(self, block: usize) -> Vec<usize> {
        match self {
            Size::Bytes(bytes) => vec![bytes],
            Size::Imix => IMIX.iter().map(|bytes| bytes.next_multiple_of(block)).collect(),
        }
    }

    /// Returns the place on an axis: the mean, in bytes.
    pub fn mean_bytes(self, block: usize) -> f64 {
        let pattern = self.pattern(block);
        pattern.iter().sum::<usize>() as f64 / pattern.len() as f64
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(bytes) => f.pad(&bytes.to_string()),
            Size::Imix => f.pad("imix"),
        }
    }
}

/// Parses the value of `--bytes`: `64`, `64-1500:4` (each fourth), `16-16384:x2` (each twice the one before),
/// `imix`, or several with commas between.
///
/// # Errors
/// The mistake, and a correct form.
pub fn parse(text: &str) -> Result<Vec<Size>, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        match part {
            "imix" => sizes.push(Size::Imix),
            _ => range(part, &mut sizes)?,
        }
        if sizes.len() > MOST {
            return Err(format!("more than {MOST} lengths; take a longer step, as in 64-1500:16"));
        }
    }
    Ok(sizes)
}

fn range(part: &str, sizes: &mut Vec<Size>) -> Result<(), String> {
    let wrong = || format!("'{part}' is not a length; try 64, 64-1500:4, 16-16384:x2 or imix");
    let number = |text: &str| text.parse::<usize>().ok().filter(|&bytes| bytes > 0).ok_or_else(wrong);
    let (ends, step) = part.split_once(':').unwrap_or((part, "1"));
    let Some((first, last)) = ends.split_once('-') else {
        let bytes = if ends == part { number(part)? } else { return Err(wrong()) };
        sizes.push(Size::Bytes(short_enough(bytes)?));
        return Ok(());
    };
    let (mut at, last) = (number(first)?, short_enough(number(last)?)?);
    let (factor, step) = match step.strip_prefix('x') {
        Some(factor) => (number(factor)?, 0),
        None => (1, number(step)?),
    };
    if at > last || factor + step < 2 {
        return Err(wrong());
    }
    while at <= last && sizes.len() <= MOST {
        sizes.push(Size::Bytes(at));
        at = at.saturating_mul(factor) + step;
    }
    Ok(())
}

fn short_enough(bytes: usize) -> Result<usize, String> {
    match bytes <= LONGEST {
        true => Ok(bytes),
        false => Err(format!("{bytes} bytes: an object has at most {LONGEST}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<usize> {
        let sizes = parse(text).unwrap();
        sizes.iter().map(|size| if let Size::Bytes(bytes) = size { *bytes } else { 0 }).collect()
    }

    #[test]
    fn lists_ranges_and_the_mix() {
        assert_eq!(bytes(USUAL), [16, 64, 256, 1024, 8192, 16384]);
        assert_eq!(bytes("64-80:4,7"), [64, 68, 72, 76, 80, 7]);
        assert_eq!(bytes("1-3"), [1, 2, 3]);
        assert_eq!(bytes("16-100:x2"), [16, 32, 64]);
        assert_eq!(parse("imix,64"), Ok(vec![Size::Imix, Size::Bytes(64)]));
    }

    #[test]
    fn what_is_no_length() {
        for text in ["", "0", "x", "64-", "-64", "64-1500:0", "64:4", "9-8", "1-9:x1", "1-9:x", "-1", "1,,2"]
        {
            let error = parse(text).unwrap_err();
            assert!(error.contains("64-1500:4"), "{text}: {error}");
        }
        assert!(parse("1-100000").unwrap_err().contains("longer step"));
        assert!(parse("99999999999").unwrap_err().contains("at most"));
    }

    #[test]
    fn the_mix_has_seven_four_and_one_of_twelve() {
        let pattern = Size::Imix.pattern(1);
        let count = |bytes| pattern.iter().filter(|&&b| b == bytes).count();
        assert_eq!([count(64), count(576), count(1500)], [7, 4, 1]);
        assert_eq!(Size::Imix.pattern(16)[6], 1504);
    }
}
