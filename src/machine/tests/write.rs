//! What is written is what was there.

use proptest::prelude::*;

use super::generate::machine;
use super::recorded;
use crate::machine::Machine;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn what_is_written_reads_the_same_and_is_written_the_same(machine in machine()) {
        let text = machine.to_yaml();
        let again: Machine = serde_saphyr::from_str(&text).map_err(|error| {
            TestCaseError::fail(format!("{error}\n{text}"))
        })?;
        prop_assert_eq!(&again, &machine, "{}", text);
        prop_assert_eq!(again.to_yaml(), text);
    }
}

#[test]
fn recorded_machines_are_written_as_they_were_recorded() {
    for (path, text) in recorded() {
        let machine = Machine::load(&text, "recorded").unwrap();
        let written = machine.to_yaml();
        assert_eq!(Machine::load(&written, "written").unwrap(), machine, "{}", path.display());
        let keys = |text: &str| -> Vec<String> {
            let starts = text.lines().filter_map(|line| line.split_once(':').map(|(key, _)| key.to_owned()));
            starts.filter(|key| !key.contains('{') && !key.contains(' ')).collect()
        };
        assert_eq!(keys(&written), keys(&text), "{}", path.display());
    }
}

#[test]
fn it_is_dense_and_quotes_only_what_needs_it() {
    let (_, text) = recorded().into_iter().find(|(path, _)| path.ends_with("soft-roce-node.yaml")).unwrap();
    let written = Machine::load(&text, "recorded").unwrap().to_yaml();
    for line in [
        "  release: \"6.12.57\"",
        "    driver: null",
        "    capFlags: 0x1c001223c76",
        "    uverbs: {name: uverbs0, dev: \"231:192\", abi: 1, driverId: 14}",
        "          - {index: 0, gid: \"fe80:0000:0000:0000:0200:5eff:fe00:5370\", type: \"RoCE v2\", netdev: eth0}",
        "        pkeys: [\"0xffff\"]",
        "charDevices: [rdma_cm]",
        "faults: []",
    ] {
        assert!(written.lines().any(|written| written == line), "{line}\n{written}");
    }
    assert!(written.lines().all(|line| line.len() <= 120), "{written}");
}
