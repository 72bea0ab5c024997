//! Many of Tink's streams at once, each of one segment: the messages of small files stand side by side in the lanes
//! of AES-GCM.

use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::aead::TAG;
use millstream_engines::gcm::{GcmJob, GcmLanes};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::tink::{Key, Stream};

/// The number of streams whose keys are held at a time. They stay in the second-level cache.
const TOGETHER: usize = 64;

/// A stream of one segment that is to be decrypted.
#[derive(Clone, Copy)]
pub struct Sealed<'a> {
    /// The key from which the stream's own key is derived.
    pub key: &'a Key,
    /// The associated data.
    pub associated_data: &'a [u8],
    /// The whole stream, with its header. Its length is that of a segment at most.
    pub bytes: &'a [u8],
}

/// Encrypts each message as [`tink::encrypt`](crate::tink::encrypt) does, as a stream of its own. A message is at
/// most as long as the first piece of [`plaintext`](crate::tink::Parameters::plaintext).
///
/// # Errors
/// Fails when the system gives no random bytes; [`Error::Limit`] when a message is longer than that.
pub fn seal_each(
    features: Features,
    key: &Key,
    associated_data: &[u8],
    messages: &[&[u8]],
) -> Result<Vec<Vec<u8>>, Error> {
    let most = key.parameters().plaintext().first;
    if let Some(long) = messages.iter().find(|message| message.len() > most) {
        return Err(too_long(long.len(), most));
    }
    let mut sealed = Vec::with_capacity(messages.len());
    for messages in messages.chunks(TOGETHER) {
        seal_together(features, key, associated_data, messages, &mut sealed)?;
    }
    Ok(sealed)
}

fn seal_together(
    features: Features,
    key: &Key,
    associated_data: &[u8],
    messages: &[&[u8]],
    sealed: &mut Vec<Vec<u8>>,
) -> Result<(), Error> {
    let len = key.parameters().header_len();
    let mut headers = vec![0; messages.len() * len];
    getrandom::fill(&mut headers)?;
    let mut streams = Vec::with_capacity(messages.len());
    let first = sealed.len();
    for (header, message) in headers.chunks_exact_mut(len).zip(messages) {
        header[0] = len as u8;
        streams.push(key.stream(features, header, associated_data)?);
        let mut bytes = Vec::with_capacity(len + message.len() + TAG);
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(message);
        sealed.push(bytes);
    }
    let nonces: Vec<_> = streams.iter().map(Stream::only_nonce).collect();
    let parts = streams.iter().zip(&nonces).zip(&mut sealed[first..]);
    let mut jobs: Vec<_> = parts
        .map(|((stream, nonce), bytes)| {
            GcmJob::new(&stream.gcm, nonce, &[], InOut::in_place(&mut bytes[len..]))
        })
        .collect();
    GcmLanes::new(features).seal(&mut jobs.iter_mut().collect::<Vec<_>>());
    let tags = jobs.iter().map(|job| job.result.map(|()| job.tag)).collect::<Result<Vec<_>, _>>()?;
    drop(jobs);
    for (bytes, tag) in sealed[first..].iter_mut().zip(tags) {
        bytes.extend_from_slice(&tag);
    }
    Ok(())
}

