use std::path::{Path, PathBuf};

use super::Machine;

/// The recorded machines: (file, text), by name.
pub(super) fn recorded() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/machines");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.ends_with(".yaml") && !name.ends_with(".expect.yaml")
    });
    files.sort();
    assert!(files.len() >= 13, "{files:?}");
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn every_recorded_machine_loads() {
    for (path, text) in recorded() {
        let machine = Machine::load(&text, &path.display().to_string()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(path.file_stem().unwrap().to_str(), Some(machine.metadata.name.as_str()));
    }
}

mod anonymise;
mod bad;
mod generate;
mod write;
