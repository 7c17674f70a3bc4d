//! SoftRdmaLinks that are refused and accepted, by the API server and by an agent that reads them from files.

/// A bad SoftRdmaLink: (what is wrong, spec, words of the refusal).
pub(crate) const BAD_LINKS: [(&str, &str, &str); 29] = [
    ("no spec", "null", "spec"),
    ("no type", "{netdev: {name: eth0}}", "spec.type"),
    ("no netdev", "{type: rxe}", "spec.netdev"),
    ("an unknown type", "{type: iser, netdev: {name: eth0}}", "Unsupported value: \"iser\""),
    ("an upper-case type", "{type: RXE, netdev: {name: eth0}}", "Unsupported value: \"RXE\""),
    ("an empty netdev", "{type: rxe, netdev: {}}", "exactly one of netdev.name"),
    (
        "two kinds of netdev",
        "{type: rxe, netdev: {name: eth0, defaultRoute: true}}",
        "exactly one of netdev.name",
    ),
    (
        "three kinds of netdev",
        "{type: rxe, netdev: {name: eth0, defaultRoute: true, cidr: 192.0.2.0/24}}",
        "exactly one",
    ),
    ("defaultRoute: false", "{type: rxe, netdev: {defaultRoute: false}}", "either true or left out"),
    ("an empty netdev name", "{type: rxe, netdev: {name: \"\"}}", "spec.netdev.name"),
    ("a netdev name of 16 characters", "{type: rxe, netdev: {name: abcdefghijklmnop}}", "spec.netdev.name"),
    ("a netdev name with a slash", "{type: rxe, netdev: {name: a/b}}", "spec.netdev.name"),
    ("a netdev name with a space", "{type: rxe, netdev: {name: \"a b\"}}", "spec.netdev.name"),
    ("the netdev ..", "{type: rxe, netdev: {name: \"..\"}}", "no interface names"),
    ("a cidr without length", "{type: rxe, netdev: {cidr: 192.0.2.0}}", "like 192.0.2.0/24"),
    ("a cidr that is none", "{type: rxe, netdev: {cidr: here/24}}", "like 192.0.2.0/24"),
    ("an empty device name", "{type: rxe, netdev: {name: eth0}, deviceName: \"\"}", "spec.deviceName"),
    ("a device name with a slash", "{type: rxe, netdev: {name: eth0}, deviceName: a/b}", "spec.deviceName"),
    (
        "a device name with a percent sign",
        "{type: rxe, netdev: {name: eth0}, deviceName: \"rxe%d\"}",
        "spec.deviceName",
    ),
    (
        "a device name that starts with a dot",
        "{type: rxe, netdev: {name: eth0}, deviceName: .rxe}",
        "spec.deviceName",
    ),
    (
        "a device name of 64 characters",
        "{type: rxe, netdev: {name: eth0}, deviceName: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
        "spec.deviceName",
    ),
    (
        "an empty node selection",
        "{type: rxe, netdev: {name: eth0}, nodes: {}}",
        "exactly one of nodes.selector",
    ),
    (
        "a node selector with an unknown operator",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a, operator: Gt, values: [\"1\"]}]}}}",
        "Unsupported value: \"Gt\"",
    ),
    (
        "In without values",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a, operator: In}]}}}",
        "In and NotIn need values",
    ),
    (
        "Exists with values",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}}",
        "Exists and DoesNotExist take none",
    ),
    (
        "a label key that is none",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchExpressions: [{key: a b, operator: Exists}]}}}",
        "matchExpressions[0].key",
    ),
    (
        "a label value that is none",
        "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchLabels: {a: \"b c\"}}}}",
        "matchLabels",
    ),
    ("no node names", "{type: rxe, netdev: {name: eth0}, nodes: {names: []}}", "spec.nodes.names"),
    (
        "an unknown policy",
        "{type: rxe, netdev: {name: eth0}, deletionPolicy: Orphan}",
        "Unsupported value: \"Orphan\"",
    ),
];

/// Specs that are accepted.
pub(crate) const GOOD_LINKS: [&str; 6] = [
    "{type: rxe, netdev: {name: eth0}}",
    "{type: siw, netdev: {defaultRoute: true}, deletionPolicy: Retain, adopt: IfIdentical}",
    "{type: rxe, netdev: {cidr: \"2001:db8::/32\"}, updatePolicy: {whenInUse: Recreate}}",
    "{type: rxe, netdev: {name: eth0.5}, deviceName: r-0_x.y, nodes: {names: [a, b]}}",
    "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchLabels: {a: b}}}}",
    "{type: rxe, netdev: {name: eth0}, nodes: {selector: {matchLabels: {a.b.c/d: \"\"}, matchExpressions: [{key: a, operator: DoesNotExist}, {key: x.y/z, operator: NotIn, values: [b, \"\"]}]}}}",
];
