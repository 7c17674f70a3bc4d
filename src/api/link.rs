//! SoftRdmaLink: a soft-RoCE or soft-iWARP device on every chosen node.

// Columns share their types; the lint takes them for repeats.
#![allow(clippy::duplicated_attributes)]
// KubeSchema repeats its struct in a private block.
#![allow(unreachable_pub)]

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What a SoftRdmaLink asks for.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "rdma-operator.dev",
    version = "v1alpha1",
    kind = "SoftRdmaLink",
    shortname = "srl",
    category = "rdma",
    derive = "PartialEq",
    status = "SoftRdmaLinkStatus",
    doc = "A soft-RoCE (rxe) or soft-iWARP (siw) device, kept in place on every chosen node.",
    validation = Rule::new("size(self.metadata.name) <= 63").message("metadata.name must be no more than 63 characters"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Netdev", type_ = "string", json_path = ".status.netdev"),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".status.desiredNodes"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyNodes"),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.failedNodes"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct SoftRdmaLinkSpec {
    /// rxe (soft-RoCE, over UDP) or siw (soft-iWARP, over TCP). Cannot be changed: delete the object and make a new one.
    #[serde(rename = "type")]
    #[x_kube(validation = Rule::new("self == oldSelf").message("type cannot be changed: delete this SoftRdmaLink and make a new one"))]
    pub link_type: LinkType,
    /// Which netdev of each node the link is made on.
    pub netdev: NetdevSelector,
    /// Name of the RDMA device. Default: the type, an underscore and the netdev.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"))]
    pub device_name: Option<String>,
    /// The nodes that get the link. Default: every node with an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeSelection>,
    /// Delete: the links go with this object. Retain: they stay.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// IfIdentical: take over a link that somebody else made, if it is the same. Never: report it.
    #[serde(default)]
    pub adopt: AdoptPolicy,
    /// What to do when the spec changed and the link must be made again.
    #[serde(default)]
    pub update_policy: UpdatePolicy,
}

/// Which kind of soft device.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum LinkType {
    /// Soft-RoCE.
    Rxe,
    /// Soft-iWARP.
    Siw,
}

impl LinkType {
    /// The word the kernel uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rxe => "rxe",
            Self::Siw => "siw",
        }
    }
}

/// A netdev by name, by route or by address. Exactly one is set; resolved on each node by its agent.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.name), has(self.defaultRoute), has(self.cidr)].filter(x, x).size() == 1")
    .message("set exactly one of netdev.name, netdev.defaultRoute and netdev.cidr"))]
pub struct NetdevSelector {
    /// Interface name, as `ip link` shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 15), regex(pattern = r"^[^\s/:%]+$"))]
    #[x_kube(validation = Rule::new("self != '.' && self != '..'").message("'.' and '..' are no interface names"))]
    pub name: Option<String>,
    /// true: the netdev of the default route (IPv4 before IPv6, the lowest metric).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self").message("defaultRoute is either true or left out"))]
    pub default_route: Option<bool>,
    /// The netdev that has an address of this network: 192.0.2.0/24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 43))]
    #[x_kube(validation = Rule::new("isCIDR(self)").message("cidr must be an address and a prefix length, like 192.0.2.0/24"))]
    pub cidr: Option<String>,
}

impl NetdevSelector {
    /// The selector in a word, for columns and messages.
    #[must_use]
    pub fn describe(&self) -> String {
        match (&self.name, &self.cidr) {
            (Some(name), _) => name.clone(),
            (None, Some(cidr)) => cidr.clone(),
            (None, None) => "default route".to_owned(),
        }
    }
}

/// Nodes by label or by name. Exactly one is set.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.selector) != has(self.names)")
    .message("set exactly one of nodes.selector and nodes.names"))]
pub struct NodeSelection {
    /// Nodes whose labels match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "label_selector")]
    pub selector: Option<LabelSelector>,
    /// Nodes of these names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub names: Option<Vec<String>>,
}

/// A LabelSelector that means what it says: the API server knows the type, but in a CRD it does not check it.
fn label_selector(_: &mut SchemaGenerator) -> Schema {
    const KEY: &str = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
    const VALUE: &str = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";
    json_schema!({
        "type": "object",
        "nullable": true,
        "description": "Nodes whose labels match: all of matchLabels and all of matchExpressions.",
        "properties": {
            "matchLabels": {
                "type": "object",
                "description": "Labels and their values.",
                "additionalProperties": {"type": "string", "maxLength": 63, "pattern": VALUE},
            },
            "matchExpressions": {
                "type": "array",
                "description": "Conditions on labels.",
                "maxItems": 32,
                "items": {
                    "type": "object",
                    "required": ["key", "operator"],
                    "properties": {
                        "key": {
                            "type": "string",
                            "description": "The label.",
                            "maxLength": 317,
                            "pattern": KEY,
                        },
                        "operator": {
                            "type": "string",
                            "description": "In and NotIn take values, Exists and DoesNotExist none.",
                            "enum": ["In", "NotIn", "Exists", "DoesNotExist"],
                        },
                        "values": {
                            "type": "array",
                            "description": "Values, for In and NotIn.",
                            "maxItems": 256,
                            "items": {"type": "string", "maxLength": 63, "pattern": VALUE},
                        },
                    },
                    "x-kubernetes-validations": [{
                        "rule": "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",
                        "message": "In and NotIn need values; Exists and DoesNotExist take none",
                    }],
                },
            },
        },
    })
}

