//! `resource`: what is allocated on devices.

use anyhow::{Context, Result, bail};

use super::filter::{Filterable, Filters};
use super::output::Row;
use super::resource_rows::{Shown, View, raw_row, summary_row};
use super::session::Session;
use super::words::{PortChoice, Target, Words};
use crate::nl::{
    CmId, CompletionQueue, Device, FrmrPool, FrmrPoolKey, Handle, MemoryRegion, ProtectionDomain, Query,
    QueuePair, Resource, SharedReceiveQueue, UserContext,
};

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Summary { device: Option<String> },
    Show { kind: Kind, target: Option<Target>, filters: Filters },
    SetAging { device: String, seconds: u32 },
    Pin { device: String, key: FrmrPoolKey, handles: u32 },
}

/// A kind of object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    QueuePair,
    CmId,
    CompletionQueue,
    MemoryRegion,
    ProtectionDomain,
    Context,
    SharedReceiveQueue,
    FrmrPools,
}

const KINDS: &[(&str, Kind)] = &[
    ("qp", Kind::QueuePair),
    ("cm_id", Kind::CmId),
    ("cq", Kind::CompletionQueue),
    ("mr", Kind::MemoryRegion),
    ("pd", Kind::ProtectionDomain),
    ("ctx", Kind::Context),
    ("srq", Kind::SharedReceiveQueue),
    ("frmr_pools", Kind::FrmrPools),
];

#[derive(Clone, Copy)]
enum Word {
    Show,
    Set,
}

impl Command {
    pub(super) fn parse(words: &mut Words<'_>) -> Result<Self> {
        let table = [("show", Word::Show), ("list", Word::Show), ("set", Word::Set)];
        let command = match words.keyword(&table, Some(Word::Show))? {
            Word::Show => Self::show(words)?,
            Word::Set => Self::set(words)?,
        };
        words.finish()?;
        Ok(command)
    }

    fn show(words: &mut Words<'_>) -> Result<Self> {
        if !words.peek().is_some_and(|word| KINDS.iter().any(|(name, _)| name.starts_with(word))) {
            return Ok(Self::Summary { device: words.next().map(str::to_owned) });
        }
        let kind = words.keyword(KINDS, None)?;
        let (target, filters) = match kind {
            Kind::QueuePair => selection::<QueuePair>(words, true),
            Kind::CmId => selection::<CmId>(words, true),
            Kind::CompletionQueue => selection::<CompletionQueue>(words, false),
            Kind::MemoryRegion => selection::<MemoryRegion>(words, false),
            Kind::ProtectionDomain => selection::<ProtectionDomain>(words, false),
            Kind::Context => selection::<UserContext>(words, false),
            Kind::SharedReceiveQueue => selection::<SharedReceiveQueue>(words, false),
            Kind::FrmrPools => selection::<FrmrPool>(words, false),
        }?;
        Ok(Self::Show { kind, target, filters })
    }

    fn set(words: &mut Words<'_>) -> Result<Self> {
        words.keyword(&[("frmr_pools", ())], None)?;
        words.expect("dev")?;
        let device = words.value("a device name")?.to_owned();
        Ok(match words.keyword(&[("aging", true), ("pinned", false)], None)? {
            true => Self::SetAging { device, seconds: words.number("seconds")? },
            false => {
                let key = pool_key(words.value("the key of a pool")?)?;
                Self::Pin { device, key, handles: words.number("handles")? }
            }
        })
    }

