//! `rdma-operator inventory`

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::host::Folders;
use crate::inventory::{Collector, Dirty, Inventory, Kernel};

/// Arguments.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// How to print
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    folders: Folders,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, Default)]
enum Output {
    /// A line a port
    #[default]
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
}

pub(super) async fn run(args: Args, machine: Option<PathBuf>) -> anyhow::Result<()> {
    let host = args.folders.host_that_is_there(machine.as_deref())?;
    let mut collector = Collector::new(Arc::new(Kernel::new(host)));
    let inventory = collector.collect(&Inventory::default(), &Dirty::all()).await;
    let text = match args.output {
        Output::Json => format!("{}\n", serde_json::to_string_pretty(&inventory)?),
        Output::Yaml => serde_saphyr::to_string(&inventory)?,
        Output::Wide => wide(&inventory),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn wide(inventory: &Inventory) -> String {
    let system = &inventory.system;
    let mut lines = vec![format!("kernel {}  netns {}", system.kernel, system.netns_mode.as_str())];
    if !system.rdma {
        lines.push("this kernel has no RDMA subsystem".to_owned());
    } else if inventory.devices.is_empty() {
        lines.push("no RDMA devices".to_owned());
    }
    for device in &inventory.devices {
        for port in &device.ports {
            let word = |text: &Option<String>| text.as_deref().unwrap_or("-").to_owned();
            lines.push(format!(
                "{}/{}  driver {}  {}  state {}  phys {}  rate {}  netdev {}  uverbs {}",
                device.name,
                port.number,
                device.driver.name,
                device.identity,
                word(&port.state),
                word(&port.phys_state),
                word(&port.rate),
                word(&port.netdev),
                device.uverbs.as_ref().map_or("-", |node| &node.name),
            ));
            lines.extend(port.gids.iter().map(|gid| {
                let kind = gid.gid_type.as_str();
                format!("  gid {}  {}  {kind}  netdev {}", gid.index, gid.gid, word(&gid.netdev))
            }));
        }
    }
    for problem in &inventory.problems {
        lines.push(format!("could not be read: {}: {}", problem.what, problem.message));
    }
    lines.join("\n") + "\n"
}
