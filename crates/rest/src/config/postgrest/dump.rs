//! All settings in the format of the configuration file, for `--dump-config`. Secrets are left out:
//! dumps end up in bug reports.

use super::{ListenAddress, PostgrestConfig, ServerConfig};
use crate::{RestConfig, schema_cache::QualifiedName};

impl PostgrestConfig {
    /// One line per setting, sorted.
    pub fn dump(&self) -> String {
        let mut lines = Vec::new();
        add_rest(&mut lines, &self.rest);
        add_server(&mut lines, &self.server);
        let mut lines: Vec<String> = lines
            .into_iter()
            .map(|(name, value)| format!("{name} = {value}\n"))
            .collect();
        lines.sort();
        lines.concat()
    }
}

type Lines = Vec<(String, String)>;

fn add_rest(lines: &mut Lines, config: &RestConfig) {
    let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
    let optional = |text: Option<&str>| quoted(text.unwrap_or_default());
    let function =
        |name: &Option<QualifiedName>| quoted(&name.as_ref().map(dotted).unwrap_or_default());
    add("db-schemas", quoted(&config.schemas.join(",")));
    add(
        "db-extra-search-path",
        quoted(&config.extra_search_path.join(",")),
    );
    add("db-anon-role", optional(config.anon_role.as_deref()));
    let max_rows = config.max_rows.map(|rows| rows.to_string());
    add("db-max-rows", max_rows.unwrap_or(quoted("")));
    add(
        "db-aggregates-enabled",
        config.aggregates_enabled.to_string(),
    );
    add("db-plan-enabled", config.plan_enabled.to_string());
    add("db-tx-end", quoted(config.tx_end.as_str()));
    add("db-pre-request", function(&config.pre_request));
    add("db-root-spec", function(&config.root_spec));
    add("db-pre-config", function(&config.pre_config));
    add(
        "db-prepared-statements",
        config.prepared_statements.to_string(),
    );
    add(
        "db-hoisted-tx-settings",
        quoted(&config.hoisted_tx_settings.join(",")),
    );
    add("db-config", config.db_config.to_string());
    add(
        "db-channel",
        quoted(config.channel.as_deref().unwrap_or("pgrst")),
    );
    add("db-channel-enabled", config.channel.is_some().to_string());
    add("jwt-aud", optional(config.jwt_aud.as_deref()));
    add("jwt-role-claim-key", quoted(config.role_claim.as_str()));
    for (name, value) in config.jwt.iter().flat_map(|jwt| jwt.dump()) {
        add(name, value);
    }
    let verbosity = if config.errors_are_verbose {
        "verbose"
    } else {
        "minimal"
    };
    add("client-error-verbosity", quoted(verbosity));
    add(
        "url-use-legacy-target-names",
        config.legacy_target_names.to_string(),
    );
    add("openapi-mode", quoted(config.openapi_mode.as_str()));
    add(
        "openapi-security-active",
        config.openapi_security_active.to_string(),
    );
    let proxy = config.openapi_server_proxy_uri.as_ref();
    add(
        "openapi-server-proxy-uri",
        optional(proxy.map(|url| url.as_str())),
    );
    add(
        "server-cors-allowed-origins",
        quoted(&config.cors_allowed_origins.join(",")),
    );
    add("server-timing-enabled", config.server_timing.to_string());
    let trace = config.trace_header.as_ref();
    add(
        "server-trace-header",
        optional(trace.map(|name| name.as_str())),
    );
    for (name, value) in &config.app_settings {
        add(name, quoted(value));
    }
}

fn add_server(lines: &mut Lines, config: &ServerConfig) {
    let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
    add("db-pool", config.pool_size.to_string());
    let seconds = [
        (
            "db-pool-acquisition-timeout",
            config.pool_acquisition_timeout,
        ),
        ("db-pool-max-lifetime", config.pool_max_lifetime),
        ("db-pool-max-idletime", config.pool_max_idletime),
    ];
    for (name, duration) in seconds {
        add(name, duration.as_secs().to_string());
    }
    add(
        "db-pool-automatic-recovery",
        config.pool_automatic_recovery.to_string(),
    );
    add("server-reuseport", config.reuse_port.to_string());
    add("log-level", quoted(&config.log_level.to_string()));
    add("log-query", config.log_query.to_string());
    for (prefix, place) in [("", Some(&config.api)), ("admin-", config.admin.as_ref())] {
        match place {
            Some(ListenAddress::Tcp { host, port }) => {
                add(&format!("{prefix}server-host"), quoted(host));
                add(&format!("{prefix}server-port"), port.to_string());
            }
            Some(ListenAddress::Unix(socket)) => {
                let path = socket.path.to_string_lossy();
                add(&format!("{prefix}server-unix-socket"), quoted(&path));
                let mode = format!("{:o}", socket.mode);
                add(&format!("{prefix}server-unix-socket-mode"), quoted(&mode));
            }
            None => add("admin-server-port", quoted("")),
        }
    }
}

fn dotted(name: &QualifiedName) -> String {
    if name.schema.is_empty() {
        name.name.to_string()
    } else {
        format!("{}.{}", name.schema, name.name)
    }
}

/// Quotes and backslashes escaped, dollars doubled.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('$', "$$"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_can_be_read_again_and_gives_the_same_dump() {
        let variables = [
            ("PGRST_DB_SCHEMAS", "api,other"),
            ("PGRST_JWT_ROLE_CLAIM_KEY", "$.a[?(@ == \"x\")]"),
            ("PGRST_APP_SETTINGS_note", "a \"quoted\" \\ $ text"),
            ("PGRST_DB_PRE_REQUEST", "api.check"),
            ("PGRST_ADMIN_SERVER_PORT", "3001"),
            ("PGRST_JWT_SECRET", "reallyreallyreallyreallyverysafe"),
        ];
        let pairs = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let dump = PostgrestConfig::load(None, pairs)
            .expect("good values")
            .dump();
        let path = std::env::temp_dir().join(format!("plinth-dump-{}.conf", std::process::id()));
        std::fs::write(&path, &dump).expect("a file");

        let again = PostgrestConfig::load(Some(&path), Vec::new());
        std::fs::remove_file(&path).expect("our own file");

        assert_eq!(again.expect("what we wrote").dump(), dump);
        assert!(dump.contains("db-schemas = \"api,other\"\n"), "{dump}");
        assert!(dump.contains("jwt-role-claim-key = \"$$.a[?(@ == \\\"x\\\")]\"\n"));
        assert!(!dump.contains("verysafe"), "{dump}");
    }
}
