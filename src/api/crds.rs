//! The CRDs as files: what `rdma-operator crds` prints, what `crds/` and the chart hold.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use super::{RdmaNode, SoftRdmaLink};

/// Every CRD of the group with its file name.
#[must_use]
pub fn all() -> Vec<(&'static str, CustomResourceDefinition)> {
    vec![("rdmanodes.yaml", RdmaNode::crd()), ("softrdmalinks.yaml", SoftRdmaLink::crd())]
}

/// A CRD as YAML text.
///
/// # Errors
/// When serialisation fails, which no CRD of ours makes it do.
pub fn yaml(crd: &CustomResourceDefinition) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(crd)
}
