// SPDX-License-Identifier: MIT OR Apache-2.0
//! Certificates, of an authority that lasts as long as the test.

use std::sync::{Arc, LazyLock};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

static AUTHORITY: LazyLock<CertifiedIssuer<'static, KeyPair>> = LazyLock::new(|| {
    let mut params = named("the authority", Vec::new());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
});

fn named(name: &str, hosts: Vec<String>) -> CertificateParams {
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// The certificate that clients trust.
pub(crate) fn root() -> &'static CertificateDer<'static> {
    AUTHORITY.der()
}

/// A client that trusts the authority and proposes no protocol.
pub(crate) fn client() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(root().clone()).unwrap();
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A server on loopback that speaks this protocol, with a certificate that may have expired long ago.
pub(crate) fn server(protocol: &str, has_expired: bool) -> Arc<ServerConfig> {
    let mut params = named("the host", vec!["127.0.0.1".to_owned()]);
    if has_expired {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &*AUTHORITY).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    server.alpn_protocols = vec![protocol.into()];
    Arc::new(server)
}
