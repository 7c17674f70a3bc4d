//! Without Kubernetes: the soft links are those of files, read again when the files change.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::wanted::Wanted;
use crate::api::{API_VERSION, MAX_SOFT_LINKS, NodeSelection, NodeSoftLink, SoftRdmaLinkSpec, link_faults};
use crate::telemetry::{OnChange, chain};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// A file of links that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It is not YAML.
    #[error("{}: {reason}", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// What and in which line.
        reason: String,
    },
    /// It holds something that is no good SoftRdmaLink.
    #[error("{}: {what}: {reason}", path.display())]
    Link {
        /// The file.
        path: PathBuf,
        /// Which object.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A SoftRdmaLink as a person writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    spec: SoftRdmaLinkSpec,
}

/// The links that `files` want of the node `node`, in the order of the files: of two that want one netdev or
/// name, the first wins.
///
/// # Errors
/// The first file or object that cannot be used, and why.
pub fn read(files: &[PathBuf], node: &str) -> Result<Vec<NodeSoftLink>, Error> {
    let mut links: Vec<NodeSoftLink> = Vec::new();
    for path in files {
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).map_err(|error| Error::Yaml {
            path: path.clone(),
            reason: error.without_snippet().to_string(),
        })?;
        for (number, document) in
            documents.into_iter().enumerate().filter(|(_, document)| !document.is_null())
        {
            let what = name_of(&document).unwrap_or_else(|| format!("document {}", number + 1));
            let fail = |reason: String| Error::Link { path: path.clone(), what: what.clone(), reason };
            let (name, spec) = parse(document).map_err(fail)?;
            if links.iter().any(|link| link.name == name) {
                return Err(fail("there are two of this name".to_owned()));
            }
            if is_for(spec.nodes.as_ref(), node).map_err(fail)? {
                links.push(entry(name, spec, links.len()));
            }
            if links.len() > MAX_SOFT_LINKS {
                return Err(fail(format!("a node takes {MAX_SOFT_LINKS} soft links")));
            }
        }
    }
    Ok(links)
}

fn name_of(document: &Value) -> Option<String> {
    Some(format!("{} {}", document["kind"].as_str()?, document["metadata"]["name"].as_str()?))
}

fn parse(document: Value) -> Result<(String, SoftRdmaLinkSpec), String> {
    let mut unknown = Vec::new();
    let written: Written = serde_ignored::deserialize(document, |path| unknown.push(path.to_string()))
        .map_err(|error| error.to_string())?;
    if (written.api_version.as_str(), written.kind.as_str()) != (API_VERSION, "SoftRdmaLink") {
        return Err(format!(
            "this is {} {}, not {API_VERSION} SoftRdmaLink",
            written.api_version, written.kind
        ));
    }
    let name = written.metadata.name.filter(|name| !name.is_empty()).ok_or("metadata.name is missing")?;
    if name.len() > 63 {
        return Err("metadata.name must be no more than 63 characters".to_owned());
    }
    let unknown = unknown.into_iter().map(|path| format!("there is no field {path}"));
    let faults: Vec<String> = unknown.chain(link_faults(&written.spec)).collect();
    if faults.is_empty() { Ok((name, written.spec)) } else { Err(faults.join("; ")) }
}

/// Without an API server nobody knows a node's labels.
fn is_for(nodes: Option<&NodeSelection>, node: &str) -> Result<bool, String> {
    match nodes {
        None => Ok(true),
        Some(NodeSelection { names: Some(names), .. }) => Ok(names.iter().any(|name| name == node)),
        Some(_) => Err("spec.nodes.selector needs a cluster: leave spec.nodes out, or list names".to_owned()),
    }
}

fn entry(name: String, spec: SoftRdmaLinkSpec, order: usize) -> NodeSoftLink {
    // The order of the files is the order of age.
    let age = i64::try_from(order).unwrap_or(i64::MAX);
    NodeSoftLink {
        uid: format!("file:{name}"),
        name,
        generation: 1,
        created_at: Time(Timestamp::from_second(age).unwrap_or(Timestamp::UNIX_EPOCH)),
        link_type: spec.link_type,
        netdev: spec.netdev,
        device_name: spec.device_name,
        deletion_policy: spec.deletion_policy,
        adopt: spec.adopt,
        update_policy: spec.update_policy,
    }
}

/// Reads `files` again whenever one of them changes, until `stop`. Files that cannot be used then change nothing:
/// what was wanted last stays.
pub(super) async fn follow(
    files: Vec<PathBuf>,
    node: String,
    sender: watch::Sender<Wanted>,
    stop: CancellationToken,
) {
    let log = OnChange::default();
    let mut seen = stamps(&files);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let now = stamps(&files);
        if now == seen {
            continue;
        }
        seen = now;
        match read(&files, &node) {
            Ok(links) => {
                log.clear("reading soft links");
                sender.send_modify(|wanted| *wanted = as_wanted(links, wanted.generation));
            }
            Err(error) => log.warn("reading soft links", &format!("{}; those read last stay", chain(&error))),
        }
    }
}

/// The links as the keeper wants them; each reading is a generation.
pub(super) fn as_wanted(links: Vec<NodeSoftLink>, last: Option<i64>) -> Wanted {
    Wanted { generation: Some(last.unwrap_or(0).saturating_add(1)), links: Some(links), ..Wanted::default() }
}

/// When each file was last written and how long it is.
fn stamps(files: &[PathBuf]) -> Vec<Option<(SystemTime, u64)>> {
    let stamp = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.iter().map(|path| stamp(path)).collect()
}
