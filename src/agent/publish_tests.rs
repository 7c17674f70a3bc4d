//! The publisher against a scripted API server, on paused time.

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tower_test::mock::{Handle, SendResponse, pair};

use super::*;
use crate::inventory::testing::device;

type Server = Handle<Request<Body>, Response<Body>>;

struct Bench {
    server: Server,
    inventory: watch::Sender<Option<Arc<Inventory>>>,
    wanted: watch::Sender<Wanted>,
    readiness: Readiness,
    _others: (watch::Sender<PluginStatus>, watch::Sender<Report>),
}

fn bench(exists: bool) -> Bench {
    let (service, server) = pair::<Request<Body>, Response<Body>>();
    let client = Client::new(service, "default");
    let plugin_status = PluginStatus { enumerated: true, ..PluginStatus::default() };
    let (inventory, inventory_rx) = watch::channel(Some(Arc::new(Inventory::default())));
    let (plugin, plugin_rx) = watch::channel(plugin_status);
    let (links, links_rx) = watch::channel(Report::default());
    let (wanted, wanted_rx) = watch::channel(Wanted { exists, ..Wanted::default() });
    let inputs = Inputs { inventory: inventory_rx, plugin: plugin_rx, links: links_rx, wanted: wanted_rx };
    let metrics = Arc::new(AgentMetrics::new());
    let readiness = Readiness::default();
    tokio::spawn(publish(client, "n".into(), inputs, metrics, readiness.clone(), CancellationToken::new()));
    Bench { server, inventory, wanted, readiness, _others: (plugin, links) }
}

/// The next write: where to, what, and how to answer.
async fn write(server: &mut Server) -> (String, Value, SendResponse<Response<Body>>) {
    let (request, send) = server.next_request().await.unwrap();
    let uri = request.uri().to_string();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    (uri, serde_json::from_slice(&body).unwrap(), send)
}

fn answer(send: SendResponse<Response<Body>>, code: StatusCode) {
    let body = if code.is_success() {
        serde_json::json!({"apiVersion": API_VERSION, "kind": "RdmaNode", "metadata": {"name": "n"}, "spec": {}})
    } else {
        serde_json::json!({"kind": "Status", "status": "Failure", "code": code.as_u16(), "message": "no", "reason": "x"})
    };
    let body = Body::from(serde_json::to_vec(&body).unwrap());
    send.send_response(Response::builder().status(code).body(body).unwrap());
}

/// True when nothing is written for so long.
async fn silent(server: &mut Server, seconds: u64) -> bool {
    tokio::time::timeout(Duration::from_secs(seconds), server.next_request()).await.is_err()
}

fn host(names: &[&str]) -> Option<Arc<Inventory>> {
    let devices = names.iter().zip(0..).map(|(name, index)| device(index, name, "mlx5", "eth0")).collect();
    Some(Arc::new(Inventory { devices, ..Inventory::default() }))
}

#[tokio::test(start_paused = true)]
async fn a_status_is_applied_once_by_the_agents_manager() {
    let mut bench = bench(true);
    let (uri, body, send) = write(&mut bench.server).await;
    assert!(uri.starts_with("/apis/rdma-operator.dev/v1alpha1/rdmanodes/n/status?"), "{uri}");
    assert!(uri.contains("fieldManager=rdma-operator-agent") && uri.contains("force=true"), "{uri}");
    assert_eq!((&body["kind"], &body["status"]["deviceCount"]), (&"RdmaNode".into(), &0.into()));
    answer(send, StatusCode::OK);
    assert!(silent(&mut bench.server, 4).await);
    let conditions: Vec<Condition> = serde_json::from_value(body["status"]["conditions"].clone()).unwrap();
    bench.wanted.send_modify(|wanted| wanted.conditions = conditions);
    assert!(silent(&mut bench.server, 600).await, "no change, no write");
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_edits_is_put_right() {
    let mut bench = bench(true);
    let (_, body, send) = write(&mut bench.server).await;
    answer(send, StatusCode::OK);
    let conditions: Vec<Condition> = serde_json::from_value(body["status"]["conditions"].clone()).unwrap();
    bench.wanted.send_modify(|wanted| wanted.conditions = conditions);
    assert!(silent(&mut bench.server, 600).await);
    bench.wanted.send_modify(|wanted| wanted.conditions.clear());
    assert!(!silent(&mut bench.server, 1).await);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_before_the_object_is_there() {
    let mut bench = bench(false);
    assert!(silent(&mut bench.server, 600).await);
    bench.wanted.send_modify(|wanted| wanted.exists = true);
    assert!(!silent(&mut bench.server, 1).await);
}

#[tokio::test(start_paused = true)]
async fn a_failed_write_is_tried_again_later_and_with_what_holds_then() {
    let mut bench = bench(true);
    let (_, _, send) = write(&mut bench.server).await;
    // 403 is none of those that the client itself tries again.
    answer(send, StatusCode::FORBIDDEN);
    bench.inventory.send_replace(host(&["mlx5_0"]));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(silent(&mut bench.server, 0).await, "not at once");
    assert!(bench.readiness.blocked().contains("status: writing the status of rdmanode n: no"));
    let (_, body, send) = write(&mut bench.server).await;
    assert_eq!(body["status"]["deviceCount"], 1);
    answer(send, StatusCode::OK);
    assert!(silent(&mut bench.server, 1).await);
    assert_eq!(bench.readiness.blocked(), "");
}

#[tokio::test(start_paused = true)]
async fn a_new_object_does_not_wait_for_the_failures_of_the_old_one() {
    let mut bench = bench(true);
    for _ in 0..6 {
        let (_, _, send) = write(&mut bench.server).await;
        answer(send, StatusCode::NOT_FOUND);
    }
    bench.wanted.send_modify(|wanted| wanted.exists = false);
    assert!(silent(&mut bench.server, 5).await);
    bench.wanted.send_modify(|wanted| wanted.exists = true);
    assert!(!silent(&mut bench.server, 1).await);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_waits_and_health_does_not() {
    let mut bench = bench(true);
    bench.inventory.send_replace(host(&["mlx5_0"]));
    let (_, _, send) = write(&mut bench.server).await;
    answer(send, StatusCode::OK);
    tokio::time::sleep(Duration::from_millis(10)).await;
    // A new rate is nothing that somebody waits for.
    let mut changed = Inventory::clone(bench.inventory.borrow().as_ref().unwrap());
    changed.devices[0].ports[0].rate = Some("100 Gb/sec (4X EDR)".into());
    bench.inventory.send_replace(Some(Arc::new(changed)));
    assert!(silent(&mut bench.server, 4).await);
    let (_, _, send) = write(&mut bench.server).await;
    answer(send, StatusCode::OK);
    tokio::time::sleep(Duration::from_millis(10)).await;
    // A device that comes is.
    bench.inventory.send_replace(host(&["mlx5_0", "mlx5_1"]));
    assert!(!silent(&mut bench.server, 1).await);
}
