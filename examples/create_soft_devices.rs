//! Makes a soft RoCE and a soft iWARP device, looks at them, and takes them away again. Run as root:
//! `cargo build --example create_soft_devices && sudo target/debug/examples/create_soft_devices eth0`

mod common;

use anyhow::{Context, bail};
use rdma_operator::nl::{Device, DriverId, Handle, LinkKind, NameAssignType, errno, new_connection};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Some(netdev) = std::env::args().nth(1) else { bail!("usage: create_soft_devices NETDEV") };
    let Some((handle, _events)) = common::start(new_connection())? else { return Ok(()) };
    for (name, kind) in [("example_rxe", LinkKind::Rxe), ("example_siw", LinkKind::Siw)] {
        // One that fails, say siw where rxe alone is built, is no reason not to show the other.
        if let Err(error) = show(&handle, name, &kind, &netdev).await {
            println!("{kind}: {error:#}");
        }
    }
    refuse_hardware(&handle).await
}

/// One device, from making it to removing it.
async fn show(handle: &Handle, name: &str, kind: &LinkKind, netdev: &str) -> anyhow::Result<()> {
    handle.link().add(name, kind, netdev).await?;
    // The kernel gives no index back: the name is what there is to find it by.
    let devices = handle.device().list().await?;
    let device = devices.iter().find(|device| device.name == name).context("made, and not listed")?;
    println!("{kind}: made {name} on {netdev}, index {}", device.index);
    // Whatever inspecting it says, it goes away.
    let inspected = inspect(handle, device).await;
    handle.link().del(device.index).await?;
    println!("   removed");
    inspected
}

async fn inspect(handle: &Handle, device: &Device) -> anyhow::Result<()> {
    let port = handle.port(device.index).get(1).await?;
    println!("   port 1 is {}", port.state.map_or("?", |state| state.as_str()));
    let uverbs = handle.chardev().uverbs(device.index).await?;
    println!("   /dev/infiniband/{} is {}:{}", uverbs.name, uverbs.major, uverbs.minor);
    for kind in handle.resource().summary(device.index).await?.entries {
        print!("   {} {}", kind.name, kind.current);
    }
    println!();
    Ok(())
}

/// Asks for a hardware device to be removed: the kernel removes only what `NEWLINK` made.
async fn refuse_hardware(handle: &Handle) -> anyhow::Result<()> {
    for device in handle.device().list().await? {
        let driver = handle.chardev().uverbs(device.index).await.ok().and_then(|uverbs| uverbs.driver_id);
        let Some(driver) = driver.filter(|driver| is_hardware(&device, *driver)) else { continue };
        let Err(error) = handle.link().del(device.index).await else {
            bail!("{} ({driver}) is hardware and could be removed", device.name);
        };
        if error.errno() != Some(errno::EINVAL) {
            return Err(error.into());
        }
        println!("{} ({driver}) is hardware: removing it is refused with EINVAL", device.name);
        return Ok(());
    }
    println!("no hardware device to show a refusal on");
    Ok(())
}

/// Whether it is surely no soft device: somebody's soft device would really go. A soft link has a driver of two,
/// and a name that a user gave it.
fn is_hardware(device: &Device, driver: DriverId) -> bool {
    let known = !matches!(driver, DriverId::Rxe | DriverId::Siw | DriverId::Other(_));
    known && device.name_assign_type != Some(NameAssignType::User)
}
