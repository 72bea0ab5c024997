//! Two peers of str0m and the wire between them, in one process and with a clock of their own.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::crypto::CryptoProvider;
use str0m::media::{Direction, KeyframeRequestKind, MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};

/// The time between two looks at a peer.
const TICK: Duration = Duration::from_millis(5);

/// A peer, and what has come to it.
pub struct Peer {
    pub rtc: Rtc,
    address: SocketAddr,
    /// The datagrams on their way to it.
    wire: VecDeque<Vec<u8>>,
    /// The frames that it received, in order.
    pub frames: Vec<Vec<u8>>,
    /// The requests for key frames that it received, each in a packet of RTCP.
    pub requests: usize,
    /// The packets of RTP and of RTCP that were sent to it.
    pub sent_to: [usize; 2],
}

impl Peer {
    fn new(provider: CryptoProvider, number: u8, now: Instant) -> Self {
        let mut rtc = Rtc::builder().set_crypto_provider(Arc::new(provider)).build(now);
        let address = SocketAddr::from((Ipv4Addr::new(192, 0, 2, number), 5000));
        rtc.add_local_candidate(Candidate::host(address, "udp").unwrap()).expect("it is the first");
        Peer { rtc, address, wire: VecDeque::new(), frames: Vec::new(), requests: 0, sent_to: [0; 2] }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::MediaData(media) => self.frames.push(media.data.to_vec()),
            Event::KeyframeRequest(_) => self.requests += 1,
            _ => {}
        }
    }
}

/// Two peers that have a media line in common.
pub struct Pair {
    pub peers: [Peer; 2],
    pub mid: Mid,
    pub payload: Pt,
    now: Instant,
    begin: Instant,
}

impl Pair {
    /// Connects two peers, which make a handshake of DTLS.
    pub fn connect(providers: [CryptoProvider; 2], kind: MediaKind) -> Self {
        let now = Instant::now();
        let [first, second] = providers;
        let mut peers = [Peer::new(first, 1, now), Peer::new(second, 2, now)];
        let mut change = peers[0].rtc.sdp_api();
        let mid = change.add_media(kind, Direction::SendRecv, None, None, None);
        let (offer, pending) = change.apply().expect("a media line was added");
        let answer = peers[1].rtc.sdp_api().accept_offer(offer).unwrap();
        peers[0].rtc.sdp_api().accept_answer(pending, answer).unwrap();
        let mut payload = None;
        for params in peers[0].rtc.codec_config().params() {
            if params.spec().codec.kind() == kind && payload.is_none() {
                payload = Some(params.pt());
            }
        }
        let payload = payload.expect("a codec of each kind is on from the start");
        let mut pair = Pair { peers, mid, payload, now, begin: now };
        // Ten seconds of the peers' own clock.
        for _ in 0..2000 {
            if pair.peers.iter().all(|peer| peer.rtc.is_connected()) {
                return pair;
            }
            pair.tick(&mut |_, _| {});
        }
        panic!("the peers are not connected");
    }

    /// Has a peer send a frame.
    pub fn write(&mut self, from: usize, frame: Vec<u8>) {
        let time = self.now.duration_since(self.begin).into();
        let writer = self.peers[from].rtc.writer(self.mid).expect("there is a media line");
        writer.write(self.payload, self.now, time, frame).expect("the frame can be sent");
    }

    /// Has a peer ask for a key frame, by a packet of RTCP.
    pub fn ask(&mut self, from: usize) {
        let mut writer = self.peers[from].rtc.writer(self.mid).expect("there is a media line");
        writer
            .request_keyframe(None, KeyframeRequestKind::Pli)
            .expect("packets have come, and this is video");
    }

    /// Lets time pass. The function sees each packet of media on its way to a peer, whose number it is given.
    pub fn tick(&mut self, on_the_wire: &mut dyn FnMut(usize, &mut Vec<u8>)) {
        self.now += TICK;
        for at in [0, 1] {
            self.peers[at].rtc.handle_input(Input::Timeout(self.now)).unwrap();
            self.poll(at, on_the_wire);
            while let Some(datagram) = self.peers[at].wire.pop_front() {
                let contents = datagram.as_slice().try_into().expect("str0m knows its datagrams");
                let (source, destination) = (self.peers[1 - at].address, self.peers[at].address);
                let receive = Receive { proto: Protocol::Udp, source, destination, contents };
                self.peers[at].rtc.handle_input(Input::Receive(self.now, receive)).unwrap();
                self.poll(at, on_the_wire);
            }
        }
    }

    fn poll(&mut self, at: usize, on_the_wire: &mut dyn FnMut(usize, &mut Vec<u8>)) {
        loop {
            match self.peers[at].rtc.poll_output().unwrap() {
                Output::Timeout(_) => return,
                Output::Event(event) => self.peers[at].take(event),
                Output::Transmit(transmit) => {
                    let mut datagram = transmit.contents.to_vec();
                    let to = &mut self.peers[1 - at];
                    if let Some(kind) = media(&datagram) {
                        to.sent_to[kind as usize] += 1;
                        on_the_wire(1 - at, &mut datagram);
                    }
                    to.wire.push_back(datagram);
                }
            }
        }
    }
}

/// The packets that SRTP protects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Rtp,
    Rtcp,
}

/// Tells a packet of media from those of STUN and DTLS, and RTCP from RTP (RFC 7983 §7, RFC 5761 §4).
pub fn media(datagram: &[u8]) -> Option<Media> {
    match datagram {
        [128..192, 192..224, ..] => Some(Media::Rtcp),
        [128..192, _, ..] => Some(Media::Rtp),
        _ => None,
    }
}
