//! Registries that a function's `.npmrc` names. The runtime fetches from them whatever networks are denied,
//! so their addresses are checked first.

use std::{
    collections::BTreeSet,
    fs,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

use plinth_project::SourceError;
use url::{Host, Url};

use crate::{
    code::{Code, ImportMap},
    network::{self, Network},
};

/// Rejects registries at denied addresses.
pub(super) async fn check(code: &Code, denied: &[Network]) -> Result<(), SourceError> {
    for file in npmrc_files(code) {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        for registry in registries(&text)? {
            if is_denied(&registry, denied).await {
                let host = registry.host_str().unwrap_or_default();
                return Err(SourceError(format!(
                    ".npmrc names {host}, which is a private address that functions cannot reach"
                )));
            }
        }
    }
    Ok(())
}

/// Where the runtime may look: beside the entrypoint and the configuration, and in parent folders.
fn npmrc_files(code: &Code) -> BTreeSet<PathBuf> {
    let config = match code.imports() {
        ImportMap::Config(config) => Some(config),
        ImportMap::Map(_) | ImportMap::Package(_) | ImportMap::None => None,
    };
    let beside = config.iter().chain([&code.entrypoint]);
    let folders = beside.flat_map(|file| {
        let is_ours =
            |index, folder: &std::path::Path| index == 0 || folder.starts_with(&code.root);
        let above = file.ancestors().skip(1).enumerate();
        above.take_while(move |(index, folder)| is_ours(*index, folder))
    });
    folders.map(|(_, folder)| folder.join(".npmrc")).collect()
}

/// The registries that the file names. Parsed more strictly than by the runtime, so that the two cannot
/// disagree.
fn registries(text: &str) -> Result<Vec<Url>, SourceError> {
    let mut found = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        let reject = |reason: &str| SourceError(format!(".npmrc, line {}: {reason}", index + 1));
        let is_ambiguous = |character: char| {
            matches!(character, '"' | '\'' | '\\' | ';' | '#') || character.is_control()
        };
        let assignment = line
            .split_once('=')
            .filter(|_| !line.contains(is_ambiguous));
        let Some((name, value)) = assignment else {
            return Err(reject("a name, = and a value are expected, without quotes"));
        };
        let (name, value) = (name.trim(), value.trim());
        if name.contains(char::is_whitespace) || value.contains(char::is_whitespace) {
            return Err(reject("there must be no spaces within a name or a value"));
        }
        if name.contains("${") || (name.contains("registry") && value.contains("${")) {
            return Err(reject("a registry cannot be taken from a variable"));
        }
        if name.contains("registry") {
            let registry = Url::parse(value).ok();
            let registry =
                registry.filter(|url| url.has_host() && url.scheme().starts_with("http"));
            found.push(registry.ok_or_else(|| reject("a registry has an http or https address"))?);
        }
    }
    Ok(found)
}

/// A host that cannot be resolved here is left to the proxy.
async fn is_denied(registry: &Url, denied: &[Network]) -> bool {
    match registry.host() {
        Some(Host::Ipv4(address)) => network::is_denied(denied, IpAddr::from(address)),
        Some(Host::Ipv6(address)) => network::is_denied(denied, IpAddr::from(address)),
        Some(Host::Domain(name)) => {
            let found = tokio::net::lookup_host((name, 0)).await;
            // IPv6 addresses are not used where IPv6 is denied.
            let is_used = |address: &SocketAddr| address.is_ipv4() || !network::denies_ipv6(denied);
            let mut addresses = found.into_iter().flatten().filter(is_used);
            addresses.any(|address| network::is_denied(denied, address.ip()))
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<String> {
        let registries = registries(text).expect("a good file");
        let hosts = registries.iter().filter_map(Url::host_str);
        hosts.map(str::to_owned).collect()
    }

    #[test]
    fn every_registry_in_the_file_is_found() {
        let text = "# registry=http://comment/\n; registry=http://other/\n\
                    registry = http://one/path\r\n@shop:registry=https://two:8080/\n\
                    //two/:_authToken=secret==\n\nregistry=http:2130706433";

        assert_eq!(hosts(text), ["one", "two", "127.0.0.1"]);
        assert_eq!(hosts("//one/:_authToken=${TOKEN}"), [""; 0]);
    }

    #[test]
    fn ambiguous_lines_are_rejected() {
        for text in [
            "registry=http://169.254.169.254;x",
            "registry=http://\r10.0.0.1/",
            "registry=http://example.com\\@127.0.0.1/",
            "a=\"b\"registry=http://10.0.0.1/",
            "registry=\"http://10.0.0.1\"x",
            "registry=http://one/ registry=http://10.0.0.1/",
            "registry=//10.0.0.1/",
            "registry=file:///etc/passwd",
            "registry",
            "[x]",
        ] {
            assert!(registries(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_registry_is_named_and_not_computed() {
        for text in ["registry=http://${HOME}/", "${A}=${B}", "@a:registry=${B}"] {
            assert!(registries(text).is_err(), "{text}");
        }
    }
}
