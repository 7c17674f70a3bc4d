//! Writes every recorded datagram into the fuzzer's corpus: `cargo run --bin seed` in this folder.

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
};

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = here.join("corpus/decode");
    fs::create_dir_all(&corpus)?;
    let mut datagrams = BTreeSet::new();
    for kernel in fs::read_dir(here.join("../tests/data/nl/fixtures"))? {
        for file in fs::read_dir(kernel?.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "hex") {
                let text = fs::read_to_string(path)?;
                let lines = text.lines().filter_map(|line| line.strip_prefix("< ").or(line.strip_prefix("> ")));
                datagrams.extend(lines.map(unhex));
            }
        }
    }
    for datagram in &datagrams {
        let mut hasher = DefaultHasher::new();
        datagram.hash(&mut hasher);
        fs::write(corpus.join(format!("{:016x}", hasher.finish())), datagram)?;
        // Also without the netlink header, for the half of the target that takes attributes.
        if let Some(attributes) = datagram.get(16..) {
            fs::write(corpus.join(format!("{:016x}-attributes", hasher.finish())), attributes)?;
        }
    }
    println!("{} datagrams", datagrams.len());
    Ok(())
}

fn unhex(line: &str) -> Vec<u8> {
    let digits: Vec<_> = line.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks_exact(2).filter_map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok()).collect()
}