    pub(super) async fn run(self, session: &mut Session<'_>) -> Result<()> {
        match self {
            Self::Summary { device } => summary(session, device.as_deref()).await,
            Self::Show { kind, target, filters } => {
                let devices = session.devices(target.as_ref().map(|target| target.device.as_str())).await?;
                session.printer.begin()?;
                let port = target.as_ref().map_or(PortChoice::All, |target| target.port);
                let selection = Selection { port, single: target.is_some(), filters };
                for device in devices {
                    let shown = selection.show(session, &device, kind).await;
                    if let Err(error) = shown.with_context(|| doing(&device, kind)) {
                        session.problem(&error);
                    }
                }
                Ok(())
            }
            Self::SetAging { device, seconds } => {
                let index = session.device(&device).await?.index;
                let doing = || format!("setting the aging of the pools of {device}");
                session.handle.frmr().set_aging(index, seconds).await.with_context(doing)
            }
            Self::Pin { device, key, handles } => {
                let index = session.device(&device).await?.index;
                let doing = || format!("pinning handles in a pool of {device}");
                session.handle.frmr().pin(index, key, handles).await.with_context(doing)
            }
        }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::QueuePair => "qp",
            Self::CmId => "cm_id",
            Self::CompletionQueue => "cq",
            Self::MemoryRegion => "mr",
            Self::ProtectionDomain => "pd",
            Self::Context => "ctx",
            Self::SharedReceiveQueue => "srq",
            Self::FrmrPools => "frmr_pools",
        }
    }
}

/// `link DEV/PORT` or `dev DEV`, and filters, in any order.
fn selection<F: Filterable>(words: &mut Words<'_>, per_port: bool) -> Result<(Option<Target>, Filters)> {
    let (mut target, mut filters) = (None, Filters::default());
    while let Some(word) = words.next() {
        match word {
            "link" if per_port => target = Some(Target::parse(words.value("DEV[/PORT]")?)?),
            "dev" => {
                let device = words.value("a device name")?.to_owned();
                target = Some(Target { device, port: PortChoice::All });
            }
            filter => filters.add::<F>(filter, words)?,
        }
    }
    Ok((target, filters))
}

/// `VENDOR:BLOCKS:ACCESS:ATS`, in hexadecimal as `show` prints it.
fn pool_key(text: &str) -> Result<FrmrPoolKey> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let parts: Option<Vec<_>> = text.split(':').map(number).collect();
    match parts.as_deref() {
        Some(&[vendor_key, num_dma_blocks, access_flags, ats]) if ats <= 1 => Ok(FrmrPoolKey {
            ats: ats == 1,
            access_flags: u32::try_from(access_flags)
                .with_context(|| format!("{text:?}: the access flags are too large"))?,
            vendor_key,
            num_dma_blocks,
        }),
        _ => bail!("{text:?} is no key of a pool: VENDOR:BLOCKS:ACCESS:ATS, hexadecimal"),
    }
}

fn doing(device: &Device, kind: Kind) -> String {
    format!("listing {} of {}", kind.name(), device.name)
}

async fn summary(session: &mut Session<'_>, device: Option<&str>) -> Result<()> {
    let devices = session.devices(device).await?;
    session.printer.begin()?;
    let resource = session.handle.resource();
    for device in devices {
        let summary = match session.style().details {
            0 | 1 => resource.summary(device.index).await,
            _ => resource.summary_with_driver_details(device.index).await,
        };
        match summary.with_context(|| format!("counting objects of {}", device.name)) {
            Ok(summary) => session.row(&summary_row(&summary))?,
            Err(error) => session.problem(&error),
        }
    }
    Ok(())
}

/// Which objects of a device.
struct Selection {
    port: PortChoice,
    /// Only one device is asked, so that an id is worth looking up.
    single: bool,
    filters: Filters,
}

impl Selection {
    async fn show(&self, session: &mut Session<'_>, device: &Device, kind: Kind) -> Result<()> {
        let (resource, index) = (session.handle.resource(), device.index);
        match kind {
            Kind::QueuePair => self.objects(session, (device, kind), || resource.queue_pairs(index)).await,
            Kind::CmId => self.objects(session, (device, kind), || resource.cm_ids(index)).await,
            Kind::CompletionQueue => {
                self.objects(session, (device, kind), || resource.completion_queues(index)).await
            }
            Kind::MemoryRegion => {
                self.objects(session, (device, kind), || resource.memory_regions(index)).await
            }
            Kind::ProtectionDomain => {
                self.objects(session, (device, kind), || resource.protection_domains(index)).await
            }
            Kind::Context => self.objects(session, (device, kind), || resource.contexts(index)).await,
            Kind::SharedReceiveQueue => {
                self.objects(session, (device, kind), || resource.shared_receive_queues(index)).await
            }
            Kind::FrmrPools => {
                let pools = pools(&session.handle, index, session.style().details > 1).await?;
                self.print(session, pools.into_iter().filter(|pool| self.filters.matches(pool)).collect())
            }
        }
    }

