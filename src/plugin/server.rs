//! The DevicePlugin service of one resource.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prost::Message;
use tokio::sync::watch;
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::allocate::{self, AllocateError, Grant};
use super::error::chain;
use super::memory::Memory;
use super::nodes::{DevRoot, NodeResolver};
use super::v1beta1::device_plugin_server::DevicePlugin;
use super::v1beta1::{
    AllocateRequest, AllocateResponse, ContainerPreferredAllocationResponse, Device, DevicePluginOptions,
    Empty, ListAndWatchResponse, NumaNode, PreStartContainerRequest, PreStartContainerResponse,
    PreferredAllocationRequest, PreferredAllocationResponse, TopologyInfo,
};
use super::{HEALTHY, UNHEALTHY, preferred};
use crate::pool::{PoolDevice, Resource};

/// The kubelet's limit for a message is 4 MiB, and past it the resource is dead.
pub(crate) const LIST_LIMIT: usize = 3_500_000;

/// What we tell the kubelet of ourselves, in a registration and when it asks.
pub(crate) fn options() -> DevicePluginOptions {
    DevicePluginOptions { pre_start_required: true, get_preferred_allocation_available: true }
}

/// A resource as the kubelet reads it, and how many devices did not fit.
pub(crate) fn encode(resource: &Resource, limit: usize) -> (ListAndWatchResponse, usize) {
    let mut response = ListAndWatchResponse { devices: resource.devices.iter().map(device).collect() };
    let all = response.devices.len();
    // From the end, so that the same ones stay whenever the list changes.
    while response.encoded_len() > limit {
        let keep = response.devices.len() * limit / response.encoded_len();
        response.devices.truncate(keep.min(response.devices.len().saturating_sub(1)));
    }
    let cut = all - response.devices.len();
    (response, cut)
}

fn device(device: &PoolDevice) -> Device {
    Device {
        id: device.id.clone(),
        health: if device.health.is_usable() { HEALTHY } else { UNHEALTHY }.to_owned(),
        topology: device.numa_node.map(|node| TopologyInfo { nodes: vec![NumaNode { id: i64::from(node) }] }),
    }
}

/// Serves one resource until its token is cancelled.
pub(crate) struct Service {
    pub(crate) list: watch::Receiver<Arc<Resource>>,
    pub(crate) resolver: Arc<dyn NodeResolver>,
    pub(crate) dev_root: DevRoot,
    pub(crate) given: Arc<Mutex<Memory>>,
    pub(crate) streams: Arc<watch::Sender<usize>>,
    pub(crate) call: Duration,
    pub(crate) stop: CancellationToken,
}

impl Service {
    /// A device with its nodes at this moment, checked against `/dev`.
    async fn grant(&self, id: &str) -> Result<Grant, AllocateError> {
        let resource = self.list.borrow().clone();
        let device = resource.device(id).cloned().ok_or_else(|| AllocateError::UnknownDevice {
            resource: resource.name.clone(),
            id: id.to_owned(),
        })?;
        let nodes = match tokio::time::timeout(self.call, self.resolver.resolve(device.index)).await {
            Ok(Ok(nodes)) => nodes,
            Ok(Err(source)) => {
                return Err(AllocateError::Resolve { id: device.id, device: device.device, source });
            }
            Err(_) => return Err(AllocateError::Timeout { id: device.id, device: device.device }),
        };
        let found = self.dev_root.numbers(&nodes.uverbs.name);
        let grant = Grant { device, nodes };
        allocate::check_node(&grant, found)?;
        Ok(grant)
    }

    fn refuse(&self, what: &str, error: &AllocateError) -> Status {
        let message = chain(error);
        tracing::warn!(resource = %self.list.borrow().name, "{what} refused: {message}");
        match error {
            AllocateError::UnknownDevice { .. } => Status::not_found(message),
            AllocateError::Timeout { .. } => Status::deadline_exceeded(message),
            _ => Status::failed_precondition(message),
        }
    }
}

#[tonic::async_trait]
impl DevicePlugin for Service {
    async fn get_device_plugin_options(
        &self,
        _: Request<Empty>,
    ) -> Result<Response<DevicePluginOptions>, Status> {
        Ok(Response::new(options()))
    }

    type ListAndWatchStream = Pin<Box<dyn Stream<Item = Result<ListAndWatchResponse, Status>> + Send>>;

