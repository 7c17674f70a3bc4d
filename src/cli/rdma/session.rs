//! What a command works with: the kernel, the host, and where to print.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use anyhow::{Result, bail};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::output::{Printer, Row, Style};
use super::words::{PortChoice, Target};
use crate::inventory::{Host as _, LiveHost, Netdev, Options};
use crate::nl::{Device, Events, Handle};
use crate::sysfs::Sysfs;
use crate::telemetry::chain;

/// What commands ask the host beside netlink.
pub trait Host {
    /// The name of a process, if it can be seen.
    fn process_name(&self, pid: u32) -> Option<String>;

    /// A descriptor of the network namespace of this name, or that a process of this number is in.
    ///
    /// # Errors
    /// When there is none or it cannot be opened.
    fn netns(&self, name: &str) -> io::Result<OwnedFd>;

    /// Where GIDs are read.
    fn sysfs(&self) -> Sysfs;

    /// Netdevs of this network namespace, with their addresses.
    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>>;
}

/// The host this process runs on.
#[derive(Debug)]
pub struct LocalHost;

impl Host for LocalHost {
    fn process_name(&self, pid: u32) -> Option<String> {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(name.trim_end_matches('\n').to_owned())
    }

    fn netns(&self, name: &str) -> io::Result<OwnedFd> {
        // As ip(8): a name below /run/netns, else the number of a process.
        let file = match fs::File::open(format!("/run/netns/{name}")) {
            Err(_) if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) => {
                fs::File::open(format!("/proc/{name}/ns/net"))
            }
            opened => opened,
        };
        file.map(OwnedFd::from)
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::new("/sys")
    }

    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>> {
        Box::pin(async { LiveHost::new(Options::default()).netdevs().await })
    }
}

/// There is no such device or port.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotHere(String);

/// One run of a command.
pub(super) struct Session<'a> {
    /// The kernel.
    pub(super) handle: Handle,
    /// Its notifications; only the monitor's connection brings any.
    pub(super) events: Events,
    /// The host.
    pub(super) host: &'a dyn Host,
    /// Where rows go.
    pub(super) printer: Printer<'a>,
    /// Where failures go that do not end the command.
    pub(super) err: &'a mut dyn Write,
    /// Ends commands that would go on.
    pub(super) stop: CancellationToken,
    /// Whether such a failure was seen.
    pub(super) failed: bool,
}

impl Session<'_> {
    /// How to print.
    pub(super) fn style(&self) -> Style {
        self.printer.style()
    }

    /// Prints a row.
    pub(super) fn row(&mut self, row: &Row) -> Result<()> {
        Ok(self.printer.row(row)?)
    }

    /// Says a failure and lets the command go on with the rest: one port that cannot be asked does not hide the
    /// others, as it does in rdma(8).
    pub(super) fn problem(&mut self, error: &anyhow::Error) {
        self.failed = true;
        // Nobody to tell if this fails too.
        let _ = writeln!(self.err, "rdma-operator: {}", chain(error.as_ref()));
    }

    /// All devices by index, or the one of this name.
    ///
    /// # Errors
    /// When the kernel cannot be asked or there is no such device.
    pub(super) async fn devices(&self, name: Option<&str>) -> Result<Vec<Device>> {
        match name {
            Some(name) => Ok(vec![self.device(name).await?]),
            None => Ok(self.handle.device().list().await?),
        }
    }

    /// The device of this name.
    ///
    /// # Errors
    /// When the kernel cannot be asked or there is no such device.
    pub(super) async fn device(&self, name: &str) -> Result<Device> {
        let devices = self.handle.device().list().await?;
        let device = devices.into_iter().find(|device| device.name == name);
        device.ok_or_else(|| NotHere(format!("there is no RDMA device {name:?} here")).into())
    }

    /// The devices a target names, each with the ports it names; without a target all.
    ///
    /// # Errors
    /// When the kernel cannot be asked, there is no such device or it has no such port.
    pub(super) async fn ports(&self, target: Option<&Target>) -> Result<Vec<(Device, Vec<u32>)>> {
        let devices = self.devices(target.map(|target| target.device.as_str())).await?;
        let port = target.map_or(PortChoice::All, |target| target.port);
        devices.into_iter().map(|device| ports_of(device, port)).collect()
    }

    /// The one port a target names; a device alone will do if it has only one.
    ///
    /// # Errors
    /// When the kernel cannot be asked, or it is not one port.
    pub(super) async fn port(&self, target: &Target) -> Result<(Device, u32)> {
        let (device, ports) = ports_of(self.device(&target.device).await?, target.port)?;
        match ports.as_slice() {
            [port] => Ok((device, *port)),
            _ => bail!("{} has {} ports: say which as {0}/PORT", device.name, device.port_count),
        }
    }
}

fn ports_of(device: Device, choice: PortChoice) -> Result<(Device, Vec<u32>)> {
    let ports = match choice {
        PortChoice::All => (1..=device.port_count).collect(),
        PortChoice::Without => Vec::new(),
        PortChoice::One(port) if (1..=device.port_count).contains(&port) => vec![port],
        PortChoice::One(port) => {
            let ports = device.port_count;
            return Err(
                NotHere(format!("{} has no port {port}: its ports are 1 to {ports}", device.name)).into()
            );
        }
    };
    Ok((device, ports))
}
