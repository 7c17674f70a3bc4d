//! Compiles the device plugin API with protox: no protoc on the build host.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const PROTO: &str = "deviceplugin/v1beta1/deviceplugin.proto";
    println!("cargo::rerun-if-changed=proto/{PROTO}");
    let descriptors = protox::compile([PROTO], ["proto"])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
