//! One port of a device.

use super::super::document::Port;
use super::Reader;
use crate::nl;
use crate::sysfs;

impl Reader<'_> {
    pub(super) async fn port(&mut self, index: u32, device: &str, number: u32) -> Port {
        let folder = format!("class/infiniband/{device}/ports/{number}");
        let told = self.source.port(index, device, number).await;
        let (umad, issm) = self.mad.get(&(device.to_owned(), number)).cloned().unwrap_or_default();
        let mut hex =
            |name: &str| self.files.text(&format!("{folder}/{name}")).as_deref().and_then(sysfs::number);
        let (cap_mask, lid, sm_lid) = (hex("cap_mask"), hex("lid"), hex("sm_lid"));
        let lmc = hex("lid_mask_count").and_then(|lmc| u8::try_from(lmc).ok());
        // netlink and sysfs tell the same; netlink's answer may fail where the driver's query does.
        let mut state = |name: &str| {
            self.files.text(&format!("{folder}/{name}")).as_deref().and_then(sysfs::named_number)
        };
        let (logical, physical) = (state("state"), state("phys_state"));
        let logical = told.state.or(logical.map(nl::PortState::from));
        let physical = told.phys_state.or(physical.map(nl::PhysState::from));
        let (gid_table_size, gids) = self.files.gids(&folder);
        Port {
            number,
            link_layer: self.files.text(&format!("{folder}/link_layer")).unwrap_or_else(|| "Unknown".into()),
            state: logical.unwrap_or(nl::PortState::Nop).as_str().to_owned(),
            phys_state: self.phys_state(device, number, physical).to_owned(),
            rate: self.files.text(&format!("{folder}/rate")),
            cap_mask,
            lid,
            sm_lid,
            lmc,
            subnet_prefix: told.subnet_prefix.map(|prefix| prefix.to_string()),
            netdev: told.netdev,
            gid_table_size,
            gids,
            pkeys: self.files.pkeys(&folder),
            umad,
            issm,
            counters: self.files.folder(&format!("{folder}/counters")),
            hw_counters: self.files.folder(&format!("{folder}/hw_counters")),
            optional_counters: (!told.optional.is_empty()).then_some(told.optional),
        }
    }

    /// The document's word; it has none for the states that only Omni-Path has.
    fn phys_state(&mut self, device: &str, port: u32, state: Option<nl::PhysState>) -> &'static str {
        match state {
            Some(nl::PhysState::PhyTest) => "PhyTest",
            Some(state) if !state.sysfs_name().starts_with('<') => state.sysfs_name(),
            Some(state) => {
                let number = state.number();
                let note = format!("{device} port {port} is in physical state {number}, written as Polling.");
                self.files.notes.push(note);
                "Polling"
            }
            None => "Polling",
        }
    }
}
