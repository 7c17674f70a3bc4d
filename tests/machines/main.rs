//! Recorded machines give the inventory that their facts say.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod expect;
mod rows;
mod snapshot;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rdma_operator::inventory::{Collector, Dirty, Inventory, Kernel};
use rdma_operator::machine::{Machine, Simulator};

/// The recorded machines of this repository.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/machines")
}

/// The machine documents of a folder, sorted.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.ends_with(".yaml") && !name.ends_with(".expect.yaml")
    });
    files.sort();
    files
}

fn load(file: &Path) -> Machine {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Machine::load(&text, &file.display().to_string()).unwrap_or_else(|error| panic!("{error}"))
}

/// The machine of this name.
fn machine(name: &str) -> Machine {
    load(&recorded().join(format!("{name}.yaml")))
}

async fn inventory(machine: &Machine) -> Inventory {
    read(&Simulator::new(machine.clone())).await
}

async fn read(host: &Simulator) -> Inventory {
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(host.clone()))));
    collector.collect(&Inventory::default(), &Dirty::all()).await
}

/// Every machine of tests/data/machines, and of the folders of the colon-separated RDMA_MACHINES.
#[tokio::test]
async fn facts_of_every_machine() {
    let mut folders = vec![recorded()];
    let others = std::env::var("RDMA_MACHINES").unwrap_or_default();
    folders.extend(others.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from));
    let mut wrong = Vec::new();
    for folder in folders {
        for file in documents(&folder) {
            let machine = load(&file);
            let inventory = inventory(&machine).await;
            let text = serde_json::to_string_pretty(&inventory).unwrap();
            let again = serde_json::to_string_pretty(&self::inventory(&machine).await).unwrap();
            assert_eq!(text, again, "{}: another inventory at the second time", file.display());
            let facts = file.with_extension("expect.yaml");
            match std::fs::read_to_string(&facts) {
                Ok(facts_text) => {
                    let broken = expect::broken(&facts_text, &serde_json::to_value(&inventory).unwrap());
                    let broken = broken.unwrap_or_else(|error| vec![error]);
                    wrong.extend(broken.into_iter().map(|fact| format!("{}: {fact}", facts.display())));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && folder != recorded() => {}
                Err(error) => wrong.push(format!("{}: {error}", facts.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
