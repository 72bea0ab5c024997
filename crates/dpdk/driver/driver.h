/*
 * The parts of the driver, and what they share.
 */

#ifndef MILLSTREAM_DRIVER_H
#define MILLSTREAM_DRIVER_H

#include <rte_ring.h>

#include "internal.h"
#include "millstream_dpdk.h"

/* The most operations that one call describes at a time. */
#define BURST 256

/* A device. */
struct device {
	/* The grant of a service; null where keys are in this process. */
	void *grant;
	unsigned int most_queue_pairs;
};

/* A session, which lies in DPDK's own. */
struct session {
	/* Keys and steps. */
	void *steps;
	uint16_t iv_offset, auth_iv_offset;
	uint8_t has_cipher, has_auth, is_aead;
	uint8_t cipher_in_bits, auth_in_bits;
};

/* A queue pair. Who enqueues and who dequeues may be two threads: the packets are of the one that describes operations. */
struct queue_pair {
	/* Operations that wait until they are dequeued. */
	struct rte_ring *waiting;
	/* The worker's side; null where keys are in this process. */
	void *lane;
	uint64_t enqueued, refused, dequeued, failed;
	/* The operations of a burst, as they are executed here or given to the worker. */
	struct millstream_packet packets[BURST];
	/* The operations of a burst that the worker has done. */
	struct millstream_packet ended[BURST];
	/* The sessions of operations that have none of their own. */
	struct session sessionless[BURST];
};

extern int driver_log;
#define LOG(level, ...) rte_log(RTE_LOG_##level, driver_log, "crypto_millstream: " __VA_ARGS__)

/* session.c */
const struct rte_cryptodev_capabilities *capabilities(void);
int session_bind(void *grant, struct rte_crypto_sym_xform *chain, struct session *session);
void session_unbind(struct session *session);

static inline struct session *session_of(struct rte_cryptodev_sym_session *session)
{
	return (struct session *)(void *)session->driver_priv_data;
}

/* packet.c */
int describe(struct rte_crypto_op *operation, const struct session *session, struct millstream_packet *packet);
uint32_t cpu_process(struct rte_cryptodev *device, struct rte_cryptodev_sym_session *session,
		     union rte_crypto_sym_ofs offsets, struct rte_crypto_sym_vec *vectors);

/* burst.c */
uint16_t enqueue(void *queue_pair, struct rte_crypto_op **operations, uint16_t count);
uint16_t dequeue(void *queue_pair, struct rte_crypto_op **operations, uint16_t count);
uint16_t enqueue_isolated(void *queue_pair, struct rte_crypto_op **operations, uint16_t count);
uint16_t dequeue_isolated(void *queue_pair, struct rte_crypto_op **operations, uint16_t count);

#endif
