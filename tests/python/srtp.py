"""Protects packets with libsrtp2 and takes them apart again; prints each in hexadecimal."""

from pylibsrtp import Policy, Session

PROFILES = [
    (Policy.SRTP_PROFILE_AES128_CM_SHA1_80, 30),
    (Policy.SRTP_PROFILE_AES128_CM_SHA1_32, 30),
    (Policy.SRTP_PROFILE_AEAD_AES_128_GCM, 28),
    (Policy.SRTP_PROFILE_AEAD_AES_256_GCM, 44),
]

for profile, length in PROFILES:
    key = bytes(range(length))
    sender = Session(Policy(key=key, ssrc_type=Policy.SSRC_ANY_OUTBOUND, srtp_profile=profile))
    receiver = Session(Policy(key=key, ssrc_type=Policy.SSRC_ANY_INBOUND, srtp_profile=profile))
    for number in range(600):
        # Two sources take turns, and a packet in 50 is missing.
        if number % 50 == 49:
            continue
        source = (0xCAFE0000 + number // 40 % 2).to_bytes(4, "big")
        header = b"\x80\x08" + number.to_bytes(2, "big") + bytes(4) + source
        packet = header + bytes([number % 256]) * (160 + number)
        protected = sender.protect(packet)
        assert receiver.unprotect(protected) == packet
        print(protected.hex())
    for number in range(20):
        report = b"\x80\xc8\x00\x06" + (0xCAFE0000).to_bytes(4, "big") + bytes([number]) * 20
        protected = sender.protect_rtcp(report)
        assert receiver.unprotect_rtcp(protected) == report
        print(protected.hex())