impl NodeSelection {
    /// True when a node of this name and these labels is chosen.
    #[must_use]
    pub fn matches(&self, name: &str, labels: &BTreeMap<String, String>) -> bool {
        if let Some(names) = &self.names {
            return names.iter().any(|candidate| candidate == name);
        }
        self.selector.as_ref().is_some_and(|selector| selector_matches(selector, labels))
    }
}

fn selector_matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    equal
        && selector.match_expressions.iter().flatten().all(|expression| {
            let value = labels.get(&expression.key);
            let listed =
                || value.is_some_and(|value| expression.values.iter().flatten().any(|one| one == value));
            match expression.operator.as_str() {
                "In" => listed(),
                "NotIn" => !listed(),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                // An operator of the future selects nothing, rather than everything.
                _ => false,
            }
        })
}

/// What becomes of the links when the object is deleted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionPolicy {
    /// The links are removed.
    #[default]
    Delete,
    /// The links stay, and are nobody's.
    Retain,
}

/// Whether a link made by somebody else is taken over.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdoptPolicy {
    /// Never: it is reported as a conflict.
    #[default]
    Never,
    /// When name, type and netdev are the ones asked for.
    IfIdentical,
}

/// What to do when a changed spec needs the link made again.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePolicy {
    /// Wait: until nothing uses the link. Recreate: at once.
    #[serde(default)]
    pub when_in_use: WhenInUse,
}

/// What to do with a link in use.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenInUse {
    /// Leave it until its users are gone.
    #[default]
    Wait,
    /// Make it again although they lose it.
    Recreate,
}

/// What has become of a SoftRdmaLink, over all its nodes.
#[derive(Serialize, Deserialize, KubeSchema, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SoftRdmaLinkStatus {
    /// The generation this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The netdev selector in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netdev: Option<String>,
    /// Nodes chosen.
    #[serde(default)]
    pub desired_nodes: i32,
    /// Nodes whose link is up, of this generation, with an agent available.
    #[serde(default)]
    pub ready_nodes: i32,
    /// Nodes that report a failure.
    #[serde(default)]
    pub failed_nodes: i32,
    /// The first failures by node name; failedNodes has the full number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub failures: Vec<LinkFailure>,
    /// Ready, Progressing, NamespaceIsolated.
    #[serde(default)]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// Why one node has no link.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct LinkFailure {
    /// Node name.
    pub node: String,
    /// CamelCase reason.
    pub reason: String,
    /// What happened and what to do.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn names_select_only_those_nodes() {
        let nodes = NodeSelection { names: Some(vec!["a".into()]), selector: None };
        assert!(nodes.matches("a", &labels(&[])));
        assert!(!nodes.matches("b", &labels(&[])));
    }

    #[test]
    fn expressions_and_labels_are_anded() {
        let requirement = |operator: &str, values: &[&str]| LabelSelectorRequirement {
            key: "pool".into(),
            operator: operator.into(),
            values: Some(values.iter().map(|v| (*v).to_owned()).collect()),
        };
        let selection = |operator, values| NodeSelection {
            names: None,
            selector: Some(LabelSelector {
                match_labels: Some(labels(&[("os", "linux")])),
                match_expressions: Some(vec![requirement(operator, values)]),
            }),
        };
        let gpu = labels(&[("os", "linux"), ("pool", "gpu")]);
        let bare = labels(&[("os", "linux")]);
        assert!(selection("In", &["gpu"]).matches("n", &gpu));
        assert!(!selection("In", &["gpu"]).matches("n", &bare));
        assert!(selection("NotIn", &["gpu"]).matches("n", &bare));
        assert!(!selection("NotIn", &["gpu"]).matches("n", &gpu));
        assert!(selection("Exists", &[]).matches("n", &gpu));
        assert!(selection("DoesNotExist", &[]).matches("n", &bare));
        assert!(!selection("Gt", &["1"]).matches("n", &gpu), "an unknown operator selects nothing");
        assert!(!selection("Exists", &[]).matches("n", &labels(&[("pool", "gpu")])), "labels count too");
    }

    #[test]
    fn an_empty_selector_selects_every_node() {
        let all = NodeSelection { names: None, selector: Some(LabelSelector::default()) };
        assert!(all.matches("n", &labels(&[])));
    }
}
