//! Telling the kubelet of a resource.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tonic::Code;

use super::API_VERSION;
use super::endpoint::endpoint;
use super::error::{CallError, Error};
use super::server::options;
use super::v1beta1::RegisterRequest;
use super::v1beta1::registration_client::RegistrationClient;

/// Registers `resource`, served on `socket` in the kubelet's directory. The kubelet dials back before it answers.
pub(crate) async fn register(
    kubelet: &Path,
    socket: &str,
    resource: &str,
    limit: Duration,
) -> Result<(), Error> {
    let path = || -> PathBuf { kubelet.to_owned() };
    let unreachable = |source: CallError| Error::KubeletUnreachable { path: path(), source };
    let connect = async { endpoint(kubelet)?.connect().await };
    let channel = tokio::time::timeout(limit, connect)
        .await
        .map_err(|elapsed| unreachable(elapsed.into()))?
        .map_err(|error| unreachable(error.into()))?;
    let request = RegisterRequest {
        version: API_VERSION.to_owned(),
        endpoint: socket.to_owned(),
        resource_name: resource.to_owned(),
        options: Some(options()),
    };
    let mut client = RegistrationClient::new(channel);
    match tokio::time::timeout(limit, client.register(request)).await {
        Err(_) => Err(Error::RegistrationTimeout { path: path() }),
        Ok(Ok(_)) => Ok(()),
        // The kubelet's own errors are plain Go errors, which gRPC calls Unknown; these two are the transport's.
        Ok(Err(status)) if matches!(status.code(), Code::Unavailable | Code::Cancelled) => {
            Err(unreachable(status.into()))
        }
        Ok(Err(status)) if status.code() == Code::DeadlineExceeded => {
            Err(Error::RegistrationTimeout { path: path() })
        }
        Ok(Err(status)) => Err(Error::RegistrationRejected { text: status.message().to_owned() }),
    }
}
