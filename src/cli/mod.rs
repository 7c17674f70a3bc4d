//! The command line: one file a subcommand.

mod agent;
mod controller;
mod crds;
mod inventory;
pub mod rdma;
mod uninstall;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::telemetry::{self, LogFormat};

/// RDMA for Kubernetes.
#[derive(Parser, Debug)]
#[command(name = "rdma-operator", version, about, max_term_width = 100, infer_subcommands = true)]
struct Cli {
    /// What to log: a level, or directives like info,rdma_operator=debug
    #[arg(long, global = true, env = "RDMA_OPERATOR_LOG", default_value = "info")]
    log: String,
    /// How log lines look
    #[arg(long, global = true, env = "RDMA_OPERATOR_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
    #[command(flatten)]
    rdma: rdma::Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Runs on every node: inventory, device plugin, soft links, RdmaNode status, metrics
    Agent(agent::Args),
    /// Runs once in a cluster: RdmaNodes, soft links of all nodes, their status
    Controller(controller::Args),
    /// Prints the CRDs, or writes them to a folder
    Crds(crds::Args),
    /// Shows this host's RDMA devices, ports and GIDs
    Inventory(inventory::Args),
    /// RDMA devices, as rdma(8): show, add, delete, set
    Dev(rdma::Args),
    /// Ports and soft devices, as rdma(8): show, add, delete
    Link(rdma::Args),
    /// What is allocated on devices, as rdma(8): show, set
    Resource(rdma::Args),
    /// Counters, as rdma(8): show, mode, set, unset, qp, mr
    Statistic(rdma::Args),
    /// Settings of the RDMA subsystem, as rdma(8): show, set
    System(rdma::Args),
    /// What the kernel reports of RDMA devices, as rdma(8)
    Monitor(rdma::Args),
    /// GID tables, and the GID to use: show, best
    Gid(rdma::Args),
    /// The chart's pre-delete hook: deletes every SoftRdmaLink and waits until the nodes have removed theirs
    Uninstall(uninstall::Args),
}

/// Where the API server is.
#[derive(clap::Args, Debug)]
struct Cluster {
    /// A kubeconfig; without one KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Parses the arguments and runs a command to its end.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = telemetry::init(&cli.log, cli.log_format) {
        eprintln!("rdma-operator: --log {}: {error}", cli.log);
        return ExitCode::from(2);
    }
    let flags = cli.rdma;
    let result = match cli.command {
        Command::Dev(args) => return on_rdma(rdma::Object::Dev, flags, &args),
        Command::Link(args) => return on_rdma(rdma::Object::Link, flags, &args),
        Command::Resource(args) => return on_rdma(rdma::Object::Resource, flags, &args),
        Command::Statistic(args) => return on_rdma(rdma::Object::Statistic, flags, &args),
        Command::System(args) => return on_rdma(rdma::Object::System, flags, &args),
        Command::Monitor(args) => return on_rdma(rdma::Object::Monitor, flags, &args),
        Command::Gid(args) => return on_rdma(rdma::Object::Gid, flags, &args),
        Command::Agent(args) => on_runtime(|stop| agent::run(args, stop)),
        Command::Controller(args) => on_runtime(|stop| controller::run(args, stop)),
        Command::Crds(args) => crds::run(&args),
        Command::Inventory(args) => on_runtime(|_| inventory::run(args)),
        Command::Uninstall(args) => on_runtime(|_| uninstall::run(args)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rdma-operator: {}", telemetry::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// These say themselves what failed, and may go on after it.
fn on_rdma(object: rdma::Object, flags: rdma::Flags, args: &rdma::Args) -> ExitCode {
    let mut success = false;
    let result = on_runtime(|stop| async {
        success = rdma::main(object, flags, args, stop).await;
        Ok(())
    });
    match result {
        Ok(()) if success => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rdma-operator: {}", telemetry::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// One thread is enough for either side and keeps its memory small; what blocks has threads of its own.
fn on_runtime<F>(command: impl FnOnce(CancellationToken) -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let stop = CancellationToken::new();
        stop_on_signals(&stop)?;
        command(stop).await
    });
    // A thread may sit in the kernel (a DELLINK that waits for its users): not a reason to stay.
    runtime.shutdown_background();
    result
}

/// SIGTERM and SIGINT cancel `stop`.
fn stop_on_signals(stop: &CancellationToken) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut stream = signal(kind)?;
        let stop = stop.clone();
        tokio::spawn(async move {
            stream.recv().await;
            stop.cancel();
        });
    }
    Ok(())
}
