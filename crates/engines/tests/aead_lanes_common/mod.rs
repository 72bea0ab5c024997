//! Tests of AEADs whose messages stand side by side, for each of them the same. A macro writes them, because the engines' jobs
//! have fields of the same names and no trait in common.

/// Defines `rows`, `key`, `Message`, `job` and `check` for an engine, and the test that nothing outside the buffers is touched.
macro_rules! aead_lanes {
    (
        $Key:ident,
        $Lanes:ident,
        $Job:ident,
        $table:ident,
        $name:literal,
        key of $key_len:literal bytes,
        lengths to 200 and $longer:expr
    ) => {
        fn rows() -> impl Iterator<Item = $Lanes> {
            let available = $table.available(Features::hardware());
            available.filter(|row| executes($name, row.kernel().name)).map($Lanes::with_kernel)
        }

        fn key(bytes: &[u8]) -> $Key {
            $Key::new(Features::hardware(), bytes).unwrap()
        }

        /// One message, and what it should become.
        #[derive(Clone, Debug)]
        struct Message {
            key: usize,
            nonce: Vec<u8>,
            aad: Vec<u8>,
            plain: Vec<u8>,
            cipher: Vec<u8>,
            tag: [u8; 16],
        }

        impl Message {
            /// Sealed by the key's own kernel.
            fn new(keys: &[$Key], key: usize, nonce: Vec<u8>, aad: Vec<u8>, plain: Vec<u8>) -> Self {
                let (mut cipher, mut tag) = (plain.clone(), [0; 16]);
                keys[key].seal(&nonce, &aad, InOut::in_place(&mut cipher), &mut tag).unwrap();
                Message { key, nonce, aad, plain, cipher, tag }
            }

            fn random(random: &mut Random, keys: &[$Key], key: usize, aad: usize, len: usize) -> Self {
                let (nonce, aad, plain) = (random.bytes(12), random.bytes(aad), random.bytes(len));
                Message::new(keys, key, nonce, aad, plain)
            }
        }

        fn job<'a>(keys: &'a [$Key], message: &'a Message, data: InOut<'a>) -> $Job<'a> {
            $Job::new(&keys[message.key], &message.nonce, &message.aad, data)
        }

        /// Seals every other message in place, opens the others in place, and looks at all of it.
        fn check(lanes: $Lanes, keys: &[$Key], messages: &[Message]) {
            let row = lanes.kernel().name;
            for in_place in [false, true] {
                let place = |i: usize| i.is_multiple_of(2) == in_place;
                let mut buffers: Vec<Vec<u8>> = messages
                    .iter()
                    .enumerate()
                    .map(|(i, m)| if place(i) { m.plain.clone() } else { vec![0xee; m.plain.len()] })
                    .collect();
                let mut jobs: Vec<$Job> = buffers
                    .iter_mut()
                    .zip(messages)
                    .enumerate()
                    .map(|(i, (buffer, m))| {
                        let data = if place(i) {
                            InOut::in_place(buffer)
                        } else {
                            InOut::separate(&m.plain, buffer).unwrap()
                        };
                        job(keys, m, data)
                    })
                    .collect();
                lanes.seal(&mut jobs.iter_mut().collect::<Vec<_>>());
                let tags: Vec<[u8; 16]> = jobs.iter().map(|job| job.tag).collect();
                assert!(jobs.iter().all(|job| job.result == Ok(())), "{row}");
                for (i, m) in messages.iter().enumerate() {
                    let at = || format!("{row}: message {i} of {}, {} bytes", messages.len(), m.plain.len());
                    assert!(buffers[i] == m.cipher && tags[i] == m.tag, "{}", at());
                }

                let mut outputs: Vec<Vec<u8>> = messages.iter().map(|m| vec![0xee; m.plain.len()]).collect();
                let mut jobs: Vec<$Job> = buffers
                    .iter_mut()
                    .zip(&mut outputs)
                    .zip(messages)
                    .enumerate()
                    .map(|(i, ((buffer, output), m))| {
                        let data = if place(i) {
                            InOut::separate(&m.cipher, output).unwrap()
                        } else {
                            InOut::in_place(buffer)
                        };
                        let mut job = job(keys, m, data);
                        job.tag = m.tag;
                        job
                    })
                    .collect();
                lanes.open(&mut jobs.iter_mut().collect::<Vec<_>>());
                assert!(jobs.iter().all(|job| job.result == Ok(())), "{row}");
                for (i, m) in messages.iter().enumerate() {
                    let opened = if place(i) { &outputs[i] } else { &buffers[i] };
                    assert!(*opened == m.plain, "{row}: message {i} of {}", messages.len());
                }
            }
        }

        #[test]
        fn nothing_outside_the_buffers_is_touched() {
            let mut random = Random::new(6);
            let keys = [key(&random.bytes($key_len)), key(&random.bytes($key_len))];
            for len in (0..=200).chain($longer) {
                for different in [0, 1] {
                    let messages: Vec<Message> = (0..WIDTH)
                        .map(|i| Message::random(&mut random, &keys, i * different % 2, len % 18, len))
                        .collect();
                    for lanes in rows() {
                        let guard = if len % 2 == 0 { Guarded::at_end } else { Guarded::at_start };
                        let plains: Vec<Guarded> = messages.iter().map(|m| guard(&m.plain)).collect();
                        let aads: Vec<Guarded> = messages.iter().map(|m| guard(&m.aad)).collect();
                        let nonces: Vec<Guarded> = messages.iter().map(|m| guard(&m.nonce)).collect();
                        let mut outputs: Vec<Guarded> =
                            messages.iter().map(|m| guard(&vec![0; m.plain.len()])).collect();
                        let mut jobs: Vec<$Job> = outputs
                            .iter_mut()
                            .enumerate()
                            .map(|(i, output)| {
                                let data = InOut::separate(&plains[i], output).unwrap();
                                $Job::new(&keys[messages[i].key], &nonces[i], &aads[i], data)
                            })
                            .collect();
                        lanes.seal(&mut jobs.iter_mut().collect::<Vec<_>>());
                        for (job, m) in jobs.iter_mut().zip(&messages) {
                            assert!(job.data.output() == m.cipher && job.tag == m.tag, "{len} bytes");
                        }
                        let mut jobs: Vec<$Job> = outputs
                            .iter_mut()
                            .enumerate()
                            .map(|(i, output)| {
                                let mut job = $Job::new(
                                    &keys[messages[i].key],
                                    &nonces[i],
                                    &aads[i],
                                    InOut::in_place(output),
                                );
                                job.tag = messages[i].tag;
                                job
                            })
                            .collect();
                        lanes.open(&mut jobs.iter_mut().collect::<Vec<_>>());
                        for (job, m) in jobs.iter_mut().zip(&messages) {
                            assert!(job.result.is_ok() && job.data.output() == m.plain, "{len} bytes");
                        }
                    }
                }
            }
        }
    };
}
