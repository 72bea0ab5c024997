/*
 * Bursts: operations that are enqueued wait in a ring until they are dequeued, so that all that came in the meantime is executed side by
 * side; those of an isolated device go to a worker at once.
 */

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "driver.h"

static const uint8_t statuses[] = {
	[MILLSTREAM_GOOD] = RTE_CRYPTO_OP_STATUS_SUCCESS,
	[MILLSTREAM_AUTHENTICATION] = RTE_CRYPTO_OP_STATUS_AUTH_FAILED,
	[MILLSTREAM_ARGUMENT] = RTE_CRYPTO_OP_STATUS_INVALID_ARGS,
	[MILLSTREAM_FAILED] = RTE_CRYPTO_OP_STATUS_ERROR,
};

uint16_t enqueue(void *queue_pair, struct rte_crypto_op **operations, uint16_t count)
{
	struct queue_pair *pair = queue_pair;
	uint16_t taken = rte_ring_sp_enqueue_burst(pair->waiting, (void *const *)operations, count, NULL);
	pair->enqueued += taken;
	pair->refused += count - taken;
	return taken;
}

/* Finds the session of an operation; one without gets one of its own, which is freed with it. */
static struct session *session_for(struct rte_crypto_op *operation, struct session *own)
{
	if (operation->type != RTE_CRYPTO_OP_TYPE_SYMMETRIC)
		return NULL;
	if (operation->sess_type == RTE_CRYPTO_OP_WITH_SESSION && operation->sym->session != NULL)
		return session_of(operation->sym->session);
	if (operation->sess_type != RTE_CRYPTO_OP_SESSIONLESS || own == NULL || operation->sym->xform == NULL)
		return NULL;
	return session_bind(NULL, operation->sym->xform, own) == 0 ? own : NULL;
}

/* Has what the operations behind this one point to on its way to the caches. */
static inline void ahead(struct rte_crypto_op **operations, uint16_t i, uint16_t count)
{
	if (i + 8 < count)
		rte_prefetch0(operations[i + 8]);
	if (i + 4 < count)
		rte_prefetch0(operations[i + 4]->sym->m_src);
	if (i + 2 < count && operations[i + 2]->type == RTE_CRYPTO_OP_TYPE_SYMMETRIC && operations[i + 2]->sym->m_src != NULL)
		rte_prefetch0(rte_pktmbuf_mtod(operations[i + 2]->sym->m_src, void *));
}

/* Executes operations, and writes how each has ended. */
static void execute(struct queue_pair *pair, struct rte_crypto_op **operations, uint16_t count)
{
	uint16_t described = 0, sessions = 0;
	for (uint16_t i = 0; i < count; i++) {
		ahead(operations, i, count);
		struct session *own = &pair->sessionless[sessions], *session = session_for(operations[i], own);
		sessions += session == own;
		if (session == NULL || session->steps == NULL)
			operations[i]->status = RTE_CRYPTO_OP_STATUS_INVALID_SESSION;
		else if (!describe(operations[i], session, &pair->packets[described]))
			operations[i]->status = RTE_CRYPTO_OP_STATUS_INVALID_ARGS;
		else
			described++;
	}
	millstream_dpdk_run(pair->packets, described);
	uint16_t good = 0;
	for (uint16_t i = 0; i < described; i++) {
		struct rte_crypto_op *operation = pair->packets[i].user;
		operation->status = statuses[pair->packets[i].status];
		good += pair->packets[i].status == MILLSTREAM_GOOD;
	}
	while (sessions > 0)
		session_unbind(&pair->sessionless[--sessions]);
	pair->failed += count - good;
	pair->dequeued += count;
}

uint16_t dequeue(void *queue_pair, struct rte_crypto_op **operations, uint16_t count)
{
	struct queue_pair *pair = queue_pair;
	uint16_t taken = rte_ring_sc_dequeue_burst(pair->waiting, (void **)operations, count, NULL);
	for (uint16_t at = 0; at < taken; at += BURST)
		execute(pair, operations + at, RTE_MIN(taken - at, BURST));
	return taken;
}

/* Describes an operation for a worker. One that can't be described has no session, and comes back as wrong. */
static void describe_or_refuse(struct rte_crypto_op *operation, struct millstream_packet *packet)
{
	struct session *session = session_for(operation, NULL);
	operation->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
	if (session == NULL || !describe(operation, session, packet)) {
		packet->session = NULL;
		packet->user = operation;
	}
}

uint16_t enqueue_isolated(void *queue_pair, struct rte_crypto_op **operations, uint16_t count)
{
	struct queue_pair *pair = queue_pair;
	/* What there is no room for is not even looked at: whoever polls a full queue gives the same operations again and again. */
	uint16_t most = RTE_MIN(count, millstream_dpdk_room(pair->lane)), taken = 0, part, submitted;
	do {
		part = RTE_MIN(most - taken, BURST);
		for (uint16_t i = 0; i < part; i++) {
			ahead(operations + taken, i, part);
			describe_or_refuse(operations[taken + i], &pair->packets[i]);
		}
		submitted = millstream_dpdk_submit(pair->lane, pair->packets, part);
		taken += submitted;
	} while (submitted == BURST && taken < most);
	pair->enqueued += taken;
	pair->refused += count - taken;
	return taken;
}

uint16_t dequeue_isolated(void *queue_pair, struct rte_crypto_op **operations, uint16_t count)
{
	struct queue_pair *pair = queue_pair;
	uint16_t taken = 0, ended;
	do {
		ended = millstream_dpdk_poll(pair->lane, pair->ended, RTE_MIN(count - taken, BURST));
		for (uint16_t i = 0; i < ended; i++) {
			struct rte_crypto_op *operation = pair->ended[i].user;
			operation->status = statuses[pair->ended[i].status];
			pair->failed += operation->status != RTE_CRYPTO_OP_STATUS_SUCCESS;
			operations[taken++] = operation;
		}
	} while (ended == BURST && taken < count);
	pair->dequeued += taken;
	return taken;
}
