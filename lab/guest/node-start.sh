#!/bin/sh
# Makes a booted guest a node of the cluster: containerd, its images, the kubelet. Runs in the guest, from the
# folder shared with the host; node.env says who the node is.
set -e
. /host/node.env
echo 1 > /proc/sys/net/ipv4/ip_forward
while read -r range via; do
    [ "$via" = "$NODE_IP" ] || ip route add "$range" via "$via"
done < /host/pod-routes

# The one service that pods need, in place of kube-proxy.
for chain in PREROUTING OUTPUT; do
    iptables -t nat -A $chain -d "$API_SERVICE" -p tcp --dport 443 -j DNAT --to-destination "$GATEWAY:6443"
done

mkdir -p /etc/containerd /etc/cni/net.d /var/run/cdi /var/lib/rdma-operator
cat > /etc/containerd/config.toml <<CONFIG
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
CONFIG
cat > /etc/cni/net.d/10-bridge.conflist <<CONFIG
{"cniVersion": "1.0.0", "name": "bridge", "plugins": [{
  "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
  "ipam": {"type": "host-local", "ranges": [[{"subnet": "$POD_RANGE"}]], "routes": [{"dst": "0.0.0.0/0"}]}
}]}
CONFIG
containerd > /host/containerd.log 2>&1 &
until ctr version > /dev/null 2>&1; do sleep 0.2; done
for archive in /host/images/*.tar; do ctr -n k8s.io images import "$archive"; done

# A kubelet that is ended starts again, as under a service manager.
mkdir -p /kube
mount -t erofs -o ro /dev/vdb /kube
while :; do
    /kube/kubelet --config=/host/kubelet.yaml --kubeconfig=/host/kubeconfig --hostname-override="$NODE_NAME" \
        --node-ip="$NODE_IP" --v=2 >> /host/kubelet.log 2>&1 || true
    sleep 1
done
