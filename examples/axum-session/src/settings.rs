//! Settings from the environment.

use anyhow::Context as _;

/// The settings of the example.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `SUPABASE_URL`, default `http://localhost:54321`.
    pub project_url: String,
    /// `SUPABASE_PUBLISHABLE_KEY`, else `SUPABASE_ANON_KEY`. Public: browsers get it too.
    pub key: String,
    /// `PUBLIC_URL`, default `http://localhost:<port>`.
    pub public_url: String,
    /// `PORT`, default 3000; 0 takes a free one.
    pub port: u16,
}

impl Settings {
    /// Reads the environment.
    pub fn from_env() -> anyhow::Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let key = variable("SUPABASE_PUBLISHABLE_KEY").or_else(|| variable("SUPABASE_ANON_KEY"));
        let port = variable("PORT").unwrap_or_else(|| "3000".to_owned());
        Ok(Self {
            project_url: variable("SUPABASE_URL")
                .unwrap_or_else(|| "http://localhost:54321".to_owned()),
            key: key.context("SUPABASE_PUBLISHABLE_KEY is missing; `plinth status` prints it")?,
            public_url: variable("PUBLIC_URL").unwrap_or_default(),
            port: port.parse().context("PORT must be a number")?,
        })
    }

    /// The same, once the port is known.
    pub fn listening_on(mut self, port: u16) -> Self {
        self.port = port;
        if self.public_url.is_empty() {
            self.public_url = format!("http://localhost:{port}");
        }
        self
    }

    /// Where the project is, without any path.
    pub fn project_origin(&self) -> &str {
        let url = self.project_url.trim();
        let host = url.find("://").map_or(0, |at| at + 3);
        let end = url[host..].find('/').map_or(url.len(), |at| host + at);
        &url[..end]
    }
}
