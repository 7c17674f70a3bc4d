//! Counters and pools.

use std::fmt::Write;

use crate::nl::{
    Entry, FrmrPool, FrmrPoolKey, MrCounters, Owner, PortCounterStatus, PortCounters, QpCounter,
    QpCounterMode,
    packet::{Nested, NldevAttribute as A},
    tests::fixtures,
};

#[test]
fn port_counters_are_those_printed() {
    for kernel in fixtures::KERNELS {
        for name in ["stat_show_link", "fake_stat", "fake_stat_show2"] {
            let case = fixtures::case(kernel, name);
            let mut shown = String::new();
            for reply in case.replies(|kind, flags| kind == 0x1411 && flags & 0x300 == 0) {
                let port = PortCounters::from_attributes(reply.attributes).unwrap();
                writeln!(shown, "link {}/{} ", port.device_name, port.port).unwrap();
                for counter in &port.counters {
                    writeln!(shown, "    {} {} ", counter.name, counter.value).unwrap();
                }
            }
            assert!(!shown.is_empty(), "{}", case.name);
            assert_eq!(shown.trim_end(), case.text.trim_end(), "{}", case.name);
        }
    }
}

#[test]
fn status_tells_optional_counters() {
    for kernel in fixtures::KERNELS {
        let case = fixtures::case(kernel, "fake_stat_mode2");
        let reply = case.replies(|kind, _| kind == 0x1418).remove(0);
        let status = PortCounterStatus::from_attributes(reply.attributes).unwrap();
        assert!(status.counters.len() > 2);
        let optional: Vec<_> = status
            .optional()
            .map(|counter| (counter.name.as_str(), counter.index, counter.enabled))
            .collect();
        assert_eq!(optional, [("fake_opt_a", 3, Some(true)), ("fake_opt_b", 4, Some(false))], "{kernel}");
    }
}

#[test]
fn mode_has_its_criteria() {
    let mode = QpCounterMode::from_attributes(vec![A::StatMode(1), A::StatAutoModeMask(3)]).unwrap();
    assert_eq!(mode.mode.to_string(), "auto");
    assert!(mode.criteria.unwrap().contains(crate::nl::AutoCriteria::PID));
    assert_eq!(mode.optional_counters, None);
}

fn entry(attributes: Vec<A>) -> Entry {
    Entry { device_index: 2, device_name: "mlx5_0".into(), attributes }
}

fn hwcounters() -> A {
    let one = |name: &str, value| {
        A::StatHwcounterEntry(Nested::flagged(vec![
            A::StatHwcounterEntryName(name.into()),
            A::StatHwcounterEntryValue(value),
        ]))
    };
    A::StatHwcounters(Nested::flagged(vec![one("rx", 1), one("tx", u64::MAX)]))
}

#[test]
fn qp_counter_has_its_qps() {
    let lqpn = |lqpn| A::ResQpEntry(Nested::flagged(vec![A::ResLqpn(lqpn)]));
    let counter = QpCounter::from_entry(entry(vec![
        A::PortIndex(1),
        A::StatCounterId(4),
        A::StatMode(1),
        A::ResType(2),
        A::ResPid(77),
        A::ResQp(Nested::flagged(vec![lqpn(178), lqpn(179)])),
        hwcounters(),
    ]))
    .unwrap();
    assert_eq!((counter.id, counter.port, counter.owner), (4, Some(1), Owner::Process(77)));
    assert_eq!(counter.lqpns, [178, 179]);
    assert_eq!(counter.counters[1].value, u64::MAX);
}

#[test]
fn mr_counters_have_their_region() {
    let counters = MrCounters::from_entry(entry(vec![A::ResMrn(9), hwcounters()])).unwrap();
    assert_eq!((counters.mrn, counters.counters.len()), (9, 2));
}

#[test]
fn pool_has_its_key() {
    let key = FrmrPoolKey { ats: true, access_flags: 0xf, vendor_key: 1 << 40, num_dma_blocks: 512 };
    let A::FrmrPoolKey(mut nest) = key.attribute() else { panic!() };
    assert!(nest.flagged);
    nest.attributes.push(A::FrmrPoolKeyKernelVendorKey(5));
    let attributes = vec![A::FrmrPoolKey(nest), A::FrmrPoolQueueHandles(3), A::FrmrPoolInUse(2)];
    let pool = FrmrPool::from_entry(entry(attributes.clone())).unwrap();
    assert_eq!((pool.key, pool.kernel_vendor_key, pool.queue_handles), (key, 5, Some(3)));
    assert_eq!((pool.in_use, pool.max_in_use), (Some(2), None));
    assert_eq!(pool.attributes, attributes);
    assert!(FrmrPool::from_entry(entry(Vec::new())).is_err());
}
