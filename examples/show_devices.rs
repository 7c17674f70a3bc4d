//! Lists devices and their ports. Run: `cargo run --example show_devices`

mod common;

use rdma_operator::nl::{Device, Port, new_connection};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Some((handle, _events)) = common::start(new_connection())? else { return Ok(()) };
    let devices = handle.device().list().await?;
    if devices.is_empty() {
        println!("no RDMA devices");
    }
    for device in devices {
        print_device(&device);
        // One request a port: the kernel's port list leaves out what follows a port it cannot describe.
        for (number, port) in handle.port(device.index).all(device.port_count).await {
            match port {
                Ok(port) => print_port(&port),
                Err(error) => println!("   port {number}: {:#}", anyhow::Error::from(error)),
            }
        }
    }
    Ok(())
}

fn print_device(device: &Device) {
    print!("{}: {}", device.index, device.name);
    if let Some(node_type) = device.node_type {
        print!(" {node_type}");
    }
    if let Some(protocol) = &device.protocol {
        print!(", {protocol}");
    }
    if let Some(guid) = device.node_guid {
        print!(", node GUID {guid}");
    }
    if let Some(firmware) = &device.firmware {
        print!(", firmware {firmware}");
    }
    println!();
}

fn print_port(port: &Port) {
    let state = port.state.map_or("?", |state| state.as_str());
    let phys_state = port.phys_state.map_or("?", |state| state.as_str());
    print!("   port {}: {state}, {phys_state}", port.port);
    if let Some(netdev) = &port.netdev_name {
        print!(", on {netdev}");
    }
    if let Some(lid) = port.lid {
        print!(", LID {lid}");
    }
    println!();
}
