//! The attributes of an object, as the program gave and sees them: a value in bytes for each type.
//!
//! A template may have a secret in it, so all values are zeroised on drop.
//!
//! Ref. PKCS #11 v3.2 §4.

use std::collections::BTreeMap;

use cryptoki_sys::*;
use zeroize::Zeroizing;

use crate::refusal::{Outcome, Refusal, demand, refuse};

/// The most bytes of all attributes of one object.
pub const MOST_BYTES: usize = 32 << 10;

/// The attributes of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<CK_ATTRIBUTE_TYPE, Zeroizing<Vec<u8>>>);

impl Attributes {
    /// Takes the attributes of a template.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCONSISTENT` when it has two values for a type, `CKR_ATTRIBUTE_VALUE_INVALID` when they are too long.
    pub fn from_template(template: &[(CK_ATTRIBUTE_TYPE, &[u8])]) -> Outcome<Self> {
        let mut attributes = Attributes::default();
        let mut total = 0usize;
        for (kind, value) in template {
            total = total.saturating_add(value.len());
            demand(total <= MOST_BYTES, CKR_ATTRIBUTE_VALUE_INVALID)?;
            let before = attributes.0.insert(*kind, Zeroizing::new(value.to_vec()));
            demand(before.is_none_or(|before| before[..] == **value), CKR_TEMPLATE_INCONSISTENT)?;
        }
        Ok(attributes)
    }

    /// Returns the value of a type.
    pub fn get(&self, kind: CK_ATTRIBUTE_TYPE) -> Option<&[u8]> {
        self.0.get(&kind).map(|value| value.as_slice())
    }

