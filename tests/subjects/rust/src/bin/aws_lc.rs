//! AWS-LC, which obeys OPENSSL_ia32cap.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};
use millstream_subjects::{KEY, NONCE, main as run};

fn main() {
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).expect("16 bytes"));
    run(
        |buffer| {
            let nonce = Nonce::assume_unique_for_key(NONCE);
            let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), buffer).expect("it is short");
            tag.as_ref().try_into().expect("16 bytes")
        },
        |input| digest(&SHA256, input).as_ref().try_into().expect("32 bytes"),
    );
}
