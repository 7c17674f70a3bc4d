//! Entry: see [`rdma_operator::cli`].
fn main() {
    for (_, crd) in rdma_operator::api::crds::all() {
        println!("{}\n---", rdma_operator::api::crds::yaml(&crd).unwrap());
    }
}
