//! Starts the example. Settings come from the environment; `README.md` lists them.

use anyhow::Context as _;
use axum_session::{Settings, app, session_layer};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let levels = EnvFilter::builder().with_default_directive(LevelFilter::INFO.into());
    tracing_subscriber::fmt()
        .with_env_filter(levels.from_env_lossy())
        .init();
    let settings = Settings::from_env()?;
    let listener = TcpListener::bind(("127.0.0.1", settings.port)).await;
    let listener = listener.with_context(|| format!("port {} is taken", settings.port))?;
    let settings = settings.listening_on(listener.local_addr()?.port());

    let sessions = session_layer(&settings)?;
    sessions.warm_up().await;

    println!("Listening on {}", settings.public_url);
    axum::serve(listener, app(settings, sessions)).await?;
    Ok(())
}
