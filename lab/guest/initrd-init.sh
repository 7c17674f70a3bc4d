#!/bin/sh
# First process of a guest: mounts the read-only root (erofs) under an overlay in memory and goes there.
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
if grep -qw lab.selfcheck /proc/cmdline; then # only to see whether this machine can boot a guest
    echo LAB-SELF-CHECK > /dev/console
    poweroff -f
fi
for module in virtio_pci virtio_blk virtio_net erofs overlay; do modprobe $module; done
while [ ! -b /dev/vda ]; do sleep 0.05; done
mount -t erofs -o ro /dev/vda /lower
mount -t tmpfs -o mode=755,size=80% rw /rw
mkdir /rw/upper /rw/work
mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work root /new
mkdir -p /new/lib/modules /new/lab /new/host
cp -a /lib/modules/* /new/lib/modules/
cp /guest-init /new/lab/init
mount --move /dev /new/dev
exec switch_root /new /lab/init
