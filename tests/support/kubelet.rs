//! A kubelet as far as device plugins see it: removes all sockets from its directory when it starts, serves
//! Registration, dials back, reads device lists. Like the real one (1.36) it keeps one client a resource name and
//! takes down whichever that is when any list stream of the name ends.

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rdma_operator::plugin::v1beta1::device_plugin_client::DevicePluginClient;
use rdma_operator::plugin::v1beta1::registration_server::{Registration, RegistrationServer};
use rdma_operator::plugin::v1beta1::{
    AllocateRequest, ContainerAllocateRequest, ContainerAllocateResponse,
    ContainerPreferredAllocationRequest, Device, DevicePluginOptions, Empty, PreStartContainerRequest,
    PreferredAllocationRequest, RegisterRequest,
};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

use super::host::PATIENCE;

/// What the kubelet knows of one resource.
#[derive(Clone, Default)]
pub struct Known {
    pub endpoint: String,
    pub options: DevicePluginOptions,
    pub registrations: u32,
    /// Every list it read, in order.
    pub lists: Vec<Vec<Device>>,
    /// A list stream is open.
    pub connected: bool,
    client: Option<DevicePluginClient<Channel>>,
    /// Ends the stream of the current client.
    cut: CancellationToken,
}

impl Known {
    /// Capacity and allocatable.
    pub fn capacity(&self) -> (usize, usize) {
        let list = self.lists.last().map(Vec::as_slice).unwrap_or_default();
        let healthy = list.iter().filter(|device| self.connected && device.health == "Healthy").count();
        (list.len(), healthy)
    }
}

/// How it answers registrations.
#[derive(Clone, Default)]
pub enum Manner {
    #[default]
    Accept,
    /// With this text.
    Refuse(String),
    /// Says yes and never reads the list.
    Ignore,
    /// Takes the call and never answers.
    Hang,
}

#[derive(Clone)]
struct Service {
    dir: PathBuf,
    state: Arc<watch::Sender<BTreeMap<String, Known>>>,
    manner: Arc<Mutex<Manner>>,
    /// How often it was called.
    asked: Arc<watch::Sender<u32>>,
    stop: CancellationToken,
}

/// A running kubelet.
pub struct Kubelet {
    service: Service,
    state: watch::Receiver<BTreeMap<String, Known>>,
}

