//! Prints what the kernel reports, until interrupted. Run: `cargo run --example monitor`

mod common;

use rdma_operator::nl::{Event, new_monitor_connection};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Some((handle, mut events)) = common::start(new_monitor_connection())? else { return Ok(()) };
    if handle.system().get().await?.monitor.is_none() {
        println!("this kernel reports nothing: notifications came with Linux 6.12");
        return Ok(());
    }
    println!("waiting: make or remove a soft link, or rename a device");
    // The events end with the connection, and that when the last handle is dropped: `handle` stays.
    while let Some(event) = events.recv().await {
        print_event(event);
    }
    println!("the connection has ended");
    Ok(())
}

fn print_event(event: Event) {
    match event {
        Event::Register { index, name } => println!("{index}: {name} registered"),
        Event::Unregister { index, name } => println!("{index}: {name} unregistered"),
        Event::Rename { index, name } => println!("{index}: now called {name}"),
        Event::NetdevAttach { index, name, port, netdev_name, .. } => {
            println!("{index}: {name}/{port} got {netdev_name}");
        }
        Event::NetdevDetach { index, name, port } => println!("{index}: {name}/{port} lost its netdev"),
        Event::NetdevRename { netdev_index, netdev_name } => {
            println!("netdev {netdev_index} of some port is now called {netdev_name}");
        }
        Event::Unknown { kind, attributes } => println!("event type {kind}: {attributes:?}"),
        Event::Resync => println!("something was missed: read everything again"),
        // A later release of the library may know more.
        other => println!("{other:?}"),
    }
}
