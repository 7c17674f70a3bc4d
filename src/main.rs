//! Entry: see [`rdma_operator::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    rdma_operator::cli::main()
}
