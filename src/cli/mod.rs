//! The command line: one file a subcommand.

mod agent;
mod controller;
mod crds;
mod inventory;
pub mod rdma;
mod snapshot;
mod uninstall;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::telemetry::{self, LogFormat};

/// RDMA for Kubernetes.
#[derive(Parser, Debug)]
#[command(name = "rdma-operator", version, about, max_term_width = 100)]
#[command(infer_subcommands = true, infer_long_args = true, arg_required_else_help = true)]
struct Cli {
    /// What to log: a level, or directives like info,rdma_operator=debug
    #[arg(long, global = true, env = "RDMA_OPERATOR_LOG", default_value = "info")]
    log: String,
    /// How log lines look
    #[arg(long, global = true, env = "RDMA_OPERATOR_LOG_FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
    #[command(flatten)]
    rdma: rdma::Flags,
    #[command(flatten)]
    batch: rdma::BatchFlags,
    #[command(subcommand)]
    command: Option<Command>,
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
    #[command(flatten)]
    Rdma(rdma::Commands),
    /// Writes this host as a machine document: for a bug report, or to be simulated
    Snapshot(snapshot::Args),
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
    let ours = !matches!(cli.command, None | Some(Command::Rdma(_)));
    if ours && (cli.rdma.any() || cli.batch.force || cli.batch.batch.is_some()) {
        eprintln!(
            "rdma-operator: -j, -p, -d, -r, -o, -f and -b before the command are for dev, link and so on"
        );
        return ExitCode::from(2);
    }
    // As in rdma(8), a command beside a batch is not run.
    if let Some(file) = cli.batch.batch {
        return ended(on_runtime(|stop| rdma::main_batch(cli.rdma, file, cli.batch.force, stop)));
    }
    let Some(command) = cli.command else {
        let missing = Cli::command().error(ErrorKind::MissingSubcommand, "which command? --help shows them");
        missing.exit();
    };
    let result = match command {
        Command::Agent(args) => on_runtime(|stop| agent::run(args, stop)),
        Command::Controller(args) => on_runtime(|stop| controller::run(args, stop)),
        Command::Crds(args) => crds::run(&args),
        Command::Inventory(args) => on_runtime(|_| inventory::run(args)),
        Command::Rdma(command) => return ended(on_runtime(|stop| rdma::main(cli.rdma, &command, stop))),
        Command::Snapshot(args) => on_runtime(|_| snapshot::run(args)),
        Command::Uninstall(args) => on_runtime(|_| uninstall::run(args)),
    };
    ended(result.map(|()| true))
}

/// How the process ends. `Ok(false)`: something failed, which has been said.
fn ended(result: anyhow::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("rdma-operator: {}", telemetry::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// One thread is enough for either side and keeps its memory small; what blocks has threads of its own.
fn on_runtime<F, T>(command: impl FnOnce(CancellationToken) -> F) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<T>>,
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
