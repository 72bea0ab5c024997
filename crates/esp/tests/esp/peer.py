"""Opens and seals packets by scapy's IPsec layer, as lines on standard input say, one result a line."""

import sys

from scapy.all import ESP, IP, IPv6, Raw, SecurityAssociation

CIPHERS = {
    "rfc4106(gcm(aes))": "AES-GCM",
    "rfc7539esp(chacha20,poly1305)": "CHACHA20-POLY1305",
    "cbc(aes)": "AES-CBC",
    "rfc3686(ctr(aes))": "AES-CTR",
    "cbc(des3_ede)": "3DES",
}
HMACS = {
    "hmac(sha1)": "HMAC-SHA1-96",
    "hmac(sha256)": "SHA2-256-128",
    "hmac(sha384)": "SHA2-384-192",
    "hmac(sha512)": "SHA2-512-256",
}


def association(esn, words):
    """Makes an association of the words of `ip xfrm state`."""
    more = {"esn_en": True, "esn": esn} if esn else {}
    if words[0] == "enc":
        more.update(auth_algo=HMACS[words[4]], auth_key=bytes.fromhex(words[5][2:]))
    return SecurityAssociation(
        ESP,
        spi=0xC0DE0001,
        crypt_algo=CIPHERS[words[1]],
        crypt_key=bytes.fromhex(words[2][2:]),
        tunnel_header=IP(src="192.0.2.1", dst="192.0.2.2"),
        **more,
    )


def sealed(sa, number, inner):
    packet = IPv6(inner) if inner[0] >> 4 == 6 else IP(inner)
    return bytes(sa.encrypt(packet, seq_num=number & 0xFFFFFFFF)[ESP])


def opened(sa, packet):
    outer = IP(src="192.0.2.1", dst="192.0.2.2", proto=50) / Raw(packet)
    return bytes(sa.decrypt(IP(bytes(outer))))


for line in sys.stdin:
    kind, number, *rest = line.split()
    if kind == "sa":
        sa = association(int(number), rest)
    elif kind == "seal":
        print(sealed(sa, int(number), bytes.fromhex(rest[0])).hex())
    else:
        print(opened(sa, bytes.fromhex(rest[0])).hex())
