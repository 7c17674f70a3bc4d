// SPDX-License-Identifier: GPL-2.0
/* Counters of ports, of which two are optional, and of devices. */
#include "fakehca.h"

static const struct rdma_stat_desc of_a_port[] = {
	{ .name = "fake_port" },
	{ .name = "fake_sent" },
	{ .name = "fake_received" },
	{ .name = "fake_optional_marks", .flags = IB_STAT_FLAG_OPTIONAL },
	{ .name = "fake_optional_drops", .flags = IB_STAT_FLAG_OPTIONAL },
};

static const struct rdma_stat_desc of_the_device[] = {
	{ .name = "fake_resets" },
};

struct rdma_hw_stats *fakehca_alloc_port_stats(struct ib_device *ib_dev, u32 port)
{
	struct rdma_hw_stats *stats;
	int i;

	stats = rdma_alloc_hw_stats_struct(of_a_port, ARRAY_SIZE(of_a_port), RDMA_HW_STATS_DEFAULT_LIFESPAN);
	for (i = 0; stats && i < ARRAY_SIZE(of_a_port); i++)
		if (of_a_port[i].flags & IB_STAT_FLAG_OPTIONAL)
			set_bit(i, stats->is_disabled);
	return stats;
}

struct rdma_hw_stats *fakehca_alloc_device_stats(struct ib_device *ib_dev)
{
	return rdma_alloc_hw_stats_struct(of_the_device, ARRAY_SIZE(of_the_device), RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int fakehca_get_stats(struct ib_device *ib_dev, struct rdma_hw_stats *stats, u32 port, int index)
{
	u64 grown = (u64)atomic64_inc_return(&of(ib_dev)->readings) * READ_ONCE(fakehca_step);
	int i;

	for (i = 0; i < stats->num_counters; i++)
		stats->value[i] = 1000ULL * i + 10 * port + grown;
	if (port)
		stats->value[0] = port;
	return stats->num_counters;
}

/* The core remembers which are on. */
int fakehca_modify_stat(struct ib_device *ib_dev, u32 port, unsigned int counter, bool on)
{
	return 0;
}
