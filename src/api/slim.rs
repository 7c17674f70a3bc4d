//! RdmaNode as both sides read it: without its devices.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde::{Deserialize, Serialize};

use super::{NodeSoftLinkStatus, RdmaNodeSpec};

/// An RdmaNode without its devices, which nobody but people reads and which make up most of it.
#[derive(kube::Resource, Clone, Debug, Default, Serialize, Deserialize)]
#[resource(inherit = super::RdmaNode)]
pub struct SlimRdmaNode {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// The whole spec: the controller's own.
    #[serde(default)]
    pub spec: RdmaNodeSpec,
    /// The part of the status that agent and controller read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SlimStatus>,
}

/// The part of RdmaNode.status that agent and controller read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SlimStatus {
    /// The spec generation the agent has acted on.
    pub observed_generation: Option<i64>,
    /// Soft links as the agent has them.
    pub soft_links: Option<Vec<NodeSoftLinkStatus>>,
    /// All conditions.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

impl SlimRdmaNode {
    /// The object's name, which is its Node's.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// What the agent says of the link of this uid.
    #[must_use]
    pub fn link(&self, uid: &str) -> Option<&NodeSoftLinkStatus> {
        self.status.as_ref()?.soft_links.as_ref()?.iter().find(|link| link.uid == uid)
    }

    /// True when the spec lists the link of this uid.
    #[must_use]
    pub fn wants(&self, uid: &str) -> bool {
        self.spec.soft_links.iter().flatten().any(|link| link.uid == uid)
    }

    /// True when the agent has acted on the spec as it stands.
    #[must_use]
    pub fn settled(&self) -> bool {
        self.status.as_ref().and_then(|status| status.observed_generation) == self.metadata.generation
    }
}
