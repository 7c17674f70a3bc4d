//! Machine documents: a host as its kernel shows it, to be loaded, written, and simulated.

pub mod document;
pub mod sim;

pub use document::Machine;
pub use sim::Simulator;

#[cfg(test)]
mod tests {
    use super::Machine;

    #[test]
    fn every_recorded_machine_loads() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/machines");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let machine: Machine =
                serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(path.file_stem().unwrap().to_str(), Some(machine.metadata.name.as_str()));
            count += 1;
        }
        assert!(count >= 13, "{count}");
    }
}
