/*
 * Operations and mbufs, described for the crate by packets.
 */

#include <string.h>

#include <rte_mbuf.h>

#include "driver.h"

enum direction { OUT, INTO };

/* Copies bytes out of a piece, or into it. */
static inline void copy(uint8_t *piece, uint8_t *bytes, uint32_t length, enum direction direction)
{
	if (direction == INTO)
		memcpy(piece, bytes, length);
	else
		memcpy(bytes, piece, length);
}

static inline void copy_mbufs(struct rte_mbuf *mbuf, uint32_t offset, uint8_t *bytes, uint32_t length,
			      enum direction direction)
{
	for (; mbuf != NULL && length > 0; mbuf = mbuf->next) {
		if (offset >= mbuf->data_len && mbuf->next != NULL) {
			offset -= mbuf->data_len;
			continue;
		}
		uint32_t part = mbuf->next == NULL ? length : RTE_MIN(mbuf->data_len - offset, length);
		copy(rte_pktmbuf_mtod_offset(mbuf, uint8_t *, offset), bytes, part, direction);
		bytes += part;
		length -= part;
		offset = 0;
	}
}

static void copy_from_mbufs(const void *pieces, uint32_t offset, uint8_t *to, uint32_t length)
{
	copy_mbufs((struct rte_mbuf *)(uintptr_t)pieces, offset, to, length, OUT);
}

static void copy_to_mbufs(void *pieces, uint32_t offset, const uint8_t *from, uint32_t length)
{
	copy_mbufs(pieces, offset, (uint8_t *)(uintptr_t)from, length, INTO);
}

static const struct millstream_access mbufs = {copy_from_mbufs, copy_to_mbufs};

/* Finds a span in mbufs. Returns the bytes, or null where they lie in several mbufs; `fits` says whether there are so many. */
static uint8_t *bytes_at(struct rte_mbuf *mbuf, uint64_t offset, uint64_t length, int *fits)
{
	/* Alone, an mbuf may be used up to its end, where tags and padding go. */
	uint64_t room = mbuf->next == NULL ? (uint64_t)mbuf->buf_len - mbuf->data_off : mbuf->data_len;
	if (likely(offset + length <= room))
		return rte_pktmbuf_mtod_offset(mbuf, uint8_t *, offset);
	/* The length of the packet is what the mbufs hold: not every application sets it. */
	uint64_t held = 0;
	for (const struct rte_mbuf *next = mbuf; next != NULL && held < offset + length; next = next->next)
		held += next->data_len;
	*fits = *fits && offset + length <= held;
	return NULL;
}

/* Returns the offset in mbufs of a byte of theirs, or UINT64_MAX if it is none. */
static uint64_t offset_of(const struct rte_mbuf *mbuf, const uint8_t *byte)
{
	for (uint64_t before = 0; mbuf != NULL; before += mbuf->data_len, mbuf = mbuf->next) {
		const uint8_t *first = rte_pktmbuf_mtod(mbuf, const uint8_t *);
		/* Alone, or at the end, an mbuf may be used up to its end. */
		uint32_t room = mbuf->next == NULL ? mbuf->buf_len - mbuf->data_off : mbuf->data_len;
		if (byte >= first && byte < first + room)
			return before + (byte - first);
	}
	return UINT64_MAX;
}

/* Describes an operation. Returns 0 if its offsets and lengths do not fit its mbufs. */
int describe(struct rte_crypto_op *operation, const struct session *session, struct millstream_packet *packet)
{
	struct rte_crypto_sym_op *sym = operation->sym;
	struct rte_mbuf *from = sym->m_src, *to = sym->m_dst != NULL ? sym->m_dst : sym->m_src;
	uint64_t first, end;
	int fits = 1;
	if (unlikely(from == NULL))
		return 0;
	packet->session = session->steps;
	packet->user = operation;
	packet->access = &mbufs;
	packet->iv = rte_crypto_op_ctod_offset(operation, uint8_t *, session->iv_offset);
	if (session->is_aead) {
		first = sym->aead.data.offset;
		end = first + sym->aead.data.length;
		packet->cipher_at = 0;
		packet->cipher_length = sym->aead.data.length;
		packet->aad = sym->aead.aad.data;
		packet->tag = sym->aead.digest.data;
	} else {
		uint64_t cipher = sym->cipher.data.offset, auth = sym->auth.data.offset;
		uint64_t cipher_end = cipher + sym->cipher.data.length, auth_end = auth + sym->auth.data.length;
		if (session->cipher_in_bits)
			cipher /= 8, cipher_end = (cipher_end + 7) / 8;
		if (session->auth_in_bits)
			auth /= 8, auth_end = (auth_end + 7) / 8;
		first = !session->has_auth || (session->has_cipher && cipher < auth) ? cipher : auth;
		end = !session->has_auth || (session->has_cipher && cipher_end > auth_end) ? cipher_end : auth_end;
		packet->cipher_at = sym->cipher.data.offset - first * (session->cipher_in_bits ? 8 : 1);
		packet->cipher_length = sym->cipher.data.length;
		packet->auth_at = sym->auth.data.offset - first * (session->auth_in_bits ? 8 : 1);
		packet->auth_length = sym->auth.data.length;
		packet->tag = sym->auth.digest.data;
		packet->auth_iv = rte_crypto_op_ctod_offset(operation, uint8_t *, session->auth_iv_offset);
	}
	packet->offset = first;
	packet->length = end - first;
	packet->tag_at = UINT32_MAX;
	if (session->has_cipher && session->has_auth) {
		uint64_t at = offset_of(to, packet->tag);
		if (at >= first && at < end)
			packet->tag_at = at - first;
	}
	packet->source = bytes_at(from, first, end - first, &fits);
	packet->destination = from == to ? (uint8_t *)(uintptr_t)packet->source : bytes_at(to, first, end - first, &fits);
	packet->source_pieces = from;
	packet->destination_pieces = to;
	return fits && end <= UINT32_MAX;
}

