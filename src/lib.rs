//! RDMA for Kubernetes.
