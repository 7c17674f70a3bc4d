//! The socket of one resource: its name, taking it, serving on it, giving it back.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Endpoint, Server};

use super::error::{CallError, Error};
use super::server::Service;
use super::v1beta1::Empty;
use super::v1beta1::device_plugin_client::DevicePluginClient;
use super::v1beta1::device_plugin_server::DevicePluginServer;
use crate::pool::name::fnv1a;

/// Every socket of ours starts so, and nothing that does not is ever touched.
pub(crate) const PREFIX: &str = "rdma-operator.";
const SUFFIX: &str = ".sock";
/// `sun_path` is 108 bytes with its final NUL.
const PATH_MAX: usize = 107;
/// The kubelet dials the socket by its own path, which may be longer than ours.
const KUBELET_DIR: &str = "/var/lib/kubelet/device-plugins/";
/// How long open connections may take to end.
const DRAIN: Duration = Duration::from_secs(1);

/// The file name of a resource's socket in `dir`: always the same, and no other resource's.
///
/// # Errors
/// When `dir` is so long that no name fits behind it.
pub fn socket_name(dir: &Path, resource: &str) -> Result<String, Error> {
    let longest = (dir.as_os_str().len() + 1).max(KUBELET_DIR.len());
    // A domain has no underscore, so the first one is where the slash was.
    let plain = format!("{PREFIX}{}{SUFFIX}", resource.replacen('/', "_", 1));
    let hashed = || format!("{PREFIX}{:016x}{SUFFIX}", fnv1a(resource.as_bytes()));
    let name = if longest + plain.len() <= PATH_MAX && !plain.contains('/') { plain } else { hashed() };
    if longest + name.len() <= PATH_MAX { Ok(name) } else { Err(Error::PathTooLong { dir: dir.to_owned() }) }
}

/// A server on a socket of ours.
#[derive(Debug)]
pub(crate) struct Serving {
    /// File name of the socket.
    pub(crate) name: String,
    path: PathBuf,
    inode: (u64, u64),
    stop: CancellationToken,
    task: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Serving {
    /// Takes the socket, serves on it and makes sure that it answers.
    pub(crate) async fn start(dir: &Path, resource: &str, service: Service) -> Result<Self, Error> {
        let name = socket_name(dir, resource)?;
        let path = dir.join(&name);
        clear(dir, &path).await?;
        let at = |source| Error::at(dir, path.clone(), source);
        let listener = UnixListener::bind(&path).map_err(at)?;
        let inode = inode(&path).map_err(at)?;
        let (call, stop) = (service.call, service.stop.clone());
        let server = Server::builder()
            .add_service(DevicePluginServer::new(service))
            .serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop.clone().cancelled_owned());
        let mut serving = Self { name, path, inode, stop, task: tokio::spawn(server) };
        match dial(&serving.path, call).await {
            Ok(()) => Ok(serving),
            Err(source) => {
                let path = serving.path.clone();
                serving.stop().await;
                Err(Error::SelfDial { path, source })
            }
        }
    }

    /// Whether the socket's path still leads to this server. The kubelet empties its directory when it starts.
    fn is_in_place(&self) -> bool {
        inode(&self.path).is_ok_and(|inode| inode == self.inode)
    }

    /// Whether it can be reached.
    pub(crate) fn is_well(&self) -> bool {
        !self.task.is_finished() && self.is_in_place()
    }

    /// Returns when the server has ended by itself.
    pub(crate) async fn ended(&mut self) {
        if !self.task.is_finished() {
            // An error here says no more than that it ended: it is made anew in any case.
            let _ = (&mut self.task).await;
        }
    }

    /// Ends the server and takes the socket away.
    pub(crate) async fn stop(&mut self) {
        self.stop.cancel();
        if !self.task.is_finished() {
            // What is open for longer is cut off by the drop.
            let _ = tokio::time::timeout(DRAIN, &mut self.task).await;
        }
        if self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Serving {
    /// A server never outlives what made it, whichever way that ends.
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

/// Makes the path free: takes a socket away that nobody serves, and nothing else.
async fn clear(dir: &Path, path: &Path) -> Result<(), Error> {
    match is_stale(path).await {
        Ok(None) => Ok(()),
        Ok(Some(true)) => {
            std::fs::remove_file(path).map_err(|source| Error::at(dir, path.to_owned(), source))
        }
        Ok(Some(false)) => Err(Error::ForeignServer { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(Error::NotASocket { path: path.to_owned() })
        }
        Err(source) => Err(Error::at(dir, path.to_owned(), source)),
    }
}

/// Whether the socket at `path` has nobody behind it; `None` where there is nothing.
async fn is_stale(path: &Path) -> io::Result<Option<bool>> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => return Err(io::ErrorKind::InvalidInput.into()),
        Ok(_) => {}
    }
    match UnixStream::connect(path).await {
        Ok(_) => Ok(Some(false)),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(Some(true)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes away what an earlier run left of resources that are no more: sockets of our name that nobody serves.
pub(crate) async fn sweep(dir: &Path, keep: &BTreeSet<String>) {
    // No directory, no leftovers: the workers say what is wrong with it.
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let ours = name.starts_with(PREFIX) && name.ends_with(SUFFIX) && !keep.contains(name);
        if ours && matches!(is_stale(&entry.path()).await, Ok(Some(true))) {
            tracing::info!(socket = %entry.path().display(), "removing a socket that an earlier run left");
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A connection to a socket, by the address form that tonic knows.
pub(crate) fn endpoint(path: &Path) -> Result<Endpoint, tonic::transport::Error> {
    Endpoint::try_from(format!("unix:{}", path.display()))
}

async fn dial(path: &Path, limit: Duration) -> Result<(), CallError> {
    let channel = tokio::time::timeout(limit, endpoint(path)?.connect()).await??;
    let mut client = DevicePluginClient::new(channel);
    tokio::time::timeout(limit, client.get_device_plugin_options(Empty {})).await??;
    Ok(())
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b09_a_socket_path_always_fits() {
        let kubelet = Path::new("/var/lib/kubelet/device-plugins");
        assert_eq!(socket_name(kubelet, "rdma/mlx5_0").unwrap(), "rdma-operator.rdma_mlx5_0.sock");
        let mut seen = BTreeSet::new();
        for dir in ["/d".to_owned(), kubelet.display().to_string(), format!("/{}", "r".repeat(70))] {
            for length in 1..=63 {
                for domain in ["rdma", "a-rather-long-name.of-some-organisation.example.com"] {
                    let resource = format!("{domain}/{}", "n".repeat(length));
                    let name = socket_name(Path::new(&dir), &resource).unwrap();
                    assert!(dir.len() + 1 + name.len() < 108, "{dir}/{name}");
                    assert!(KUBELET_DIR.len() + name.len() < 108, "{name}");
                    assert!(seen.insert((dir.clone(), name.clone())), "{name} twice");
                    assert_eq!(socket_name(Path::new(&dir), &resource).unwrap(), name);
                }
            }
        }
        let error = socket_name(Path::new(&"/x".repeat(50)), "rdma/a").unwrap_err();
        assert!(matches!(error, Error::PathTooLong { .. }));
    }
}