    async fn list_and_watch(&self, _: Request<Empty>) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let reader = Reader {
            list: self.list.clone(),
            sent: None,
            stop: self.stop.clone(),
            _open: Open::new(self.streams.clone()),
        };
        let stream = futures::stream::unfold(reader, |mut reader| async {
            let response = reader.next().await?;
            Some((Ok(response), reader))
        });
        Ok(Response::new(Box::pin(stream)))
    }

    async fn get_preferred_allocation(
        &self,
        request: Request<PreferredAllocationRequest>,
    ) -> Result<Response<PreferredAllocationResponse>, Status> {
        let resource = self.list.borrow().clone();
        let choose = |request: super::v1beta1::ContainerPreferredAllocationRequest| {
            let size = usize::try_from(request.allocation_size).unwrap_or(0);
            ContainerPreferredAllocationResponse {
                device_ids: preferred::choose(
                    &resource,
                    &request.available_device_ids,
                    &request.must_include_device_ids,
                    size,
                ),
            }
        };
        let container_responses = request.into_inner().container_requests.into_iter().map(choose).collect();
        Ok(Response::new(PreferredAllocationResponse { container_responses }))
    }

    async fn allocate(
        &self,
        request: Request<AllocateRequest>,
    ) -> Result<Response<AllocateResponse>, Status> {
        let mut containers = Vec::new();
        for container in request.into_inner().container_requests {
            let mut grants = Vec::with_capacity(container.device_ids.len());
            for id in &container.device_ids {
                grants.push(self.grant(id).await.map_err(|error| self.refuse("allocation", &error))?);
            }
            containers.push(grants);
        }
        // All or nothing: what is remembered was handed out.
        let rdma_cm = self.dev_root.has_rdma_cm();
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.remember(containers.iter().flatten());
        let container_responses =
            containers.iter().map(|grants| allocate::response(grants, rdma_cm)).collect();
        Ok(Response::new(AllocateResponse { container_responses }))
    }

    async fn pre_start_container(
        &self,
        request: Request<PreStartContainerRequest>,
    ) -> Result<Response<PreStartContainerResponse>, Status> {
        for id in request.into_inner().device_ids {
            let checked = match self.grant(&id).await {
                Ok(grant) => self.given.lock().unwrap_or_else(PoisonError::into_inner).check(&grant),
                Err(error) => Err(error),
            };
            checked.map_err(|error| self.refuse("container start", &error))?;
        }
        Ok(Response::new(PreStartContainerResponse {}))
    }
}

/// One open list stream.
struct Reader {
    list: watch::Receiver<Arc<Resource>>,
    sent: Option<ListAndWatchResponse>,
    stop: CancellationToken,
    _open: Open,
}

impl Reader {
    /// The next list that differs from the last one; `None` when we stop. A graceful shutdown waits for open
    /// streams, so this one has to end by itself.
    async fn next(&mut self) -> Option<ListAndWatchResponse> {
        loop {
            if self.stop.is_cancelled() {
                return None;
            }
            let (response, _) = encode(&self.list.borrow_and_update(), LIST_LIMIT);
            if self.sent.as_ref() != Some(&response) {
                self.sent = Some(response.clone());
                return Some(response);
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                changed = self.list.changed() => changed.ok()?,
            }
        }
    }
}

/// Counts a stream for as long as it lives.
struct Open(Arc<watch::Sender<usize>>);

impl Open {
    fn new(streams: Arc<watch::Sender<usize>>) -> Self {
        streams.send_modify(|count| *count += 1);
        Self(streams)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Health, HealthState};
    use crate::inventory::Identity;

    fn resource(devices: u32, numa_node: Option<u32>, state: HealthState) -> Resource {
        let device = |index| PoolDevice {
            id: format!("0000:1a:00.0#{index}"),
            index,
            device: "mlx5_0".to_owned(),
            identity: Identity::Name(String::new()),
            numa_node,
            env_key: String::new(),
            netdev: None,
            gid_index: None,
            health: Health::new(state, "PortDown", ""),
        };
        Resource { name: "rdma/rail".to_owned(), devices: (0..devices).map(device).collect() }
    }

    #[test]
    fn b97_topology_is_there_only_with_an_affinity() {
        let (list, _) = encode(&resource(1, Some(1), HealthState::Healthy), LIST_LIMIT);
        assert_eq!(list.devices[0].topology.as_ref().unwrap().nodes[0].id, 1);
        let (list, _) = encode(&resource(1, None, HealthState::Healthy), LIST_LIMIT);
        assert_eq!(list.devices[0].topology, None);
    }

    #[test]
    fn b76_only_what_is_usable_is_healthy_to_the_kubelet() {
        for (state, expected) in [
            (HealthState::Healthy, HEALTHY),
            (HealthState::Degraded, HEALTHY),
            (HealthState::AdminDown, UNHEALTHY),
            (HealthState::Unhealthy, UNHEALTHY),
        ] {
            assert_eq!(encode(&resource(1, None, state), LIST_LIMIT).0.devices[0].health, expected);
        }
    }

    #[test]
    fn a_list_that_the_kubelet_could_not_read_is_cut() {
        let large = resource(30_000, Some(0), HealthState::Healthy);
        assert_eq!(encode(&large, LIST_LIMIT).1, 0, "300 devices of 100 replicas fit");
        let (list, cut) = encode(&large, 10_000);
        assert!(list.encoded_len() <= 10_000 && !list.devices.is_empty());
        assert_eq!(list.devices.len() + cut, 30_000);
        assert_eq!(encode(&large, 0).0.devices.len(), 0);
    }
}
