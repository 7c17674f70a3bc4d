//! Streams every resource of every device, never holding a list. Run: `cargo run --example dump_devices`
//! (with CAP_NET_ADMIN the kernel shows keys too).

mod common;

use rdma_operator::nl::{Device, Error, Handle, Listing, Owner, QueuePair, new_connection};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let Some((handle, _events)) = common::start(new_connection())? else { return Ok(()) };
    for device in handle.device().list().await? {
        println!("{}", device.name);
        if let Err(error) = dump(&handle, &device).await {
            println!("   {error:#}");
        }
    }
    Ok(())
}

/// All kinds of one device. Contexts and shared receive queues came with Linux 5.13.
async fn dump(handle: &Handle, device: &Device) -> anyhow::Result<()> {
    let resource = handle.resource();
    let index = device.index;
    each(resource.protection_domains(index).stream(), |pd| {
        println!("   pd {} of {}", id(pd.pdn), owner(&pd.owner));
    })
    .await?;
    each(resource.completion_queues(index).stream(), |cq| {
        println!("   cq {} of {}, {} entries", id(cq.cqn), owner(&cq.owner), cq.cqe.unwrap_or(0));
    })
    .await?;
    each(resource.queue_pairs(index).stream(), print_queue_pair).await?;
    each(resource.memory_regions(index).stream(), |mr| {
        println!("   mr {} of {}, {} bytes", id(mr.mrn), owner(&mr.owner), mr.length.unwrap_or(0));
    })
    .await?;
    each(resource.cm_ids(index).stream(), |id| {
        println!("   cm_id {} of {}, {:?} to {:?}", id.cm_idn, owner(&id.owner), id.source, id.destination);
    })
    .await?;
    each(resource.contexts(index).stream(), |context| {
        println!("   ctx {} of {}", context.ctxn, owner(&context.owner));
    })
    .await?;
    each(resource.shared_receive_queues(index).stream(), |srq| {
        println!("   srq {} of {}", srq.srqn, owner(&srq.owner));
    })
    .await
}

/// Hands on the objects of a list as they arrive.
async fn each<T>(mut listing: Listing<T>, print: impl Fn(T)) -> anyhow::Result<()> {
    while let Some(object) = listing.next().await {
        match object {
            Ok(object) => print(object),
            // One object the library cannot make sense of; the list goes on.
            Err(error @ Error::MissingAttribute { .. }) => println!("   {error}"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn print_queue_pair(qp: QueuePair) {
    let kind = qp.qp_type.map_or("?", |kind| kind.as_str());
    let state = qp.state.map_or("?", |state| state.as_str());
    println!("   qp {} {kind} {state} of {}", qp.lqpn, owner(&qp.owner));
}

/// Kernels before 5.1 send no ids.
fn id(id: Option<u32>) -> String {
    id.map_or_else(|| "?".to_owned(), |id| id.to_string())
}

fn owner(owner: &Owner) -> String {
    match owner {
        Owner::Process(pid) => format!("process {pid}"),
        Owner::Kernel(module) => format!("kernel module {module}"),
        _ => "a process unseen from here".to_owned(),
    }
}
