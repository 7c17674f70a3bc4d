//! Help texts.

use super::Object;

/// How the commands of an object are written.
pub(super) fn of(object: Object) -> &'static str {
    match object {
        Object::Dev => DEV,
        Object::Link => LINK,
        Object::Resource => RESOURCE,
        Object::Statistic => STATISTIC,
        Object::System => SYSTEM,
        Object::Monitor => MONITOR,
        Object::Gid => GID,
    }
}

/// What there is.
pub(super) const ALL: &str = "\
Usage: rdma-operator [OPTIONS] OBJECT {COMMAND | help}
       rdma-operator [OPTIONS] [-f] -b FILE
OBJECTS are dev, link, resource, system, statistic, monitor, gid
Options: -j JSON, -p pretty, -d details, -dd driver details, -r raw, -o one line each, -V version, -b batch, -f force
";

const DEV: &str = "\
Usage: rdma-operator [OPTIONS] dev COMMAND
  show [DEV]                                  devices
  add NAME type smi parent DEV                make a sub-device
  delete DEV                                  remove a sub-device
  set DEV name NAME                           rename
  set DEV netns {NSNAME | PID}                move to another network namespace
  set DEV adaptive-moderation {on | off}      completion moderation of queues made from now on
Options: -j JSON, -p pretty, -d details, -o one line each
";

const LINK: &str = "\
Usage: rdma-operator [OPTIONS] link COMMAND
  show [DEV[/PORT]]                           ports
  add NAME type {rxe | siw} netdev NETDEV     make a soft device
  delete DEV                                  remove a soft device
Options: -j JSON, -p pretty, -d details, -o one line each
";

const RESOURCE: &str = "\
Usage: rdma-operator [OPTIONS] resource COMMAND
  show [DEV]                                  how many objects of each kind
  show {qp | cm_id} [link DEV[/PORT]] [FILTER VALUES]...
  show {cq | mr | pd | ctx | srq | frmr_pools} [dev DEV] [FILTER VALUES]...
  set frmr_pools dev DEV aging SECONDS
  set frmr_pools dev DEV pinned VENDOR:BLOCKS:ACCESS:ATS HANDLES
VALUES are words, or numbers and ranges: pid 17,20-29
  qp          lqpn rqpn pid sq-psn rq-psn type path-mig-state state pdn
  cm_id       cm-idn lqpn qp-type state ps pid src-addr src-port dst-addr dst-port
  cq          cqn users poll-ctx pid ctxn
  mr          mrn rkey lkey mrlen pid pdn
  pd          pdn users pid ctxn
  ctx         ctxn pid
  srq         srqn type lqpn pdn cqn pid
  frmr_pools  ats access_flags vendor_key num_dma_blocks queue in_use max_in_use pinned
Options: -j JSON, -p pretty, -d details, -dd driver details, -r raw (qp, cq, mr, srq), -o one line each
";

const STATISTIC: &str = "\
Usage: rdma-operator [OPTIONS] statistic COMMAND
  show [link DEV[/PORT]]                      counters of ports
  mode [supported] [link DEV[/PORT]]          optional counters that count, or that there are
  set link DEV/PORT optional-counters NAME[,NAME]...
  unset link DEV/PORT optional-counters
  mr [show] [dev DEV] [mrn VALUES]            counters of memory regions
  qp [show] [link DEV[/PORT]] [{cntn | lqpn | pid | qp-type} VALUES]...
  qp mode [link DEV[/PORT]]                   how QPs are bound to counters
  qp set link DEV/PORT auto {CRITERIA on | off} [optional-counters {on | off}]
  qp bind link DEV/PORT lqpn QP [cntn COUNTER]
  qp unbind link DEV/PORT cntn COUNTER [lqpn QP]
CRITERIA are type, pid, or both: type,pid
Options: -j JSON, -p pretty, -o one line each
";

const SYSTEM: &str = "\
Usage: rdma-operator [OPTIONS] system COMMAND
  show                                        settings of the RDMA subsystem
  set netns {shared | exclusive}              which network namespaces see a device
  set privileged-qkey {on | off}              whether privileged Q_Keys need no CAP_NET_RAW
Options: -j JSON, -p pretty
";

const MONITOR: &str = "\
Usage: rdma-operator [OPTIONS] monitor
Prints what the kernel reports of devices, until interrupted. Linux 6.12 and later.
Options: -j JSON, -p pretty
";

const GID: &str = "\
Usage: rdma-operator [OPTIONS] gid COMMAND
  show [DEV[/PORT]]                           filled slots of GID tables
  best [link DEV[/PORT]] [netdev NETDEV]      the GID a RoCE v2 connection should use
Options: -j JSON, -p pretty, -o one line each
";
