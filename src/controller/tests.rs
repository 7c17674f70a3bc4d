//! The controller's plan against a small model of the API server and of agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;

use super::plan::{Action, plan};
use super::world::{Agent, NodeView, World};
use crate::api::{
    DeletionPolicy, FINALIZER, FORCE_RELEASE, LinkType, NetdevSelector, NodeSelection, NodeSoftLinkStatus,
    SlimRdmaNode, SlimStatus, SoftLinkState, SoftRdmaLink, SoftRdmaLinkSpec, condition,
};

fn now() -> Timestamp {
    Timestamp::from_second(1_000).unwrap()
}

fn link(name: &str) -> SoftRdmaLink {
    let spec = SoftRdmaLinkSpec {
        link_type: LinkType::Rxe,
        netdev: NetdevSelector { name: Some("eth0".into()), ..NetdevSelector::default() },
        device_name: None,
        nodes: None,
        deletion_policy: DeletionPolicy::Delete,
        adopt: crate::api::AdoptPolicy::Never,
        update_policy: crate::api::UpdatePolicy::default(),
    };
    let mut link = SoftRdmaLink::new(name, spec);
    link.metadata.uid = Some(format!("uid-{name}"));
    link.metadata.generation = Some(1);
    link.metadata.creation_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    link
}

/// A cluster whose API server carries actions out and whose agents do what their RdmaNode says.
struct Cluster {
    world: World,
    writes: usize,
}

impl Cluster {
    fn new(nodes: &[&str]) -> Self {
        let view = |name: &&str| {
            let labels = BTreeMap::from([("name".to_owned(), (*name).to_owned())]);
            ((*name).to_owned(), NodeView { uid: format!("node-{name}"), labels })
        };
        let world = World {
            nodes: nodes.iter().map(view).collect(),
            agents: nodes.iter().map(|name| ((*name).to_owned(), Agent::Ready)).collect(),
            ..World::default()
        };
        Self { world, writes: 0 }
    }

    fn link(&mut self, name: &str) -> &mut SoftRdmaLink {
        let link = self.world.links.iter_mut().find(|link| link.metadata.name.as_deref() == Some(name));
        Arc::make_mut(link.unwrap())
    }

    fn add(&mut self, link: SoftRdmaLink) {
        self.world.links.push(Arc::new(link));
    }

    fn delete(&mut self, name: &str) {
        self.link(name).metadata.deletion_timestamp = Some(Time(now()));
    }

    fn carry_out(&mut self, action: Action) {
        self.writes += 1;
        match action {
            Action::WriteNode { node, soft_links, .. } => {
                let object = self.world.rdma_nodes.entry(node.clone()).or_insert_with(|| {
                    let metadata =
                        ObjectMeta { name: Some(node), generation: Some(0), ..ObjectMeta::default() };
                    Arc::new(SlimRdmaNode { metadata, ..SlimRdmaNode::default() })
                });
                let object = Arc::make_mut(object);
                object.spec.soft_links = Some(soft_links);
                object.metadata.generation = object.metadata.generation.map(|generation| generation + 1);
            }
            Action::WriteAvailability { node, condition } => {
                let object = Arc::make_mut(self.world.rdma_nodes.get_mut(&node).unwrap());
                let conditions = &mut object.status.get_or_insert_default().conditions;
                conditions.retain(|old| old.type_ != condition.type_);
                conditions.push(condition);
            }
            Action::AddFinalizer { link, .. } => {
                self.link(&link).metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
            }
            Action::RemoveFinalizer { link, object } => {
                assert!(object.metadata.deletion_timestamp.is_some());
                self.world.links.retain(|other| other.metadata.name.as_deref() != Some(&*link));
            }
            Action::WriteLinkStatus { link, status } => self.link(&link).status = Some(*status),
        }
    }

    /// Lets every live agent act on its spec.
    fn agents_act(&mut self, state: SoftLinkState) {
        for (name, object) in &mut self.world.rdma_nodes {
            if self.world.agents.get(name) != Some(&Agent::Ready) {
                continue;
            }
            let object = Arc::make_mut(object);
            let entries = object.spec.soft_links.iter().flatten().map(|link| NodeSoftLinkStatus {
                uid: link.uid.clone(),
                name: link.name.clone(),
                observed_generation: link.generation,
                state,
                reason: if state == SoftLinkState::Ready { "Ready".into() } else { "NetdevNotFound".into() },
                message: "there is no netdev eth0".into(),
                errno: None,
                device: None,
                netdev: None,
                isolated: Some(false),
                isolation_reason: Some("SharedMode".into()),
            });
            let entries = entries.collect();
            let status = object.status.get_or_insert_default();
            *status = SlimStatus {
                observed_generation: object.metadata.generation,
                soft_links: Some(entries),
                conditions: status.conditions.clone(),
            };
        }
    }

