/*
 * The driver's registration, its devices and their queue pairs.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_kvargs.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>

#include "driver.h"

/* The name of the driver. Tests of DPDK's own know drivers by their names, and run on a driver that is built under one. */
#ifndef DRIVER_NAME
#define DRIVER_NAME "crypto_millstream"
#endif

#define USUAL_QUEUE_PAIRS 8
#define MOST_QUEUE_PAIRS 64

int driver_log;

static uint8_t driver_id;

static int configure(struct rte_cryptodev *device, struct rte_cryptodev_config *config)
{
	RTE_SET_USED(device);
	RTE_SET_USED(config);
	return 0;
}

static int start(struct rte_cryptodev *device)
{
	RTE_SET_USED(device);
	return 0;
}

static void stop(struct rte_cryptodev *device)
{
	RTE_SET_USED(device);
}

static int queue_pair_release(struct rte_cryptodev *device, uint16_t number)
{
	struct queue_pair *pair = device->data->queue_pairs[number];
	if (pair == NULL)
		return 0;
	device->data->queue_pairs[number] = NULL;
	rte_ring_free(pair->waiting);
	millstream_dpdk_lane_free(pair->lane);
	rte_free(pair);
	return 0;
}

static int close_device(struct rte_cryptodev *device)
{
	for (uint16_t number = 0; number < device->data->nb_queue_pairs; number++)
		queue_pair_release(device, number);
	return 0;
}

static int queue_pair_setup(struct rte_cryptodev *device, uint16_t number, const struct rte_cryptodev_qp_conf *config,
			    int socket)
{
	struct device *own = device->data->dev_private;
	char name[RTE_RING_NAMESIZE], text[256] = "";
	struct millstream_message message = {text, sizeof(text)};
	int result = 0;
	queue_pair_release(device, number);
	struct queue_pair *pair = rte_zmalloc_socket("millstream_qp", sizeof(*pair), RTE_CACHE_LINE_SIZE, socket);
	if (pair == NULL)
		return -ENOMEM;
	if (own->grant != NULL) {
		result = millstream_dpdk_lane_new(own->grant, config->nb_descriptors, &pair->lane, &message);
		if (result != 0)
			LOG(ERR, "no queue for queue pair %u: %s\n", number, text);
	} else {
		snprintf(name, sizeof(name), "millstream_%u_%u", device->data->dev_id, number);
		pair->waiting = rte_ring_create(name, RTE_MAX(config->nb_descriptors, 1u), socket,
						RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (pair->waiting == NULL)
			result = -rte_errno;
	}
	if (result != 0) {
		rte_free(pair);
		return result;
	}
	device->data->queue_pairs[number] = pair;
	return 0;
}

#if HAS_QUEUE_PAIR_RESET
static int queue_pair_reset(struct rte_cryptodev *device, uint16_t number, const struct rte_cryptodev_qp_conf *config,
			    int socket)
{
	struct queue_pair *pair = device->data->queue_pairs[number];
	if (config != NULL)
		return queue_pair_setup(device, number, config, socket);
	/* Without a configuration it keeps the one that it has. */
	if (pair == NULL)
		return -EINVAL;
	if (pair->waiting != NULL)
		rte_ring_reset(pair->waiting);
	return 0;
}
#endif

static void infos_get(struct rte_cryptodev *device, struct rte_cryptodev_info *info)
{
	struct device *own = device->data->dev_private;
	info->driver_id = device->driver_id;
	info->feature_flags = device->feature_flags;
	info->capabilities = capabilities();
	info->max_nb_queue_pairs = own->most_queue_pairs;
	/* As many as there is memory for; a worker says itself when it has no slots left. */
	info->sym.max_nb_sessions = 0;
}

static void stats_get(struct rte_cryptodev *device, struct rte_cryptodev_stats *stats)
{
	for (uint16_t number = 0; number < device->data->nb_queue_pairs; number++) {
		const struct queue_pair *pair = device->data->queue_pairs[number];
		if (pair == NULL)
			continue;
		stats->enqueued_count += pair->enqueued;
		stats->dequeued_count += pair->dequeued;
		stats->enqueue_err_count += pair->refused;
		stats->dequeue_err_count += pair->failed;
	}
}

static void stats_reset(struct rte_cryptodev *device)
{
	for (uint16_t number = 0; number < device->data->nb_queue_pairs; number++) {
		struct queue_pair *pair = device->data->queue_pairs[number];
		if (pair != NULL)
			pair->enqueued = pair->dequeued = pair->refused = pair->failed = 0;
	}
}

static unsigned int session_get_size(struct rte_cryptodev *device)
{
	RTE_SET_USED(device);
	return sizeof(struct session);
}

static int session_configure(struct rte_cryptodev *device, struct rte_crypto_sym_xform *chain,
			     struct rte_cryptodev_sym_session *session)
{
	struct device *own = device->data->dev_private;
	return session_bind(own->grant, chain, session_of(session));
}

static void session_clear(struct rte_cryptodev *device, struct rte_cryptodev_sym_session *session)
{
	RTE_SET_USED(device);
	session_unbind(session_of(session));
}

static struct rte_cryptodev_ops operations = {
	.dev_configure = configure,
	.dev_start = start,
	.dev_stop = stop,
	.dev_close = close_device,
	.dev_infos_get = infos_get,
	.stats_get = stats_get,
	.stats_reset = stats_reset,
	.queue_pair_setup = queue_pair_setup,
#if HAS_QUEUE_PAIR_RESET
	.queue_pair_reset = queue_pair_reset,
#endif
	.queue_pair_release = queue_pair_release,
	.sym_session_get_size = session_get_size,
	.sym_session_configure = session_configure,
	.sym_session_clear = session_clear,
	.sym_cpu_process = cpu_process,
};

/* An isolated device has no synchronous call: its keys are not here. */
static struct rte_cryptodev_ops isolated_operations;

/* The arguments of a device. */
struct arguments {
	unsigned int queue_pairs;
	int socket_id;
	const char *isolated;
};

static int number_argument(const char *key, const char *value, void *to)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);
	if (*value == 0 || *end != 0 || number < 1 || number > MOST_QUEUE_PAIRS) {
		LOG(ERR, "%s=%s: a number from 1 to %d is needed\n", key, value, MOST_QUEUE_PAIRS);
		return -EINVAL;
	}
	*(unsigned int *)to = number;
	return 0;
}