impl Kubelet {
    /// Starts as a kubelet does: everything in the directory goes, then its own socket comes.
    pub fn start(dir: &Path) -> Self {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            if entry.file_type().unwrap().is_socket() {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Self::start_beside(dir)
    }

    /// Starts without removing anything but its own socket.
    pub fn start_beside(dir: &Path) -> Self {
        let path = dir.join("kubelet.sock");
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(path).unwrap();
        let (sender, state) = watch::channel(BTreeMap::new());
        let service = Service {
            dir: dir.to_owned(),
            state: Arc::new(sender),
            manner: Arc::default(),
            asked: Arc::new(watch::Sender::new(0)),
            stop: CancellationToken::new(),
        };
        let server = Server::builder()
            .add_service(RegistrationServer::new(service.clone()))
            .serve_with_incoming_shutdown(
                UnixListenerStream::new(listener),
                service.stop.clone().cancelled_owned(),
            );
        tokio::spawn(server);
        Self { service, state }
    }

    /// Ends as by a signal: connections break, the socket file stays.
    pub fn kill(self) {
        self.service.stop.cancel();
    }

    pub fn manner(&self, manner: Manner) {
        *self.service.manner.lock().unwrap() = manner;
    }

    /// Waits until a plugin has called.
    pub async fn wait_asked(&self) {
        let mut asked = self.service.asked.subscribe();
        let called = asked.wait_for(|times| *times > 0);
        tokio::time::timeout(PATIENCE, called).await.expect("a plugin calls").unwrap();
    }

    /// Ends the list stream of one resource, as when another plugin registers its name.
    pub fn forget(&self, resource: &str) {
        self.resource(resource).cut.cancel();
    }

    pub fn resource(&self, resource: &str) -> Known {
        self.state.borrow().get(resource).cloned().unwrap_or_default()
    }

    pub fn resources(&self) -> Vec<String> {
        self.state.borrow().keys().cloned().collect()
    }

    /// Waits until a resource is as it should be; tells what it is instead.
    pub async fn wait(&self, resource: &str, what: &str, mut good: impl FnMut(&Known) -> bool) -> Known {
        let mut state = self.state.clone();
        let wanted = state.wait_for(|state| state.get(resource).is_some_and(&mut good));
        let found = match tokio::time::timeout(PATIENCE, wanted).await {
            Ok(Ok(state)) => Some(state.get(resource).cloned().unwrap()),
            _ => None,
        };
        found.unwrap_or_else(|| {
            let known = self.resource(resource);
            panic!(
                "{resource}: {what}: not so after {PATIENCE:?}: {:?} {:?}",
                known.capacity(),
                known.lists.last()
            )
        })
    }

    pub async fn wait_capacity(&self, resource: &str, capacity: usize, healthy: usize) -> Known {
        let what = format!("capacity {capacity}, allocatable {healthy}");
        self.wait(resource, &what, |known| known.connected && known.capacity() == (capacity, healthy)).await
    }

    fn client(&self, resource: &str) -> DevicePluginClient<Channel> {
        self.resource(resource).client.expect("a registered resource")
    }

    pub async fn allocate(&self, resource: &str, ids: &[&str]) -> Result<ContainerAllocateResponse, Status> {
        let container =
            ContainerAllocateRequest { device_ids: ids.iter().map(ToString::to_string).collect() };
        let request = AllocateRequest { container_requests: vec![container] };
        let response = self.client(resource).allocate(request).await?.into_inner();
        Ok(response.container_responses.into_iter().next().unwrap())
    }

    pub async fn pre_start(&self, resource: &str, ids: &[&str]) -> Result<(), Status> {
        let request = PreStartContainerRequest { device_ids: ids.iter().map(ToString::to_string).collect() };
        self.client(resource).pre_start_container(request).await.map(drop)
    }

    pub async fn preferred(&self, resource: &str, available: &[&str], size: i32) -> Vec<String> {
        let container = ContainerPreferredAllocationRequest {
            available_device_ids: available.iter().map(ToString::to_string).collect(),
            must_include_device_ids: vec![],
            allocation_size: size,
        };
        let request = PreferredAllocationRequest { container_requests: vec![container] };
        let response = self.client(resource).get_preferred_allocation(request).await.unwrap().into_inner();
        response.container_responses[0].device_ids.clone()
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.service.stop.cancel();
    }
}

#[tonic::async_trait]
impl Registration for Service {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        let request = request.into_inner();
        let manner = self.manner.lock().unwrap().clone();
        self.asked.send_modify(|times| *times += 1);
        match &manner {
            Manner::Refuse(text) => return Err(Status::unknown(text)),
            Manner::Hang => std::future::pending().await,
            Manner::Accept | Manner::Ignore => {}
        }
        if request.version != "v1beta1" {
            return Err(Status::unknown(format!(
                "requested API version {} is not supported",
                request.version
            )));
        }
        // The kubelet dials before it answers: a plugin that does not serve yet fails here.
        let address = format!("unix:{}", self.dir.join(&request.endpoint).display());
        let channel = Endpoint::try_from(address).unwrap().connect().await;
        let channel =
            channel.map_err(|error| Status::unknown(format!("failed to dial device plugin: {error}")))?;
        let mut client = DevicePluginClient::new(channel);
        let options = client.get_device_plugin_options(Empty {}).await?.into_inner();
        assert_eq!(Some(options), request.options);
        let cut = self.stop.child_token();
        self.state.send_modify(|state| {
            let known = state.entry(request.resource_name.clone()).or_default();
            known.endpoint = request.endpoint.clone();
            known.options = options;
            known.registrations += 1;
            known.client = Some(client.clone());
            known.cut = cut.clone();
        });
        if !matches!(manner, Manner::Ignore) {
            tokio::spawn(self.clone().read(request.resource_name, client, cut));
        }
        Ok(Response::new(Empty {}))
    }
}

impl Service {
    /// Reads the lists of one resource until the stream ends or is cut.
    async fn read(self, resource: String, mut client: DevicePluginClient<Channel>, cut: CancellationToken) {
        if let Ok(stream) = client.list_and_watch(Empty {}).await {
            let mut stream = stream.into_inner();
            while let Some(Some(Ok(response))) = cut.run_until_cancelled(stream.next()).await {
                self.state.send_modify(|state| {
                    let known = state.entry(resource.clone()).or_default();
                    known.lists.push(response.devices);
                    known.connected = true;
                });
            }
        }
        // Whose client is it by now? The real one does not ask either.
        self.state.send_modify(|state| {
            let known = state.entry(resource).or_default();
            known.connected = false;
            known.client = None;
            known.cut.cancel();
        });
    }
}
