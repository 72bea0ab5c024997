//! Ciphers on one object, in the directions that have no lanes.

use millstream_engines::modes::{BlockMode, ByteStream, Direction, StreamMode};
use millstream_engines::rc4::Rc4;
use millstream_engines::{Error, InOut, aes};

use crate::algorithms::every_algorithm;
use crate::key::CipherKey;
use crate::work::Alone;

macro_rules! alone_works {
    (
        ciphers { $($cipher:ident = $module:ident::$key:ident as $stored:ident {
            facts $facts:tt
            keys $keys:tt
            lanes $lanes:tt
            alone { $($direction:pat => $alone:ident;)? }
            slices $slices:ident
        })+ }
        $($rest:tt)+
    ) => {
        /// Runs a cipher on one object.
        pub(crate) fn run_alone(alone: &mut Alone<'_>) -> Result<(), Error> {
            let Alone { key, iv, direction, data } = alone;
            let (iv, data): (&mut [u8], InOut<'_>) = (&mut iv[..key.iv_len()], data.reborrow());
            match *key {
                $($(CipherKey::$cipher(key) => $alone(key, *direction, iv, data),)?)+
                // `cipher` makes no such work for a row without a function.
                key => unreachable!("{} has lanes in both directions", key.name()),
            }
        }
    };
}
every_algorithm!(alone_works);

fn pass<M: BlockMode>(key: &M, direction: Direction, iv: &mut [u8], data: InOut<'_>) -> Result<(), Error> {
    key.pass(direction, iv, data);
    Ok(())
}

fn stream<M: StreamMode>(key: &M, direction: Direction, iv: &mut [u8], data: InOut<'_>) -> Result<(), Error> {
    ByteStream::new(key, iv, direction)?.update(data);
    Ok(())
}

fn cfb_decrypt(key: &aes::Cfb, _: Direction, iv: &mut [u8], data: InOut<'_>) -> Result<(), Error> {
    key.decrypt(&iv.first_chunk().copied().unwrap_or_default(), data);
    Ok(())
}

/// Works on a copy of the state, so that every message begins the keystream anew.
fn rc4(key: &Rc4, _: Direction, _: &mut [u8], data: InOut<'_>) -> Result<(), Error> {
    key.clone().apply(data);
    Ok(())
}

fn xts(key: &aes::Xts, direction: Direction, iv: &mut [u8], data: InOut<'_>) -> Result<(), Error> {
    let tweak = iv.first_chunk().copied().unwrap_or_default();
    match direction {
        Direction::Encrypt => key.encrypt(&tweak, data),
        Direction::Decrypt => key.decrypt(&tweak, data),
    }
}
