// SPDX-License-Identifier: GPL-2.0
/* What the devices and their ports say of themselves. */
#include "fakehca.h"

#define GID_PREFIX	0xfe80000000000000ULL
#define GIDS		4
#define PKEYS		2

static u64 port_guid(struct ib_device *ib_dev, u32 port)
{
	return be64_to_cpu(ib_dev->node_guid) + port;
}

int fakehca_query_device(struct ib_device *ib_dev, struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = 0x0000000900080007ULL;
	attr->sys_image_guid = ib_dev->node_guid;
	attr->vendor_id = 0x1b36;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_PORT_ACTIVE_EVENT;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_pd = 128;
	attr->max_qp = 256;
	attr->max_cq = 256;
	attr->max_mr = 512;
	attr->max_pkeys = PKEYS;
	return 0;
}

void fakehca_fw_str(struct ib_device *ib_dev, char *text)
{
	snprintf(text, IB_FW_VERSION_NAME_MAX, "9.8.7");
}

int fakehca_query_port(struct ib_device *ib_dev, u32 port, struct ib_port_attr *attr)
{
	bool is_down = fakehca_ports_down & BIT(port - 1);

	/* The core has zeroed the rest. */
	attr->state = is_down ? IB_PORT_DOWN : IB_PORT_ACTIVE;
	attr->phys_state = is_down ? IB_PORT_PHYS_STATE_DISABLED : IB_PORT_PHYS_STATE_LINK_UP;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_2048;
	attr->max_msg_sz = 1U << 30;
	attr->gid_tbl_len = GIDS;
	attr->pkey_tbl_len = PKEYS;
	if (fakehca_ib) {
		attr->subnet_prefix = GID_PREFIX;
		attr->port_cap_flags = IB_PORT_SM_DISABLED | IB_PORT_CM_SUP | IB_PORT_REINIT_SUP | IB_PORT_SYS_IMAGE_GUID_SUP;
		attr->lid = 0x20 + MOST_PORTS * ib_dev->index + port;
		attr->sm_lid = 3;
		attr->lmc = 1;
	}
	return 0;
}

int fakehca_port_immutable(struct ib_device *ib_dev, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = GIDS;
	immutable->pkey_tbl_len = PKEYS;
	immutable->core_cap_flags = fakehca_ib ? RDMA_CORE_PORT_IBA_IB : RDMA_CORE_PORT_RAW_PACKET;
	immutable->max_mad_size = fakehca_ib ? IB_MGMT_MAD_SIZE : 0;
	return 0;
}

enum rdma_link_layer fakehca_link_layer(struct ib_device *ib_dev, u32 port)
{
	return fakehca_ib ? IB_LINK_LAYER_INFINIBAND : IB_LINK_LAYER_ETHERNET;
}

int fakehca_query_gid(struct ib_device *ib_dev, u32 port, int index, union ib_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (index == 0) {
		gid->global.subnet_prefix = cpu_to_be64(GID_PREFIX);
		gid->global.interface_id = cpu_to_be64(port_guid(ib_dev, port));
	}
	return 0;
}

int fakehca_query_pkey(struct ib_device *ib_dev, u32 port, u16 index, u16 *pkey)
{
	if (index >= PKEYS)
		return -EINVAL;
	*pkey = index ? 0x8001 : IB_DEFAULT_PKEY_FULL;
	return 0;
}