static int socket_argument(const char *key, const char *value, void *to)
{
	RTE_SET_USED(key);
	*(int *)to = atoi(value);
	return 0;
}

static int path_argument(const char *key, const char *value, void *to)
{
	RTE_SET_USED(key);
	*(const char **)to = strdup(value);
	return *(const char **)to != NULL ? 0 : -ENOMEM;
}

static int parse(const struct rte_vdev_device *vdev, struct arguments *arguments)
{
	static const char *const keys[] = {"max_nb_queue_pairs", "socket_id", "isolated", NULL};
	const char *given = vdev->device.devargs != NULL ? vdev->device.devargs->args : NULL;
	if (given == NULL || *given == 0)
		return 0;
	struct rte_kvargs *list = rte_kvargs_parse(given, keys);
	if (list == NULL) {
		LOG(ERR, "%s: takes max_nb_queue_pairs=NUMBER, socket_id=NUMBER and isolated=SOCKET\n", given);
		return -EINVAL;
	}
	int result = rte_kvargs_process(list, keys[0], number_argument, &arguments->queue_pairs);
	if (result == 0)
		result = rte_kvargs_process(list, keys[1], socket_argument, &arguments->socket_id);
	if (result == 0)
		result = rte_kvargs_process(list, keys[2], path_argument, &arguments->isolated);
	rte_kvargs_free(list);
	return result;
}

static int attach(const char *name, const struct arguments *arguments, void **grant)
{
	char text[256] = "";
	struct millstream_message message = {text, sizeof(text)};
	int result = millstream_dpdk_attach(arguments->isolated, arguments->queue_pairs, grant, &message);
	if (result != 0)
		LOG(ERR, "%s: isolated=%s: %s\n", name, arguments->isolated, text);
	return result;
}

