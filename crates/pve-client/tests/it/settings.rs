//! Settings for the tests.

use pve_client::{
    CaBundle, Error, Host, Operator, Reader, Secret, Settings, Tls, TlsProblem, Token, Trust,
    Unsent, UnsentKind,
};

use crate::server::Server;

/// Something to look for where it must not be.
pub(crate) const SECRET: &str = "5ec2e7aa-0b5c-4a7e-9d4e-5f0c6f1a2b3c";

/// Settings for a server on this machine, whatever its certificate.
pub(crate) fn settings(server: &Server) -> Settings {
    let token = Token::new("root@pam", "monitor", Secret::new(SECRET.to_owned())).unwrap();
    let mut settings = Settings::new(Host::new("127.0.0.1", server.port), token);
    settings.tls.trust = Trust::Anything;
    settings
}

pub(crate) fn reader(server: &Server) -> Reader {
    Reader::new(settings(server))
}

pub(crate) fn operator(server: &Server) -> Operator {
    Operator::new(reader(server))
}

/// A reader that asks for `host` and trusts as `tls` says.
pub(crate) fn reader_with(server: &Server, host: &str, tls: Tls) -> Reader {
    let mut settings = settings(server);
    settings.hosts = vec![Host::new(host, server.port)];
    settings.tls = tls;
    Reader::new(settings)
}

pub(crate) fn ca(pem: &str) -> Tls {
    Tls { trust: Trust::Ca(CaBundle::from_pem(pem.as_bytes()).unwrap()), server_name: None }
}

pub(crate) fn unsent(error: Error) -> UnsentKind {
    match error {
        Error::Unsent(Unsent { kind, .. }) => kind,
        error => panic!("it was sent: {error:?}"),
    }
}

pub(crate) fn tls_problem(error: Error) -> TlsProblem {
    match unsent(error) {
        UnsentKind::Tls(problem) => *problem,
        kind => panic!("TLS was not the problem: {kind:?}"),
    }
}