    /// Returns a value that is not empty.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE`.
    pub fn required(&self, kind: CK_ATTRIBUTE_TYPE) -> Outcome<&[u8]> {
        self.get(kind).filter(|value| !value.is_empty()).ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))
    }

    /// Returns a flag; none when it has no value.
    ///
    /// # Errors
    /// `CKR_ATTRIBUTE_VALUE_INVALID` for anything but one byte that is 0 or 1.
    pub fn flag(&self, kind: CK_ATTRIBUTE_TYPE) -> Outcome<Option<bool>> {
        match self.get(kind) {
            None => Ok(None),
            Some([0]) => Ok(Some(false)),
            Some([1]) => Ok(Some(true)),
            Some(_) => refuse(CKR_ATTRIBUTE_VALUE_INVALID),
        }
    }

    /// Returns true for a flag that is set. Attributes of finished objects have been checked.
    pub fn is(&self, kind: CK_ATTRIBUTE_TYPE) -> bool {
        self.get(kind) == Some(&[1])
    }

    /// Returns a number; none when it has no value.
    ///
    /// # Errors
    /// `CKR_ATTRIBUTE_VALUE_INVALID` for another length than that of a `CK_ULONG`.
    pub fn number(&self, kind: CK_ATTRIBUTE_TYPE) -> Outcome<Option<CK_ULONG>> {
        let Some(value) = self.get(kind) else { return Ok(None) };
        let bytes = value.try_into().map_err(|_| Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?;
        Ok(Some(CK_ULONG::from_ne_bytes(bytes)))
    }

    /// Returns an array of numbers, as `CKA_ALLOWED_MECHANISMS` is one; none when it has no value.
    ///
    /// # Errors
    /// `CKR_ATTRIBUTE_VALUE_INVALID` for a length that is no multiple of that of a `CK_ULONG`.
    pub fn numbers(&self, kind: CK_ATTRIBUTE_TYPE) -> Outcome<Option<Vec<CK_ULONG>>> {
        let Some(value) = self.get(kind) else { return Ok(None) };
        let (numbers, rest) = value.as_chunks();
        demand(rest.is_empty(), CKR_ATTRIBUTE_VALUE_INVALID)?;
        Ok(Some(numbers.iter().map(|bytes| CK_ULONG::from_ne_bytes(*bytes)).collect()))
    }

    /// Sets a value.
    pub fn set(&mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) {
        self.0.insert(kind, Zeroizing::new(value.to_vec()));
    }

    /// Sets a flag.
    pub fn set_flag(&mut self, kind: CK_ATTRIBUTE_TYPE, flag: bool) {
        self.set(kind, &[CK_BBOOL::from(flag)]);
    }

    /// Sets a number.
    pub fn set_number(&mut self, kind: CK_ATTRIBUTE_TYPE, number: CK_ULONG) {
        self.set(kind, &number.to_ne_bytes());
    }

    /// Sets a value where there is none.
    pub fn set_default(&mut self, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) {
        self.0.entry(kind).or_insert_with(|| Zeroizing::new(value.to_vec()));
    }

    /// Sets a flag where there is none.
    pub fn set_default_flag(&mut self, kind: CK_ATTRIBUTE_TYPE, flag: bool) {
        self.set_default(kind, &[CK_BBOOL::from(flag)]);
    }

    /// Takes a value out.
    pub fn take(&mut self, kind: CK_ATTRIBUTE_TYPE) -> Option<Zeroizing<Vec<u8>>> {
        self.0.remove(&kind)
    }

    /// Returns the class.
    pub fn class(&self) -> CK_OBJECT_CLASS {
        self.number(CKA_CLASS).ok().flatten().unwrap_or(CKO_VENDOR_DEFINED)
    }

    /// Returns all types and values, in the order of the types.
    pub fn iter(&self) -> impl Iterator<Item = (CK_ATTRIBUTE_TYPE, &[u8])> {
        self.0.iter().map(|(kind, value)| (*kind, value.as_slice()))
    }

    /// Returns true if the object has every value of a template.
    pub fn match_all(&self, template: &[(CK_ATTRIBUTE_TYPE, Vec<u8>)]) -> bool {
        template.iter().all(|(kind, value)| self.get(*kind) == Some(value.as_slice()))
    }

    /// Encodes the attributes for the store: for each the type, 8 bytes, the length, 4 bytes, both big-endian, and the value.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (kind, value) in &self.0 {
            bytes.extend(kind.to_be_bytes());
            bytes.extend((value.len() as u32).to_be_bytes());
            bytes.extend_from_slice(value);
        }
        bytes
    }

    /// Decodes what [`Attributes::encode`] gave; none when it can't be that.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut attributes = Attributes::default();
        while !bytes.is_empty() {
            let (kind, rest) = bytes.split_first_chunk()?;
            let (len, rest) = rest.split_first_chunk()?;
            let (value, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
            attributes.set(CK_ATTRIBUTE_TYPE::from_be_bytes(*kind), value);
            bytes = rest;
        }
        Some(attributes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_from_bytes_and_wrong_ones_do_not() {
        let mut attributes = Attributes::default();
        attributes.set(CKA_LABEL, b"server");
        attributes.set_number(CKA_CLASS, CKO_PRIVATE_KEY);
        attributes.set_flag(CKA_SIGN, true);
        attributes.set(CKA_ID, b"");
        let bytes = attributes.encode();
        assert_eq!(Attributes::decode(&bytes), Some(attributes));
        for cut in 1..bytes.len() {
            let whole = Attributes::decode(&bytes[..cut]).map(|read| read.encode().len());
            assert!(whole.is_none_or(|len| len == cut), "{cut}");
        }
    }

    #[test]
    fn a_template_with_two_values_for_a_type_is_none() {
        let twice: &[(CK_ATTRIBUTE_TYPE, &[u8])] = &[(CKA_ID, b"a"), (CKA_ID, b"b")];
        assert_eq!(Attributes::from_template(twice), refuse(CKR_TEMPLATE_INCONSISTENT));
        let same: &[(CK_ATTRIBUTE_TYPE, &[u8])] = &[(CKA_ID, b"a"), (CKA_ID, b"a")];
        assert!(Attributes::from_template(same).is_ok());
        let long = vec![0; MOST_BYTES + 1];
        assert_eq!(Attributes::from_template(&[(CKA_ID, &long)]), refuse(CKR_ATTRIBUTE_VALUE_INVALID));
    }
}
