/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FAKEHCA_H
#define FAKEHCA_H

#include <linux/atomic.h>
#include <linux/list.h>

#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#define MOST_PORTS	8

struct fakehca {
	struct ib_device ib;
	struct list_head list;
	atomic64_t readings;
};

static inline struct fakehca *of(struct ib_device *ib_dev)
{
	return container_of(ib_dev, struct fakehca, ib);
}

/* Parameters of the module, in main.c. */
extern bool fakehca_ib;
extern unsigned int fakehca_ports_down;
extern unsigned long fakehca_step;

/* What the device and its ports are, in query.c. */
int fakehca_query_device(struct ib_device *ib_dev, struct ib_device_attr *attr, struct ib_udata *udata);
void fakehca_fw_str(struct ib_device *ib_dev, char *text);
int fakehca_query_port(struct ib_device *ib_dev, u32 port, struct ib_port_attr *attr);
int fakehca_port_immutable(struct ib_device *ib_dev, u32 port, struct ib_port_immutable *immutable);
enum rdma_link_layer fakehca_link_layer(struct ib_device *ib_dev, u32 port);
int fakehca_query_gid(struct ib_device *ib_dev, u32 port, int index, union ib_gid *gid);
int fakehca_query_pkey(struct ib_device *ib_dev, u32 port, u16 index, u16 *pkey);

/* In counters.c. */
struct rdma_hw_stats *fakehca_alloc_port_stats(struct ib_device *ib_dev, u32 port);
struct rdma_hw_stats *fakehca_alloc_device_stats(struct ib_device *ib_dev);
int fakehca_get_stats(struct ib_device *ib_dev, struct rdma_hw_stats *stats, u32 port, int index);
int fakehca_modify_stat(struct ib_device *ib_dev, u32 port, unsigned int counter, bool on);

#endif
