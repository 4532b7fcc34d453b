//! `plinth serve auth`, in place of GoTrue.

use std::net::SocketAddr;

use anyhow::{Context, anyhow};
use axum::{Extension, Router};
use plinth_db::{PoolConfig, Target};
use plinth_settings::Loader;
use plinth_token::{KeyFile, KeySet};

use super::super::running::wait_for_signal;
use crate::failure::{Failure, Outcome};

/// Where the replaced program listens.
const PORT: u16 = 8081;

/// Serves until a signal.
pub(in super::super) async fn serve() -> Outcome {
    let keyset = keys()?;
    let url = variable(&["DATABASE_URL", "GOTRUE_DB_DATABASE_URL"]).ok_or_else(|| {
        Failure::usage("DATABASE_URL is not set, so there is no database to work on")
    })?;
    let target = Target::from_url(&url)?;
    target
        .connect()
        .await
        .context("DATABASE_URL cannot be used")?;
    let host = variable(&["GOTRUE_API_HOST", "API_HOST"]).unwrap_or_else(|| "0.0.0.0".to_owned());
    let port = match variable(&["PORT", "GOTRUE_API_PORT", "API_PORT"]) {
        Some(text) => text
            .parse()
            .map_err(|_| Failure::usage(format!("PORT: {text:?} is no port")))?,
        None => PORT,
    };
    let address: SocketAddr = format!("{host}:{port}").parse().map_err(|_| {
        Failure::usage(format!(
            "API_HOST: {host:?} is not an IP address, as in 0.0.0.0"
        ))
    })?;
    let settings = Loader::new().process_environment().load()?.settings;
    let project = super::project(target, PoolConfig::default(), keyset, settings)?;
    listen(address, plinth_auth::routes(plinth_auth::AuthService::new()).layer(Extension(project))).await
}

/// `JWT_KEYS` (private keys, one of which signs) and `JWT_SECRET` (auth contract §3.2).
fn keys() -> Outcome<KeySet> {
    let mut builder = KeySet::builder();
    let secret = variable(&["GOTRUE_JWT_SECRET", "JWT_SECRET"]);
    let keys = variable(&["GOTRUE_JWT_KEYS", "JWT_KEYS"]);
    if secret.is_none() && keys.is_none() {
        return Err(Failure::usage(
            "GOTRUE_JWT_SECRET is not set, so no token can be checked",
        ));
    }
    if let Some(secret) = secret {
        builder = builder.legacy_secret(secret);
    }
    if let Some(id) = variable(&["GOTRUE_JWT_KEY_ID", "JWT_KEY_ID"]) {
        builder = builder.legacy_key_id(id);
    }
    if let Some(keys) = keys {
        let file =
            KeyFile::from_json(&keys).map_err(|error| anyhow!("GOTRUE_JWT_KEYS: {error}"))?;
        builder = builder.key_file(file);
    }
    Ok(builder.build()?)
}

async fn listen(address: SocketAddr, router: Router) -> Outcome {
    let listener = plinth_gateway::bind(address).await?;
    tracing::info!("serving on {}", listener.local_addr()?);
    let stopped = async {
        if let Err(failure) = wait_for_signal().await {
            tracing::error!("signals cannot be received: {failure}");
        }
    };
    Ok(axum::serve(listener, router)
        .with_graceful_shutdown(stopped)
        .await?)
}

fn variable(names: &[&str]) -> Option<String> {
    names
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}
