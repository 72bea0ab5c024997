/*
 * The border between the driver and the archive of the Rust crate: see src/ffi.rs and src/packet.rs, which say more of each.
 */

#ifndef MILLSTREAM_DPDK_H
#define MILLSTREAM_DPDK_H

#include <stddef.h>
#include <stdint.h>

/* Lengths from min to max in steps of increment, in bytes. */
struct millstream_range {
	uint16_t min, max, increment;
};

/* An algorithm, by DPDK's numbers. */
struct millstream_row {
	uint32_t class, number;
	uint16_t block;
	struct millstream_range key, digest, aad, iv;
	uint16_t in_bits;
};

struct millstream_transform {
	uint32_t class, number, forward;
	uint16_t key_length, iv_length, tag_length, aad_length;
	const uint8_t *key;
};

/* Room for the reason for a refusal. */
struct millstream_message {
	char *text;
	size_t room;
};

enum millstream_packet_status {
	MILLSTREAM_GOOD,
	MILLSTREAM_AUTHENTICATION,
	MILLSTREAM_ARGUMENT,
	MILLSTREAM_FAILED,
};

/* How bytes in several pieces are reached. */
struct millstream_access {
	void (*read)(const void *pieces, uint32_t offset, uint8_t *to, uint32_t length);
	void (*write)(void *pieces, uint32_t offset, const uint8_t *from, uint32_t length);
};

/* An operation on a span of bytes; offsets of data count from the span's first byte, in bits for KASUMI. */
struct millstream_packet {
	const void *session;
	void *user;
	const uint8_t *source;
	uint8_t *destination;
	const void *source_pieces;
	void *destination_pieces;
	const struct millstream_access *access;
	const uint8_t *iv, *auth_iv, *aad;
	uint8_t *tag;
	uint32_t offset, length;
	uint32_t cipher_at, cipher_length;
	uint32_t auth_at, auth_length;
	uint32_t status;
	uint32_t tag_at;
};

_Static_assert(sizeof(struct millstream_row) == 36, "as in src/ffi.rs");
_Static_assert(sizeof(struct millstream_transform) == 32, "as in src/ffi.rs");
_Static_assert(sizeof(struct millstream_packet) == 120, "as in src/ffi.rs");
_Static_assert(offsetof(struct millstream_packet, tag) == 80, "as in src/ffi.rs");
_Static_assert(offsetof(struct millstream_packet, tag_at) == 116, "as in src/ffi.rs");

const struct millstream_row *millstream_dpdk_row(size_t place);
uint64_t millstream_dpdk_features(void);

int millstream_dpdk_session_new(const void *device, const struct millstream_transform *transforms, size_t count,
				void **session, const struct millstream_message *message);
void millstream_dpdk_session_free(void *session);
void millstream_dpdk_run(struct millstream_packet *packets, size_t count);

int millstream_dpdk_attach(const char *socket, uint32_t queue_pairs, void **device,
			   const struct millstream_message *message);
void millstream_dpdk_detach(void *device);
int millstream_dpdk_lane_new(const void *device, uint32_t descriptors, void **lane,
			     const struct millstream_message *message);
void millstream_dpdk_lane_free(void *lane);
size_t millstream_dpdk_room(const void *lane);
size_t millstream_dpdk_submit(const void *lane, const struct millstream_packet *packets, size_t count);
size_t millstream_dpdk_poll(const void *lane, struct millstream_packet *packets, size_t count);

#endif
