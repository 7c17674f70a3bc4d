package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
)

// order is a line on standard input.
type order struct {
	// Do is "capacity", "allocate", "start", "devices" or "end".
	Do string `json:"do"`
	// Pod is the pod's UID; its one container is called c.
	Pod string `json:"pod"`
	// Limits are what the container asks for.
	Limits map[string]int64 `json:"limits"`
}

// answer is a line on standard output, one for each order.
type answer struct {
	Error string `json:"error,omitempty"`
	// Capacity has, for each resource, how many devices there are and how many of them are healthy.
	Capacity map[string][2]int64 `json:"capacity,omitempty"`
	// Devices has, for each resource, the IDs that the container has.
	Devices map[string][]string `json:"devices,omitempty"`
	// Envs and Nodes are what the runtime would be told.
	Envs  map[string]string `json:"envs,omitempty"`
	Nodes []string          `json:"nodes,omitempty"`
	CDI   []string          `json:"cdi,omitempty"`
}

// kubeletDevices is the kubelet's device manager and nothing else of it, below its fixed folder. It goes on until its
// standard input ends, or it is killed as a kubelet is.
type kubeletDevices struct {
	manager *devicemanager.ManagerImpl
	pods    map[string]*v1.Pod
}

// deviceManager runs it. The arguments are pods that the API server knows already, as JSON orders.
func deviceManager(args []string) error {
	// As many NUMA nodes as the largest of our machines has.
	var topology []cadvisor.Node
	for id := range 8 {
		topology = append(topology, cadvisor.Node{Id: id})
	}
	logger := klog.Background()
	manager, err := devicemanager.NewManagerImpl(topology, topologymanager.NewFakeManager())
	if err != nil {
		return err
	}
	kubelet := &kubeletDevices{manager: manager, pods: map[string]*v1.Pod{}}
	for _, arg := range args {
		var known order
		if err := json.Unmarshal([]byte(arg), &known); err != nil {
			return fmt.Errorf("%q: %w", arg, err)
		}
		kubelet.pods[known.Pod] = pod(known)
	}
	active := func() []*v1.Pod {
		var pods []*v1.Pod
		for _, pod := range kubelet.pods {
			pods = append(pods, pod)
		}
		return pods
	}
	ready := config.NewSourcesReady(func(sets.Set[string]) bool { return true })
	if err := manager.Start(logger, active, ready, containermap.NewContainerMap(), sets.New[string]()); err != nil {
		return err
	}
	// The kubelet's status loop reads these, too; nobody does so here.
	go func() {
		for range manager.Updates() {
		}
	}()
	lines, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var order order
		reply := answer{}
		if err := json.Unmarshal(lines.Bytes(), &order); err != nil {
			reply.Error = err.Error()
		} else if err := kubelet.obey(order, &reply); err != nil {
			reply.Error = err.Error()
		}
		if err := out.Encode(reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func pod(order order) *v1.Pod {
	limits := v1.ResourceList{}
	for name, count := range order.Limits {
		limits[v1.ResourceName(name)] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	container := v1.Container{Name: "c", Resources: v1.ResourceRequirements{Limits: limits, Requests: limits}}
	return &v1.Pod{
		ObjectMeta: meta.ObjectMeta{Name: order.Pod, Namespace: "default", UID: types.UID(order.Pod)},
		Spec:       v1.PodSpec{Containers: []v1.Container{container}},
	}
}

func (k *kubeletDevices) obey(order order, reply *answer) error {
	switch order.Do {
	case "capacity":
		capacity, allocatable, _ := k.manager.GetCapacity()
		reply.Capacity = map[string][2]int64{}
		for name, quantity := range capacity {
			healthy := allocatable[name]
			reply.Capacity[string(name)] = [2]int64{quantity.Value(), healthy.Value()}
		}
		return nil
	case "allocate":
		// A pod is active while it is admitted.
		k.pods[order.Pod] = pod(order)
		if err := k.manager.Allocate(k.pods[order.Pod], &k.pods[order.Pod].Spec.Containers[0]); err != nil {
			delete(k.pods, order.Pod)
			return err
		}
		return k.devices(order.Pod, reply)
	case "start":
		pod, known := k.pods[order.Pod]
		if !known {
			return fmt.Errorf("no pod %s", order.Pod)
		}
		options, err := k.manager.GetDeviceRunContainerOptions(context.Background(), pod, &pod.Spec.Containers[0])
		if err != nil {
			return err
		}
		if options != nil {
			reply.Envs = map[string]string{}
			for _, env := range options.Envs {
				reply.Envs[env.Name] = env.Value
			}
			for _, node := range options.Devices {
				reply.Nodes = append(reply.Nodes, node.PathOnHost)
			}
			for _, device := range options.CDIDevices {
				reply.CDI = append(reply.CDI, device.Name)
			}
			sort.Strings(reply.Nodes)
		}
		return k.devices(order.Pod, reply)
	case "devices":
		return k.devices(order.Pod, reply)
	case "end":
		delete(k.pods, order.Pod)
		k.manager.UpdateAllocatedDevices()
		return nil
	}
	return fmt.Errorf("no such order: %q", order.Do)
}

func (k *kubeletDevices) devices(pod string, reply *answer) error {
	reply.Devices = map[string][]string{}
	for name, devices := range k.manager.GetDevices(pod, "c") {
		ids := []string{}
		for id := range devices {
			ids = append(ids, id)
		}
		sort.Strings(ids)
		reply.Devices[name] = ids
	}
	return nil
}