/* Refuses what the driver can't serve. */
static int check_process(const char *name)
{
	static const char built_for[] = "DPDK " BUILT_FOR;
	if (strncmp(rte_version(), built_for, sizeof(built_for) - 1) != 0) {
		LOG(ERR, "%s: this driver was built for %s, and this is %s\n", name, built_for, rte_version());
		return -ENOTSUP;
	}
	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		LOG(ERR, "%s: sessions are in the memory of the primary process, and a secondary one has no part in them\n", name);
		return -ENOTSUP;
	}
	return 0;
}

static int create(struct rte_vdev_device *vdev, const struct arguments *arguments, void *grant)
{
	struct rte_cryptodev_pmd_init_params parameters = {
		.private_data_size = sizeof(struct device),
		.socket_id = arguments->socket_id,
		.max_nb_queue_pairs = arguments->queue_pairs,
	};
	struct rte_cryptodev *device = rte_cryptodev_pmd_create(vdev->device.name, &vdev->device, &parameters);
	if (device == NULL)
		return -EFAULT;
	isolated_operations = operations;
	isolated_operations.sym_cpu_process = NULL;
	device->driver_id = driver_id;
	device->dev_ops = grant != NULL ? &isolated_operations : &operations;
	device->enqueue_burst = grant != NULL ? enqueue_isolated : enqueue;
	device->dequeue_burst = grant != NULL ? dequeue_isolated : dequeue;
	device->feature_flags = RTE_CRYPTODEV_FF_SYMMETRIC_CRYPTO | RTE_CRYPTODEV_FF_SYM_OPERATION_CHAINING |
		RTE_CRYPTODEV_FF_IN_PLACE_SGL | RTE_CRYPTODEV_FF_OOP_SGL_IN_SGL_OUT |
		RTE_CRYPTODEV_FF_OOP_SGL_IN_LB_OUT | RTE_CRYPTODEV_FF_OOP_LB_IN_SGL_OUT |
		RTE_CRYPTODEV_FF_OOP_LB_IN_LB_OUT | RTE_CRYPTODEV_FF_DIGEST_ENCRYPTED | millstream_dpdk_features();
	if (grant == NULL)
		device->feature_flags |= RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO | RTE_CRYPTODEV_FF_SYM_SESSIONLESS;
	struct device *own = device->data->dev_private;
	own->grant = grant;
	own->most_queue_pairs = arguments->queue_pairs;
	rte_cryptodev_pmd_probing_finish(device);
	return 0;
}

static int probe(struct rte_vdev_device *vdev)
{
	struct arguments arguments = {.queue_pairs = USUAL_QUEUE_PAIRS, .socket_id = rte_socket_id()};
	void *grant = NULL;
	int result = check_process(vdev->device.name);
	if (result == 0)
		result = parse(vdev, &arguments);
	if (result == 0 && arguments.isolated != NULL)
		result = attach(vdev->device.name, &arguments, &grant);
	if (result == 0) {
		result = create(vdev, &arguments, grant);
		if (result != 0)
			millstream_dpdk_detach(grant);
	}
	free((void *)(uintptr_t)arguments.isolated);
	return result;
}

static int remove_device(struct rte_vdev_device *vdev)
{
	struct rte_cryptodev *device = rte_cryptodev_pmd_get_named_dev(vdev->device.name);
	if (device == NULL)
		return -ENODEV;
	struct device *own = device->data->dev_private;
	void *grant = own->grant;
	int result = rte_cryptodev_pmd_destroy(device);
	if (result == 0)
		millstream_dpdk_detach(grant);
	return result;
}

static struct rte_vdev_driver driver = {
	.driver = {.name = DRIVER_NAME},
	.probe = probe,
	.remove = remove_device,
};

static struct cryptodev_driver crypto_driver;

/* When the shared object is loaded. */
static __attribute__((constructor)) void register_driver(void)
{
	driver_log = rte_log_register_type_and_pick_level("pmd.crypto.millstream", RTE_LOG_INFO);
	driver_id = rte_cryptodev_allocate_driver(&crypto_driver, &driver.driver);
	rte_vdev_register(&driver);
}
