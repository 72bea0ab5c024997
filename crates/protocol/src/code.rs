//! The encoding of messages as bytes.

use std::fmt;

use zeroize::Zeroizing;

/// The version. In version 1 there were no private keys, in version 2 no presignatures, in version 3 no tokens; in version 4 messages
/// had at most 4096 bytes.
pub const VERSION: u16 = 5;

/// The longest message, in bytes: an object of a token ([`MOST_OBJECT_BYTES`]) with all that goes beside it.
pub const MAX_BYTES: usize = 12 << 10;

/// The most bytes of an object of a token: its encoded attributes and its sealed key together.
///
/// The largest object that anybody has is an expanded private key of ML-DSA-87, of 4896 bytes, with its public key of 2614 and some hundred
/// bytes of names and usages; a certificate that such a key has signed for another is as large. The message around it has two
/// indices of a token, numbers and lengths besides, some 250 bytes in all.
pub const MOST_OBJECT_BYTES: usize = MAX_BYTES - 512;

/// The longest key that a client brings to a worker, in bytes: an expanded private key of ML-DSA-87 (FIPS 204 table 2) has 4896.
pub const MOST_KEY_BYTES: usize = 5 << 10;

/// Bytes that are zeroed when they are dropped, and left out of debug output.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes a copy.
    pub fn new(bytes: &[u8]) -> Self {
        Secret(Zeroizing::new(bytes.to_vec()))
    }

    /// Returns the bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

/// The reason why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The message ends too early, or goes on after its end.
    Length,
    /// The other side speaks another version.
    Version(u16),
    /// There is no such message on this channel.
    Kind(u16),
    /// A field has a value that it can't have.
    Value,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Length => f.write_str("a message of the wrong length"),
            Error::Version(theirs) => write!(
                f,
                "the other side speaks version {theirs} of the protocol and this one {VERSION}: use the same release"
            ),
            Error::Kind(kind) => write!(f, "no message has the number {kind} here"),
            Error::Value => f.write_str("a message with an impossible value"),
        }
    }
}

impl std::error::Error for Error {}

/// A message that fits in one packet.
pub trait Message: Sized {
    /// Encodes the message into bytes that are zeroed when dropped, because there may be keys in them. Texts
    /// and lists that make it longer than [`MAX_BYTES`] are the caller's mistake, which sending it reports.
    fn encode(&self) -> Zeroizing<Vec<u8>>;

    /// Decodes a message that takes up all of the bytes.
    ///
    /// # Errors
    /// Those of [`Error`].
    fn decode(bytes: &[u8]) -> Result<Self, Error>;
}

/// The bytes that have not been read yet.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Error::Length)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// A type that can be a field of a message.
pub(crate) trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(from: &mut Reader<'_>) -> Result<Self, Error>;
}

macro_rules! numbers {
    ($($number:ty),+) => {
        $(impl Field for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn get(from: &mut Reader<'_>) -> Result<Self, Error> {
                let bytes = from.take(size_of::<$number>())?;
                Ok(<$number>::from_le_bytes(bytes.try_into().map_err(|_| Error::Length)?))
            }
        })+
    };
}

numbers!(u8, u16, u32, u64, u128);

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Error> {
        match u8::get(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::Value),
        }
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    len.put(out);
    out.extend(&bytes[..usize::from(len)]);
}

fn get_bytes<'a>(from: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    let len = u16::get(from)?;
    from.take(usize::from(len))
}

impl Field for Secret {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(&self.0, out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Secret::new(get_bytes(from)?))
    }
}

impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(self.as_bytes(), out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Error> {
        let text = std::str::from_utf8(get_bytes(from)?).map_err(|_| Error::Value)?;
        Ok(text.to_owned())
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u16).put(out);
        self.iter().for_each(|each| each.put(out));
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Error> {
        let len = u16::get(from)?;
        // Nothing is reserved ahead, because the list may be shorter than it claims.
        (0..len).map(|_| T::get(from)).collect()
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(from: &mut Reader<'_>) -> Result<Self, Error> {
        Ok((A::get(from)?, B::get(from)?))
    }
}

/// Declares a structure of fields that is a field itself.
macro_rules! fields {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl $crate::code::Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::code::Field::put(&self.$field, out);)+
            }

            fn get(from: &mut $crate::code::Reader<'_>) -> Result<Self, $crate::code::Error> {
                Ok($name { $($field: $crate::code::Field::get(from)?,)+ })
            }
        }
    };
}

