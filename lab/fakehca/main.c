// SPDX-License-Identifier: GPL-2.0
/*
 * fakehca: RDMA devices with what rxe and siw lack: several ports, InfiniBand as link layer, optional counters,
 * counters of the device itself, SMI sub-devices. They carry no data. Only for tests, in a virtual machine.
 *
 *	modprobe fakehca devices=1 ports=2 ib=1
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "fakehca.h"

#define FIRST_GUID	0x02fa4e0000000000ULL

static unsigned int devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "how many devices: fake0, fake1, ...");

static unsigned int ports = 2;
module_param(ports, uint, 0444);
MODULE_PARM_DESC(ports, "ports of each, 1 to 8");

bool fakehca_ib = true;
module_param_named(ib, fakehca_ib, bool, 0444);
MODULE_PARM_DESC(ib, "link layer InfiniBand, else Ethernet");

unsigned int fakehca_ports_down;
module_param_named(ports_down, fakehca_ports_down, uint, 0644);
MODULE_PARM_DESC(ports_down, "ports that are down, a bit mask; bit 0 is port 1");

unsigned long fakehca_step;
module_param_named(step, fakehca_step, ulong, 0644);
MODULE_PARM_DESC(step, "by how much counters grow each time they are read; 0: they stand still");

/* Those that are no sub-devices; touched only while the module comes and goes. */
static LIST_HEAD(all);
static atomic_t made = ATOMIC_INIT(0);

/* As much of verbs as a process needs to open the device and to hold something. */

static int fakehca_alloc_ucontext(struct ib_ucontext *context, struct ib_udata *udata)
{
	return 0;
}

static void fakehca_dealloc_ucontext(struct ib_ucontext *context)
{
}

/* With this the core lets the device go from under a process, and so to another network namespace. */
static void fakehca_disassociate_ucontext(struct ib_ucontext *context)
{
}

static int fakehca_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int fakehca_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

/* Coming and going. */

static struct fakehca *fakehca_make(const char *name);

static void fakehca_destroy(struct fakehca *fake)
{
	ib_unregister_device(&fake->ib);
	ib_dealloc_device(&fake->ib);
}

static struct ib_device *fakehca_add_sub_device(struct ib_device *parent, enum rdma_nl_dev_type type,
						const char *name)
{
	struct fakehca *fake;

	if (type != RDMA_DEVICE_TYPE_SMI)
		return ERR_PTR(-EOPNOTSUPP);
	fake = fakehca_make(name);
	return IS_ERR(fake) ? ERR_CAST(fake) : &fake->ib;
}

static void fakehca_del_sub_device(struct ib_device *ib_dev)
{
	fakehca_destroy(of(ib_dev));
}

static const struct ib_device_ops fakehca_ops = {
	.owner = THIS_MODULE,
	.uverbs_abi_ver = 1,
	.add_sub_dev = fakehca_add_sub_device,
	.alloc_hw_device_stats = fakehca_alloc_device_stats,
	.alloc_hw_port_stats = fakehca_alloc_port_stats,
	.alloc_pd = fakehca_alloc_pd,
	.alloc_ucontext = fakehca_alloc_ucontext,
	.dealloc_pd = fakehca_dealloc_pd,
	.dealloc_ucontext = fakehca_dealloc_ucontext,
	.del_sub_dev = fakehca_del_sub_device,
	.disassociate_ucontext = fakehca_disassociate_ucontext,
	.get_dev_fw_str = fakehca_fw_str,
	.get_hw_stats = fakehca_get_stats,
	.get_link_layer = fakehca_link_layer,
	.get_port_immutable = fakehca_port_immutable,
	.modify_hw_stat = fakehca_modify_stat,
	.query_device = fakehca_query_device,
	.query_gid = fakehca_query_gid,
	.query_pkey = fakehca_query_pkey,
	.query_port = fakehca_query_port,
	.size_ib_pd = sizeof(struct ib_pd),
	.size_ib_ucontext = sizeof(struct ib_ucontext),
};

static struct fakehca *fakehca_make(const char *name)
{
	struct fakehca *fake = ib_alloc_device(fakehca, ib);
	int err;

	if (!fake)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&fake->list);
	fake->ib.node_type = RDMA_NODE_IB_CA;
	fake->ib.node_guid = cpu_to_be64(FIRST_GUID + 0x10 * atomic_inc_return(&made));
	fake->ib.phys_port_cnt = ports;
	fake->ib.num_comp_vectors = 1;
	strscpy(fake->ib.node_desc, "fakehca", sizeof(fake->ib.node_desc));
	ib_set_device_ops(&fake->ib, &fakehca_ops);
	err = ib_register_device(&fake->ib, name, NULL);
	if (err) {
		ib_dealloc_device(&fake->ib);
		return ERR_PTR(err);
	}
	return fake;
}

static void fakehca_exit(void)
{
	struct fakehca *fake, *next;

	list_for_each_entry_safe(fake, next, &all, list) {
		list_del(&fake->list);
		fakehca_destroy(fake);
	}
}
module_exit(fakehca_exit);

static int __init fakehca_init(void)
{
	unsigned int i;

	if (!ports || ports > MOST_PORTS)
		return -EINVAL;
	for (i = 0; i < devices; i++) {
		struct fakehca *fake = fakehca_make("fake%d");

		if (IS_ERR(fake)) {
			fakehca_exit();
			return PTR_ERR(fake);
		}
		list_add_tail(&fake->list, &all);
	}
	return 0;
}
module_init(fakehca_init);

MODULE_DESCRIPTION("RDMA devices without hardware, for tests");
MODULE_LICENSE("GPL");
