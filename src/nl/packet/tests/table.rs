use std::{collections::HashMap, fs, path::PathBuf};

use crate::nl::packet::{ATTRIBUTES, NldevCommand, WireType, attribute_info};

/// The rows of a table in tests/data/nl, by column name.
fn rows(file: &str) -> Vec<HashMap<String, String>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/nl").join(file);
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().unwrap();
    lines.map(|line| header.iter().cloned().zip(line).collect()).collect()
}

#[test]
fn attributes_are_those_of_the_kernel() {
    let rows = rows("attrs.tsv");
    // The first row is UNSPEC, number 0, which is padding.
    assert_eq!(rows.len() - 1, ATTRIBUTES.len());
    assert_eq!(ATTRIBUTES.len(), 118);
    for (row, info) in rows[1..].iter().zip(ATTRIBUTES) {
        assert_eq!(row["number"], info.number.to_string());
        assert_eq!(row["name"], info.kernel_name);
        let emitted = match row["emitted_or_accepted_type"].as_str() {
            "never emitted" => row["policy_type"].trim_start_matches("NLA_").to_lowercase(),
            emitted => emitted.to_owned(),
        };
        let expected = match info.wire_type {
            WireType::U8 => "u8",
            WireType::U32 => "u32",
            WireType::U64 => "u64",
            WireType::S32 => "s32",
            WireType::S64 => "s64",
            WireType::String => "string",
            WireType::Nested => "nested",
            WireType::Binary => "binary",
        };
        assert!(emitted.starts_with(expected), "{}: {emitted} is not {expected}", info.kernel_name);
    }
}

#[test]
fn numbers_find_their_rows() {
    for info in ATTRIBUTES {
        assert_eq!(attribute_info(info.number), Some(info));
    }
    assert_eq!(attribute_info(0), None);
    assert_eq!(attribute_info(119), None);
}

#[test]
fn commands_are_those_of_the_kernel() {
    let rows = rows("cmds.tsv");
    assert_eq!(rows.len(), NldevCommand::ALL.len());
    for (row, command) in rows.iter().zip(NldevCommand::ALL) {
        assert_eq!(row["number"], command.number().to_string());
        assert_eq!(Some(row["name"].as_str()), command.kernel_name());
        assert_eq!(row["doit"] == "y", command.has_doit(), "{command}");
        assert_eq!(row["dump"] == "y", command.has_dump(), "{command}");
        assert_eq!(row["admin_perm"] == "y", command.needs_admin(), "{command}");
        assert_eq!(NldevCommand::from(command.number()), *command);
    }
    assert_eq!(NldevCommand::from(8), NldevCommand::Other(8));
    assert_eq!(NldevCommand::from(31), NldevCommand::Other(31));
}
