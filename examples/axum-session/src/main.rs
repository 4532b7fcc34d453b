//! Starts the example. Settings come from the environment; `README.md` lists them.

use anyhow::Context as _;
use axum_session::{Settings, app, session_layer};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
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
