//! The fields of messages in protocol buffers, as far as keys have them.

/// Puts a number at the end of a message.
pub(crate) fn put_varint(message: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// The value of a field.
pub(crate) enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// An iterator over the fields of a message: varints and length-delimited ones, the only kinds in a keyset.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    /// The number and value of a field, or none where the message is damaged.
    type Item = Option<(u64, Field<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let key = self.varint()?;
        match key & 7 {
            0 => Some((key >> 3, Field::Number(self.varint()?))),
            2 => {
                let len = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(len)?;
                self.0 = rest;
                Some((key >> 3, Field::Bytes(bytes)))
            }
            _ => None,
        }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..63).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}
