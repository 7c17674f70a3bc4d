//! What all the examples begin with.

use rdma_operator::nl::{Connection, Error, Events, Handle};

/// A connection that runs on a thread of its own. `None`, after a line that says so, on a kernel without RDMA:
/// that is a normal state of a host and no failure.
pub(crate) fn start(
    opened: Result<(Connection, Handle, Events), Error>,
) -> anyhow::Result<Option<(Handle, Events)>> {
    match opened {
        Ok((connection, handle, events)) => {
            connection.spawn_on_thread()?;
            Ok(Some((handle, events)))
        }
        Err(error) if error.is_no_rdma() => {
            println!(
                "this kernel has no RDMA: ib_core is neither there nor loadable (try `modprobe rdma_rxe`)"
            );
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