/// Decrypts each stream as [`tink::decrypt`](crate::tink::decrypt) does. An error in one does not touch the others.
pub fn open_each(features: Features, sealed: &[Sealed<'_>]) -> Vec<Result<Zeroizing<Vec<u8>>, Error>> {
    sealed.chunks(TOGETHER).flat_map(|sealed| open_together(features, sealed)).collect()
}

fn open_together(features: Features, sealed: &[Sealed<'_>]) -> Vec<Result<Zeroizing<Vec<u8>>, Error>> {
    let mut begun: Vec<_> = sealed.iter().map(|sealed| begin(features, sealed)).collect();
    let mut jobs: Vec<_> = begun
        .iter_mut()
        .flatten()
        .map(|Begun { stream, nonce, tag, data }| {
            let mut job = GcmJob::new(&stream.gcm, nonce, &[], InOut::in_place(data));
            job.tag = *tag;
            job
        })
        .collect();
    GcmLanes::new(features).open(&mut jobs.iter_mut().collect::<Vec<_>>());
    let mut results = jobs.iter().map(|job| job.result).collect::<Vec<_>>().into_iter();
    drop(jobs);
    let opened = |begun: Result<Begun, Error>| {
        let begun = begun?;
        // Every stream that was begun has a result.
        let result = results.next().unwrap_or(Err(millstream_engines::Error::Authentication));
        result.map(|()| begun.data).map_err(Stream::refused(0))
    };
    begun.into_iter().map(opened).collect()
}

/// A stream whose key was derived.
struct Begun {
    stream: Stream,
    nonce: [u8; 12],
    tag: [u8; TAG],
    data: Zeroizing<Vec<u8>>,
}

fn begin(features: Features, sealed: &Sealed<'_>) -> Result<Begun, Error> {
    let parameters = sealed.key.parameters();
    if sealed.bytes.len() > parameters.segment_bytes {
        return Err(too_long(sealed.bytes.len(), parameters.segment_bytes));
    }
    let mut header = vec![0; parameters.header_len()];
    let mut rest = sealed.bytes;
    sealed.key.read_header(&mut rest, &mut header)?;
    let stream = sealed.key.stream(features, &header, sealed.associated_data)?;
    let Some((data, tag)) = rest.split_last_chunk::<TAG>() else {
        return Err(Error::Tampered { segment: 0 });
    };
    let nonce = stream.only_nonce();
    Ok(Begun { stream, nonce, tag: *tag, data: Zeroizing::new(data.to_vec()) })
}

fn too_long(given: usize, most: usize) -> Error {
    Error::Limit { what: "bytes to a stream of one segment", given: given as u64, most: most as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tink::{self, Parameters};

    fn key() -> Key {
        let small = Parameters { segment_bytes: 4096, ..Parameters::AES256_1MB };
        Key::with_parameters(&[7; 32], small).unwrap()
    }

    /// Lengths around those of blocks and lanes, and the longest.
    fn messages(key: &Key) -> Vec<Vec<u8>> {
        let most = key.parameters().plaintext().first;
        let lengths = (0..300).chain([1000, 1024, 1025, most - 1, most]);
        lengths.map(|len| millstream_testkit::Random::new(len as u64).bytes(len)).collect()
    }

    #[test]
    fn each_stream_is_the_same_as_alone() {
        let (features, key) = (Features::hardware(), key());
        let messages = messages(&key);
        let all: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let sealed = seal_each(features, &key, b"aad", &all).unwrap();
        assert_eq!(sealed.len(), messages.len());
        for (sealed, message) in sealed.iter().zip(&messages) {
            let mut opened = Vec::new();
            tink::decrypt(features, &sealed[..], &mut opened, &key, b"aad").unwrap();
            assert_eq!(opened, *message);
        }
        let mut headers: Vec<_> = sealed.iter().map(|sealed| &sealed[..40]).collect();
        headers.sort_unstable();
        headers.dedup();
        assert_eq!(headers.len(), messages.len(), "each has a salt and a nonce prefix of its own");

        let streams = messages.iter().map(|message| {
            let mut sealed = Vec::new();
            tink::encrypt(features, &message[..], &mut sealed, &key, b"aad").unwrap();
            sealed
        });
        let streams: Vec<_> = streams.collect();
        let jobs = streams.iter().map(|bytes| Sealed { key: &key, associated_data: b"aad", bytes });
        let opened = open_each(features, &jobs.collect::<Vec<_>>());
        for (opened, message) in opened.into_iter().zip(&messages) {
            assert_eq!(*opened.unwrap(), *message);
        }
    }

    #[test]
    fn a_bad_stream_fails_alone_and_as_it_does_alone() {
        let (features, key) = (Features::hardware(), key());
        let messages = messages(&key);
        let all: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
        let mut sealed = seal_each(features, &key, b"", &all).unwrap();
        sealed[0][0] ^= 1;
        sealed[10][45] ^= 1;
        sealed[20].truncate(39);
        sealed[30].truncate(50);
        sealed[40].push(0);
        sealed[50].clear();
        let jobs = sealed.iter().map(|bytes| Sealed { key: &key, associated_data: b"", bytes });
        for (n, opened) in open_each(features, &jobs.collect::<Vec<_>>()).into_iter().enumerate() {
            let alone = tink::decrypt(features, &sealed[n][..], std::io::sink(), &key, b"");
            assert_eq!(alone.is_err(), n <= 50 && n % 10 == 0, "{n}");
            match (opened, alone) {
                (Ok(opened), Ok(())) => assert_eq!(*opened, messages[n]),
                (opened, alone) => {
                    assert_eq!(opened.unwrap_err().to_string(), alone.unwrap_err().to_string());
                }
            }
        }
    }

    #[test]
    fn what_needs_two_segments_is_refused() {
        let (features, key) = (Features::hardware(), key());
        let long = vec![0; key.parameters().plaintext().first + 1];
        assert!(matches!(seal_each(features, &key, b"", &[&long]), Err(Error::Limit { .. })));
        let mut sealed = Vec::new();
        tink::encrypt(features, &long[..], &mut sealed, &key, b"").unwrap();
        let sealed = Sealed { key: &key, associated_data: b"", bytes: &sealed };
        assert!(matches!(open_each(features, &[sealed])[0], Err(Error::Limit { .. })));
    }
}