    /// Plans, writes and lets agents act until no write is left.
    fn settle(&mut self, state: SoftLinkState) {
        for _ in 0..12 {
            let actions = plan(&self.world, now());
            let idle = actions.is_empty();
            actions.into_iter().for_each(|action| self.carry_out(action));
            self.agents_act(state);
            if idle && plan(&self.world, now()).is_empty() {
                return;
            }
        }
        panic!("no fixpoint: {:?}", plan(&self.world, now()));
    }

    fn ready(&mut self, name: &str) -> (String, String) {
        let status = self.link(name).status.clone().unwrap();
        let ready = condition::find(&status.conditions, condition::READY).unwrap();
        (ready.status.clone(), ready.reason.clone())
    }

    fn assigned(&self, node: &str) -> Vec<&str> {
        self.world.rdma_nodes[node].spec.soft_links.iter().flatten().map(|link| link.name.as_str()).collect()
    }
}

#[test]
fn a_node_with_an_agent_gets_its_rdmanode_with_the_whole_spec_in_one_write() {
    let mut cluster = Cluster::new(&["a"]);
    let mut held = link("rxe0");
    held.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    cluster.add(held);
    let actions = plan(&cluster.world, now());
    let specs: Vec<usize> = actions
        .iter()
        .filter_map(|action| match action {
            Action::WriteNode { soft_links, .. } => Some(soft_links.len()),
            _ => None,
        })
        .collect();
    assert_eq!(specs, [1]);
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.assigned("a"), ["rxe0"]);
}

