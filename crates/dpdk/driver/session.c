/*
 * Capabilities and sessions: DPDK's structures, made from and read for the crate's table of algorithms.
 */

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_log.h>

#include "driver.h"

/* The table has numbers of these enumerations, which only grow at their ends. */
_Static_assert(RTE_CRYPTO_SYM_XFORM_AUTH == 1 && RTE_CRYPTO_SYM_XFORM_CIPHER == 2 && RTE_CRYPTO_SYM_XFORM_AEAD == 3, "");
_Static_assert(RTE_CRYPTO_CIPHER_NULL == 1 && RTE_CRYPTO_CIPHER_3DES_CBC == 2 && RTE_CRYPTO_CIPHER_3DES_ECB == 4, "");
_Static_assert(RTE_CRYPTO_CIPHER_AES_CBC == 5 && RTE_CRYPTO_CIPHER_AES_CTR == 6 && RTE_CRYPTO_CIPHER_AES_ECB == 7, "");
_Static_assert(RTE_CRYPTO_CIPHER_AES_XTS == 9 && RTE_CRYPTO_CIPHER_KASUMI_F8 == 11 && RTE_CRYPTO_CIPHER_DES_CBC == 14, "");
_Static_assert(RTE_CRYPTO_AUTH_NULL == 1 && RTE_CRYPTO_AUTH_AES_CMAC == 3 && RTE_CRYPTO_AUTH_AES_GMAC == 4, "");
_Static_assert(RTE_CRYPTO_AUTH_KASUMI_F9 == 6 && RTE_CRYPTO_AUTH_MD5 == 7 && RTE_CRYPTO_AUTH_SHA1_HMAC == 10, "");
_Static_assert(RTE_CRYPTO_AUTH_SHA224 == 11 && RTE_CRYPTO_AUTH_SHA512_HMAC == 18, "");
_Static_assert(RTE_CRYPTO_AUTH_SHA3_224 == 21 && RTE_CRYPTO_AUTH_SHA3_512_HMAC == 28, "");
_Static_assert(RTE_CRYPTO_AEAD_AES_GCM == 2 && RTE_CRYPTO_AEAD_CHACHA20_POLY1305 == 3, "");

#define MOST_ALGORITHMS 64

static struct rte_cryptodev_capabilities list[MOST_ALGORITHMS + 1];

static struct rte_crypto_param_range range(struct millstream_range of)
{
	return (struct rte_crypto_param_range){.min = of.min, .max = of.max, .increment = of.increment};
}

static void fill(void)
{
	const struct millstream_row *row;
	for (size_t i = 0; i < MOST_ALGORITHMS && (row = millstream_dpdk_row(i)) != NULL; i++) {
		struct rte_cryptodev_symmetric_capability *sym = &list[i].sym;
		list[i].op = RTE_CRYPTO_OP_TYPE_SYMMETRIC;
		sym->xform_type = row->class;
		switch (row->class) {
		case RTE_CRYPTO_SYM_XFORM_CIPHER:
			sym->cipher.algo = row->number;
			sym->cipher.block_size = row->block;
			sym->cipher.key_size = range(row->key);
			sym->cipher.iv_size = range(row->iv);
			break;
		case RTE_CRYPTO_SYM_XFORM_AUTH:
			sym->auth.algo = row->number;
			sym->auth.block_size = row->block;
			sym->auth.key_size = range(row->key);
			sym->auth.digest_size = range(row->digest);
			sym->auth.aad_size = range(row->aad);
			sym->auth.iv_size = range(row->iv);
			break;
		default:
			sym->aead.algo = row->number;
			sym->aead.block_size = row->block;
			sym->aead.key_size = range(row->key);
			sym->aead.digest_size = range(row->digest);
			sym->aead.aad_size = range(row->aad);
			sym->aead.iv_size = range(row->iv);
			break;
		}
	}
}

/* Returns the list of capabilities, with the mark of its end. */
const struct rte_cryptodev_capabilities *capabilities(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, fill);
	return list;
}