static inline void copy_vectors(const struct rte_crypto_sgl *list, uint32_t offset, uint8_t *bytes, uint32_t length,
				enum direction direction)
{
	for (uint32_t i = 0; i < list->num && length > 0; i++) {
		const struct rte_crypto_vec *one = &list->vec[i];
		if (offset >= one->len) {
			offset -= one->len;
			continue;
		}
		uint32_t part = RTE_MIN(one->len - offset, length);
		copy((uint8_t *)one->base + offset, bytes, part, direction);
		bytes += part;
		length -= part;
		offset = 0;
	}
}

static void copy_from_vectors(const void *pieces, uint32_t offset, uint8_t *to, uint32_t length)
{
	copy_vectors(pieces, offset, to, length, OUT);
}

static void copy_to_vectors(void *pieces, uint32_t offset, const uint8_t *from, uint32_t length)
{
	copy_vectors(pieces, offset, (uint8_t *)(uintptr_t)from, length, INTO);
}

static const struct millstream_access vectors_access = {copy_from_vectors, copy_to_vectors};

static uint64_t bytes_of(const struct rte_crypto_sgl *list)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < list->num; i++)
		bytes += list->vec[i].len;
	return bytes;
}

/* Describes one element of the vectors of a synchronous call. Returns 0 if offsets do not fit. */
static int describe_vector(const struct session *session, union rte_crypto_sym_ofs offsets, struct rte_crypto_sym_vec *vectors,
			   uint32_t i, struct millstream_packet *packet)
{
	struct rte_crypto_sgl *from = &vectors->src_sgl[i];
	struct rte_crypto_sgl *to = vectors->dest_sgl != NULL ? &vectors->dest_sgl[i] : from;
	uint64_t length = bytes_of(from);
	uint32_t cipher = offsets.ofs.cipher.head + offsets.ofs.cipher.tail;
	uint32_t auth = offsets.ofs.auth.head + offsets.ofs.auth.tail;
	if (length > UINT32_MAX / 8 || bytes_of(to) < length || cipher > length || auth > length)
		return 0;
	uint32_t cipher_unit = session->cipher_in_bits ? 8 : 1, auth_unit = session->auth_in_bits ? 8 : 1;
	memset(packet, 0, sizeof(*packet));
	packet->session = session->steps;
	packet->source = from->num == 1 ? from->vec[0].base : NULL;
	packet->destination = to->num == 1 ? to->vec[0].base : NULL;
	packet->source_pieces = from;
	packet->destination_pieces = to;
	packet->access = &vectors_access;
	packet->length = length;
	packet->cipher_at = offsets.ofs.cipher.head * cipher_unit;
	packet->cipher_length = (length - cipher) * cipher_unit;
	packet->tag_at = UINT32_MAX;
	packet->auth_at = offsets.ofs.auth.head * auth_unit;
	packet->auth_length = (length - auth) * auth_unit;
	packet->iv = vectors->iv != NULL ? vectors->iv[i].va : NULL;
	packet->tag = vectors->digest != NULL ? vectors->digest[i].va : NULL;
	/* Associated data and the authentication's own initialisation vector are a union. */
	if (session->is_aead)
		packet->aad = vectors->aad != NULL ? vectors->aad[i].va : NULL;
	else if (session->has_cipher)
		packet->auth_iv = vectors->auth_iv != NULL ? vectors->auth_iv[i].va : NULL;
	else
		packet->auth_iv = packet->iv;
	return 1;
}

/* Executes operations on this thread and returns how many were good. */
uint32_t cpu_process(struct rte_cryptodev *device, struct rte_cryptodev_sym_session *session,
		     union rte_crypto_sym_ofs offsets, struct rte_crypto_sym_vec *vectors)
{
	static const int errors[] = {0, EBADMSG, EINVAL, EIO};
	struct millstream_packet packets[64];
	uint32_t which[RTE_DIM(packets)], good = 0;
	RTE_SET_USED(device);
	for (uint32_t next = 0; next < vectors->num;) {
		uint32_t count = 0;
		for (; next < vectors->num && count < RTE_DIM(packets); next++) {
			vectors->status[next] = EINVAL;
			if (describe_vector(session_of(session), offsets, vectors, next, &packets[count]))
				which[count++] = next;
		}
		millstream_dpdk_run(packets, count);
		for (uint32_t i = 0; i < count; i++) {
			vectors->status[which[i]] = errors[packets[i].status];
			good += packets[i].status == MILLSTREAM_GOOD;
		}
	}
	return good;
}