#[test]
fn a_recreated_rdmanode_never_says_that_there_are_no_links() {
    let mut cluster = Cluster::new(&["a"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Ready);
    cluster.world.rdma_nodes.clear();
    for action in plan(&cluster.world, now()) {
        if let Action::WriteNode { soft_links, .. } = action {
            assert_eq!(soft_links.len(), 1);
        }
    }
}

#[test]
fn a_node_without_an_agent_gets_no_rdmanode() {
    let mut cluster = Cluster::new(&["a", "b"]);
    cluster.world.agents.remove("b");
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.world.rdma_nodes.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_link_reaches_no_node_before_its_finalizer_holds_it() {
    let mut cluster = Cluster::new(&["a"]);
    cluster.settle(SoftLinkState::Ready);
    cluster.add(link("rxe0"));
    for action in plan(&cluster.world, now()) {
        assert!(!matches!(action, Action::WriteNode { .. }), "{action:?}");
    }
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.ready("rxe0"), ("True".into(), "AllNodesReady".into()));
}

#[test]
fn nothing_changes_nothing_is_written() {
    let mut cluster = Cluster::new(&["a", "b"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Ready);
    let writes = cluster.writes;
    assert!(plan(&cluster.world, Timestamp::from_second(9_999).unwrap()).is_empty());
    assert_eq!(cluster.writes, writes);
}

#[test]
fn a_common_reason_is_the_links_reason() {
    let mut cluster = Cluster::new(&["a", "b"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Failed);
    assert_eq!(cluster.ready("rxe0"), ("False".into(), "NetdevNotFound".into()));
    let status = cluster.link("rxe0").status.clone().unwrap();
    assert_eq!((status.desired_nodes, status.ready_nodes, status.failed_nodes), (2, 0, 2));
    assert_eq!(status.failures[0].message, "there is no netdev eth0");
}

#[test]
fn a_dead_agent_does_not_stay_ready() {
    let mut cluster = Cluster::new(&["a", "b"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Ready);
    cluster.world.agents.remove("b");
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.ready("rxe0"), ("False".into(), "AgentMissing".into()));
    let conditions = &cluster.world.rdma_nodes["b"].status.as_ref().unwrap().conditions;
    assert!(!condition::is_true(conditions, condition::AGENT_AVAILABLE));
}

#[test]
fn selections_choose_by_name_and_by_label() {
    let mut cluster = Cluster::new(&["a", "b"]);
    let mut by_name = link("by-name");
    by_name.spec.nodes = Some(NodeSelection { names: Some(vec!["b".into()]), selector: None });
    cluster.add(by_name);
    cluster.settle(SoftLinkState::Ready);
    assert!(cluster.assigned("a").is_empty());
    assert_eq!(cluster.assigned("b"), ["by-name"]);
    // The node leaves: its share goes with it.
    cluster.world.nodes.remove("b");
    cluster.world.rdma_nodes.remove("b");
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.ready("by-name"), ("False".into(), "NodeNotFound".into()));
}

#[test]
fn deletion_waits_for_every_node_and_then_lets_go() {
    let mut cluster = Cluster::new(&["a", "b"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Ready);
    cluster.world.agents.insert("b".into(), Agent::NotReady);
    cluster.delete("rxe0");
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.ready("rxe0").1, "Deleting");
    assert!(cluster.assigned("a").is_empty() && cluster.assigned("b").is_empty());
    cluster.world.agents.insert("b".into(), Agent::Ready);
    cluster.agents_act(SoftLinkState::Ready);
    cluster.settle(SoftLinkState::Ready);
    assert!(cluster.world.links.is_empty());
}

#[test]
fn a_node_that_is_gone_for_ever_holds_nothing_back() {
    let mut cluster = Cluster::new(&["a", "b"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Ready);
    cluster.world.agents.remove("b");
    cluster.world.nodes.remove("b");
    cluster.delete("rxe0");
    cluster.settle(SoftLinkState::Ready);
    assert!(cluster.world.links.is_empty(), "though the RdmaNode b is not collected yet");
}

#[test]
fn an_annotation_forces_the_release() {
    let mut cluster = Cluster::new(&["a"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Ready);
    cluster.world.agents.remove("a");
    cluster.delete("rxe0");
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.world.links.len(), 1);
    let annotations = BTreeMap::from([(FORCE_RELEASE.to_owned(), "true".to_owned())]);
    cluster.link("rxe0").metadata.annotations = Some(annotations);
    cluster.settle(SoftLinkState::Ready);
    assert!(cluster.world.links.is_empty());
}

#[test]
fn a_deleted_link_leaves_only_after_the_node_knows_its_last_policy() {
    let mut cluster = Cluster::new(&["a"]);
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Ready);
    // Changed to Retain and deleted in one breath.
    cluster.link("rxe0").spec.deletion_policy = DeletionPolicy::Retain;
    cluster.delete("rxe0");
    plan(&cluster.world, now()).into_iter().for_each(|action| cluster.carry_out(action));
    let entry = &cluster.world.rdma_nodes["a"].spec.soft_links.as_ref().unwrap()[0];
    assert_eq!(entry.deletion_policy, DeletionPolicy::Retain, "told before it is dropped");
    cluster.settle(SoftLinkState::Ready);
    assert!(cluster.world.links.is_empty());
}

#[test]
fn links_of_a_node_are_in_order_of_age() {
    let mut cluster = Cluster::new(&["a"]);
    for (name, second) in [("young", 30), ("old", 10), ("middle", 20)] {
        let mut link = link(name);
        link.metadata.creation_timestamp = Some(Time(Timestamp::from_second(second).unwrap()));
        cluster.add(link);
    }
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.assigned("a"), ["old", "middle", "young"]);
}

#[test]
fn a_node_takes_so_many_links_and_the_others_say_so() {
    let mut cluster = Cluster::new(&["a"]);
    for number in 0..=crate::api::MAX_SOFT_LINKS {
        let mut link = link(&format!("l{number:03}"));
        link.metadata.creation_timestamp = Some(Time(Timestamp::from_second(number as i64).unwrap()));
        cluster.add(link);
    }
    cluster.settle(SoftLinkState::Ready);
    assert_eq!(cluster.assigned("a").len(), crate::api::MAX_SOFT_LINKS);
    assert_eq!(cluster.ready("l000").1, "AllNodesReady");
    assert_eq!(cluster.ready("l064"), ("False".into(), "TooManyLinks".into()));
}

#[test]
fn failures_are_listed_up_to_a_bound_and_counted_in_full() {
    let names: Vec<String> = (0..40).map(|number| format!("n{number:02}")).collect();
    let mut cluster = Cluster::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    cluster.add(link("rxe0"));
    cluster.settle(SoftLinkState::Failed);
    let status = cluster.link("rxe0").status.clone().unwrap();
    assert_eq!((status.failed_nodes, status.failures.len()), (40, 32));
}
