//! Certificates and kubeconfigs of a cluster that lives for hours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use serde_json::json;

use super::network::{API_SERVICE, GATEWAY};
use crate::step::Step;

const DAYS: &str = "30";

/// A certificate authority in a folder.
#[derive(Debug)]
pub(crate) struct Authority {
    folder: PathBuf,
    /// How many certificates there are: two nodes' may be signed at once.
    signed: AtomicU32,
}

impl Authority {
    /// Makes the authority and the key that signs service account tokens.
    pub(crate) fn create(step: &Step, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let authority = Self { folder: folder.to_path_buf(), signed: AtomicU32::new(1) };
        step.run(
            openssl(&["req", "-x509", "-nodes", "-days", DAYS, "-subj", "/CN=lab-ca"])
                .args(NEW_KEY)
                .arg("-keyout")
                .arg(authority.key("ca"))
                .arg("-out")
                .arg(authority.certificate("ca")),
        )?;
        let (private, public) = (authority.key("service-accounts"), authority.public_key("service-accounts"));
        step.run(openssl(&["genpkey", "-algorithm"]).args(EC).arg("-out").arg(&private))?;
        step.run(openssl(&["pkey", "-pubout", "-in"]).arg(private).arg("-out").arg(public))?;
        Ok(authority)
    }

    /// Signs a certificate `name` for the subject, such as `/O=system:masters/CN=admin`.
    pub(crate) fn sign(&self, step: &Step, name: &str, subject: &str) -> Result<()> {
        let serial = self.signed.fetch_add(1, Ordering::Relaxed) + 1;
        let request = self.folder.join(format!("{name}.csr"));
        let extensions = self.folder.join(format!("{name}.ext"));
        let names = format!(
            "subjectAltName=DNS:kubernetes,DNS:localhost,IP:127.0.0.1,IP:{GATEWAY},IP:{API_SERVICE}\n"
        );
        fs::write(&extensions, names)?;
        step.run(
            openssl(&["req", "-nodes", "-subj", subject])
                .args(NEW_KEY)
                .arg("-keyout")
                .arg(self.key(name))
                .arg("-out")
                .arg(&request),
        )?;
        step.run(
            openssl(&["x509", "-req", "-days", DAYS, "-set_serial", &serial.to_string(), "-in"])
                .arg(request)
                .arg("-CA")
                .arg(self.certificate("ca"))
                .arg("-CAkey")
                .arg(self.key("ca"))
                .arg("-extfile")
                .arg(extensions)
                .arg("-out")
                .arg(self.certificate(name)),
        )
    }

    /// A kubeconfig of the certificate `name`.
    pub(crate) fn kubeconfig(&self, name: &str, to: &Path) -> Result<()> {
        let data = |file: PathBuf| -> Result<String> {
            let bytes = fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
            Ok(base64(&bytes))
        };
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {
                "server": format!("https://{GATEWAY}:6443"),
                "certificate-authority-data": data(self.certificate("ca"))?,
            }}],
            "users": [{"name": "user", "user": {
                "client-certificate-data": data(self.certificate(name))?,
                "client-key-data": data(self.key(name))?,
            }}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "user"}}],
            "current-context": "lab",
        });
        fs::write(to, config.to_string()).with_context(|| format!("writing {}", to.display()))
    }

    /// The file of a certificate.
    pub(crate) fn certificate(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.crt"))
    }

    /// The file of a public key.
    pub(crate) fn public_key(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.pub"))
    }

    /// The file of a private key.
    pub(crate) fn key(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.key"))
    }
}

const EC: [&str; 3] = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
const NEW_KEY: [&str; 4] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];

fn openssl(words: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(words);
    command
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |sum, byte| (sum << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_the_last_group() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