/// Declares the messages of one direction of a channel, each with its number.
macro_rules! messages {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$message_doc:meta])* $message:ident = $kind:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$message_doc])* $message { $($(#[$field_doc])* $field: $type,)* },)+
        }

        impl $crate::code::Message for $name {
            fn encode(&self) -> zeroize::Zeroizing<Vec<u8>> {
                let mut out = zeroize::Zeroizing::new(Vec::with_capacity($crate::code::MAX_BYTES));
                $crate::code::Field::put(&$crate::code::VERSION, &mut out);
                match self {
                    $($name::$message { $($field,)* } => {
                        $crate::code::Field::put(&($kind as u16), &mut out);
                        $($crate::code::Field::put($field, &mut out);)*
                    })+
                }
                out
            }

            fn decode(bytes: &[u8]) -> Result<Self, $crate::code::Error> {
                use $crate::code::{Error, Field, Reader, VERSION};
                let mut from = Reader(bytes);
                let version = u16::get(&mut from)?;
                if version != VERSION {
                    return Err(Error::Version(version));
                }
                let message = match u16::get(&mut from)? {
                    $($kind => $name::$message { $($field: <$type>::get(&mut from)?,)* },)+
                    kind => return Err(Error::Kind(kind)),
                };
                if from.0.is_empty() { Ok(message) } else { Err(Error::Length) }
            }
        }
    };
}

/// Declares an enumeration that is a field of 16 bits.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $crate::code::Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                let code: u16 = match self {
                    $($name::$variant => $code,)+
                };
                code.put(out);
            }

            fn get(from: &mut $crate::code::Reader<'_>) -> Result<Self, $crate::code::Error> {
                match u16::get(from)? {
                    $($code => Ok($name::$variant),)+
                    _ => Err($crate::code::Error::Value),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $($name::$variant => $text,)+
                })
            }
        }

        impl std::error::Error for $name {}
    };
}

pub(crate) use {fields, messages, numbered};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HandOver, KeyPurpose, KeyReply, KeyRequest, Order, Reply, Report, Request};
    use proptest::prelude::*;

    #[test]
    fn versions_are_told_apart_before_anything_else() {
        let mut bytes = Request::Status {}.encode().to_vec();
        bytes[0] = 9;
        bytes.push(1);
        assert_eq!(Request::decode(&bytes), Err(Error::Version(9)));
    }

    #[test]
    fn what_goes_on_or_ends_early_is_refused() {
        let bytes = KeyRequest::Import {
            algorithm: 0x11,
            exportable: true,
            purpose: KeyPurpose::default(),
            bytes: Secret::new(&[7; 16]),
        }
        .encode();
        for len in 0..bytes.len() {
            assert!(KeyRequest::decode(&bytes[..len]).is_err(), "{len}");
        }
        assert!(KeyRequest::decode(&bytes).is_ok());
        assert_eq!(KeyRequest::decode(&[&bytes[..], &[0]].concat()), Err(Error::Length));
    }

    #[test]
    fn secrets_are_not_shown() {
        let request = KeyRequest::Import {
            algorithm: 0x11,
            exportable: false,
            purpose: KeyPurpose::default(),
            bytes: Secret::new(&[0xab; 16]),
        };
        assert!(!format!("{request:?}").contains("171"));
    }

    proptest! {
        /// Any bytes: either no message, or one that gives the same bytes again.
        #[test]
        fn any_bytes_are_a_message_or_an_error(mut bytes: Vec<u8>, kind in 0_u8..24) {
            fn again<M: Message>(bytes: &[u8]) -> Option<bool> {
                M::decode(bytes).ok().map(|message| *message.encode() == bytes)
            }
            if bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&[VERSION as u8, 0, kind, 0]);
            }
            let all = [
                again::<Request>(&bytes), again::<Reply>(&bytes), again::<KeyRequest>(&bytes),
                again::<KeyReply>(&bytes), again::<Order>(&bytes), again::<Report>(&bytes), again::<HandOver>(&bytes),
            ];
            prop_assert!(!all.contains(&Some(false)));
        }
    }
}