    async fn objects<R: Resource + Shown>(
        &self,
        session: &mut Session<'_>,
        (device, kind): (&Device, Kind),
        query: impl Fn() -> Query<R>,
    ) -> Result<()> {
        let style = session.style();
        let query = || if style.details > 1 { query().driver_details() } else { query() };
        let query = || match self.port {
            PortChoice::One(port) => query().port(port),
            _ => query(),
        };
        if style.raw
            && let Some(raw) = query().raw()
        {
            for object in raw.list().await? {
                session.row(&raw_row(&object, R::PER_PORT))?;
            }
            return Ok(());
        }
        let mut objects = match self.filters.single(R::ID).filter(|_| self.single) {
            Some(id) => self.look_up(device, query, id).await,
            None => Vec::new(),
        };
        if objects.is_empty() {
            let mut listing = query().stream();
            while let Some(object) = listing.next().await {
                match object {
                    Ok(object) if self.wants(&object) => objects.push(object),
                    Ok(_) => {}
                    // One object, and the list goes on; or the end of it, and what came before is good.
                    Err(error) => session.problem(&anyhow::Error::from(error).context(doing(device, kind))),
                }
            }
        }
        self.print(session, objects)
    }

    fn wants<R: Shown>(&self, object: &R) -> bool {
        let place = match self.port {
            PortChoice::Without => object.port().is_none(),
            // The kernel has seen to the port.
            PortChoice::All | PortChoice::One(_) => true,
        };
        place && self.filters.matches(object)
    }

    /// The object of this id: one request in place of a list. Nothing does not mean that there is none: the kernel
    /// does not find QP 0 and 1 by their numbers, for one.
    async fn look_up<R: Resource + Shown>(
        &self,
        device: &Device,
        query: impl Fn() -> Query<R>,
        id: u32,
    ) -> Vec<R> {
        let ports = match self.port {
            _ if !R::PER_PORT => vec![None],
            PortChoice::One(port) => vec![Some(port)],
            PortChoice::All => (1..=device.port_count).map(Some).collect(),
            PortChoice::Without => Vec::new(),
        };
        let mut objects = Vec::new();
        for port in ports {
            let query = port.map_or_else(&query, |port| query().port(port));
            objects.extend(query.get(id).await.ok().filter(|object| self.wants(object)));
        }
        objects
    }

    /// What has no port first, then port by port, as rdma(8) asks for them.
    fn print<R: Shown>(&self, session: &mut Session<'_>, mut objects: Vec<R>) -> Result<()> {
        objects.sort_by_key(Shown::port);
        let view = View { host: session.host, details: session.style().details, filters: &self.filters };
        let rows: Vec<Row> = objects.iter().map(|object| object.row(&view)).collect();
        rows.iter().try_for_each(|row| session.row(row))
    }
}

async fn pools(handle: &Handle, device: u32, details: bool) -> Result<Vec<FrmrPool>> {
    let frmr = handle.frmr();
    Ok(if details { frmr.list_with_driver_details(device).await? } else { frmr.list(device).await? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_keys_are_read() {
        let key = pool_key("10000000000:40:f:1").unwrap();
        let expected = FrmrPoolKey { ats: true, access_flags: 15, vendor_key: 1 << 40, num_dma_blocks: 64 };
        assert_eq!(key, expected);
        for wrong in ["1:2:3", "1:2:3:4:5", "1:2:3:2", "x:1:1:1", "1:1:100000000:1", ""] {
            assert!(pool_key(wrong).is_err(), "{wrong}");
        }
    }
}
