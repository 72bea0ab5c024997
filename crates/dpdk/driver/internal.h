/*
 * Structures and functions between librte_cryptodev, the bus of virtual devices and a driver. Debian's packages have no header for them, so
 * the driver declares them, for the versions that it knows.
 *
 * Ref. DPDK 22.11 and 24.11: cryptodev_pmd.h, bus_vdev_driver.h, dev_driver.h. What the driver has no use for is a pointer here.
 */

#ifndef MILLSTREAM_INTERNAL_H
#define MILLSTREAM_INTERNAL_H

#include <rte_cryptodev.h>
#include <rte_dev.h>
#include <rte_version.h>

#if RTE_VERSION >= RTE_VERSION_NUM(22, 11, 0, 0) && RTE_VERSION < RTE_VERSION_NUM(22, 12, 0, 0)
#define BUILT_FOR "22.11"
#define HAS_QUEUE_PAIR_RESET 0
#elif RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0) && RTE_VERSION < RTE_VERSION_NUM(24, 12, 0, 0)
#define BUILT_FOR "24.11"
#define HAS_QUEUE_PAIR_RESET 1
#else
#error "crypto_millstream knows the structures of DPDK 22.11 and 24.11, and these are the headers of another version"
#endif

struct driver_link {
	void *next, **before;
};

struct rte_driver {
	struct driver_link link;
	const char *name, *alias;
};

struct rte_device {
	struct driver_link link;
	const char *name, *bus_info;
	const struct rte_driver *driver;
	const void *bus;
	int numa_node;
	struct rte_devargs *devargs;
};

struct rte_vdev_device {
	struct driver_link link;
	struct rte_device device;
};

struct rte_vdev_driver {
	struct driver_link link;
	struct rte_driver driver;
	int (*probe)(struct rte_vdev_device *device);
	int (*remove)(struct rte_vdev_device *device);
	int (*dma_map)(struct rte_vdev_device *device, void *at, uint64_t iova, size_t length);
	int (*dma_unmap)(struct rte_vdev_device *device, void *at, uint64_t iova, size_t length);
	uint32_t flags;
};

struct cryptodev_driver {
	struct driver_link link;
	const struct rte_driver *driver;
	uint8_t id;
};

struct rte_cryptodev_data {
	uint8_t dev_id;
	int socket_id;
	char name[RTE_CRYPTODEV_NAME_MAX_LEN];
	uint8_t dev_started;
	struct rte_mempool *session_pool;
	void **queue_pairs;
	uint16_t nb_queue_pairs;
	void *dev_private;
};

typedef uint16_t (*burst_function)(void *queue_pair, struct rte_crypto_op **operations, uint16_t count);

/* Only its first part, as far as a driver sets it. */
struct rte_cryptodev {
	burst_function dequeue_burst, enqueue_burst;
	struct rte_cryptodev_data *data;
	struct rte_cryptodev_ops *dev_ops;
	uint64_t feature_flags;
	struct rte_device *device;
	uint8_t driver_id;
};

struct rte_cryptodev_sym_session {
	uint64_t opaque_data;
	uint32_t sess_data_sz;
	uint16_t user_data_sz;
	uint8_t driver_id;
	rte_iova_t driver_priv_data_iova;
	uint8_t driver_priv_data[] __attribute__((aligned(RTE_CACHE_LINE_MIN_SIZE)));
};

struct rte_cryptodev_ops {
	int (*dev_configure)(struct rte_cryptodev *device, struct rte_cryptodev_config *config);
	int (*dev_start)(struct rte_cryptodev *device);
	void (*dev_stop)(struct rte_cryptodev *device);
	int (*dev_close)(struct rte_cryptodev *device);
	void (*dev_infos_get)(struct rte_cryptodev *device, struct rte_cryptodev_info *info);
	void (*stats_get)(struct rte_cryptodev *device, struct rte_cryptodev_stats *stats);
	void (*stats_reset)(struct rte_cryptodev *device);
	int (*queue_pair_setup)(struct rte_cryptodev *device, uint16_t number, const struct rte_cryptodev_qp_conf *config,
				int socket);
	int (*queue_pair_release)(struct rte_cryptodev *device, uint16_t number);
#if HAS_QUEUE_PAIR_RESET
	int (*queue_pair_reset)(struct rte_cryptodev *device, uint16_t number, const struct rte_cryptodev_qp_conf *config,
				int socket);
#endif
	unsigned int (*sym_session_get_size)(struct rte_cryptodev *device);
	unsigned int (*asym_session_get_size)(struct rte_cryptodev *device);
	int (*sym_session_configure)(struct rte_cryptodev *device, struct rte_crypto_sym_xform *chain,
				     struct rte_cryptodev_sym_session *session);
	int (*asym_session_configure)(struct rte_cryptodev *device, void *chain, void *session);
	void (*sym_session_clear)(struct rte_cryptodev *device, struct rte_cryptodev_sym_session *session);
	void (*asym_session_clear)(struct rte_cryptodev *device, void *session);
	/* A union with the functions of the raw data path, of which a driver has one or the other. */
	uint32_t (*sym_cpu_process)(struct rte_cryptodev *device, struct rte_cryptodev_sym_session *session,
				    union rte_crypto_sym_ofs offsets, struct rte_crypto_sym_vec *vectors);
	void *sym_configure_raw_dp_ctx;
	void *session_ev_mdata_set;
#if HAS_QUEUE_PAIR_RESET
	void *queue_pair_event_error_query;
#endif
};

struct rte_cryptodev_pmd_init_params {
	char name[RTE_CRYPTODEV_NAME_MAX_LEN];
	size_t private_data_size;
	int socket_id;
	unsigned int max_nb_queue_pairs;
};

void rte_vdev_register(struct rte_vdev_driver *driver);
uint8_t rte_cryptodev_allocate_driver(struct cryptodev_driver *crypto, const struct rte_driver *driver);
struct rte_cryptodev *rte_cryptodev_pmd_create(const char *name, struct rte_device *device,
					       struct rte_cryptodev_pmd_init_params *parameters);
struct rte_cryptodev *rte_cryptodev_pmd_get_named_dev(const char *name);
int rte_cryptodev_pmd_destroy(struct rte_cryptodev *device);
void rte_cryptodev_pmd_probing_finish(struct rte_cryptodev *device);

#endif
