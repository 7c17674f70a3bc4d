//! A host for plugin tests: devices made by hand, nodes that are links to nodes every machine has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rdma_operator::inventory::{CharDevice, Device, Driver, Guid, Identity, Inventory, Pci, Port};
use rdma_operator::plugin::{
    self, BoxFuture, DeviceNodes, NodeResolver, PluginStatus, ResolveError, ResourceStatus, Settings, Timing,
};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long anything may take, on a machine that does much else at the same time.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A soft device with one port in this state.
pub fn soft(index: u32, name: &str, state: &str) -> Device {
    let port = Port {
        number: 1,
        state: Some(state.to_owned()),
        phys_state: Some(if state == "ACTIVE" { "LINK_UP" } else { "POLLING" }.to_owned()),
        link_layer: Some("Ethernet".to_owned()),
        netdev: Some("eth0".to_owned()),
        ..Port::default()
    };
    Device {
        index,
        name: name.to_owned(),
        identity: Identity::Name(name.to_owned()),
        driver: Driver { name: "rxe".to_owned(), module: None },
        node_type: "ca".to_owned(),
        protocol: Some("roce".to_owned()),
        node_guid: Some(Guid(7)),
        parent_netdev: Some("eth0".to_owned()),
        uverbs: Some(null_node("uverbs0")),
        ports: vec![port],
        ..Device::default()
    }
}

/// A device of a PCI function.
pub fn hard(index: u32, name: &str, address: &str) -> Device {
    Device {
        driver: Driver { name: "mlx5".to_owned(), module: None },
        identity: Identity::Pci(address.to_owned()),
        pci: Some(Pci { address: address.to_owned(), numa_node: Some(1), ..Pci::default() }),
        parent_netdev: None,
        ..soft(index, name, "ACTIVE")
    }
}

/// A node with the numbers of /dev/null.
pub fn null_node(name: &str) -> CharDevice {
    CharDevice { name: name.to_owned(), major: 1, minor: 3, abi: Some(1) }
}

/// A node with the numbers of /dev/zero.
pub fn zero_node(name: &str) -> CharDevice {
    CharDevice { name: name.to_owned(), major: 1, minor: 5, abi: Some(1) }
}

/// What the kernel would answer.
#[derive(Default)]
pub struct Resolver(pub Mutex<BTreeMap<u32, DeviceNodes>>);

impl Resolver {
    pub fn set(&self, index: u32, device: &str, uverbs: CharDevice) {
        self.0.lock().unwrap().insert(index, DeviceNodes { device: device.to_owned(), uverbs });
    }
}

impl NodeResolver for Resolver {
    fn resolve(&self, index: u32) -> BoxFuture<'_, Result<DeviceNodes, ResolveError>> {
        let answer = self.0.lock().unwrap().get(&index).cloned().ok_or(ResolveError::DeviceGone { index });
        Box::pin(async { answer })
    }
}

/// Short times, so that a test takes fractions of a second.
pub fn quick() -> Timing {
    Timing {
        grace: Duration::from_millis(300),
        poll: Duration::from_millis(200),
        look_again: Duration::from_millis(20),
        retry_min: Duration::from_millis(10),
        retry_max: Duration::from_millis(50),
        call: Duration::from_secs(10),
        stream: Duration::from_millis(200),
        settle: Duration::from_millis(50),
        linger: Duration::from_millis(50),
    }
}

/// A running plugin and what is around it.
pub struct Host {
    root: TempDir,
    pub settings: Settings,
    pub resolver: Arc<Resolver>,
    pub inventory: watch::Sender<Option<Arc<Inventory>>>,
    pub status: watch::Receiver<PluginStatus>,
    stop: CancellationToken,
    task: Option<JoinHandle<()>>,
}

impl Host {
    /// Directories, and nothing running.
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut settings = Settings {
            dir: root.path().join("device-plugins"),
            dev_root: root.path().join("dev"),
            timing: quick(),
            ..Settings::default()
        };
        std::fs::create_dir(&settings.dir).unwrap();
        std::fs::create_dir_all(settings.dev_root.join("infiniband")).unwrap();
        change(&mut settings);
        let host = Self {
            root,
            settings,
            resolver: Arc::default(),
            inventory: watch::channel(None).0,
            status: watch::channel(PluginStatus::default()).1,
            stop: CancellationToken::new(),
            task: None,
        };
        host.node("uverbs0", "/dev/null");
        host.node("uverbs1", "/dev/zero");
        host
    }

    /// Starts the plugin.
    pub fn start(&mut self) {
        let (sender, status) = watch::channel(PluginStatus::default());
        self.status = status;
        self.stop = CancellationToken::new();
        self.task = Some(tokio::spawn(plugin::run(
            self.settings.clone(),
            self.inventory.subscribe(),
            self.resolver.clone(),
            sender,
            self.stop.clone(),
        )));
    }

    /// Ends the plugin in order.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        if let Some(task) = self.task.take() {
            tokio::time::timeout(PATIENCE, task).await.expect("ends in time").unwrap();
        }
    }

    /// Ends the plugin as by SIGKILL: sockets stay.
    pub async fn kill(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ = task.await;
        }
    }

    pub fn show(&self, devices: Vec<Device>) {
        for device in &devices {
            if let Some(uverbs) = &device.uverbs {
                self.resolver.set(device.index, &device.name, uverbs.clone());
            }
        }
        self.inventory.send_replace(Some(Arc::new(Inventory { devices, ..Inventory::default() })));
    }

    pub fn dir(&self) -> &Path {
        &self.settings.dir
    }

    pub fn socket(&self, resource: &str) -> PathBuf {
        self.dir().join(plugin::socket_name(self.dir(), resource).unwrap())
    }

    /// Makes a node of this name, with the numbers of `target`.
    pub fn node(&self, name: &str, target: &str) {
        let path = self.settings.dev_root.join("infiniband").join(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub fn remove_node(&self, name: &str) {
        std::fs::remove_file(self.settings.dev_root.join("infiniband").join(name)).unwrap();
    }

    /// Waits until the status of a resource is as it should be; tells what it is instead.
    pub async fn wait_status(&self, name: &str, good: impl Fn(&ResourceStatus) -> bool) -> ResourceStatus {
        let mut status = self.status.clone();
        let find = |status: &PluginStatus| status.resources.iter().find(|entry| entry.name == name).cloned();
        let wanted = status.wait_for(|status| find(status).is_some_and(|entry| good(&entry)));
        if let Ok(Ok(status)) = tokio::time::timeout(PATIENCE, wanted).await {
            return find(&status).unwrap();
        }
        panic!(
            "{name} in {}: not so after {PATIENCE:?}: {:?}",
            self.root.path().display(),
            self.status.borrow().resources
        )
    }

    pub async fn wait_reason(&self, name: &str, reason: &str) -> ResourceStatus {
        self.wait_status(name, |entry| entry.reason == reason).await
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
