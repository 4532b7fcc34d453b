//! HTTPS with a certificate and a key from files.

use std::{io, path::PathBuf, sync::Arc};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::TlsFiles;

/// Certificate and key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {what} {path}: {reason}")]
    Unreadable {
        /// Which of the two.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A file holds something else.
    #[error("{path} holds no {what} in PEM form (a block that starts with -----BEGIN {label})")]
    Empty {
        /// What was expected.
        what: &'static str,
        /// How its block begins.
        label: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The two do not belong together, or cannot be used.
    #[error("the certificate {cert} cannot be used with the key {key}: {reason}")]
    Unusable {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// A loaded certificate. Cheap to clone; a reload applies to all clones.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    config: Arc<ServerConfig>,
    current: Arc<Current>,
    files: TlsFiles,
}

/// The certificate for the next handshake.
#[derive(Debug)]
struct Current(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Tls {
    /// Reads certificate and key.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let current = Arc::new(Current(ArcSwap::from_pointee(read(&files, &provider)?)));
        let unusable = |error: rustls::Error| unusable(&files, &error);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let config = Arc::new(config);
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::clone(&config)),
            config,
            current,
            files,
        })
    }

    /// The same certificate for another protocol, named as in ALPN. A reload applies to it, too.
    pub fn for_protocol(&self, name: &str) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![name.as_bytes().to_vec()];
        Arc::new(config)
    }

    /// Reads the files again, as after a renewal. On failure the old certificate stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let renewed = read(&self.files, &aws_lc_rs::default_provider())?;
        self.current.0.store(Arc::new(renewed));
        Ok(())
    }

    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let TlsFiles {
        cert_file,
        key_file,
    } = files;
    let what = "the certificate";
    let failed = |error| pem_error(error, what, "CERTIFICATE", cert_file);
    let chain = CertificateDer::pem_file_iter(cert_file).map_err(failed)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if chain.is_empty() {
        return Err(failed(pem::Error::NoItemsFound));
    }
    let key = PrivateKeyDer::from_pem_file(key_file)
        .map_err(|error| pem_error(error, "the private key", "PRIVATE KEY", key_file))?;
    CertifiedKey::from_der(chain, key, provider).map_err(|error| unusable(files, &error))
}

fn pem_error(
    error: pem::Error,
    what: &'static str,
    label: &'static str,
    path: &std::path::Path,
) -> TlsError {
    let path = path.to_owned();
    match error {
        pem::Error::NoItemsFound => {
            let what = what.trim_start_matches("the ");
            TlsError::Empty { what, label, path }
        }
        pem::Error::Io(error) => TlsError::Unreadable {
            what,
            path,
            reason: error.to_string(),
        },
        other => TlsError::Unreadable {
            what,
            path,
            reason: other.to_string(),
        },
    }
}

fn unusable(files: &TlsFiles, error: &rustls::Error) -> TlsError {
    let reason = match error {
        rustls::Error::InconsistentKeys(_) => "they do not belong together".to_owned(),
        other => other.to_string(),
    };
    TlsError::Unusable {
        cert: files.cert_file.clone(),
        key: files.key_file.clone(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    fn write_pair(folder: &Path, name: &str) -> TlsFiles {
        let pair = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a self-signed certificate");
        let files = TlsFiles {
            cert_file: folder.join(format!("{name}.crt")),
            key_file: folder.join(format!("{name}.key")),
        };
        fs::write(&files.cert_file, pair.cert.pem()).expect("written");
        fs::write(&files.key_file, pair.signing_key.serialize_pem()).expect("written");
        files
    }

    fn message(files: TlsFiles) -> String {
        Tls::load(files).err().expect("rejected").to_string()
    }

    #[test]
    fn each_mistake_has_its_own_message() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, two) = (
            write_pair(folder.path(), "one"),
            write_pair(folder.path(), "two"),
        );

        let missing = TlsFiles {
            cert_file: folder.path().join("none"),
            ..one.clone()
        };
        assert!(message(missing).starts_with("cannot read the certificate "));

        let swapped = TlsFiles {
            cert_file: one.key_file.clone(),
            key_file: one.cert_file.clone(),
        };
        assert!(message(swapped).contains("holds no certificate in PEM form"));

        let no_key = TlsFiles {
            key_file: one.cert_file.clone(),
            ..one.clone()
        };
        assert!(message(no_key).contains("holds no private key in PEM form"));

        let mixed = TlsFiles {
            key_file: two.key_file,
            ..one
        };
        assert!(message(mixed).ends_with("they do not belong together"));
    }

    #[test]
    fn a_renewed_certificate_is_used_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = write_pair(folder.path(), "one");
        let tls = Tls::load(files.clone()).expect("a good pair");
        let before = tls.current.0.load_full().cert.clone();

        write_pair(folder.path(), "one");
        tls.reload().expect("another good pair");
        let renewed = tls.current.0.load_full().cert.clone();
        assert_ne!(renewed, before);

        fs::write(&files.key_file, "").expect("written");
        assert!(tls.reload().is_err());
        assert_eq!(tls.current.0.load_full().cert, renewed);
    }
}
