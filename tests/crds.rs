//! The CRD files are what the types say.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use rdma_operator::api::crds;

/// Regenerate with `rdma-operator crds --write FOLDER`.
fn holds(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let mut expected = Vec::new();
    for (name, crd) in crds::all() {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(
            text,
            crds::yaml(&crd).unwrap(),
            "{name}: run `rdma-operator crds --write {}`",
            folder.display()
        );
        expected.push(name);
    }
    assert_eq!(files, expected, "files nobody generates");
}

#[test]
fn the_crds_folder_is_current() {
    holds("crds");
}

#[test]
fn the_charts_crds_are_current() {
    holds("charts/rdma-operator/files/crds");
}

#[test]
fn chart_and_crate_have_one_version() {
    let chart =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/rdma-operator/Chart.yaml"))
            .unwrap();
    for key in ["version", "appVersion"] {
        let line = format!("{key}: {}", env!("CARGO_PKG_VERSION"));
        assert!(chart.lines().any(|candidate| candidate == line), "Chart.yaml lacks `{line}`");
    }
}

#[test]
fn lists_with_an_owner_for_each_entry_are_maps_and_the_others_atomic() {
    let schema = |kind: &str| {
        let crd =
            crds::all().into_iter().map(|(_, crd)| crd).find(|crd| crd.spec.names.kind == kind).unwrap();
        serde_json::to_value(&crd.spec.versions[0].schema).unwrap()
    };
    let node = schema("RdmaNode");
    let property = |path: &[&str]| {
        path.iter().fold(&node["openAPIV3Schema"], |schema, name| &schema["properties"][name]).clone()
    };
    for (path, list_type, keys) in [
        (&["spec", "softLinks"][..], "atomic", None),
        (&["status", "devices"], "atomic", None),
        (&["status", "softLinks"], "map", Some("uid")),
        (&["status", "conditions"], "map", Some("type")),
    ] {
        let property = property(path);
        assert_eq!(property["x-kubernetes-list-type"], list_type, "{path:?}");
        assert_eq!(property["x-kubernetes-list-map-keys"][0].as_str(), keys, "{path:?}");
    }
}