static uint8_t is_in_bits(uint32_t class, uint32_t number)
{
	const struct millstream_row *row;
	for (size_t i = 0; (row = millstream_dpdk_row(i)) != NULL; i++) {
		if (row->class == class && row->number == number)
			return row->in_bits != 0;
	}
	return 0;
}

/* Reads a transform, and notes where its operations have what belongs to it. Returns 0 or a negative error number. */
static int transform(const struct rte_crypto_sym_xform *xform, struct session *session, struct millstream_transform *to)
{
	to->class = xform->type;
	switch (xform->type) {
	case RTE_CRYPTO_SYM_XFORM_CIPHER: {
		const struct rte_crypto_cipher_xform *cipher = &xform->cipher;
		/* Messages of several data units, which have a tweak each, are not offered. */
		if (cipher->dataunit_len != 0)
			return -ENOTSUP;
		to->number = cipher->algo;
		to->forward = cipher->op == RTE_CRYPTO_CIPHER_OP_ENCRYPT;
		to->key = cipher->key.data;
		to->key_length = cipher->key.length;
		to->iv_length = cipher->iv.length;
#if RTE_VERSION < RTE_VERSION_NUM(23, 0, 0, 0)
		/* The gateway of DPDK 22.11 says how long the vector of its packets is, and gives a counter block all the same, as does its
		 * library of IPsec. */
		if (cipher->algo == RTE_CRYPTO_CIPHER_AES_CTR && cipher->iv.length == 8)
			to->iv_length = 16;
#endif
		session->iv_offset = cipher->iv.offset;
		session->has_cipher = 1;
		session->cipher_in_bits = is_in_bits(to->class, to->number);
		return 0;
	}
	case RTE_CRYPTO_SYM_XFORM_AUTH: {
		const struct rte_crypto_auth_xform *auth = &xform->auth;
		to->number = auth->algo;
		to->forward = auth->op == RTE_CRYPTO_AUTH_OP_GENERATE;
		to->key = auth->key.data;
		to->key_length = auth->key.length;
		to->iv_length = auth->iv.length;
		to->tag_length = auth->digest_length;
		session->auth_iv_offset = auth->iv.offset;
		session->has_auth = 1;
		session->auth_in_bits = is_in_bits(to->class, to->number);
		return 0;
	}
	case RTE_CRYPTO_SYM_XFORM_AEAD: {
		const struct rte_crypto_aead_xform *aead = &xform->aead;
		to->number = aead->algo;
		to->forward = aead->op == RTE_CRYPTO_AEAD_OP_ENCRYPT;
		to->key = aead->key.data;
		to->key_length = aead->key.length;
		to->iv_length = aead->iv.length;
		to->tag_length = aead->digest_length;
		to->aad_length = aead->aad_length;
		session->iv_offset = aead->iv.offset;
		session->is_aead = 1;
		return 0;
	}
	default:
		return -ENOTSUP;
	}
}

/* Binds the keys of a chain. Returns 0, or a negative error number, with the reason in the log. */
int session_bind(void *grant, struct rte_crypto_sym_xform *chain, struct session *session)
{
	struct millstream_transform transforms[2] = {0};
	char text[256] = "no such chain of transforms";
	struct millstream_message message = {text, sizeof(text)};
	size_t count = 0;
	int result = 0;
	memset(session, 0, sizeof(*session));
	for (; chain != NULL && result == 0; chain = chain->next, count++)
		result = count < RTE_DIM(transforms) ? transform(chain, session, &transforms[count]) : -ENOTSUP;
	if (result == 0)
		result = millstream_dpdk_session_new(grant, transforms, count, &session->steps, &message);
	if (result != 0)
		LOG(ERR, "no session: %s\n", text);
	return result;
}

void session_unbind(struct session *session)
{
	millstream_dpdk_session_free(session->steps);
	memset(session, 0, sizeof(*session));
}
