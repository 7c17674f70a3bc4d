#!/bin/bash
# Second process of a guest, its process 1 from then on; bash reaps orphans. Kernel arguments it knows:
#   lab.name=NAME  lab.ip=ADDRESS  lab.gateway=ADDRESS
#   lab.nordma     a node without RDMA: ib_core cannot be loaded, opening NETLINK_RDMA fails
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root

# The value of a kernel argument.
argument() { sed -n "s/.*lab\.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mountpoint -q /dev || mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf bpf /sys/fs/bpf
mount -t debugfs debugfs /sys/kernel/debug
mount -t securityfs securityfs /sys/kernel/security
# overlayfs does not stack on the overlay that is our root
mkdir -p /var/lib/containerd /var/lib/kubelet
mount -t tmpfs containerd /var/lib/containerd
mount -t tmpfs kubelet /var/lib/kubelet
mount --make-rshared /
ulimit -l unlimited
ulimit -n 1048576
hostname "$(argument name)"
echo "127.0.0.1 localhost $(hostname)" > /etc/hosts
: > /etc/resolv.conf

ip link set lo up
for device in /sys/class/net/*/device; do
    netdev=$(basename "${device%/device}")
    [ "$netdev" = eth0 ] || ip link set "$netdev" name eth0
    break
done
ip link set eth0 up
ip addr add "$(argument ip)/24" dev eth0
ip route add default via "$(argument gateway)"

if grep -qw lab.nordma /proc/cmdline; then
    echo "install ib_core /bin/false" > /etc/modprobe.d/nordma.conf
else
    modprobe -a ib_uverbs rdma_ucm # as rdma-core does at boot
fi
modprobe -q 9pnet_virtio && mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 host /host
dropbear -F -s -R -p 22 2> /dev/null &
read -r uptime _ < /proc/uptime
echo "LAB-READY uptime=$uptime kernel=$(uname -r)" > /dev/console
trap 'sync; poweroff -f' TERM
while :; do
    wait -n 2> /dev/null
    sleep 5 &
    wait $!
done
